"""Two masks that are parts of one thing, cut apart in the image by something nearer, become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Float32Array, FloatArray, Intrinsics
from r4_ros.core.ports import Segment

ALIGNED = 0.8  # share of the smaller part's side that both have in common
ALIKE = 0.7  # the smaller side over the larger one
COVERED = 0.6  # of what is measured between the parts lies nearer
STRIP_PX = 6  # at the facing edges, where depth is compared
MOST_GAP_M = 0.4
NEAR_M, NEAR_SHARE = 0.05, 0.03  # depths that differ by less are one surface
FAR_M = np.float32(1e6)
NAMELESS = "object"  # what finders without classes call everything

Mask = npt.NDArray[np.bool_]


def joined(segments: Sequence[Segment], depth: Float32Array, camera: Intrinsics) -> list[Segment]:
    """The segments, with parts of one thing put together; in the order of the first parts.

    depth: float32 [H, W] registered to the pinhole camera, 0 unknown. Parts have one label, lie side by side (or one
    above the other) with edges at the same height and depth, and what is between them is nearer than both. Segments
    with depth of their own, of different tracks, or without a class are left alone.
    """
    facing = _facing(segments, depth, camera)
    if not facing.any():
        return list(segments)
    done: list[_Whole] = []
    for number, segment in enumerate(segments):
        for whole in done:
            near = whole.is_joined or facing[whole.number, number]
            if near and _may_join(whole.segment, segment) and _is_cut(whole.segment, segment, depth, camera):
                whole.segment, whole.is_joined = _union(whole.segment, segment), True
                break
        else:
            done.append(_Whole(number, segment))
    return [whole.segment for whole in done]


@dataclass(slots=True)
class _Whole:
    """What one thing's parts were put together to so far; ``number``: of the first one."""

    number: int
    segment: Segment
    is_joined: bool = False


def _facing(segments: Sequence[Segment], depth: Float32Array, camera: Intrinsics) -> Mask:
    """Pairs [n, n] of segments that ``_is_cut`` may hold for, by labels, windows and how far off they are.

    Nearly all pairs fail here, where they cost little.
    """
    n = len(segments)
    labels = np.unique([s.label for s in segments], return_inverse=True)[1] if n else np.zeros(0, np.intp)
    open_ = np.array([s.label != NAMELESS and s.depth is None for s in segments], bool)
    pairs: Mask = (labels[:, None] == labels) & open_[:, None] & open_ & ~np.eye(n, dtype=bool)
    if not pairs.any():
        return pairs
    corner = np.array([(s.left, s.top) for s in segments])
    size = np.array([s.mask.shape[::-1] for s in segments])
    least = _least_depths(segments, depth)
    either = np.zeros_like(pairs)
    for along, focal in ((0, camera.fx), (1, camera.fy)):
        start, across, low = corner[:, along], size[:, 1 - along], corner[:, 1 - along]
        gap = np.maximum(start[:, None] - (start + size[:, along]), start - (start + size[:, along])[:, None])
        shared = np.minimum((low + across)[:, None], low + across) - np.maximum(low[:, None], low)
        smaller, larger = np.minimum(across[:, None], across), np.maximum(across[:, None], across)
        near = gap * np.minimum(least[:, None], least) <= MOST_GAP_M * focal
        either |= (gap > 0) & near & (shared >= ALIGNED * smaller) & (smaller >= ALIKE * larger)
    return np.asarray(pairs & either)


def _least_depths(segments: Sequence[Segment], depth: Float32Array) -> FloatArray:
    """The least depth [n] in each segment's window, thus no more than in the segment; FAR where nothing is measured."""
    known = np.where(depth > 0, depth, FAR_M)
    windows = (known[s.top : s.top + s.mask.shape[0], s.left : s.left + s.mask.shape[1]] for s in segments)
    return np.array([window.min(initial=FAR_M) for window in windows])


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
    middle = values.size // 2  # np.median takes four times as long
    return float(np.partition(values, middle)[middle]) if values.size else 0.0


def _union(a: Segment, b: Segment) -> Segment:
    left, top = min(a.left, b.left), min(a.top, b.top)
    right = max(s.left + s.mask.shape[1] for s in (a, b))
    bottom = max(s.top + s.mask.shape[0] for s in (a, b))
    mask = np.zeros((bottom - top, right - left), bool)
    for s in (a, b):
        height, width = s.mask.shape
        mask[s.top - top : s.top - top + height, s.left - left : s.left - left + width] |= s.mask
    return Segment(a.label, max(a.confidence, b.confidence), left, top, mask, a.track_id or b.track_id)
