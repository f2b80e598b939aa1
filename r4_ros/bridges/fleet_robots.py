"""Simulated robots of a fleet in one process: they stream frame records to a map server and count its acknowledgements.

Each drives a round in a hall of its own between things that stand still. What isn't acknowledged is sent again, as
perception does; a robot that is offline goes on seeing, and sends when it is back. ``r4 bench fleet`` starts several of
these processes: ``python -m r4_ros.bridges.fleet_robots SETTINGS.json``.
"""

from __future__ import annotations

import json
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
from r4_ros.nodes.transport import prepare

CAMERA = "camera"
_VIEWS, _NOISES = 24, 4
_THINGS, _KINDS = 120, 40
_HALL_M, _STEP_M = 20.0, 0.25
_LOOKING_AHEAD = (-0.5, 0.5, -0.5, 0.5)
_DRAIN_S = 120.0
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
    offline: list[tuple[int, float, float]] = field(default_factory=list)


class Robot:
    """One robot: what it sees from each place, and what became of its frames."""

    def __init__(self, number: int, settings: Settings, publisher: Any) -> None:
        self.name, self.publisher = f"robot{number}", publisher
        self.link = MemoryLink()
        self.acked: dict[int, int] = {}  # stamp of each acknowledged frame, by its sequence
        self.lags: list[float] = []
        self.refused: dict[int, int] = {}
        self.start = 0.0
        self._offline = [(a, b) for which, a, b in settings.offline if which == number]
        self._templates = _templates(number, settings.frame, self.name)
        self._sent_at: dict[int, tuple[int, float, bool]] = {}
        self.sequence = 0

    def is_offline(self, now: float) -> bool:
        """Whether nothing of it arrives now."""
        return any(a <= now - self.start < b for a, b in self._offline)

    def see(self, now: float) -> None:
        """A new frame."""
        self.sequence += 1
        template = self._templates[self.sequence % len(self._templates)]
        stamp_ns = time.time_ns()
        message = _again(template, stamp_ns, self.sequence)
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


def _again(template: Any, stamp_ns: int, sequence: int) -> Any:
    """The template as a new frame; what it holds is shared."""
    made = type(template)()
    for slot in template.__slots__:
        if slot != "_check_fields":
            setattr(made, slot, getattr(template, slot))
    made.header = type(template.header)(stamp=convert.time_to_msg(stamp_ns), frame_id=template.header.frame_id)
    made.sequence = sequence
    return made


def run(settings: Settings) -> dict[str, Any]:
    """Drive until the time is over and all is acknowledged, or given up."""
    prepare()
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from r4_ros import msg

    rclpy.init()
    node = rclpy.create_node(f"robots{settings.robots[0]}")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    robots = {}
    for number in settings.robots:
        topic = f"/robot{number}/perception/observations"
        robots[f"robot{number}"] = Robot(
            number, settings, node.create_publisher(msg.ObservationArray, topic, qos.OBSERVATIONS)
        )

    def heard(ack: Any) -> None:
        robot = robots.get(ack.agent_id)
        if robot is not None:
            robot.heard(ack, time.time())

    node.create_subscription(msg.ObservationAck, f"{settings.server}/memory/acks", heard, qos.EVENTS)
    publishers = [robot.publisher for robot in robots.values()]
    start = _started(settings, lambda: all(p.get_subscription_count() for p in publishers), executor)
    _drive(list(robots.values()), settings, start, executor)
    found = {
        robot.name: {
            "sent": robot.sequence,
            "acked": sorted(robot.acked.values()),
            "lags": robot.lags,
            "given_up": robot.link.lost,
            "waiting": robot.link.unacknowledged,
            "refused": robot.refused,
        }
        for robot in robots.values()
    }
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()
    return found


def _started(settings: Settings, ready: Callable[[], bool], executor: Any) -> float:
    """When to drive, said once all are ready."""
    folder, until = Path(settings.folder), time.monotonic() + READY_S
    while not ready() and time.monotonic() < until:
        executor.spin_once(timeout_sec=0.05)
    (folder / f"ready{settings.process}").touch()
    while not (folder / "start").exists() and time.monotonic() < until:
        executor.spin_once(timeout_sec=0.05)
    return float((folder / "start").read_text(encoding="ascii"))


def _drive(robots: list[Robot], settings: Settings, start: float, executor: Any) -> None:
    period = settings.frame / settings.rate
    due = {robot: start + period * i / len(robots) for i, robot in enumerate(robots)}
    for robot in robots:
        robot.start = start
    end, checked = start + settings.seconds, 0.0
    while True:
        now = time.time()
        for robot in robots:
            if due[robot] <= now and due[robot] < end:
                robot.see(now)
                due[robot] += period
        if now - checked > 0.5:
            checked = now
            for robot in robots:
                robot.send_again(now)
            if now > end + _DRAIN_S or (now > end and not any(robot.link.unacknowledged for robot in robots)):
                return
        pause = min(due.values()) - now if now < end else 0.02
        executor.spin_once(timeout_sec=max(0.0, min(0.02, pause)))


def main() -> None:
    """Run what the settings say, and write what came of it."""
    settings = Settings(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    assert settings.seconds * settings.rate / settings.frame * 0.5 <= KEPT_FRAMES or not settings.offline
    (Path(settings.folder) / f"result{settings.process}.json").write_text(json.dumps(run(settings)), encoding="utf-8")


if __name__ == "__main__":
    main()
