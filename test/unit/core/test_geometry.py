"""Geometry against scipy's rotations, brute force and its own laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from r4_ros.core import geometry as g
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import IDENTITY, OPTICAL_TO_BASE, Box, Intrinsics, Pose

few = settings(max_examples=60, deadline=None, derandomize=True)

coordinate = st.floats(-100, 100, allow_nan=False, width=32)
vectors = st.tuples(coordinate, coordinate, coordinate)
component = st.floats(-1, 1, allow_nan=False)
quaternions = (
    st.tuples(component, component, component, component)
    .filter(lambda q: math.sqrt(sum(c * c for c in q)) > 0.05)
    .map(g.normalized)
)
poses = st.builds(Pose, vectors, quaternions)
size = st.floats(0.01, 5)
boxes = st.builds(Box, poses, st.tuples(size, size, size))
shares = st.floats(0, 1)
cameras = st.builds(
    lambda f, w, h: Intrinsics(w, h, f, f * 1.01, w / 2 - 3, h / 2 + 2),
    st.floats(100, 1000),
    st.integers(64, 1280),
    st.integers(48, 960),
)


def same_pose(a: Pose, b: Pose, tolerance: float = 1e-6) -> bool:
    near = np.allclose(a.position, b.position, atol=tolerance)
    return near and g.rotation_angle(a.orientation, b.orientation) < 1e-6


@few
@given(poses, poses, poses)
def test_compose_is_associative(a: Pose, b: Pose, c: Pose) -> None:
    assert same_pose(g.compose(g.compose(a, b), c), g.compose(a, g.compose(b, c)))


@few
@given(poses)
def test_inverse_undoes_on_both_sides(a: Pose) -> None:
    assert same_pose(g.compose(a, g.inverse(a)), IDENTITY)
    assert same_pose(g.compose(g.inverse(a), a), IDENTITY)
    assert same_pose(g.inverse(g.inverse(a)), a)


@few
@given(poses, poses)
def test_relative_is_the_way_from_a_to_b(a: Pose, b: Pose) -> None:
    assert same_pose(g.compose(a, g.relative(a, b)), b)
    assert same_pose(g.inverse(g.relative(a, b)), g.relative(b, a))


@few
@given(poses, poses, vectors)
def test_compose_transforms_points_one_after_the_other(a: Pose, b: Pose, point: tuple[float, float, float]) -> None:
    stepwise = g.transform_points(a, g.transform_points(b, [point]))
    assert np.allclose(g.transform_points(g.compose(a, b), [point]), stepwise, atol=1e-6)


@few
@given(quaternions, quaternions, vectors)
def test_quaternions_agree_with_scipy(a: tuple[float, ...], b: tuple[float, ...], v: tuple[float, ...]) -> None:
    ra, rb = Rotation.from_quat(a), Rotation.from_quat(b)
    assert np.allclose(g.rotation_matrix(a), ra.as_matrix())
    assert np.allclose(Rotation.from_quat(g.quat_multiply(a, b)).as_matrix(), (ra * rb).as_matrix())
    assert np.allclose(g.rotate(a, v), ra.apply(v), atol=1e-6)
    assert g.rotation_angle(a, b) == pytest.approx((ra.inv() * rb).magnitude(), abs=1e-6)


@few
@given(quaternions)
@example((1.0, 0.0, 0.0, 0.0))
@example((0.0, 1.0, 0.0, 0.0))
@example((0.0, 0.0, 1.0, 0.0))
@example((0.0, 0.0, 0.0, 1.0))
def test_a_matrix_gives_its_quaternion_back(q: tuple[float, float, float, float]) -> None:
    back = g.quat_from_matrix(g.rotation_matrix(q))
    assert back[3] >= 0
    assert g.rotation_angle(back, q) < 1e-6


@few
@given(st.floats(-math.pi, math.pi))
def test_yaw_round_trip(yaw: float) -> None:
    back = g.yaw_of(g.quat_from_yaw(yaw))
    assert math.cos(back - yaw) == pytest.approx(1.0, abs=1e-12)


@few
@given(quaternions)
def test_yaw_is_the_heading_of_the_forward_axis(q: tuple[float, float, float, float]) -> None:
    forward = g.rotate(q, (1.0, 0.0, 0.0))
    assume(math.hypot(forward[0], forward[1]) > 1e-3)
    assert math.cos(g.yaw_of(q) - math.atan2(forward[1], forward[0])) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("q", [(0, 0, 0, 0), (math.nan, 0, 0, 1), (math.inf, 0, 0, 1), (1e-12, 0, 0, 0)])
def test_what_is_no_rotation_is_refused(q: tuple[float, float, float, float]) -> None:
    with pytest.raises(InvalidArgument, match="quaternion"):
        g.normalized(q)


@few
@given(quaternions, st.floats(0.1, 50))
def test_normalized_is_unit_and_has_one_sign(q: tuple[float, float, float, float], scale: float) -> None:
    scaled = tuple(-scale * c for c in q)
    result = g.normalized(scaled)
    assert result[3] >= 0
    assert math.hypot(*result) == pytest.approx(1.0)
    assert g.rotation_angle(result, q) < 1e-6


def test_the_base_of_an_optical_frame_looks_along_z_and_has_z_up() -> None:
    forward = g.rotate(OPTICAL_TO_BASE.orientation, (1.0, 0.0, 0.0))
    left = g.rotate(OPTICAL_TO_BASE.orientation, (0.0, 1.0, 0.0))
    up = g.rotate(OPTICAL_TO_BASE.orientation, (0.0, 0.0, 1.0))
    assert np.allclose([forward, left, up], [(0, 0, 1), (-1, 0, 0), (0, -1, 0)])


@few
@given(poses, poses, shares)
def test_interpolation_agrees_with_scipy_slerp(a: Pose, b: Pose, t: float) -> None:
    assume(g.rotation_angle(a.orientation, b.orientation) < math.pi - 0.01)
    between = g.interpolate(a, b, t)
    slerp = Slerp([0, 1], Rotation.from_quat([a.orientation, b.orientation]))(t)
    assert (Rotation.from_quat(between.orientation).inv() * slerp).magnitude() < 1e-5
    assert np.allclose(between.position, (1 - t) * np.array(a.position) + t * np.array(b.position), atol=1e-6)


@few
@given(poses, poses)
def test_interpolation_meets_both_ends_and_is_symmetric(a: Pose, b: Pose) -> None:
    assert same_pose(g.interpolate(a, b, 0.0), a)
    assert same_pose(g.interpolate(a, b, 1.0), b)
    assume(g.rotation_angle(a.orientation, b.orientation) < math.pi - 0.01)
    assert same_pose(g.interpolate(a, b, 0.3), g.interpolate(b, a, 0.7), 1e-5)


@few
@given(boxes)
def test_bounds_are_the_tightest_around_the_corners(box: Box) -> None:
    low, high = g.bounds(box)
    points = g.corners(box)
    assert points.shape == (8, 3)
    assert np.allclose(points.min(axis=0), low, atol=1e-6)
    assert np.allclose(points.max(axis=0), high, atol=1e-6)


@few
@given(poses, boxes)
def test_moving_a_box_moves_its_corners_and_keeps_its_volume(pose: Pose, box: Box) -> None:
    moved = g.transform_box(pose, box)
    assert np.allclose(g.corners(moved), g.transform_points(pose, g.corners(box)), atol=1e-6)
    assert g.volume(moved) == g.volume(box)


@few
@given(boxes)
def test_a_box_has_no_gap_to_itself(box: Box) -> None:
    assert g.box_gap(box, box) == 0.0


@few
@given(boxes, boxes)
def test_gap_is_symmetric_and_zero_where_boxes_overlap(a: Box, b: Box) -> None:
    assert g.box_gap(a, b) == pytest.approx(g.box_gap(b, a))
    (a_low, a_high), (b_low, b_high) = g.bounds(a), g.bounds(b)
    if (np.minimum(a_high, b_high) > np.maximum(a_low, b_low)).all():
        assert g.box_gap(a, b) == 0.0
    lower, upper = g.bounds(a)
    nearest = np.clip(np.asarray(b.pose.position), lower, upper)
    assert g.box_gap(a, b) <= np.linalg.norm(nearest - np.asarray(b.pose.position)) + 1e-6


def test_gap_is_the_straight_distance_between_faces() -> None:
    a = Box(IDENTITY, (1.0, 1.0, 1.0))
    b = Box(Pose((4.0, 5.0, 0.0)), (1.0, 1.0, 1.0))
    assert g.box_gap(a, b) == pytest.approx(5.0)


@few
@given(cameras, st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.1, 10)), min_size=1, max_size=20))
def test_back_projection_undoes_projection(camera: Intrinsics, points: list[tuple[float, float, float]]) -> None:
    p = np.array(points)
    pixels = g.project(camera, p)
    back = g.back_project(camera, pixels[:, 0], pixels[:, 1], p[:, 2])
    assert back.dtype == np.float32
    assert np.allclose(back, p, rtol=1e-4, atol=1e-3)


def test_what_is_behind_the_camera_has_no_pixel() -> None:
    camera = Intrinsics(640, 480, 500, 500, 320, 240)
    pixels = g.project(camera, [(0, 0, 1), (0, 0, 0), (1, 1, -1)])
    assert np.allclose(pixels[0], (320, 240))
    assert np.isnan(pixels[1:]).all()
    assert g.project(camera, np.zeros((0, 3))).shape == (0, 2)


@few
@given(cameras)
def test_the_image_borders_are_as_far_apart_as_the_field_of_view(camera: Intrinsics) -> None:
    rays = g.back_project(camera, [0, camera.width], [camera.cy] * 2, [1, 1])
    angle = math.acos(float(rays[0] @ rays[1] / np.linalg.norm(rays[0]) / np.linalg.norm(rays[1])))
    assert g.field_of_view(camera)[0] == pytest.approx(angle, abs=1e-3)


@few
@given(quaternions, st.lists(st.floats(-2, 2), min_size=9, max_size=9))
def test_a_turned_covariance_keeps_its_spectrum(q: tuple[float, float, float, float], values: list[float]) -> None:
    half = np.array(values).reshape(3, 3)
    covariance = half @ half.T
    turned = np.array(g.rotate_covariance(q, tuple(covariance.ravel()))).reshape(3, 3)
    assert np.allclose(np.linalg.eigvalsh(turned), np.linalg.eigvalsh(covariance), atol=1e-6)
    r = Rotation.from_quat(q).as_matrix()
    assert np.allclose(turned, r @ covariance @ r.T, atol=1e-6)


def winding_number(polygon: list[tuple[float, float]], x: float, y: float) -> int:
    """Turns of the polygon around the point, by summed angles: the slow, independent way."""
    total = 0.0
    for (x0, y0), (x1, y1) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        a, b = complex(x0 - x, y0 - y), complex(x1 - x, y1 - y)
        total += math.atan2((a.conjugate() * b).imag, (a.conjugate() * b).real)
    return round(total / (2 * math.pi))


def distance_to_edges(polygon: list[tuple[float, float]], x: float, y: float) -> float:
    p, best = np.array((x, y)), math.inf
    for a, b in zip(np.array(polygon), np.roll(polygon, -1, axis=0), strict=True):
        t = np.clip((p - a) @ (b - a) / max((b - a) @ (b - a), 1e-12), 0, 1)
        best = min(best, float(np.linalg.norm(p - a - t * (b - a))))
    return best


@few
@given(
    st.lists(st.floats(0.5, 4), min_size=3, max_size=9),
    st.booleans(),
    st.lists(st.tuples(st.floats(-4, 4), st.floats(-4, 4)), min_size=1, max_size=15),
)
def test_inside_polygon_agrees_with_the_winding_number(
    radii: list[float], clockwise: bool, points: list[tuple[float, float]]
) -> None:
    n = len(radii)
    star = [(r * math.cos(2 * math.pi * i / n), r * math.sin(2 * math.pi * i / n)) for i, r in enumerate(radii)]
    polygon = star[::-1] if clockwise else star
    clear = [p for p in points if distance_to_edges(polygon, *p) > 1e-6]
    assume(clear)
    expected = [winding_number(polygon, *p) != 0 for p in clear]
    assert g.inside_polygon(polygon, clear).tolist() == expected


def test_rooms_that_share_a_wall_share_no_point() -> None:
    left, right = [(0, 0), (2, 0), (2, 2), (0, 2)], [(2, 0), (4, 0), (4, 2), (2, 2)]
    wall = [(2.0, y) for y in (0.0, 0.5, 1.0, 1.999)]
    both = g.inside_polygon(left, wall).astype(int) + g.inside_polygon(right, wall)
    assert both.tolist() == [1, 1, 1, 1]
    assert g.inside_polygon(left, np.zeros((0, 2))).tolist() == []
