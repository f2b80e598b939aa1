"""How the camera's uncertain pose makes places uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from r4_ros.core.geometry import rotation_matrix
from r4_ros.core.model import FloatArray, Matrix3, Pose, Vec3


def with_pose_uncertainty(covariance: Matrix3, point: Vec3, sensor_in_map: Pose, pose: Sequence[float]) -> Matrix3:
    """The covariance of a point in the sensor frame, m^2, with what the sensor's own pose adds to it.

    pose: 36 values of sensor_in_map (x, y, z, rotations about the map's axes), row-major; empty: nothing is added.
    """
    if not pose:
        return covariance
    to_map = rotation_matrix(sensor_in_map.orientation)
    x, y, z = to_map @ np.asarray(point)
    jacobian = np.hstack([np.eye(3), -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])])
    in_map: FloatArray = jacobian @ np.asarray(pose).reshape(6, 6) @ jacobian.T
    added = to_map.T @ in_map @ to_map
    added = (added + added.T) / 2
    return cast(Matrix3, tuple(float(v) for v in np.asarray(covariance) + added.ravel()))
