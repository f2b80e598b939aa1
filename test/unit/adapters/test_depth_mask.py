"""Masks from depth inside a detection's box: thin, small, hung on walls, half hidden."""

from __future__ import annotations

import numpy as np
import pytest

from r4_ros.adapters.depth_mask import complete, depth_mask
from r4_ros.core.model import Intrinsics

CAMERA = Intrinsics(640, 480, 525.0, 525.0, 320.0, 240.0)


def wall(shape: tuple[int, int] = (60, 80), depth: float = 3.0) -> np.ndarray:
    return np.full(shape, depth, np.float32)


def overlap(mask: np.ndarray, truth: np.ndarray) -> float:
    return float((mask & truth).sum() / (mask | truth).sum())


def test_a_thing_before_a_wall() -> None:
    depth, truth = wall(), np.zeros((60, 80), bool)
    truth[8:52, 12:70] = True
    depth[truth] = 1.5
    mask = depth_mask(depth, CAMERA)
    assert mask is not None
    assert overlap(mask, truth) > 0.9


def test_a_thin_thing_is_not_lost_to_what_is_behind() -> None:
    depth, truth = wall(), np.zeros((60, 80), bool)
    truth[:, 38:43] = True
    depth[truth] = 1.2
    mask = depth_mask(depth, CAMERA)
    assert mask is not None
    assert overlap(mask, truth) > 0.7


def test_a_chair_with_slats_is_its_wood_not_its_gaps() -> None:
    depth, truth = wall(), np.ones((60, 80), bool)
    for top in (10, 30):
        truth[top : top + 14, 15:65] = False
    depth[truth] = 2.0
    mask = depth_mask(depth, CAMERA)
    assert mask is not None
    assert overlap(mask, truth) > 0.85


def test_a_thing_behind_a_pole_stays_one() -> None:
    depth, truth = wall(), np.zeros((60, 80), bool)
    truth[10:50, 10:70] = True
    depth[truth] = 2.0
    depth[:, 52:58] = 0.9
    truth[:, 52:58] = False
    mask = depth_mask(depth, CAMERA)
    assert mask is not None
    assert overlap(mask, truth) > 0.85


def test_flat_on_a_wall_the_box_is_the_mask() -> None:
    mask = depth_mask(wall(), CAMERA)
    assert mask is not None
    assert mask.all()


def test_the_table_far_behind_a_cup_is_cut_off() -> None:
    """The table runs on continuously from the cup's foot to a metre behind it."""
    rows = np.linspace(2.2, 1.0, 60, dtype=np.float32)
    depth = np.tile(rows[:, None], (1, 60))
    truth = np.zeros((60, 60), bool)
    truth[8:55, 12:48] = True
    depth[truth] = 1.05
    mask = depth_mask(depth, CAMERA)
    assert mask is not None
    assert mask[truth].mean() > 0.95
    assert not mask[:30][~truth[:30]].any()


@pytest.mark.parametrize("known", [0, 3])
def test_without_depth_there_is_no_mask(known: int) -> None:
    depth = np.zeros((60, 80), np.float32)
    depth[30, 40 : 40 + known] = 1.0
    assert depth_mask(depth, CAMERA) is None


def test_a_screen_that_gives_no_depth_is_completed_on_its_plane() -> None:
    columns = np.linspace(2.0, 2.2, 80)
    plane = np.tile(1 / np.linspace(1 / columns[0], 1 / columns[-1], 80, dtype=np.float32), (60, 1))
    depth = plane.copy()
    depth[6:54, 6:74] = 0
    mask = depth_mask(depth, CAMERA)
    assert mask is not None
    whole, filled = complete(mask, depth)
    assert filled is not None
    assert whole.all()
    np.testing.assert_allclose(filled, plane, atol=0.02)
    assert columns[0] - 1e-6 <= filled.min() <= filled.max() <= columns[-1] + 1e-6


def test_what_is_mostly_measured_is_left_as_it_is() -> None:
    depth = wall()
    depth[:10, :10] = 0
    mask = depth_mask(depth, CAMERA)
    assert mask is not None
    same, filled = complete(mask, depth)
    assert same is mask
    assert filled is None
