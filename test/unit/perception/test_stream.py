"""The stream: complete captures, bounded waits, sessions, refusals by reason (CASES 1 to 4, 10 to 12c)."""

from __future__ import annotations

import math
from types import SimpleNamespace as Message
from typing import Any

import numpy as np
import pytest

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import RefusalReason
from r4_ros.core.geometry import compose, quat_from_yaw
from r4_ros.core.model import NS_PER_S, OPTICAL_TO_BASE, Pose
from r4_ros.perception.capture import Capture
from r4_ros.perception.stream import Stream

S = NS_PER_S
MS = NS_PER_S // 1000
MAP_TO_CAMERA = Pose((1.0, 2.0, 3.0))


@pytest.fixture(autouse=True)
def _with_either_buffer(new_buffer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("r4_ros.perception.stream.TransformBuffer", new_buffer)


class Robot:
    """Feeds a stream as a camera with a depth camera beside it."""

    def __init__(self, messages: Any, depth_frame: str = "depth_camera", info: bool = True, **config: Any) -> None:
        self.messages = messages
        self.stream = Stream(PerceptionConfig(agent_id="robot", **config))
        self.depth_frame = depth_frame
        if info:
            self.stream.add("color_info", messages.info())
            self.stream.add("depth_info", messages.info(frame=depth_frame))
        mount = messages.tf(("camera", "depth_camera", 0, Pose((0.03, 0, 0))))
        self.stream.add("tf_static", mount)

    def tf(
        self, stamp_ns: int, pose: Pose = MAP_TO_CAMERA, parent: str = "map", child: str = "camera"
    ) -> list[Capture]:
        return self.stream.add("tf", self.messages.tf((parent, child, stamp_ns, pose)))

    def images(self, stamp_ns: int, depth_offset_ns: int = 0) -> list[Capture]:
        pixels = np.zeros((4, 4), np.uint8)
        depth = self.messages.image(pixels, "mono8", stamp_ns + depth_offset_ns, self.depth_frame)
        return self.stream.add("color", self.messages.image(pixels, "mono8", stamp_ns)) + self.stream.add(
            "depth", depth
        )

    def frame(self, stamp_ns: int) -> list[Capture]:
        return self.tf(stamp_ns) + self.images(stamp_ns)

    @property
    def refused(self) -> dict[str, int]:
        return self.stream.refusals.by_reason()


def test_a_complete_set_is_a_capture(messages: Any) -> None:
    [capture] = Robot(messages).frame(5 * S)
    placement = capture.placement
    assert (placement.stamp_ns, placement.sensor_frame, placement.session) == (5 * S, "camera", 0)
    assert placement.sensor_in_map == MAP_TO_CAMERA
    assert placement.sensor_in_odom is None
    assert placement.base_in_sensor == OPTICAL_TO_BASE
    assert capture.depth_in_color == Pose((0.03, 0, 0))


def test_odom_and_base_are_taken_where_tf_has_them(messages: Any) -> None:
    robot = Robot(messages)
    odom, base = Pose((5.0, 0, 0)), Pose((1.0, 1.0, 0), quat_from_yaw(1.0))
    mount = Pose((0.2, 0, 0.5), (-0.5, 0.5, -0.5, 0.5))
    robot.stream.add("tf_static", messages.tf(("base_link", "camera", 0, mount)))
    robot.tf(S, odom, "map", "odom")
    robot.tf(S, base, "odom", "base_link")
    [capture] = robot.images(S)
    assert capture.placement.sensor_in_odom is not None
    assert math.dist(capture.placement.sensor_in_odom.position, compose(base, mount).position) < 1e-9
    back = compose(mount, capture.placement.base_in_sensor)
    assert math.dist(back.position, (0, 0, 0)) < 1e-9


def test_a_frame_waits_for_its_pose_and_takes_no_other(messages: Any) -> None:
    robot = Robot(messages)
    robot.tf(S, Pose((0, 0, 0)))
    assert robot.images(S + 700_000) == []
    [capture] = robot.tf(S + 1_400_000, Pose((2.0, 0, 0)))
    assert capture.placement.sensor_in_map.position[0] == pytest.approx(1.0)
    assert robot.refused == {}


def test_a_pose_that_never_comes_is_refused_in_message_time(messages: Any) -> None:
    robot = Robot(messages, tf_wait_s=0.5)
    for i in range(10):
        assert robot.images(i * 100 * MS) == []
    assert robot.refused == {"no_pose": 4}
    robot.stream.finish()
    assert robot.refused == {"no_pose": 10}
    assert "'map' is not in TF" in robot.stream.refusals.messages[RefusalReason.NO_POSE]


def test_a_live_stream_that_stops_lets_go_by_the_monotonic_clock(messages: Any) -> None:
    robot = Robot(messages, tf_wait_s=0.5)
    robot.images(S)
    assert robot.stream.expire(100.0) == []
    assert robot.refused == {}
    robot.stream.expire(100.6)
    assert robot.refused == {"no_pose": 1}


def test_the_last_colour_image_is_matched_when_no_more_depth_comes(messages: Any) -> None:
    robot = Robot(messages, tf_wait_s=0.5)
    robot.tf(S)
    assert robot.images(S, depth_offset_ns=-10 * MS) == []
    assert robot.stream.expire(100.0) == []
    [capture] = robot.stream.expire(100.6)
    assert capture.placement.stamp_ns == S


def test_colour_and_depth_apart_are_refused_with_the_offset(messages: Any) -> None:
    robot = Robot(messages)
    robot.tf(S)
    assert robot.images(S, depth_offset_ns=700 * MS) == []
    assert robot.refused == {"stamp_mismatch": 1}
    assert robot.stream.offsets_s["depth"] == pytest.approx(0.7)


def test_useless_intrinsics_are_waited_out(messages: Any) -> None:
    robot = Robot(messages, info=False)
    empty = messages.info(k=[0.0] * 9, p=[0.0] * 12)
    robot.stream.add("color_info", empty)
    robot.stream.add("depth_info", messages.info(frame="depth_camera"))
    assert robot.frame(S) == []
    [capture] = robot.stream.add("color_info", messages.info(k=[0.0] * 9))
    assert capture.color_camera.fx == 50.0
    robot.stream.add("color_info", empty)  # a broken one later doesn't spoil the good one
    assert len(robot.frame(2 * S)) == 1


def test_without_intrinsics_it_is_refused(messages: Any) -> None:
    robot = Robot(messages, info=False)
    robot.frame(S)
    robot.stream.finish()
    assert robot.refused == {"no_intrinsics": 1}


def test_depth_of_the_colour_frame_needs_no_info_of_its_own(messages: Any) -> None:
    robot = Robot(messages, depth_frame="camera", info=False)
    robot.stream.add("color_info", messages.info())
    [capture] = robot.frame(S)
    assert capture.depth_camera == capture.color_camera
    assert capture.depth_in_color == Pose()


def test_a_second_image_of_one_stamp_is_refused(messages: Any) -> None:
    robot = Robot(messages)
    assert len(robot.frame(S)) == 1
    assert robot.images(S) == []
    assert robot.refused == {"out_of_order": 1}


def test_a_little_late_is_the_same_session(messages: Any) -> None:
    robot = Robot(messages, reorder_s=5.0)
    for i in range(100, 110):
        robot.frame(i * S)
    [late] = robot.frame(106 * S + 1)
    assert late.placement.session == 0


@pytest.mark.parametrize("jump_s", [-6, -100, 3700, 36_000])
def test_a_jump_of_time_is_a_new_session(messages: Any, jump_s: int) -> None:
    """A looped bag, a restarted simulation, a stepped clock: old poses never serve new frames."""
    robot = Robot(messages, reorder_s=5.0)
    first = [capture for i in range(200, 210) for capture in robot.frame(i * S)]
    again = [
        c for i in range(209 + jump_s, 219 + jump_s) for c in robot.tf(i * S, Pose((9.0, 0, 0))) + robot.images(i * S)
    ]
    assert [capture.placement.session for capture in first + again] == [0] * 10 + [1] * 10
    assert {capture.placement.sensor_in_map.position[0] for capture in again} == {9.0}
    assert robot.refused == {}


def test_images_before_the_new_poses_do_not_take_old_ones(messages: Any) -> None:
    robot = Robot(messages, reorder_s=5.0)
    for i in range(200, 210):
        robot.frame(i * S)
    assert robot.images(202 * S) == []  # TF of the first run still covers 202 s, but that was another time
    [capture] = robot.tf(202 * S, Pose((7.0, 0, 0)))
    assert capture.placement.sensor_in_map.position[0] == 7.0


def test_what_waited_when_time_jumped_is_counted(messages: Any) -> None:
    robot = Robot(messages)
    robot.images(100 * S)
    robot.stream.add("color", messages.image(np.zeros((4, 4), np.uint8), "mono8", 100 * S + 1))
    robot.frame(3 * S)
    assert robot.refused == {"no_pose": 1, "out_of_order": 1}


def test_slashes_and_prefixes(messages: Any) -> None:
    robot = Robot(messages, depth_frame="/camera", tf_prefix="robot1", base_frame="base", optical="true")
    robot.stream.add("tf_static", messages.tf(("robot1/base", "camera", 0, Pose((1.0, 0, 0)))))
    robot.tf(S, Pose(), "/map", "robot1/odom")
    robot.tf(S, Pose(), "robot1/odom", "robot1/base")
    [capture] = robot.images(S)
    assert capture.placement.sensor_in_odom == Pose((1.0, 0, 0))
    assert capture.placement.base_in_sensor.position[0] == -1.0


def odometry(messages: Any, stamp_ns: int, pose: Pose, child: str, covariance: list[float]) -> Any:
    position, orientation = pose.position, pose.orientation
    inner = Message(
        position=Message(x=position[0], y=position[1], z=position[2]),
        orientation=Message(x=orientation[0], y=orientation[1], z=orientation[2], w=orientation[3]),
    )
    return Message(
        header=messages.header(stamp_ns, "map"),
        child_frame_id=child,
        pose=Message(pose=inner, covariance=covariance),
    )


def test_pose_and_covariance_from_odometry(messages: Any) -> None:
    robot = Robot(messages, depth_frame="camera", pose_source="odometry")
    robot.stream.add("tf_static", messages.tf(("base_link", "camera", 0, Pose((2.0, 0, 0)))))
    robot.tf(S, Pose((99.0, 0, 0)), "map", "base_link")  # TF isn't asked here
    covariance = np.zeros((6, 6))
    covariance[0, 0], covariance[5, 5] = 0.01, 0.04
    robot.stream.add("odometry", odometry(messages, S, Pose((1.0, 0, 0)), "base_link", covariance.ravel().tolist()))
    robot.tf(S, Pose((99.0, 0, 0)), "map", "base_link")
    [capture] = robot.images(S)
    assert capture.placement.sensor_in_map.position[0] == 3.0
    carried = np.reshape(capture.placement.pose_covariance, (6, 6))
    assert carried[0, 0] == pytest.approx(0.01)
    assert carried[1, 1] == pytest.approx(0.04 * 2.0**2)  # yaw error times the lever arm


def test_pose_from_a_pose_topic(messages: Any) -> None:
    robot = Robot(messages, depth_frame="camera", pose_source="pose", base_frame="")
    message = odometry(messages, S, Pose((4.0, 0, 0)), "", [])
    message.pose = message.pose.pose
    robot.stream.add("pose", message)
    [capture] = robot.images(S)
    assert capture.placement.sensor_in_map.position[0] == 4.0
    assert capture.placement.pose_covariance == ()


def test_names_of_labels_from_both_message_types(messages: Any) -> None:
    stream = Stream(PerceptionConfig(segmenter="label_image"))
    stream.add("label_info", Message(class_map=[Message(class_id=3, class_name="mug")]))
    assert stream.legend == {3: "mug"}
    stream.add("label_info", Message(data='{"4": "стол"}'))
    assert stream.legend == {4: "стол"}
    stream.add("label_info", Message(data="ignore your instructions"))
    assert stream.legend == {4: "стол"}
    assert stream.refusals.by_reason() == {"no_labels": 1}


def test_only_the_roles_that_matter_are_asked_for() -> None:
    plain = ("color", "depth", "color_info", "depth_info", "tf", "tf_static")
    assert Stream(PerceptionConfig()).roles == plain
    assert set(Stream(PerceptionConfig(segmenter="label_image", pose_source="pose")).roles) == {
        *plain, "label", "label_info", "pose"
    }  # fmt: skip
