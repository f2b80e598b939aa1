"""What agents did themselves, by their trails: when they entered and left a region, as events without an entry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from r4_ros.core.geometry import inside_polygon
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import Event, EventKind, Region, TrailPoint
from r4_ros.memory.index import Mask, Slots
from r4_ros.memory.trails import Trails

_SHORT_NS = nanoseconds(1.0)  # a step over the threshold and back is no visit


def ways(trails: Trails, agents: Sequence[str], regions: Sequence[Region], until_ns: int) -> list[Event]:
    """ENTERED and LEFT events of agents and regions (one name may be several polygons), oldest first.

    Where an agent was when its trail began (or last known) it entered (left) at a time that isn't known: no event.
    """
    found: list[Event] = []
    for agent in agents:
        trail = trails.between(agent, 0, until_ns + 1)
        for name in dict.fromkeys(r.name for r in regions):
            found += _crossings(agent, trail, [r for r in regions if r.name == name])
    return sorted(found, key=lambda e: (e.stamp_ns, e.event_id))


def _crossings(agent: str, trail: Sequence[TrailPoint], regions: Sequence[Region]) -> list[Event]:
    """One agent's crossings of one region's border; bounded by the frames before and after."""
    if len(trail) < 2:
        return []
    places = np.array([p.pose.position[:2] for p in trail])
    inside = np.zeros(len(trail), bool)
    for region in regions:
        here = np.array([region.map_id in ("", p.map_id) for p in trail])
        inside |= here & inside_polygon(region.polygon, places)
    stamps = np.array([p.stamp_ns for p in trail])
    _forget_short(inside, stamps)
    crossed = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    return [_event(agent, trail[i - 1], trail[i], bool(inside[i]), regions[0].name) for i in crossed.tolist()]


def _forget_short(inside: Mask, stamps: Slots) -> None:
    """Being in or out for less than a second, between two of the opposite, doesn't count."""
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if stamps[end] - stamps[start] < _SHORT_NS:
            inside[start:end] = inside[start - 1]


def _event(agent: str, before: TrailPoint, after: TrailPoint, entered: bool, region: str) -> Event:
    kind = EventKind.ENTERED if entered else EventKind.LEFT
    return Event(
        event_id=f"{agent}:{kind.name.lower()}:{region}:{after.stamp_ns}",
        kind=kind,
        entry_id="",
        agent_id=agent,
        label=region,
        stamp_ns=after.stamp_ns,
        earliest_ns=before.stamp_ns,
        latest_ns=after.stamp_ns,
        map_id=after.map_id,
        place=after.pose.position,
    )
