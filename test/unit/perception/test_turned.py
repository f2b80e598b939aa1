"""Upright boxes turned about the vertical: found where they say more than the aligned one, and only there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r4_ros.perception.turned import CLEARLY, turned_box

Points = np.ndarray[Any, Any]


def rectangle(length: float, width: float, seed: int = 0, n: int = 500) -> Points:
    random = np.random.default_rng(seed)
    return np.stack([random.uniform(-length / 2, length / 2, n), random.uniform(-width / 2, width / 2, n)])


def two_sides(length: float, width: float, seed: int = 0, n: int = 500) -> Points:
    """What a camera before a corner of a cupboard measures of it, with noise."""
    random = np.random.default_rng(seed)
    long, k = rectangle(length, width, seed, n), int(n * length / (length + width))
    long[1, :k], long[0, k:] = -width / 2, length / 2
    return np.asarray(long + random.normal(0, 0.004, (2, n)))


def at(points: Points, degrees: float, centre: tuple[float, float] = (0.0, 0.0)) -> Points:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return (np.array([[c, -s], [s, c]]) @ points + np.array(centre)[:, None]).astype(np.float32)


def sides(points: Points) -> tuple[float, float]:
    x, y = np.ptp(points, axis=1).tolist()
    return x, y


def off_by(yaw: float, degrees: float) -> float:
    """Degrees between two directions of a rectangle's sides."""
    return abs((math.degrees(yaw) - degrees + 45) % 90 - 45)


@settings(max_examples=60, deadline=None)
@given(
    make=st.sampled_from([rectangle, two_sides]),
    length=st.floats(0.6, 3.0),
    share=st.floats(0.3, 0.6),
    degrees=st.floats(18, 72),
    centre=st.tuples(st.floats(-5, 5), st.floats(-5, 5)),
    seed=st.integers(0, 99),
)
def test_how_a_thing_stands(
    make: Any, length: float, share: float, degrees: float, centre: tuple[float, float], seed: int
) -> None:
    points = at(make(length, share * length, seed), degrees, centre)
    found = turned_box(points, sides(points))
    if found is None:
        assert share * length**2 > 0.7 * math.prod(sides(points)), "clearly smaller"
        return
    assert off_by(found.yaw, degrees) < 5
    assert -math.pi / 4 <= found.yaw <= math.pi / 4
    assert found.centre == pytest.approx(centre, abs=0.08 * length)
    assert sorted((found.length, found.width)) == pytest.approx([share * length, length], abs=0.1 * length)
    along = abs(found.yaw - math.radians(degrees)) < 0.2
    assert (found.length > found.width) is along, "length is along the yaw"


def test_a_board_on_a_wall_that_stands_askew() -> None:
    points = at(rectangle(1.2, 0.02), 10)
    found = turned_box(points, sides(points))
    assert found is not None
    assert off_by(found.yaw, 10) < 1
    assert found.width < 0.05


@settings(max_examples=40, deadline=None)
@example(length=0.1875, width=1.0, tilt=0.0, seed=99)
@given(length=st.floats(0.1, 3), width=st.floats(0.1, 3), tilt=st.floats(-2, 2), seed=st.integers(0, 99))
def test_what_stands_along_the_map_stays_aligned(length: float, width: float, tilt: float, seed: int) -> None:
    for points in (at(rectangle(length, width, seed), tilt), at(two_sides(length, width, seed), tilt)):
        assert turned_box(points, sides(points)) is None


@pytest.mark.parametrize("seed", range(5))
def test_what_is_round_or_small_or_hardly_measured_stays_aligned(seed: int) -> None:
    random = np.random.default_rng(seed)
    angle, radius = random.uniform(0, 2 * np.pi, 500), np.sqrt(random.uniform(0, 1, 500))
    disc = (radius * np.stack([np.cos(angle), np.sin(angle)])).astype(np.float32)
    small, few = at(rectangle(0.18, 0.05, seed), 45), at(rectangle(1, 0.3, seed, 15), 45)
    for points in (disc, small, few):
        assert turned_box(points, sides(points)) is None


def test_points_that_are_nan_do_not_count() -> None:
    points = at(rectangle(1.0, 0.4), 30)
    holes = points.copy()
    holes[:, 1::2] = np.nan
    whole, half = turned_box(points, sides(points)), turned_box(holes, sides(points))
    assert whole is not None and half is not None
    assert half.yaw == pytest.approx(whole.yaw, abs=0.05)
    assert half.length * half.width < CLEARLY * math.prod(sides(points))
