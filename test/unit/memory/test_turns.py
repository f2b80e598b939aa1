"""How things stand: kept beside their aligned boxes, averaged, dropped where it doesn't go with them, shown."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core.geometry import bounds, compose, quat_from_yaw, quat_multiply, yaw_of
from r4_ros.core.model import Box, Frame, Pose, Query, Visibility
from r4_ros.memory.sql_parts import part_row, snapshot_row, stay_of
from r4_ros.memory.turns import averaged, normal

ACROSS = (1.0, 0.0)
SIDES = st.floats(0.3, 2.0)


def turned(frame: Frame, degrees: float, **more: Any) -> Frame:
    """The frame with its boxes turned about the vertical."""
    turn = quat_from_yaw(math.radians(degrees))
    seen = tuple(
        replace(
            o,
            box=Box(Pose(o.box.pose.position, quat_multiply(o.box.pose.orientation, turn)), o.box.extent),
            **more,
        )
        for o in frame.observations
    )
    return replace(frame, observations=seen)


def shown(memory: Any) -> tuple[float, Box]:
    """Degrees and box of the one thing that is known."""
    (placed,) = memory.placed()
    return math.degrees(yaw_of(placed.box.pose.orientation)), placed.box


def test_a_thing_is_shown_as_it_stands_and_related_by_its_bounds(open_memory: Any, robot: Any, thing: Any) -> None:
    memory = open_memory()
    couch = thing("couch", (3, 0, 0.4), (2.0, 0.8, 0.8))
    for i in range(4):
        memory.ingest(turned(robot.frame(i, couch), 30 + i % 2))
    degrees, box = shown(memory)
    assert degrees == pytest.approx(30.5, abs=0.6)
    assert box.extent == pytest.approx((2.0, 0.8, 0.8), abs=0.02)
    (evidence,) = memory.retrieve(Query()).entries
    assert evidence.box == box
    (entry,) = memory.entries()
    low, high = bounds(box)
    assert entry.stays[-1].box.extent == pytest.approx(tuple(high - low), abs=0.05)
    before = memory.placed()
    memory.close()
    assert open_memory().placed() == before


def test_what_was_merged_is_read_as_it_stood(open_memory: Any, robot: Any, thing: Any) -> None:
    memory = open_memory()
    couch = thing("couch", (3, 0, 0.4), (2.0, 0.8, 0.8))
    for i in range(4):
        memory.ingest(turned(robot.frame(i, couch), 30))
        shifted = Pose((4.0, 0.0, 0.0))
        frame = turned(robot.frame(20 + i, couch), 30)
        memory.ingest(replace(frame, sensor_in_map=compose(shifted, frame.sensor_in_map)))
    trail = memory.trail("r1")
    stamps = [point.stamp_ns for point in trail]
    memory.correct_anchors("r1", stamps, [trail[0].pose] * len(stamps))
    (record,) = memory.merges()
    parts = [record.kept_before, record.kept_after, record.merged]
    assert all(part is not None and part.entry.stays[0].turned is not None for part in parts)
    assert memory.correct_anchors("r1", stamps, [trail[0].pose] * len(stamps)).anchors == 0
    stay = record.merged.entry.stays[0]
    text = json.loads(json.dumps(part_row(stay), default=bytes.hex))
    assert stay_of((0, 0, *snapshot_row(text))) == stay
    assert stay_of((0, 0, *snapshot_row(text[:8]))) == replace(stay, turned=None)  # as older versions wrote it


def test_views_that_name_the_sides_the_other_way_agree(memory: Any, robot: Any, thing: Any) -> None:
    for i in range(6):
        sides = (2.0, 0.8, 0.8) if i % 2 else (0.8, 2.0, 0.8)
        memory.ingest(turned(robot.frame(i, thing("couch", (3, 0, 0.4), sides)), 40 if i % 2 else -50))
    degrees, box = shown(memory)
    assert degrees == pytest.approx(40, abs=0.5)
    assert box.extent == pytest.approx((2.0, 0.8, 0.8), abs=0.02)


@pytest.mark.parametrize("visibility", [Visibility.TRUNCATED, Visibility.OCCLUDED])
def test_a_view_of_a_part_says_nothing_of_how_it_stands(memory: Any, robot: Any, thing: Any, visibility: Any) -> None:
    couch = thing("couch", (3, 0, 0.4), (2.0, 0.8, 0.8))
    memory.ingest(turned(robot.frame(0, couch), 30))
    memory.ingest(turned(robot.frame(1, thing("couch", (3, 0, 0.4), (1.0, 0.5, 0.8))), -20, visibility=visibility))
    assert shown(memory)[0] == pytest.approx(30, abs=0.1)


def test_a_turn_that_does_not_go_with_the_size_any_more_is_dropped(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(turned(robot.frame(0, thing("couch", (3, 0, 0.4), (2.0, 0.8, 0.8))), 30))
    for i in range(1, 30):
        memory.ingest(robot.frame(i, thing("couch", (3, 0, 0.4), (2.0, 0.8, 0.8))))
    assert shown(memory)[0] == pytest.approx(0, abs=0.1)


def test_most_views_decide_whether_it_is_turned_at_all(memory: Any, robot: Any, thing: Any) -> None:
    """A plate is as wide turned as not; once in a while a view of it takes it for a rectangle that stands askew."""
    plate, askew = thing("plate", (2, 0, 0.8), (0.42, 0.42, 0.03)), thing("plate", (2, 0, 0.8), (0.33, 0.26, 0.03))
    for i in range(4):
        memory.ingest(robot.frame(i, plate))
    memory.ingest(turned(robot.frame(4, askew), 38))
    for i in range(5, 12):
        memory.ingest(robot.frame(i, plate))
    assert shown(memory)[0] == pytest.approx(0, abs=0.1)


def test_a_thing_that_was_moved_stands_as_it_was_seen_last(memory: Any, robot: Any, thing: Any) -> None:
    chair = thing("chair", (2, -1, 0.4), (0.9, 0.4, 0.8), more={"track_id": "1"})
    memory.ingest(turned(robot.frame(0, chair), 35))
    memory.ingest(turned(robot.frame(2, chair.at(2, 1.4, 0.4)), -25))
    (entry,) = memory.entries()
    assert [round(math.degrees(stay.turned[0])) for stay in entry.stays] == [35, -25]


@given(yaw=st.floats(-0.7, 0.7), length=SIDES, width=SIDES, quarters=st.integers(-4, 4), share=st.floats(0.05, 1))
def test_the_same_box_by_other_names_changes_nothing(
    yaw: float, length: float, width: float, quarters: int, share: float
) -> None:
    sides = (width, length) if quarters % 2 else (length, width)
    found = averaged((yaw, length, width), (yaw + quarters * math.pi / 2, *sides), share, ACROSS)
    assert found == pytest.approx((yaw, length, width), abs=1e-9)


@given(yaw=st.floats(-20, 20), length=SIDES, width=SIDES)
def test_a_turn_has_one_name(yaw: float, length: float, width: float) -> None:
    found = normal((yaw, length, width))
    assert -math.pi / 4 - 1e-9 <= found[0] <= math.pi / 4 + 1e-9
    straight = math.isclose(math.cos(2 * (found[0] - yaw)), 1, abs_tol=1e-6)
    assert found[1:] == ((length, width) if straight else (width, length))


def test_along_the_line_of_sight_nothing_shrinks() -> None:
    """The back of what is seen from the front isn't in view."""
    found = averaged((0.0, 1.0, 0.8), (0.0, 0.1, 0.6), 0.5, ACROSS)
    assert found == pytest.approx((0.0, 1.0, 0.7))
