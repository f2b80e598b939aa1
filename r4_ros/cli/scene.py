"""What a picture of a memory shows at one time: rooms, ways, things and what became of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from r4_ros.core.geometry import corners, yaw_of
from r4_ros.core.model import Box, EntryState, Event, EventKind, Evidence, PlacedEntry, Region, TrailPoint

Point = tuple[float, float]

BREAK_M = 2.0
"""Trail points farther apart belong to two walks (the robot was carried, or relocalised)."""
FLAT_M, FLAT_M2 = 0.12, 0.5
SAME_SHARE, SAME_M = 0.3, 0.15
"""Two boxes with one label are drawn as one thing if they share this much of the smaller one, or are this near."""


@dataclass(frozen=True)
class Thing:
    """One entry as it is drawn: its footprint from above, its state and, if it was moved, from where (metres).

    ``known_ns``: when its state was last looked at. ``named``: its label is drawn; not that of a part of another one.
    """

    entry_id: str
    agent_id: str
    label: str
    footprint: tuple[Point, ...]
    height: float
    state: EntryState
    moved_from: Point | None = None
    thickness: float = 1.0
    known_ns: int = 0
    named: bool = True

    @property
    def centre(self) -> Point:
        """Middle of the footprint."""
        left, bottom, right, top = self.bounds
        return (left + right) / 2, (bottom + top) / 2

    @property
    def is_flat(self) -> bool:
        """Whether it lies there as a carpet does: large and thin."""
        return self.thickness < FLAT_M and _area(self.bounds) > FLAT_M2

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x and y, greatest x and y of the footprint."""
        xs, ys = zip(*self.footprint, strict=True)
        return min(xs), min(ys), max(xs), max(ys)


@dataclass(frozen=True)
class Walk:
    """The way of one agent: its pieces (x, y, share of the time span 0..1), its length and where it heads."""

    agent_id: str
    pieces: tuple[tuple[tuple[float, float, float], ...], ...]
    length: float
    heading: float


@dataclass(frozen=True)
class Scene:
    """All that is drawn, in metres of one map seen from above."""

    map_id: str
    start_ns: int
    end_ns: int
    things: tuple[Thing, ...] = ()
    walks: tuple[Walk, ...] = ()
    regions: tuple[Region, ...] = ()
    other_maps: tuple[str, ...] = ()

    def points(self) -> list[Point]:
        """Everything that must be inside the picture."""
        points = [p for thing in self.things for p in thing.footprint]
        points += [thing.moved_from for thing in self.things if thing.moved_from]
        points += [(x, y) for walk in self.walks for piece in walk.pieces for x, y, _ in piece]
        return points + [p for region in self.regions for p in region.polygon]


def make_scene(
    placed: Iterable[PlacedEntry | Evidence],
    trails: Iterable[Sequence[TrailPoint]],
    regions: Iterable[Region] = (),
    events: Iterable[Event] = (),
    end_ns: int = 0,
) -> Scene:
    """Arrange what is remembered of the map with the most in it. ``end_ns``: the time that is looked at."""
    entries, ways = list(placed), [list(trail) for trail in trails]
    maps = Counter(e.map_id for e in entries) or Counter(p.map_id for way in ways for p in way)
    map_id = maps.most_common(1)[0][0] if maps else ""
    entries = [e for e in entries if e.map_id == map_id]
    ways = [[p for p in way if p.map_id == map_id] for way in ways]
    stamps = [p.stamp_ns for way in ways for p in way] + [s for e in entries for s in (e.first_seen, e.last_seen)]
    start_ns, end_ns = min(stamps, default=end_ns), end_ns or max(stamps, default=0)
    events = list(events)
    old_places, absent = _old_places(events), _found_absent(events)
    things = [
        replace(_thing(e, old_places.get(e.entry_id)), known_ns=max(e.last_seen, absent.get(e.entry_id, 0)))
        for e in sorted(entries, key=lambda e: e.entry_id)
    ]
    return Scene(
        map_id=map_id,
        start_ns=min(start_ns, end_ns),
        end_ns=end_ns,
        things=tuple(fused(things)),
        walks=tuple(_walk(way, start_ns, end_ns) for way in ways if way),
        regions=tuple(r for r in regions if r.map_id in ("", map_id)),
        other_maps=tuple(sorted(m for m in maps if m != map_id)),
    )


def fused(things: Sequence[Thing]) -> list[Thing]:
    """What several agents saw of one thing is drawn once, as the agent that looked last knows it.

    Parts of one thing that an agent took for several stay, but only the largest is named.
    """
    groups: list[list[Thing]] = []
    for thing in sorted(things, key=lambda t: (-_area(t.bounds), t.entry_id)):
        group = next((g for g in groups if any(_is_same(thing, other) for other in g)), None)
        if group is None:
            groups.append([thing])
        else:
            group.append(thing)
    result = []
    for group in groups:
        agent = max(group, key=lambda t: (t.known_ns, t.agent_id)).agent_id
        kept = [t for t in group if t.agent_id == agent]
        result += [replace(t, named=k == 0) for k, t in enumerate(kept)]
    return result


def _is_same(a: Thing, b: Thing) -> bool:
    if a.label != b.label or (a.agent_id == b.agent_id and a.state != b.state):
        return False
    p, q = a.bounds, b.bounds
    shared = _area((max(p[0], q[0]), max(p[1], q[1]), min(p[2], q[2]), min(p[3], q[3])))
    return shared > SAME_SHARE * min(_area(p), _area(q)) or math.dist(a.centre, b.centre) < SAME_M


def _area(bounds: tuple[float, float, float, float]) -> float:
    return max(0.0, bounds[2] - bounds[0]) * max(0.0, bounds[3] - bounds[1])


def footprint(box: Box) -> tuple[Point, ...]:
    """Outline of a box from above: the convex hull of its corners, counter-clockwise."""
    points = corners(box)[:, :2]
    try:
        points = points[ConvexHull(points).vertices]
    except QhullError:  # a point, or a line
        points = np.unique(points, axis=0)
    return tuple((x, y) for x, y in points.tolist())


def _thing(entry: PlacedEntry | Evidence, old_place: Point | None) -> Thing:
    thickness = entry.box.extent[2]
    top = entry.box.pose.position[2] + thickness / 2
    outline = footprint(entry.box)
    thing = Thing(entry.entry_id, entry.agent_id, entry.label, outline, top, entry.state, old_place, thickness)
    if old_place and (entry.state is EntryState.GONE or math.dist(old_place, thing.centre) < 0.1):
        return replace(thing, moved_from=None)
    return thing


def _old_places(events: Iterable[Event]) -> dict[str, Point]:
    """Where the things that were moved or came back stood before, by entry; the last time counts."""
    places: dict[str, Point] = {}
    for event in sorted(events, key=lambda e: (e.stamp_ns, e.event_id)):
        place = event.from_place
        if event.kind in (EventKind.MOVED, EventKind.REAPPEARED) and place and all(map(math.isfinite, place)):
            places[event.entry_id] = (place[0], place[1])
    return places


def _found_absent(events: Iterable[Event]) -> dict[str, int]:
    """When each entry was last found absent."""
    gone = [e for e in events if e.kind is EventKind.DISAPPEARED]
    return {e.entry_id: e.latest_ns for e in sorted(gone, key=lambda e: e.latest_ns)}


def _walk(way: Sequence[TrailPoint], start_ns: int, end_ns: int) -> Walk:
    span = max(end_ns - start_ns, 1)
    pieces: list[list[tuple[float, float, float]]] = []
    length = 0.0
    for point in sorted(way, key=lambda p: p.stamp_ns):
        x, y, _ = point.pose.position
        step = math.dist(pieces[-1][-1][:2], (x, y)) if pieces else math.inf
        if step > BREAK_M:
            pieces.append([])
        else:
            length += step
        pieces[-1].append((x, y, (point.stamp_ns - start_ns) / span))
    last = max(way, key=lambda p: p.stamp_ns)
    return Walk(last.agent_id, tuple(map(tuple, pieces)), length, yaw_of(last.pose.orientation))
