"""The SROS2 policy allows what the nodes really do, and names nothing that they don't."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from r4_ros import msg
from r4_ros.core import model as m
from r4_ros.nodes import qos
from r4_ros.nodes.convert import episode_to_msg
from r4_ros.nodes.experience_node import ExperienceNode
from r4_ros.nodes.memory_node import MemoryNode
from r4_ros.nodes.perception_node import PerceptionNode
from r4_ros.nodes.reasoner_node import ReasonerNode
from r4_ros.nodes.security import policy

pytestmark = pytest.mark.ros
IN_CLI_ONLY = {"/alice/tf", "/alice/tf_static", "/tf", "/tf_static"}  # moved by r4 up and launch, not by the node
ACTION = "/_action/"


def allowed(root: ET.Element, path: str, tag: str, qualifier: str) -> set[str]:
    """Full names of what an enclave may do."""
    namespace, node = path.rsplit("/", 1)
    rules = root.findall(f".//enclave[@path='{path}']//{tag}[@{qualifier}='ALLOW']/{tag[:-1]}")
    return {(rule.text or "").replace("~", f"{namespace}/{node}") for rule in rules}


def done(graph: Any, node: Any) -> dict[tuple[str, str], set[str]]:
    """What a node does, as the graph says; the parts of an action left out."""
    name, namespace = node.get_name(), node.get_namespace()
    listed = {
        ("topics", "publish"): graph.node.get_publisher_names_and_types_by_node(name, namespace),
        ("topics", "subscribe"): graph.node.get_subscriber_names_and_types_by_node(name, namespace),
        ("services", "reply"): graph.node.get_service_names_and_types_by_node(name, namespace),
        ("services", "request"): graph.node.get_client_names_and_types_by_node(name, namespace),
    }
    return {kind: {topic for topic, _ in names if ACTION not in topic} for kind, names in listed.items()}


def test_the_policy_covers_running_nodes(graph: Any, tmp_path: Path) -> None:
    root = ET.fromstring(policy(["alice"]))
    alike: dict[str, Any] = {"namespace": "alice", "agent_id": "alice"}
    nodes = [
        graph.make(MemoryNode, db=str(tmp_path / "r4.db"), embedder="none", **alike),
        graph.make(PerceptionNode, segmenter="label_image", embedder="none", **alike),
        graph.make(ReasonerNode, **alike),
        graph.make(ExperienceNode, db=str(tmp_path / "lessons.db"), **alike),
    ]
    for node in nodes:
        graph.active(node)
        path = f"/alice/{node.get_name()}"
        for (tag, qualifier), names in done(graph, node).items():
            there = allowed(root, path, tag, qualifier)
            assert names - IN_CLI_ONLY <= there, f"{path}: {qualifier}"
            if qualifier in ("reply", "request"):
                assert there <= names, f"{path} is allowed to {qualifier} what it doesn't"


def test_an_episode_that_claims_to_be_another_robots_is_refused(graph: Any, until: Any, tmp_path: Path) -> None:
    server = graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agents=["alice", "bob"], embedder="none"))
    said = m.Episode("", "", "the door fell shut", m.Interval(m.NS_PER_S, 2 * m.NS_PER_S), m.EpisodeSource.CAPTION)
    publisher = graph.node.create_publisher(msg.Episode, "/alice/memory/episodes", qos.EVENTS)
    until(publisher.get_subscription_count)
    forged = episode_to_msg(said)
    forged.agent_id = "bob"
    publisher.publish(forged)
    publisher.publish(episode_to_msg(said))
    until(lambda: server.counts["episodes"] == 1)
    assert server.counts["episodes_refused"] == 1
    (kept,) = server.library.retrieve(m.Query(now_ns=3 * m.NS_PER_S, with_episodes=True)).episodes
    assert (kept.agent_id, kept.text) == ("alice", "the door fell shut")
