"""From a mask and depth to a box in space: centre, extent, covariance and whether all of it was in view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import quat_conjugate, rotation_matrix, vec3
from r4_ros.core.model import Box, Float32Array, FloatArray, Intrinsics, Matrix3, Pose, Quat, Visibility
from r4_ros.core.ports import Segment

KERNEL = np.ones((3, 3), np.uint8)
IDENTITY3 = np.eye(3)
MIN_EXTENT_M = 0.01
TRIM = 2.0  # percent of the points cut off at each end of each axis
GAP_SHARE, GAP_M = 0.35, (0.05, 0.3)  # a gap in depth parts what is behind: this share of the width, within limits
MASK_ERROR_PX = 2.0
MAX_POINTS = 1000  # a box needs no more
OCCLUDED_SHARE = 0.25  # of the mask's border


@dataclass(frozen=True, eq=False, slots=True)
class Lifted:
    """A segment in space; ``rows`` and ``columns``: image pixels of it, away from its border, evenly sampled."""

    box: Box
    covariance: Matrix3
    visibility: Visibility
    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]


def depth_sigma(depth: float) -> float:
    """Standard deviation of structured-light depth at a distance, m (Nguyen, Izadi and Lovell, 2012)."""
    return 0.0012 + 0.0019 * (depth - 0.4) ** 2


def measured_area(depth: Float32Array) -> tuple[int, int, int, int]:
    """left, top, right, bottom (exclusive) of the part of the image that has depth; zeros where there is none."""
    columns, rows = np.flatnonzero(depth.any(axis=0)), np.flatnonzero(depth.any(axis=1))
    if not columns.size:
        return 0, 0, 0, 0
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def lift(
    segment: Segment,
    depth: Float32Array,
    camera: Intrinsics,
    sensor_orientation: Quat,
    area: tuple[int, int, int, int],
    min_points: int,
) -> Lifted | None:
    """The segment's box in the sensor frame, its axes those of the map; None with fewer than ``min_points`` points.

    depth: float32 [H, W] registered to the pinhole camera, 0 unknown. ``area``: see measured_area.
    """
    height, width = segment.mask.shape
    window = segment.depth
    if window is None:
        window = depth[segment.top : segment.top + height, segment.left : segment.left + width]
    at = np.flatnonzero(_core(segment.mask, window, min_points))
    if len(at) < min_points:
        return None
    at = at[:: max(1, len(at) // max(MAX_POINTS, min_points))]
    rows, columns = np.divmod(at, width)
    z = window[rows, columns]
    rows, columns = rows + segment.top, columns + segment.left
    keep = _without_stray_depth(z, max(height / camera.fy, width / camera.fx) * float(z[len(z) // 2]))
    if np.count_nonzero(keep) < min_points:
        return None
    points = _points(camera, rows[keep], columns[keep], z[keep])
    to_map = rotation_matrix(sensor_orientation)
    low, high = _robust_bounds(to_map.astype(np.float32) @ points)
    extent = np.maximum(high - low, MIN_EXTENT_M)
    centre = to_map.T @ ((low + high) / 2)
    guessed = 0.0 if segment.depth is None else float(np.mean(depth[rows, columns] == 0))
    covariance = _covariance(points, centre, extent, to_map, camera, guessed)
    box = Box(Pose(vec3(centre), quat_conjugate(sensor_orientation)), vec3(extent))
    flat: Any = tuple(covariance.ravel().tolist())
    return Lifted(box, flat, _visibility(segment, depth, area), rows, columns)


def _points(
    camera: Intrinsics, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], z: Float32Array
) -> Float32Array:
    """Points [3, n] of pixels with depth, in the optical frame."""
    x = (columns.astype(np.float32) - np.float32(camera.cx)) * (z / np.float32(camera.fx))
    y = (rows.astype(np.float32) - np.float32(camera.cy)) * (z / np.float32(camera.fy))
    return np.stack([x, y, z])


def _core(mask: npt.NDArray[np.bool_], window: Float32Array, min_points: int) -> npt.NDArray[np.bool_]:
    """The mask where depth is known, without its outermost pixels if enough stays: those mix two surfaces.

    What is so thin that nothing would stay of it (the pole of a lamp) is kept.
    """
    known: npt.NDArray[np.bool_] = mask & (window > 0)
    eroded = cv2.erode(mask.view(np.uint8), KERNEL, borderType=cv2.BORDER_CONSTANT, borderValue=1)
    inner: npt.NDArray[np.bool_] = known & eroded.view(np.bool_)
    count = np.count_nonzero(inner)
    if count < min_points or 3 * count < np.count_nonzero(known):
        return known
    return np.asarray(inner | (known & (cv2.dilate(eroded, KERNEL) == 0)))


def _without_stray_depth(z: Float32Array, across_m: float) -> npt.NDArray[np.bool_]:
    """Points whose depths hang together with the median: no gap between them as deep as a part of the thing's width.

    Half a percent of the points in a gap don't fill it.
    """
    ordered = np.sort(z)
    few = 1 + len(z) // 200
    middle = len(z) // 2
    gaps = np.flatnonzero(ordered[few:] - ordered[:-few] > min(max(GAP_M[0], GAP_SHARE * across_m), GAP_M[1]))
    before, after = gaps[gaps + few <= middle], gaps[gaps >= middle]
    low = ordered[before[-1] + few] if before.size else ordered[0]
    high = ordered[after[0]] if after.size else ordered[-1]
    return np.asarray((z >= low) & (z <= high))


def _robust_bounds(points: Float32Array) -> tuple[FloatArray, FloatArray]:
    """Bounds [3] of points [3, n] without the outermost percents, widened by what a uniform surface loses by that."""
    n = points.shape[1]
    cut = int(n * TRIM / 100)
    ordered = np.partition(points, (cut, n - 1 - cut), axis=1)
    low, high = ordered[:, cut].astype(float), ordered[:, n - 1 - cut].astype(float)
    widen = (high - low) * (cut / n) / (1 - 2 * cut / n)
    return low - widen, high + widen


def _covariance(
    points: Float32Array, centre: FloatArray, extent: FloatArray, to_map: FloatArray, camera: Intrinsics, guessed: float
) -> FloatArray:
    """Of the box's centre, [3, 3] m^2 in the sensor frame.

    Depth noise along the ray (common to all points, so it doesn't average out), the mask's error across it, the spread
    of the points over their number, and the back, which nobody saw: uncertain along the ray by the box's size, as is
    the ``guessed`` share of the points, whose depth wasn't measured.
    """
    distance = max(float(np.linalg.norm(centre)), 1e-3)
    ray = centre / distance
    across = MASK_ERROR_PX * float(centre[2]) / camera.fx
    seen_depth = float(np.abs(to_map @ ray) @ extent)
    width = float(np.sort(extent)[1])
    unseen = max(0.0, width - seen_depth, guessed * width) / 4
    along = depth_sigma(float(centre[2])) ** 2 + unseen**2
    mean = points.sum(axis=1) / points.shape[1]
    spread_of = points - mean[:, None]
    spread = (spread_of @ spread_of.T).astype(float) / points.shape[1] ** 2
    total: FloatArray = spread + (along - across**2) * np.outer(ray, ray) + (across**2 + 1e-8) * IDENTITY3
    symmetric: FloatArray = (total + total.T) / 2
    return symmetric


def _visibility(segment: Segment, depth: Float32Array, area: tuple[int, int, int, int]) -> Visibility:
    height, width = segment.mask.shape
    left, top, right, bottom = area
    touches = (
        segment.left <= left + 1
        or segment.top <= top + 1
        or segment.left + width >= right - 1
        or segment.top + height >= bottom - 1
    )
    if touches and _in_border(segment, area):
        return Visibility.TRUNCATED
    return Visibility.OCCLUDED if _covered_share(segment, depth) >= OCCLUDED_SHARE else Visibility.VISIBLE


def _in_border(segment: Segment, area: tuple[int, int, int, int]) -> bool:
    """Whether the mask itself reaches the outermost two pixels of the measured area (its window may be wider)."""
    left, top = area[0] + 2 - segment.left, area[1] + 2 - segment.top
    right, bottom = area[2] - 2 - segment.left, area[3] - 2 - segment.top
    mask = segment.mask
    outside = mask.copy()
    outside[max(0, top) : max(0, bottom), max(0, left) : max(0, right)] = False
    return bool(outside.any())


def _covered_share(segment: Segment, depth: Float32Array) -> float:
    """Share of the pixels just outside the mask where something clearly nearer begins."""
    pad = 3
    top, left = max(0, segment.top - pad), max(0, segment.left - pad)
    height, width = segment.mask.shape
    bottom = min(depth.shape[0], segment.top + height + pad)
    right = min(depth.shape[1], segment.left + width + pad)
    mask = np.zeros((bottom - top, right - left), np.uint8)
    mask[segment.top - top : segment.top - top + height, segment.left - left : segment.left - left + width] = (
        segment.mask
    )
    window = depth[top:bottom, left:right]
    ring = (cv2.dilate(mask, KERNEL, iterations=2) > 0) & (mask == 0) & (window > 0)
    count = int(np.count_nonzero(ring))
    if not count:
        return 0.0
    own = cv2.dilate(np.where(mask > 0, window, np.float32(0)), KERNEL, iterations=3)[ring]
    nearer = window[ring] < own - (0.05 + 0.03 * own)
    return float(np.count_nonzero(nearer)) / count
