"""``r4 doctor`` beside a running camera: what it says of topics, types, QoS, poses and our nodes (CASES 13, 23)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rclpy.qos import QoSProfile, ReliabilityPolicy
from scene import frame_messages, label_names
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from r4_ros.bridges.examination import Examination, Finding, Level
from r4_ros.bridges.examine_live import LiveDoctor
from r4_ros.bridges.playback import message_class
from r4_ros.core.config import PerceptionConfig
from r4_ros.nodes import qos
from r4_ros.nodes.inputs import input_topics
from r4_ros.nodes.memory_node import MemoryNode
from r4_ros.nodes.perception_node import PerceptionNode
from r4_ros.perception.label_segmenter import LabelSegmenter

pytestmark = pytest.mark.ros
CONFIG = PerceptionConfig(agent_id="doctor", segmenter="label_image", embedder="none")


@pytest.fixture
def doctor(graph: Any) -> Iterator[LiveDoctor]:
    made = LiveDoctor()
    yield made
    made.close()


class Camera:
    """Publishes ten frames a second, stamped by the clock."""

    def __init__(self, graph: Any, leave_out: tuple[str, ...] = (), **other: Any) -> None:
        self.node = graph.node
        self.publishers: dict[str, Any] = {}
        self.leave_out, self.other = leave_out, other
        names = label_names()
        self.publishers[names.topic] = self.node.create_publisher(String, names.topic, qos.LATCHED)
        self.publishers[names.topic].publish(names.payload)
        self.node.create_timer(0.1, self.shoot)

    def shoot(self) -> None:
        for item in frame_messages(self.node.get_clock().now().nanoseconds):
            if item.topic in self.leave_out:
                continue
            if item.topic not in self.publishers:
                profile = self.other.get(item.topic.strip("/").split("/")[0], qos.STREAM)
                kind = message_class(item.type_name)
                self.publishers[item.topic] = self.node.create_publisher(kind, item.topic, profile)
            self.publishers[item.topic].publish(item.payload)


def look(doctor: LiveDoctor, camera: bool = True, complete: int = 0) -> tuple[Examination, list[Finding]]:
    """A look of two seconds; longer ones, where the machine is so busy that too little came of what there is."""
    doctor.look_around()
    topics = doctor.topics(CONFIG, {})
    for seconds in (2.0, 10.0, 50.0):
        exam = doctor.examine(CONFIG, topics, LabelSegmenter(), seconds)
        if not camera or (exam.inputs["color"].count > 3 and exam.complete >= complete):
            break
    return exam, [*doctor.graph_findings(input_topics(CONFIG), topics), *exam.findings()]


def said(found: list[Finding], level: Level) -> str:
    return "; ".join(f"{f.about}: {f.message} {f.advice}" for f in found if f.level == level)


def test_a_camera_as_it_should_be(graph: Any, doctor: LiveDoctor) -> None:
    Camera(graph)
    exam, found = look(doctor, complete=4)
    assert said(found, Level.ERROR) == ""
    assert exam.complete > 3 and exam.labels["cup"] > 3
    assert "no memory_node tells of itself" in said(doctor.node_findings(), Level.WARNING)


def test_no_camera_at_all(graph: Any, doctor: LiveDoctor) -> None:
    graph.node.create_publisher(message_class("sensor_msgs/msg/Image"), "/front/rgb/image", 10)
    errors = said(look(doctor, camera=False)[1], Level.ERROR)
    assert (
        "nobody publishes /color/image_raw [sensor_msgs/msg/Image] of this type there are: /front/rgb/image" in errors
    )
    assert "TF: nobody publishes /tf: there are no poses" in errors


def test_an_incompatible_qos_and_another_type_are_named(graph: Any, doctor: LiveDoctor) -> None:
    best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    graph.node.create_publisher(String, "depth/image_raw", 10)
    Camera(graph, ("depth/image_raw",), tf=best_effort)
    errors = said(look(doctor)[1], Level.ERROR)
    assert "/tester publishes /tf with an incompatible QoS" in errors and "RELIAB" in errors.upper()
    assert "/tester publishes /depth/image_raw as std_msgs/msg/String, but sensor_msgs/msg/Image is needed" in errors


def test_a_robot_without_localisation(graph: Any, doctor: LiveDoctor) -> None:
    graph.node.create_publisher(TFMessage, "/tf", 10)
    Camera(graph, ("/tf",))
    exam, found = look(doctor)
    assert exam.complete == 0
    assert "no way from map to optical: frame 'map' is not in TF (known: none)" in said(found, Level.ERROR)


def test_the_running_nodes_own_parameters_and_words(graph: Any, doctor: LiveDoctor, tmp_path: Path, until: Any) -> None:
    graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none"))
    node = graph.make(PerceptionNode, agent_id="robot", segmenter="label_image", embedder="none", map_frame="world")
    graph.active(node)
    Camera(graph)
    until(doctor.look_around)
    config = until(doctor.running_config)
    assert config is not None and (config.map_frame, config.segmenter) == ("world", "label_image")
    assert doctor.topics(config, {})["color"] == "/color/image_raw"

    def errors() -> str:
        exam = doctor.examine(config, doctor.topics(config, {}), LabelSegmenter(), 1.5)
        return said(exam.findings(), Level.ERROR)

    until(lambda: "no way from world to optical" in errors())

    def words() -> dict[str, Finding]:
        doctor._spin(0.1)
        return {finding.about: finding for finding in doctor.node_findings()}

    until(lambda: "/perception_node" in words() and "'world' is not in TF" in words()["/perception_node"].message)
    until(lambda: "/memory_node" in words() and words()["/memory_node"].level == Level.OK)
