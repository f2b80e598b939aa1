"""The apartment's rooms, walls, doorways and floors, and what a thing in it is. Map frame, metres, z up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from r4_ros.bridges.apartment.materials import COLORS, Material, paint, wood
from r4_ros.bridges.apartment.shapes import Part, Shape, bounds, box, place, sheet_quad
from r4_ros.core.model import Box, Pose, Region, Vec3

CEILING = 2.6
WALL = 0.06
"""Half the thickness of a wall: each room has its own inner half."""
DOOR_HEIGHT = 2.06


@dataclass(frozen=True)
class Room:
    """A rectangular room with its surfaces and its lamp."""

    name: str
    x0: float
    y0: float
    x1: float
    y1: float
    wall: Material
    floor: Material
    light: tuple[float, float, float] = (1.0, 0.96, 0.9)

    @property
    def centre(self) -> tuple[float, float]:
        """Middle of the floor."""
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2

    def contains(self, x: float, y: float) -> bool:
        """Whether a point of the map is on this floor."""
        return self.x0 <= x < self.x1 and self.y0 <= y < self.y1


@dataclass(frozen=True)
class Doorway:
    """An opening in a wall: on the line ``axis`` = ``line``, from ``start`` to ``end`` along the other axis."""

    rooms: tuple[str, str]
    axis: str
    line: float
    start: float
    end: float

    @property
    def centre(self) -> tuple[float, float]:
        """Middle of the opening."""
        middle = (self.start + self.end) / 2
        return (self.line, middle) if self.axis == "x" else (middle, self.line)


def _wall(r: float, g: float, b: float) -> Material:
    return Material((r, g, b), "plaster", 1.2)


PARQUET = Material(COLORS["oak"], "planks", 1.1, gloss=0.15)
ROOMS = (
    Room("living room", 0, 0, 6, 5, _wall(0.90, 0.86, 0.76), PARQUET),
    Room("kitchen", 6, 0, 10.4, 5, _wall(0.86, 0.90, 0.84), Material((0.86, 0.84, 0.79), "checker", 1.2, 0.25)),
    Room("hallway", 0, 5, 10.4, 6.6, _wall(0.93, 0.92, 0.89), PARQUET),
    Room("bedroom", 0, 6.6, 4.4, 10.8, _wall(0.74, 0.80, 0.88), Material(COLORS["beige"], "carpet", 0.5)),
    Room(
        "bathroom",
        4.4,
        6.6,
        7,
        10.8,
        Material((0.80, 0.90, 0.92), "tiles", 0.8, 0.3),
        Material((0.55, 0.62, 0.66), "tiles", 1.2, 0.3),
        (1.0, 1.0, 1.0),
    ),
    Room("study", 7, 6.6, 10.4, 10.8, _wall(0.80, 0.84, 0.76), PARQUET),
    Room("storage room", 10.4, 4.2, 12.8, 7.4, _wall(0.85, 0.85, 0.85), Material(COLORS["grey"], "stone", 1.0)),
)
DOORWAYS = (
    Doorway(("living room", "kitchen"), "x", 6, 1.6, 2.9),
    Doorway(("living room", "hallway"), "y", 5, 3.9, 4.85),
    Doorway(("kitchen", "hallway"), "y", 5, 8.9, 9.85),
    Doorway(("bedroom", "hallway"), "y", 6.6, 1.6, 2.55),
    Doorway(("bathroom", "hallway"), "y", 6.6, 5.3, 6.25),
    Doorway(("study", "hallway"), "y", 6.6, 7.9, 8.85),
    Doorway(("storage room", "hallway"), "x", 10.4, 5.35, 6.25),
)
EXTENT = (0.0, 0.0, 12.8, 10.8)
"""The ground that the rooms cover: x0, y0, x1, y1."""


@dataclass(frozen=True, eq=False)
class Thing:
    """One object: what it is and where it stands. ``shape`` is in its local frame."""

    instance_id: int
    name: str
    label: str
    shape: Shape = field(repr=False)
    position: Vec3
    yaw: float = 0.0
    color: str = ""
    movable: bool = False

    def placed(self) -> Shape:
        """The shape in the map frame."""
        return place(self.shape, self.position, self.yaw)

    def moved(self, position: Vec3, yaw: float | None = None) -> Thing:
        """The same thing elsewhere."""
        return replace(self, position=position, yaw=self.yaw if yaw is None else yaw)

    def box(self) -> Box:
        """Its bounds, axis-aligned with the map."""
        low, high = bounds(self.placed())
        centre, extent = (low + high) / 2, high - low
        return Box(
            Pose((float(centre[0]), float(centre[1]), float(centre[2]))),
            (float(extent[0]), float(extent[1]), float(extent[2])),
        )


def room_at(x: float, y: float) -> str:
    """The room's name; '' outside."""
    return next((room.name for room in ROOMS if room.contains(x, y)), "")


def regions() -> list[Region]:
    """The rooms as regions of the map."""
    return [
        Region(
            room.name, ((room.x0, room.y0), (room.x1, room.y0), (room.x1, room.y1), (room.x0, room.y1)), 0.0, CEILING
        )
        for room in ROOMS
    ]


def shell() -> Shape:
    """Floors, ceilings, walls, skirting and door frames, in the map frame."""
    parts: Shape = []
    for room in ROOMS:
        parts.append(_slab(room, 0.0, room.floor))
        parts.append(_slab(room, CEILING, Material((0.95, 0.95, 0.94), "plaster", 1.2)))
        parts += _walls(room)
    return parts + [part for doorway in DOORWAYS for part in _frame(doorway)]


def _slab(room: Room, z: float, material: Material) -> Part:
    quad = np.array([[room.x0, room.y0, z], [room.x1, room.y0, z], [room.x1, room.y1, z], [room.x0, room.y1, z]])
    return sheet_quad(quad, material)


def _walls(room: Room) -> Shape:
    """The four inner half walls of a room, with its doorways left open."""
    parts: Shape = []
    for axis, line, inward in (("x", room.x0, 1), ("x", room.x1, -1), ("y", room.y0, 1), ("y", room.y1, -1)):
        start, end = (room.y0, room.y1) if axis == "x" else (room.x0, room.x1)
        gaps = sorted((d.start, d.end) for d in DOORWAYS if d.axis == axis and d.line == line and room.name in d.rooms)
        at = start
        for low, high in [*gaps, (end, end)]:
            parts += _wall_piece(axis, line, inward, (at, low), (0.0, CEILING), room.wall)
            parts += _wall_piece(axis, line, inward, (low, high), (DOOR_HEIGHT, CEILING), room.wall)
            at = high
    return parts


def _wall_piece(
    axis: str, line: float, inward: int, span: tuple[float, float], height: tuple[float, float], material: Material
) -> Shape:
    length = span[1] - span[0]
    if length <= 0:
        return []
    parts = [_bar(axis, line + inward * WALL / 2, WALL, span, height, material)]
    if height[0] == 0:
        skirting = WALL + 0.012
        parts.append(_bar(axis, line + inward * skirting / 2, skirting, span, (0.0, 0.09), paint("white", 0.2)))
    return parts


def _bar(
    axis: str, middle: float, thick: float, span: tuple[float, float], height: tuple[float, float], material: Material
) -> Part:
    along, length = (span[0] + span[1]) / 2, span[1] - span[0]
    rise = height[1] - height[0]
    if axis == "x":
        return box((thick, length, rise), (middle, along, height[0]), material)
    return box((length, thick, rise), (along, middle, height[0]), material)


def _frame(doorway: Doorway) -> Shape:
    material, trim = paint("white", 0.25), 0.05
    depth = 2 * WALL + 0.04
    low, high = doorway.start, doorway.end
    inside = 0.01  # the frame covers the wall's cut edges
    spans = [((low - trim, low + inside), (0.0, DOOR_HEIGHT)), ((high - inside, high + trim), (0.0, DOOR_HEIGHT))]
    spans.append(((low - trim, high + trim), (DOOR_HEIGHT - inside, DOOR_HEIGHT + trim)))
    parts = [_bar(doorway.axis, doorway.line, depth, span, height, material) for span, height in spans]
    sill = _bar(doorway.axis, doorway.line, 2 * WALL, (low, high), (0.0, 0.008), wood("walnut"))
    return [*parts, sill]
