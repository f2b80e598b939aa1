"""Boxes aligned with the map's axes, many at once: corners, gaps, shared footprints, places within one box.

Where a function takes boxes ``a`` and ``b``, ``b`` is one box, or as many as ``a``: then they go in pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FloatArray, Pose
from r4_ros.core.pose_array import rotation_matrices

_AT_ONCE = 1 << 20
OBSERVER_HEIGHT_M = 1.5


@dataclass(frozen=True, slots=True)
class Boxes:
    """Lower and upper corners [n, 3], map frame."""

    low: FloatArray
    high: FloatArray

    @property
    def centre(self) -> FloatArray:
        """Centres [n, 3]."""
        return np.asarray((self.low + self.high) / 2)

    @property
    def size(self) -> FloatArray:
        """Full sizes [n, 3]."""
        return self.high - self.low

    def one(self, i: int) -> Boxes:
        """One of them, as boxes of length 1."""
        return Boxes(self.low[i : i + 1], self.high[i : i + 1])

    def take(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Boxes:
        """Some of them, in this order, or those of a mask."""
        return Boxes(self.low[rows], self.high[rows])

    def repeated(self, count: int) -> Boxes:
        """One box, so many times."""
        return Boxes(np.repeat(self.low, count, axis=0), np.repeat(self.high, count, axis=0))


def observer_box(pose: Pose) -> Boxes:
    """The column that an observer takes up."""
    foot = np.asarray(pose.position, float)[None]
    return Boxes(foot, foot + np.array([0, 0, OBSERVER_HEIGHT_M]))


def point_box(pose: Pose) -> Boxes:
    """A point."""
    point = np.asarray(pose.position, float)[None]
    return Boxes(point, point)


def gaps(a: Boxes, b: Boxes) -> FloatArray:
    """Distances [n] between boxes, 0 where they touch."""
    return np.asarray(np.linalg.norm(np.clip(_apart(a, b), 0, None), axis=1))


def level_gaps(a: Boxes, b: Boxes) -> FloatArray:
    """Horizontal distances [n] between boxes, 0 where their footprints touch."""
    return np.asarray(np.linalg.norm(np.clip(_apart(a, b)[:, :2], 0, None), axis=1))


def height_gaps(a: Boxes, b: Boxes) -> FloatArray:
    """Vertical distances [n] between boxes; negative: how far their heights overlap."""
    return np.asarray(_apart(a, b)[:, 2])


def pairs_within(a: Boxes, b: Boxes, reach: FloatArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All pairs of rows of a and of b whose boxes are no farther apart along x, y and z than ``reach`` [3]."""
    low, high = (np.ascontiguousarray(corner.T) for corner in (a.low, a.high))
    rows, others = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    step = max(1, _AT_ONCE // max(1, len(a.low)))
    for first in range(0, len(b.low), step):
        least, most = b.low[first : first + step] - reach, b.high[first : first + step] + reach
        near = np.ones((len(least), len(a.low)), np.bool_)
        for axis in range(3):
            near &= high[axis] >= least[:, axis, None]
            near &= low[axis] <= most[:, axis, None]
        at, its = np.nonzero(near)
        rows.append(its)
        others.append(at + first)
    return np.concatenate(rows), np.concatenate(others)


def _apart(a: Boxes, b: Boxes) -> FloatArray:
    return np.asarray(np.maximum(a.low - b.high, b.low - a.high))


def falling(x: FloatArray, full: float, half: float) -> FloatArray:
    """1 up to ``full``, 0.5 at ``half``, on down to 0."""
    return np.clip(1 - 0.5 * (x - full) / (half - full), 0, 1)


def footprint_shared(a: Boxes, b: Boxes) -> tuple[FloatArray, FloatArray]:
    """Shared footprint as a share of a's own and of the smaller of both."""
    shared = np.clip(np.minimum(a.high, b.high) - np.maximum(a.low, b.low), 0, None)[:, :2].prod(axis=1)
    own, other = a.size[:, :2].prod(axis=1), b.size[:, :2].prod(axis=1)
    return shared / np.maximum(own, 1e-9), shared / np.maximum(np.minimum(own, other), 1e-9)


def within(a: Boxes, b: Boxes) -> FloatArray:
    """Centres [n, 3] in a box's own measure: -1 at its lower, 0 in its middle, 1 at its upper side."""
    return np.asarray((a.centre - b.centre) / np.maximum(b.size / 2, 1e-6))


def half_axes(boxes: FloatArray) -> FloatArray:
    """Of boxes [n, 10] (x y z, quaternion, full size), the three half axes as the columns of a matrix [n, 9]."""
    halves = rotation_matrices(boxes[:, 3:7]) * (boxes[:, None, 7:] / 2)
    return halves.reshape(-1, 9)
