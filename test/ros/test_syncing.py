"""Two memory nodes, a robot's and a map server's, in step by the database between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")
pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from diagnostic_msgs.msg import DiagnosticArray

from r4_ros import msg
from r4_ros.core import model as m
from r4_ros.core.config import MemoryConfig
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.library import open_library
from r4_ros.memory.postgres_store import PostgresStore
from r4_ros.nodes import qos
from r4_ros.nodes.memory_node import MemoryNode

pytestmark = pytest.mark.ros
SECOND = m.NS_PER_S


def frame(sequence: int, label: str = "cup", x: float = 0.0, agent: str = "robot") -> m.Frame:
    """A frame with one thing, x metres to the right and two ahead of a camera 1 m above the map's origin."""
    seen = (m.Observation(0, label, m.Box(m.Pose((x, 0.0, 2.0)), (0.1, 0.1, 0.1))),)
    pose = m.Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))
    view = m.View(1.0, 0.8, 0.1, 5.0)
    stamp_ns = (1000 + sequence) * SECOND
    return m.Frame(agent, "camera", "w", sequence, 0, stamp_ns, "home", "map", "optical", pose, view, observations=seen)


def test_a_robots_node_and_a_map_servers_keep_in_step(
    graph: Any, tmp_path: Path, postgres_server: Server, until: Any
) -> None:
    url = postgres_server.database()
    with open_library(url, MemoryConfig()) as library:
        library.ingest(frame(1, "kettle", 2.0, agent="other"))
        assert isinstance(library.store, PostgresStore)
        library.store.make_role("robot", "robot")
    server = graph.active(graph.make(MemoryNode, db=url, agents=["other"], embedder="none", namespace="/map_server"))
    robot = graph.make(
        MemoryNode,
        db=str(tmp_path / "r4.db"),
        agent_id="robot",
        embedder="none",
        sync=url.replace("//r4@", "//robot@"),
        sync_period_s=0.05,
    )
    graph.active(robot)
    told = graph.collect(msg.ObjectEntryArray, "memory/entries_delta", qos.EVENTS)
    robot.library.ingest(frame(1))
    until(lambda: {e.label for e in server.library.entries()} == {"cup", "kettle"})
    until(lambda: {e.label for e in robot.library.entries()} == {"cup", "kettle"})
    assert robot.library.peers() == ["other"]
    until(lambda: told)
    assert any(one.from_revision == one.to_revision for one in told)  # a gap: who keeps a copy takes it anew
    until(lambda: robot.report().values["sync.pending_frames"] == 0)
    values = robot.report().values
    assert values["sync.connected"] and values["sync.observations"] == 1 and values["sync.error"] == ""
    assert not [p for p in robot.report().problems if "map server" in p]
    robot.library.ingest(frame(2))
    until(lambda: server.library.newest_stamp("robot") == 1002 * SECOND)


def test_what_is_wrong_is_told_and_storing_goes_on(
    graph: Any, tmp_path: Path, postgres_server: Server, until: Any
) -> None:
    url = postgres_server.database().replace("//r4@", "//nobody@")
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none", sync=url)
    graph.active(node)
    found = graph.collect(DiagnosticArray, "/diagnostics", 10)
    node.library.ingest(frame(1))
    until(lambda: node.report().values["sync.error"])
    until(lambda: any("not in step with the map server" in s.message for one in found for s in one.status))
    assert node.library.newest_stamp("robot") == 1001 * SECOND
