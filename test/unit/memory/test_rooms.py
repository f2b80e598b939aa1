"""Rooms grown from lines of sight: walls and doors part them, and nobody gives them names."""

from __future__ import annotations

import math

import numpy as np
import pytest

from r4_ros.core.geometry import inside_polygon
from r4_ros.memory.rooms import Sight, grow, outline

HEIGHT = 1.5


Rectangle = tuple[float, float, float, float]


def boxes(*rooms: Rectangle, doors: tuple[Rectangle, ...] = ()) -> list[Sight]:
    """What is seen from a grid of places in rooms (x0, y0, x1, y1) all around, through doors (rectangles) as well."""

    def is_free(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.any([(x > a) & (x < c) & (y > b) & (y < d) for a, b, c, d in (*rooms, *doors)], axis=0)

    turns = np.linspace(0, 2 * math.pi, 180, endpoint=False)
    reach = np.arange(0.05, 12, 0.02)
    x, y = np.cos(turns)[:, None] * reach, np.sin(turns)[:, None] * reach
    found = []
    for a, b, c, d in rooms:
        for at in ((0.3, 0.3), (0.7, 0.3), (0.5, 0.5), (0.3, 0.7), (0.7, 0.7)):
            px, py = a + at[0] * (c - a), b + at[1] * (d - b)
            free = is_free(px + x, py + y)
            length = reach[np.argmin(free, axis=1)]
            ends = np.stack([px + np.cos(turns) * length, py + np.sin(turns) * length, np.full(180, HEIGHT)], axis=1)
            found.append(Sight(np.array([px, py, HEIGHT]), ends))
    return found


def test_a_door_parts_two_rooms_and_they_have_no_names() -> None:
    two = boxes((0, 0, 4, 4), (4.2, 0, 7, 4), doors=((3.9, 1.6, 4.3, 2.4),))
    found = grow(two, "m")
    assert [r.name for r in found] == ["region 1", "region 2"] and {r.map_id for r in found} == {"m"}
    for region, inside, outside in zip(found, ((2, 2), (5.6, 2)), ((5.6, 2), (2, 2)), strict=True):
        assert inside_polygon(region.polygon, [inside])[0] and not inside_polygon(region.polygon, [outside])[0]


def test_a_wide_opening_parts_nothing() -> None:
    assert len(grow(boxes((0, 0, 4, 4), (4.2, 0, 7, 4), doors=((3.9, 0.5, 4.3, 3.5),)))) == 1


def test_a_corridor_is_one_room() -> None:
    long = boxes((0, 0, 9, 1.7), (0, 1.9, 4, 5.5), doors=((1.5, 1.6, 2.3, 2.0),))
    found = grow(long)
    assert len(found) == 2
    corridor = [r for r in found if inside_polygon(r.polygon, [(8.0, 0.85)])[0]]
    assert len(corridor) == 1 and inside_polygon(corridor[0].polygon, [(0.8, 0.85)])[0]


def test_where_nothing_was_seen_there_is_no_room() -> None:
    assert grow([]) == []
    low = [Sight(np.array([0, 0, 0.3]), np.array([[3.0, 0, 0.3]]))]
    assert grow(low) == [], "what lies under furniture's height says nothing of walls"


@pytest.mark.parametrize("seed", range(5))
def test_an_outline_holds_what_it_was_made_of(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = np.zeros((12, 10), bool)
    mask[2 : 2 + rng.integers(3, 9), 1 : 1 + rng.integers(3, 8)] = True
    mask[4:6, 2 : rng.integers(4, 9)] = True
    corners = outline(mask)
    middles = np.argwhere(np.ones_like(mask)) + 0.5
    assert (inside_polygon(tuple(map(tuple, corners.tolist())), middles) == mask.ravel()).all()
