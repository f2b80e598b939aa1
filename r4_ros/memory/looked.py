"""Whether the place and time that a query asks about were looked at, so that 'no' can be told from 'nobody looked'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.core.geometry import inside_polygon
from r4_ros.core.model import FloatArray
from r4_ros.memory.coverage import BLOCKED_M, Coverage
from r4_ros.memory.spatial import Place

_SPACING_M = 0.5
_MARGIN_M = 0.5
_MOST_COLUMNS = 400
_MOST = 0.8
"""So much of a place must have been looked at for a 'no'."""
_HEIGHTS_M = (0.1, 0.6, 1.2)
_AIR_M = 0.0
"""A room's probes are points of free space: sight must reach them, or they were seen only in front of a wall."""


@dataclass(frozen=True, slots=True)
class Looked:
    """``coverage``: share of the place looked at in the asked time, -1 where nothing was asked.

    ``last``: since when most of it was looked at, in that time; where it wasn't, when any of it was, until now. So a
    glance at a corner doesn't make old looks at the rest look new.
    """

    coverage: float = -1.0
    visited: bool = True
    last: int | None = None


def look_at(
    coverage: Coverage, places: Sequence[Place], window: tuple[int, int], now_ns: int, agents: Sequence[str]
) -> Looked:
    """How much of the places was looked at in [start, end) of the window; each on its own map, else on any."""
    columns = [np.zeros(0, np.int64)]
    last = -1
    for place in places:
        points, heights = _probes(place)
        clearance_m = _AIR_M if place.region is not None else -BLOCKED_M
        looks = np.full(len(points), -1, np.int64)
        ever = np.full(len(points), -1, np.int64)
        for map_id in (place.map_id,) if place.map_id else coverage.maps():
            looks = np.maximum(looks, coverage.last_looks(map_id, points, *window, agents, clearance_m))
            ever = np.maximum(ever, coverage.last_looks(map_id, points, 0, now_ns + 1, agents, clearance_m))
        columns.append(looks.reshape(-1, heights).max(axis=1))
        last = max(last, int(ever.max(initial=-1)))
    newest_first = -np.sort(-np.concatenate(columns))
    if not len(newest_first):
        return Looked()
    most = int(newest_first[math.ceil(_MOST * len(newest_first)) - 1])
    last = most if most >= 0 else last
    return Looked(float((newest_first >= 0).mean()), last >= 0, last if last >= 0 else None)


def _probes(place: Place) -> tuple[FloatArray, int]:
    """Points [columns * heights, 3] that stand for a place, and the number of heights."""
    low, high = place.box.low[0].copy(), place.box.high[0].copy()
    if place.region is None:
        low[:2] -= _MARGIN_M
        high[:2] += _MARGIN_M
    spacing = max(_SPACING_M, float(np.sqrt(np.prod(high[:2] - low[:2]) / _MOST_COLUMNS)))
    axes = [_middles(low[i], high[i], spacing) for i in (0, 1)]
    columns = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    if place.region is not None:
        inside = inside_polygon(place.region.polygon, columns)
        columns = columns[inside] if inside.any() else columns
        floor = max(0.0, low[2]) if low[2] <= 0 <= high[2] else low[2]
        heights = np.array([floor + h for h in _HEIGHTS_M if floor + h <= high[2]] or [(low[2] + high[2]) / 2])
    else:
        heights = np.array([low[2], (low[2] + high[2]) / 2, high[2] + 0.1])
    points = np.concatenate([np.repeat(columns, len(heights), axis=0), np.tile(heights, len(columns))[:, None]], axis=1)
    return points, len(heights)


def _middles(low: float, high: float, spacing: float) -> FloatArray:
    count = max(1, int(np.ceil((high - low) / spacing)))
    step = (high - low) / count
    return np.asarray(low + step * (np.arange(count) + 0.5))
