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
from r4_ros.core.model import IDENTITY, Float32Array, FloatArray, Intrinsics, Pose, Quat
from r4_ros.perception.cameras import EQUIDISTANT, same_camera

MAX_SPLIT = 8  # parts of a depth pixel's side; a colour camera finer than that keeps gaps
MIN_Z = np.float32(0.05)
MAX_FISHEYE_ANGLE = 1.4  # rad from the optical axis; beyond, a pinhole camera sees nothing
SAME_SURFACE = np.float32(0.05)  # depths that differ by less than this share are one surface


def pinhole(camera: Intrinsics) -> Intrinsics:
    """The camera of the rectified image: the same matrix without distortion."""
    return replace(camera, distortion=(), distortion_model="")


def rectify(camera: Intrinsics, image: npt.NDArray[Any], smooth: bool) -> npt.NDArray[Any]:
    """The image without lens distortion; ``smooth`` interpolates (colour), else the nearest pixel (depth, labels)."""
    if not _is_distorted(camera):
        return image
    x, y = _maps(camera)
    if smooth:
        return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=0))
    inside = (x >= -0.5) & (y >= -0.5) & (x < camera.width - 0.5) & (y < camera.height - 0.5)
    column, row = (np.rint(a[inside]).astype(np.intp) for a in (x, y))
    rectified = np.zeros_like(image)
    rectified[inside] = image[row.clip(0), column.clip(0)]
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
    finer = max(color_camera.fx / depth_camera.fx, color_camera.fy / depth_camera.fy)
    factor = min(max(1, math.ceil(finer - 0.1)), MAX_SPLIT)
    if factor > 1:
        depth = np.repeat(np.repeat(depth, factor, axis=0), factor, axis=1)
    rays = _rays(depth_camera, factor, depth_in_color.orientation, color_camera)
    start = _matrix(color_camera) @ np.asarray(depth_in_color.position)
    return fill_gaps(_splat(depth.reshape(-1), rays, start, color_camera))


def _splat(depth: Float32Array, rays: Float32Array, start: FloatArray, camera: Intrinsics) -> Float32Array:
    """Project depth [n] along rays [3, n] from a start with a z-buffer; both are in (pixels x depth, depth)."""
    u, v, z = (ray * depth + np.float32(offset) for ray, offset in zip(rays, start, strict=True))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 1 / z
        u *= scale
        v *= scale
        u += np.float32(0.5)
        v += np.float32(0.5)
        pixels = v.astype(np.int32)
        pixels *= np.int32(camera.width)
        pixels += u.astype(np.int32)
    inside = (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height) & (z > MIN_Z) & (depth > 0)
    np.putmask(pixels, ~inside, camera.width * camera.height)  # cheaper than to pick those inside
    return nearest_in(pixels, z, camera)


def nearest_in(pixels: npt.NDArray[np.int32], depth: Float32Array, camera: Intrinsics) -> Float32Array:
    """The least depth that falls on each pixel (row x width + column): float32 [H, W], 0 where none does.

    width x height stands for a place outside of the image.
    """
    nearest = np.full(camera.width * camera.height + 1, np.inf, np.float32)
    with np.errstate(invalid="ignore"):  # outside there may be NaN
        np.minimum.at(nearest, pixels, depth)
    inside = nearest[:-1]
    inside[np.isinf(inside)] = 0
    return inside.reshape(camera.height, camera.width)


def along_axis(distance: Float32Array, camera: Intrinsics) -> Float32Array:
    """Depth along the optical axis of a depth image that holds distances from the camera (depth_model radial)."""
    return distance * _axis_share(camera)


def fill_gaps(depth: Float32Array) -> Float32Array:
    """Fill empty pixels between two opposite neighbours of one surface with their mean, along rows, then columns."""
    width = depth.shape[1]
    flat = depth.reshape(-1)
    for step in (1, width):
        known = flat > 0
        between = known[: -2 * step] & known[2 * step :] & ~known[step:-step]
        empty = np.flatnonzero(between) + step
        if step == 1:  # neighbours in memory, but at the two ends of rows
            empty = empty[(empty % width > 0) & (empty % width < width - 1)]
        a, b = flat[empty - step], flat[empty + step]
        fill = np.abs(a - b) < SAME_SURFACE * np.minimum(a, b)
        flat[empty[fill]] = (a[fill] + b[fill]) / 2
    return depth


@lru_cache(maxsize=8)
def _rays(depth_camera: Intrinsics, factor: int, orientation: Quat, color_camera: Intrinsics) -> Float32Array:
    """What one metre of depth adds to (u x z, v x z, z) of the colour camera, for each depth pixel: float32 [3, n].

    Each pixel is split factor x factor.
    """
    u = (np.arange(depth_camera.width * factor) + 0.5) / factor - 0.5
    v = (np.arange(depth_camera.height * factor) + 0.5) / factor - 0.5
    grid = np.stack([a.ravel() for a in np.meshgrid(u, v)], axis=1)
    flat = _undistorted(grid, depth_camera)
    directions = np.concatenate([flat, np.ones((len(flat), 1))], axis=1).T
    with np.errstate(over="ignore", invalid="ignore"):  # of a distortion that is none
        return np.ascontiguousarray(_matrix(color_camera) @ rotation_matrix(orientation) @ directions, np.float32)


@lru_cache(maxsize=8)
def _axis_share(camera: Intrinsics) -> Float32Array:
    """Cosine of each pixel's ray to the optical axis, float32 [H, W]."""
    u, v = np.meshgrid(np.arange(camera.width, dtype=float), np.arange(camera.height, dtype=float))
    flat = _undistorted(np.stack([u.ravel(), v.ravel()], axis=1), camera)
    share = 1 / np.sqrt(1 + (flat**2).sum(axis=1))
    return np.asarray(share.reshape(camera.height, camera.width), np.float32)


def _undistorted(pixels: FloatArray, camera: Intrinsics) -> FloatArray:
    """Pixels [n, 2] -> x / z and y / z of their rays [n, 2]; NaN for rays that have none (a fisheye's edge)."""
    matrix, distortion = _matrix(camera), np.asarray(camera.distortion or (0.0,) * 4)
    if camera.distortion_model != EQUIDISTANT:
        return np.asarray(cv2.undistortPoints(pixels[:, None], matrix, distortion)[:, 0], float)
    flat = cv2.fisheye.undistortPoints(pixels[:, None], matrix, distortion)[:, 0]
    centred = (pixels - (camera.cx, camera.cy)) / (camera.fx, camera.fy)
    forward = np.hypot(*centred.T) < MAX_FISHEYE_ANGLE
    return np.where(forward[:, None] & (np.abs(flat) < 1e3), flat, np.nan)


def _is_distorted(camera: Intrinsics) -> bool:
    return any(camera.distortion) or camera.distortion_model == EQUIDISTANT


@lru_cache(maxsize=8)
def _maps(camera: Intrinsics) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    matrix = _matrix(camera)
    size = (camera.width, camera.height)
    if camera.distortion_model == EQUIDISTANT:
        distortion = np.asarray(camera.distortion or (0.0,) * 4)
        x, y = cv2.fisheye.initUndistortRectifyMap(matrix, distortion, np.eye(3), matrix, size, cv2.CV_32FC1)
        return x, y
    x, y = cv2.initUndistortRectifyMap(matrix, np.asarray(camera.distortion), None, matrix, size, cv2.CV_32FC1)
    return x, y


def _matrix(camera: Intrinsics) -> FloatArray:
    return np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1.0]])
