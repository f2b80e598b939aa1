from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import db
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Query
from r4_ros.memory.library import open_library
from test.support.home import Home, at, keys_that_commute
from test.unit.memory.conftest import Robot, Thing


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    db.register(made)
    return made


@pytest.fixture
def home_file(tmp_path: Path) -> Path:
    path = tmp_path / "home.db"
    with open_library(path, MemoryConfig()) as library:
        keys_that_commute(Home(library, Robot, Thing), days=5)
    return path


def test_facts_for_a_person_and_as_json(app: typer.Typer, home_file: Path) -> None:
    found = json.loads(CliRunner().invoke(app, ["db", "facts", "keys", "--db", str(home_file), "--json"]).stdout)
    assert {f["kind"] for f in found} == {"USUAL_PLACE", "HABIT"} and all(f["sources"] for f in found)
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["db", "facts", "keys", "--db", str(home_file), "--timezone", "Asia/Tokyo"]
    )
    assert "on table" in shown.stdout and "18:00-18:15" in shown.stdout and "5 of 10" in shown.stdout
    none = CliRunner().invoke(app, ["db", "facts", "piano", "--db", str(home_file)])
    assert none.stdout.strip() == "nothing is known that is usual"


def test_what_is_told_is_remembered_and_ties_names(app: typer.Typer, home_file: Path) -> None:
    with open_library(home_file, MemoryConfig(), read_only=True) as library:
        keys = next(e.entry_id for e in library.entries() if e.label == "keys")
    line = ["db", "tell", "these are Anna's keys", "--with", f"Anna owns {keys}", "--db", str(home_file), "--json"]
    first = json.loads(CliRunner().invoke(app, line).stdout)["episode_id"]
    assert json.loads(CliRunner().invoke(app, line).stdout)["episode_id"] == first, "told twice is told once"
    with open_library(home_file, MemoryConfig(), read_only=True) as library:
        (told,) = library.retrieve(Query(text="keys", with_episodes=True)).episodes
        assert told.source.name == "OPERATOR" and told.interval.start == library.newest_stamp()
        assert [t.name for t in library.said_of()] == ["Anna"]
        assert round(at(4, 18) * 10**9) <= told.interval.start


def test_whose_episode_it_is_must_be_known(app: typer.Typer, tmp_path: Path, home_file: Path) -> None:
    path = tmp_path / "two.db"
    with open_library(path, MemoryConfig()) as library:
        for agent in ("r1", "r2"):
            library.ingest(Robot(agent_id=agent, map_id="home").frame(1))
    result = CliRunner().invoke(app, ["db", "tell", "hello", "--db", str(path)])
    assert isinstance(result.exception, InvalidArgument) and "--agent r1 or r2" in str(result.exception)
    caption = ["db", "tell", "x", "--with", "Anna owns nothing", "--db", str(home_file)]
    assert isinstance(CliRunner().invoke(app, caption).exception, InvalidArgument)
