"""Which poses of a way need to be kept so that all others lie between them: within 5 cm and 3 degrees."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import NS_PER_S
from r4_ros.core.pose_array import PoseArray

WITHIN_M, WITHIN_RAD = 0.05, math.radians(3)
LONGEST_GAP_NS = 10 * NS_PER_S
"""Over longer gaps nothing is interpolated, so none are made."""


def needed(stamps_ns: npt.NDArray[np.int64], poses: PoseArray, fixed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which of the poses (ascending in time) to keep: the ``fixed`` ones, both ends, and no more than it takes.

    Each one left out is within 5 cm and 3 degrees of what is interpolated at its stamp between its neighbours.
    """
    kept: npt.NDArray[np.bool_] = fixed.copy()
    if not len(stamps_ns):
        return kept
    kept[[0, -1]] = True
    knots = np.flatnonzero(kept)
    for first, last in zip(knots[:-1].tolist(), knots[1:].tolist(), strict=True):
        while first < last:
            reach = int(np.searchsorted(stamps_ns, stamps_ns[first] + LONGEST_GAP_NS, side="right")) - 1
            first = _farthest(stamps_ns, poses, first, min(last, max(reach, first + 1)))
            kept[first] = True
    return kept


def _farthest(stamps_ns: npt.NDArray[np.int64], poses: PoseArray, first: int, last: int) -> int:
    """A pose up to ``last`` such that all between it and the first one are near what is interpolated."""
    while last > first + 1 and not _lies_between(stamps_ns, poses, first, last):
        last = first + (last - first) // 2
    return last


def _lies_between(stamps_ns: npt.NDArray[np.int64], poses: PoseArray, first: int, last: int) -> bool:
    inner = np.arange(first + 1, last)
    share = (stamps_ns[inner] - stamps_ns[first]) / max(1, int(stamps_ns[last] - stamps_ns[first]))
    ends = (poses[np.full(len(inner), i)] for i in (first, last))
    between = next(ends).interpolate(next(ends), share)
    off = np.linalg.norm(between.positions - poses.positions[inner], axis=1)
    alike = np.abs((between.orientations * poses.orientations[inner]).sum(axis=1))
    return bool((off <= WITHIN_M).all() and (2 * np.arccos(np.minimum(1.0, alike)) <= WITHIN_RAD).all())
