from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import Pose, Region
from r4_ros.memory import areas, boxes, relations, views
from r4_ros.memory.boxes import Boxes
from r4_ros.memory.relations import HELD


def box(centre: tuple[float, float, float], size: tuple[float, float, float]) -> Boxes:
    c, s = np.array([centre], float), np.array([size], float)
    return Boxes(c - s / 2, c + s / 2)


TABLE = box((2, 0, 0.4), (1.2, 0.8, 0.8))
MUG = box((2, 0, 0.86), (0.1, 0.1, 0.12))


def holds(relation: str, a: Boxes, b: Boxes) -> bool:
    return bool(relations.degrees(relation, a, b)[0] >= HELD)


@pytest.mark.parametrize(
    ("relation", "a", "b", "expected"),
    [
        ("on", MUG, TABLE, True),
        ("on", box((2, 0, 0.99), (0.1, 0.1, 0.12)), TABLE, True),
        ("on", box((2, 0, 1.1), (0.1, 0.1, 0.12)), TABLE, False),
        ("on", box((2.7, 0, 0.86), (0.1, 0.1, 0.12)), TABLE, False),
        ("on", box((2, 0, 0.3), (0.4, 0.4, 0.6)), TABLE, False),
        ("on", TABLE, MUG, False),
        ("on", box((2, 0, 0.55), (0.4, 0.4, 0.2)), box((2, 0, 0.5), (0.6, 0.6, 1.0)), True),
        ("in", box((2, 0, 1.0), (0.2, 0.1, 0.25)), box((2, 0, 1), (0.4, 1, 2)), True),
        ("in", MUG, TABLE, False),
        ("in", TABLE, TABLE, False),
        ("under", box((2, 0, 0.15), (0.3, 0.3, 0.3)), TABLE, True),
        ("under", MUG, TABLE, False),
        ("under", box((3, 0, 0.15), (0.3, 0.3, 0.3)), TABLE, False),
        ("above", box((2, 0, 2), (0.3, 0.3, 0.3)), TABLE, True),
        ("above", box((2, 3, 2), (0.3, 0.3, 0.3)), TABLE, False),
        ("below", TABLE, box((2, 0, 2), (0.3, 0.3, 0.3)), True),
        ("near", box((3.5, 0, 0.4), (0.2, 0.2, 0.2)), TABLE, True),
        ("near", box((3.9, 0, 0.4), (0.2, 0.2, 0.2)), TABLE, False),
        ("next_to", box((3.0, 0, 0.4), (0.2, 0.2, 0.2)), TABLE, True),
        ("next_to", box((3.4, 0, 0.4), (0.2, 0.2, 0.2)), TABLE, False),
        ("next_to", box((2, 0, 1.25), (0.2, 0.2, 0.2)), TABLE, False),
        ("within", box((90, 0, 0), (1, 1, 1)), TABLE, True),
    ],
)
def test_relations_of_boxes(relation: str, a: Boxes, b: Boxes, expected: bool) -> None:
    assert holds(relation, a, b) is expected


def test_between() -> None:
    a, b = box((0, 0, 0), (0.2, 0.2, 0.2)), box((4, 0, 0), (0.2, 0.2, 0.2))
    spots = Boxes(*(np.array([[2, 0, 0], [2, 0.9, 0], [2, 1.1, 0], [0.2, 0, 0], [5, 0, 0]]),) * 2)
    assert (relations.between(spots, a, b) >= HELD).tolist() == [True, True, False, False, False]
    assert relations.between(spots, a, a).tolist() == [0] * 5


@pytest.mark.parametrize("yaw", [0.0, 1.0, math.pi, -2.5])
def test_around_an_observer_the_sides_turn_with_it(yaw: float) -> None:
    observer = Pose((3, -1, 0), quat_from_yaw(yaw))
    for relation, angle in (("in_front_of", 0), ("left_of", 90), ("behind", 180), ("right_of", 270)):
        for off, expected in ((0, True), (55, True), (-55, True), (65, False), (180, False)):
            bearing = yaw + math.radians(angle + off)
            thing = box((3 + 2 * math.cos(bearing), -1 + 2 * math.sin(bearing), 1), (0.1, 0.1, 0.1))
            assert (views.around_observer(relation, thing, observer)[0] >= HELD) is np.bool_(expected)


def test_from_a_viewpoint_left_is_left_in_the_picture() -> None:
    tv = box((5, 0, 1), (0.1, 1.0, 0.6))
    seen_from_west, seen_from_east = Pose((0, 0, 0)), Pose((10, 0, 0))
    plant = box((5, 1.2, 0.5), (0.3, 0.3, 1.0))
    for viewer, left, right in ((seen_from_west, True, False), (seen_from_east, False, True)):
        assert (views.from_viewpoint("left_of", plant, tv, viewer)[0] >= HELD) is np.bool_(left)
        assert (views.from_viewpoint("right_of", plant, tv, viewer)[0] >= HELD) is np.bool_(right)
    chair = box((3.5, 0.1, 0.4), (0.5, 0.5, 0.9))
    assert views.from_viewpoint("in_front_of", chair, tv, seen_from_west)[0] >= HELD
    assert views.from_viewpoint("behind", chair, tv, seen_from_east)[0] >= HELD
    below = box((5, 0.05, 0.3), (0.3, 0.3, 0.3))
    assert views.from_viewpoint("left_of", below, tv, seen_from_west)[0] < HELD


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-math.pi, math.pi))
@settings(max_examples=100, deadline=None)
def test_left_and_right_exclude_each_other_and_mirror(x: float, y: float, yaw: float) -> None:
    observer = Pose((0, 0, 0), quat_from_yaw(yaw))
    thing = box((x, y, 1), (0.1, 0.1, 0.1))
    left = views.around_observer("left_of", thing, observer)[0]
    right = views.around_observer("right_of", thing, observer)[0]
    assert min(left, right) == 0
    turned = Pose((0, 0, 0), quat_from_yaw(yaw + math.pi))
    assert views.around_observer("right_of", thing, turned)[0] == pytest.approx(left, abs=1e-9)


def test_sideways_orders_from_right_to_left() -> None:
    spots = Boxes(*(np.array([[2, -1, 0], [2, 0, 0], [2, 1, 0]], float),) * 2)
    assert np.argsort(views.sideways(spots, Pose())).tolist() == [0, 1, 2]


def test_distances_to_an_observer_are_horizontal() -> None:
    mug = box((2, 0, 0.9), (0.2, 0.2, 0.2))
    assert boxes.gaps(mug, boxes.observer_box(Pose()))[0] == pytest.approx(1.9)
    assert boxes.gaps(mug, boxes.point_box(Pose()))[0] == pytest.approx(math.hypot(1.9, 0.8))


def test_regions() -> None:
    room = Region("room", ((0, 0), (4, 0), (4, 3), (0, 3)), 0.0, 2.5)
    points = np.array([[1, 1, 1], [5, 1, 1], [1, 1, 3], [2, 5, 1]], float)
    assert areas.in_region(room, points).tolist() == [True, False, False, False]
    assert areas.distance_to_region(room, points).tolist() == pytest.approx([0, 1, 0, 2])
    assert areas.in_region(room, points[:0]).shape == areas.distance_to_region(room, points[:0]).shape == (0,)


def test_an_unknown_relation_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match="left_of"):
        relations.check_relation("beside")


def test_what_sticks_out_of_a_seat_does_not_sit_on_it() -> None:
    table = box((0.19, 1.67, -0.91), (1.29, 1.00, 0.37))
    chair = box((0.58, 2.12, -0.81), (0.42, 0.37, 0.20))
    pillow = box((0.3, 1.6, -0.8), (0.3, 0.3, 0.2))
    assert relations.degrees("on", chair, table)[0] < relations.HELD
    assert relations.degrees("on", pillow, table)[0] >= relations.HELD
