"""Labels: never on each other, never outside, near what they name."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.cli.labels import Named, Rect, leader, place_in_polygon, place_labels

few = settings(max_examples=40, deadline=None, derandomize=True)
AREA: Rect = (0.0, 0.0, 800.0, 600.0)
named = st.builds(
    lambda x, y, w, h, tw: Named((x, y, x + w, y + h), (tw, 16.0)),
    st.floats(0, 750),
    st.floats(0, 550),
    st.floats(1, 200),
    st.floats(1, 200),
    st.floats(10, 120),
)


def overlap(a: Rect, b: Rect) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > 1e-6 and min(a[3], b[3]) - max(a[1], b[1]) > 1e-6


@few
@given(st.lists(named, max_size=40))
def test_labels_never_overlap_or_leave_the_area(items: list[Named]) -> None:
    spots = place_labels(items, AREA, [])
    placed = [(item, spot) for item, spot in zip(items, spots, strict=True) if spot]
    for item, (left, top, right, bottom) in placed:
        assert left >= 0
        assert top >= 0
        assert right <= 800
        assert bottom <= 600
        assert np.allclose((right - left, bottom - top), item.size)
    assert not any(overlap(a, b) for (_, a), (_, b) in itertools.combinations(placed, 2))
    assert place_labels(items, AREA, []) == spots


def test_a_big_thing_holds_its_label_and_a_small_one_has_it_beside() -> None:
    big, small = Named((100, 100, 300, 250), (60, 16)), Named((400, 400, 410, 410), (60, 16))
    inside, beside = place_labels([big, small], AREA, [])
    assert inside == (170, 167, 230, 183)
    assert beside is not None
    assert not overlap(beside, small.bounds)
    assert leader(small.bounds, beside) is None


def test_a_label_stays_off_small_things_on_the_big_one() -> None:
    table = Named((100, 100, 300, 250), (60, 16))
    mug = Named((190, 165, 210, 185), (40, 16))
    on_table, of_mug = place_labels([table, mug], AREA, [])
    assert on_table is not None
    assert of_mug is not None
    assert not overlap(on_table, mug.bounds)


def test_a_label_that_must_go_far_gets_a_line_and_one_without_room_is_left_out() -> None:
    dot = Named((50, 50, 54, 54), (60, 16))
    wall = [(x, y, x + 10.0, y + 10.0) for x in range(-10, 120, 10) for y in range(0, 110, 10)]
    [spot] = place_labels([dot], AREA, wall)
    assert spot is not None
    line = leader(dot.bounds, spot)
    assert line is not None
    start, end = line
    assert dot.bounds[0] <= start[0] <= dot.bounds[2]
    assert spot[0] <= end[0] <= spot[2]
    assert place_labels([Named((50, 50, 54, 54), (900, 16))], AREA, []) == [None]


def test_a_room_name_lies_in_its_room_and_beside_the_furniture() -> None:
    room = np.array([(0, 0), (400, 0), (400, 100), (200, 100), (200, 300), (0, 300)], float)
    sofa = (100.0, 20.0, 300.0, 80.0)
    spot = place_in_polygon(room, (80, 20), [sofa])
    assert spot is not None
    assert not overlap(spot, sofa)
    assert spot[2] <= 200 or spot[3] <= 100
    assert place_in_polygon(room, (500, 20), []) is None
