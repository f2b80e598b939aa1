"""Windows, overlaps and suppression of masks, against the plain definitions on whole images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from r4_ros.adapters.masks import box_overlap, boxes_of, cut_out, mask_overlap, refined, suppress_masks
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage, Segment

IMAGES = hnp.arrays(np.bool_, (9, 12))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(IMAGES, IMAGES)
def test_a_cutout_is_the_mask_and_overlap_is_that_of_whole_images(a: np.ndarray, b: np.ndarray) -> None:
    cutouts = [cut_out(mask, 0.5) for mask in (a, b)]
    for mask, cutout in zip((a, b), cutouts, strict=True):
        assert (cutout is None) == (not mask.any())
        if cutout is not None:
            whole = np.zeros_like(mask)
            height, width = cutout.mask.shape
            whole[cutout.top : cutout.top + height, cutout.left : cutout.left + width] = cutout.mask
            assert np.array_equal(whole, mask)
            assert cutout.mask.any(axis=1)[[0, -1]].all() and cutout.mask.any(axis=0)[[0, -1]].all()
    if None not in cutouts:
        assert mask_overlap(*cutouts) == pytest.approx((a & b).sum() / (a | b).sum())


def test_small_masks_are_none() -> None:
    mask = np.zeros((4, 4), bool)
    mask[1, 1:3] = True
    assert cut_out(mask, 1.0, min_pixels=3) is None
    assert cut_out(mask, 1.0, min_pixels=2) is not None


def test_overlap_of_boxes() -> None:
    a = np.array([[0, 0, 4, 4], [10, 10, 12, 12]], np.float32)
    b = np.array([[2, 0, 6, 4], [0, 0, 4, 4], [12, 10, 14, 12]], np.float32)
    assert box_overlap(a, b) == pytest.approx(np.array([[1 / 3, 1, 0], [0, 0, 0]]))
    assert box_overlap(a, b[:0]).shape == (2, 0)


def test_of_masks_that_overlap_the_best_stays() -> None:
    def square(left: int, score: float) -> object:
        mask = np.zeros((10, 30), bool)
        mask[2:8, left : left + 6] = True
        return cut_out(mask, score)

    kept = suppress_masks([square(0, 0.7), square(1, 0.9), square(10, 0.8), square(4, 0.6)], 0.5)
    assert [(c.left, c.score) for c in kept] == [(1, 0.9), (10, 0.8), (4, 0.6)]


def test_a_refined_segment_keeps_what_its_finder_knew() -> None:
    depth = np.full((8, 8), 2.0, np.float32)
    image = RgbdImage(np.zeros((8, 8, 3), np.uint8), depth, Intrinsics(8, 8, 8, 8, 4, 4))
    known = np.full((2, 2), 5.0, np.float32)
    segment = Segment("tv", 0.7, 3, 3, np.ones((2, 2), bool), depth=known)
    mask = np.zeros((8, 8), bool)
    mask[2:5, 1:5] = True
    better = refined(segment, cut_out(mask, 0.9), image, "7")
    assert (better.label, better.confidence, better.left, better.top, better.track_id) == ("tv", 0.7, 1, 2, "7")
    assert better.mask.shape == better.depth.shape == (3, 4)
    assert (better.depth[1:3, 2:4] == 5.0).all() and (better.depth == 2.0).sum() == 8
    assert (depth == 2.0).all()
    assert refined(Segment("cup", 0.5, 3, 3, segment.mask), cut_out(mask, 0.9), image).depth is None
    assert boxes_of([segment]).tolist() == [[3, 3, 5, 5]]
    assert boxes_of([]).shape == (0, 4)
