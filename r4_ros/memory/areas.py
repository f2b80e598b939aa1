"""Parts of rooms and of things: corners, ends, the middle, the top, the bottom; and what lies in a region.

Degrees 0..1, held from 0.5 on. The definitions are this project's own, on boxes aligned with the map's axes.

- ``corner``: of a thing: its centre beyond half of the way to a side in both directions, over the thing. Of a region:
  its centre inside, within 1 m of one of the polygon's outward corners (a quarter of the shorter side in small rooms).
- ``end``: of a thing: its centre beyond 60 % of the way to one end of the longer side, over the thing or within 0.5 m
  of it. Of a region: the same along the longer side of the box around it, inside.
- ``centre``: its centre within the middle third of both sides (half of it held at a quarter of the side), over the
  thing or inside the region.
- ``top``: it rests on the thing, or its centre lies in the thing's upper third, over it or within 0.3 m of its sides.
  ``bottom``: the same with the lower third; what stands beside its foot too. Of a region: by height likewise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import inside_polygon, inverse, transform_points
from r4_ros.core.model import Box, FloatArray, Region
from r4_ros.memory.boxes import Boxes, falling, footprint_shared, level_gaps, within

CORNER_M = 1.0
BESIDE_M = 0.3
ENDS_M = 0.5
OUTSIDE = ("near", "next_to", "side", "against", "around")
PARTS = ("corner", "end", "centre", "top", "bottom")


def in_region(region: Region, centres: FloatArray) -> npt.NDArray[np.bool_]:
    """Which points [n, 3] lie in a region."""
    if not len(centres):
        return np.zeros(0, bool)
    flat = inside_polygon(region.polygon, centres[:, :2])
    return np.asarray(flat & (centres[:, 2] >= region.z_min) & (centres[:, 2] <= region.z_max))


def in_box(box: Box, points: FloatArray) -> FloatArray:
    """Degrees [n], 0 or 1: which points [n, 3] lie in an oriented box."""
    local = transform_points(inverse(box.pose), points)
    return np.asarray((np.abs(local) <= np.asarray(box.extent) / 2).all(axis=1), float)


def region_box(region: Region) -> Boxes:
    """The box around a region."""
    corners = np.asarray(region.polygon, float)
    low, high = corners.min(axis=0), corners.max(axis=0)
    return Boxes(np.array([[*low, region.z_min]]), np.array([[*high, region.z_max]]))


def distance_to_region(region: Region, points: FloatArray) -> FloatArray:
    """Horizontal distances [n] of points to a region's polygon; 0 inside."""
    if not len(points):
        return np.zeros(0)
    corners = np.asarray(region.polygon, float)
    start, way = corners, np.roll(corners, -1, axis=0) - corners
    offset = points[:, None, :2] - start[None]
    share = np.clip((offset * way).sum(axis=2) / np.maximum((way**2).sum(axis=1), 1e-12), 0, 1)
    nearest = np.linalg.norm(offset - share[..., None] * way, axis=2).min(axis=1)
    return np.where(inside_polygon(corners, points[:, :2]), 0.0, nearest)


def of_region(relation: str, candidates: Boxes, region: Region) -> FloatArray:
    """Degrees [n] of a relation to a region: in it, at a part of it, or outside within 1 m (near, next to)."""
    if relation in PARTS:
        return part_of_region(relation, candidates, region)
    inside = in_region(region, candidates.centre)
    if relation in OUTSIDE:
        gap = distance_to_region(region, candidates.centre)
        return np.where(inside & (relation != "near"), 0.0, np.clip(1 - 0.5 * gap, 0, 1))
    return inside.astype(float)


def part_of_region(part: str, candidates: Boxes, region: Region) -> FloatArray:
    """Degrees [n] to which things lie in a part of a region."""
    centre = candidates.centre
    inside = in_region(region, centre)
    if part == "corner":
        return np.where(inside, _in_corner(region, centre), 0.0)
    share = within(candidates, region_box(region))
    if part in ("top", "bottom") and not np.isfinite(share[:, 2]).all():
        return np.zeros(len(centre))
    return np.where(inside, _share(part, share, region_box(region)), 0.0)


def part_of_thing(part: str, candidates: Boxes, thing: Boxes) -> FloatArray:
    """Degrees [n] to which things lie at a part of one thing, or each of its own."""
    own, _ = footprint_shared(candidates, thing)
    beside = level_gaps(candidates, thing)
    over = own > 0
    if part == "end":
        over = beside <= ENDS_M
    if part in ("top", "bottom"):
        over = beside <= BESIDE_M
    degree = _share(part, within(candidates, thing), thing)
    if part == "top":
        rests = falling(np.abs(candidates.low[:, 2] - thing.high[:, 2]), 0.05, 0.15) * (own >= 0.5)
        degree = np.maximum(degree * (candidates.low[:, 2] <= thing.high[:, 2] + 0.15), rests)
    return np.where(over, degree, 0.0)


def _share(part: str, share: FloatArray, whole: Boxes) -> FloatArray:
    """Degrees by where the centres lie in a box's own measure (-1..1 in each direction)."""
    x, y, z = share.T
    if part == "centre":
        return falling(np.maximum(np.abs(x), np.abs(y)), 1 / 3, 0.5)
    if part == "corner":
        return 1 - falling(np.minimum(np.abs(x), np.abs(y)), 0.25, 0.5)
    if part == "end":
        along = np.where(whole.size[:, 0] >= whole.size[:, 1], np.abs(x), np.abs(y))
        return 1 - falling(along, 0.4, 0.6)
    return 1 - falling(z if part == "top" else -z, 0.0, 1 / 3)


def _in_corner(region: Region, centre: FloatArray) -> FloatArray:
    """Degrees by the distance to the nearest corner of a polygon that points outwards."""
    corners = np.asarray(region.polygon, float)
    before, after = corners - np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0) - corners
    turns = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    outward = corners[turns * np.sign(turns.sum()) > 1e-9]
    if not len(outward):
        return np.zeros(len(centre))
    reach = min(CORNER_M, 0.25 * float(np.ptp(corners, axis=0).min()))
    nearest = np.linalg.norm(centre[:, None, :2] - outward[None], axis=2).min(axis=1)
    return falling(nearest, reach / 2, reach)
