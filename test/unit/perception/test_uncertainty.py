"""Covariance of places under an uncertain camera pose, against samples."""

from __future__ import annotations

import numpy as np
import pytest

from r4_ros.core.geometry import normalized, rotation_matrix, transform_points
from r4_ros.core.model import NO_COVARIANCE, Pose
from r4_ros.perception.uncertainty import with_pose_uncertainty

SENSOR = Pose((3.0, -2.0, 1.2), normalized((-0.5, 0.4, -0.45, 0.6)))
POINT = (0.6, -0.3, 4.0)


def test_without_a_covariance_of_the_pose_nothing_is_added() -> None:
    own = tuple(float(v) for v in range(9))
    assert with_pose_uncertainty(own, POINT, SENSOR, ()) == own  # type: ignore[arg-type]


def test_it_is_what_samples_of_the_pose_give() -> None:
    rng = np.random.default_rng(3)
    root = np.diag([0.05, 0.02, 0.01, 0.004, 0.006, 0.02]) @ (np.eye(6) + 0.3 * rng.standard_normal((6, 6)))
    samples = rng.standard_normal((20_000, 6)) @ root.T
    shifts, turns = samples[:, :3], samples[:, 3:]
    offset = np.asarray(transform_points(SENSOR, [POINT])[0]) - SENSOR.position
    moved = shifts + np.cross(turns, offset)  # small turns about the map's axes, at the sensor
    to_map = rotation_matrix(SENSOR.orientation)
    expected = np.cov((moved @ to_map).T)
    found = with_pose_uncertainty(NO_COVARIANCE, POINT, SENSOR, (root @ root.T).ravel().tolist())
    np.testing.assert_allclose(np.reshape(found, (3, 3)), expected, rtol=0.06, atol=1e-5)


def test_a_turn_moves_far_things_across() -> None:
    x = 0.01
    pose = np.zeros((6, 6))
    pose[5, 5] = x**2  # about the map's z axis
    upright = Pose(SENSOR.position, (-0.5, 0.5, -0.5, 0.5))  # optical, looking along the map's x axis
    found = np.reshape(with_pose_uncertainty(NO_COVARIANCE, (0.0, 0.0, 5.0), upright, pose.ravel().tolist()), (3, 3))
    assert found[0, 0] == pytest.approx((5 * x) ** 2)
    assert found[2, 2] == pytest.approx(0.0, abs=1e-12)
