"""Partial views of large things: one entry, and still no thing takes its neighbour's."""

from __future__ import annotations

from typing import Any

import pytest

from r4_ros.core.model import Visibility

TRUNCATED, OCCLUDED = Visibility.TRUNCATED, Visibility.OCCLUDED


def part(thing: Any, x: float, length: float, label: str = "sofa", how: Visibility = TRUNCATED) -> Any:
    """A part of a thing that runs along y, from y = x on."""
    return thing(label, (3.0, x + length / 2, 0.4), (0.9, length, 0.8)).seen(visibility=how)


@pytest.mark.parametrize("how", [TRUNCATED, OCCLUDED])
def test_both_ends_of_a_long_thing_seen_whole_before_are_its_own(memory: Any, robot: Any, thing: Any, how: Any) -> None:
    memory.ingest(robot.frame(0, thing("sofa", (3.0, 0.0, 0.4), (0.9, 3.0, 0.8))))
    memory.ingest(robot.frame(1, part(thing, -1.5, 0.4, how=how)))
    memory.ingest(robot.frame(2, part(thing, 1.1, 0.4, how=how)))
    (entry,) = memory.entries()
    assert entry.count == 3
    assert entry.stays[-1].box.extent == pytest.approx((0.9, 3.0, 0.8), abs=1e-5)


def test_what_a_turning_camera_sees_piece_by_piece_grows_together(memory: Any, robot: Any, thing: Any) -> None:
    for k in range(8):
        memory.ingest(robot.frame(k * 0.2, part(thing, -2.0 + 0.4 * k, 1.2)))
    (entry,) = memory.entries()
    assert entry.count == 8
    assert entry.stays[-1].box.extent[1] == pytest.approx(4.0, abs=0.01)


def test_a_partly_seen_neighbour_that_only_touches_is_another_one(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, part(thing, 0.0, 2.0)))
    memory.ingest(robot.frame(1, part(thing, 1.95, 2.0)))
    assert len(memory.entries()) == 2


def test_a_part_with_another_name_is_another_thing(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("sofa", (3.0, 0.0, 0.4), (0.9, 3.0, 0.8))))
    memory.ingest(robot.frame(1, part(thing, 1.1, 0.4, "pillow")))
    assert len(memory.entries()) == 2


def test_two_parts_in_one_frame_are_two_things(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("sofa", (3.0, 0.0, 0.4), (0.9, 3.0, 0.8))))
    memory.ingest(robot.frame(1, part(thing, -1.5, 0.4), part(thing, 1.1, 0.4)))
    assert len(memory.entries()) == 2
