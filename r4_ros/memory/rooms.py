"""Rooms grown from what a robot saw on its way: free space, cut where it is as narrow as a door. They have no names.

Above furniture only walls and what reaches as high stop the sight; so free space is what views crossed between 1.2 and
1.9 m above the floor, and a wall is where they ended there. Where it is wider than a door on all sides rooms begin
(cells farther than ``DOOR_M / 2`` from any that isn't free), and each grows over the rest of the free space until it
meets another. Nobody tells what a room is called: regions are numbered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import transform_points
from r4_ros.core.model import FloatArray, Pose, Region, View

MOST_VIEWS = 1000
"""Of more views, every nth is taken."""
CELL_M = 0.1
DOOR_M, PASSAGE_M = 1.3, 1.15
"""Rooms begin where it is wider than the one; those that meet over more than the other are one."""
LEAST_M2 = 2.0
"""A room is at least so large; smaller widenings belong to what is around."""
LOW_M, HIGH_M = 1.2, 1.9
ENDED = 2
"""A wall is where the sight of so many views ended."""
SHORT_M = 0.1
"""So much before the first surface the sight ends: walls have no free cells."""

SIDES = (
    ((0, -1), (0, 0), (1, 0)),
    ((1, 0), (1, 0), (1, 1)),
    ((0, 1), (1, 1), (0, 1)),
    ((-1, 0), (0, 1), (0, 0)),
)
"""Of a cell: the neighbour on each side, and the corners from which and to which that side runs."""

Grid = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sight:
    """Where a view stood [3] and where its sight ended [n, 3], in the map."""

    origin: FloatArray
    ends: FloatArray


def sight_of(view: View, sensor_in_map: Pose) -> Sight:
    """The lines of sight of a view, through the middles of its depth cells."""
    rows, cols = view.depth.shape
    v, u = np.meshgrid(*(2 * (np.arange(n) + 0.5) / n - 1 for n in (rows, cols)), indexing="ij")
    across, down = math.tan(view.horizontal_fov / 2), math.tan(view.vertical_fov / 2)
    depth = np.minimum(view.depth.astype(float), view.max_depth)
    rays = np.stack([u * across, v * down, np.ones_like(u)], axis=-1) * depth[..., None]
    return Sight(np.array(sensor_in_map.position), np.asarray(transform_points(sensor_in_map, rays[depth > 0])))


def grow(sights: Iterable[Sight], map_id: str = "", floor_m: float = 0.0) -> list[Region]:
    """Rooms of one map, the largest first, as 'region 1', 'region 2' ..."""
    crossed, ended = _seen(sights, floor_m)
    if not len(crossed):
        return []
    both = np.concatenate([crossed, ended])
    low = both.min(axis=0) - 1
    free, walls = (np.zeros(tuple(both.max(axis=0) - low + 2), np.bool_) for _ in range(2))
    free[tuple((crossed - low).T)] = True
    walls[tuple((ended - low).T)] = True
    found = _parted(free & ~walls, walls)
    corners = [(outline(mask) + low) * CELL_M for mask in found]
    return [
        Region(f"region {i}", tuple((round(float(x), 2), round(float(y), 2)) for x, y in polygon), map_id=map_id)
        for i, polygon in enumerate(corners, 1)
    ]


def _seen(sights: Iterable[Sight], floor_m: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The cells [n, 2] that lines of sight crossed at the height where only walls stand, and those where they ended."""
    crossed, ended = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)]
    for sight in sights:
        ways = sight.ends - sight.origin
        length = np.linalg.norm(ways, axis=1)
        steps = np.arange(0, max(0.0, float(length.max(initial=0)) - SHORT_M), CELL_M / 2)
        ahead = ways / np.maximum(length, 1e-6)[:, None]
        points = sight.origin + ahead[:, None] * steps[:, None]  # [n, steps, 3]
        short = steps <= length[:, None] - SHORT_M
        crossed.append(_cells(points[short], floor_m))
        ended.append(_cells(sight.ends, floor_m))
    walls, count = np.unique(np.concatenate(ended), axis=0, return_counts=True)
    return np.unique(np.concatenate(crossed), axis=0), walls[count >= ENDED]


def _cells(points: FloatArray, floor_m: float) -> npt.NDArray[np.int64]:
    """The cells of the points [n, 3] at that height, each once."""
    height = points[:, 2] - floor_m
    high = points[(height >= LOW_M) & (height <= HIGH_M)]
    return np.unique(np.floor(high[:, :2] / CELL_M).astype(np.int64), axis=0)


def _parted(free: Grid, walls: Grid) -> list[Grid]:
    """The rooms of free space, the largest first."""
    from scipy import ndimage

    free = (ndimage.binary_closing(free) | free) & ~walls  # between lines of sight
    wide = ndimage.distance_transform_edt(free) * CELL_M
    seeds, count = ndimage.label(wide > DOOR_M / 2)
    while True:  # step by step, so that it goes around walls
        next_to = ndimage.grey_dilation(seeds, footprint=ndimage.generate_binary_structure(2, 1))
        grown = np.where(free & (seeds == 0), next_to, seeds)
        if (grown == seeds).all():
            break
        seeds = grown
    seeds = _joined(seeds, count)
    kept = [i for i in range(1, count + 1) if (seeds == i).any()]
    rooms = [ndimage.binary_closing(np.pad(seeds == i, 3), iterations=3)[3:-3, 3:-3] for i in kept]
    large = [room for room in rooms if room.sum() * CELL_M**2 >= LEAST_M2]
    return sorted(large, key=lambda room: -int(room.sum()))


def _joined(labels: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.int32]:
    """Regions that meet over more than a door's width are one: a corridor begins in several places."""
    from scipy import ndimage

    for i in range(1, count + 1):
        around = ndimage.binary_dilation(labels == i)
        for j in range(i + 1, count + 1):
            meeting, pieces = ndimage.label(around & (labels == j), np.ones((3, 3)))
            if pieces and np.bincount(meeting.ravel())[1:].max() * CELL_M > PASSAGE_M:
                labels = np.where(labels == i, j, labels)
                break
    return labels


def outline(mask: Grid) -> npt.NDArray[np.int64]:
    """The corners [n, 2] of the outer border of what is set, counter-clockwise; the longest one of several."""
    padded = np.pad(mask, 1)
    edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for step, begin, end in SIDES:
        beside = np.roll(padded, (-step[0], -step[1]), (0, 1))
        for i, j in np.argwhere(padded & ~beside).tolist():
            edges.setdefault((i + begin[0], j + begin[1]), []).append((i + end[0], j + end[1]))
    loops: list[list[tuple[int, int]]] = []
    while edges:
        at = next(iter(edges))
        loop = [at]
        while at in edges:
            ways = edges[at]
            ahead = ways.pop()
            if not ways:
                del edges[at]
            loop.append(ahead)
            at = ahead
        loops.append(loop[:-1])
    corners = np.array(max(loops, key=len)) - 1
    turn = np.roll(corners, -1, axis=0) - corners
    return np.asarray(corners[(turn != np.roll(turn, 1, axis=0)).any(axis=1)])
