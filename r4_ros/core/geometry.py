"""SE(3), oriented boxes, overlap and projection, in numpy. Conventions: see core/model.py.

``Pose`` b_in_a maps coordinates of frame b to frame a; ``compose(b_in_a, c_in_b)`` is c_in_a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Box, Float32Array, FloatArray, Intrinsics, Matrix3, Pose, Quat, Vec3


def vec3(values: npt.ArrayLike) -> Vec3:
    """Three numbers as a tuple of floats."""
    x, y, z = np.asarray(values, float)
    return float(x), float(y), float(z)


def normalized(q: Quat) -> Quat:
    """The unit quaternion with w >= 0. Raises InvalidArgument for one that is zero or not finite."""
    norm = math.hypot(q[0], q[1], q[2], q[3])
    if not math.isfinite(norm) or norm < 1e-9:
        raise InvalidArgument(f"not a rotation: quaternion {q}")
    if q[3] < 0:
        norm = -norm
    return q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm


def quat_multiply(a: Quat, b: Quat) -> Quat:
    """Hamilton product: the rotation b, then a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def quat_conjugate(q: Quat) -> Quat:
    """The inverse rotation of a unit quaternion."""
    return -q[0], -q[1], -q[2], q[3]


def rotation_matrix(q: Quat) -> FloatArray:
    """3x3 rotation of a unit quaternion."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quat_from_matrix(rotation: FloatArray) -> Quat:
    """Unit quaternion (w >= 0) of a 3x3 rotation (Shepperd's method: divide by the largest component)."""
    m = rotation
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    squares = np.array([1 + 2 * m[i, i] - trace for i in range(3)] + [1 + trace])
    k = int(np.argmax(squares))
    if k == 3:
        q = (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], squares[3])
    else:
        i, j, n = k, (k + 1) % 3, (k + 2) % 3
        parts = [0.0] * 3
        parts[i] = squares[k]
        parts[j] = m[j, i] + m[i, j]
        parts[n] = m[n, i] + m[i, n]
        q = (*parts, m[n, j] - m[j, n])
    return normalized((float(q[0]), float(q[1]), float(q[2]), float(q[3])))


def quat_from_yaw(yaw: float) -> Quat:
    """Rotation about +z, rad, counter-clockwise."""
    return 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)


def quat_from_rpy(roll: float, pitch: float, yaw: float) -> Quat:
    """Rotation about the fixed axes x, then y, then z, rad (REP-103)."""
    about_x = math.sin(roll / 2), 0.0, 0.0, math.cos(roll / 2)
    about_y = 0.0, math.sin(pitch / 2), 0.0, math.cos(pitch / 2)
    return normalized(quat_multiply(quat_from_yaw(yaw), quat_multiply(about_y, about_x)))


def yaw_of(q: Quat) -> float:
    """Heading of the rotated x axis in the horizontal plane, rad, counter-clockwise from +x."""
    x, y, z, w = q
    return math.atan2(2 * (x * y + z * w), 1 - 2 * (y * y + z * z))


def rotation_angle(a: Quat, b: Quat) -> float:
    """Angle between two orientations, 0..pi rad."""
    x, y, z, w = quat_multiply(quat_conjugate(a), b)
    return 2 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))


def rotate(q: Quat, v: Vec3) -> Vec3:
    """A vector turned by a unit quaternion: v + 2 w (u x v) + 2 u x (u x v)."""
    x, y, z, w = q
    a, b, c = float(v[0]), float(v[1]), float(v[2])
    cx, cy, cz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return (
        a + w * cx + y * cz - z * cy,
        b + w * cy + z * cx - x * cz,
        c + w * cz + x * cy - y * cx,
    )


def compose(outer: Pose, inner: Pose) -> Pose:
    """c_in_a of b_in_a and c_in_b."""
    moved = rotate(outer.orientation, inner.position)
    position = (
        outer.position[0] + moved[0],
        outer.position[1] + moved[1],
        outer.position[2] + moved[2],
    )
    return Pose(position, normalized(quat_multiply(outer.orientation, inner.orientation)))


def inverse(pose: Pose) -> Pose:
    """a_in_b of b_in_a."""
    back = quat_conjugate(pose.orientation)
    x, y, z = rotate(back, pose.position)
    return Pose((-x, -y, -z), back)


def relative(a: Pose, b: Pose) -> Pose:
    """b in a, both given in one frame."""
    return compose(inverse(a), b)


def interpolate(a: Pose, b: Pose, t: float) -> Pose:
    """Between two poses (t 0..1): positions linear, orientations slerp on the shorter arc."""
    pa, pb = np.asarray(a.position), np.asarray(b.position)
    qa, qb = np.asarray(a.orientation), np.asarray(b.orientation)
    dot = float(qa @ qb)
    if dot < 0:
        qb, dot = -qb, -dot
    if dot > 0.9995:
        q = qa + t * (qb - qa)
    else:
        angle = math.acos(min(1.0, dot))
        q = (math.sin((1 - t) * angle) * qa + math.sin(t * angle) * qb) / math.sin(angle)
    return Pose(vec3(pa + t * (pb - pa)), normalized((float(q[0]), float(q[1]), float(q[2]), float(q[3]))))


def transform_points(pose: Pose, points: npt.ArrayLike) -> FloatArray:
    """points [n, 3] of the pose's own frame, in its parent frame."""
    result: FloatArray = np.asarray(points, float) @ rotation_matrix(pose.orientation).T + np.asarray(pose.position)
    return result


def transform_box(pose: Pose, box: Box) -> Box:
    """A box of the pose's own frame, in its parent frame."""
    return Box(compose(pose, box.pose), box.extent)


def rotate_covariance(q: Quat, covariance: Matrix3) -> Matrix3:
    """R C R^T of a row-major 3x3 covariance, m^2."""
    r = rotation_matrix(q)
    rotated = r @ np.asarray(covariance).reshape(3, 3) @ r.T
    return cast(Matrix3, tuple(float(v) for v in rotated.ravel()))


def rotate_covariances(rotations: FloatArray, covariances: Sequence[Matrix3]) -> list[Matrix3]:
    """R C R^T of row-major 3x3 covariances, m^2. ``rotations`` [n, 3, 3], or [3, 3]: the same for all."""
    squares = np.array(covariances, float).reshape(-1, 3, 3)
    rotated = rotations @ squares @ np.swapaxes(rotations, -1, -2)
    return cast(list[Matrix3], list(map(tuple, rotated.reshape(-1, 9).tolist())))


def corners(box: Box) -> FloatArray:
    """The eight corners [8, 3] in the box's parent frame."""
    signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    return transform_points(box.pose, signs * np.asarray(box.extent))


def bounds(box: Box) -> tuple[FloatArray, FloatArray]:
    """Lower and upper corner of the axis-aligned box around it, in its parent frame."""
    half = np.abs(rotation_matrix(box.pose.orientation)) @ (np.asarray(box.extent) / 2)
    centre = np.asarray(box.pose.position)
    return centre - half, centre + half


def volume(box: Box) -> float:
    """m^3."""
    return box.extent[0] * box.extent[1] * box.extent[2]


def box_gap(a: Box, b: Box) -> float:
    """Distance between the axis-aligned bounds of two boxes, m; 0 where they touch."""
    (a_low, a_high), (b_low, b_high) = bounds(a), bounds(b)
    return float(np.linalg.norm(np.clip(np.maximum(a_low - b_high, b_low - a_high), 0, None)))


def box_gaps(a: Sequence[Box], b: Sequence[Box]) -> FloatArray:
    """Distances [n, m] between the axis-aligned bounds of boxes, m; 0 where they touch."""
    first, second = (np.array([bounds(box) for box in boxes]).reshape(-1, 2, 3) for boxes in (a, b))
    apart = np.maximum(first[:, None, 0] - second[None, :, 1], second[None, :, 0] - first[:, None, 1])
    return np.asarray(np.linalg.norm(np.clip(apart, 0, None), axis=2))


def project(intrinsics: Intrinsics, points: npt.ArrayLike) -> FloatArray:
    """points [n, 3] of the optical frame -> pixels [n, 2], no distortion; NaN behind the camera."""
    p = np.asarray(points, float)
    z = np.where(p[:, 2] > 1e-6, p[:, 2], np.nan)
    u = intrinsics.fx * p[:, 0] / z + intrinsics.cx
    v = intrinsics.fy * p[:, 1] / z + intrinsics.cy
    return np.stack([u, v], axis=1)


def back_project(intrinsics: Intrinsics, u: npt.ArrayLike, v: npt.ArrayLike, depth: npt.ArrayLike) -> Float32Array:
    """Pixels and depth along the optical axis [n] -> points [n, 3] in the optical frame, float32."""
    z = np.asarray(depth, np.float32)
    x = (np.asarray(u, np.float32) - np.float32(intrinsics.cx)) / np.float32(intrinsics.fx) * z
    y = (np.asarray(v, np.float32) - np.float32(intrinsics.cy)) / np.float32(intrinsics.fy) * z
    return np.stack([x, y, z], axis=1)


def field_of_view(intrinsics: Intrinsics) -> tuple[float, float]:
    """Horizontal and vertical field of view, rad."""
    horizontal = math.atan2(intrinsics.cx, intrinsics.fx) + math.atan2(intrinsics.width - intrinsics.cx, intrinsics.fx)
    vertical = math.atan2(intrinsics.cy, intrinsics.fy) + math.atan2(intrinsics.height - intrinsics.cy, intrinsics.fy)
    return horizontal, vertical


def inside_polygon(polygon: npt.ArrayLike, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which points [n, 2] lie in a simple polygon [m, 2] (even-odd rule)."""
    poly, p = np.asarray(polygon, float), np.asarray(points, float)
    x, y = p[:, 0, None], p[:, 1, None]
    x0, y0 = poly[:, 0], poly[:, 1]
    x1, y1 = np.roll(x0, -1), np.roll(y0, -1)
    crosses = (y0 > y) != (y1 > y)
    slope = np.divide(x1 - x0, y1 - y0, out=np.zeros_like(x0), where=y1 != y0)
    return np.asarray((crosses & (x < x0 + (y - y0) * slope)).sum(axis=1) % 2 == 1)
