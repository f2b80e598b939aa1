"""Where a thing usually is, and what it is usually beside: its stretches by place, weighted by the time there.

Places within 1 m of each other, or on the same thing, are one. Time counts half after 30 days, so that what is usual
may change; ``weight`` is the share of the time, times n / (n + 1) for n occasions. What the thing shared most of its
occasions with, within 0.5 m, goes with it, unless it stood on that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from r4_ros.core.model import NS_PER_S, Region, Vec3
from r4_ros.memory import relations
from r4_ros.memory.boxes import Boxes, gaps
from r4_ros.memory.evidence import containing
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.moments import TemporalKey
from r4_ros.memory.stretches import Stretch, Thing, occasions
from r4_ros.memory.zones import Narrow

ONE_PLACE_M = 1.0
BESIDE_M = 0.5
HALF_LIFE_NS = 30 * 86400 * NS_PER_S
MOST_OCCASIONS = 30
"""So many of the latest occasions are looked at for what a thing is beside."""
_REACH_M = 0.6
_ORIGIN = 700.0
"""In half-lives since the clock's start (2027): only ratios of times count."""


@dataclass(slots=True)
class UsualPlace:
    """One place of a thing: where on average by time, what it stands on there, and when it was there."""

    map_id: str
    stretches: list[Stretch]
    centre: Vec3
    holders: tuple[int, ...] = ()
    relation: str = ""
    regions: tuple[str, ...] = ()
    share: float = 0.0
    count: int = field(default=0)


class Neighbours:
    """What was around a thing at a time."""

    def __init__(self, index: Index, temporal: TemporalKey) -> None:
        self._index, self._temporal = index, temporal

    def around(self, thing: Thing, stretch: Stretch) -> tuple[Slots, Boxes, Boxes]:
        """Other things that were near in a stretch: slots, their boxes then, and the thing's own."""
        index, row = self._index, self._index.stays.rows_of(stretch.slot)[stretch.number]
        centre, half = index.stays["centre"][row], index.stays["half"][row]
        own = Boxes((centre - half)[None], (centre + half)[None])
        low, high = (own.low[0] - _REACH_M).tolist(), (own.high[0] + _REACH_M).tolist()
        slots, _ = index.zones.find(Narrow(tuple(low), tuple(high)))
        columns, at_ns = index.entries, stretch.end - 1
        there = columns["alive"][slots] & (columns["common"][slots] == index.maps.find(stretch.map_id))
        there &= (columns["first_seen"][slots] <= at_ns) & ~np.isin(slots, sorted(thing.slots))
        slots = np.sort(slots[there])
        slots = slots[self._temporal.present(slots, at_ns)]
        rows = self._temporal.stay_rows(slots, at_ns)
        centre, half = index.stays["centre"][rows], index.stays["half"][rows]
        return slots, Boxes(centre - half, centre + half), own.repeated(len(slots))

    def holder(self, thing: Thing, stretch: Stretch) -> tuple[int, str]:
        """What it stood on, else lay in, the smallest of several: its slot and the relation; -1: nothing known."""
        slots, boxes, own = self.around(thing, stretch)
        for relation in ("on", "in"):
            held = np.flatnonzero(relations.degrees(relation, own, boxes) >= relations.HELD)
            if len(held):
                return min((float(boxes.size[i].prod()), int(slots[i])) for i in held)[1], relation
        return -1, ""

    def beside(self, thing: Thing, stretch: Stretch) -> Slots:
        """What was within 0.5 m, and neither held it nor was held by it."""
        slots, boxes, own = self.around(thing, stretch)
        near = gaps(own, boxes) <= BESIDE_M
        for relation in ("on", "in"):
            near &= relations.degrees(relation, own, boxes) < relations.HELD
            near &= relations.degrees(relation, boxes, own) < relations.HELD
        return np.asarray(slots[near])


def usual_places(thing: Thing, neighbours: Neighbours, regions: Sequence[Region], labels: Index) -> list[UsualPlace]:
    """The places of a thing, the one with the largest share of the time first."""
    places = _by_distance(thing, regions)
    for place in places:
        longest = max(place.stretches, key=lambda s: (s.end - s.start, -s.start))
        holder, place.relation = neighbours.holder(thing, longest)
        place.holders = (holder,) if holder >= 0 else ()
        place.regions = containing(regions, place.map_id, place.centre)
    places = _on_one_thing(places, labels)
    total = sum(_time(place.stretches) for place in places)
    for place in places:
        place.share = _time(place.stretches) / total
        place.count = len(occasions(place.stretches))
    return sorted(places, key=lambda p: (-p.share, p.stretches[0].start, p.centre))


def _by_distance(thing: Thing, regions: Sequence[Region]) -> list[UsualPlace]:
    """Stretches by where they were; those of something that moves about by the region, where there is one."""
    places: list[UsualPlace] = []
    rooms: list[tuple[str, ...]] = []
    for stretch in thing.stretches:
        room = containing(regions, stretch.map_id, stretch.centre) if thing.roams else ()
        for place, known in zip(places, rooms, strict=True):
            near = math.dist(place.centre, stretch.centre) <= ONE_PLACE_M
            if place.map_id == stretch.map_id and (room == known if room or known else near):
                place.stretches.append(stretch)
                place.centre = _mean(place.stretches)
                break
        else:
            places.append(UsualPlace(stretch.map_id, [stretch], stretch.centre))
            rooms.append(room)
    return places


def _on_one_thing(places: Sequence[UsualPlace], index: Index) -> list[UsualPlace]:
    """Places on the same thing, or on what several agents know of one thing, are one."""
    merged: list[UsualPlace] = []
    for place in places:
        same = (m for m in merged if m.map_id == place.map_id and m.relation == place.relation)
        other = next((m for m in same if place.holders and _one_holder(m.holders, place.holders, index)), None)
        if other is None:
            merged.append(place)
            continue
        other.holders = tuple(sorted({*other.holders, *place.holders}))
        other.stretches = sorted([*other.stretches, *place.stretches], key=lambda s: (s.start, s.slot, s.number))
        other.centre = _mean(other.stretches)
    return merged


def _one_holder(a: Sequence[int], b: Sequence[int], index: Index) -> bool:
    if set(a) & set(b):
        return True
    columns = index.entries
    of_two = {int(columns["agent"][s]) for s in a}.isdisjoint(int(columns["agent"][s]) for s in b)
    alike = columns["label"][a[0]] == columns["label"][b[0]]
    one, other = index.centres(np.array([a[0], b[0]], np.int64))
    near = np.linalg.norm(one - other) <= ONE_PLACE_M
    return bool(of_two and alike and near)


def _time(stretches: Sequence[Stretch]) -> float:
    """Time there, s, of which what is 30 days older counts half; a glimpse counts a second."""
    return sum(max(1.0, (s.end - s.start) / NS_PER_S) * _recency(s.end) for s in stretches)


def _recency(stamp_ns: int) -> float:
    return float(2.0 ** (stamp_ns / HALF_LIFE_NS - _ORIGIN))


def _mean(stretches: Sequence[Stretch]) -> Vec3:
    times = np.array([max(NS_PER_S, s.end - s.start) for s in stretches], float)
    x, y, z = (times @ np.array([s.centre for s in stretches]) / times.sum()).tolist()
    return x, y, z
