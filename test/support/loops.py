"""A robot that drives a loop while its odometry drifts, and the SLAM that closes the loop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from r4_ros.core.geometry import compose, interpolate, quat_from_yaw
from r4_ros.core.model import IDENTITY, Frame, Pose

PERIOD_S = 0.5
SECONDS = 42.0
CLOSED_S = 40.0
RADIUS_M = 4.0
DRIFT = Pose((0.8, 0.6, 0.0), quat_from_yaw(0.06))


def shelf(thing: Any, count: int = 12) -> list[Any]:
    """Things on a circle outside of the loop, each of a kind of its own."""
    angles = [2 * math.pi * i / count for i in range(count)]
    return [thing(f"thing{i}", (6 * math.cos(a), 6 * math.sin(a), 0.8)) for i, a in enumerate(angles)]


@dataclass
class Loop:
    """Drives once around and two seconds on, so that what was seen first is seen again."""

    robot: Any
    things: list[Any]
    odometry: bool = True
    drift: Pose = DRIFT
    nodes: dict[int, Pose] = field(default_factory=dict)

    def frames(self, seconds: float = SECONDS) -> Iterator[Frame]:
        """What it sees, placed where it believes to be; ``nodes`` become the true base poses."""
        for step in range(round(seconds / PERIOD_S) + 1):
            yield self.frame(step * PERIOD_S, step % 2 == 0)

    def frame(self, stamp_s: float, node: bool = False, closed: bool = False) -> Frame:
        """One frame; ``closed``: TF knows the true pose."""
        angle = 2 * math.pi * stamp_s / CLOSED_S
        self.robot.where = (RADIUS_M * math.cos(angle), RADIUS_M * math.sin(angle), angle)
        seen = [t for t in self.things if self.sees(angle, t)]
        frame = self.robot.frame(10 + stamp_s, *seen)
        if node:
            self.nodes[frame.stamp_ns] = compose(frame.sensor_in_map, frame.base_in_sensor)
        share = min(stamp_s / CLOSED_S, 1.0)
        drifted = compose(interpolate(IDENTITY, self.drift, share), frame.sensor_in_map)
        return replace(
            frame,
            sensor_in_map=frame.sensor_in_map if closed else drifted,
            sensor_in_odom=drifted if self.odometry else None,
        )

    @staticmethod
    def sees(angle: float, thing: Any) -> bool:
        """Its camera looks outwards."""
        bearing = math.atan2(thing.centre[1], thing.centre[0])
        return abs(math.remainder(bearing - angle, 2 * math.pi)) < 0.16

    def correction(self) -> tuple[list[int], list[Pose]]:
        """Stamps and poses of the SLAM's nodes after the loop was closed."""
        return list(self.nodes), list(self.nodes.values())
