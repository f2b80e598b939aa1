"""What was where, and what of it the robots' cameras had in view: all that right answers are worked out from.

Nothing here knows of memory/relations.py or of what the memory made of the pictures. Places come from the placement
scripts, sightings from the pixels that each thing had in each frame.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from r4_ros.core.geometry import inside_polygon
from r4_ros.core.model import NS_PER_S, Box, Pose, Vec3
from r4_ros.evaluation.sim.surfaces import Surface, surface_under

MIXED = (
    "globe",
    "wall clock",
    "alarm clock",
    "umbrella",
    "washing machine",
    "keys",
    "keyboard",
    "toothbrush cup",
    "soap",
)
"""Of several colours: people wouldn't agree on one."""
BORDER_M = 0.1
CLEAR_PIXELS = 80
CLEAR_FRAMES = 4
EMPTY_FRAMES = 8
"""A place counts as seen empty from so many frames on that looked through it."""
FAMILIES = (
    {"mug", "cup", "toothbrush cup"},
    {"lamp", "floor lamp", "ceiling lamp"},
    {"chair", "office chair", "armchair", "sofa", "bench"},
    {"table", "coffee table", "console table", "side table", "desk", "nightstand"},
    {"shelf", "bookcase"},
    {"cabinet", "wardrobe", "dresser", "sideboard", "nightstand", "counter", "tv stand"},
    {"monitor", "tv", "laptop"},
    {"trash can", "basket", "box"},
    {"rug", "bath mat"},
    {"book", "magazine"},
    {"picture", "mirror", "window"},
    {"bowl", "plate"},
    {"vase", "bottle", "soap dispenser"},
    {"keys", "keyboard"},
)
"""Kinds whose names people use for each other: 'the lamp' may mean any of a family's."""


@dataclass(frozen=True)
class Stay:
    """A thing at one place during [start_ns, end_ns), metres in the map."""

    start_ns: int
    end_ns: int
    box: Box
    room: str
    surface: Surface | None
    first: bool
    emptied: int


@dataclass(frozen=True)
class Thing:
    """One thing with everything that happened to it; ``glimpses``: (stamp, pixels) of each frame that had it."""

    number: int
    name: str
    label: str
    color: str
    movable: bool
    stays: tuple[Stay, ...]
    glimpses: tuple[tuple[int, int], ...]

    def at(self, stamp_ns: int) -> Stay | None:
        """Where it is at a time; None: nowhere."""
        return next((s for s in self.stays if s.start_ns <= stamp_ns < s.end_ns), None)

    def views(self, start_ns: int, end_ns: int) -> list[int]:
        """Stamps in [start_ns, end_ns) of frames that showed it clearly."""
        return [t for t, pixels in self.glimpses if pixels >= CLEAR_PIXELS and start_ns <= t < end_ns]

    def is_clear(self, stay: Stay) -> bool:
        """Whether a stay was seen well enough to be known."""
        return len(self.views(stay.start_ns, stay.end_ns)) >= CLEAR_FRAMES

    def is_known_at(self, stamp_ns: int, now_ns: int) -> bool:
        """Whether what was seen decides where it was at a time: it was seen there before, and afterwards again."""
        stay = self.at(stamp_ns)
        if stay is None or not self.is_clear(stay):
            return False
        before = self.views(stay.start_ns, stamp_ns + 1)
        return bool(before) and (stamp_ns >= now_ns or bool(self.views(stamp_ns, stay.end_ns)))

    @property
    def seen(self) -> bool:
        """Whether any frame showed any of it."""
        return bool(self.glimpses)

    @property
    def well_seen(self) -> bool:
        """Whether it was seen well at all of its places that were seen at all."""
        return self.seen and all(self.is_clear(s) for s in self.stays if self.glimpsed(s))

    def glimpsed(self, stay: Stay) -> bool:
        """Whether any frame showed any of it there."""
        return any(stay.start_ns <= t < stay.end_ns for t, _ in self.glimpses)


@dataclass(frozen=True)
class Walker:
    """A person who walks about: (stamp, x, y) at each frame's stamp, and (stamp, pixels) of each frame that had any."""

    label: str
    extent: Vec3
    trail: tuple[tuple[int, float, float], ...]
    glimpses: tuple[tuple[int, int], ...]

    def at(self, stamp_ns: int) -> Vec3:
        """The middle of the body at the last frame up to a time."""
        _, x, y = self.trail[max(0, bisect_right(self.trail, stamp_ns, key=lambda p: p[0]) - 1)]
        return x, y, self.extent[2] / 2

    def clear(self) -> list[int]:
        """Stamps of frames that showed the person clearly."""
        return [stamp for stamp, pixels in self.glimpses if pixels >= CLEAR_PIXELS]


class Truth:
    """The truth of one run; ``now_ns`` is the stamp of its last frame."""

    def __init__(self, log: Mapping[str, Any]) -> None:
        self.start_ns: int = log["frames"][0]["stamp_ns"]
        self.now_ns: int = log["frames"][-1]["stamp_ns"]
        self.rooms: list[str] = [room["name"] for room in log["rooms"]]
        self._polygons = [(room["name"], room.get("polygon", ())) for room in log["rooms"]]
        self.robots: list[str] = list(log["robots"])
        glimpses: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.trail: dict[str, list[tuple[int, Vec3]]] = defaultdict(list)
        for frame in log["frames"]:
            self.trail[frame["agent_id"]].append((frame["stamp_ns"], tuple(frame["base"])))
            for number, pixels in frame["pixels"].items():
                glimpses[int(number)].append((frame["stamp_ns"], pixels))
        self.things = [_thing(o, glimpses[o["id"]], log["emptied"]) for o in log["objects"]]
        self.walkers = [
            Walker(p["label"], tuple(p["extent"]), tuple(map(tuple, p["trail"])), tuple(glimpses[p["id"]]))
            for p in log.get("people", ())
        ]

    def base(self, agent: str, stamp_ns: int) -> Vec3:
        """x, y, yaw of a robot in its last frame up to a time."""
        trail = self.trail[agent]
        return trail[max(0, bisect_right(trail, stamp_ns, key=lambda p: p[0]) - 1)][1]

    def named(self, thing: Thing) -> str:
        """What people call it so that nothing else is meant: its kind, with its colour where that tells it apart.

        '': there is no such name.
        """
        alike = [t for t in self.things if t is not thing and t.seen and related(t.label, thing.label)]
        if not alike:
            return thing.label
        plain = plain_color(thing.color)
        others = [plain_color(t.color) if t.label == thing.label else "" for t in alike]
        if thing.name not in MIXED and plain and not {"", plain} & set(others):
            return f"{plain} {thing.label}"
        return ""

    def room_of(self, x: float, y: float) -> str:
        """The room that a point of the floor is in; '': none."""
        return next((name for name, polygon in self._polygons if inside_polygon(polygon, [(x, y)])[0]), "")

    def is_inside(self, stay: Stay) -> bool:
        """Whether its middle is plainly in one room: a door stands on the line between two."""
        x, y, _ = stay.box.pose.position
        around = ((BORDER_M, 0.0), (-BORDER_M, 0.0), (0.0, BORDER_M), (0.0, -BORDER_M))
        return {self.room_of(x + dx, y + dy) for dx, dy in around} == {stay.room}

    def where_now(self, thing: Thing) -> Stay | None:
        """Its place now, if what was seen tells it."""
        return thing.at(self.now_ns) if thing.is_known_at(self.now_ns, self.now_ns) else None


PLAIN = {"dark green": "green", "light blue": "blue"}
COLORS = ("red", "green", "blue", "yellow", "white", "black", "brown", "orange", "purple", "grey")


def plain_color(color: str) -> str:
    """The colour in everyday words; '' for what people would name in several ways (wood, steel, dark grey)."""
    plain = PLAIN.get(color, color)
    return plain if plain in COLORS else ""


def related(a: str, b: str) -> bool:
    """Whether one kind's name may be meant by the other's."""
    return a == b or any(a in family and b in family for family in FAMILIES)


def gap(a: Box, b: Box) -> float:
    """Free space between two boxes aligned with the map, metres."""
    apart = [
        max(0.0, abs(p - q) - (m + n) / 2)
        for p, q, m, n in zip(a.pose.position, b.pose.position, a.extent, b.extent, strict=True)
    ]
    return math.hypot(*apart)


def _thing(logged: Mapping[str, Any], glimpses: list[tuple[int, int]], emptied: Mapping[str, int]) -> Thing:
    stays = []
    for k, stay in enumerate(logged["stays"]):
        box = Box(Pose(tuple(stay["centre"])), tuple(stay["extent"]))
        seen_empty = emptied.get(f"{logged['id']}@{stay['start_ns']}", 0)
        surface = surface_under(box)
        stays.append(Stay(stay["start_ns"], stay["end_ns"], box, stay["room"], surface, k == 0, seen_empty))
    return Thing(
        logged["id"],
        logged["name"],
        logged["label"],
        logged["color"],
        logged["movable"],
        tuple(stays),
        tuple(glimpses),
    )


def ago_s(stamp_ns: int, now_ns: int) -> float:
    """Seconds from a stamp to now."""
    return (now_ns - stamp_ns) / NS_PER_S
