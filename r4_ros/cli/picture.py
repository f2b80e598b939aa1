"""A memory from above as one picture: rooms, ways over time, things, what was moved and what is gone."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path

import numpy as np

from r4_ros.cli.labels import Named, Rect, leader, place_in_polygon, place_labels
from r4_ros.cli.pencil import Colour, Pencil, Point, mix
from r4_ros.cli.scene import Scene, Thing, Walk
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import NS_PER_S, EntryState

PAPER: Colour = (250, 249, 246)
INK: Colour = (38, 43, 51)
SOFT_INK: Colour = (110, 117, 128)
GRID: Colour = (226, 225, 219)
WALL: Colour = (150, 152, 158)
HALO: Colour = (255, 255, 255, 225)
MOVED: Colour = (214, 108, 0)
ROOMS: tuple[Colour, ...] = (
    (228, 237, 245),
    (246, 238, 222),
    (229, 242, 230),
    (246, 230, 230),
    (237, 231, 246),
    (226, 243, 242),
    (244, 241, 219),
    (240, 234, 228),
)
KINDS: tuple[Colour, ...] = (
    (96, 140, 190),
    (214, 156, 92),
    (112, 168, 120),
    (184, 128, 170),
    (200, 120, 110),
    (98, 168, 172),
    (176, 164, 90),
    (140, 132, 196),
    (150, 150, 150),
    (190, 140, 130),
)
AGENTS: tuple[Colour, ...] = ((31, 102, 196), (22, 140, 84), (142, 62, 172), (170, 92, 20), (0, 134, 150))
STATES: dict[EntryState, tuple[Colour, str]] = {
    EntryState.PRESENT: ((30, 38, 52), "in view now"),
    EntryState.UNKNOWN: ((88, 98, 114), "seen before"),
    EntryState.GONE: ((196, 48, 48), "found gone"),
}
MARGIN, HEADER, SIDE, FOOTER = 24, 84, 256, 54
SMALL_PX = 11.0
LABEL_PX = ((60, 14), (140, 13), (10**9, 12))
"""Size of names for at most so many things."""
CALENDAR_FROM_NS = 10 * 365 * 86_400 * NS_PER_S
"""Stamps before 1980 are a simulation's or a boot's clock: shown as time since the start."""


@dataclass(frozen=True)
class Sheet:
    """Where metres go on the picture: x to the right, y up."""

    width: int
    height: int
    plot: Rect
    metre: float
    left_m: float
    top_m: float

    def at(self, point: Sequence[float]) -> Point:
        """A point of the map on the picture."""
        return (
            self.plot[0] + (point[0] - self.left_m) * self.metre,
            self.plot[1] + (self.top_m - point[1]) * self.metre,
        )

    def bounds(self, points: Sequence[Point]) -> Rect:
        """Rectangle on the picture around points of the map."""
        xs, ys = zip(*(self.at(p) for p in points), strict=True)
        return min(xs), min(ys), max(xs), max(ys)


def draw(scene: Scene, path: Path, size: int = 1600) -> Path:
    """Draw the scene as PNG, ``size`` pixels wide. Raises InvalidArgument if that can't be done."""
    points = scene.points()
    if not points:
        raise InvalidArgument("the memory is empty: there is nothing to draw at that time")
    sheet = _sheet(points, size)
    pencil = Pencil(sheet.width, sheet.height, PAPER)
    _ground(pencil, sheet, scene)
    colours = _agent_colours(scene)
    owners = colours if _of_several_agents(scene) else {}
    for walk in scene.walks:
        _way(pencil, sheet, walk, colours[walk.agent_id])
    for thing in sorted(scene.things, key=lambda t: (t.height, t.entry_id)):
        _thing(pencil, sheet, thing, owners.get(thing.agent_id))
    for thing in scene.things:
        _move(pencil, sheet, thing)
    for walk in scene.walks:
        _ends(pencil, sheet, walk, colours[walk.agent_id])
    hidden = _labels(pencil, sheet, scene)
    _header(pencil, scene)
    _legend(pencil, sheet, scene, hidden)
    _scale_bar(pencil, sheet)
    try:
        pencil.save(path)
    except OSError as error:
        raise InvalidArgument(f"can't write the picture {path}: {error.strerror or error}") from error
    return path


def _agent_colours(scene: Scene) -> dict[str, Colour]:
    agents = sorted({walk.agent_id for walk in scene.walks} | {thing.agent_id for thing in scene.things})
    return {agent: AGENTS[index % len(AGENTS)] for index, agent in enumerate(agents)}


def _of_several_agents(scene: Scene) -> bool:
    return len({thing.agent_id for thing in scene.things}) > 1


def _sheet(points: Sequence[Point], size: int) -> Sheet:
    cloud = np.asarray(points, float)
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    extent = np.maximum(high - low, (4.0, 2.4))
    low = (low + high) / 2 - extent / 2 * 1.08 - 0.15
    high = low + extent * 1.08 + 0.3
    plot_width = size - 2 * MARGIN - SIDE
    metre = plot_width / (high - low)[0]
    plot_height = float(np.clip((high - low)[1] * metre, 0.45 * plot_width, 0.95 * plot_width))
    metre = min(metre, plot_height / (high - low)[1])
    spare = np.array([plot_width, plot_height]) / metre - (high - low)
    plot = (float(MARGIN), float(HEADER), float(MARGIN + plot_width), HEADER + plot_height)
    height = math.ceil(plot[3] + FOOTER + 12)
    return Sheet(size, height, plot, float(metre), float(low[0] - spare[0] / 2), float(high[1] + spare[1] / 2))


def _ground(pencil: Pencil, sheet: Sheet, scene: Scene) -> None:
    left, top, right, bottom = sheet.plot
    pencil.panel(sheet.plot, (255, 255, 255), GRID)
    for index, region in enumerate(scene.regions):
        pencil.polygon([sheet.at(p) for p in region.polygon], ROOMS[index % len(ROOMS)])
    step = int(_round_length(40 / sheet.metre, 1))
    for k in range(math.ceil(sheet.left_m / step), math.floor(sheet.left_m + (right - left) / sheet.metre) // step + 1):
        x = sheet.at((k * step, 0))[0]
        pencil.line([(x, top), (x, bottom)], (*GRID[:3], 150), 0.5 if k else 1.2)
    bottom_m = sheet.top_m - (bottom - top) / sheet.metre
    for k in range(math.ceil(bottom_m / step), math.floor(sheet.top_m / step) + 1):
        y = sheet.at((0, k * step))[1]
        pencil.line([(left, y), (right, y)], (*GRID[:3], 150), 0.5 if k else 1.2)
    for region in scene.regions:
        pencil.outline([sheet.at(p) for p in region.polygon], WALL, 2.2)


def _round_length(least: float, smallest: float) -> float:
    """The first of 1, 2, 5, 10 ... times ``smallest`` that isn't less."""
    steps = (smallest * base * 10**power for power in range(12) for base in (1, 2, 5))
    return next((step for step in steps if step >= least), least)


def _way(pencil: Pencil, sheet: Sheet, walk: Walk, colour: Colour) -> None:
    pale = mix(colour, (255, 255, 255), 0.72)
    for piece in walk.pieces:
        drawn = [(*sheet.at(piece[0]), piece[0][2])]
        for x, y, share in piece[1:]:
            spot = sheet.at((x, y))
            if math.dist(spot, drawn[-1][:2]) >= 2.0:
                drawn.append((*spot, share))
        for (ax, ay, _), (bx, by, share) in pairwise(drawn):
            pencil.line([(ax, ay), (bx, by)], mix(pale, colour, share), 2.6)
            pencil.disc((bx, by), 1.3, mix(pale, colour, share))
        _chevrons(pencil, drawn, colour, pale)


def _chevrons(pencil: Pencil, drawn: Sequence[tuple[float, float, float]], colour: Colour, pale: Colour) -> None:
    walked = 60.0
    for (ax, ay, _), (bx, by, share) in pairwise(drawn):
        walked += math.dist((ax, ay), (bx, by))
        if walked > 120:
            pencil.wedge((bx, by), math.atan2(by - ay, bx - ax), 9, mix(pale, colour, min(1.0, share + 0.15)))
            walked = 0.0


def _ends(pencil: Pencil, sheet: Sheet, walk: Walk, colour: Colour) -> None:
    first, last = sheet.at(walk.pieces[0][0]), sheet.at(walk.pieces[-1][-1])
    pencil.disc(first, 4.5, (255, 255, 255), colour, 2.5)
    heading = -walk.heading
    tip = (last[0] + 13 * math.cos(heading), last[1] + 13 * math.sin(heading))
    pencil.disc(last, 9, (255, 255, 255, 235))
    pencil.wedge(tip, heading, 22, colour)


def _is_small(bounds: Rect) -> bool:
    return max(bounds[2] - bounds[0], bounds[3] - bounds[1]) < SMALL_PX


def _thing(pencil: Pencil, sheet: Sheet, thing: Thing, owner: Colour | None = None) -> None:
    colour = STATES[thing.state][0]
    present, gone = thing.state is EntryState.PRESENT, thing.state is EntryState.GONE
    edge = owner if owner and not gone else colour
    fill = KINDS[zlib.crc32(thing.label.encode()) % len(KINDS)]
    outline = [sheet.at(p) for p in thing.footprint]
    bounds = sheet.bounds(thing.footprint)
    if _is_small(bounds) or len(outline) < 3:
        spot = ((bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2)
        pencil.disc(spot, 4.2, (255, 255, 255) if gone else edge, colour if gone else (255, 255, 255), 1.4)
        if gone:
            _cross(pencil, (spot[0] - 5, spot[1] - 5, spot[0] + 5, spot[1] + 5), colour, 1.6)
        return
    pencil.polygon(
        outline, (*colour[:3], 22) if gone else (*fill[:3], 80 if thing.is_flat else 190 if present else 130)
    )
    pencil.outline(outline, (*edge[:3], 170 if gone else 235), 2.4 if present else 1.4, dash=6 if gone else 0)
    if gone:
        reach = min(12.0, (bounds[2] - bounds[0]) / 3, (bounds[3] - bounds[1]) / 3)
        x, y = (bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2
        _cross(pencil, (x - reach, y - reach, x + reach, y + reach), (*colour[:3], 190), 2.2)


def _cross(pencil: Pencil, rect: Rect, colour: Colour, width: float) -> None:
    left, top, right, bottom = rect
    pencil.line([(left, top), (right, bottom)], colour, width)
    pencil.line([(left, bottom), (right, top)], colour, width)


def _move(pencil: Pencil, sheet: Sheet, thing: Thing) -> None:
    if thing.moved_from is None:
        return
    old, new = sheet.at(thing.moved_from), sheet.at(thing.centre)
    shift = (thing.moved_from[0] - thing.centre[0], thing.moved_from[1] - thing.centre[1])
    ghost = [(x + shift[0], y + shift[1]) for x, y in thing.footprint]
    if _is_small(sheet.bounds(ghost)) or len(ghost) < 3:
        pencil.disc(old, 3.2, (255, 255, 255), MOVED, 1.4)
    else:
        pencil.outline([sheet.at(p) for p in ghost], (*MOVED[:3], 200), 1.4, dash=4)
    pencil.arrow(old, new, MOVED, 2.2, 11)


def _labels(pencil: Pencil, sheet: Sheet, scene: Scene) -> int:
    """Names of rooms and things; gives how many things found no room for theirs."""
    obstacles = [sheet.bounds(t.footprint) for t in scene.things]
    way = [sheet.at(p) for walk in scene.walks for piece in walk.pieces for p in piece[:: max(1, len(piece) // 400)]]
    trail = [(x - 3, y - 3, x + 3, y + 3) for x, y in way]
    marks = [sheet.at(walk.pieces[k][k]) for walk in scene.walks for k in (0, -1)]
    ends = [(x - 14, y - 14, x + 14, y + 14) for x, y in marks]
    names = _room_names(pencil, sheet, scene, [*obstacles, *trail, *ends])
    named = [(t, o) for t, o in zip(scene.things, obstacles, strict=True) if t.named]
    size = next(px for most, px in LABEL_PX if len(named) <= most)
    texts = [t.label + (" (gone)" if t.state is EntryState.GONE else "") for t, _ in named]
    items = [Named(o, pencil.text_size(text, size)) for (_, o), text in zip(named, texts, strict=True)]
    left, top, right, bottom = sheet.plot
    unnamed = [o for t, o in zip(scene.things, obstacles, strict=True) if not t.named]
    spots = place_labels(items, (left + 4, top + 4, right - 4, bottom - 4), [*unnamed, *ends, *trail], names)
    for (thing, bounds), spot in zip(named, spots, strict=True):
        line = leader(bounds, spot) if spot else None
        if line:
            pencil.line(line, (*STATES[thing.state][0][:3], 150), 1.0)
    for (thing, _), text, spot in zip(named, texts, spots, strict=True):
        if spot:
            pencil.text(spot[:2], text, size, _label_colour(thing), halo=HALO)
    return sum(spot is None for spot in spots)


def _label_colour(thing: Thing) -> Colour:
    return mix(MOVED, INK, 0.25) if thing.moved_from else mix(STATES[thing.state][0], INK, 0.3)


def _room_names(pencil: Pencil, sheet: Sheet, scene: Scene, avoid: Sequence[Rect]) -> list[Rect]:
    spots: list[Rect] = []
    for index, region in enumerate(scene.regions):
        polygon = np.asarray([sheet.at(p) for p in region.polygon])
        colour = mix(ROOMS[index % len(ROOMS)], INK, 0.45)
        for size in (21, 17, 14, 11):
            text = region.name.replace("_", " ").upper()
            spot = place_in_polygon(polygon, pencil.text_size(text, size, bold=True), [*avoid, *spots])
            if spot:
                pencil.text(spot[:2], text, size, colour, bold=True)
                spots.append(spot)
                break
    return spots


def _header(pencil: Pencil, scene: Scene) -> None:
    title = "What the robot remembers" if len(scene.walks) < 2 else "What the robots remember"
    pencil.text((MARGIN, 20), title, 25, INK, bold=True)
    where = f"map '{scene.map_id}'" if scene.map_id else ""
    count = sum(t.named for t in scene.things)
    facts = [
        where,
        when(scene.start_ns, scene.end_ns),
        f"{count} thing{'s' * (count != 1)}",
        f"not shown: {', '.join(scene.other_maps)}" if scene.other_maps else "",
    ]
    pencil.text((MARGIN, 55), "   ·   ".join(f for f in facts if f), 14, SOFT_INK)


def when(start_ns: int, end_ns: int) -> str:
    """The time span in words: the calendar's where stamps are of this age, else seconds of the run."""
    span_s = (end_ns - start_ns) / NS_PER_S
    length = (
        f"{span_s:.0f} s" if span_s < 120 else f"{span_s / 60:.0f} min" if span_s < 7200 else f"{span_s / 3600:.1f} h"
    )
    if start_ns < CALENDAR_FROM_NS:
        return f"{start_ns / NS_PER_S:.1f} s to {end_ns / NS_PER_S:.1f} s ({length})"
    first, last = (datetime.fromtimestamp(ns / NS_PER_S, timezone.utc) for ns in (start_ns, end_ns))
    end = last.strftime("%H:%M:%S" if first.date() == last.date() else "%Y-%m-%d %H:%M:%S")
    return f"{first:%Y-%m-%d %H:%M:%S} to {end} UTC ({length})"


def _legend(pencil: Pencil, sheet: Sheet, scene: Scene, hidden: int) -> None:
    x, y = sheet.plot[2] + 22, sheet.plot[1] + 4
    if scene.walks:
        y = _heading(pencil, x, y, "Ways")
    colours = _agent_colours(scene)
    for walk in scene.walks:
        colour = colours[walk.agent_id]
        for k in range(30):
            shade = mix(mix(colour, (255, 255, 255), 0.72), colour, k / 29)
            pencil.line([(x + k, y + 7), (x + k + 1, y + 7)], shade, 3)
        pencil.disc((x, y + 7), 3.5, (255, 255, 255), colour, 2)
        pencil.wedge((x + 40, y + 7), 0.0, 13, colour)
        y = _entry(pencil, x, y, walk.agent_id or "robot", f"{walk.length:.1f} m")
    y = _heading(pencil, x, y + 8, "Things") if scene.things else y
    if _of_several_agents(scene):
        pencil.text((x, y), "edge: colour of who saw it last", 12, SOFT_INK)
        y += 24
    for state, (_, meaning) in STATES.items():
        things = [t for t in scene.things if t.state is state and t.named]
        if things:
            metre = 26 / sheet.metre
            sample = Thing("", "", "", ((0, 0), (metre, 0), (metre, metre / 2), (0, metre / 2)), 1.0, state)
            side = Sheet(0, 0, (x + 4, y, 0, 0), sheet.metre, 0.0, metre / 2)
            _thing(pencil, side, sample)
            y = _entry(pencil, x, y, meaning, str(len(things)))
    moved = sum(t.moved_from is not None for t in scene.things)
    if moved:
        pencil.arrow((x + 3, y + 7), (x + 34, y + 7), MOVED, 2.2, 11)
        y = _entry(pencil, x, y, "moved", str(moved))
    if hidden:
        pencil.text((x, y + 6), f"{hidden} names left out: no room", 12, SOFT_INK)


def _heading(pencil: Pencil, x: float, y: float, text: str) -> float:
    pencil.text((x, y), text.upper(), 11, SOFT_INK, bold=True)
    return y + 22


def _entry(pencil: Pencil, x: float, y: float, text: str, number: str) -> float:
    pencil.text((x + 48, y + 1), text, 14, INK)
    width = pencil.text_size(number, 12)[0]
    pencil.text((x + SIDE - 24 - width, y + 2), number, 12, SOFT_INK)
    return y + 26


def _scale_bar(pencil: Pencil, sheet: Sheet) -> None:
    x, y = sheet.plot[0] + 4, sheet.plot[3] + FOOTER - 12
    length = _round_length(70 / sheet.metre, 0.1)
    end = x + length * sheet.metre
    pencil.line([(x, y - 5), (x, y), (end, y), (end, y - 5)], INK, 1.6)
    pencil.text((end + 10, y - 9), f"{length:g} m", 13, INK)
    origin = (sheet.plot[2] - 70, y)
    pencil.arrow(origin, (origin[0] + 34, origin[1]), (190, 60, 60), 1.8, 9)
    pencil.arrow(origin, (origin[0], origin[1] - 28), (60, 140, 70), 1.8, 9)
    pencil.text((origin[0] + 39, origin[1] - 6), "x", 13, SOFT_INK)
    pencil.text((origin[0] - 12, origin[1] - 26), "y", 13, SOFT_INK)
