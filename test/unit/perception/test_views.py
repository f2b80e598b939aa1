"""The coarse depth image of a frame record."""

from __future__ import annotations

import math

import numpy as np

from r4_ros.core.model import Intrinsics
from r4_ros.perception.views import COLUMNS, ROWS, view_of

CAMERA = Intrinsics(640, 480, 320.0, 240.0, 320.0, 240.0)


def test_field_of_view_and_range() -> None:
    view = view_of(np.ones((480, 640), np.float32), CAMERA, 0.2, 8.0)
    assert (view.min_depth, view.max_depth) == (0.2, 8.0)
    assert math.isclose(view.horizontal_fov, math.pi / 2)
    assert math.isclose(view.vertical_fov, math.pi / 2)
    assert view.depth.shape == (ROWS, COLUMNS)
    assert view.depth.dtype == np.float32


def test_cells_claim_no_more_than_was_seen() -> None:
    depth = np.full((480, 640), 4.0, np.float32)
    depth[:, :40] = 0  # a column of cells without depth
    depth[:40, 40:64] = 1.0  # most of a cell is near
    depth[80:120, 40:44] = 1.0  # a thin thing before the wall
    depth[120:160, 40:64] = 0  # most of a cell is unknown
    view = view_of(depth, CAMERA, 0.2, 8.0)
    assert not view.depth[:, 0].any()
    assert view.depth[0, 1] == 1.0
    assert view.depth[2, 1] == 4.0
    assert view.depth[3, 1] == 0.0
    assert view.depth[11, 15] == 4.0


def test_odd_sizes() -> None:
    view = view_of(np.full((123, 77), 2.0, np.float32), CAMERA, 0.2, 8.0)
    assert (view.depth == 2.0).all()
