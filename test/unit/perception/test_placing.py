"""Where the cameras were: each stream at its own stamp, frames by override, optical or x-forward, too quick turns."""

from __future__ import annotations

import math
from types import SimpleNamespace as Message
from typing import Any

import numpy as np
import pytest

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import RefusalReason
from r4_ros.core.geometry import compose, quat_from_yaw, rotate, rotation_angle
from r4_ros.core.model import IDENTITY, NS_PER_S, OPTICAL_TO_BASE, Pose
from r4_ros.perception.capture import Capture
from r4_ros.perception.placing import OPTICAL_IN_BODY
from r4_ros.perception.stream import Stream

S, MS = NS_PER_S, NS_PER_S // 1000
PIXELS = np.zeros((48, 64), np.uint8)
FORWARD = Pose((0.2, 0.0, 0.5))  # a camera frame as Gazebo has it: x forward, z up
MOUNTS = (("base_link", "camera_link", 0, FORWARD), ("base_link", "lidar", 0, Pose((0.0, 0.0, 1.0))))


def stream(messages: Any, frame: str = "camera_link", mounts: Any = MOUNTS, **config: Any) -> Stream:
    made = Stream(PerceptionConfig(agent_id="robot", **config))
    made.add("color_info", messages.info(frame=frame))
    made.add("tf_static", messages.tf(*mounts))
    return made


def odometry(messages: Any, made: Stream, poses: dict[int, Pose]) -> None:
    for stamp_ns, pose in poses.items():
        made.add("tf", messages.tf(("map", "odom", stamp_ns, IDENTITY), ("odom", "base_link", stamp_ns, pose)))


def shot(messages: Any, made: Stream, frame: str, stamp_ns: int = S) -> list[Capture]:
    first = made.add("color", messages.image(PIXELS, "mono8", stamp_ns, frame))
    return first + made.add("depth", messages.image(PIXELS, "mono8", stamp_ns, frame))


def cloud(messages: Any, stamp_ns: int, frame: str = "lidar") -> Any:
    return Message(header=messages.header(stamp_ns, frame))


@pytest.mark.parametrize(
    ("frame", "mount", "optical", "forward"),
    [
        ("camera_link", FORWARD, "auto", True),
        ("camera_link", FORWARD, "true", False),
        ("camera_optical_frame", FORWARD, "auto", False),
        ("camera", Pose((0.2, 0, 0.5), OPTICAL_IN_BODY.orientation), "auto", False),
        ("camera", Pose((0.2, 0, 0.5), OPTICAL_IN_BODY.orientation), "false", True),
    ],
)
def test_the_optical_axis_is_found_by_name_or_mounting(
    messages: Any, frame: str, mount: Pose, optical: str, forward: bool
) -> None:
    made = stream(messages, frame, (("base_link", frame, 0, mount),), optical=optical)
    odometry(messages, made, {S: IDENTITY})
    [capture] = shot(messages, made, frame)
    placed = capture.placement
    turned = compose(mount, OPTICAL_IN_BODY) if forward else mount
    assert rotation_angle(placed.sensor_in_map.orientation, turned.orientation) < 1e-9
    assert placed.sensor_in_odom == placed.sensor_in_map
    assert placed.sensor_frame == (f"{frame}_optical" if forward else frame)
    assert capture.depth_in_color == IDENTITY
    back = compose(placed.sensor_in_map, placed.base_in_sensor)
    assert math.dist(back.position, (0, 0, 0)) < 1e-9
    assert rotation_angle(back.orientation, IDENTITY.orientation) < 1e-9


def test_a_cameras_frame_can_be_named(messages: Any) -> None:
    """Gazebo scopes the frames of its messages: nothing of that name is in TF."""
    scoped = "robot::camera_link::rgbd"
    made = stream(messages, scoped, camera_frame="camera_link")
    odometry(messages, made, {S: IDENTITY})
    [capture] = shot(messages, made, scoped)
    assert capture.placement.sensor_in_map.position == FORWARD.position
    ahead = rotate(capture.placement.sensor_in_map.orientation, (0, 0, 1))
    assert ahead == pytest.approx((1, 0, 0), abs=1e-9)
    without = stream(messages, scoped)
    odometry(messages, without, {S: IDENTITY})
    assert shot(messages, without, scoped) == []
    without.finish()
    assert f"'{scoped}' is not in TF" in without.refusals.messages[RefusalReason.NO_POSE]


def test_a_depth_cameras_frame_can_be_named(messages: Any) -> None:
    made = stream(messages, "camera_optical_frame", depth_frame="lidar", optical="true")
    made.add("depth_info", messages.info(frame="scoped"))
    made.add("tf_static", messages.tf(("base_link", "camera_optical_frame", 0, Pose((0.2, 0, 0.5)))))
    odometry(messages, made, {S: IDENTITY})
    made.add("color", messages.image(PIXELS, "mono8", S, "camera_optical_frame"))
    [capture] = made.add("depth", messages.image(PIXELS, "mono8", S, "scoped"))
    assert capture.depth_in_color.position == pytest.approx((-0.2, 0, 0.5))


def test_a_cloud_is_placed_at_its_own_stamp_by_odometry(messages: Any) -> None:
    """The map jumps meanwhile (a loop closure); what lies between a cloud and an image is the robot's own motion."""
    made = stream(messages, "camera_link", depth_source="cloud", sync_slop_s=0.1)
    for stamp_ns, x, jump in ((S - 50 * MS, 0.0, 0.0), (S, 0.05, 3.0)):
        where = Pose((x, 0.0, 0.0))
        made.add(
            "tf", messages.tf(("map", "odom", stamp_ns, Pose((jump, 0, 0))), ("odom", "base_link", stamp_ns, where))
        )
    made.add("cloud", cloud(messages, S - 50 * MS))
    made.add("color", messages.image(PIXELS, "mono8", S, "camera_link"))
    [capture] = made.add("cloud", cloud(messages, S + 80 * MS))
    assert capture.depth_camera is None
    found = capture.depth_in_color
    assert rotation_angle(found.orientation, OPTICAL_TO_BASE.orientation) < 1e-9
    assert found.position == pytest.approx((0.0, -0.5, -0.25))  # 0.5 m above, 0.2 + 0.05 m behind
    assert "depth" not in made.roles and "cloud" in made.roles


def test_depth_a_little_later_is_placed_where_the_camera_was_then(messages: Any) -> None:
    made = stream(messages, "camera_optical_frame", (("base_link", "camera_optical_frame", 0, OPTICAL_IN_BODY),))
    odometry(messages, made, {S: IDENTITY, S + 40 * MS: Pose(orientation=quat_from_yaw(0.08))})
    made.add("color", messages.image(PIXELS, "mono8", S, "camera_optical_frame"))
    [capture] = made.add("depth", messages.image(PIXELS, "mono8", S + 20 * MS, "camera_optical_frame"))
    assert rotation_angle(capture.depth_in_color.orientation, IDENTITY.orientation) == pytest.approx(0.04)


def test_a_robot_that_stands_still_pays_nothing_for_other_stamps(messages: Any) -> None:
    made = stream(messages, "camera_link")
    odometry(messages, made, {S: IDENTITY, S + 40 * MS: IDENTITY})
    made.add("color", messages.image(PIXELS, "mono8", S, "camera_link"))
    [capture] = made.add("depth", messages.image(PIXELS, "mono8", S + 20 * MS, "camera_link"))
    assert capture.depth_in_color == IDENTITY


def test_later_depth_waits_for_its_pose_and_does_without_in_the_end(messages: Any) -> None:
    made = stream(messages, "camera_link")
    odometry(messages, made, {S: IDENTITY})
    made.add("color", messages.image(PIXELS, "mono8", S, "camera_link"))
    assert made.add("depth", messages.image(PIXELS, "mono8", S + 20 * MS, "camera_link")) == []
    [capture] = made.finish()
    assert capture.depth_in_color == IDENTITY
    assert made.refusals.total == 0


@pytest.mark.parametrize(("limit", "refused"), [(0.0, {}), (3.0, {"too_fast": 1}), (5.0, {})])
def test_frames_of_a_camera_that_turns_too_quickly_are_refused(
    messages: Any, limit: float, refused: dict[str, int]
) -> None:
    made = stream(messages, "camera_link", max_angular_rate=limit)
    odometry(messages, made, {S - 200 * MS: IDENTITY, S: Pose(orientation=quat_from_yaw(0.8))})
    taken = shot(messages, made, "camera_link") + made.finish()
    assert (len(taken), made.refusals.by_reason()) == (1 - len(refused), refused)
