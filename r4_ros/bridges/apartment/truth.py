"""What really was where, when, and how much of it each frame saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from r4_ros.bridges.apartment.render import IntArray
from r4_ros.bridges.apartment.scene import Thing, regions, room_at
from r4_ros.bridges.apartment.script import Stage
from r4_ros.core.model import NS_PER_S, Box, Vec3


@dataclass(frozen=True)
class Standing:
    """One thing at its place during [start_ns, end_ns); ``box`` is axis-aligned with the map."""

    instance_id: int
    name: str
    label: str
    color: str
    movable: bool
    box: Box
    room: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Glimpse:
    """How many pixels of each instance one frame saw, and from where."""

    agent_id: str
    stamp_ns: int
    base: Vec3  # x, y, yaw in the map
    pixels: dict[int, int]


class Truth:
    """The whole truth about a run; frames are added as they are rendered."""

    def __init__(self, stage: Stage, start_ns: int, duration_s: float) -> None:
        self.stage = stage
        self.start_ns = start_ns
        self.end_ns = start_ns + round(duration_s * NS_PER_S)
        self.frames: list[Glimpse] = []
        self.stays = self._stays()

    def at(self, stamp_ns: int) -> list[Standing]:
        """Everything that is in the apartment at a stamp, in the order of instance ids."""
        return [s for s in self.stays if s.start_ns <= stamp_ns < s.end_ns]

    def record(self, agent_id: str, stamp_ns: int, base: Vec3, labels: IntArray) -> None:
        """Note what a frame saw."""
        ids, counts = np.unique(labels, return_counts=True)
        pixels = {int(i): int(n) for i, n in zip(ids, counts, strict=True) if i > 0}
        self.frames.append(Glimpse(agent_id, stamp_ns, base, pixels))

    def log(self) -> dict[str, object]:
        """Everything as JSON: rooms, objects with their stays, script, and what each frame saw."""
        objects: dict[int, dict[str, object]] = {}
        for stay in self.stays:
            entry = objects.setdefault(
                stay.instance_id,
                {
                    "id": stay.instance_id,
                    "name": stay.name,
                    "label": stay.label,
                    "color": stay.color,
                    "movable": stay.movable,
                    "stays": [],
                },
            )
            stays = entry["stays"]
            assert isinstance(stays, list)
            stays.append(_stay_dict(stay))
        return {
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "rooms": [{"name": region.name, "polygon": [list(p) for p in region.polygon]} for region in regions()],
            "objects": list(objects.values()),
            "changes": [
                {
                    "stamp_ns": self._stamp(change.at_s),
                    "name": change.name,
                    "to": None if change.to is None else list(change.to),
                    "watched": change.watched,
                }
                for change in self.stage.script
            ],
            "frames": [
                {
                    "agent_id": frame.agent_id,
                    "stamp_ns": frame.stamp_ns,
                    "base": [round(v, 4) for v in frame.base],
                    "pixels": {str(k): n for k, n in frame.pixels.items()},
                }
                for frame in self.frames
            ],
        }

    def _stamp(self, t: float) -> int:
        return self.start_ns + round(t * NS_PER_S)

    def _stays(self) -> list[Standing]:
        """Stays in the order of instance ids, then time."""
        ends = [*(self._stamp(t) for t in self.stage.starts[1:]), self.end_ns + 1]
        open_stays: dict[int, tuple[Thing, int]] = {}
        done: list[Standing] = []
        for state, start in zip(self.stage.states, self.stage.starts, strict=True):
            now = {thing.instance_id: thing for thing in state}
            for key, (thing, since) in list(open_stays.items()):
                if now.get(key) is not thing:
                    done.append(_standing(thing, since, self._stamp(start)))
                    del open_stays[key]
            for key, thing in now.items():
                open_stays.setdefault(key, (thing, self._stamp(start)))
        done += [_standing(thing, since, ends[-1]) for thing, since in open_stays.values()]
        return sorted(done, key=lambda s: (s.instance_id, s.start_ns))


def _standing(thing: Thing, start_ns: int, end_ns: int) -> Standing:
    box = thing.box()
    room = room_at(*box.pose.position[:2])
    return Standing(thing.instance_id, thing.name, thing.label, thing.color, thing.movable, box, room, start_ns, end_ns)


def _stay_dict(stay: Standing) -> dict[str, object]:
    return {
        "start_ns": stay.start_ns,
        "end_ns": stay.end_ns,
        "centre": [round(v, 4) for v in stay.box.pose.position],
        "extent": [round(v, 4) for v in stay.box.extent],
        "room": stay.room,
    }
