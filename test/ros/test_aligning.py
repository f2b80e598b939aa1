"""memory/align, the maps file and static TF: where robots' maps lie in common ones."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from geometry_msgs.msg import Point, Pose, Quaternion, Transform, TransformStamped, Vector3
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from r4_ros import msg, srv
from r4_ros.core import model as m
from r4_ros.core.errors import OutcomeCode
from r4_ros.nodes import convert, qos
from r4_ros.nodes.convert_queries import query_to_request, retrieval_from_response
from r4_ros.nodes.memory_node import MemoryNode

pytestmark = pytest.mark.ros
AHEAD = m.Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))
AGENTS = ["robot1", "robot2"]


def frame(agent: str, map_id: str, label: str = "cup", x: float = 0.0) -> m.Frame:
    """One thing two metres ahead, x to the right, of a camera over its map's origin; all frames are called 'map'."""
    thing = m.Observation(0, label, m.Box(m.Pose((x, 0.0, 2.0)), (0.1, 0.1, 0.1)))
    view = m.View(1.0, 0.8, 0.1, 5.0)
    return m.Frame(agent, "c", "w", 1, 0, 1001 * m.NS_PER_S, map_id, "map", "o", AHEAD, view, observations=(thing,))


def made(graph: Any, tmp_path: Path, **parameters: Any) -> MemoryNode:
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agents=AGENTS, embedder="none", **parameters)
    graph.active(node)
    node.library.ingest(frame("robot1", "home"))
    node.library.ingest(frame("robot2", "lab"))
    return node


def cups(graph: Any, ego: str = "robot1") -> list[tuple[str, str, bool]]:
    request = query_to_request(m.Query(labels=("cup",), ego_agent=ego))
    found = retrieval_from_response(graph.call(srv.Retrieve, "memory/retrieve", request)).entries
    return sorted((e.agent_id, e.map_id, e.place_known) for e in found)


def test_the_service_aligns_takes_back_and_tells(graph: Any, until: Any, tmp_path: Path) -> None:
    node = made(graph, tmp_path, allow_corrections=True)
    wholes = graph.collect(msg.ObjectEntryArray, "memory/entries", qos.LATCHED)
    assert cups(graph) == [("robot1", "home", True), ("robot2", "lab", False)]
    request = srv.AlignMap.Request
    unit = Quaternion(w=1.0)
    same = Pose(position=Point(), orientation=unit)
    said = graph.call(srv.AlignMap, "memory/align", request(agent_id="robot2", map_id="lab", pose=same, source="anna"))
    assert (said.outcome.code, said.alignment_id, said.revision) == (0, 1, node.library.revision)
    assert cups(graph) == [("robot2", "home", True)] or cups(graph) == [("robot1", "home", True)]
    until(lambda: wholes and wholes[-1].to_revision == said.revision)
    told = {(e.agent_id, e.map_id) for e in wholes[-1].entries}
    assert told == {(agent, map_id) for agent in AGENTS for map_id in ("home", "lab")}, "each robot's in both maps"
    again = graph.call(srv.AlignMap, "memory/align", request(agent_id="robot2", map_id="lab", pose=same))
    assert (again.outcome.code, again.alignment_id) == (0, 0)
    undone = graph.call(srv.AlignMap, "memory/align", request(agent_id="robot2", map_id="lab", undo=True))
    assert undone.outcome.code == 0 and len(cups(graph)) == 2
    assert [(r.source, r.undone_by) for r in node.library.alignments()] == [("anna", 2), ("", 0)]


def test_what_cant_be_is_refused(graph: Any, tmp_path: Path) -> None:
    node = made(graph, tmp_path, allow_corrections=True)
    request, unit = srv.AlignMap.Request, Pose(orientation=Quaternion(w=1.0))
    no_turn = Pose(orientation=Quaternion(w=0.0))
    for wrong, code in (
        (request(agent_id="robot3", map_id="lab", pose=unit), OutcomeCode.NOT_PERMITTED),
        (request(agent_id="robot2", map_id="moon", pose=unit), OutcomeCode.UNKNOWN_ENTRY),
        (
            request(agent_id="robot2", map_id="lab", pose=no_turn),
            OutcomeCode.INVALID_ARGUMENT,
        ),
        (request(agent_id="robot2", map_id="lab", undo=True), OutcomeCode.UNKNOWN_ENTRY),
    ):
        assert graph.call(srv.AlignMap, "memory/align", wrong).outcome.code == code
    assert node.library.alignments() == []


def test_aligning_is_off_unless_allowed(graph: Any, tmp_path: Path) -> None:
    made(graph, tmp_path)
    request = srv.AlignMap.Request(agent_id="robot2", map_id="lab", pose=Pose(orientation=Quaternion(w=1.0)))
    assert graph.call(srv.AlignMap, "memory/align", request).outcome.code == OutcomeCode.NOT_PERMITTED


def test_the_maps_file_and_static_tf(graph: Any, until: Any, tmp_path: Path) -> None:
    maps = tmp_path / "maps.yaml"
    maps.write_text(
        """maps:
  - {agent: robot1, map_id: home, common_id: site, frame: site, xyz: [10, 0, 0]}
  - {agent: robot2, map_id: lab, common_id: site, frame: site, tf: robot2/map}
""",
        encoding="utf-8",
    )
    node = made(graph, tmp_path, maps_file=str(maps))
    assert cups(graph) == [("robot1", "site", True), ("robot2", "lab", False)]
    publish = graph.node.create_publisher(TFMessage, "/tf_static", qos.TF_STATIC)
    turn = Quaternion(z=math.sin(math.pi / 4), w=math.cos(math.pi / 4))
    there = Transform(translation=Vector3(x=1.0, y=2.0), rotation=turn)
    header = Header(frame_id="site")
    publish.publish(
        TFMessage(transforms=[TransformStamped(header=header, child_frame_id="robot2/map", transform=there)])
    )
    until(lambda: node.library.own_maps()["robot2", "lab"] == "site")
    found = node.library.retrieve(m.Query(labels=("cup",), agents=("robot2",))).entries
    assert found[0].box.pose.position == pytest.approx((1.0, 4.0, 1.0), abs=1e-3) and found[0].frame == "site"


def test_markers_of_maps_that_arent_aligned_arent_drawn_into_each_other(graph: Any, until: Any, tmp_path: Path) -> None:
    node = made(graph, tmp_path, allow_corrections=True, markers_rate_hz=20.0)
    node.library.ingest(replace(frame("robot1", "home", "lamp", 0.6), sequence=2, stamp_ns=1002 * m.NS_PER_S))
    arrays = graph.collect(MarkerArray, "memory/markers", qos.LATCHED)

    def names() -> list[str]:
        return sorted(x.text for x in arrays[-1].markers if x.type == Marker.TEXT_VIEW_FACING) if arrays else []

    until(lambda: names() == ["cup", "lamp"])
    assert {x.header.frame_id for x in arrays[-1].markers} == {"map"}
    pose = convert.pose_to_msg(m.Pose((5.0, 0.0, 0.0)))
    graph.call(srv.AlignMap, "memory/align", srv.AlignMap.Request(agent_id="robot2", map_id="lab", pose=pose))
    until(lambda: names() == ["cup", "cup", "lamp"])
