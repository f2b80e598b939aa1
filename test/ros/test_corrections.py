"""memory/correct: off unless allowed, only for the agents served, and told to those who listen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from geometry_msgs.msg import Point

from r4_ros import msg, srv
from r4_ros.core import model as m
from r4_ros.core.errors import OutcomeCode
from r4_ros.nodes import qos
from r4_ros.nodes.memory_node import MemoryNode

pytestmark = pytest.mark.ros


def frame(agent: str, sequence: int) -> m.Frame:
    """One cup, two metres ahead."""
    cup = m.Observation(0, "cup", m.Box(m.Pose((0.0, 0.0, 2.0)), (0.1, 0.1, 0.1)))
    view = m.View(1.0, 0.8, 0.1, 5.0)
    stamp = (1000 + sequence) * m.NS_PER_S
    return m.Frame(agent, "c", "w", sequence, 0, stamp, "home", "map", "o", m.Pose(), view, observations=(cup,))


def made(graph: Any, tmp_path: Path, **parameters: Any) -> MemoryNode:
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none", **parameters)
    graph.active(node)
    for agent in ("robot", "other"):
        node.library.ingest(frame(agent, 1))
    return node


def test_a_correction_is_stored_told_and_undone(graph: Any, until: Any, tmp_path: Path) -> None:
    node = made(graph, tmp_path, allow_corrections=True)
    entry_id = next(e.entry_id for e in node.library.entries() if e.agent_id == "robot")
    deltas = graph.collect(msg.ObjectEntryArray, "memory/entries_delta", qos.EVENTS)
    wholes = graph.collect(msg.ObjectEntryArray, "memory/entries", qos.LATCHED)
    until(lambda: graph.node.count_publishers("/memory/entries_delta"))
    request = srv.CorrectEntry.Request

    renamed = graph.call(
        srv.CorrectEntry, "memory/correct", request(action=1, entry_id=entry_id, label="mug", source="anna")
    )
    assert (renamed.outcome.code, renamed.correction_id, list(renamed.changed)) == (0, 1, [entry_id])
    pin = request(action=4, entry_id=entry_id, has_position=True, position=Point(x=1.0, y=2.0, z=3.0))
    assert graph.call(srv.CorrectEntry, "memory/correct", pin).outcome.code == 0
    placed = next(p for p in node.library.placed() if p.entry_id == entry_id)
    assert (placed.label, placed.box.pose.position) == ("mug", pytest.approx((1, 2, 3)))
    forgotten = graph.call(srv.CorrectEntry, "memory/correct", request(action=5, entry_id=entry_id))
    assert list(forgotten.removed) == [entry_id]
    until(lambda: any(list(delta.removed) == [entry_id] for delta in deltas))
    until(lambda: wholes and wholes[-1].to_revision == forgotten.revision)
    assert entry_id not in [e.entry_id for e in wholes[-1].entries]  # readers of the whole are told as well
    assert graph.call(srv.CorrectEntry, "memory/correct", request(action=6)).outcome.code == 0
    assert entry_id in [e.entry_id for e in node.library.entries()]
    assert node.library.corrections()[0].correction.source == "anna"


def test_what_isnt_allowed_is_refused(graph: Any, tmp_path: Path) -> None:
    node = made(graph, tmp_path, allow_corrections=True)
    other = next(e.entry_id for e in node.library.entries() if e.agent_id == "other")
    request = srv.CorrectEntry.Request
    for wrong, code in (
        (request(action=5, entry_id=other), OutcomeCode.NOT_PERMITTED),
        (request(action=5, entry_id="nobody"), OutcomeCode.UNKNOWN_ENTRY),
        (request(action=77), OutcomeCode.INVALID_ARGUMENT),
        (request(action=6), OutcomeCode.INVALID_ARGUMENT),
    ):
        assert graph.call(srv.CorrectEntry, "memory/correct", wrong).outcome.code == code
    assert node.library.corrections() == []


def test_corrections_are_off_unless_allowed(graph: Any, tmp_path: Path) -> None:
    node = made(graph, tmp_path)
    own = next(e.entry_id for e in node.library.entries() if e.agent_id == "robot")
    reply = graph.call(srv.CorrectEntry, "memory/correct", srv.CorrectEntry.Request(action=5, entry_id=own))
    assert reply.outcome.code == OutcomeCode.NOT_PERMITTED and "allow_corrections" in reply.outcome.message
