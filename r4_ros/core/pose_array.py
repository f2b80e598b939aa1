"""Many poses at once, as arrays: what ``geometry`` does for one pose, for n of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FloatArray, Pose

_Rows = npt.NDArray[np.int64] | npt.NDArray[np.bool_] | slice


@dataclass(frozen=True, eq=False)
class PoseArray:
    """Positions [n, 3] in metres and unit quaternions [n, 4] (x y z w)."""

    positions: FloatArray
    orientations: FloatArray

    @classmethod
    def of(cls, poses: Sequence[Pose]) -> PoseArray:
        """Poses as arrays."""
        positions = np.array([pose.position for pose in poses], float).reshape(-1, 3)
        orientations = np.array([pose.orientation for pose in poses], float).reshape(-1, 4)
        return cls(positions, orientations)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, rows: _Rows) -> PoseArray:
        """Some of them, in the given order."""
        return PoseArray(self.positions[rows], self.orientations[rows])

    def poses(self) -> list[Pose]:
        """One by one."""
        pairs = zip(self.positions.tolist(), self.orientations.tolist(), strict=True)
        return [Pose((x, y, z), (qx, qy, qz, qw)) for (x, y, z), (qx, qy, qz, qw) in pairs]

    def rotations(self) -> FloatArray:
        """Their rotations as matrices [n, 3, 3]."""
        return rotation_matrices(self.orientations)

    def compose(self, inner: PoseArray) -> PoseArray:
        """Row by row c_in_a of b_in_a and c_in_b."""
        positions = self.positions + _rotate(self.orientations, inner.positions)
        return PoseArray(positions, _normalized(_multiply(self.orientations, inner.orientations)))

    def inverse(self) -> PoseArray:
        """Row by row a_in_b of b_in_a."""
        back = self.orientations * (-1, -1, -1, 1)
        return PoseArray(-_rotate(back, self.positions), back)

    def interpolate(self, other: PoseArray, share: FloatArray) -> PoseArray:
        """Row by row between two poses (share [n], 0..1): positions linear, orientations slerp on the shorter arc."""
        t = share[:, None]
        dot = (self.orientations * other.orientations).sum(axis=1, keepdims=True)
        target = np.where(dot < 0, -other.orientations, other.orientations)
        angle = np.arccos(np.minimum(1.0, np.abs(dot)))
        near = angle < 0.03
        sine = np.where(near, 1.0, np.sin(angle))
        first = np.where(near, 1 - t, np.sin((1 - t) * angle) / sine)
        second = np.where(near, t, np.sin(t * angle) / sine)
        turned = _normalized(first * self.orientations + second * target)
        return PoseArray(self.positions + t * (other.positions - self.positions), turned)

    def differs(self, other: PoseArray, tolerance: float) -> npt.NDArray[np.bool_]:
        """Which rows are more than that apart, in metres or in rad."""
        far = np.linalg.norm(self.positions - other.positions, axis=1) > tolerance
        turn = _multiply(self.orientations * (-1, -1, -1, 1), other.orientations)
        return np.asarray(far | (2 * np.linalg.norm(turn[:, :3], axis=1) > tolerance))


def _quadratic(*elements: str) -> FloatArray:
    """[n, 16]: how twice these sums of products, as "+xy-zw", are made of all products of a quaternion's numbers."""
    weights = np.zeros((len(elements), 4, 4))
    for weight, text in zip(weights, elements, strict=True):
        for sign, a, b in zip(text[::3], text[1::3], text[2::3], strict=True):
            weight["xyzw".index(a), "xyzw".index(b)] = float(sign + "2")
    return weights.reshape(-1, 16)


_TURN = _quadratic("-yy-zz", "+xy-zw", "+xz+yw", "+xy+zw", "-xx-zz", "+yz-xw", "+xz-yw", "+yz+xw", "-xx-yy")
_IDENTITY = np.eye(3).reshape(9, 1)


def rotation_matrices(quaternions: FloatArray) -> FloatArray:
    """Rotations [n, 3, 3] of unit quaternions [n, 4] (x y z w)."""
    numbers = np.ascontiguousarray(np.asarray(quaternions, float).T)
    products = (numbers[:, None] * numbers).reshape(16, -1)
    turns: FloatArray = (_TURN @ products + _IDENTITY).reshape(3, 3, -1).transpose(2, 0, 1)
    return turns


def _multiply(a: FloatArray, b: FloatArray) -> FloatArray:
    ax, ay, az, aw = a.T
    bx, by, bz, bw = b.T
    return np.column_stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    )


def _rotate(q: FloatArray, v: FloatArray) -> FloatArray:
    """v + 2 w (u x v) + 2 u x (u x v)."""
    u = q[:, :3]
    cross = 2 * np.cross(u, v)
    turned: FloatArray = v + q[:, 3:] * cross + np.cross(u, cross)
    return turned


def _normalized(q: FloatArray) -> FloatArray:
    unit: FloatArray = q / np.linalg.norm(q, axis=1, keepdims=True)
    return np.where(unit[:, 3:] < 0, -unit, unit)
