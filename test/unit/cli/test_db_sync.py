"""``r4 db sync`` and ``r4 db inbox``: without nodes, and what they say where something is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from r4_ros.cli import db
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.core.model import NS_PER_S, Box, Frame, Observation, Pose, View
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.library import open_library
from r4_ros.memory.postgres_store import PostgresStore


def run(*words: Any) -> Any:
    app = typer.Typer()
    db.register(app)
    return CliRunner().invoke(app, ["db", *map(str, words)], catch_exceptions=False)


@pytest.fixture
def fleet(postgres_server: Server, tmp_path: Path) -> tuple[str, str]:
    """URL of a map server's database for its owner and for robot1, whose file has two frames."""
    url = postgres_server.database()
    with open_library(url, MemoryConfig()) as library:
        assert isinstance(library.store, PostgresStore)
        library.store.make_role("robot1", "robot1")
    with open_library(tmp_path / "robot1.db", MemoryConfig()) as library:
        for number in (1, 2):
            place = ("home", "map", "cam", Pose(), View(1.2, 0.9, 0.1, 10.0))
            seen = (Observation(0, "mug", Box(Pose((0.0, 0.0, 3.0)), (0.1, 0.1, 0.1))),)
            library.ingest(Frame("robot1", "front", "w", number, 0, number * NS_PER_S, *place, observations=seen))
    return url, url.replace("//r4@", "//robot1@")


def test_up_and_down_by_hand(fleet: tuple[str, str], tmp_path: Path) -> None:
    url, as_robot = fleet
    file = tmp_path / "robot1.db"
    with pytest.raises(StoreError, match="2 frames aren't worked in yet: does the map server run"):
        run("sync", "--db", file, "--with", as_robot, "--once", "--patience", 0.0)
    assert "2 frames" in run("inbox", "--db", url, "--once").output
    done = run("sync", "--db", file, "--with", as_robot, "--once", "--json")
    assert done.exit_code == 0
    state = json.loads(done.stdout)
    assert (state["frames"], state["observations"], state["waiting_frames"]) == (2, 2, 0)
    with open_library(url, MemoryConfig(), read_only=True) as library:
        assert [(e.label, e.count) for e in library.entries()] == [("mug", 2)]
    assert json.loads(run("inbox", "--db", url, "--once", "--json").stdout)["batches"] == 0


def test_what_is_wrong_is_said(fleet: tuple[str, str], tmp_path: Path) -> None:
    url, as_robot = fleet
    with pytest.raises(InvalidArgument, match="a file"):
        run("inbox", "--db", tmp_path / "robot1.db", "--once")
    with pytest.raises(InvalidArgument, match="own file"):
        run("sync", "--db", url, "--with", as_robot, "--once")
    with pytest.raises(StoreError, match="belongs to no robot"):
        run("sync", "--db", tmp_path / "robot1.db", "--with", url, "--once", "--patience", 0.0)
