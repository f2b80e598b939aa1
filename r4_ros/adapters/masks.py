"""Masks cut out of whole images: windows, overlaps, and which of many overlapping ones stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Float32Array
from r4_ros.core.ports import RgbdImage, Segment

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Cutout:
    """A mask in its window of the image: bool [h, w], upper left pixel (left, top), with the model's score."""

    mask: Mask
    left: int
    top: int
    score: float

    @property
    def area(self) -> int:
        """Pixels of the mask."""
        return int(np.count_nonzero(self.mask))


def cut_out(mask: Mask, score: float, min_pixels: int = 1) -> Cutout | None:
    """The window of an image's mask, bool [H, W]; None with fewer than ``min_pixels`` pixels (at least 1)."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if not columns.size:
        return None
    left, right, top, bottom = columns[0], columns[-1] + 1, rows[0], rows[-1] + 1
    window = mask[top:bottom, left:right].copy()
    found = Cutout(window, int(left), int(top), float(score))
    return found if found.area >= min_pixels else None


def mask_overlap(a: Cutout, b: Cutout) -> float:
    """Intersection over union of two masks of one image."""
    left, top = max(a.left, b.left), max(a.top, b.top)
    right = min(a.left + a.mask.shape[1], b.left + b.mask.shape[1])
    bottom = min(a.top + a.mask.shape[0], b.top + b.mask.shape[0])
    if right <= left or bottom <= top:
        return 0.0
    one, two = (m.mask[top - m.top : bottom - m.top, left - m.left : right - m.left] for m in (a, b))
    shared = int(np.count_nonzero(one & two))
    return shared / (a.area + b.area - shared)


def box_overlap(a: Float32Array, b: Float32Array) -> Float32Array:
    """Intersection over union [n, m] of boxes [n, 4] and [m, 4]: left, top, right, bottom."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    areas = [(x[:, 2:] - x[:, :2]).prod(axis=1) for x in (a, b)]
    union = areas[0][:, None] + areas[1][None] - shared
    return np.asarray(shared / np.maximum(union, 1e-9), np.float32)


def suppress_masks(cutouts: Sequence[Cutout], overlap: float) -> list[Cutout]:
    """The cutouts best first, without those whose mask overlaps a better one by more (non-maximum suppression)."""
    kept: list[Cutout] = []
    for candidate in sorted(cutouts, key=lambda c: (-c.score, c.top, c.left)):
        if all(mask_overlap(candidate, other) <= overlap for other in kept):
            kept.append(candidate)
    return kept


def boxes_of(segments: Sequence[Segment]) -> Float32Array:
    """The windows of segments as boxes float32 [n, 4]: left, top, right, bottom in pixels."""
    boxes = [(s.left, s.top, s.left + s.mask.shape[1], s.top + s.mask.shape[0]) for s in segments]
    return np.array(boxes, np.float32).reshape(-1, 4)


def refined(segment: Segment, cutout: Cutout, image: RgbdImage, track_id: str = "") -> Segment:
    """A segment with another mask; depth that its finder knew stays where the new window covers the old one."""
    depth = None
    if segment.depth is not None:
        (height, width), (old_height, old_width) = cutout.mask.shape, segment.mask.shape
        depth = image.depth[cutout.top : cutout.top + height, cutout.left : cutout.left + width].copy()
        top, left = max(cutout.top, segment.top), max(cutout.left, segment.left)
        bottom = min(cutout.top + height, segment.top + old_height)
        right = min(cutout.left + width, segment.left + old_width)
        if bottom > top and right > left:
            depth[top - cutout.top : bottom - cutout.top, left - cutout.left : right - cutout.left] = segment.depth[
                top - segment.top : bottom - segment.top, left - segment.left : right - segment.left
            ]
    return Segment(segment.label, segment.confidence, cutout.left, cutout.top, cutout.mask, track_id, depth)
