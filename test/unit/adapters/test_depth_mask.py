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


def screen(turn: float) -> tuple[np.ndarray, np.ndarray, slice, slice]:
    """A wall that is turned, and a screen on it of which only the left edge was measured."""
    columns = np.linspace(3.0, 3.0 * turn, 160)
    wall_depth = np.tile((1 / np.linspace(1 / columns[0], 1 / columns[-1], 160)).astype(np.float32), (120, 1))
    truth = wall_depth - np.float32(0.06)
    depth = wall_depth.copy()
    rows, cols = slice(30, 90), slice(40, 120)
    depth[rows, cols] = 0
    depth[rows, 40:46] = truth[rows, 40:46]
    return depth, truth, rows, cols


@pytest.mark.parametrize("turn", [1.0, 1.15, 0.9])
def test_a_screen_that_gives_no_depth_is_completed_like_its_wall(turn: float) -> None:
    depth, truth, rows, columns = screen(turn)
    mask = depth_mask(depth[rows, columns], CAMERA)
    assert mask is not None
    whole, filled = complete(mask, depth, rows, columns)
    assert filled is not None
    assert whole.all()
    np.testing.assert_allclose(filled, truth[rows, columns], atol=0.06)


def test_where_nothing_around_is_flat_it_faces_the_camera() -> None:
    depth = np.random.default_rng(0).uniform(1.85, 2.15, (120, 160)).astype(np.float32)
    rows, columns = slice(30, 90), slice(40, 120)
    depth[rows, columns] = 0
    depth[30:90, 40:64] = 2.0
    mask = depth[rows, columns] > 0
    _, filled = complete(mask, depth, rows, columns)
    assert filled is not None
    np.testing.assert_allclose(filled, 2.0, atol=0.01)


def test_what_is_mostly_measured_is_left_as_it_is() -> None:
    depth = wall()
    depth[:10, :10] = 0
    mask = depth_mask(depth, CAMERA)
    assert mask is not None
    same, filled = complete(mask, depth, slice(0, 60), slice(0, 80))
    assert same is mask
    assert filled is None


@pytest.mark.parametrize(("distance", "expected"), [(0.55, False), (3.0, True)])
def test_a_small_thing_with_a_hollow_middle_is_left_out_and_a_large_one_is_not(distance: float, expected: bool) -> None:
    """A cup nearer than the camera measures, with table around it; a screen whose frame alone gives depth."""
    depth = wall((80, 80), distance)
    depth[12:68, 12:68] = 0
    assert (depth_mask(depth, CAMERA) is not None) == expected
