"""A step of the map against odom: absence doesn't count, provisional places are put right, old ones stay or follow."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

from r4_ros.core.geometry import compose, quat_from_yaw
from r4_ros.core.model import IDENTITY, EntryState, Frame, Pose
from r4_ros.memory.library import Library

S = 1_000_000_000
STEP = 1.0


@dataclass
class Drifter:
    """A robot whose map pose is off by ``astray`` metres in y, while its odometry is right."""

    robot: Any
    astray: float = 0.0
    turn: float = 0.0

    def frame(self, stamp: float, x: float, *things: Any, absent: str = "") -> Frame:
        self.robot.where = (x, 0.0, 0.0)
        frame = self.robot.absent(stamp, absent, 0, *things) if absent else self.robot.frame(stamp, *things)
        wrong = Pose((0.0, self.astray, 0.0), quat_from_yaw(self.turn))
        return replace(frame, sensor_in_odom=frame.sensor_in_map, sensor_in_map=compose(wrong, frame.sensor_in_map))


@pytest.fixture
def drifter(robot: Any) -> Drifter:
    return Drifter(robot)


@pytest.fixture
def cup(thing: Any) -> Any:
    return thing("cup", (3, 0, 0.8))


def xy(library: Library) -> list[tuple[float, float]]:
    return [(round(e.box.pose.position[0], 3), round(e.box.pose.position[1], 3)) for e in library.placed()]


def absences(memory: Library, drifter: Drifter, start: float, count: int = 4) -> EntryState:
    """The cup's place is seen empty a few times, half a second apart; gives its state."""
    [entry] = memory.entries()
    for i in range(count):
        memory.ingest(drifter.frame(start + i / 2, 0.0, absent=entry.entry_id))
    return memory.entries()[0].state


def test_after_a_step_absence_does_not_count_until_the_slam_has_settled(memory: Any, drifter: Any, cup: Any) -> None:
    memory.ingest(drifter.frame(9, 0.0, cup))
    assert absences(memory, drifter, 10, 2) == EntryState.PRESENT and memory.unsettled() == []
    drifter.astray = STEP
    assert absences(memory, drifter, 11, 8) == EntryState.PRESENT and memory.unsettled() == ["r1"]
    assert absences(memory, drifter, 16, 2) == EntryState.PRESENT  # settled, but what was before is void
    assert memory.unsettled() == [] and absences(memory, drifter, 17) == EntryState.GONE


def test_also_where_one_look_is_enough(open_memory: Any, drifter: Any, cup: Any) -> None:
    memory = open_memory(absent_frames=1, absent_span_s=0.0)
    memory.ingest(drifter.frame(9, 0.0, cup))
    drifter.astray = STEP
    assert absences(memory, drifter, 11, 8) == EntryState.PRESENT
    assert absences(memory, drifter, 16, 1) == EntryState.GONE


@pytest.mark.parametrize(("astray", "turn"), [(0.05, 0.0), (0.0, 0.02)])
def test_small_steps_are_none(memory: Any, drifter: Any, cup: Any, astray: float, turn: float) -> None:
    memory.ingest(drifter.frame(10, 0.0, cup))
    drifter.astray, drifter.turn = astray, turn
    assert absences(memory, drifter, 11) == EntryState.GONE and memory.unsettled() == []


def test_a_turn_is_a_step_too(memory: Any, drifter: Any, cup: Any) -> None:
    memory.ingest(drifter.frame(10, 0.0, cup))
    drifter.turn = 0.05
    memory.ingest(drifter.frame(11, 0.0))
    assert memory.unsettled() == ["r1"]


def test_odometry_that_begins_anew_is_no_step(memory: Any, drifter: Any, cup: Any) -> None:
    memory.ingest(drifter.frame(10, 0.0, cup))
    frame = drifter.frame(11, 0.0, cup)
    reset = Pose((40.0, 3.0, 0.0), quat_from_yaw(2.0))
    memory.ingest(replace(frame, sensor_in_odom=compose(reset, frame.sensor_in_odom)))
    assert memory.unsettled() == [] and len(memory.entries()) == 1


def test_a_correction_settles_once_observers_know_of_it(memory: Any, drifter: Any, cup: Any) -> None:
    frames = [drifter.frame(10 + i, 0.0, cup) for i in range(2)]
    drifter.astray = STEP
    frames += [drifter.frame(12 + i / 2, 0.0) for i in range(2)]
    for frame in frames:
        memory.ingest(frame)
    assert memory.unsettled() == ["r1"]
    right = [compose(Pose((0, STEP, 0)), compose(f.sensor_in_odom, f.base_in_sensor)) for f in frames]
    memory.correct_anchors("r1", [f.stamp_ns for f in frames], right)
    assert memory.unsettled() == [] and xy(memory) == [(3.0, STEP)]
    assert absences(memory, drifter, 13, 3) == EntryState.PRESENT  # on their way when it came
    assert memory.unsettled() == [] and absences(memory, drifter, 14.5) == EntryState.GONE


def test_tf_that_follows_a_correction_is_no_step(memory: Any, drifter: Any, cup: Any) -> None:
    frames = [drifter.frame(10 + i, 0.0, cup) for i in range(2)]
    for frame in frames:
        memory.ingest(frame)
    right = [compose(Pose((0, STEP, 0)), compose(f.sensor_in_odom, f.base_in_sensor)) for f in frames]
    memory.correct_anchors("r1", [f.stamp_ns for f in frames], right)
    memory.ingest(drifter.frame(12, 0.0, cup))  # TF doesn't know yet
    drifter.astray = STEP
    memory.ingest(drifter.frame(13, 0.0, cup))
    assert memory.unsettled() == [] and xy(memory) == [(3.0, STEP)]


def walk(memory: Library, drifter: Drifter, things: list[Any]) -> None:
    """Four metres along x, past a thing every metre; at the end the map steps."""
    for i in range(9):
        near = [t for t in things if t.centre[0] - 1 == i / 2]
        memory.ingest(drifter.frame(10 + i, i / 2, *near))
    drifter.astray = STEP
    memory.ingest(drifter.frame(19, 4.5))


@pytest.mark.parametrize(
    ("tf_jump", "shares"), [("ignore", [0, 0, 0, 0, 0]), ("recent", [0, 1 / 4.5, 2 / 4.5, 3 / 4.5, 4 / 4.5])]
)
def test_a_step_alone_moves_nothing_or_is_spread_over_the_way(
    open_memory: Any, drifter: Any, thing: Any, tf_jump: str, shares: list[float]
) -> None:
    memory = open_memory(tf_jump=tf_jump)
    things = [thing(f"thing{i}", (1 + i, 0, 0.8)) for i in range(5)]
    walk(memory, drifter, things)
    assert xy(memory) == [(1.0 + i, pytest.approx(STEP * share, abs=1e-3)) for i, share in enumerate(shares)]
    moved = xy(memory)
    for i in range(8):  # the next step is spread over the way since this one
        memory.ingest(drifter.frame(20 + i, 5 + i / 2))
    drifter.astray = 2 * STEP
    memory.ingest(drifter.frame(28, 9))
    assert xy(memory) == moved


def test_what_was_placed_while_the_map_was_astray_for_a_moment_is_put_right(
    memory: Any, drifter: Any, cup: Any
) -> None:
    for i in range(4):
        memory.ingest(drifter.frame(10 + i, i / 2, cup))
    drifter.astray = STEP
    for i in range(4):
        memory.ingest(drifter.frame(14 + i, 2 - i / 2, cup))
    assert len(memory.entries()) == 2
    drifter.astray = 0.0
    receipts = [memory.ingest(drifter.frame(18 + i, i / 2, cup)) for i in range(7)]
    [entry] = memory.entries()
    assert xy(memory) == [(3.0, 0.0)] and entry.count == 15
    [settled] = [r for r in receipts if r.anchors]
    assert len(settled.removed) == 1 and [e.entry_id for e in settled.changed] == [entry.entry_id]
    assert memory.merges()[0].reason == "settled"
    for point in memory.trail("r1"):
        assert math.dist(point.pose.position, (point.pose.position[0], 0, 1)) < 1e-3
        assert point.pose.orientation == pytest.approx(IDENTITY.orientation, abs=1e-5)
