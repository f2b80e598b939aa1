"""Two masks that are parts of one thing, cut apart in the image by something nearer, become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Float32Array, Intrinsics
from r4_ros.core.ports import Segment

ALIGNED = 0.8  # share of the smaller part's side that both have in common
ALIKE = 0.7  # the smaller side over the larger one
COVERED = 0.6  # of what is measured between the parts lies nearer
STRIP_PX = 6  # at the facing edges, where depth is compared
MOST_GAP_M = 0.4
NEAR_M, NEAR_SHARE = 0.05, 0.03  # depths that differ by less are one surface
NAMELESS = "object"  # what finders without classes call everything


def joined(segments: Sequence[Segment], depth: Float32Array, camera: Intrinsics) -> list[Segment]:
    """The segments, with parts of one thing put together; in the order of the first parts.

    depth: float32 [H, W] registered to the pinhole camera, 0 unknown. Parts have one label, lie side by side (or one
    above the other) with edges at the same height and depth, and what is between them is nearer than both. Segments
    with depth of their own, of different tracks, or without a class are left alone.
    """
    done: list[Segment] = []
    for segment in segments:
        for k, other in enumerate(done):
            if _may_join(other, segment) and _is_cut(other, segment, depth, camera):
                done[k] = _union(other, segment)
                break
        else:
            done.append(segment)
    return done


def _may_join(a: Segment, b: Segment) -> bool:
    known = a.label == b.label != NAMELESS and a.depth is None and b.depth is None
    return known and (a.track_id == b.track_id or not a.track_id or not b.track_id)


@dataclass(frozen=True, slots=True)
class _Side:
    """A part's window along the way from one to the other, and across it."""

    start: int
    end: int
    low: int
    high: int

    @classmethod
    def of(cls, segment: Segment, sideways: bool) -> _Side:
        height, width = segment.mask.shape
        x, y = (segment.left, segment.left + width), (segment.top, segment.top + height)
        return cls(*x, *y) if sideways else cls(*y, *x)


def _is_cut(a: Segment, b: Segment, depth: Float32Array, camera: Intrinsics) -> bool:
    return any(_is_cut_along(a, b, depth, camera, sideways) for sideways in (True, False))


def _is_cut_along(a: Segment, b: Segment, depth: Float32Array, camera: Intrinsics, sideways: bool) -> bool:
    first, second = sorted((_Side.of(a, sideways), _Side.of(b, sideways)), key=lambda s: s.start)
    low, high = max(first.low, second.low), min(first.high, second.high)
    sizes = sorted((first.high - first.low, second.high - second.low))
    if second.start <= first.end or high - low < ALIGNED * sizes[0] or sizes[0] < ALIKE * sizes[1]:
        return False
    view = depth if sideways else depth.T
    edges = [
        _median_at(a if (_Side.of(a, sideways) == side) else b, view, sideways, strip, (low, high))
        for side, strip in (
            (first, (max(first.start, first.end - STRIP_PX), first.end)),
            (second, (second.start, min(second.end, second.start + STRIP_PX))),
        )
    ]
    nearest = min(edges)
    slack = NEAR_M + NEAR_SHARE * nearest
    focal = camera.fx if sideways else camera.fy
    if not nearest or abs(edges[0] - edges[1]) > slack or (second.start - first.end) * nearest / focal > MOST_GAP_M:
        return False
    between = view[low:high, first.end : second.start]
    measured = between[between > 0]
    return bool(measured.size and np.mean(measured < nearest - slack) >= COVERED)


def _median_at(
    segment: Segment, view: Float32Array, sideways: bool, strip: tuple[int, int], span: tuple[int, int]
) -> float:
    """Median depth of a part in a strip of its window; 0 where nothing is measured."""
    mask: npt.NDArray[np.bool_] = segment.mask if sideways else segment.mask.T
    left, top = (segment.left, segment.top) if sideways else (segment.top, segment.left)
    rows, columns = slice(*span), slice(*strip)
    own = mask[span[0] - top : span[1] - top, strip[0] - left : strip[1] - left]
    values = view[rows, columns][own]
    values = values[values > 0]
    return float(np.median(values)) if values.size else 0.0


def _union(a: Segment, b: Segment) -> Segment:
    left, top = min(a.left, b.left), min(a.top, b.top)
    right = max(s.left + s.mask.shape[1] for s in (a, b))
    bottom = max(s.top + s.mask.shape[0] for s in (a, b))
    mask = np.zeros((bottom - top, right - left), bool)
    for s in (a, b):
        height, width = s.mask.shape
        mask[s.top - top : s.top - top + height, s.left - left : s.left - left + width] |= s.mask
    return Segment(a.label, max(a.confidence, b.confidence), left, top, mask, a.track_id or b.track_id)
