"""The ray-cast pictures: depth against analytic distances, labels against projection, light and textures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.bridges.apartment.materials import Material, paint, pattern
from r4_ros.bridges.apartment.render import Triangles, View, World, rays, render
from r4_ros.bridges.apartment.robots import SENSOR_IN_BASE, camera
from r4_ros.bridges.apartment.shapes import Shape, ball, bounds, box, cylinder, lathe, place, soft_box
from r4_ros.bridges.apartment.textures import SIZE, TEXTURES, atlas
from r4_ros.core.geometry import back_project, compose, project, quat_from_yaw, transform_points
from r4_ros.core.model import Pose

CAMERA = camera(64, 48)
OPTICAL_FORWARD = Pose(orientation=(-0.5, 0.5, -0.5, 0.5))
"""An optical frame in the origin that looks along +x."""


def see(shape: Shape, sensor: Pose = OPTICAL_FORWARD) -> View:
    return render(World.of([Triangles.of(shape, 7)]), CAMERA, sensor)


@given(distance=st.floats(0.3, 9), wide=st.floats(0.1, 0.4))
@settings(max_examples=25, deadline=None)
def test_depth_of_a_wall_is_its_planar_distance(distance: float, wide: float) -> None:
    wall = [box((0.1, 40 * distance, 40 * distance), (distance + 0.05, 0, -20 * distance), paint("red"))]
    view = see(wall)
    np.testing.assert_allclose(view.depth, distance, rtol=1e-4)
    assert (view.labels == 7).all()


def test_depth_of_a_ball_follows_the_sphere() -> None:
    view = see([ball((0.5, 0.5, 0.5), (2, 0, 0), paint("blue"), segments=40)])
    seen = view.labels == 7
    v, u = np.nonzero(seen)
    points = back_project(CAMERA, u, v, view.depth[seen])
    radius = np.linalg.norm(points - np.array([0, 0, 2]), axis=1)
    np.testing.assert_allclose(radius, 0.5, atol=0.004)
    assert (view.depth[~seen] == 0).all()


@given(
    x=st.floats(1.0, 4.0),
    y=st.floats(-0.6, 0.6),
    z=st.floats(-0.5, 0.5),
    size=st.floats(0.15, 0.5),
)
@settings(max_examples=25, deadline=None)
def test_a_box_appears_where_its_centre_projects(x: float, y: float, z: float, size: float) -> None:
    view = see([box((size, size, size), (x + size, y * x, z * x - size / 2), paint("green"))])
    u, v = project(CAMERA, [(-y * x, -z * x, x + size)])[0]
    assert view.labels[round(v), round(u)] == 7
    near = view.depth[view.labels == 7]
    assert near.min() == pytest.approx(x + size / 2, abs=0.01)


def test_the_robots_camera_looks_forward_and_down() -> None:
    sensor = compose(Pose((1.0, 2.0, 0.0), quat_from_yaw(math.pi / 2)), SENSOR_IN_BASE)
    ahead = transform_points(sensor, [(0, 0, 1)])[0] - np.asarray(sensor.position)
    assert sensor.position[2] == pytest.approx(1.1)
    assert ahead[1] > 0.9 and -0.35 < ahead[2] < -0.2 and abs(ahead[0]) < 1e-9


def test_rays_go_through_pixel_centres() -> None:
    directions = rays(CAMERA).reshape(48, 64, 3)
    u, v = project(CAMERA, directions[10, 20][None])[0]
    assert (u, v) == (pytest.approx(20, abs=1e-3), pytest.approx(10, abs=1e-3))


def test_a_moving_body_hides_what_is_behind_and_is_hidden_by_what_is_in_front() -> None:
    wall = World.of([Triangles.of([box((0.1, 20, 20), (3, 0, -10), paint("white"))], 1)])
    post = World.of([Triangles.of([cylinder(0.2, 2, (0, 0, -1), paint("red"))], 9)])
    before = render(wall, CAMERA, OPTICAL_FORWARD, [(post, Pose((1.5, 0.2, 0.0)))])
    behind = render(wall, CAMERA, OPTICAL_FORWARD, [(post, Pose((5.0, 0.2, 0.0)))])
    assert (before.labels == 9).sum() > 50
    assert before.depth[before.labels == 9].max() < 1.6
    assert not (behind.labels == 9).any()


def test_things_cast_shadows_on_the_floor() -> None:
    floor = box((4, 4, 0.01), (2.5, 2.0, 0), paint("white"))
    table = box((1.0, 1.0, 0.03), (2.5, 2.0, 0.7), paint("white"))
    down = Pose((2.5, 2.0, 0.5), (1.0, 0.0, 0.0, 0.0))
    open_floor = render(World.of([Triangles.of([floor], 1)]), CAMERA, down)
    under_table = render(World.of([Triangles.of([floor, table], 1)]), CAMERA, down)
    assert under_table.color.mean() < 0.9 * open_floor.color.mean()


def test_colours_come_through() -> None:
    for name, channel in (("red", 0), ("green", 1), ("blue", 2)):
        mean = see([box((0.1, 20, 20), (2, 0, -10), paint(name))]).color.reshape(-1, 3).mean(axis=0)
        assert mean.argmax() == channel, name


def test_textures_are_seamless_tiles_with_a_pattern() -> None:
    names, tiles = atlas()
    assert set(names) == set(TEXTURES)
    assert tiles.shape == (len(names), SIZE, SIZE, 3)
    assert np.isfinite(tiles).all() and tiles.min() >= 0
    view = see([box((0.1, 4, 4), (2, 0, -2), pattern("tiles", 1.0))])
    assert view.color.reshape(-1, 3).std(axis=0).max() > 5


def test_shapes_have_the_size_they_were_asked_for() -> None:
    red = paint("red")
    for shape, size in (
        ([box((1, 2, 3), (0, 0, 0), red)], (1, 2, 3)),
        ([soft_box((1, 2, 3), (0, 0, 0), red)], (1, 2, 3)),
        ([cylinder(0.5, 2, (0, 0, 0), red, 32)], (1, 1, 2)),
        ([ball((0.5, 1, 1.5), (0, 0, 1.5), red)], (1, 2, 3)),
        ([lathe([(0.2, 0), (0.5, 1)], (0, 0, 0), red, 32)], (1, 1, 1)),
    ):
        low, high = bounds(shape)
        np.testing.assert_allclose(high - low, size, atol=0.01)
        assert low[2] == pytest.approx(0, abs=1e-6)


@given(yaw=st.floats(-math.pi, math.pi), x=st.floats(-5, 5))
@settings(max_examples=20, deadline=None)
def test_placing_turns_and_moves(yaw: float, x: float) -> None:
    placed = place([box((0.2, 0.2, 0.2), (1, 0, 0), Material((1, 1, 1)))], (x, 1, 2), yaw)
    low, high = bounds(placed)
    np.testing.assert_allclose((low + high)[:2] / 2, (x + math.cos(yaw), 1 + math.sin(yaw)), atol=1e-3)
    assert low[2] == pytest.approx(2, abs=1e-5)
