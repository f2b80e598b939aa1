"""The simulation's messages: their order, and that perception makes of them what it makes of the frames themselves."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rclpy.serialization import deserialize_message, serialize_message

from r4_ros.bridges.apartment.feed import placement_of
from r4_ros.bridges.apartment.simulation import Simulation
from r4_ros.bridges.playback import TimedMessage, message_class
from r4_ros.bridges.sim_messages import TF_RATE_HZ, messages
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.geometry import rotation_angle
from r4_ros.core.model import NS_PER_S, Frame
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.stream import Stream

pytestmark = pytest.mark.ros
ROLES = {
    "color/image_raw": "color",
    "depth/image_raw": "depth",
    "label/image_raw": "label",
    "color/camera_info": "color_info",
    "depth/camera_info": "depth_info",
    "label/label_info": "label_info",
    "tf": "tf",
    "tf_static": "tf_static",
}


def short_run(robots: tuple[str, ...] = ("robot1", "robot2")) -> Simulation:
    return Simulation(duration_s=1.0, rate_hz=4.0, size=(96, 72), robots=robots, odom_drift=0.05)


def delivered(item: TimedMessage) -> object:
    """The message as another process receives it."""
    kind = message_class(item.type_name)
    assert isinstance(item.payload, kind)
    return deserialize_message(serialize_message(item.payload), kind)


def test_messages_come_in_time_order_and_robots_have_their_namespaces() -> None:
    items = list(messages(short_run()))
    assert all(a.stamp_ns <= b.stamp_ns for a, b in pairwise(items))
    for robot in ("robot1", "robot2"):
        topics = {item.topic.removeprefix(f"/{robot}/") for item in items if item.topic.startswith(f"/{robot}/")}
        assert topics == set(ROLES)
    assert all(item.latched == item.topic.endswith(("tf_static", "label_info")) for item in items)
    assert {item.lockstep_key for item in items if "image_raw" in item.topic} == {"robot1", "robot2"}
    assert not any(item.lockstep_key for item in items if "/tf" in item.topic)


def test_transforms_come_at_their_rate_and_at_every_frame_once() -> None:
    items = [item for item in messages(short_run()) if item.topic.endswith("/tf")]
    for robot in ("robot1", "robot2"):
        stamps = [item.stamp_ns for item in items if item.topic == f"/{robot}/tf"]
        assert len(stamps) == len(set(stamps))
        assert max(b - a for a, b in pairwise(stamps)) <= NS_PER_S / TF_RATE_HZ + 1


def test_one_robot_may_use_plain_topics() -> None:
    topics = {item.topic for item in messages(short_run(("rover",)), {"rover": ""})}
    assert topics == {f"/{name}" for name in ROLES}


def test_perception_makes_the_same_records_of_messages_as_of_frames() -> None:
    simulation = short_run(("robot1",))
    config = PerceptionConfig(agent_id="robot1", segmenter="label_image")
    stream, heard = Stream(config), Pipeline(config, LabelSegmenter(), None)
    from_messages: list[Frame] = []
    for item in messages(simulation):
        role = ROLES[item.topic.removeprefix("/robot1/")]
        from_messages += [heard.process(capture) for capture in stream.add(role, delivered(item))]
    from_messages += [heard.process(capture) for capture in stream.finish()]
    direct = Pipeline(config, LabelSegmenter(), None)
    from_frames = [direct.observe(frame.image, placement_of(frame)) for frame in simulation.frames()]
    assert len(from_messages) == len(from_frames) == 4
    for a, b in zip(from_messages, from_frames, strict=True):
        assert (a.stamp_ns, a.sensor_frame, a.session) == (b.stamp_ns, b.sensor_frame, b.session)
        assert [o.label for o in a.observations] == [o.label for o in b.observations]
        assert len(a.observations) > 3
        for p, q in ((a.sensor_in_map, b.sensor_in_map), (a.sensor_in_odom, b.sensor_in_odom)):
            assert p is not None and q is not None
            assert math.dist(p.position, q.position) < 1e-6
            assert rotation_angle(p.orientation, q.orientation) < 1e-6
        for o, p in zip(a.observations, b.observations, strict=True):
            np.testing.assert_allclose(o.box.pose.position, p.box.pose.position, atol=1e-5)
            assert o.attributes == p.attributes
