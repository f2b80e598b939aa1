"""The transform buffer: the tree, interpolation, bounded history, jumps of time (CASES 10, 11)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.geometry import compose, inverse, quat_from_yaw, rotation_angle
from r4_ros.core.model import NS_PER_S, Pose
from r4_ros.perception.transforms import TransformBuffer

S = NS_PER_S
angles = st.floats(-3.1, 3.1)
metres = st.floats(-50, 50)
poses = st.builds(lambda x, y, z, yaw: Pose((x, y, z), quat_from_yaw(yaw)), metres, metres, metres, angles)


def close(a: Pose, b: Pose, tolerance: float = 1e-6) -> bool:
    return math.dist(a.position, b.position) < tolerance and rotation_angle(a.orientation, b.orientation) < tolerance


@settings(max_examples=50, deadline=None)
@given(odom=poses, base=poses, camera=poses, lidar=poses)
def test_lookup_goes_through_the_tree_both_ways(odom: Pose, base: Pose, camera: Pose, lidar: Pose) -> None:
    buffer = TransformBuffer()
    buffer.add("/map", "odom", 5 * S, odom)
    buffer.add("odom", "base", 5 * S, base)
    buffer.add("base", "camera", 0, camera, static=True)
    buffer.add("base", "/lidar", 0, lidar, static=True)
    in_map = compose(odom, compose(base, camera))
    assert close(buffer.lookup("map", "camera", 5 * S), in_map)
    assert close(buffer.lookup("camera", "map", 5 * S), inverse(in_map))
    assert close(buffer.lookup("lidar", "camera", 99 * S), compose(inverse(lidar), camera))
    assert buffer.lookup("x", "x", 1) == Pose()


@settings(max_examples=50, deadline=None)
@given(a=poses, b=poses, t=st.floats(0, 1))
def test_between_two_stamps_the_pose_is_between(a: Pose, b: Pose, t: float) -> None:
    buffer = TransformBuffer()
    buffer.add("map", "base", 0, a)
    buffer.add("map", "base", S, b)
    stamp = round(t * S)
    found = buffer.lookup("map", "base", stamp)
    share = stamp / S
    expected = np.asarray(a.position) + share * (np.asarray(b.position) - np.asarray(a.position))
    np.testing.assert_allclose(found.position, expected, atol=1e-6)
    total = rotation_angle(a.orientation, b.orientation)
    assert rotation_angle(a.orientation, found.orientation) == pytest.approx(share * total, abs=2e-3)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]])
def test_the_order_of_arrival_does_not_matter(order: list[int]) -> None:
    buffer = TransformBuffer()
    for i in order:
        buffer.add("map", "base", i * S, Pose((float(i * i), 0, 0)))
    assert buffer.lookup("map", "base", 2 * S + S // 2).position[0] == pytest.approx(6.5)


@pytest.mark.parametrize(("stamp", "words"), [(10 * S + 700_000, "newest"), (10 * S - 1, "oldest")])
def test_never_the_latest_instead(stamp: int, words: str) -> None:
    buffer = TransformBuffer()
    buffer.add("map", "base", 10 * S, Pose())
    with pytest.raises(FrameRefused, match=words) as refused:
        buffer.lookup("map", "base", stamp)
    assert refused.value.reason == RefusalReason.NO_POSE


def test_no_interpolation_across_a_long_silence() -> None:
    buffer = TransformBuffer()
    buffer.add("map", "base", 0, Pose())
    buffer.add("map", "base", 20 * S, Pose())
    with pytest.raises(FrameRefused, match="20"):
        buffer.lookup("map", "base", 10 * S)


def test_what_is_missing_is_named() -> None:
    buffer = TransformBuffer()
    buffer.add("map", "base", 0, Pose())
    buffer.add("world", "camera", 0, Pose(), static=True)
    with pytest.raises(FrameRefused, match="'lidar' is not in TF"):
        buffer.lookup("map", "lidar", 0)
    with pytest.raises(FrameRefused, match="not connected"):
        buffer.lookup("map", "camera", 0)


def test_history_is_bounded() -> None:
    buffer = TransformBuffer(history_s=10.0)
    for i in range(5000):
        buffer.add("map", "base", i * S // 20, Pose((float(i), 0, 0)))
    assert buffer.lookup("map", "base", 4999 * S // 20).position[0] == 4999
    with pytest.raises(FrameRefused, match="oldest"):
        buffer.lookup("map", "base", 100 * S)


def test_time_that_goes_back_starts_the_frame_anew() -> None:
    buffer = TransformBuffer(reorder_s=5.0)
    for second in range(100, 120):
        buffer.add("map", "base", second * S, Pose((1.0, 0, 0)))
    buffer.add("map", "base", 110 * S, Pose((2.0, 0, 0)))
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "base", 115 * S)
    assert buffer.lookup("map", "base", 110 * S).position[0] == 2.0


def test_forgetting_keeps_static_frames_and_those_that_went_back_already() -> None:
    buffer = TransformBuffer()
    buffer.add("map", "odom", 100 * S, Pose())
    buffer.add("odom", "base", 3 * S, Pose())
    buffer.add("base", "camera", 100 * S, Pose(), static=True)
    buffer.forget_after(3 * S)
    assert buffer.lookup("odom", "camera", 3 * S) == Pose()
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "camera", 3 * S)


@pytest.mark.parametrize(
    "pose", [Pose((math.nan, 0, 0)), Pose((math.inf, 0, 0)), Pose(orientation=(0, 0, 0, 0)), Pose((0, 0, 1e12))]
)
def test_nonsense_is_left_out(pose: Pose) -> None:
    buffer = TransformBuffer()
    buffer.add("map", "base", 0, pose)
    assert not buffer.knows("base")


def test_a_loop_in_the_tree_ends(messages: Any) -> None:
    buffer = TransformBuffer()
    buffer.add_message(messages.tf(("a", "b", 0, Pose()), ("b", "a", 0, Pose()), ("c", "c", 0, Pose())), static=False)
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "b", 0)


def test_quaternions_are_normalised(messages: Any) -> None:
    buffer = TransformBuffer()
    buffer.add_message(messages.tf(("map", "base", 7, Pose(orientation=(0.0, 0.0, -2.0, -2.0)))), static=False)
    half = math.sqrt(0.5)
    assert buffer.lookup("map", "base", 7).orientation == pytest.approx((0, 0, half, half))
