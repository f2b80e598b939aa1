"""From masks and depth to boxes in space: centre, extent, covariance and whether all of it was in view.

All masks of a frame are lifted at once: each gives at most ``MOST_POINTS`` points, and what is computed of them is
computed on arrays [m masks, n points], filled up with NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import quat_conjugate, quat_from_yaw, quat_multiply, rotation_matrix, vec3
from r4_ros.core.model import Box, Float32Array, FloatArray, Intrinsics, Matrix3, Pose, Quat, Vec3, Visibility
from r4_ros.core.ports import Segment
from r4_ros.perception.silhouette import Area, core, visibility_of
from r4_ros.perception.turned import TRIM, turned_box

MIN_EXTENT_M = 0.01
GAP_SHARE, GAP_M = 0.35, (0.05, 0.3)  # a gap in depth parts what is behind: this share of the width, within limits
MASK_ERROR_PX = 2.0
MOST_POINTS = 600  # a box needs no more

IntpArray = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Lifted:
    """A segment in space; ``rows`` and ``columns``: image pixels of it, away from its border, evenly sampled."""

    box: Box
    covariance: Matrix3
    visibility: Visibility
    rows: IntpArray
    columns: IntpArray


@dataclass(frozen=True, eq=False, slots=True)
class _Samples:
    """Sampled pixels of m masks [m, n] with their depth; beyond ``counts`` NaN (and pixel 0).

    ``of``: which segments these are; ``shares``: pixels that one sample stands for; ``across``: the windows' larger
    side as a share of the distance; ``guessed``: share of the samples whose depth wasn't measured.
    """

    of: list[int]
    rows: IntpArray
    columns: IntpArray
    z: Float32Array
    counts: IntpArray
    shares: FloatArray
    across: FloatArray
    guessed: FloatArray


def lift(
    segments: Sequence[Segment],
    depth: Float32Array,
    camera: Intrinsics,
    sensor_orientation: Quat,
    area: Area,
    min_points: int,
) -> list[Lifted | None]:
    """The segments' boxes in the sensor frame; None with fewer than ``min_points`` points.

    Boxes stand upright in the map, along its axes; that of a thing all in view is turned where that makes it clearly
    smaller. depth: float32 [H, W] registered to the pinhole camera, 0 unknown. ``area``: see measured_area.
    """
    found: list[Lifted | None] = [None] * len(segments)
    samples = _sampled(segments, depth, camera, min_points)
    if samples is None:
        return found
    keep = _without_stray_depth(samples)
    kept = np.count_nonzero(keep, axis=1)
    to_map = rotation_matrix(sensor_orientation)
    points = _points(camera, samples, keep)
    in_map = np.tensordot(to_map.astype(np.float32), points, axes=1)  # seen from the camera's place
    low, high = _robust_bounds(in_map, kept)
    extents = np.maximum(high - low, MIN_EXTENT_M)
    centres = ((low + high) / 2) @ to_map
    covariances = _covariances(points, kept, centres, extents, to_map, camera, samples.guessed)
    aligned = quat_conjugate(sensor_orientation)
    rows = zip(centres.tolist(), extents.tolist(), covariances.reshape(-1, 9).tolist(), strict=True)
    for k, (centre, extent, covariance) in enumerate(rows):
        if kept[k] * samples.shares[k] < min_points:
            continue
        index, count = samples.of[k], samples.counts[k]
        box = Box(Pose(cast(Vec3, tuple(centre)), aligned), cast(Vec3, tuple(extent)))
        visibility = visibility_of(segments[index], depth, area)
        if visibility is Visibility.VISIBLE:
            box = _turned(box, in_map[:2, k], float((low + high)[k, 2]) / 2, to_map)
        pixels = samples.rows[k, :count], samples.columns[k, :count]
        found[index] = Lifted(box, cast(Matrix3, tuple(covariance)), visibility, *pixels)
    return found


def _turned(box: Box, ground: Float32Array, height: float, to_map: FloatArray) -> Box:
    """The aligned box, or the turned one of its points on the ground [2, n]; ``height``: of its middle, as those."""
    found = turned_box(ground, box.extent[:2])
    if found is None:
        return box
    centre = to_map.T @ (*found.centre, height)
    turn = quat_multiply(box.pose.orientation, quat_from_yaw(found.yaw))
    size = (max(found.length, MIN_EXTENT_M), max(found.width, MIN_EXTENT_M), box.extent[2])
    return Box(Pose(vec3(centre), turn), size)


def depth_sigma(depth: FloatArray | float) -> FloatArray:
    """Standard deviation of structured-light depth at a distance, m (Nguyen, Izadi and Lovell, 2012)."""
    return np.asarray(0.0012 + 0.0019 * (np.asarray(depth) - 0.4) ** 2)


def _sampled(segments: Sequence[Segment], depth: Float32Array, camera: Intrinsics, min_points: int) -> _Samples | None:
    """Of each segment with enough points in its core at most MOST_POINTS, evenly; None: there is none."""
    measured = depth > 0
    kept: list[tuple[int, IntpArray, int]] = []
    for i, segment in enumerate(segments):
        at = core(segment, measured, min_points)
        if len(at) >= min_points:
            some = at if len(at) <= MOST_POINTS else at[np.arange(MOST_POINTS) * len(at) // MOST_POINTS]
            kept.append((i, some, len(at)))
    if not kept:
        return None
    of = [i for i, *_ in kept]
    counts = np.array([len(at) for _, at, _ in kept])
    sizes = np.array([segments[i].mask.shape for i in of])
    corners = np.array([(segments[i].top, segments[i].left) for i in of])
    row, column = np.divmod(np.concatenate([at for _, at, _ in kept]), np.repeat(sizes[:, 1], counts))
    row, column = row + np.repeat(corners[:, 0], counts), column + np.repeat(corners[:, 1], counts)
    used = np.arange(counts.max()) < counts[:, None]
    rows, columns = np.zeros(used.shape, np.intp), np.zeros(used.shape, np.intp)
    z = np.full(used.shape, np.nan, np.float32)
    rows[used], columns[used], z[used] = row, column, depth[row, column]
    guessed = np.zeros(len(kept))
    for k, (i, at, _) in enumerate(kept):
        own = segments[i].depth
        if own is not None:
            guessed[k] = np.mean(z[k, : len(at)] == 0)
            z[k, : len(at)] = own.reshape(-1)[at]
    across = (sizes / (camera.fy, camera.fx)).max(axis=1)
    shares = np.array([whole for *_, whole in kept]) / counts
    return _Samples(of, rows, columns, z, counts, shares, across, guessed)


def _without_stray_depth(samples: _Samples) -> Mask:
    """Samples [m, n] whose depths hang together with the median: no gap between as deep as a part of the thing's width.

    Half a percent of the points in a gap don't fill it.
    """
    ordered = np.sort(samples.z, axis=1)
    place, which = np.arange(ordered.shape[1]), np.arange(len(ordered))
    few, middle = (1 + samples.counts // 200)[:, None], (samples.counts // 2)[:, None]
    ahead = np.take_along_axis(ordered, np.minimum(place + few, len(place) - 1), axis=1)
    across_m = samples.across * ordered[which, middle[:, 0]]
    gap = (ahead - ordered) > np.clip(GAP_SHARE * across_m, *GAP_M)[:, None]
    before = np.where(gap & (place + few <= middle), place + few, 0).max(axis=1)
    after = np.where(gap & (place >= middle), place, samples.counts[:, None] - 1).min(axis=1)
    low, high = ordered[which, before], ordered[which, after]
    return np.asarray((samples.z >= low[:, None]) & (samples.z <= high[:, None]))


def _points(camera: Intrinsics, samples: _Samples, keep: Mask) -> Float32Array:
    """Points [3, m, n] of the kept samples in the optical frame; the others are NaN."""
    z = np.where(keep, samples.z, np.float32(np.nan))
    x = (samples.columns.astype(np.float32) - np.float32(camera.cx)) * (z / np.float32(camera.fx))
    y = (samples.rows.astype(np.float32) - np.float32(camera.cy)) * (z / np.float32(camera.fy))
    return np.stack([x, y, z])


def _robust_bounds(points: Float32Array, counts: IntpArray) -> tuple[FloatArray, FloatArray]:
    """Bounds [m, 3] of points [3, m, n] without the outermost percents, widened by what a uniform surface loses."""
    ordered = np.sort(points, axis=2)
    cut = (counts * TRIM / 100).astype(np.intp)
    which = np.arange(len(counts))
    low, high = ordered[:, which, cut].T.astype(float), ordered[:, which, counts - 1 - cut].T.astype(float)
    share = cut / counts
    widen = (high - low) * (share / (1 - 2 * share))[:, None]
    return low - widen, high + widen


def _covariances(
    points: Float32Array,
    counts: IntpArray,
    centres: FloatArray,
    extents: FloatArray,
    to_map: FloatArray,
    camera: Intrinsics,
    guessed: FloatArray,
) -> FloatArray:
    """Of the boxes' centres, [m, 3, 3] m^2 in the sensor frame.

    Depth noise along the ray (common to all points, so it doesn't average out), the mask's error across it, the spread
    of the points over their number, and the back, which nobody saw: uncertain along the ray by the box's size, as is
    the ``guessed`` share of the points, whose depth wasn't measured.
    """
    rays = centres / np.maximum(np.linalg.norm(centres, axis=1), 1e-3)[:, None]
    across = MASK_ERROR_PX * centres[:, 2] / camera.fx
    seen_depth = (np.abs(rays @ to_map.T) * extents).sum(axis=1)
    width = np.sort(extents, axis=1)[:, 1]
    unseen = np.maximum(np.maximum(width - seen_depth, guessed * width), 0) / 4
    along = depth_sigma(centres[:, 2]) ** 2 + unseen**2
    known = np.nan_to_num(points, nan=0.0)
    offset = np.where(np.isnan(points), np.float32(0), points - (known.sum(axis=2) / counts)[..., None])
    offset = offset.transpose(1, 0, 2)
    spread = (offset @ offset.transpose(0, 2, 1)).astype(float) / (counts**2)[:, None, None]
    total = spread + (along - across**2)[:, None, None] * (rays[:, :, None] * rays[:, None])
    total += (across**2 + 1e-8)[:, None, None] * np.eye(3)
    return np.asarray((total + total.transpose(0, 2, 1)) / 2)
