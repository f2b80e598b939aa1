from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import ask as questions
from r4_ros.cli import db as commands
from r4_ros.cli.view import scene_of
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Box, Frame, Observation, Pose, Query, View
from r4_ros.memory.library import open_library

RUN = CliRunner()
app = typer.Typer()
commands.register(app)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.db"
    with open_library(path, MemoryConfig()) as library:
        for agent, map_id in (("robot1", "home"), ("robot2", "lab")):
            seen = Observation(0, "mug", Box(Pose((0, 0, 2)), (0.1, 0.1, 0.1)))
            view = View(1.0, 0.8, 0.1, 5.0)
            where = (agent, "camera", "w", 1, 0, 10**9, map_id, "map", "optical", Pose((0, 0, 1)), view)
            library.ingest(Frame(*where, observations=(seen,)))
    return path


def run(db: Path, *args: str) -> Any:
    done = RUN.invoke(app, ["db", "align", "--db", str(db), "--json", *args], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def mugs(db: Path) -> list[tuple[float, ...]]:
    with open_library(db, MemoryConfig(), read_only=True) as library:
        return [e.box.pose.position for e in library.retrieve(Query(labels=("mug",))).entries]


def test_align_list_and_undo(db: Path) -> None:
    assert len(mugs(db)) == 2 and run(db) == []
    said = run(db, "--agent", "robot2", "--map", "lab", "--xyz", "0", "0", "0", "--source", "Ann")
    assert said["told_on"] == "home" and said["alignment"]["number"] == 1
    assert len(mugs(db)) == 1
    assert run(db, "--agent", "robot2", "--map", "lab")["alignment"] is None
    run(db, "--agent", "robot2", "--map", "lab", "--xyz", "7", "0", "0", "--yaw", "90")
    assert sorted(round(x, 3) for x, _, _ in mugs(db)) == [0.0, 7.0]
    run(db, "--agent", "robot2", "--map", "lab", "--undo")
    assert len(mugs(db)) == 1
    assert [(r["number"], r["source"], r["undone_by"]) for r in run(db)] == [(1, "Ann", 0), (2, "", 3), (3, "", 0)]
    plain = RUN.invoke(app, ["db", "align", "--db", str(db)]).stdout
    assert "map 'lab' of 'robot2' is told on 'home'" in plain


def test_what_is_asked_for_wrongly_is_told(db: Path) -> None:
    for args in (["--agent", "robot2"], ["--agent", "robot2", "--map", "moon"], ["--agent", "robot3", "--map", "lab"]):
        assert RUN.invoke(app, ["db", "align", "--db", str(db), *args]).exit_code != 0
    assert RUN.invoke(app, ["db", "align", "--db", str(db) + "x"]).exit_code != 0


def test_the_picture_shows_aligned_maps_as_one(db: Path) -> None:
    def scene() -> Any:
        with open_library(db, MemoryConfig(), read_only=True) as library:
            return scene_of(library)

    assert scene().other_maps != () and len(scene().things) == 1
    run(db, "--agent", "robot2", "--map", "lab", "--xyz", "0", "3", "0")
    assert scene().other_maps == () and len(scene().things) == 2
    assert {walk.agent_id for walk in scene().walks} == {"robot1", "robot2"}


def test_the_answer_shows_no_place_on_a_map_that_means_nothing_to_the_asker(db: Path) -> None:
    asker = typer.Typer()
    questions.register(asker)
    asker.callback()(lambda: None)
    asked = ["ask", "How many mugs are there?", "--db", str(db), "--ego", "robot1", "--embedder", "none"]
    shown = RUN.invoke(asker, asked, catch_exceptions=False).stdout
    assert "map" in shown and "lab" in shown and "?" in shown
