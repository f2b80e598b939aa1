"""``r4 ask`` over a real memory file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_double import chat_double, says
from typer.testing import CliRunner

from r4_ros.cli.ask import register
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, StoreError, UnknownEntry
from r4_ros.core.geometry import compose, inverse, quat_from_yaw
from r4_ros.core.model import NS_PER_S, OPTICAL_TO_BASE, Box, Frame, Observation, Pose, Region, Vec3, View
from r4_ros.memory.library import open_library

START = 1_700_000_000
THINGS: dict[str, tuple[Vec3, Vec3, str]] = {
    "dining table": ((2.0, 0.0, 0.4), (0.8, 1.4, 0.8), "brown"),
    "cup": ((1.9, 0.3, 0.86), (0.1, 0.1, 0.12), "red"),
    "chair": ((2.0, -1.3, 0.45), (0.5, 0.5, 0.9), "black"),
}


def frame(sequence: int, second: float, things: dict[str, tuple[Vec3, Vec3, str]]) -> Frame:
    """A camera in the map's origin, 1 m high, looking along +x."""
    sensor = compose(Pose((0, 0, 1), quat_from_yaw(0)), inverse(OPTICAL_TO_BASE))
    back = inverse(sensor)
    observations = tuple(
        Observation(
            i,
            label,
            Box(Pose(compose(back, Pose(centre)).position, back.orientation), extent),
            attributes=(("color", color),),
        )
        for i, (label, (centre, extent, color)) in enumerate(things.items())
    )
    return Frame(
        agent_id="rex",
        camera="front",
        writer="w",
        sequence=sequence,
        session=0,
        stamp_ns=round((START + second) * NS_PER_S),
        map_id="",
        map_frame="map",
        sensor_frame="camera",
        sensor_in_map=sensor,
        view=View(np.pi / 2, np.pi / 3, 0.1, 10.0, np.full((6, 8), 6.0, np.float32)),
        base_in_sensor=compose(OPTICAL_TO_BASE, Pose((0, 0, -1))),
        observations=observations,
    )


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a red cup on it and a chair beside it, seen for ten seconds."""
    path = tmp_path_factory.mktemp("ask") / "home.db"
    with open_library(path, MemoryConfig()) as library:
        library.set_regions([Region("kitchen", ((0, -3), (4, -3), (4, 3), (0, 3)))])
        for i in range(11):
            library.ingest(frame(i + 1, float(i), THINGS))
    return path


@pytest.fixture(scope="module")
def r4() -> Any:
    import typer

    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)

    def call(*arguments: str, **options: Any) -> Any:
        result = CliRunner().invoke(app, ["ask", *arguments, "--embedder", "none"], catch_exceptions=False, **options)
        assert result.exit_code == 0, result.output
        return result

    return call


@pytest.mark.parametrize(
    ("question", "verdict", "value"),
    [
        ("Where is the mug?", "ANSWERED", [1.9, 0.3, 0.86]),
        ("how many chairs are there", "ANSWERED", 1),
        ("is there a tv", "NOT_SEEN", False),
        ("is there a bed", "NOT_SEEN", False),
        ("when was the cup last seen", "ANSWERED", (START + 10) * NS_PER_S),
        ("what is on the table", "ANSWERED", ["cup"]),
        ("what is right of the table", "ANSWERED", ["chair"]),
        ("what is in the kitchen", "ANSWERED", ["dining table", "cup", "chair"]),
        ("what colour is the cup on the table", "ANSWERED", ["red"]),
        ("is the red cup on the table", "ANSWERED", True),
        ("is the cup on the chair", "ANSWERED", False),
        ("was the chair moved", "ANSWERED", False),
        ("which direction is the chair", "ANSWERED", "ahead and to the right"),
        ("what was to my right 5 seconds ago", "ANSWERED", ["chair"]),
        ("how far is the chair from the table", "ANSWERED", 1.301),
        ("which robot saw the cup", "ANSWERED", ["rex"]),
        ("why is the cup red", "UNSUPPORTED", None),
    ],
)
def test_one_json_document(r4: Any, db: Path, question: str, verdict: str, value: object) -> None:
    answer = json.loads(r4(question, "--db", str(db), "--json").stdout)
    assert answer["verdict"] == verdict, answer["answer"]
    found = answer["value"]
    if isinstance(found, list) and all(isinstance(v, str) for v in found):
        assert sorted(found) == sorted(value)  # type: ignore[type-var, arg-type]
    elif isinstance(value, (float, list)):
        assert found == pytest.approx(value, abs=1e-3)
    else:
        assert found == value
    if verdict == "ANSWERED":
        assert all(len(e["position"]) == 3 and e["agent_id"] == "rex" for e in answer["evidence"])
        assert answer["evidence"]


def test_human_output_shows_answer_verdict_and_evidence(r4: Any, db: Path) -> None:
    out = r4("where is the mug", "--db", str(db), "--trace").stdout
    assert "red cup" in out
    assert "ANSWERED" in out
    assert "0.86" in out
    assert "plan: rules: locate: mug" in out


def test_now_and_zone(r4: Any, db: Path) -> None:
    options = ("--db", str(db), "--json", "--now", str((START + 3600) * NS_PER_S), "--timezone", "Europe/Berlin")
    answer = json.loads(r4("where is the mug", *options).stdout)
    assert answer["verdict"] == "STALE"
    assert "23:13:30 CET" in answer["answer"]
    earlier = json.loads(r4("when was the mug last seen", "--db", str(db), "--json", "--now", "4s ago").stdout)
    assert earlier["value"] <= (START + 6) * NS_PER_S


def test_questions_one_after_the_other(r4: Any, db: Path) -> None:
    out = r4("--db", str(db), input="is there a chair\nis there a bed\n\n").stdout
    assert "ANSWERED" in out
    assert "NOT_SEEN" in out


def test_a_file_that_is_not_there(r4: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="r4 replay"):
        r4("where is the mug", "--db", str(tmp_path / "none.db"))


def test_a_file_that_is_no_memory(r4: Any, tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("no database" * 100)
    with pytest.raises(StoreError):
        r4("where is the mug", "--db", str(path))


def test_an_unknown_ego(r4: Any, db: Path) -> None:
    with pytest.raises(UnknownEntry, match="rex"):
        r4("what is to my left", "--db", str(db), "--ego", "bob")


def test_asking_leaves_the_file_as_it_is(r4: Any, db: Path) -> None:
    before = db.read_bytes()
    r4("'; DROP TABLE entries; --", "--db", str(db))
    assert db.read_bytes() == before


def test_a_language_model_reads_the_question(r4: Any, db: Path) -> None:
    plan = {"form": "locate", "steps": [{"semantic": {"text": "mug"}, "definite": True}]}
    with chat_double(says(json.dumps(plan))) as server:
        options = ("--db", str(db), "--json", "--planner", "lm", "--lm-model", "tiny", "--lm-url", server.url)
        asked = json.loads(r4("where is the mug", *options).stdout)
    ruled = json.loads(r4("where is the mug", "--db", str(db), "--json").stdout)
    assert {**asked, "trace": 0, "task_id": 0} == {**ruled, "trace": 0, "task_id": 0} and len(server.requests) == 1
    assert [s["detail"].split(":")[0] for found in (asked, ruled) for s in found["trace"] if s["action"] == "plan"] == [
        "lm tiny",
        "rules",
    ]


def test_a_planner_that_can_t_be_had_is_refused(r4: Any, db: Path) -> None:
    for options in (("--planner", "oracle"), ("--planner", "lm"), ("--ros", "--planner", "lm", "--lm-model", "m")):
        with pytest.raises(InvalidArgument, match=r"planner|lm_model"):
            r4("where is the mug", "--db", str(db), *options)
