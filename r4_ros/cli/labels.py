"""Where labels go on a picture: near what they name, on no other label, on as little else as possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.core.geometry import inside_polygon
from r4_ros.core.model import FloatArray

Rect = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels."""

RINGS_PX = (14.0, 26.0, 40.0, 56.0, 76.0, 100.0)
ANGLES = tuple(math.pi * k / 8 for k in range(16))
TOUCH_PX = 5.0
LEADER_PX = 12.0


@dataclass(frozen=True)
class Named:
    """What needs a label: its bounds on the picture and the size of the text."""

    bounds: Rect
    size: tuple[float, float]
    may_be_inside: bool = True


def place_labels(
    items: Sequence[Named], area: Rect, avoid: Sequence[Rect], keep_off: Sequence[Rect] = ()
) -> list[Rect | None]:
    """A rectangle for each label, in the order of ``items``; None where no room is left nearby.

    Labels never overlap each other or ``keep_off``, nor leave ``area``; they avoid the bounds of the items and
    ``avoid`` (the trail, say) as far as there is a choice. Big things choose first: theirs fit inside.
    """
    things = _stack([item.bounds for item in items])
    others = np.concatenate([things, _stack(avoid)])
    taken: list[Rect] = list(keep_off)
    result: list[Rect | None] = [None] * len(items)
    for k in sorted(range(len(items)), key=lambda k: (-_area_of(items[k].bounds), k)):
        candidates, effort = _candidates(items[k])
        reach = np.concatenate([candidates[:, :2].min(axis=0), candidates[:, 2:].max(axis=0)])[None]
        near = _overlap(reach, others)[0] > 0
        near[k] = False
        cost = effort + _crowding(candidates, others[near])
        cost += np.where(_overlap(candidates, _stack(taken)).sum(axis=1) > 0, np.inf, 0.0)
        cost += np.where(_outside(candidates, area), np.inf, 0.0)
        best = int(np.argmin(cost))
        if math.isfinite(cost[best]):
            left, top, right, bottom = (float(v) for v in candidates[best])
            result[k] = (left, top, right, bottom)
            taken.append((left - 3, top, right + 3, bottom))
    return result


def place_in_polygon(polygon: FloatArray, size: tuple[float, float], avoid: Sequence[Rect]) -> Rect | None:
    """Where a room's name fits into its polygon [n, 2] (pixels), on as little else as possible; None: nowhere."""
    low, high = polygon.min(axis=0), polygon.max(axis=0)
    steps = np.linspace(0.0, 1.0, 25)
    centres = np.stack(np.meshgrid(*(low[i] + steps * (high[i] - low[i]) for i in (0, 1))), axis=-1).reshape(-1, 2)
    half = np.asarray(size) / 2
    rects = np.concatenate([centres - half, centres + half], axis=1)
    margin = np.array([-1, -1, 1, 1]) * 0.35 * size[1]
    ends = [(rects + margin)[:, [i, j]] for i in (0, 2) for j in (1, 3)]
    fits = np.all([inside_polygon(polygon, end) for end in ends], axis=0)
    if not fits.any():
        return None
    away = np.linalg.norm((centres - (low + high) / 2) / (high - low), axis=1)
    cost = np.where(fits, _crowding(rects, _stack(avoid)) + 0.6 * away, np.inf)
    left, top, right, bottom = (float(v) for v in rects[int(np.argmin(cost))])
    return left, top, right, bottom


def leader(bounds: Rect, label: Rect) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The line from a thing to its label; None where the label is near enough to need none."""
    start = (
        min(max((label[0] + label[2]) / 2, bounds[0]), bounds[2]),
        min(max((label[1] + label[3]) / 2, bounds[1]), bounds[3]),
    )
    end = (min(max(start[0], label[0]), label[2]), min(max(start[1], label[1]), label[3]))
    return (start, end) if math.dist(start, end) > LEADER_PX else None


def _candidates(item: Named) -> tuple[FloatArray, FloatArray]:
    """Rectangles [n, 4] to try and the effort of each: inside, at the sides, then in rings farther out."""
    left, top, right, bottom = item.bounds
    w, h = item.size
    cx, cy = (left + right) / 2, (top + bottom) / 2
    centres = [
        (cx, bottom + TOUCH_PX + h / 2),
        (cx, top - TOUCH_PX - h / 2),
        (right + TOUCH_PX + w / 2, cy),
        (left - TOUCH_PX - w / 2, cy),
    ]
    effort = [0.2, 0.22, 0.24, 0.26]
    if item.may_be_inside and w + 4 < right - left and h + 4 < bottom - top:
        centres += [(cx, cy), (cx, top + h / 2 + TOUCH_PX), (cx, bottom - h / 2 - TOUCH_PX)]
        effort += [0.0, 0.05, 0.05]
    for ring in RINGS_PX:
        for angle in ANGLES:
            reach_x = (right - left) / 2 + ring + w / 2
            reach_y = (bottom - top) / 2 + ring + h / 2
            centres.append((cx + math.cos(angle) * reach_x, cy + math.sin(angle) * reach_y))
            effort.append(0.5 + ring / 60.0)
    middle, half = np.asarray(centres), np.array([w / 2, h / 2])
    return np.concatenate([middle - half, middle + half], axis=1), np.asarray(effort)


def _crowding(candidates: FloatArray, others: FloatArray) -> FloatArray:
    """How much of each candidate, or of each small thing under it, would be covered."""
    if not len(others):
        return np.zeros(len(candidates))
    mine = (candidates[:, 2] - candidates[:, 0]) * (candidates[:, 3] - candidates[:, 1])
    theirs = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    share = _overlap(candidates, others) / np.maximum(np.minimum(mine[:, None], theirs[None, :]), 1.0)
    return np.asarray(share.sum(axis=1))


def _overlap(a: FloatArray, b: FloatArray) -> FloatArray:
    """Areas shared by rectangles [n, 4] and [m, 4], as [n, m]."""
    width = np.minimum(a[:, None, 2], b[None, :, 2]) - np.maximum(a[:, None, 0], b[None, :, 0])
    height = np.minimum(a[:, None, 3], b[None, :, 3]) - np.maximum(a[:, None, 1], b[None, :, 1])
    return np.asarray(np.clip(width, 0, None) * np.clip(height, 0, None))


def _outside(candidates: FloatArray, area: Rect) -> FloatArray:
    left, top, right, bottom = area
    c = candidates
    return np.asarray((c[:, 0] < left) | (c[:, 1] < top) | (c[:, 2] > right) | (c[:, 3] > bottom))


def _stack(rects: Sequence[Rect]) -> FloatArray:
    return np.asarray(rects, float).reshape(-1, 4)


def _area_of(rect: Rect) -> float:
    return (rect[2] - rect[0]) * (rect[3] - rect[1])
