"""Absence is measured, never guessed (DESIGN 'Presence')."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from r4_ros.core.geometry import inverse, quat_from_matrix, transform_box
from r4_ros.core.model import (
    NO_COVARIANCE,
    Box,
    EntryState,
    Intrinsics,
    Motion,
    Observation,
    PlacedEntry,
    Pose,
    Vec3,
    Visibility,
)
from r4_ros.perception.capture import Placement
from r4_ros.perception.visibility import HIDDEN_PERIOD_NS, MOST_HIDDEN, Expectations

CAMERA = Intrinsics(320, 240, 292.0, 292.0, 160.0, 120.0)
DOWN = math.radians(25)
LOOKING = Pose(
    (0.0, 0.0, 1.4),
    quat_from_matrix(
        np.array([[1, 0, 0], [0, -math.sin(DOWN), math.cos(DOWN)], [0, -math.cos(DOWN), -math.sin(DOWN)]])
    ),
)
FLOOR = ((0.0, 0.0, -0.05), (30.0, 30.0, 0.1))
WALL = ((0.0, 6.0, 1.5), (30.0, 0.1, 3.0))
CRATE = ((0.2, 2.5, 0.35), (0.6, 0.5, 0.7))
TABLE = [
    ((0.0, 2.5, 0.74), (1.6, 0.9, 0.04)),
    *[((x, y, 0.36), (0.05, 0.05, 0.72)) for x in (-0.7, 0.7) for y in (2.1, 2.9)],
]
MUG = ((0.1, 2.4, 0.81), (0.09, 0.09, 0.1))


def checked(
    entries: Sequence[PlacedEntry],
    observations: Sequence[Observation],
    depth: Any,
    camera: Intrinsics,
    pose: Pose,
    first_index: int,
    covariance: tuple[float, ...] = (),
) -> tuple[Observation, ...]:
    placement = Placement(1, "camera", pose, pose_covariance=covariance)
    return Expectations().check(entries, observations, depth, camera, placement, first_index)


def absences(*arguments: Any) -> tuple[Observation, ...]:
    return tuple(o for o in checked(*arguments) if o.visibility == Visibility.ABSENT)


def entry(box: tuple[Vec3, Vec3], label: str = "crate", **changes: Any) -> PlacedEntry:
    placed = PlacedEntry(
        "e1", "robot", 7, "", label, Box(Pose(box[0]), box[1]), NO_COVARIANCE, EntryState.PRESENT, Motion.STATIC,
        Visibility.VISIBLE, 1.0, 5, 1, 2,
    )  # fmt: skip
    return replace(placed, **changes)


def seen(box: tuple[Vec3, Vec3], label: str) -> Observation:
    return Observation(0, label, transform_box(inverse(LOOKING), Box(Pose(box[0]), box[1])))


def check(
    scene: Any, boxes: Sequence[tuple[Vec3, Vec3]], expected: PlacedEntry, observations: Sequence[Observation] = ()
) -> tuple[Observation, ...]:
    depth, _ = scene(CAMERA, list(boxes), LOOKING).render()
    return absences([expected], observations, depth, CAMERA, LOOKING, 3)


def test_a_removed_thing_is_absent(scene: Any) -> None:
    [found] = check(scene, [FLOOR, WALL], entry(CRATE))
    assert (found.visibility, found.entry_id, found.entry_revision, found.index) == (Visibility.ABSENT, "e1", 7, 3)
    assert found.confidence >= 0.8
    assert transform_box(LOOKING, found.box).pose.position == pytest.approx(CRATE[0])


def test_a_thing_that_is_there_is_not_absent_though_nothing_detected_it(scene: Any) -> None:
    assert check(scene, [FLOOR, WALL, CRATE], entry(CRATE)) == ()


def test_a_table_seen_through_its_legs_is_there(scene: Any) -> None:
    table = entry(((0.0, 2.5, 0.38), (1.6, 0.9, 0.76)), "table")
    assert check(scene, [FLOOR, WALL, *TABLE], table) == ()
    low = Pose((0.0, 0.0, 0.4), quat_from_matrix(np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])))
    depth, _ = scene(CAMERA, [FLOOR, WALL, *TABLE], low).render()
    assert absences([table], (), depth, CAMERA, low, 0) == ()
    gone, _ = scene(CAMERA, [FLOOR, WALL], low).render()
    assert len(absences([table], (), gone, CAMERA, low, 0)) == 1


def test_a_cup_taken_from_a_table_is_absent_and_one_that_stands_there_is_not(scene: Any) -> None:
    cup = entry(MUG, "cup", motion=Motion.MOVABLE)
    table = seen(((0.0, 2.5, 0.38), (1.6, 0.9, 0.76)), "table")
    low = Pose((0.0, 1.0, 1.05), LOOKING.orientation)
    with_cup, _ = scene(CAMERA, [FLOOR, WALL, *TABLE, MUG], low).render()
    without, _ = scene(CAMERA, [FLOOR, WALL, *TABLE], low).render()
    assert absences([cup], [table], with_cup, CAMERA, low, 0) == ()
    flat = Pose((0.0, 1.0, 0.95), quat_from_matrix(np.array([[1.0, 0, 0], [0, -0.17, 0.985], [0, -0.985, -0.17]])))
    without, _ = scene(CAMERA, [FLOOR, WALL, *TABLE], flat).render()
    assert len(absences([cup], [table], without, CAMERA, flat, 0)) == 1


@pytest.mark.parametrize("offset", [(0.05, 0.0, 0.0), (0.0, 0.06, 0.0), (0.0, -0.06, 0.02)])
def test_a_cup_a_little_off_its_place_is_not_absent(scene: Any, offset: Vec3) -> None:
    flat = Pose((0.0, 1.0, 0.95), quat_from_matrix(np.array([[1.0, 0, 0], [0, -0.17, 0.985], [0, -0.985, -0.17]])))
    moved = (tuple(a + b for a, b in zip(MUG[0], offset, strict=True)), MUG[1])
    depth, _ = scene(CAMERA, [FLOOR, WALL, *TABLE, moved], flat).render()
    sigma2 = 0.03**2
    cup = entry(MUG, "cup", position_covariance=(sigma2, 0, 0, 0, sigma2, 0, 0, 0, sigma2))
    assert absences([cup], (), depth, CAMERA, flat, 0) == ()


APPLE = ((0.1, 2.4, 0.79), (0.06, 0.06, 0.06))
FLAT = Pose((0.0, 1.0, 0.95), quat_from_matrix(np.array([[1.0, 0, 0], [0, -0.17, 0.985], [0, -0.985, -0.17]])))


@pytest.mark.parametrize("sigma", [0.0, 0.008])
def test_an_apple_taken_from_a_table_is_absent_though_the_camera_may_be_two_centimetres_off(
    scene: Any, sigma: float
) -> None:
    apple = entry(APPLE, "apple", position_covariance=tuple(np.diag([sigma**2] * 3).ravel()))
    empty, _ = scene(CAMERA, [FLOOR, WALL, *TABLE], FLAT).render()
    assert len(absences([apple], (), empty, CAMERA, FLAT, 0)) == 1
    for dx, dy in ((0, 0), (0.04, 0), (-0.06, 0), (0, 0.06), (0, -0.06), (0.04, 0.04)):
        there = ((APPLE[0][0] + dx, APPLE[0][1] + dy, APPLE[0][2]), APPLE[1])
        depth, _ = scene(CAMERA, [FLOOR, WALL, *TABLE, there], FLAT).render()
        assert absences([apple], (), depth, CAMERA, FLAT, 0) == (), (dx, dy)


def test_hidden_is_not_absent(scene: Any) -> None:
    assert check(scene, [FLOOR, WALL, ((0.2, 1.5, 0.5), (2.0, 0.1, 1.8))], entry(CRATE)) == ()


def test_out_of_view_is_not_absent(scene: Any) -> None:
    for centre in ((5.0, 2.5, 0.35), (0.2, -2.5, 0.35), (1.2, 2.5, 0.35), (0.0, 0.4, 0.35)):
        assert check(scene, [FLOOR, WALL], entry((centre, CRATE[1]))) == ()


def test_no_depth_is_not_absent() -> None:
    assert absences([entry(CRATE)], (), np.zeros((240, 320), np.float32), CAMERA, LOOKING, 0) == ()


def test_against_a_wall_nothing_can_be_said(scene: Any) -> None:
    picture = ((0.0, 5.93, 1.4), (0.8, 0.04, 0.5))
    assert check(scene, [FLOOR, WALL], entry(picture, "picture")) == ()


def test_less_certain_than_large_tells_nothing(scene: Any) -> None:
    vague = entry(CRATE, position_covariance=(0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1))
    assert check(scene, [FLOOR, WALL], vague) == ()


@pytest.mark.parametrize("changes", [{"state": EntryState.GONE}, {"motion": Motion.DYNAMIC}])
def test_only_what_is_believed_to_stand_there_is_looked_for(scene: Any, changes: dict[str, Any]) -> None:
    assert check(scene, [FLOOR, WALL], entry(CRATE, **changes)) == ()


def test_what_is_seen_there_now_is_not_absent(scene: Any) -> None:
    assert check(scene, [FLOOR, WALL], entry(CRATE), [seen(CRATE, "box")]) == ()
    beside = ((CRATE[0][0] + 0.4, CRATE[0][1], CRATE[0][2]), CRATE[1])
    assert check(scene, [FLOOR, WALL], entry(CRATE), [seen(beside, "crate")]) == ()
    assert len(check(scene, [FLOOR, WALL], entry(CRATE), [seen(beside, "shoe")])) == 1


def test_what_nobody_looked_at_since_is_looked_for(scene: Any) -> None:
    assert len(check(scene, [FLOOR, WALL], entry(CRATE, state=EntryState.UNKNOWN))) == 1


@pytest.mark.parametrize(("variance", "turn", "expected"), [(1e-4, 0.0, 1), (0.2, 0.0, 0), (1e-4, 0.05, 0)])
def test_a_camera_that_hardly_knows_where_it_is_says_nothing(
    scene: Any, variance: float, turn: float, expected: int
) -> None:
    depth, _ = scene(CAMERA, [FLOOR, WALL], LOOKING).render()
    covariance = tuple(np.diag([variance] * 3 + [turn] * 3).ravel())
    assert len(absences([entry(CRATE)], (), depth, CAMERA, LOOKING, 0, covariance)) == expected


def test_many_entries_around_are_told_apart(scene: Any) -> None:
    depth, _ = scene(CAMERA, [FLOOR, WALL], LOOKING).render()
    around = [
        entry(((float(x), float(y), 0.35), CRATE[1]), entry_id=f"{x}/{y}") for x in range(-9, 10) for y in range(-9, 10)
    ]
    found = {o.entry_id for o in absences([*around, entry(CRATE)], (), depth, CAMERA, LOOKING, 0)}
    assert "e1" in found
    assert found <= {"e1", *(f"{x}/{y}" for x in range(-2, 3) for y in range(1, 6))}


BOARD = ((0.2, 1.2, 0.7), (1.2, 0.05, 1.0))


def test_a_thing_behind_another_is_hidden(scene: Any) -> None:
    depth, _ = scene(CAMERA, [FLOOR, WALL, BOARD, CRATE], LOOKING).render()
    [found] = checked([entry(CRATE)], (), depth, CAMERA, LOOKING, 3)
    assert (found.index, found.entry_id, found.entry_revision, found.visibility) == (3, "e1", 7, Visibility.OCCLUDED)
    assert found.is_hidden_entry and found.confidence > 0.8


@pytest.mark.parametrize("boxes", [[FLOOR, WALL, CRATE], [FLOOR, WALL]])
def test_what_is_in_view_is_not_hidden(scene: Any, boxes: Any) -> None:
    depth, _ = scene(CAMERA, boxes, LOOKING).render()
    assert not any(o.is_hidden_entry for o in checked([entry(CRATE)], (), depth, CAMERA, LOOKING, 0))


def test_that_places_are_hidden_is_told_now_and_then_and_of_few(scene: Any) -> None:
    depth, _ = scene(CAMERA, [FLOOR, WALL, BOARD], LOOKING).render()
    many = [entry(CRATE, entry_id=f"e{k}") for k in range(MOST_HIDDEN + 5)]
    expectations = Expectations()

    def told(stamp_ns: int) -> int:
        return len(expectations.check(many, (), depth, CAMERA, Placement(stamp_ns, "camera", LOOKING), 0))

    assert [told(s) for s in (0, 1, 2)] == [MOST_HIDDEN, 5, 0]
    assert told(HIDDEN_PERIOD_NS) == MOST_HIDDEN
