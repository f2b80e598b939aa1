"""The coarse depth image of a frame record: how far the frame saw in each direction."""

from __future__ import annotations

import cv2
import numpy as np

from r4_ros.core.geometry import field_of_view
from r4_ros.core.model import Float32Array, Intrinsics, View

ROWS, COLUMNS = 12, 16
SAMPLES = 8  # a cell is judged by SAMPLES x SAMPLES of its pixels
QUANTILE = 0.25


def view_of(depth: Float32Array, camera: Intrinsics, min_depth: float, max_depth: float) -> View:
    """What the frame saw. A cell holds a distance up to which three quarters of it were seen (its lower quartile).

    A cell with less than half of its pixels measured counts as not seen: 0.
    """
    horizontal, vertical = field_of_view(camera)
    small = cv2.resize(depth, (COLUMNS * SAMPLES, ROWS * SAMPLES), interpolation=cv2.INTER_NEAREST)
    cells = small.reshape(ROWS, SAMPLES, COLUMNS, SAMPLES).swapaxes(1, 2).reshape(ROWS, COLUMNS, -1)
    measured = (cells > 0).sum(axis=2)
    ordered = np.sort(np.where(cells > 0, cells, np.inf), axis=2)
    pick = (measured * QUANTILE).astype(int)
    seen = np.take_along_axis(ordered, pick[..., None], axis=2)[..., 0]
    grid = np.where(measured * 2 >= SAMPLES * SAMPLES, seen, 0).astype(np.float32)
    return View(horizontal, vertical, min_depth, max_depth, grid)
