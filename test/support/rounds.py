"""A robot that goes its rounds while its belief drifts, among things that stay, go, are moved and come back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from r4_ros.core.geometry import compose, interpolate, inverse, quat_from_yaw
from r4_ros.core.model import IDENTITY, Box, EntryState, Frame, Observation, Pose, Vec3, Visibility
from r4_ros.memory.library import Library

PERIOD_S = 0.5
ROUND_S = 24.0
RADIUS_M = 3.0
FAR_M, WIDE_RAD = 4.0, 0.45
ROOM_M = 0.25
"""Around a place that is seen to be empty."""


@dataclass
class Item:
    """One real thing: where it stands from when on; None: nowhere."""

    label: str
    places: list[tuple[float, Vec3 | None]]
    extent: Vec3 = (0.12, 0.12, 0.12)

    def at(self, stamp_s: float) -> Vec3 | None:
        """Where it is at a time."""
        return next(place for since, place in reversed(self.places) if since <= stamp_s)


@dataclass
class Rounds:
    """Drives in circles, looking outwards. ``drift``: how far off the belief is in the end; it grows with time."""

    robot: Any
    items: list[Item]
    drift: Pose
    seconds: float
    nodes: dict[int, Pose] = field(default_factory=dict)

    def drive(self, library: Library, since_s: float = 0.0, until_s: float = math.inf) -> None:
        """Feed what it sees, and what it finds gone as far as it believes; ``nodes`` become the true base poses."""
        for step in range(round(since_s / PERIOD_S), round(min(until_s, self.seconds) / PERIOD_S)):
            library.ingest(self.frame(library, step * PERIOD_S))

    def frame(self, library: Library, stamp_s: float) -> Frame:
        """One frame."""
        angle = 2 * math.pi * stamp_s / ROUND_S
        self.robot.where = (RADIUS_M * math.cos(angle), RADIUS_M * math.sin(angle), angle)
        frame = self.robot.frame(10 + stamp_s)
        sensor = frame.sensor_in_map
        self.nodes[frame.stamp_ns] = compose(sensor, frame.base_in_sensor)
        standing = [(item, place) for item in self.items if (place := item.at(stamp_s)) is not None]
        seen = [self._observation(i, item, place, sensor) for i, (item, place) in enumerate(standing)]
        seen = [o for o in seen if in_view(o.box.pose.position)]
        drifted = compose(interpolate(IDENTITY, self.drift, stamp_s / self.seconds), sensor)
        places = [place for _, place in standing]
        seen += self._absences(library, sensor, drifted, places)
        return replace(frame, sensor_in_map=drifted, sensor_in_odom=drifted, observations=tuple(seen))

    def _observation(self, index: int, item: Item, place: Vec3, sensor: Pose) -> Observation:
        back = inverse(sensor)
        return Observation(index, item.label, Box(compose(back, Pose(place, (0, 0, 0, 1))), item.extent))

    def _absences(self, library: Library, sensor: Pose, drifted: Pose, places: list[Vec3]) -> list[Observation]:
        """What it expects by its belief, in view and where really nothing stands."""
        found = []
        for entry in library.entries_near(self.robot.agent_id, 100):
            local = compose(inverse(drifted), entry.box.pose)
            true = compose(sensor, local).position
            empty = all(math.dist(true, place) > ROOM_M for place in places)
            if entry.state != EntryState.GONE and in_view(local.position) and empty:
                box = Box(local, entry.box.extent)
                o = Observation(100 + len(found), entry.label, box, visibility=Visibility.ABSENT)
                found.append(replace(o, entry_id=entry.entry_id, entry_revision=entry.revision))
        return found

    def correct(self, library: Library, wrong: Pose = IDENTITY, until_s: float = math.inf) -> Any:
        """Close the loop: the path as it really was, moved by an error that grows along it."""
        kept = {s: p for s, p in self.nodes.items() if s <= 10e9 + until_s * 1e9}
        last = max(kept) - 10e9
        poses = [compose(interpolate(IDENTITY, wrong, (s - 10e9) / max(last, 1)), p) for s, p in kept.items()]
        return library.correct_anchors(self.robot.agent_id, list(kept), poses)


def in_view(local: Vec3) -> bool:
    """Whether a place in the camera's frame is seen."""
    return 0.3 < local[2] < FAR_M and abs(math.atan2(local[0], local[2])) < WIDE_RAD


def random_items(rng: np.random.Generator, seconds: float) -> list[Item]:
    """Things around the way: some stay, some go, are moved or come back, some have a look-alike beside."""
    items = []
    for number in range(int(rng.integers(4, 9))):
        angle = 2 * math.pi * (number + rng.uniform(-0.15, 0.15)) / 9
        place = ring(angle, rng.uniform(5.0, 5.8))
        label = f"thing{number}"
        fate = rng.choice(["stays", "stays", "goes", "moves", "returns", "twin"])
        times = sorted(rng.uniform(ROUND_S / 2, seconds - 2, 2))
        places: list[tuple[float, Vec3 | None]] = [(0.0, place)]
        if fate == "goes":
            places.append((times[0], None))
        elif fate == "moves":
            places.append((times[0], ring(angle + math.pi, rng.uniform(5.0, 5.8))))
        elif fate == "returns":
            places += [(times[0], None), (times[1], place)]
        elif fate == "twin":
            items.append(Item(label, [(0.0, ring(angle + 0.08, math.hypot(*place[:2])))]))
        items.append(Item(label, places))
    return items


def ring(angle: float, radius: float) -> Vec3:
    """A place around the way."""
    return radius * math.cos(angle), radius * math.sin(angle), 0.8


def turned(x: float, y: float, yaw: float) -> Pose:
    """A drift."""
    return Pose((x, y, 0.0), quat_from_yaw(yaw))
