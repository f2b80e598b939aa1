"""Depth in the colour camera: two cameras of a rendered scene must agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from r4_ros.core.geometry import quat_from_matrix
from r4_ros.core.model import IDENTITY, Intrinsics, Pose
from r4_ros.perception.registration import pinhole, rectify, register

DEPTH = Intrinsics(320, 240, 292.0, 292.0, 160.0, 120.0)
COLOR = Intrinsics(320, 240, 263.0, 263.0, 161.4, 118.7)
WALL = ((0.0, 0.0, 4.05), (9.0, 9.0, 0.1))
BLOCK = ((0.1, 0.05, 1.6), (0.4, 0.3, 0.2))


def small_turn(radians: float) -> Pose:
    c, s = np.cos(radians), np.sin(radians)
    return Pose((0.05, -0.01, 0.02), quat_from_matrix(np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])))


@pytest.mark.parametrize("color", [COLOR, replace(COLOR, fx=600.0, fy=600.0, width=640, height=480, cx=320, cy=240)])
@pytest.mark.parametrize("pose", [Pose((0.03, -0.003, 0.0)), small_turn(0.05), IDENTITY])
def test_registered_depth_is_what_the_colour_camera_would_measure(scene: Any, color: Intrinsics, pose: Pose) -> None:
    """``pose``: of the depth camera in the colour camera. The scene stands in the colour camera's frame."""
    expected, _ = scene(color, [WALL, BLOCK]).render()
    measured, _ = scene(DEPTH, [WALL, BLOCK], pose).render()
    found = register(measured, DEPTH, pose, color)
    assert found.shape == expected.shape
    both = (found > 0) & (expected > 0)
    covered = scene(DEPTH, [WALL, BLOCK]).camera
    share = min(1.0, (covered.width / covered.fx) / (color.width / color.fx))
    assert np.count_nonzero(found) > 0.85 * share**2 * found.size
    off = np.abs(found[both] - expected[both]) > 0.02
    assert off.mean() < 0.02  # the block's outline
    assert (found[expected < 2] > 2).mean() < 0.05  # what is behind doesn't shine through


def test_a_coinciding_camera_costs_nothing() -> None:
    depth = np.ones((240, 320), np.float32)
    assert register(depth, DEPTH, IDENTITY, DEPTH) is depth


def test_equal_frames_with_other_intrinsics_are_not_taken_for_aligned() -> None:
    depth = np.zeros((240, 320), np.float32)
    depth[120, 300] = 2.0
    found = register(depth, DEPTH, IDENTITY, replace(DEPTH, fx=146.0, fy=146.0))
    assert np.argwhere(found).tolist() == [[120, 230]]


def test_the_nearest_wins() -> None:
    """Two surfaces that fall on one pixel of a coarse camera."""
    depth = np.full((240, 320), 3.0, np.float32)
    depth[::2] = 1.0
    coarse = Intrinsics(32, 24, 29.2, 29.2, 16.0, 12.0)
    found = register(depth, DEPTH, IDENTITY, coarse)
    assert set(np.unique(found[1:-1, 1:-1])) == {np.float32(1.0)}


def test_gaps_are_filled_within_a_surface_only() -> None:
    depth = np.full((240, 320), 2.0, np.float32)
    depth[50:60, 50] = 0
    depth[:, 200:] = 3.0
    depth[:, 199] = 0
    found = register(depth, DEPTH, Pose((1e-6, 0, 0)), DEPTH)
    np.testing.assert_allclose(found[51:59, 50], 2.0)
    assert not found[20:30, 199].any()


def test_nothing_measured_gives_nothing() -> None:
    assert not register(np.zeros((240, 320), np.float32), DEPTH, Pose((0.1, 0, 0)), COLOR).any()


def test_behind_or_beside_the_colour_camera_is_left_out() -> None:
    depth = np.full((240, 320), 1.0, np.float32)
    assert not register(depth, DEPTH, Pose((0.0, 0.0, -2.0)), COLOR).any()
    assert not register(depth, DEPTH, Pose((50.0, 0.0, 0.0)), COLOR).any()


def test_distortion_is_taken_out_of_colour_and_depth(scene: Any) -> None:
    """A grid of points seen through a distorting lens lands where a pinhole would see it."""
    bent = replace(DEPTH, distortion=(0.12, -0.08, 0.001, -0.002, 0.0))
    matrix = np.array([[292.0, 0, 160], [0, 292.0, 120], [0, 0, 1]])
    points = np.array([[x, y, 2.0] for x in (-0.7, 0.0, 0.7) for y in (-0.5, 0.0, 0.5)])
    seen = cv2.projectPoints(points, np.zeros(3), np.zeros(3), matrix, np.asarray(bent.distortion))[0][:, 0]
    image = np.zeros((240, 320), np.float32)
    for x, y in seen:
        cv2.circle(image, (round(float(x)), round(float(y))), 2, 2.0, -1)
    straight = points[:, :2] / 2.0 * 292.0 + (160, 120)
    for found in (
        rectify(bent, image, smooth=True),
        register(image, bent, IDENTITY, bent),
        register(image, bent, Pose((1e-7, 0, 0)), pinhole(bent)),
    ):
        for x, y in straight:
            assert found[round(y), round(x)] == pytest.approx(2.0, abs=0.2)
    labels = rectify(bent, image.astype(np.int32) * 70_001, smooth=False)
    assert labels.dtype == np.int32
    assert set(np.unique(labels)) == {0, 140_002}


def test_a_fisheye_becomes_a_pinhole(scene: Any) -> None:
    """Its pixels are those of the pinhole image at r = f theta; colour, labels and depth go the same way."""
    fisheye = replace(COLOR, distortion=(0.02, -0.01, 0.0, 0.0), distortion_model="equidistant")
    expected, _ = scene(COLOR, [WALL, BLOCK]).render()
    v, u = np.mgrid[:240, :320].astype(float)
    x, y = (u - COLOR.cx) / COLOR.fx, (v - COLOR.cy) / COLOR.fy
    theta_d = np.hypot(x, y)
    theta = theta_d.copy()
    for _ in range(20):  # theta_d = theta (1 + k1 theta^2 + k2 theta^4)
        theta = theta_d / (1 + 0.02 * theta**2 - 0.01 * theta**4)
    scale = np.tan(theta) / np.maximum(theta_d, 1e-9)
    columns = np.rint(x * scale * COLOR.fx + COLOR.cx).astype(int).clip(0, 319)
    rows = np.rint(y * scale * COLOR.fy + COLOR.cy).astype(int).clip(0, 239)
    measured = expected[rows, columns]
    found = register(measured, fisheye, IDENTITY, fisheye)
    inner = np.s_[50:190, 70:250]
    assert (np.abs(found - expected)[inner] > 0.02).mean() < 0.02
    beside = register(measured, fisheye, Pose((1e-5, 0.0, 0.0)), COLOR)
    assert (np.abs(beside - expected)[inner] > 0.02).mean() < 0.03
    assert pinhole(fisheye) == COLOR
