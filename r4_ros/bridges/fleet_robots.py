"""Simulated robots of a fleet in one process: they stream frame records to a map server and count its acknowledgements.

Each drives a round in a hall of its own between things that stand still. What isn't acknowledged is sent again, as
perception does; a robot that is offline goes on seeing, and sends when it is back. One that has as many frames
unacknowledged as a robot keeps sees nothing new until there is room: nothing is lost, and it says how long it waited.
``r4 bench fleet`` starts several of these processes: ``python -m r4_ros.bridges.fleet_robots SETTINGS.json``.

They share the machine with what is measured, so they do as little as can be: messages are bytes in which only the stamp
and the number change, and topics are looked at a hundred times a second instead of being waited for.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.model import Box, Embedding, Frame, Observation, Pose, View
from r4_ros.nodes import convert, qos
from r4_ros.nodes.memory_link import KEPT_FRAMES, MemoryLink
from r4_ros.nodes.polling import NotWaitedFor, taken
from r4_ros.nodes.transport import prepare

CAMERA = "camera"
_VIEWS, _NOISES = 24, 4
_THINGS, _KINDS = 120, 40
_HALL_M, _STEP_M = 20.0, 0.25
_LOOKING_AHEAD = (-0.5, 0.5, -0.5, 0.5)
_POLL_S, _RESEND_S = 0.01, 0.5
_JUST_S = 1e-4  # what is due just before the end is due at the end, by rounding
_MARK = 0x5EC0_5EC0_5EC0_5EC0  # a sequence number that stands out among a message's bytes
READY_S = 180.0
"""For the server and all robots to start and find each other."""


@dataclass(frozen=True)
class Settings:
    """What one process does. In ``folder`` it writes ``ready*``, and waits for ``start``, a time of the wall clock.

    ``offline``: (robot, from, to), in seconds after the start.
    """

    process: int
    robots: list[int]
    server: str
    folder: str
    seconds: float
    rate: float  # observations of one robot a second
    frame: int  # observations in a frame
    drain_s: float = 120.0  # how long to wait for acknowledgements after the drive
    offline: list[tuple[int, float, float]] = field(default_factory=list)


class Robot:
    """One robot: what it sees from each place, and what became of its frames."""

    def __init__(self, number: int, settings: Settings, publisher: Any) -> None:
        self.name, self.publisher = f"robot{number}", publisher
        self.link = MemoryLink()
        self.acked: dict[int, int] = {}  # stamp of each acknowledged frame, by its sequence
        self.lags: list[float] = []
        self.refused: dict[int, int] = {}
        self.start, self.due, self.period = 0.0, 0.0, settings.frame / settings.rate
        self.waited_s = 0.0
        self._offline = [(a, b) for which, a, b in settings.offline if which == number]
        self._templates = [_Template(made) for made in _templates(number, settings.frame, self.name)]
        self._sent_at: dict[int, tuple[int, float, bool]] = {}
        self.sequence = 0

    def begin(self, start: float, first: float) -> None:
        """When it starts, and when it sees its first frame; times of the wall clock."""
        self.start, self.due = start, first

    def is_offline(self, now: float) -> bool:
        """Whether nothing of it arrives now."""
        return any(a <= now - self.start < b for a, b in self._offline)

    def look(self, now: float) -> None:
        """See a new frame if it is time, and if there is room for it."""
        if now < self.due:
            return
        if self.link.unacknowledged >= KEPT_FRAMES:
            self.waited_s += now - self.due
            self.due = now
            return
        self.due += self.period
        self.sequence += 1
        stamp_ns = time.time_ns()
        message = self._templates[self.sequence % len(self._templates)].again(stamp_ns, self.sequence)
        offline = self.is_offline(now)
        self._sent_at[self.sequence] = (stamp_ns, time.monotonic(), offline)
        self.link.sent(self.sequence, message)
        if not offline:
            self.publisher.publish(message)

    def send_again(self, now: float) -> None:
        """What is due."""
        if not self.is_offline(now):
            for message in self.link.due():
                self.publisher.publish(message)

    def heard(self, ack: Any, now: float) -> None:
        """An acknowledgement, unless it is offline."""
        if self.is_offline(now) or ack.writer != self.name:
            return
        self.link.acknowledged(ack.sequence, ack.outcome.code, ack.outcome.message, ack.revision)
        if ack.outcome.code:
            self.refused[ack.outcome.code] = self.refused.get(ack.outcome.code, 0) + 1
        elif ack.sequence not in self.acked and ack.sequence in self._sent_at:
            stamp_ns, at, was_offline = self._sent_at.pop(ack.sequence)
            self.acked[ack.sequence] = stamp_ns
            if not was_offline:
                self.lags.append(time.monotonic() - at)

    def found(self) -> dict[str, Any]:
        """What became of its frames."""
        return {
            "sent": self.sequence,
            "acked": sorted(self.acked.values()),
            "lags": self.lags,
            "waited_s": self.waited_s,
            "given_up": self.link.lost,
            "waiting": self.link.unacknowledged,
            "refused": self.refused,
        }


class _Template:
    """A message as bytes (CDR, whose first field is the header's stamp)."""

    def __init__(self, message: Any) -> None:
        from rclpy.serialization import serialize_message

        message.sequence = _MARK
        self._bytes = bytearray(serialize_message(message))
        self._sequence_at = self._bytes.index(struct.pack("<Q", _MARK))

    def again(self, stamp_ns: int, sequence: int) -> bytes:
        """The message with another stamp and sequence."""
        struct.pack_into("<iI", self._bytes, 4, *divmod(stamp_ns, 1_000_000_000))
        struct.pack_into("<Q", self._bytes, self._sequence_at, sequence)
        return bytes(self._bytes)


def _templates(number: int, size: int, name: str) -> list[Any]:
    """Messages from each place of the round, with other noise each time."""
    rng = np.random.default_rng(number)
    things = rng.uniform(0.0, _HALL_M, (_THINGS, 2)) + (_HALL_M + 10.0) * np.array([number % 10, number // 10])
    vectors = np.random.default_rng(7).normal(0, 1, (_KINDS, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    kinds, depth = rng.integers(0, _KINDS, _THINGS), np.full((12, 16), 8.0, np.float32)
    made = []
    for view in range(_VIEWS):
        at = things.mean(axis=0) + _STEP_M * np.array([view, 0.0])
        nearest = np.argsort(np.linalg.norm(things - at, axis=1))[:size]
        sensor = Pose((float(at[0]), float(at[1]), 1.0), _LOOKING_AHEAD)
        for _ in range(_NOISES):
            seen = []
            for index, thing in enumerate(nearest.tolist()):
                ahead, left = things[thing] - at + rng.normal(0, 0.01, 2)
                box = Box(Pose((float(-left), 0.5, float(ahead))), (0.3, 0.3, 0.3))
                kind = int(kinds[thing])
                label, described = f"thing {kind}", f"A small thing of kind {kind}."
                seen.append(
                    Observation(
                        index,
                        label,
                        box,
                        description=described,
                        label_embedding=Embedding("bench", vectors[kind]),
                        description_embedding=Embedding("bench", vectors[(kind + 1) % _KINDS]),
                        confidence=0.9,
                    )
                )
            lens = View(1.2, 0.9, 0.1, 8.0, depth)
            frame = Frame(name, CAMERA, name, 0, 0, 0, "hall", "map", "optical", sensor, lens, observations=tuple(seen))
            made.append(convert.frame_to_msg(frame))
    return [made[view * _NOISES + noise] for noise in range(_NOISES) for view in range(_VIEWS)]


def run(settings: Settings) -> dict[str, Any]:
    """Drive until the time is over and all is acknowledged, or the time for that is over too."""
    prepare()
    import rclpy

    from r4_ros import msg

    rclpy.init()
    node = rclpy.create_node(f"robots{settings.robots[0]}", start_parameter_services=False)
    robots = {}
    for number in settings.robots:
        topic = f"/robot{number}/perception/observations"
        robots[f"robot{number}"] = Robot(
            number, settings, node.create_publisher(msg.ObservationArray, topic, qos.OBSERVATIONS)
        )
    acks = node.create_subscription(
        msg.ObservationAck, f"{settings.server}/memory/acks", print, qos.EVENTS, callback_group=NotWaitedFor()
    )
    start = _started(settings, lambda: all(robot.publisher.get_subscription_count() for robot in robots.values()))
    before_s = time.process_time()
    _drive(robots, settings, start, acks)
    spent_s = time.process_time() - before_s
    node.destroy_node()
    rclpy.shutdown()
    return {"cpu_s": spent_s, "robots": {name: robot.found() for name, robot in robots.items()}}


def _started(settings: Settings, ready: Callable[[], bool]) -> float:
    """When to drive, said once all are ready."""
    folder, until = Path(settings.folder), time.monotonic() + READY_S
    while not ready() and time.monotonic() < until:
        time.sleep(0.1)
    (folder / f"ready{settings.process}").touch()
    while not (folder / "start").exists() and time.monotonic() < until:
        time.sleep(0.1)
    return float((folder / "start").read_text(encoding="ascii"))


def _drive(robots: dict[str, Robot], settings: Settings, start: float, acks: Any) -> None:
    period, end, resent = settings.frame / settings.rate, start + settings.seconds, 0.0
    for i, robot in enumerate(robots.values()):
        robot.begin(start, start + period * i / len(robots))
    while True:
        now = time.time()
        for ack in taken(acks, 200):
            if ack.agent_id in robots:
                robots[ack.agent_id].heard(ack, now)
        looking = [robot for robot in robots.values() if robot.due < end - _JUST_S]  # late, where the machine is busy
        for robot in looking:
            robot.look(now)
        if now - resent > _RESEND_S:
            resent = now
            for robot in robots.values():
                robot.send_again(now)
            if now > end + settings.drain_s:
                return
            if now > end and not looking and not any(r.link.unacknowledged for r in robots.values()):
                return
        time.sleep(_POLL_S)


def main() -> None:
    """Run what the settings say, and write what came of it."""
    settings = Settings(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    (Path(settings.folder) / f"result{settings.process}.json").write_text(json.dumps(run(settings)), encoding="utf-8")


if __name__ == "__main__":
    main()
