"""A loop closure moves anchors, and with them everything that was remembered on the way."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import Loop, shelf

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, StoreError, UnknownEntry
from r4_ros.core.geometry import compose, inverse, quat_from_yaw, rotation_angle
from r4_ros.core.model import FOREVER, Episode, EpisodeSource, Interval, Pose, Query
from r4_ros.memory.library import Library, open_library

S = 1_000_000_000
ROUND_S = 38.0
"""Before the first things come into view again."""


def drive(library: Library, loop: Loop, seconds: float = ROUND_S) -> Loop:
    for frame in loop.frames(seconds):
        library.ingest(frame)
    return loop


def places(library: Library) -> dict[str, tuple[float, ...]]:
    return {e.label: e.box.pose.position for e in library.placed()}


def truth(loop: Loop) -> dict[str, tuple[float, ...]]:
    return {t.label: t.centre for t in loop.things}


def error(library: Library, loop: Loop) -> float:
    """Largest distance of an entry from the truth, metres."""
    known, true = places(library), truth(loop)
    assert set(known) == set(true)
    return max(math.dist(known[label], true[label]) for label in true)


def rows(library: Library) -> list[tuple[Any, ...]]:
    """All rows that aren't anchors or the revision."""
    tables = ("frame", "entry", "stay", "sighting", "presence", "observation", "event", "episode", "session")
    execute = library._store._file.execute  # type: ignore[attr-defined]
    return [row for table in tables for row in execute(f"SELECT * FROM {table}")]


@pytest.mark.parametrize("odometry", [True, False])
def test_a_corrected_path_puts_everything_where_it_is(memory: Any, robot: Any, thing: Any, odometry: bool) -> None:
    loop = drive(memory, Loop(robot, shelf(thing), odometry))
    memory.add_episode(Episode("", "r1", "fell", Interval(40 * S, 41 * S), EpisodeSource.UTTERANCE, place=(1, 2, 0)))
    before, entries, revision = rows(memory), memory.entries(), memory.revision
    assert error(memory, loop) > 0.5

    assert memory.correct_anchors("r1", *loop.correction()).anchors > 30

    assert error(memory, loop) < 0.05
    assert memory.entries() == entries and rows(memory) == before and memory.revision == revision + 1
    true = truth(loop)
    assert max(math.dist(event.place, true[event.label]) for event in memory.events()) < 0.05
    for point in memory.trail("r1"):
        assert math.hypot(*point.pose.position[:2]) == pytest.approx(4.0, abs=0.03)
    for evidence in memory.retrieve(Query()).entries:
        assert math.dist(evidence.box.pose.position, true[evidence.label]) < 0.05


def test_the_same_correction_again_changes_nothing(memory: Any, robot: Any, thing: Any) -> None:
    loop = drive(memory, Loop(robot, shelf(thing)))
    memory.correct_anchors("r1", *loop.correction())
    revision, placed, trail = memory.revision, memory.placed(), memory.trail("r1")
    assert memory.correct_anchors("r1", *loop.correction()).anchors == 0
    assert (memory.revision, memory.placed(), memory.trail("r1")) == (revision, placed, trail)


def test_corrections_do_not_add_up(open_memory: Any, make_robot: Any, thing: Any) -> None:
    detour, straight = open_memory("a.db"), open_memory("b.db")
    for library in (detour, straight):
        loop = drive(library, Loop(make_robot(), shelf(thing)))
    stamps, poses = loop.correction()
    wrong = Pose((3, -2, 0.1), quat_from_yaw(1.0))
    detour.correct_anchors("r1", stamps, [compose(wrong, pose) for pose in poses])
    detour.correct_anchors("r1", stamps, poses)
    straight.correct_anchors("r1", stamps, poses)
    a, b = places(detour), places(straight)
    assert max(math.dist(a[label], b[label]) for label in b) < 1e-5


@pytest.mark.parametrize("keep", [slice(None, None, 5), slice(1, None, 2), slice(None, None, -1)])
def test_thinned_graphs_in_any_order_do(memory: Any, robot: Any, thing: Any, keep: slice) -> None:
    loop = drive(memory, Loop(robot, shelf(thing)))
    stamps, poses = loop.correction()
    memory.correct_anchors("r1", stamps[keep], poses[keep])
    assert error(memory, loop) < 0.06


def test_a_part_of_the_graph_carries_what_lies_before_along(memory: Any, robot: Any, thing: Any) -> None:
    loop = drive(memory, Loop(robot, shelf(thing), drift=Pose()))
    believed = memory.trail("r1")
    shift = Pose((0.5, 0.0, 0.0), quat_from_yaw(0.2))
    stamps, poses = loop.correction()
    memory.correct_anchors("r1", stamps[20:30], [compose(shift, pose) for pose in poses[20:30]])
    memory.correct_anchors("r1", stamps[20:30], [compose(shift, pose) for pose in poses[20:30]])
    for before, after in zip(believed, memory.trail("r1"), strict=True):
        assert math.dist(compose(shift, before.pose).position, after.pose.position) < 1e-4


def test_a_restart_keeps_the_correction_and_goes_on_from_there(open_memory: Any, robot: Any, thing: Any) -> None:
    library = open_memory()
    loop = drive(library, Loop(robot, shelf(thing)))
    library.correct_anchors("r1", *loop.correction())
    expected = (library.placed(), library.events(), library.trail("r1"), library.retrieve(Query()))
    library.close()
    library = open_memory()
    assert (library.placed(), library.events(), library.trail("r1"), library.retrieve(Query())) == expected
    assert library.correct_anchors("r1", *loop.correction()).anchors == 0


def test_frames_that_do_not_know_of_it_yet_are_placed_by_it(memory: Any, robot: Any, thing: Any) -> None:
    loop = drive(memory, Loop(robot, shelf(thing)))
    memory.correct_anchors("r1", *loop.correction())
    for step in range(8):  # as TF still says, then as it says once it has been corrected
        memory.ingest(loop.frame(ROUND_S + 0.5 + step / 2, closed=step >= 4))
    assert len(memory.entries()) == 12 and error(memory, loop) < 0.08


def test_a_correction_that_was_taken_back_makes_no_frame_believe_an_old_map(
    memory: Any, robot: Any, thing: Any
) -> None:
    loop = drive(memory, Loop(robot, shelf(thing), drift=Pose()), 10.0)
    stamps, poses = loop.correction()
    for shift in (Pose((1.0, 0, 0)), Pose((1e-9, 0, 0))):
        memory.correct_anchors("r1", stamps, [compose(shift, pose) for pose in poses])
    frame, step = loop.frame(12.0), Pose((0.4, 0.0, 0.0))
    memory.ingest(replace(frame, sensor_in_map=compose(step, frame.sensor_in_map)))
    base = compose(frame.sensor_in_map, frame.base_in_sensor)
    assert memory.trail("r1")[-1].pose.position == pytest.approx(compose(step, base).position, abs=1e-5)


def test_boxes_do_not_grow_when_the_map_was_turned(memory: Any, robot: Any, thing: Any) -> None:
    shelf_board = thing("board", (3, 0, 0.8), (0.1, 2.0, 0.1))
    for i in range(5):
        memory.ingest(robot.frame(10 + i, shelf_board))
    turn = Pose((0, 0, 0), quat_from_yaw(0.1))
    stamps = [(10 + i) * S for i in range(5)]
    memory.correct_anchors("r1", stamps, [compose(turn, p.pose) for p in memory.trail("r1")])
    extents = []
    for i in range(30):
        frame = robot.frame(15 + i, shelf_board)
        memory.ingest(replace(frame, sensor_in_map=compose(turn, frame.sensor_in_map)))
        extents.append(memory.placed()[0].box.extent)
    assert len(memory.entries()) == 1 and max(max(extent) for extent in extents) < 2.1
    assert max(extents[-1]) <= max(extents[1]) + 1e-9


def test_what_is_no_path_is_refused_and_changes_nothing(memory: Any, robot: Any, thing: Any) -> None:
    with pytest.raises(UnknownEntry, match="no path"):
        memory.correct_anchors("r1", [1], [Pose()])
    loop = drive(memory, Loop(robot, shelf(thing)), 5.0)
    before = (memory.placed(), memory.revision)
    for stamps, poses, reason in (
        ([], [], "needs both"),
        ([11 * S], [Pose(), Pose()], "needs both"),
        ([11 * S, 11 * S], [Pose(), Pose()], "one stamp"),
        ([11 * S], [Pose((math.nan, 0, 0))], "no possible place"),
        ([11 * S], [Pose((0, 0, 0), (0, 0, 0, 0))], "unit quaternion"),
        ([900 * S], [Pose()], "none of the 1 nodes"),
    ):
        with pytest.raises(InvalidArgument, match=reason):
            memory.correct_anchors("r1", stamps, poses)
    with pytest.raises(InvalidArgument, match="on map 'attic'"):
        memory.correct_anchors("r1", *loop.correction(), map_id="attic")
    assert (memory.placed(), memory.revision) == before


def test_only_the_corrected_agent_moves(memory: Any, make_robot: Any, thing: Any) -> None:
    loop = drive(memory, Loop(make_robot(map_id="home"), shelf(thing)))
    other = make_robot(agent_id="r2", map_id="home")
    memory.ingest(other.frame(20, thing("lamp", (2, 0, 1))))
    memory.correct_anchors("r1", *loop.correction(), map_id="home")
    assert places(memory)["lamp"] == pytest.approx((2, 0, 1), abs=1e-6)


def test_each_node_counts_for_its_session(memory: Any, make_robot: Any, thing: Any, clock: Any) -> None:
    memory.ingest(make_robot().frame(10, thing("cup", (2, 0, 1))))
    clock.now += 60
    memory.ingest(make_robot(writer="w2").frame(1000, thing("cup", (2, 0, 1))))
    shift = Pose((1, 0, 0))
    second = memory.trail("r1")[1]
    memory.correct_anchors("r1", [1000 * S], [compose(shift, second.pose)])
    assert [e.box.pose.position[0] for e in memory.placed()] == pytest.approx([2, 3])


def test_a_write_that_fails_leaves_all_where_it_was(memory: Any, robot: Any, thing: Any, monkeypatch: Any) -> None:
    loop = drive(memory, Loop(robot, shelf(thing)))
    before = (memory.placed(), memory.trail("r1"), memory.revision)

    def full(revision: int) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(memory._store, "_write_revision", full)
        with pytest.raises(StoreError, match="full"):
            memory.correct_anchors("r1", *loop.correction())
    assert (memory.placed(), memory.trail("r1"), memory.revision) == before
    assert memory.correct_anchors("r1", *loop.correction()).anchors and error(memory, loop) < 0.05


angle = st.floats(-3, 3)
shift = st.floats(-20, 20)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(x=shift, y=shift, z=st.floats(-2, 2), yaw=angle, roll=st.floats(-0.3, 0.3), odometry=st.booleans())
def test_a_rigid_correction_moves_everything_by_exactly_that(
    tmp_path_factory: Any,
    make_robot: Any,
    thing: Any,
    x: float,
    y: float,
    z: float,
    yaw: float,
    roll: float,
    odometry: bool,
) -> None:
    change = compose(
        Pose((x, y, z), quat_from_yaw(yaw)), Pose((0, 0, 0), (math.sin(roll / 2), 0, 0, math.cos(roll / 2)))
    )
    path = tmp_path_factory.mktemp("rigid") / "memory.db"
    with open_library(path, MemoryConfig()) as memory:
        drive(memory, Loop(make_robot(), shelf(thing), odometry), 12.0)
        placed, trail, events = memory.placed(), memory.trail("r1"), memory.events()
        memory.correct_anchors("r1", [p.stamp_ns for p in trail], [compose(change, p.pose) for p in trail])
        for old, new in zip(placed, memory.placed(), strict=True):
            assert math.dist(compose(change, old.box.pose).position, new.box.pose.position) < 1e-4
            expected = compose(change, old.box.pose).orientation
            assert rotation_angle(expected, new.box.pose.orientation) < 1e-4
        for point, moved in zip(trail, memory.trail("r1"), strict=True):
            assert math.dist(compose(change, point.pose).position, moved.pose.position) < 1e-4
        for event, after in zip(events, memory.events(), strict=True):
            assert math.dist(compose(change, Pose(event.place)).position, after.place) < 1e-4
        assert len(placed) == len(memory.retrieve(Query()).entries) >= 3


CORRECTOR = """
import sys
sys.path[:0] = {paths!r}
from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose
from r4_ros.core.model import Pose
from r4_ros.memory.library import open_library
with open_library({path!r}, MemoryConfig()) as library:
    trail = library.trail("r1")
    stamps = [p.stamp_ns for p in trail]
    for i in range(1, 100_000):
        library.correct_anchors("r1", stamps, [compose(Pose((float(i), 0, 0)), p.pose) for p in trail])
        print(i, flush=True)
"""


@pytest.mark.parametrize("last", [1, 6])
def test_kill_9_during_a_correction_leaves_the_old_or_the_new(
    tmp_path: Path, robot: Any, thing: Any, last: int
) -> None:
    path = tmp_path / "killed.db"
    with open_library(path, MemoryConfig()) as library:
        drive(library, Loop(robot, shelf(thing)))
        trail = library.trail("r1", 0, FOREVER)
    program = CORRECTOR.format(path=str(path), paths=[str(Path(__file__).resolve().parents[3])])
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = 0
    for line in process.stdout:
        acknowledged = int(line)
        if acknowledged == last:
            os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with open_library(path, MemoryConfig()) as library:
        assert library._store.problems() == []
        shifts = [
            compose(new.pose, inverse(old.pose)).position for old, new in zip(trail, library.trail("r1"), strict=True)
        ]
        np.testing.assert_allclose(shifts, [shifts[0]] * len(shifts), atol=1e-4)
        assert round(shifts[0][0]) in (acknowledged, acknowledged + 1)


drifts = st.builds(
    lambda x, y, yaw: Pose((x, y, 0.0), quat_from_yaw(yaw)),
    st.floats(-1.2, 1.2),
    st.floats(-1.2, 1.2),
    st.floats(-0.1, 0.1),
)


def size(drift: Pose) -> float:
    """How far it puts what is ten metres away, metres."""
    return math.hypot(*drift.position) + 10 * rotation_angle(Pose().orientation, drift.orientation)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    drift=drifts,
    every=st.integers(1, 9),
    first=st.integers(0, 4),
    hole=st.none() | st.tuples(st.floats(4, 20), st.floats(11, 15)),
    odometry=st.booleans(),
)
def test_any_graph_of_a_drifting_loop_puts_all_where_it_truly_is(
    tmp_path_factory: Any,
    make_robot: Any,
    thing: Any,
    drift: Pose,
    every: int,
    first: int,
    hole: tuple[float, float] | None,
    odometry: bool,
) -> None:
    """Thinned graphs and such with a hole of more than 10 s; the queries right before still tell what was believed."""
    with open_library(tmp_path_factory.mktemp("loop") / "memory.db", MemoryConfig()) as memory:
        loop = drive(memory, Loop(make_robot(), shelf(thing), odometry, drift))
        believed = places(memory)
        assert {e.label: e.box.pose.position for e in memory.retrieve(Query(limit=99)).entries} == believed
        assert error(memory, loop) <= size(drift) + 0.01
        stamps, poses = loop.correction()
        start, end = (0.0, 0.0) if hole is None else (hole[0], sum(hole))
        kept = [
            i
            for i, stamp in enumerate(stamps)
            if i >= first and i % every == first % every and not start < stamp / S - 10 < end
        ]
        memory.correct_anchors("r1", [stamps[i] for i in kept], [poses[i] for i in kept])
        seconds = [stamps[i] / S - 10 for i in kept]
        gaps = [b - a for a, b in itertools.pairwise(seconds)]
        alone = max([seconds[0], ROUND_S - seconds[-1], *(gap / 2 for gap in gaps if gap > 10)])
        assert (
            error(memory, loop) < 0.03 + 0.01 * size(drift) + size(drift) * alone / 40
        )  # it drifts on within a stretch
        assert {e.label: e.box.pose.position for e in memory.retrieve(Query(limit=99)).entries} == places(memory)
        for point in memory.trail("r1"):
            assert abs(math.hypot(*point.pose.position[:2]) - 4.0) < 0.03 + size(drift) * alone / 40


@settings(max_examples=8, deadline=None, derandomize=True)
@given(drift=drifts)
def test_a_jump_of_tf_that_is_spread_over_the_way_comes_near_the_truth(
    tmp_path_factory: Any, make_robot: Any, thing: Any, drift: Pose
) -> None:
    errors = {}
    for jump in ("ignore", "recent"):
        with open_library(tmp_path_factory.mktemp("jump") / "memory.db", MemoryConfig(tf_jump=jump)) as memory:
            loop = drive(memory, Loop(make_robot(), shelf(thing), True, drift), 30.0)
            memory.ingest(loop.frame(30.5, closed=True))
            known, true = places(memory), truth(loop)
            errors[jump] = max(math.dist(known[label], true[label]) for label in known)
    assert errors["ignore"] > 0.4 * errors["recent"]
    if math.hypot(*drift.position) > 0.3:
        assert errors["recent"] < 0.35 * max(errors["ignore"], 0.2)
