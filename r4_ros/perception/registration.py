"""Depth in the colour camera's pixels: two cameras with their own intrinsics, distortion and place become one."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import rotation_matrix
from r4_ros.core.model import IDENTITY, Float32Array, Intrinsics, Pose
from r4_ros.perception.cameras import same_camera

MIN_Z = np.float32(0.05)
SAME_SURFACE = np.float32(0.05)  # depths that differ by less than this share are one surface


def pinhole(camera: Intrinsics) -> Intrinsics:
    """The camera of the rectified image: the same matrix without distortion."""
    return replace(camera, distortion=())


def rectify(camera: Intrinsics, image: npt.NDArray[Any], smooth: bool) -> npt.NDArray[Any]:
    """The image without lens distortion; ``smooth`` interpolates (colour), else the nearest pixel (depth, labels)."""
    if not any(camera.distortion):
        return image
    x, y = _maps(camera)
    if smooth:
        return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=0))
    column, row = np.rint(x).astype(np.intp), np.rint(y).astype(np.intp)
    inside = (column >= 0) & (row >= 0) & (column < camera.width) & (row < camera.height)
    rectified = np.zeros_like(image)
    rectified[inside] = image[row[inside], column[inside]]
    return rectified


def register(
    depth: Float32Array, depth_camera: Intrinsics, depth_in_color: Pose, color_camera: Intrinsics
) -> Float32Array:
    """Depth as the rectified colour camera would measure it: float32 [H, W] metres, 0 where nothing falls.

    Each depth pixel is projected; where several fall on one pixel the nearest stays. Gaps of one pixel within a surface
    are filled. A coinciding camera costs nothing.
    """
    if depth_in_color == IDENTITY and same_camera(depth_camera, color_camera):
        return np.asarray(rectify(color_camera, depth, smooth=False), np.float32)
    factor = max(
        1, math.ceil(color_camera.fx / depth_camera.fx - 0.1), math.ceil(color_camera.fy / depth_camera.fy - 0.1)
    )
    rays = _rays(depth_camera, factor, depth_in_color.orientation)
    if factor > 1:
        depth = np.repeat(np.repeat(depth, factor, axis=0), factor, axis=1)
    return _fill_gaps(_splat(depth.reshape(-1), rays, depth_in_color.position, color_camera))


def _splat(
    depth: Float32Array, rays: Float32Array, translation: tuple[float, float, float], camera: Intrinsics
) -> Float32Array:
    """Project depth along rays [3, n] (in the colour camera's axes) with a z-buffer."""
    hit = np.flatnonzero(depth)
    d = depth[hit]
    tx, ty, tz = (np.float32(v) for v in translation)
    z = rays[2, hit] * d + tz
    np.maximum(z, MIN_Z, out=z)
    scale = 1 / z
    u = (rays[0, hit] * d + tx) * scale
    v = (rays[1, hit] * d + ty) * scale
    u = u * np.float32(camera.fx) + np.float32(camera.cx + 0.5)
    v = v * np.float32(camera.fy) + np.float32(camera.cy + 0.5)
    inside = (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height) & (z > MIN_Z)
    target = v.astype(np.int32) * camera.width + u.astype(np.int32)
    nearest = np.full(camera.width * camera.height, np.inf, np.float32)
    np.minimum.at(nearest, target[inside], z[inside])
    nearest[np.isinf(nearest)] = 0
    return nearest.reshape(camera.height, camera.width)


def _fill_gaps(depth: Float32Array) -> Float32Array:
    """Fill empty pixels between two opposite neighbours of one surface with their mean, along rows, then columns."""
    for before, after, middle in (
        (depth[:, :-2], depth[:, 2:], depth[:, 1:-1]),
        (depth[:-2], depth[2:], depth[1:-1]),
    ):
        rows, columns = np.nonzero(middle == 0)
        a, b = before[rows, columns], after[rows, columns]
        fill = (a > 0) & (b > 0) & (np.abs(a - b) < SAME_SURFACE * np.minimum(a, b))
        middle[rows[fill], columns[fill]] = (a[fill] + b[fill]) / 2
    return depth


@lru_cache(maxsize=8)
def _rays(camera: Intrinsics, factor: int, orientation: tuple[float, float, float, float]) -> Float32Array:
    """Directions [3, n] with depth 1 of the depth camera's pixels (each split factor x factor), in the colour axes."""
    step = 1 / factor
    u = (np.arange(camera.width * factor) + 0.5) * step - 0.5
    v = (np.arange(camera.height * factor) + 0.5) * step - 0.5
    grid = np.stack([a.ravel() for a in np.meshgrid(u, v)], axis=1)
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1.0]])
    distortion = np.asarray(camera.distortion) if camera.distortion else None
    flat = cv2.undistortPoints(grid[:, None], matrix, distortion)[:, 0]
    directions = np.concatenate([flat, np.ones((len(flat), 1))], axis=1) @ rotation_matrix(orientation).T
    return np.ascontiguousarray(directions.T, np.float32)


@lru_cache(maxsize=8)
def _maps(camera: Intrinsics) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1.0]])
    size = (camera.width, camera.height)
    x, y = cv2.initUndistortRectifyMap(matrix, np.asarray(camera.distortion), None, matrix, size, cv2.CV_32FC1)
    return x, y
