"""Driving to what was found, with a double of Nav2's action server. Needs nav2_msgs, which the wheels don't have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")
pytest.importorskip("nav2_msgs", reason="needs Nav2's messages: they come with a ROS installation")

from filled import fill
from nav2_msgs.action import NavigateToPose
from rclpy.action import ActionServer

from r4_ros.core.errors import InvalidArgument, NotReady
from r4_ros.core.model import Question
from r4_ros.nodes.asking import Asker
from r4_ros.nodes.memory_node import MemoryNode
from r4_ros.nodes.reasoner_node import ReasonerNode

pytestmark = pytest.mark.ros


def test_the_robot_is_sent_before_the_thing(graph: Any, tmp_path: Path) -> None:
    memory = graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none"))
    graph.active(graph.make(ReasonerNode, experience="off"))
    fill(memory)
    with Asker() as asker:
        there = asker.ask(Question("Take me to the cup."))
        with pytest.raises(NotReady, match="is Nav2 active"):
            asker.drive(there, "robot")
        goals: list[Any] = []

        def drive(handle: Any) -> Any:
            goals.append(handle.request.pose)
            handle.succeed()
            return NavigateToPose.Result()

        server = ActionServer(graph.node, NavigateToPose, "navigate_to_pose", drive)
        try:
            assert asker.drive(there, "robot") == "The robot is there."
        finally:
            server.destroy()
        (goal,) = goals
        assert goal.header.frame_id == "map"
        x, y, _ = there.evidence[0].box.pose.position
        assert (goal.pose.position.x - x) ** 2 + (goal.pose.position.y - y) ** 2 < 0.9**2 and goal.pose.position.z == 0
        with pytest.raises(InvalidArgument, match="nothing to drive to"):
            asker.drive(asker.ask(Question("How many books are there?")), "robot")
