"""``r4 db sync`` and ``r4 db inbox``: without nodes, and what they say where something is wrong."""

from __future__ import annotations

import json
from contextlib import suppress
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


def test_a_fleet_begins_with_its_roles(postgres_server: Server, fleet: tuple[str, str], tmp_path: Path) -> None:
    """Of a database in which nobody opened a memory yet."""
    url = postgres_server.database()
    as_robot, file = url.replace("//r4@", "//robot7@"), tmp_path / "robot1.db"
    with pytest.raises(StoreError, match=r"is there one .*r4 db role"):
        run("sync", "--db", file, "--with", as_robot, "--once", "--patience", 0.0)
    for name, agent in (("robot7", "robot1"), ("robot2", "robot2")):
        assert run("role", name, "--agent", agent, "--db", url).exit_code == 0
    with pytest.raises(StoreError, match="file is of robot1, and the role is of robot 'robot2'"):
        run("sync", "--db", file, "--with", url.replace("//r4@", "//robot2@"), "--once", "--patience", 0.0)
    with pytest.raises(StoreError, match="does the map server run"):
        run("sync", "--db", file, "--with", as_robot, "--once", "--patience", 0.0)
    assert json.loads(run("inbox", "--db", url, "--once", "--json").stdout)["frames"] == 2


def test_what_is_said_on_a_robot_and_at_the_server_meets(fleet: tuple[str, str], tmp_path: Path) -> None:
    """Its own map's place goes up, a name comes down."""
    url, as_robot = fleet
    file = tmp_path / "robot1.db"

    def meet() -> None:
        for _ in range(3):
            with suppress(StoreError):
                run("sync", "--db", file, "--with", as_robot, "--once", "--patience", 0.0)
            run("inbox", "--db", url, "--once")
        run("sync", "--db", file, "--with", as_robot, "--once")

    lies = ("--agent", "robot1", "--map", "home", "--into", "lab", "--xyz", 1, 2, 3)
    run("align", *lies, "--db", file, "--source", "Ann")
    meet()
    with open_library(url, MemoryConfig(), read_only=True) as library:
        [thing] = library.entries()
        assert [r.source for r in library.alignments()] == ["robot: Ann"]
        assert library.own_maps()["robot1", "home"] == "lab"
    run("correct", "rename", thing.entry_id, "beaker", "--db", url, "--source", "Bob")
    meet()
    with open_library(file, MemoryConfig(), read_only=True) as library:
        assert [e.label for e in library.entries()] == ["beaker"]
        assert [r.correction.source for r in library.corrections()] == ["map server: Bob"]
