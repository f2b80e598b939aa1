"""Publishes recorded or simulated messages as a robot would: in their own time, or one frame after the other's ack.

Importing this module needs no ROS; ``play`` does.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from threading import Event
from typing import Any

from r4_ros.core.errors import NotReady, Unavailable
from r4_ros.core.model import NS_PER_S

CLOCK_PERIOD_S = 0.01
ATTEMPTS = (1, 3, 5, 7)  # shares of the patience with a frame, one for each time that it is published
DISCOVERY_S = 0.3  # after one side of a link knows the other, at least, until that one knows it too
LOOK_AHEAD = 50  # messages whose subscribers are waited for before the first one goes out
MORE_MATCHES_S = 3.0  # once somebody subscribes, how long the other topics are waited for
DRAIN_S = 10.0  # for the last messages to arrive at who hears reliably
GIVE_UP = 3  # frames at the start without any answer
ACK_TOPICS = ("memory/acks", "perception/refused")


@dataclass(frozen=True, eq=False, slots=True)
class TimedMessage:
    """One message and the time at which it is published.

    payload: the message as CDR bytes or as an object of the generated class. ``latched``: transient-local.
    Messages that make up a camera frame carry the agent's id as ``lockstep_key`` and as ``frame_ns`` the header
    stamp of the frame's colour image (by default ``stamp_ns``): in lockstep the next frame waits for its ack.
    """

    stamp_ns: int
    topic: str
    type_name: str
    payload: Any
    latched: bool = False
    lockstep_key: str = ""
    frame_ns: int | None = None

    @property
    def frame(self) -> tuple[str, int]:
        """What an ack of this message's frame says: agent and stamp."""
        return self.lockstep_key, self.stamp_ns if self.frame_ns is None else self.frame_ns


@dataclass(slots=True)
class Played:
    """What a playback has done so far; frames are counted only in lockstep."""

    messages: int = 0
    frames: int = 0
    acked: int = 0
    refused: int = 0
    unanswered: int = 0
    stamp_ns: int = 0
    wall_s: float = 0.0
    refusals: dict[str, int] = field(default_factory=dict)


def play(
    items: Iterable[TimedMessage],
    *,
    rate: float = 1.0,
    lockstep: bool = False,
    clock: bool = True,
    ack_topics: Sequence[str] = ACK_TOPICS,
    namespace: str = "",
    match_s: float = 15.0,
    patience_s: float = 20.0,
    progress: Callable[[Played], None] | None = None,
    stop: Event | None = None,
) -> Played:
    """Publish ``items`` in order and return what became of them.

    rate: times as fast as recorded; 0: as fast as possible. In lockstep the acks alone set the pace.
    ack_topics: where ``r4_ros/msg/ObservationAck`` of memory and of perception's refusals arrive.
    namespace: of the publishing node, for relative topics. match_s: how long to wait for subscribers at the start.
    patience_s: a frame without an ack is published again, less and less often, and given up after all of this.
    Raises NotReady where lockstep finds nobody who listens or answers, Unavailable for an absent message type.
    """
    player = _Player(namespace, clock, match_s, progress)
    try:
        if lockstep:
            player.listen(ack_topics)
        coming = iter(items)
        first = list(islice(coming, LOOK_AHEAD))
        player.announce(first, lockstep)
        for item in chain(first, coming):
            if stop is not None and stop.is_set():
                break
            if lockstep and item.lockstep_key:
                player.begin_frame(item, patience_s)
            player.wait_until(item.stamp_ns, 0.0 if lockstep else rate)
            player.publish(item)
        player.settle(patience_s)
        if not lockstep:
            player.drain()
    finally:
        player.close()
    return player.played


class _Player:
    """A ROS node in its own context, driven by the caller's thread."""

    def __init__(self, namespace: str, clock: bool, match_s: float, progress: Callable[[Played], None] | None) -> None:
        from r4_ros.nodes.transport import prepare

        prepare()
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rosgraph_msgs.msg import Clock

        self.played = Played()
        self._progress = progress
        self._match_until = time.monotonic() + match_s
        self._started = time.monotonic()
        self._base: tuple[int, float] | None = None
        self._last_tick = 0.0
        self._pending: dict[tuple[str, int], list[TimedMessage]] = {}
        self._publishers: dict[str, Any] = {}
        self._agents: set[str] = set()
        self._strangers: set[str] = set()  # agents of acks that belong to no frame of ours
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node(
            f"r4_playback_{os.getpid()}", namespace=namespace, context=self._context, start_parameter_services=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._clock = self._node.create_publisher(Clock, "/clock", 10) if clock else None

    def listen(self, ack_topics: Sequence[str]) -> None:
        """Subscribe to acks and wait for who sends them."""
        from r4_ros.msg import ObservationAck
        from r4_ros.nodes.qos import EVENTS

        began = time.monotonic()
        for topic in ack_topics:
            self._node.create_subscription(ObservationAck, topic, self._on_ack, EVENTS)
        if not self._spin_until(lambda: all(self._node.count_publishers(topic) for topic in ack_topics)):
            absent = [topic for topic in ack_topics if not self._node.count_publishers(topic)]
            raise NotReady(
                f"lockstep: nobody publishes {', '.join(absent)}; are the perception and memory nodes active?"
            )
        self._be_discovered(began)

    def _be_discovered(self, began: float) -> None:
        """Wait until the other side knows us too: nothing tells, so as long as it took us to find it."""
        self._spin_until(lambda: False, min(MORE_MATCHES_S, max(DISCOVERY_S, time.monotonic() - began)))

    def _on_ack(self, ack: Any) -> None:
        stamp_ns = ack.stamp.sec * NS_PER_S + ack.stamp.nanosec
        if self._pending.pop((ack.agent_id, stamp_ns), None) is None:
            self._strangers.add(ack.agent_id)
            return
        if ack.outcome.code == 0:
            self.played.acked += 1
        else:
            self.played.refused += 1
            reason = ack.outcome.message
            self.played.refusals[reason] = self.played.refusals.get(reason, 0) + 1

    def begin_frame(self, item: TimedMessage, patience_s: float) -> None:
        """Wait for the frames before this one, and remember what this one is made of."""
        if item.frame not in self._pending:
            self.settle(patience_s)
            self._pending[item.frame] = []
            self.played.frames += 1
        self._pending[item.frame].append(item)
        self._agents.add(item.lockstep_key)

    def settle(self, patience_s: float) -> None:
        """Wait until every frame on its way is answered; publish it again, in the end give it up."""
        for attempt, share in enumerate(ATTEMPTS):
            if attempt:
                for item in [item for items in self._pending.values() for item in items]:
                    self.publish(item)
            if self._spin_until(lambda: not self._pending, patience_s * share / sum(ATTEMPTS)):
                break
        self.played.unanswered += len(self._pending)
        self._pending.clear()
        done = self.played
        if done.unanswered >= GIVE_UP and not done.acked and not done.refused:
            raise NotReady(f"lockstep: no frame was answered{self._why()}")
        if self._progress is not None:
            self._progress(self.played)

    def wait_until(self, stamp_ns: int, rate: float) -> None:
        """Let time pass up to a stamp, with /clock at 100 Hz. rate 0: at once."""
        if self._base is None or stamp_ns < self.played.stamp_ns:  # the start, or time went back (a looped bag)
            self._base = (stamp_ns, time.monotonic())
        start_ns, start_s = self._base
        due = start_s + ((stamp_ns - start_ns) / NS_PER_S / rate if rate else 0.0)
        while rate and (left := due - time.monotonic()) > 0:
            self._tick(stamp_ns - int(left * rate * NS_PER_S))
            self._executor.spin_once(timeout_sec=min(left, CLOCK_PERIOD_S))
        self._tick(stamp_ns, always=stamp_ns - self.played.stamp_ns >= CLOCK_PERIOD_S * NS_PER_S)
        self.played.stamp_ns = stamp_ns

    def _tick(self, stamp_ns: int, always: bool = False) -> None:
        now = time.monotonic()
        if self._clock is None or (now - self._last_tick < CLOCK_PERIOD_S and not always):
            return
        from rosgraph_msgs.msg import Clock

        self._last_tick = now
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(stamp_ns, NS_PER_S)
        self._clock.publish(message)

    def announce(self, items: Sequence[TimedMessage], lockstep: bool) -> None:
        """Make the publishers of these messages, and wait for their subscribers.

        Raises NotReady where nobody subscribes to any image that lockstep needs.
        """
        from r4_ros.nodes.qos import LATCHED_STREAM, STREAM

        began = time.monotonic()
        new = {item.topic: item for item in items if item.topic not in self._publishers}
        for topic, item in new.items():
            qos = LATCHED_STREAM if item.latched else STREAM
            self._publishers[topic] = self._node.create_publisher(message_class(item.type_name), topic, qos)
        made = [self._publishers[topic] for topic in new]
        if self._spin_until(lambda: not made or any(p.get_subscription_count() for p in made)):
            matched = time.monotonic()
            self._spin_until(lambda: all(p.get_subscription_count() for p in made), MORE_MATCHES_S)
            began += time.monotonic() - matched  # some topics nobody ever subscribes to
        needed = [topic for topic, item in new.items() if item.lockstep_key]
        if lockstep and needed and all(topic in self.unheard() for topic in needed):
            raise NotReady(f"lockstep: no node subscribes to {', '.join(needed)}")
        self._be_discovered(began)
        if self._base is not None:  # waiting for subscribers takes no time of the recording
            self._base = (self.played.stamp_ns, time.monotonic())

    def _why(self) -> str:
        others = ", ".join(f"'{name}'" for name in sorted(self._strangers - self._agents))
        if others:
            ours = ", ".join(f"'{name}'" for name in sorted(self._agents))
            return f": these are frames of {ours}, but the nodes answer for {others}: give both the same agent"
        return "".join(f"; nobody subscribes to {topic}" for topic in self.unheard())

    def unheard(self) -> list[str]:
        """Topics that nobody subscribes to."""
        return [topic for topic, publisher in self._publishers.items() if not publisher.get_subscription_count()]

    def publish(self, item: TimedMessage) -> None:
        """Publish one message."""
        if item.topic not in self._publishers:
            self.announce([item], lockstep=False)
        self._publishers[item.topic].publish(item.payload)
        self.played.messages += 1
        self.played.wall_s = time.monotonic() - self._started
        if self._progress is not None and not item.lockstep_key:
            self._progress(self.played)

    def _spin_until(self, condition: Callable[[], bool], timeout_s: float | None = None) -> bool:
        until = self._match_until if timeout_s is None else time.monotonic() + timeout_s
        while not condition():
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._executor.spin_once(timeout_sec=min(left, 0.05))
        return True

    def drain(self, timeout_s: float = DRAIN_S) -> None:
        """Let the last messages out before the publishers are gone; in lockstep the acks have shown that they are."""
        from rclpy.duration import Duration

        until = time.monotonic() + timeout_s
        clock = [self._clock] if self._clock is not None else []
        for publisher in [*self._publishers.values(), *clock]:
            publisher.wait_for_all_acked(Duration(seconds=max(0.0, until - time.monotonic())))

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()


def message_class(type_name: str) -> Any:
    """The generated class of ``package/msg/Name``. Raises Unavailable where it isn't installed."""
    package, _, name = type_name.replace("/msg/", "/").partition("/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError) as error:
        raise Unavailable(f"the message type {type_name} isn't installed here: {error}") from error
