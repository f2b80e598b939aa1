"""memory_node in one process: acks after COMMIT, entries, services, a second writer."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path as PathMsg
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from r4_ros import msg, srv
from r4_ros.core import model as m
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import OutcomeCode
from r4_ros.core.geometry import compose
from r4_ros.memory.handover import Handover
from r4_ros.memory.library import open_library
from r4_ros.memory.transfer import export_lines
from r4_ros.nodes import convert, qos
from r4_ros.nodes.clients import RemoteMemory
from r4_ros.nodes.convert_anchors import correction_to_msg
from r4_ros.nodes.convert_queries import query_to_request, retrieval_from_response
from r4_ros.nodes.memory_node import MemoryNode
from r4_ros.nodes.rtabmap import PoseGraph

pytestmark = pytest.mark.ros
SECOND = m.NS_PER_S
SEEN = (m.Observation(0, "cup", m.Box(m.Pose((0.0, 0.0, 2.0)), (0.1, 0.1, 0.1))),)
LONG_S = 600.0  # nothing in these tests takes as long
LOOKING_AHEAD = m.Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))


def frame(sequence: int, label: str = "cup", x: float = 0.0, agent: str = "robot", writer: str = "w") -> m.Frame:
    """A frame with one thing, x metres to the right and two ahead of a camera 1 m above the map's origin."""
    box = m.Box(m.Pose((x, 0.0, 2.0)), (0.1, 0.1, 0.1))
    return m.Frame(
        agent_id=agent,
        camera="camera",
        writer=writer,
        sequence=sequence,
        session=0,
        stamp_ns=(1000 + sequence) * SECOND,
        map_id="home",
        map_frame="map",
        sensor_frame="optical",
        sensor_in_map=LOOKING_AHEAD,
        view=m.View(1.0, 0.8, 0.1, 5.0, np.full((4, 4), 4.0, np.float32)),
        observations=(m.Observation(0, label, box),),
    )


@pytest.fixture
def memory(graph: Any, tmp_path: Path) -> MemoryNode:
    options = {"agent_id": "robot", "embedder": "none", "markers_rate_hz": 10, "writer_silence_s": LONG_S}
    return graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), **options))


class Sender:
    """Publishes frame records as perception does and collects acks."""

    def __init__(self, graph: Any, until: Any, topic: str = "perception/observations") -> None:
        self.until = until
        self.acks = graph.collect(msg.ObservationAck, "memory/acks", qos.EVENTS)
        self.publisher = graph.node.create_publisher(msg.ObservationArray, topic, qos.OBSERVATIONS)
        until(lambda: self.publisher.get_subscription_count() and graph.node.count_publishers("/memory/acks"))

    def send(self, *frames: m.Frame) -> list[Any]:
        """Send and wait for as many acks; gives those."""
        known = len(self.acks)
        for one in frames:
            self.publisher.publish(convert.frame_to_msg(one))
        self.until(lambda: len(self.acks) >= known + len(frames))
        return self.acks[known:]


@pytest.fixture
def sender(graph: Any, memory: MemoryNode, until: Any) -> Sender:
    return Sender(graph, until)


def test_an_ack_means_that_it_is_on_disk(memory: MemoryNode, sender: Sender, tmp_path: Path) -> None:
    (ack,) = sender.send(frame(1))
    assert (ack.outcome.code, ack.agent_id, ack.writer, ack.sequence) == (0, "robot", "w", 1)
    assert convert.time_from_msg(ack.stamp) == 1001 * SECOND
    with open_library(tmp_path / "r4.db", MemoryConfig(), read_only=True) as on_disk:
        assert on_disk.revision == ack.revision == memory.library.revision
        assert [entry.label for entry in on_disk.entries()] == ["cup"]


def test_a_robots_memory_goes_by_the_clock_also_long_after_its_last_frame(
    graph: Any, memory: MemoryNode, sender: Sender, tmp_path: Path, until: Any
) -> None:
    asked = graph.node.create_client(srv.Retrieve, "memory/retrieve")

    def now_ns() -> int:
        return RemoteMemory(asked).retrieve(m.Query(), LONG_S).now_ns

    assert abs(now_ns() - time.time_ns()) < 60 * SECOND, "empty: nothing but the clock is known"
    sender.send(frame(1))
    assert now_ns() == 1001 * SECOND, "a recording ended with its newest frame"
    sender.send(replace(frame(2), stamp_ns=time.time_ns() - 60 * SECOND))
    until(lambda: memory.library.live)
    three_hours_ns = 3 * 3600 * SECOND
    long_ago_ns = memory.library.newest_stamp() - three_hours_ns
    assert abs(memory._now_ns(long_ago_ns) - time.time_ns()) < 60 * SECOND

    def live_on_disk() -> bool:
        with open_library(tmp_path / "r4.db", MemoryConfig(), read_only=True) as again:
            return again.live

    until(live_on_disk)  # known after a restart too


def test_simulated_time_that_has_not_arrived_hides_nothing(graph: Any, until: Any, tmp_path: Path) -> None:
    options = {"db": str(tmp_path / "r4.db"), "agent_id": "robot", "embedder": "none", "use_sim_time": True}
    node = graph.active(graph.make(MemoryNode, **options))
    Sender(graph, until).send(frame(1))
    assert node.get_clock().now().nanoseconds == 0, "nobody publishes /clock"
    remote = RemoteMemory(graph.node.create_client(srv.Retrieve, "memory/retrieve"))
    found = remote.retrieve(m.Query(labels=("cup",)), LONG_S)
    assert found.now_ns == 1001 * SECOND
    assert [e.label for e in found.entries] == ["cup"]


def test_the_same_frame_again_is_acknowledged_and_changes_nothing(memory: MemoryNode, sender: Sender) -> None:
    [first], [again] = sender.send(frame(1)), sender.send(frame(1))
    assert (again.outcome.code, again.revision) == (0, first.revision)
    assert memory.counts["observations"] == 1


def test_a_second_writer_is_refused_by_name(memory: MemoryNode, sender: Sender, graph: Any) -> None:
    ours, theirs, ours_again = sender.send(frame(1), frame(2, writer="other"), frame(3))
    assert [a.outcome.code for a in (ours, theirs, ours_again)] == [0, 201, 0]
    assert "'w'" in theirs.outcome.message and theirs.writer == "other"
    assert memory.counts["refused.201"] == 1


def test_a_frame_with_impossible_numbers_is_refused_and_the_next_one_stored(sender: Sender) -> None:
    bad = replace(frame(1), observations=(m.Observation(0, "cup", m.Box(m.IDENTITY, (float("nan"), 1, 1))),))
    refused, stored = sender.send(bad, frame(2))
    assert (refused.outcome.code, stored.outcome.code) == (2, 0)


def test_a_record_with_a_lying_size_is_refused_with_an_ack(sender: Sender) -> None:
    bad = convert.frame_to_msg(frame(1))
    bad.view_rows = 77
    sender.publisher.publish(bad)
    sender.until(lambda: sender.acks)
    assert (sender.acks[0].outcome.code, sender.acks[0].sequence) == (2, 1)
    assert "77 x 4" in sender.acks[0].outcome.message


def test_entries_and_deltas_tell_what_changed(graph: Any, until: Any, memory: MemoryNode, sender: Sender) -> None:
    deltas = graph.collect(msg.ObjectEntryArray, "memory/entries_delta", qos.EVENTS)
    events = graph.collect(msg.MemoryEvent, "memory/events", qos.EVENTS)
    until(
        lambda: graph.node.count_publishers("/memory/entries_delta") and graph.node.count_publishers("/memory/events")
    )
    until(lambda: memory._deltas.get_subscription_count() and memory._events.get_subscription_count())
    acks = [*sender.send(frame(1)), *sender.send(frame(2, "book", 1.0))]  # frames that wait share a delta
    until(lambda: len(deltas) == 2)
    assert [(d.from_revision, d.to_revision) for d in deltas] == [
        (0, acks[0].revision),
        (acks[0].revision, acks[1].revision),
    ]
    assert [e.label for d in deltas for e in d.entries if e.label == "book"] == ["book"]
    appeared = until(lambda: [e for e in events if e.kind == msg.MemoryEvent.APPEARED])
    assert appeared[0].label == "cup"
    late = graph.collect(msg.ObjectEntryArray, "memory/entries", qos.LATCHED)
    whole = until(lambda: [e for e in late if e.to_revision == acks[1].revision])[-1]
    assert sorted(e.label for e in whole.entries) == ["book", "cup"]
    assert whole.header.frame_id == "map"
    cup = next(e for e in whole.entries if e.label == "cup")
    assert (cup.pose.position.x, cup.pose.position.z) == pytest.approx((2.0, 1.0))


def test_markers_show_boxes_names_and_colours(graph: Any, until: Any, sender: Sender) -> None:
    sender.send(frame(1))
    heard = graph.collect(MarkerArray, "memory/markers", qos.LATCHED)
    markers = until(lambda: heard and len(heard[-1].markers) >= 3 and heard[-1].markers)
    assert markers[0].action == Marker.DELETEALL
    assert {(k.ns, k.type) for k in markers[1:]} >= {("boxes", Marker.CUBE), ("names", Marker.TEXT_VIEW_FACING)}
    assert next(k for k in markers if k.ns == "names").text == "cup"


def test_retrieve_over_the_service_is_retrieve(graph: Any, memory: MemoryNode, sender: Sender) -> None:
    sender.send(frame(1), frame(2, "book", 1.0))
    remote = RemoteMemory(graph.node.create_client(srv.Retrieve, "memory/retrieve"))
    query = m.Query(labels=("cup",), with_events=True)
    found = remote.retrieve(query, LONG_S)
    assert found == memory.library.retrieve(query)
    assert [e.label for e in found.entries] == ["cup"]


def test_wrong_requests_say_what_is_wrong(graph: Any, memory: MemoryNode) -> None:
    request = query_to_request(m.Query())
    request.order = 77
    reply = graph.call(srv.Retrieve, "memory/retrieve", request)
    assert reply.outcome.code == 2 and "order = 77" in reply.outcome.message
    reply = graph.call(srv.Snapshot, "memory/snapshot", srv.Snapshot.Request(name="../evil"))
    assert reply.outcome.code == 2 and "never a path" in reply.outcome.message
    reply = graph.call(srv.AddEpisode, "memory/add_episode", srv.AddEpisode.Request())
    assert reply.outcome.code == 2


def test_upsert_takes_only_the_agents_that_are_served(graph: Any, memory: MemoryNode) -> None:
    def upsert(one: m.Frame) -> Any:
        request = srv.UpsertObservations.Request(frame=convert.frame_to_msg(one))
        return graph.call(srv.UpsertObservations, "memory/upsert", request)

    reply = upsert(frame(1))
    assert (reply.outcome.code, reply.stored, reply.revision) == (0, 1, memory.library.revision)
    assert upsert(frame(1, agent="mallory")).outcome.code == 5


def test_episodes_by_service_and_by_topic(graph: Any, until: Any, memory: MemoryNode, sender: Sender) -> None:
    sender.send(frame(1))
    said = m.Episode(
        "", "robot", "Anna took the cup", m.Interval(1001 * SECOND, 1002 * SECOND), m.EpisodeSource.UTTERANCE
    )
    reply = graph.call(
        srv.AddEpisode, "memory/add_episode", srv.AddEpisode.Request(episode=convert.episode_to_msg(said))
    )
    assert reply.outcome.code == 0 and reply.episode_id
    publisher = graph.node.create_publisher(msg.Episode, "memory/episodes", qos.EVENTS)
    until(publisher.get_subscription_count)
    publisher.publish(convert.episode_to_msg(replace(said, text="Ben came in", agent_id="")))
    until(lambda: memory.counts["episodes"] == 2)
    found = memory.library.retrieve(m.Query(with_episodes=True))
    assert {e.text for e in found.episodes} == {"Anna took the cup", "Ben came in"}
    assert {e.agent_id for e in found.episodes} == {"robot"}, "a memory of one agent needs not be told whose it is"


def test_facts_come_with_a_retrieval(graph: Any, memory: MemoryNode, sender: Sender) -> None:
    sender.send(frame(1))
    request = query_to_request(m.Query(with_facts=True, timezone="Europe/Berlin"))
    reply = graph.call(srv.Retrieve, "memory/retrieve", request)
    found = retrieval_from_response(reply)
    assert {f.kind for f in found.facts} == {m.FactKind.USUAL_PLACE}
    assert {i for f in found.facts for i in f.entry_ids} == {e.entry_id for e in found.entries}
    assert all(source.startswith("stay ") for f in found.facts for source in f.sources)
    request.timezone = "Middle/Earth"
    assert "no IANA time zone" in graph.call(srv.Retrieve, "memory/retrieve", request).outcome.message


SHIFT = m.Pose((0.0, 1.0, 0.0))


def shifted_nodes(memory: MemoryNode, agent: str = "robot") -> tuple[list[int], list[m.Pose]]:
    trail = memory.library.trail(agent)
    return [p.stamp_ns for p in trail], [compose(SHIFT, p.pose) for p in trail]


def test_a_loop_closure_moves_what_is_remembered_and_readers_take_it_anew(
    graph: Any, until: Any, memory: MemoryNode, sender: Sender
) -> None:
    entries = graph.collect(msg.ObjectEntryArray, "memory/entries", qos.LATCHED)
    deltas = graph.collect(msg.ObjectEntryArray, "memory/entries_delta", qos.EVENTS)
    sender.send(frame(1))
    sender.send(frame(2))
    known = until(lambda: deltas[1:] and deltas[-1].to_revision)
    publisher = graph.node.create_publisher(msg.AnchorCorrection, "memory/anchor_correction", qos.EVENTS)
    until(publisher.get_subscription_count)
    publisher.publish(correction_to_msg("robot", *shifted_nodes(memory)))
    placed = until(lambda: entries and entries[-1].to_revision > known and entries[-1].entries)
    assert placed[0].pose.position.y == pytest.approx(1.0, abs=1e-5)
    sender.send(frame(3))
    until(lambda: deltas[3:])
    assert deltas[2].from_revision > known  # a gap: what is known elsewhere of places is void
    for sent, reason in (
        (correction_to_msg("stranger", *shifted_nodes(memory)), "not of 'stranger'"),
        (correction_to_msg("robot", [5], [m.Pose()]), "none of the 1 nodes"),
        (msg.AnchorCorrection(agent_id="robot"), "needs both"),
    ):
        publisher.publish(sent)
        until(lambda reason=reason: any(reason in problem for problem in memory.report().problems))
    assert (memory.counts["anchor_corrections"], memory.counts["anchor_corrections_refused"]) == (1, 3)
    publisher.publish(correction_to_msg("", *shifted_nodes(memory)))
    until(lambda: memory.counts["anchor_corrections"] == 2)
    assert not any("anchor_correction" in problem for problem in memory.report().problems)


def test_what_a_correction_merged_is_removed_from_copies_too(
    graph: Any, until: Any, memory: MemoryNode, sender: Sender
) -> None:
    deltas = graph.collect(msg.ObjectEntryArray, "memory/entries_delta", qos.EVENTS)
    astray = compose(SHIFT, LOOKING_AHEAD)
    sender.send(frame(1), frame(2), *(replace(frame(i), sensor_in_map=astray) for i in (13, 14)))
    first, second = memory.library.entries()
    publisher = graph.node.create_publisher(msg.AnchorCorrection, "memory/anchor_correction", qos.EVENTS)
    until(publisher.get_subscription_count)
    trail = memory.library.trail("robot")
    publisher.publish(correction_to_msg("", [p.stamp_ns for p in trail], [trail[0].pose] * 4))
    merged = until(lambda: next((d for d in deltas if d.removed), None))
    assert list(merged.removed) == [second.entry_id]
    assert [(e.entry_id, e.sightings) for e in merged.entries] == [(first.entry_id, 4)]


def test_what_waits_to_be_made_anew_is_between_frames_and_told(
    graph: Any, until: Any, memory: MemoryNode, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    deltas = graph.collect(msg.ObjectEntryArray, "memory/entries_delta", qos.EVENTS)
    sender.send(frame(1), frame(2))
    waiting = memory.library._astray  # type: ignore[attr-defined]
    waiting += [("robot", [0]), ("robot", [0])]
    until(lambda: not waiting)
    sender.send(frame(3))
    [entry] = memory.library.entries()
    assert entry.count == 3, "nothing was astray: nothing changed"
    done = [m.Correction("robot", memory.library.revision, 0, tuple(memory.library.placed()), ("gone",))]
    monkeypatch.setattr(memory.library, "make_anew", lambda: done.pop() if done else None)
    told = until(lambda: next((d for d in deltas if d.removed), None))
    assert list(told.removed) == ["gone"] and [e.entry_id for e in told.entries] == [entry.entry_id]


def test_a_path_is_taken_only_where_it_says_when_the_robot_was_where(graph: Any, until: Any, tmp_path: Path) -> None:
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agents=["alice"], slam_path="slam/path", embedder="none")
    graph.active(node)
    Sender(graph, until, "/alice/perception/observations").send(*(frame(i, agent="alice") for i in (1, 2)))
    publisher = graph.node.create_publisher(PathMsg, "/alice/slam/path", qos.EVENTS)
    until(publisher.get_subscription_count)
    stamps, poses = shifted_nodes(node, "alice")

    def path(stamps: list[int], frame_id: str = "map") -> PathMsg:
        made = PathMsg(poses=[PoseStamped(pose=convert.pose_to_msg(pose)) for pose in poses])
        made.header.frame_id = frame_id
        for stamped, stamp in zip(made.poses, stamps, strict=True):
            stamped.header.stamp = convert.time_to_msg(stamp)
        return made

    for bad, reason in (
        (path([stamps[1]] * 2), "all have one stamp"),
        (path(stamps[::-1]), "don't increase"),
        (path(stamps, "odom"), "in frame 'odom'"),
    ):
        publisher.publish(bad)
        until(lambda reason=reason: any(reason in problem for problem in node.report().problems))
    assert node.counts["anchor_corrections_refused"] == 3 and node.library.placed()[0].box.pose.position[1] == 0
    publisher.publish(path(stamps))
    until(lambda: node.counts["anchor_corrections"])
    assert node.library.placed()[0].box.pose.position[1] == pytest.approx(1.0, abs=1e-5)


def test_a_full_disk_refuses_frames_by_name_and_takes_them_again_when_there_is_room(
    graph: Any, until: Any, memory: MemoryNode, sender: Sender, tmp_path: Path
) -> None:
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    deltas = graph.collect(msg.ObjectEntryArray, "memory/entries_delta", qos.EVENTS)
    sender.send(frame(1))
    file: Any = memory.library._store._file  # type: ignore[attr-defined]
    [(pages,)] = file.execute("PRAGMA page_count")
    file.execute(f"PRAGMA max_page_count = {pages}")
    large = replace(
        frame(2), observations=(*frame(2).observations, replace(frame(2, "x" * 99_000, 1).observations[0], index=1))
    )
    for _ in range(2):
        (refused,) = sender.send(large)
        assert refused.outcome.code == 200 and "disk is full; free space" in refused.outcome.message
    until(lambda: any("nothing is stored" in s.message and "full" in s.message for a in heard for s in a.status))
    reply = graph.call(srv.Retrieve, "memory/retrieve", query_to_request(m.Query()))
    assert [e.label for e in reply.entries] == ["cup"]
    file.execute("PRAGMA max_page_count = 1000000")
    (stored,) = sender.send(large)
    assert stored.outcome.code == 0 and memory.library.info()["rows"]["observation"] == 3
    until(lambda: deltas and deltas[-1].to_revision == stored.revision)
    assert deltas[-1].from_revision == stored.revision  # a gap: readers take the whole anew
    del heard[:]
    until(lambda: any("nothing is stored" not in s.message for a in heard for s in a.status))
    sender.send(frame(3))
    until(lambda: deltas[-1].to_revision == memory.library.revision)
    assert deltas[-1].from_revision == stored.revision


def test_old_history_is_dropped_while_the_node_runs(graph: Any, until: Any, tmp_path: Path) -> None:
    node = graph.active(
        graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none", history_days=0.001)
    )
    sender = Sender(graph, until)
    sender.send(*(frame(sequence) for sequence in range(1, 150, 2)))
    until(lambda: node.counts["history.observations_dropped"] > 0)
    until(lambda: node.library.info()["rows"]["observation"] < 50)
    assert [entry.count for entry in node.library.entries()] == [75] and sender.send(frame(151))[0].outcome.code == 0


def test_a_snapshot_is_a_whole_memory(graph: Any, sender: Sender, tmp_path: Path) -> None:
    sender.send(frame(1))
    reply = graph.call(srv.Snapshot, "memory/snapshot", srv.Snapshot.Request(name="monday.db"))
    assert (reply.outcome.code, reply.path) == (0, str(tmp_path / "snapshots" / "monday.db"))
    assert reply.bytes == Path(reply.path).stat().st_size
    with open_library(reply.path, MemoryConfig(), read_only=True) as copy:
        assert [entry.label for entry in copy.entries()] == ["cup"]


def test_a_memory_that_starts_later_receives_what_was_sent_before(graph: Any, until: Any, tmp_path: Path) -> None:
    acks = graph.collect(msg.ObservationAck, "memory/acks", qos.EVENTS)
    publisher = graph.node.create_publisher(msg.ObservationArray, "perception/observations", qos.OBSERVATIONS)
    for sequence in range(1, 31):
        publisher.publish(convert.frame_to_msg(frame(sequence)))
    node = graph.make(MemoryNode, db=str(tmp_path / "late.db"), embedder="none")
    until(lambda: len(acks) == 30)
    assert [a.sequence for a in acks] == list(range(1, 31))
    assert node.counts["observations"] == 30


def test_one_memory_serves_several_robots(graph: Any, until: Any, tmp_path: Path) -> None:
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agents=["alice", "bob"], embedder="none")
    graph.active(node)
    for name in ("alice", "bob"):
        Sender(graph, until, f"/{name}/perception/observations").send(frame(1, agent=name, writer=name))
    assert node.library.agents() == ["alice", "bob"]


def test_a_database_that_cannot_be_opened_is_said_until_it_can(graph: Any, until: Any, tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    path.write_text("this is no database, but a text that is long enough to be looked at " * 20)
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    node = graph.make(MemoryNode, db=str(path), embedder="none")
    status = until(lambda: next((s for a in heard for s in a.status if "broken.db" in s.message), None))
    assert status.level == b"\2"
    path.unlink()
    graph.active(node)


def test_rtabmaps_graph_corrects_and_what_it_lacks_is_said(
    graph: Any, until: Any, memory: MemoryNode, sender: Sender
) -> None:
    sender.send(frame(1), frame(2))
    stamps, poses = shifted_nodes(memory, "robot")
    slam = PoseGraph()
    poses_msg = [convert.pose_to_msg(pose) for pose in poses]
    message = SimpleNamespace(header=Header(frame_id="map"), poses_id=[1, 2], poses=poses_msg)
    memory._on_graph("robot", "rtabmap/mapGraph", slam, message)
    until(lambda: any("rtabmap/mapGraph: no stamp is known" in problem for problem in memory.report().problems))
    for node, stamp in enumerate(stamps, start=1):
        slam.hear(SimpleNamespace(ref_id=node, header=Header(stamp=convert.time_to_msg(stamp))))
    memory._on_graph("robot", "rtabmap/mapGraph", slam, message)
    until(lambda: memory.counts["anchor_corrections"])
    assert memory.library.placed()[0].box.pose.position[1] == pytest.approx(1.0, abs=1e-5)
    assert "rtabmap" not in str(memory.report().problems)


@pytest.mark.skipif(find_spec("rtabmap_msgs") is not None, reason="rtabmap_msgs is installed")
def test_rtabmap_without_its_messages_is_named(graph: Any, until: Any, tmp_path: Path) -> None:
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    graph.make(MemoryNode, db=str(tmp_path / "r4.db"), rtabmap="rtabmap", embedder="none")
    status = until(lambda: next((s for a in heard for s in a.status if "rtabmap-msgs" in s.message), None))
    assert status.level == b"\2"


def test_a_robots_topic_takes_its_own_frames_only(graph: Any, until: Any, tmp_path: Path) -> None:
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agents=["alice", "bob"], embedder="none")
    graph.active(node)
    alice = Sender(graph, until, "/alice/perception/observations")
    forged, honest = alice.send(frame(1, agent="bob"), frame(2, agent="alice"))
    assert (forged.outcome.code, honest.outcome.code) == (int(OutcomeCode.NOT_PERMITTED), 0)
    assert "'alice' takes no frames of 'bob'" in forged.outcome.message
    assert node.library.agents() == ["alice"]


def test_a_second_writer_of_one_robot_of_several_is_refused(graph: Any, until: Any, tmp_path: Path) -> None:
    options = {"agents": ["alice", "bob"], "embedder": "none", "writer_silence_s": LONG_S}
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), **options)
    graph.active(node)
    sender = Sender(graph, until, "/alice/perception/observations")
    acks = sender.send(frame(1, agent="alice"), frame(2, agent="alice", writer="other"))
    assert [ack.outcome.code for ack in acks] == [0, int(OutcomeCode.WRITER_REFUSED)]
    bob = Sender(graph, until, "/bob/perception/observations")
    assert bob.send(frame(3, agent="bob", writer="other"))[0].outcome.code == 0


def test_too_large_frames_are_refused_and_many_frames_take_turns(graph: Any, until: Any, tmp_path: Path) -> None:
    limits = {"frame_observations": 2, "frame_kb": 1, "agent_rate_hz": 1.0}
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agents=["alice", "bob"], embedder="none", **limits)
    graph.active(node)
    alice = Sender(graph, until, "/alice/perception/observations")
    many = replace(frame(1, agent="alice"), observations=tuple(replace(o, index=i) for i, o in enumerate(SEEN * 3)))
    long = replace(frame(2, agent="alice"), observations=(replace(SEEN[0], description="a" * 2000),))
    refused = alice.send(many, long)
    assert [ack.outcome.code for ack in refused] == [int(OutcomeCode.INVALID_ARGUMENT)] * 2
    assert "frame_observations" in refused[0].outcome.message and "frame_kb" in refused[1].outcome.message
    for sequence in range(3, 103):
        alice.publisher.publish(convert.frame_to_msg(frame(sequence, agent="alice")))
    bob = Sender(graph, until, "/bob/perception/observations")
    assert bob.send(frame(1, agent="bob"))[0].agent_id in ("alice", "bob")
    until(lambda: any(ack.agent_id == "bob" for ack in bob.acks))
    assert node._intake.pending > 20, "alice's flood waits, bob's frame didn't wait for it"


@pytest.mark.system
def test_frames_that_wait_are_committed_together_and_a_server_that_restarts_loses_none(
    graph: Any, until: Any, own_postgres_server: Any
) -> None:
    url = own_postgres_server.database()
    node = graph.make(MemoryNode, db=url, agents=["alice"], embedder="none")
    graph.active(node)
    sender = Sender(graph, until, "/alice/perception/observations")
    acked: set[int] = set()
    for first in (1, 51, 101):
        batch = [frame(sequence, agent="alice") for sequence in range(first, first + 50)]
        for one in batch:
            sender.publisher.publish(convert.frame_to_msg(one))
        if first > 1:
            own_postgres_server.restart(kill=first == 101)
        wanted = set(range(first, first + 50))
        while not wanted <= acked:  # as perception does: what isn't acknowledged is sent again
            time.sleep(1.0)
            acked |= {ack.sequence for ack in sender.acks if not ack.outcome.code}
            for one in batch:
                if one.sequence not in acked:
                    sender.publisher.publish(convert.frame_to_msg(one))
    with open_library(url, MemoryConfig(), read_only=True) as stored:
        assert stored.info()["rows"]["frame"] == 150  # type: ignore[index]
        assert [entry.count for entry in stored.entries()] == [150]
    assert node.library.revision >= 150


def test_many_robots_are_heard_in_turns_and_best_effort_publishers_are_named(
    graph: Any, until: Any, tmp_path: Path
) -> None:
    agents = [f"robot{i}" for i in range(6)]
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agents=agents, embedder="none")
    graph.active(node)
    senders = {name: Sender(graph, until, f"/{name}/perception/observations") for name in agents}
    for name, sender in senders.items():
        acks = sender.send(*(frame(i, agent=name, writer=name) for i in range(1, 4)))
        assert [ack.sequence for ack in acks if ack.agent_id == name] == [1, 2, 3]
    assert node.library.agents() == agents and node.library.revision == 18
    episodes = graph.node.create_publisher(msg.Episode, "/robot5/memory/episodes", qos.EVENTS)
    until(episodes.get_subscription_count)
    when, then = convert.time_to_msg(1000 * SECOND), convert.time_to_msg(1001 * SECOND)
    episodes.publish(msg.Episode(text="lunch", start=when, end=then, agent_id="robot5", source=msg.Episode.OPERATOR))
    until(lambda: node.counts["episodes"] == 1)
    assert not any("QoS" in problem for problem in node.report().problems)
    graph.node.create_publisher(msg.ObservationArray, "/robot0/perception/observations", qos.SENSOR)
    until(lambda: any("robot0/perception/observations offers" in problem for problem in node.report().problems))


def test_a_stream_that_is_handed_over_is_worked_in_between_frames(
    graph: Any, memory: MemoryNode, sender: Sender, until: Any, tmp_path: Path
) -> None:
    entries = graph.collect(msg.ObjectEntryArray, "memory/entries", qos.LATCHED)
    sender.send(frame(1))
    with open_library(tmp_path / "other.db", MemoryConfig()) as other:
        for i in range(1, 6):
            other.ingest(frame(i, "chair", agent="other"))
        lines = [line + "\n" for line in export_lines(other._store)]
    handover = Handover(tmp_path / "r4.db")
    handover.give(lines, strict=False)
    until(lambda: memory.counts["imports"] == 1)
    done = handover.result(lambda: True)
    assert (done.frames, done.observations, done.refused) == (5, 5, 0)
    assert sender.send(frame(2))[0].outcome.code == 0
    until(lambda: entries and {"cup", "chair"} <= {entry.label for entry in entries[-1].entries})
