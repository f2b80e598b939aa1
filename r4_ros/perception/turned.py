"""Upright boxes turned about the vertical: how a thing stands that doesn't stand along the axes of the map.

The smallest rectangle around the points alone isn't enough: of a view of two sides, an L, several are as small. Points
lie on the sides of the right one (as in Zhang et al., 'Efficient L-Shape Fitting for Vehicle Detection Using Laser
Scanners', IV 2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from r4_ros.core.model import Float32Array, FloatArray

LEAST_SIDE_M = 0.2  # of smaller things nobody asks how they stand
CLEARLY = 0.8  # a turned box has at most this share of the ground that an aligned one has
ROUGHLY = 100  # points from which a first angle is found
LEAST_POINTS = 20
TRIM = 2.0  # percent of the points cut off at each end
LEAST_TURN = np.radians(3)  # what is turned by less stands along the map
THIN_M = 0.02  # noise: no side counts for less
STEPS = (np.radians(np.arange(0, 90, 7.5)), np.radians([-6, -4, -2, 0, 2, 4, 6]), np.radians([-1.2, -0.6, 0, 0.6, 1.2]))


@dataclass(frozen=True, slots=True)
class Turned:
    """A rectangle on the ground: ``yaw`` of its length, -45 to 45 degrees (rad), centre and sides in metres."""

    yaw: float
    centre: tuple[float, float]
    length: float
    width: float


def turned_box(points: Float32Array, sides: tuple[float, float]) -> Turned | None:
    """The upright box of points [2, n] on the ground, if clearly smaller than the aligned one, which has these sides.

    Points that are NaN don't count.
    """
    if max(sides) < LEAST_SIDE_M:
        return None
    aligned = max(sides[0], THIN_M) * max(sides[1], THIN_M)
    some = points[:, :: max(1, points.shape[1] // ROUGHLY)]
    some = some[:, ~np.isnan(some[0])]
    if some.shape[1] < LEAST_POINTS:
        return None
    least = cv2.minAreaRect(np.ascontiguousarray(some.T))[1]
    if max(least[0], THIN_M) * max(least[1], THIN_M) > CLEARLY * aligned:
        return None
    points = points[:, ~np.isnan(points[0])]
    yaw = _best(STEPS[0], some)
    for steps in STEPS[1:]:
        yaw = _best(yaw + steps, points)
    yaw = (yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4
    if abs(yaw) < LEAST_TURN:
        return None
    axes = _axes(np.array([yaw]))[0]
    low, high = _ends(axes @ points)
    middle, (length, width) = axes.T @ ((low + high) / 2), (high - low).tolist()
    if max(length, THIN_M) * max(width, THIN_M) > CLEARLY * aligned:
        return None
    return Turned(float(yaw), (float(middle[0]), float(middle[1])), length, width)


def _axes(yaws: FloatArray) -> Float32Array:
    """The directions [k, 2, 2] of length and width."""
    c, s = np.cos(yaws), np.sin(yaws)
    return np.stack([np.stack([c, s], axis=1), np.stack([-s, c], axis=1)], axis=1).astype(np.float32)


def _best(yaws: FloatArray, points: Float32Array) -> float:
    """The yaw whose rectangle is small and has the points on its sides."""
    across = _axes(yaws) @ points
    low, high = across.min(axis=2), across.max(axis=2)
    size = np.maximum(high - low, THIN_M)
    beside = np.minimum(across - low[..., None], high[..., None] - across) < np.maximum(0.05 * size, THIN_M)[..., None]
    on_sides = beside.any(axis=1).mean(axis=1)
    return float(yaws[np.argmin(size.prod(axis=1) * (2 - on_sides))])


def _ends(across: Float32Array) -> tuple[FloatArray, FloatArray]:
    """Where points [2, n] begin and end, without the outermost percents, widened by what a uniform surface loses."""
    n = across.shape[1]
    cut = int(n * TRIM / 100)
    ordered = np.sort(across, axis=1).astype(float)
    low, high = ordered[:, cut], ordered[:, n - 1 - cut]
    widen = (high - low) * (cut / n) / (1 - 2 * cut / n)
    return low - widen, high + widen
