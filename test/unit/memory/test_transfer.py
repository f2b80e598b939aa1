"""A memory as JSON Lines: what goes out comes in again, and a stream of another logger is a memory too."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import Loop, shelf
from memories import content, exported, plain

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.geometry import compose, quat_from_yaw
from r4_ros.core.model import (
    FOREVER,
    CorrectionKind,
    Embedding,
    EntryCorrection,
    Episode,
    EpisodeSource,
    Interval,
    Pose,
    Region,
    Visibility,
)
from r4_ros.memory.library import open_library
from r4_ros.memory.sqlite_store import SqliteStore
from r4_ros.memory.transfer import Imported, Importer, export_lines

S = 1_000_000_000
LABELS = ("mug", "chair", "plate", "lamp")


def imported(path: Path, lines: Iterable[str], strict: bool = True, embedder: Any = None) -> Imported:
    with open_library(path, replace(MemoryConfig(), writer_silence_s=0.0)) as library:
        return Importer(library, lambda: embedder).read(lines, strict)


def drive(robot: Any, thing: Any, steps: list[tuple[int, float]]) -> list[Any]:
    """Frames of a robot that sees or misses things, among them one that it carries, and looks for what is gone."""
    frames, stamp, x = [], 100.0, 0.0
    for seen, step in steps:
        stamp += 0.137 + 0.61 * step
        x += 0.0937 * step
        robot.where = (x, 0.031 * step, 0.017 * step)
        visibility = Visibility.OCCLUDED if seen & 1 else Visibility.VISIBLE
        things = [
            thing(label, (3.03 + k, 1.07 * k - 1, 0.8)).seen(
                visibility=visibility, attributes=(("color", ("red", "blue")[seen & 1]),), confidence=0.7
            )
            for k, label in enumerate(LABELS)
            if seen >> k & 1
        ]
        things.append(thing("box", (2.1 + 0.3 * x, 1.53, 0.5)).seen(track_id="9", description=f"a box {seen}"))
        frames.append(robot.frame(stamp, *things))
    return frames


def with_vectors(frame: Any, axes: Any) -> Any:
    def meant(text: str) -> Embedding | None:
        return Embedding("axes", axes.embed([text])[0]) if text else None

    return replace(
        frame,
        observations=tuple(
            replace(o, label_embedding=meant(o.label), description_embedding=meant(o.description))
            for o in frame.observations
        ),
    )


@settings(max_examples=15, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 15), st.floats(0.1, 3)), min_size=1, max_size=12),
    odometry=st.booleans(),
    vectors=st.booleans(),
)
def test_what_goes_out_comes_in_again(
    make_robot: Any,
    thing: Any,
    axes: Any,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[int, float]],
    odometry: bool,
    vectors: bool,
) -> None:
    folder = tmp_path_factory.mktemp("transfer")
    robot, embedder = make_robot(), axes()
    if odometry:
        robot.drift = replace(make_robot().frame(0).sensor_in_map, position=(0.4, -0.3, 0.0))
    with open_library(folder / "a.db", MemoryConfig()) as library:
        for frame in drive(robot, thing, steps):
            library.ingest(with_vectors(frame, embedder) if vectors else frame)
    lines = exported(folder / "a.db")
    done = imported(folder / "b.db", lines)
    assert (done.refused, done.frames) == (0, len(steps))
    assert plain(content(folder / "a.db")) == content(folder / "b.db")


def test_absence_episodes_regions_two_writers_and_sessions(make_robot: Any, thing: Any, tmp_path: Path) -> None:
    robot = make_robot()
    mug = thing("mug", (2.3, 0.2, 0.8))
    with open_library(tmp_path / "a.db", MemoryConfig(writer_silence_s=0.0)) as library:
        entry = library.ingest(robot.frame(1, mug)).changed[0]
        for stamp in (3, 3.7, 4.9):
            library.ingest(robot.absent(stamp, entry.entry_id))
        library.ingest(replace(robot.frame(5, mug.at(2.9, -1.1, 0.8)), writer="w2", sequence=1))
        library.ingest(replace(robot.frame(0.5, mug), writer="w2", session=1, sequence=2))
        library.ingest(make_robot(agent_id="r2", camera="left", map_id="r1/0").frame(6, mug))
        library.add_episode(
            Episode("", "r1", "Tea is ready", Interval(2 * S, 4 * S), EpisodeSource.OPERATOR, "", (1, 2, 3))
        )
        library.set_regions([Region("kitchen", ((0, 0), (4, 0), (4, 4.5)), map_id="r1/0")])
        library.set_live(True)
    imported(tmp_path / "b.db", exported(tmp_path / "a.db"))
    a, b = content(tmp_path / "a.db"), content(tmp_path / "b.db")
    assert plain(a) == b and a["live"] and len(a["episodes"]) == 1
    assert {e["kind"].name for e in b["events"]} >= {"APPEARED", "DISAPPEARED"}
    again = imported(tmp_path / "b.db", exported(tmp_path / "a.db"))
    assert again.observations == 0 and plain(a) == content(tmp_path / "b.db"), "the same stream again changes nothing"


def corrected_loop(library: Any, robot: Any, thing: Any, rng: np.random.Generator, odometry: bool) -> None:
    """A drifting loop on which all sorts of things happen: corrections by SLAM and people, steps of TF, old poses."""
    loop = Loop(robot, shelf(thing), odometry=odometry)
    wrong = Pose()
    for step in range(90):
        stamp = 0.5 * step
        frame = loop.frame(stamp, node=step % 2 == 0, closed=bool(rng.random() < 0.1))
        if odometry and rng.random() < 0.05:
            wrong = Pose((float(rng.normal(0, 0.4)), 0.0, 0.0))
        library.ingest(replace(frame, sensor_in_map=compose(wrong, frame.sensor_in_map)))
        entries = library.entries()
        if rng.random() < 0.06:
            stamps, poses = loop.correction()
            keep = slice(None, None, int(rng.integers(1, 4)))
            shift = Pose((0.0, float(rng.normal(0, 0.1)), 0.0), quat_from_yaw(float(rng.normal(0, 0.02))))
            library.correct_anchors("r1", stamps[keep], [compose(shift, pose) for pose in poses[keep]])
        if entries and rng.random() < 0.06:
            kind = CorrectionKind(int(rng.integers(1, 7)))
            one, other = (entries[int(k)].entry_id for k in rng.integers(0, len(entries), 2))
            merged = [m.merged_id for m in library.merges() if not m.undone_by]
            part = merged[-1] if kind is CorrectionKind.SPLIT and merged else ""
            other = other if kind is CorrectionKind.MERGE else part
            said = EntryCorrection(kind, one, f"name {step}", other, round((stamp + 5) * 1e9), None, 0, "anna")
            with suppress(InvalidArgument, UnknownEntry):
                library.correct(said, step)


@pytest.mark.parametrize("jump", ["ignore", "recent"])
@pytest.mark.parametrize("odometry", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_what_slam_and_people_corrected_comes_in_where_it_was_said(
    make_robot: Any, thing: Any, tmp_path: Path, seed: int, odometry: bool, jump: str
) -> None:
    folder, config = tmp_path, MemoryConfig(tf_jump=jump, writer_silence_s=0.0)
    with open_library(folder / "a.db", config) as library:
        corrected_loop(library, make_robot(), thing, np.random.default_rng(seed), odometry)
    with open_library(folder / "b.db", config) as library:
        done = Importer(library).read(exported(folder / "a.db"), strict=True)
    a, b = content(folder / "a.db"), content(folder / "b.db")
    assert plain(a) == b
    assert done.paths == len([c for c in a["moves"] if c == "correction"])


def test_another_slams_path_moves_what_another_logger_saw(tmp_path: Path) -> None:
    frames = [foreign(i * S, base_in_map=[i, 0, 0, 0, 0, 0, 1], observations=[]) for i in range(1, 4)]
    nodes = [[i * S, i, 5, 0, 0, 0, 0, 1] for i in range(1, 4)]
    done = imported(tmp_path / "m.db", [*frames, json.dumps({"type": "path", "agent": "theirs", "nodes": nodes})])
    assert done.paths == 1
    with open_library(tmp_path / "m.db", MemoryConfig(), read_only=True) as library:
        assert [p.pose.position for p in library.trail("theirs")] == pytest.approx([(i, 5, 0) for i in (1, 2, 3)])


def test_an_export_is_of_one_moment_while_a_node_writes(make_robot: Any, thing: Any, tmp_path: Path) -> None:
    robot = make_robot()
    with open_library(tmp_path / "a.db", MemoryConfig()) as library:
        for i in range(3):
            library.ingest(robot.frame(i, thing("mug", (2, 0, 0.8))))
        store = SqliteStore(tmp_path / "a.db", read_only=True)
        lines = export_lines(store)
        first = next(lines)
        library.ingest(robot.frame(9, thing("plate", (2, 1, 0.8))))
        rest = [json.loads(line) for line in lines]
        store.close()
    assert json.loads(first)["format"] == "r4-memory"
    assert sum(line["type"] == "frame" for line in rest) == 3 and "plate" not in str(rest)


def foreign(stamp: int, **more: Any) -> str:
    frame = {
        "type": "frame",
        "agent": "theirs",
        "stamp": stamp,
        "base_in_map": [0, 0, 0, 0, 0, 0, 1],
        "observations": [{"label": "cup", "box_in_map": [2, 0.5, 0.8, 0.1, 0.1, 0.1]}],
    }
    return json.dumps({**frame, **more})


def test_another_logger_needs_to_know_little(tmp_path: Path, axes: Any) -> None:
    done = imported(tmp_path / "m.db", [foreign(1 * S), "", foreign(2 * S)], embedder=axes())
    assert (done.frames, done.observations, done.known) == (2, 2, 0)
    with open_library(tmp_path / "m.db", MemoryConfig()) as library:
        (cup,) = library.placed()
        assert cup.count == 2 and cup.box.pose.position == pytest.approx((2, 0.5, 0.8), abs=1e-6)
        assert cup.box.extent == pytest.approx((0.1, 0.1, 0.1), abs=1e-6)
        assert [p.pose.position for p in library.trail("theirs", 0, FOREVER)] == pytest.approx(
            [(0, 0, 0)] * 2, abs=1e-6
        )
        embedding = library.entries()[0].label_embedding
        assert embedding is not None and embedding.model == "axes"


BAD = {
    "no JSON": "{",
    "'type' must be one of": '["frame"]',
    "'stamp' must be a whole number": foreign(1).replace('"stamp": 1', '"stamp": 1.5'),
    "'agent' is missing": foreign(1).replace('"agent": "theirs", ', ""),
    "'sensor_in_map' is missing": foreign(1).replace('"base_in_map": [0, 0, 0, 0, 0, 0, 1], ', ""),
    "must have length 1": foreign(1).replace("0, 0, 0, 1]", "0, 0, 0, 9]"),
    "must have 6 or 10 numbers": foreign(1).replace("0.8, 0.1, ", "0.8, "),
    "must be a finite number": foreign(1).replace("0.8", "NaN"),
    "impossible extent": foreign(1).replace("0.1]", "-0.1]"),
    "must be one of UNKNOWN": foreign(1, observations=[{"label": "a", "box": [0] * 6, "visibility": "SEEN"}]),
    "must be base64": foreign(1, view={"rows": 1, "cols": 1, "depth": "§"}),
    "not rows x cols": foreign(1, view={"rows": 2, "cols": 2, "depth": "AAA="}),
    "needs 3 corners": '{"type": "region", "name": "hall", "polygon": [[0, 0], [1, 1]]}',
    "ends after it starts": '{"type": "episode", "agent": "a", "text": "x", "start": 5, "end": 5}',
    "'nodes' is missing": '{"type": "path", "agent": "theirs"}',
    "needs both": '{"type": "path", "agent": "theirs", "nodes": []}',
    "not 6": '{"type": "path", "agent": "theirs", "nodes": [[5, 0, 0, 0, 0, 0, 1]]}',
    "not r4-memory 1": '{"type": "memory", "format": "r4-memory", "version": 2}',
}


@pytest.mark.parametrize("problem", BAD)
def test_a_bad_line_is_refused_by_number_and_the_rest_goes_on(tmp_path: Path, problem: str) -> None:
    lines = [foreign(1 * S), BAD[problem], foreign(2 * S)]
    done = imported(tmp_path / "m.db", lines, strict=False)
    assert (done.refused, done.frames) == (1, 2)
    assert done.problems[0].startswith("line 2: ") and problem.replace("'stamp' ", "'stamp': ") in done.problems[0]
    with pytest.raises(InvalidArgument, match=r"line 2: .*stored"):
        imported(tmp_path / "strict.db", lines)
    with open_library(tmp_path / "strict.db", MemoryConfig(), read_only=True) as library:
        assert library.newest_stamp() == 1 * S


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "label", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(
    field=st.sampled_from([*json.loads(foreign(1)), "view", "sensor_in_odom", "sequence", "camera"]), value=JSON_VALUES
)
def test_whatever_stands_in_a_field_is_taken_or_refused(
    tmp_path_factory: pytest.TempPathFactory, field: str, value: Any
) -> None:
    done = imported(
        tmp_path_factory.mktemp("any") / "m.db", [json.dumps({**json.loads(foreign(1)), field: value})], strict=False
    )
    assert done.refused + done.frames + done.episodes + done.regions + done.derived == 1


def test_a_turned_box_keeps_its_direction(tmp_path: Path) -> None:
    turned = [2, 0.5, 0.8, 0, 0, math.sin(math.pi / 4), math.cos(math.pi / 4), 0.4, 0.1, 0.2]
    imported(tmp_path / "m.db", [foreign(1, observations=[{"label": "bench", "box_in_map": turned}])])
    with open_library(tmp_path / "m.db", MemoryConfig()) as library:
        assert library.placed()[0].box.extent == pytest.approx((0.1, 0.4, 0.2), abs=1e-5)
