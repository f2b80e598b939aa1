"""A robot that drives through the apartment step by step, looks, and remembers what it sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from r4_ros.bridges.apartment.feed import ENTRIES_NEAR, MAP_ID
from r4_ros.bridges.apartment.paths import SPEED, TURN_RATE, Floor, Trajectory
from r4_ros.bridges.apartment.robots import Robot
from r4_ros.bridges.apartment.scene import ROOMS
from r4_ros.bridges.apartment.simulation import SimFrame
from r4_ros.bridges.apartment.truth import Standing
from r4_ros.core.geometry import back_project, transform_points
from r4_ros.core.model import FloatArray, Frame
from r4_ros.evaluation.sim.scenarios import Scenario
from r4_ros.evaluation.sim.unrendered import Sensor, Unrendered
from r4_ros.memory.library import Library

STEP_M = 0.6
"""A frame is taken each time so far."""
HEADINGS = tuple(math.radians(60 * k) for k in range(6))
"""Where a robot looks that looks around: its camera's field of view is 75 degrees."""
VIEWPOINTS = {
    "living room": ((3.4, 1.6), (2.1, 4.45)),
    "kitchen": ((7.5, 1.3), (7.05, 4.3)),
    "hallway": ((8.3, 5.8), (2.7, 5.8)),
    "bedroom": ((2.7, 7.5),),
    "bathroom": ((5.7, 8.1),),
    "study": ((8.9, 8.3),),
}
"""From where one sees what there is in a room. Nobody comes into the storage room."""


class Home(Unrendered):
    """The apartment of a seed, in which nothing moves and robots go where they like."""

    def __init__(self, seed: int) -> None:
        super().__init__(Scenario("collaboration", seed, 1.0, ("robot1",), ()))
        self.floor = Floor(self.stage.things)

    def truth(self, stamp_ns: int) -> list[Standing]:
        """Everything, at any time."""
        return super().truth(self.start_ns)

    def shot(self, agent_id: str, pose: tuple[float, float, float], t: float) -> SimFrame:
        """What the robot's camera sees from x, y, yaw, ``t`` seconds after the start."""
        still = Trajectory(np.array([pose, pose], float))
        return self.frame(Robot(agent_id, still, still), t)


@dataclass
class Explorer:
    """One robot at a place. ``rooms``: all that it perceives is in them; empty: everywhere."""

    agent_id: str
    home: Home
    library: Library
    x: float
    y: float
    t: float
    rooms: frozenset[str] = frozenset()
    yaw: float = 0.0
    path_m: float = 0.0

    def __post_init__(self) -> None:
        self._sensor = Sensor(self.agent_id, self.home, None)
        self.records: list[Frame] = []

    def look(self, yaw: float) -> SimFrame:
        """Turn there, take a frame, remember it."""
        self.t += abs((yaw - self.yaw + math.pi) % (2 * math.pi) - math.pi) / TURN_RATE + 0.1
        self.yaw = yaw
        frame = self.home.shot(self.agent_id, (self.x, self.y, yaw), self.t)
        if self.rooms:
            frame = within(frame, self.rooms)
        entries = [e for e in self.library.entries_near(self.agent_id, ENTRIES_NEAR) if e.map_id == MAP_ID]
        record = self._sensor.record(frame, entries, lambda _, seen: list(seen.values()))
        self.library.ingest(record)
        self.records.append(record)
        return frame

    def look_around(self) -> Iterator[SimFrame]:
        """Take frames in all directions, from the present one on."""
        for heading in sorted(HEADINGS, key=lambda h: (h - self.yaw) % (2 * math.pi)):
            yield self.look(heading)

    def follow(self, way: FloatArray, stop: Callable[[], bool] = lambda: False) -> bool:
        """Drive along a way [n, 2], taking frames; False where ``stop`` ended it, which is asked after each frame."""
        since = 0.0
        for here, there in pairwise(way):
            length = float(np.hypot(*(there - here)))
            self.path_m, self.t, since = self.path_m + length, self.t + length / SPEED, since + length
            self.x, self.y = float(there[0]), float(there[1])
            if since >= STEP_M:
                since = 0.0
                self.look(math.atan2(*(there - here)[::-1]))
                if stop():
                    return False
        return True


def within(frame: SimFrame, rooms: frozenset[str]) -> SimFrame:
    """The frame without what is in other rooms: neither seen nor known to be free."""
    v, u = np.indices(frame.depth.shape).reshape(2, -1)
    points = transform_points(frame.sensor_in_map, back_project(frame.intrinsics, u, v, frame.depth.ravel()))
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), bool)
    for room in ROOMS:
        if room.name in rooms:
            inside |= (room.x0 <= x) & (x <= room.x1) & (room.y0 <= y) & (y <= room.y1)
    inside = inside.reshape(frame.depth.shape) & (frame.depth > 0)
    labels = np.where(inside, frame.labels, 0)
    image = replace(frame.image, depth=np.where(inside, frame.depth, np.float32(0)), labels=labels)
    return replace(frame, image=image)


def explore(explorer: Explorer, rooms: Sequence[str]) -> None:
    """Look around at each viewpoint of some rooms, the nearest first."""
    left = [viewpoint for room in rooms for viewpoint in VIEWPOINTS[room]]
    while left:
        way = explorer.home.floor.way_to_any((explorer.x, explorer.y), np.array(left))
        if way is None:
            return
        explorer.follow(way)
        left.remove(min(left, key=lambda v: math.hypot(v[0] - explorer.x, v[1] - explorer.y)))
        for _ in explorer.look_around():
            pass
