"""Playback: order, /clock, latched topics, and lockstep with acks."""

from __future__ import annotations

import threading
from itertools import groupby, pairwise
from statistics import median
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header, String

from r4_ros import msg
from r4_ros.bridges.playback import LOOK_AHEAD, Played, TimedMessage, play
from r4_ros.core.errors import NotReady, Unavailable
from r4_ros.core.model import NS_PER_S
from r4_ros.nodes import convert, qos

pytestmark = pytest.mark.ros
MS = 1_000_000
ACKS = ("/acks",)


def text(stamp_ns: int, data: str, topic: str = "/words", **more: Any) -> TimedMessage:
    return TimedMessage(stamp_ns, topic, "std_msgs/msg/String", String(data=data), **more)


class Memory:
    """Acknowledges frames of /frames (their stamp is in the header), as it is told to."""

    def __init__(self, graph: Any) -> None:
        self.heard: list[int] = []
        self.silent: set[int] = set()
        self.refuse: set[int] = set()
        self.agent = "robot"
        self.forgetful = True  # answers a frame that comes again
        self.acks = graph.node.create_publisher(msg.ObservationAck, "/acks", qos.EVENTS)
        graph.node.create_subscription(Header, "/frames", self.hear, qos.STREAM)

    def hear(self, header: Header) -> None:
        stamp_ns = convert.time_from_msg(header.stamp)
        self.heard.append(stamp_ns)
        if stamp_ns in self.silent:
            if self.forgetful:
                self.silent.discard(stamp_ns)
            return
        ack = msg.ObservationAck(agent_id=self.agent, stamp=header.stamp)
        if stamp_ns in self.refuse:
            ack.outcome = msg.Outcome(code=100, message="no_pose")
        self.acks.publish(ack)


def frame(stamp_ns: int) -> TimedMessage:
    message = Header(stamp=convert.time_to_msg(stamp_ns))
    return TimedMessage(stamp_ns, "/frames", "std_msgs/msg/Header", message, lockstep_key="robot")


def test_messages_arrive_in_order_as_objects_or_bytes(graph: Any, until: Any) -> None:
    heard = graph.collect(String, "/words", qos.STREAM)
    raw = TimedMessage(2, "/words", "std_msgs/msg/String", serialize_message(String(data="two")))
    played = play([text(1, "one"), raw, text(3, "three")], rate=0)
    until(lambda: len(heard) >= 3)
    assert [m.data for m in heard] == ["one", "two", "three"]
    assert (played.messages, played.frames) == (3, 0)


def test_clock_runs_in_recorded_time_at_100_hz(graph: Any, until: Any) -> None:
    ticks = graph.collect(Clock, "/clock", qos.STREAM)
    graph.collect(String, "/words", qos.STREAM)
    start = 50 * NS_PER_S
    play([text(start, "a"), text(start + 2 * NS_PER_S, "b")], rate=4.0)
    until(lambda: ticks and convert.time_from_msg(ticks[-1].clock) == start + 2 * NS_PER_S)
    stamps = [convert.time_from_msg(t.clock) for t in ticks]
    assert stamps == sorted(stamps)
    steps = [(b - a) / MS for a, b in pairwise(stamps)]
    assert len(stamps) > 3 and median(steps) > 20  # 10 ms of wall time are 40 ms of the recording; more where it's busy


def test_latched_messages_reach_late_subscribers(graph: Any, until: Any) -> None:
    first = graph.collect(String, "/names", qos.LATCHED)
    stop = threading.Event()
    late: list[Any] = []

    def progress(done: Played) -> None:
        if done.messages == 1 and not late:
            late.append(graph.collect(String, "/names", qos.LATCHED))

    def items() -> Any:
        yield text(1, "cup", "/names", latched=True)
        yield from (text(1, "filler") for _ in range(LOOK_AHEAD))
        until(lambda: late and late[0])
        yield text(2, "end", "/words")

    graph.collect(String, "/words", qos.STREAM)
    play(items(), rate=0, progress=progress, stop=stop)
    until(lambda: first and late[0])
    assert [m.data for m in first] == [m.data for m in late[0]] == ["cup"]


def test_lockstep_sends_the_next_frame_after_the_ack(graph: Any) -> None:
    memory = Memory(graph)
    stamps = [NS_PER_S * n for n in range(1, 21)]
    played = play([frame(s) for s in stamps], lockstep=True, ack_topics=ACKS, patience_s=600.0)
    assert memory.heard == stamps
    assert (played.frames, played.acked, played.refused, played.unanswered) == (20, 20, 0, 0)


def test_a_refused_frame_is_not_waited_for(graph: Any) -> None:
    memory = Memory(graph)
    memory.refuse = {2 * NS_PER_S}
    played = play([frame(NS_PER_S * n) for n in (1, 2, 3)], lockstep=True, ack_topics=ACKS, patience_s=600.0)
    assert (played.acked, played.refused, played.refusals) == (2, 1, {"no_pose": 1})


def test_a_lost_frame_is_published_again(graph: Any) -> None:
    memory = Memory(graph)
    memory.silent = {2 * NS_PER_S}
    played = play([frame(NS_PER_S * n) for n in (1, 2, 3)], lockstep=True, ack_topics=ACKS, patience_s=16.0)
    assert [n // NS_PER_S for n, _ in groupby(memory.heard)] == [1, 2, 3]
    assert memory.heard.count(2 * NS_PER_S) >= 2
    assert (played.acked, played.unanswered) == (3, 0)


def test_lockstep_without_anybody_who_acknowledges_says_so(graph: Any) -> None:
    with pytest.raises(NotReady, match="nobody publishes /acks"):
        play([frame(1)], lockstep=True, ack_topics=ACKS, match_s=0.2)


def refused(reason: str, items: list[TimedMessage], **options: Any) -> None:
    """Lockstep ends with this reason; given more time where the machine is so busy that others aren't found in it."""
    said = ""
    for factor in (1, 5, 25):
        with pytest.raises(NotReady) as error:
            more = {name: factor * value for name, value in options.items()}
            play(items, lockstep=True, ack_topics=ACKS, **more)
        said = str(error.value)
        if reason in said:
            return
    raise AssertionError(said)


def test_lockstep_without_anybody_who_listens_says_so(graph: Any) -> None:
    graph.node.create_publisher(msg.ObservationAck, "/acks", qos.EVENTS)
    refused("no node subscribes to /frames", [frame(1)], match_s=1.0)


def test_lockstep_that_nobody_answers_ends_and_says_why(graph: Any) -> None:
    memory = Memory(graph)
    stamps = [NS_PER_S * n for n in range(1, 10)]
    memory.silent = set(stamps)
    memory.forgetful = False
    items = [text(1, "unheard", "/unheard"), *(frame(s) for s in stamps)]
    refused("no frame was answered; nobody subscribes to /unheard", items, patience_s=0.4, match_s=15.0)


def test_lockstep_with_nodes_of_another_agent_says_so(graph: Any) -> None:
    memory = Memory(graph)
    memory.agent = "somebody"
    items = [frame(NS_PER_S * n) for n in range(1, 10)]
    refused("frames of 'robot', but the nodes answer for 'somebody'", items, patience_s=0.4, match_s=15.0)


def test_an_unknown_type_is_said(graph: Any) -> None:
    with pytest.raises(Unavailable, match="nothing_msgs/msg/Nothing"):
        play([TimedMessage(1, "/x", "nothing_msgs/msg/Nothing", b"")], match_s=0.1)


def test_playback_can_be_stopped(graph: Any) -> None:
    graph.collect(String, "/words", qos.STREAM)
    stop = threading.Event()
    seen = []

    def progress(done: Played) -> None:
        seen.append(done.messages)
        if done.messages == 5:
            stop.set()

    played = play((text(n, "x") for n in range(1000)), rate=0, progress=progress, stop=stop)
    assert played.messages == 5
