"""The transform buffer: the tree, interpolation, bounded history, jumps of time (CASES 10, 11)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.geometry import compose, inverse, quat_from_yaw, rotation_angle
from r4_ros.core.model import NS_PER_S, Pose
from r4_ros.perception.transforms import Transforms

S = NS_PER_S
NewBuffer = Callable[..., Transforms]
angles = st.floats(-3.1, 3.1)
metres = st.floats(-50, 50)
poses = st.builds(lambda x, y, z, yaw: Pose((x, y, z), quat_from_yaw(yaw)), metres, metres, metres, angles)


def close(a: Pose, b: Pose, tolerance: float = 1e-6) -> bool:
    return math.dist(a.position, b.position) < tolerance and rotation_angle(a.orientation, b.orientation) < tolerance


@settings(max_examples=50, deadline=None)
@given(odom=poses, base=poses, camera=poses, lidar=poses)
def test_lookup_goes_through_the_tree_both_ways(
    new_buffer: NewBuffer, odom: Pose, base: Pose, camera: Pose, lidar: Pose
) -> None:
    buffer = new_buffer()
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
def test_between_two_stamps_the_pose_is_between(new_buffer: NewBuffer, a: Pose, b: Pose, t: float) -> None:
    buffer = new_buffer()
    buffer.add("map", "base", S, a)
    buffer.add("map", "base", 2 * S, b)
    stamp = round(t * S)
    found = buffer.lookup("map", "base", S + stamp)
    share = stamp / S
    expected = np.asarray(a.position) + share * (np.asarray(b.position) - np.asarray(a.position))
    np.testing.assert_allclose(found.position, expected, atol=1e-6)
    total = rotation_angle(a.orientation, b.orientation)
    assert rotation_angle(a.orientation, found.orientation) == pytest.approx(share * total, abs=2e-3)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]])
def test_the_order_of_arrival_does_not_matter(new_buffer: NewBuffer, order: list[int]) -> None:
    buffer = new_buffer()
    for i in order:
        buffer.add("map", "base", i * S, Pose((float(i * i), 0, 0)))
    assert buffer.lookup("map", "base", 2 * S + S // 2).position[0] == pytest.approx(6.5)


@pytest.mark.parametrize(("stamp", "words"), [(10 * S + 700_000, "newest"), (10 * S - 1, "oldest")])
def test_never_the_latest_instead(new_buffer: NewBuffer, stamp: int, words: str) -> None:
    buffer = new_buffer()
    buffer.add("map", "base", 10 * S, Pose())
    with pytest.raises(FrameRefused, match=f"{words}|only time") as refused:
        buffer.lookup("map", "base", stamp)
    assert refused.value.reason == RefusalReason.NO_POSE


def test_stamp_zero_is_not_the_latest(new_buffer: NewBuffer) -> None:
    buffer = new_buffer()
    buffer.add("map", "base", 10 * S, Pose())
    buffer.add("map", "base", 11 * S, Pose())
    buffer.add("base", "camera", 0, Pose((1.0, 0, 0)), static=True)
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "camera", 0)
    assert buffer.lookup("base", "camera", 0).position[0] == 1


def test_a_stamp_before_zero_is_not_taken_for_a_late_one(new_buffer: NewBuffer) -> None:
    buffer = new_buffer()
    buffer.add("map", "base", S, Pose((1.0, 0, 0)))
    buffer.add("map", "base", 2 * S, Pose((2.0, 0, 0)))
    buffer.add("map", "base", -1, Pose())
    assert buffer.lookup("map", "base", 3 * S // 2).position[0] == pytest.approx(1.5)
    for stamp_ns in (-2, 3 * S):
        with pytest.raises(FrameRefused):
            buffer.lookup("map", "base", stamp_ns)


def test_no_interpolation_across_a_long_silence(new_buffer: NewBuffer) -> None:
    buffer = new_buffer()
    buffer.add("map", "base", 0, Pose())
    buffer.add("map", "base", 20 * S, Pose())
    with pytest.raises(FrameRefused, match="20"):
        buffer.lookup("map", "base", 10 * S)


def test_what_is_missing_is_named(new_buffer: NewBuffer) -> None:
    buffer = new_buffer()
    buffer.add("map", "base", 0, Pose())
    buffer.add("world", "camera", 0, Pose(), static=True)
    with pytest.raises(FrameRefused, match="'lidar' is not in TF"):
        buffer.lookup("map", "lidar", 0)
    with pytest.raises(FrameRefused, match=r"not connected|not part of the same tree"):
        buffer.lookup("map", "camera", 0)


def test_history_is_bounded(new_buffer: NewBuffer) -> None:
    buffer = new_buffer(history_s=10.0)
    for i in range(5000):
        buffer.add("map", "base", i * S // 20, Pose((float(i), 0, 0)))
    assert buffer.lookup("map", "base", 4999 * S // 20).position[0] == 4999
    with pytest.raises(FrameRefused, match=r"oldest|earliest"):
        buffer.lookup("map", "base", 100 * S)


def test_time_that_goes_back_starts_the_frame_anew(new_buffer: NewBuffer) -> None:
    buffer = new_buffer(reorder_s=5.0)
    for second in range(100, 120):
        buffer.add("map", "base", second * S, Pose((1.0, 0, 0)))
    buffer.add("map", "base", 110 * S, Pose((2.0, 0, 0)))
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "base", 115 * S)
    assert buffer.lookup("map", "base", 110 * S).position[0] == 2.0


def test_forgetting_keeps_static_frames_and_those_that_went_back_already(new_buffer: NewBuffer) -> None:
    buffer = new_buffer()
    buffer.add("map", "odom", 100 * S, Pose())
    buffer.add("odom", "base", 3 * S, Pose())
    buffer.add("base", "camera", 100 * S, Pose(), static=True)
    buffer.forget_after(3 * S)
    assert buffer.lookup("odom", "camera", 3 * S) == Pose()
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "camera", 3 * S)


def test_another_parent_starts_the_frame_anew_and_no_other(new_buffer: NewBuffer) -> None:
    buffer = new_buffer()
    for second in (10, 11):
        buffer.add("map", "base", second * S, Pose((1.0, 0, 0)))
        buffer.add("base", "tag", second * S, Pose())
    buffer.add("map", "tag", 12 * S, Pose())
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "tag", 11 * S)
    assert buffer.lookup("map", "base", 11 * S).position[0] == 1
    buffer.add("base", "tag", 0, Pose((0, 0, 2.0)), static=True)
    assert buffer.lookup("map", "tag", 10 * S + S // 2).position == pytest.approx((1, 0, 2))
    buffer.add("base", "tag", 11 * S, Pose((0, 0, 3.0)))
    assert buffer.lookup("map", "tag", 11 * S).position == pytest.approx((1, 0, 3))
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "tag", 10 * S)


def test_what_was_forgotten_does_not_come_back(new_buffer: NewBuffer) -> None:
    buffer = new_buffer()
    for second in (93, 100):
        buffer.add("map", "base", second * S, Pose())
    buffer.forget_after(94 * S)
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "base", 94 * S)
    buffer.add("map", "base", 96 * S, Pose((1.0, 0, 0)))
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "base", 97 * S)
    buffer.add("map", "base", 98 * S, Pose((3.0, 0, 0)))
    assert buffer.lookup("map", "base", 97 * S).position[0] == pytest.approx(2)


@pytest.mark.parametrize(
    "pose", [Pose((math.nan, 0, 0)), Pose((math.inf, 0, 0)), Pose(orientation=(0, 0, 0, 0)), Pose((0, 0, 1e12))]
)
def test_nonsense_is_left_out(new_buffer: NewBuffer, pose: Pose) -> None:
    buffer = new_buffer()
    buffer.add("map", "base", 0, pose)
    assert not buffer.knows("base")


def test_a_loop_in_the_tree_ends(new_buffer: NewBuffer, messages: Any) -> None:
    buffer = new_buffer()
    buffer.add_message(messages.tf(("a", "b", 0, Pose()), ("b", "a", 0, Pose()), ("c", "c", 0, Pose())), static=False)
    with pytest.raises(FrameRefused):
        buffer.lookup("map", "b", 0)


def test_quaternions_are_normalised(new_buffer: NewBuffer, messages: Any) -> None:
    buffer = new_buffer()
    buffer.add_message(messages.tf(("map", "base", 7, Pose(orientation=(0.0, 0.0, -2.0, -2.0)))), static=False)
    half = math.sqrt(0.5)
    assert buffer.lookup("map", "base", 7).orientation == pytest.approx((0, 0, half, half))
