"""One search: a robot looks for a thing, goes where the memory says that it is, and else where nobody has looked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.bridges.apartment.scene import room_at
from r4_ros.bridges.apartment.truth import Standing
from r4_ros.core.geometry import bounds
from r4_ros.core.model import EntryState, Evidence, FloatArray, Query, Reference, SpatialConstraint
from r4_ros.evaluation.collaboration.explorer import VIEWPOINTS, Explorer, Home

REACH_M = 0.8
"""A robot that was told a place drives as near."""
FOUND_M = 1.0
"""The thing is found by a robot that stops as near to it."""
LOOKED = 0.9
"""A room of which as much was looked at is not gone to again."""
LONGEST_M = 80.0


@dataclass(frozen=True)
class Found:
    """How a search ended, and how far the robot drove."""

    success: bool
    path_m: float
    told: bool  # the memory knew a place when the search began


class Search:
    """Of one robot, in some rooms, with what ``agents`` remember (empty: everybody)."""

    def __init__(self, robot: Explorer, label: str, rooms: Sequence[str], agents: tuple[str, ...]) -> None:
        self._robot, self._label, self._agents = robot, label, agents
        self._viewpoints = [(room, point) for room in rooms for point in VIEWPOINTS[room]]
        self._rooms = frozenset(rooms)
        self._refuted: set[str] = set()

    def run(self) -> Found:
        """Until the thing is found, nothing is left to look at, or the robot has driven LONGEST_M."""
        self._robot.look(self._robot.yaw)
        told = bool(self._candidates())
        success = False
        while not success and self._robot.path_m < LONGEST_M:
            candidates = self._candidates()
            if candidates:
                success = self._go_to(candidates)
            elif not self._look_on():
                break
        return Found(success, self._robot.path_m, told)

    def _candidates(self) -> list[Evidence]:
        query = Query(
            labels=(self._label,),
            agents=self._agents,
            states=(EntryState.PRESENT, EntryState.UNKNOWN),
            ego_agent=self._robot.agent_id,
        )
        found = self._robot.library.retrieve(query).entries
        return [
            e
            for e in found
            if e.label == self._label
            and e.entry_id not in self._refuted
            and room_at(*e.box.pose.position[:2]) in self._rooms
        ]

    def _go_to(self, candidates: Sequence[Evidence]) -> bool:
        """Drive to the nearest of them; whether it really is there."""
        robot = self._robot
        stands = [robot.home.floor.standing_room(e.box, REACH_M) for e in candidates]
        way = robot.home.floor.way_to_any((robot.x, robot.y), np.concatenate(stands))
        if way is None:
            self._refuted |= {e.entry_id for e in candidates}
            return False
        goal = way[-1]
        entry = candidates[int(np.argmin([_nearest(points, goal) for points in stands]))]
        robot.follow(way)
        self._refuted.add(entry.entry_id)
        return is_near(robot, self._label)

    def _look_on(self) -> bool:
        """Go to the nearest viewpoint, first of rooms that weren't looked at, until something is known; False: none."""
        robot = self._robot
        new = [p for room, p in self._viewpoints if not self._was_looked_at(room)]
        way = robot.home.floor.way_to_any((robot.x, robot.y), np.array(new or [p for _, p in self._viewpoints]))
        if way is None:
            return False
        if robot.follow(way, lambda: bool(self._candidates())):
            self._viewpoints = [(r, p) for r, p in self._viewpoints if math.dist(p, way[-1]) > 1e-6]
            for _ in robot.look_around():
                if self._candidates():
                    break
        return True

    def _was_looked_at(self, room: str) -> bool:
        inside = SpatialConstraint("in", Reference.REGION, region=room)
        query = Query(spatial=(inside,), agents=self._agents, ego_agent=self._robot.agent_id, limit=1)
        return self._robot.library.retrieve(query).coverage >= LOOKED


def is_near(robot: Explorer, label: str) -> bool:
    """Whether the robot stands within FOUND_M of a thing of that label, in truth."""
    things = robot.home.truth(robot.home.start_ns)
    return any(_gap(thing, robot.x, robot.y) <= FOUND_M for thing in things if thing.label == label)


def shortest(home: Home, start: tuple[float, float], things: Sequence[Standing]) -> float:
    """Metres from a start to where one of the things is within reach; infinite where none can be reached."""
    stands = [home.floor.standing_room(thing.box, REACH_M) for thing in things]
    way = home.floor.way_to_any(start, np.concatenate(stands)) if stands else None
    return math.inf if way is None else float(np.hypot(*np.diff(way, axis=0).T).sum())


def _nearest(points: FloatArray, goal: FloatArray) -> float:
    return float(np.hypot(*(points - goal).T).min(initial=math.inf))


def _gap(thing: Standing, x: float, y: float) -> float:
    low, high = bounds(thing.box)
    return math.hypot(*(max(low[k] - v, v - high[k], 0.0) for k, v in enumerate((x, y))))
