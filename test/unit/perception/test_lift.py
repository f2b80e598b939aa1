"""Boxes from masks and depth, on rendered scenes with known boxes (CASES 2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.geometry import compose, quat_from_matrix, rotate, transform_box
from r4_ros.core.model import IDENTITY, Intrinsics, Pose, Visibility
from r4_ros.core.ports import Segment
from r4_ros.perception.lift import Lifted, lift
from r4_ros.perception.silhouette import measured_area

CAMERA = Intrinsics(320, 240, 292.0, 292.0, 160.0, 120.0)
DOWN = math.radians(35)
# A camera 1.5 m above the floor, looking along +y and 35 degrees down; the map is z-up.
LOOKING = Pose(
    (0.0, 0.0, 1.5),
    quat_from_matrix(
        np.array([[1, 0, 0], [0, -math.sin(DOWN), math.cos(DOWN)], [0, -math.cos(DOWN), -math.sin(DOWN)]])
    ),
)
FLOOR = ((0.0, 0.0, -0.05), (20.0, 20.0, 0.1))
CRATE = ((0.2, 1.8, 0.25), (0.6, 0.5, 0.5))


def segment(mask: np.ndarray[Any, Any], depth: np.ndarray[Any, Any] | None = None) -> Segment:
    rows, columns = np.nonzero(mask)
    top, left = rows.min(), columns.min()
    cut = mask[top : rows.max() + 1, left : columns.max() + 1]
    return Segment("thing", 1.0, int(left), int(top), cut, depth=depth)


def lifted(depth: np.ndarray[Any, Any], mask: np.ndarray[Any, Any], pose: Pose = IDENTITY) -> Lifted | None:
    return lift([segment(mask)], depth, CAMERA, pose.orientation, measured_area(depth), 30)[0]


def test_a_crate_from_above(scene: Any) -> None:
    depth, who = scene(CAMERA, [FLOOR, CRATE], LOOKING).render()
    found = lifted(depth, who == 1, LOOKING)
    assert found is not None
    in_map = transform_box(LOOKING, found.box)
    np.testing.assert_allclose(in_map.pose.position, CRATE[0], atol=0.03)
    np.testing.assert_allclose(in_map.extent, CRATE[1], atol=0.05)
    assert rotate(in_map.pose.orientation, (0, 0, 1)) == pytest.approx((0, 0, 1), abs=1e-9)
    assert found.visibility == Visibility.VISIBLE
    sigma = np.sqrt(np.linalg.eigvalsh(np.reshape(found.covariance, (3, 3))))
    assert 0 < sigma.min() <= sigma.max() < 0.05


@settings(max_examples=15, deadline=None)
@given(
    x=st.floats(-0.5, 0.5), y=st.floats(1.6, 3.0), size=st.tuples(*[st.floats(0.15, 0.7)] * 3), seed=st.integers(0, 99)
)
def test_noise_holes_and_flying_pixels_move_it_little(
    scene: Any, x: float, y: float, size: tuple[float, float, float], seed: int
) -> None:
    centre = (x, y, size[2] / 2)
    depth, who = scene(CAMERA, [FLOOR, (centre, size)], LOOKING).render()
    mask = who == 1
    random = np.random.default_rng(seed)
    depth = depth + random.normal(0, 0.004, depth.shape).astype(np.float32) * (depth > 0)
    depth[random.random(depth.shape) < 0.15] = 0
    flying = mask & (random.random(depth.shape) < 0.01)
    depth[flying] = 6.0
    found = lifted(depth.astype(np.float32), mask, LOOKING)
    assert found is not None
    np.testing.assert_allclose(transform_box(LOOKING, found.box).pose.position, centre, atol=0.06)


@pytest.mark.parametrize("hole", [0.0, np.nan])
def test_too_few_points_give_nothing(hole: float) -> None:
    depth = np.zeros((240, 320), np.float32)
    depth[100:105, 100:105] = 2.0
    mask = np.zeros((240, 320), bool)
    mask[90:130, 90:130] = True
    assert lifted(np.nan_to_num(np.where(depth > 0, depth, hole)).astype(np.float32), mask) is None


def test_truncated_at_the_image_and_where_depth_ends() -> None:
    depth = np.full((240, 320), 2.0, np.float32)
    for rows, columns in (((100, 140), (0, 40)), ((100, 140), (280, 320)), ((0, 30), (50, 90)), ((210, 240), (50, 90))):
        mask = np.zeros((240, 320), bool)
        mask[slice(*rows), slice(*columns)] = True
        found = lifted(depth, mask)
        assert found is not None
        assert found.visibility == Visibility.TRUNCATED
    depth[:, :60] = 0
    mask = np.zeros((240, 320), bool)
    mask[100:140, 40:120] = True
    found = lifted(depth, mask)
    assert found is not None
    assert found.visibility == Visibility.TRUNCATED


def test_occluded_by_what_is_nearer_not_by_what_it_stands_on(scene: Any) -> None:
    pole = ((0.2, 1.2, 0.5), (0.5, 0.1, 1.0))
    depth, who = scene(CAMERA, [FLOOR, CRATE, pole], LOOKING).render()
    found = lifted(depth, who == 1, LOOKING)
    assert found is not None
    assert found.visibility == Visibility.OCCLUDED
    front = lifted(depth, who == 2, LOOKING)
    assert front is not None
    assert front.visibility == Visibility.VISIBLE


def test_the_orientation_is_that_of_the_map(scene: Any) -> None:
    depth, who = scene(CAMERA, [FLOOR, CRATE], LOOKING).render()
    found = lifted(depth, who == 1, LOOKING)
    assert found is not None
    np.testing.assert_allclose(compose(LOOKING, found.box.pose).orientation, (0, 0, 0, 1), atol=1e-9)


def test_a_segment_may_bring_its_own_depth() -> None:
    depth = np.zeros((240, 320), np.float32)
    depth[90:110, 90:92] = 2.0  # a screen: only its frame was measured
    mask = np.zeros((240, 320), bool)
    mask[90:110, 90:130] = True
    own = np.full((20, 40), 2.0, np.float32)
    found = lift([segment(mask, own)], depth, CAMERA, IDENTITY.orientation, measured_area(depth), 30)[0]
    assert found is not None
    assert found.box.extent[0] == pytest.approx(39 * 2 / 292, rel=0.06)
    full = np.full_like(depth, 2.0)
    measured = lift([segment(mask, own)], full, CAMERA, IDENTITY.orientation, (0, 0, 320, 240), 30)[0]
    assert measured is not None
    assert np.trace(np.reshape(found.covariance, (3, 3))) > np.trace(np.reshape(measured.covariance, (3, 3)))


def test_a_thin_pole_behind_the_rest_of_it_is_part_of_the_thing(scene: Any) -> None:
    shade, pole = ((0.0, 2.0, 1.4), (0.4, 0.4, 0.3)), ((0.0, 2.0, 0.65), (0.02, 0.02, 1.3))
    upright = Pose((0.0, 0.0, 1.0), quat_from_matrix(np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])))
    depth, who = scene(CAMERA, [FLOOR, shade, pole], upright).render()
    found = lifted(depth, who >= 1, upright)
    assert found is not None
    low = transform_box(upright, found.box).pose.position[2] - found.box.extent[2] / 2
    assert low < 0.75, "the image ends at 0.2 m, and of so few pixels some are trimmed"


def test_what_shows_through_behind_is_no_part_of_the_thing(scene: Any) -> None:
    cup, wall = ((0.0, 1.5, 1.0), (0.1, 0.1, 0.12)), ((0.0, 2.0, 1.0), (4.0, 0.1, 2.0))
    upright = Pose((0.0, 0.0, 1.0), quat_from_matrix(np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])))
    depth, who = scene(CAMERA, [cup, wall], upright).render()
    mask = who == 0
    rows, columns = np.nonzero(mask)
    mask[rows.min() : rows.max() + 1, columns.max() + 1 : columns.max() + 6] = True  # a mask that is too wide
    found = lifted(depth, mask, upright)
    assert found is not None
    assert transform_box(upright, found.box).pose.position == pytest.approx((0.0, 1.45, 1.0), abs=0.01)
