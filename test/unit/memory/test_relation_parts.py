"""Relations to parts of things and rooms, to walls, openings and what is opposite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import Pose, Region
from r4_ros.memory import areas, relations, views
from r4_ros.memory.boxes import Boxes
from r4_ros.memory.relations import HELD


def box(centre: tuple[float, float, float], size: tuple[float, float, float]) -> Boxes:
    c, s = np.array([centre], float), np.array([size], float)
    return Boxes(c - s / 2, c + s / 2)


TABLE = box((0, 0, 0.4), (2.0, 1.0, 0.8))
SHELF = box((0, 0, 1.0), (1.0, 0.4, 2.0))
ROOM = Region("hall", ((0, 0), (6, 0), (6, 4), (0, 4)))
ELL = Region("l", ((0, 0), (6, 0), (6, 3), (3, 3), (3, 6), (0, 6)))


def small(x: float, y: float, z: float) -> Boxes:
    return box((x, y, z), (0.1, 0.1, 0.1))


@pytest.mark.parametrize(
    ("relation", "thing", "reference", "expected"),
    [
        ("corner", small(0.9, 0.4, 0.85), TABLE, True),
        ("corner", small(0.9, 0.0, 0.85), TABLE, False),
        ("corner", small(3.0, 2.0, 0.85), TABLE, False),
        ("end", small(0.9, 0.0, 0.85), TABLE, True),
        ("end", small(0.0, 0.45, 0.85), TABLE, False),
        ("end", box((1.3, 0, 0.4), (0.4, 0.4, 0.8)), TABLE, True),
        ("end", box((1.9, 0, 0.4), (0.4, 0.4, 0.8)), TABLE, False),
        ("centre", small(0.1, 0.1, 0.85), TABLE, True),
        ("centre", small(0.6, 0.0, 0.85), TABLE, False),
        ("top", small(0.0, 0.0, 2.05), SHELF, True),
        ("top", small(0.0, 0.0, 1.8), SHELF, True),
        ("top", small(0.0, 0.0, 0.5), SHELF, False),
        ("top", small(0.0, 0.0, 3.0), SHELF, False),
        ("bottom", small(0.0, 0.0, 0.1), SHELF, True),
        ("bottom", small(0.6, 0.0, 0.1), SHELF, True),
        ("bottom", small(0.0, 0.0, 1.8), SHELF, False),
        ("against", box((0, 0.75, 0.4), (0.5, 0.4, 0.8)), TABLE, True),
        ("against", box((0, 1.0, 0.4), (0.5, 0.4, 0.8)), TABLE, False),
        ("against", small(0, 0, 0.85), TABLE, False),
        ("attached_to", box((0, 0.25, 1.5), (0.3, 0.1, 0.4)), SHELF, True),
        ("attached_to", box((0, 0.5, 1.5), (0.3, 0.1, 0.4)), SHELF, False),
        ("attached_to", small(0, 0, 2.05), SHELF, False),
        ("around", box((0, 1.0, 0.4), (0.4, 0.4, 0.8)), TABLE, True),
        ("around", box((0, 2.2, 0.4), (0.4, 0.4, 0.8)), TABLE, False),
        ("around", small(0, 0, 0.85), TABLE, False),
        ("side", box((0, 0.75, 0.4), (0.4, 0.4, 0.8)), TABLE, True),
        ("at", box((0, 0.8, 0.4), (0.4, 0.4, 0.8)), TABLE, True),
        ("at", small(0, 0, 0.85), TABLE, True),
        ("along", box((0.9, 0.7, 0.4), (0.4, 0.2, 0.8)), TABLE, True),
        ("along", box((1.3, 0.0, 0.4), (0.4, 0.4, 0.8)), TABLE, False),
        ("across_from", box((0, 3.0, 0.4), (2.0, 1.0, 0.8)), TABLE, True),
        ("across_from", box((0, 1.3, 0.4), (2.0, 1.0, 0.8)), TABLE, False),
        ("across_from", box((4, 3.0, 0.4), (1.0, 1.0, 0.8)), TABLE, False),
    ],
)
def test_parts_and_sides_of_things(relation: str, thing: Boxes, reference: Boxes, expected: bool) -> None:
    assert bool(relations.degrees(relation, thing, reference)[0] >= HELD) is expected


@pytest.mark.parametrize(
    ("part", "place", "region", "expected"),
    [
        ("corner", (0.4, 0.4), ROOM, True),
        ("corner", (3.0, 0.4), ROOM, False),
        ("corner", (-0.2, -0.2), ROOM, False),
        ("corner", (3.1, 2.9), ELL, False),
        ("corner", (0.3, 5.7), ELL, True),
        ("centre", (3.0, 2.0), ROOM, True),
        ("centre", (5.5, 2.0), ROOM, False),
        ("end", (5.8, 2.0), ROOM, True),
        ("end", (3.0, 3.8), ROOM, False),
        ("near", (6.5, 2.0), ROOM, True),
        ("next_to", (3.0, 2.0), ROOM, False),
        ("at", (3.0, 2.0), ROOM, True),
    ],
)
def test_parts_of_rooms(part: str, place: tuple[float, float], region: Region, expected: bool) -> None:
    assert bool(areas.of_region(part, small(*place, 0.5), region)[0] >= HELD) is expected


def test_seen_through_an_opening() -> None:
    window = box((3, 0, 1.5), (0.1, 1.0, 1.0))
    viewer = Pose((0, 0, 0))
    spots = Boxes(*(np.array([[6, 0.2, 1.5], [6, 3, 1.5], [2, 0, 1.5], [6, 0, 5.0], [-3, 0, 1.5]]),) * 2)
    assert (views.through(spots, window, viewer) >= HELD).tolist() == [True, False, False, False, False]


def test_what_an_asker_faces_and_has_across() -> None:
    asker = Pose((0, 0, 0), quat_from_yaw(np.pi / 2))
    spots = Boxes(*(np.array([[0, 3, 1], [3, 3, 1], [0, 0.3, 1], [0, -3, 1]]),) * 2)
    assert (views.ahead("facing", spots, asker) >= HELD).tolist() == [True, True, True, False]
    assert (views.ahead("across_from", spots, asker) >= HELD).tolist() == [True, True, False, False]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(*[st.floats(-5, 5)] * 3, *[st.floats(0.01, 3)] * 3), min_size=1, max_size=20),
    st.sampled_from(
        sorted(
            set(relations.RELATIONS)
            - {*views.DIRECTIONS, *views.FROM_A_POSE, "between", "facing", "through", "same_room"}
        )
    ),
)
def test_many_at_once_are_as_one_by_one_and_degrees_lie_in_0_to_1(rows: list[tuple[float, ...]], relation: str) -> None:
    c, s = np.array(rows)[:, :3], np.array(rows)[:, 3:]
    many = Boxes(c - s / 2, c + s / 2)
    degrees = relations.degrees(relation, many, SHELF)
    assert ((degrees >= 0) & (degrees <= 1)).all()
    singly = [float(relations.degrees(relation, many.one(i), SHELF)[0]) for i in range(len(rows))]
    np.testing.assert_allclose(degrees, singly)
