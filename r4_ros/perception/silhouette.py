"""A mask in the depth image: which of its pixels can be trusted, and whether all of the thing is in view."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Float32Array, Visibility
from r4_ros.core.ports import Segment

KERNEL = np.ones((3, 3), np.uint8)
OCCLUDED_SHARE = 0.25  # of the mask's border
RING_PX = 2  # around the mask, where something nearer would begin
NEARER_M, NEARER_SHARE = 0.05, 0.03

Area = tuple[int, int, int, int]
"""left, top, right, bottom (exclusive)"""


def measured_area(depth: Float32Array) -> Area:
    """The part of the image that has depth; zeros where there is none."""
    left, top, width, height = cv2.boundingRect((depth > 0).view(np.uint8))
    return left, top, left + width, top + height


def core(segment: Segment, measured: npt.NDArray[np.bool_], min_points: int) -> npt.NDArray[np.intp]:
    """Pixels of the segment with depth, numbered along the rows of its window. ``measured`` [H, W]: the image's.

    Without its outermost ones if enough stays: those mix two surfaces. What is so thin that nothing would stay of it
    (the pole of a lamp) is kept.
    """
    height, width = segment.mask.shape
    window = measured[segment.top : segment.top + height, segment.left : segment.left + width]
    known = (segment.mask & (window if segment.depth is None else segment.depth > 0)).view(np.uint8)
    inside = segment.mask.view(np.uint8)
    eroded = cv2.erode(inside, KERNEL, borderType=cv2.BORDER_CONSTANT, borderValue=1)
    inner = cv2.bitwise_and(known, eroded)
    count = cv2.countNonZero(inner)
    if count < min_points or 3 * count < cv2.countNonZero(known):
        return np.flatnonzero(known.view(np.bool_))
    thin = cv2.bitwise_and(known, 1 - cv2.dilate(eroded, KERNEL))
    return np.flatnonzero(cv2.bitwise_or(inner, thin).view(np.bool_))


def visibility_of(segment: Segment, depth: Float32Array, area: Area) -> Visibility:
    """VISIBLE, TRUNCATED at the border of the measured ``area``, or OCCLUDED by something nearer beside it."""
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


def _in_border(segment: Segment, area: Area) -> bool:
    """Whether the mask itself reaches the outermost two pixels of the measured area (its window may be wider)."""
    left, top = max(0, area[0] + 2 - segment.left), max(0, area[1] + 2 - segment.top)
    right, bottom = max(0, area[2] - 2 - segment.left), max(0, area[3] - 2 - segment.top)
    mask = segment.mask
    beside = (mask[:top], mask[bottom:], mask[:, :left], mask[:, right:])
    return any(part.any() for part in beside)


def _covered_share(segment: Segment, depth: Float32Array) -> float:
    """Share of the pixels just outside the mask where something clearly nearer begins."""
    pad = RING_PX + 1
    top, left = max(0, segment.top - pad), max(0, segment.left - pad)
    height, width = segment.mask.shape
    bottom = min(depth.shape[0], segment.top + height + pad)
    right = min(depth.shape[1], segment.left + width + pad)
    mask = np.zeros((bottom - top, right - left), np.uint8)
    mask[segment.top - top : segment.top - top + height, segment.left - left : segment.left - left + width] = (
        segment.mask
    )
    window = depth[top:bottom, left:right]
    wide = np.ones((2 * RING_PX + 1, 2 * RING_PX + 1), np.uint8)
    rows, columns = np.nonzero(cv2.subtract(cv2.dilate(mask, wide), mask).view(np.bool_))
    around = window[rows, columns]
    measured = around > 0
    if not measured.any():
        return 0.0
    own = cv2.dilate(window * mask, np.ones((2 * pad + 1, 2 * pad + 1), np.uint8))[rows, columns]
    nearer = measured & (around < own * np.float32(1 - NEARER_SHARE) - np.float32(NEARER_M))
    return float(np.count_nonzero(nearer)) / int(np.count_nonzero(measured))
