"""Tasks and lessons in a robot's own file, and in a fleet's database: the same tests for both."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.experience_stores import open_tasks
from r4_ros.memory.sql_experience import SqlTaskStore
from r4_ros.memory.stores import open_store

_NUMBERS = itertools.count()


def pytest_generate_tests(metafunc: Any) -> None:
    """Tests that ask for a file are SQLite's."""
    if "engine" in metafunc.fixturenames:
        of_files = {"path", "tmp_path"} & set(inspect.signature(metafunc.function).parameters)
        metafunc.parametrize("engine", ["sqlite"] if of_files else ["sqlite", "postgres"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "experience.db"


@pytest.fixture(scope="session")
def fleet(postgres_server: Server) -> str:
    """URL of a database that a map server has opened."""
    url = postgres_server.database()
    open_store(url).close()
    return url


@pytest.fixture
def tasks(engine: str, path: Path, request: pytest.FixtureRequest) -> Iterator[SqlTaskStore]:
    """A robot's own; in a fleet's database others have theirs beside it."""
    database = path if engine == "sqlite" else request.getfixturevalue("fleet")
    store = open_tasks(database, f"robot {next(_NUMBERS)}")
    yield store
    store.close()
