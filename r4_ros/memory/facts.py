"""Facts (semantic memory), made when asked for from entries, events and episodes; nothing of them is stored.

So they are what the memory of now adds up to: new evidence, corrections, merges and moved anchors change them with no
more ado, and they never change an entry. The same memory gives the same facts.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from datetime import date, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from r4_ros.core import intervals
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import FOREVER, NS_PER_S, EventKind, Fact, FactKind, Interval, Region
from r4_ros.core.template import DESCRIBED_BY
from r4_ros.memory import habits
from r4_ros.memory.attributes import ESTABLISHED, LASTING
from r4_ros.memory.boxes import Boxes
from r4_ros.memory.episodes import EpisodeBook
from r4_ros.memory.habits import Habit
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.store import MemoryStore, StoredEvent
from r4_ros.memory.stretches import Stretch, Thing, Things, occasions
from r4_ros.memory.usual import MOST_OCCASIONS, Neighbours, UsualPlace, usual_places
from r4_ros.memory.zones import Narrow

MOST_SOURCES = 50
FEWEST, REGULARLY = 3, 0.5
_KNOWN_WITHIN_NS = 2 * 3600 * NS_PER_S
_MOST_HELD, _MOST_KEPT = 300, 32
_ABOVE_M = 0.6


class FactMaker:
    """Adds up. The caller holds the library's lock."""

    def __init__(
        self, store: MemoryStore, index: Index, things: Things, neighbours: Neighbours, episodes: EpisodeBook
    ) -> None:
        self._store, self._index, self._things, self._near = store, index, things, neighbours
        self._episodes = episodes
        self._made: OrderedDict[object, list[Fact]] = OrderedDict()

    def of(
        self,
        slots: Iterable[int],
        agents: Sequence[str],
        zone_name: str,
        now_ns: int,
        regions: Sequence[Region],
        revision: int,
    ) -> list[Fact]:
        """Facts of these entries, and of what is usually on or in them; by kind, the weightiest first.

        Raises InvalidArgument for an unknown time zone.
        """
        slots = sorted(slots)
        key = (tuple(slots), tuple(agents), zone_name, now_ns, revision)
        if key not in self._made:
            zone = zone_of(zone_name)
            things = self._things.of(slots, agents, now_ns)
            made = [fact for thing in things for fact in self._of_thing(thing, zone, now_ns, regions)]
            made += self._held_by(things, agents, zone, now_ns, regions)
            distinct = {fact.fact_id: fact for fact in made}.values()
            self._made[key] = sorted(distinct, key=lambda f: (f.kind, -f.weight, f.label, f.first_ns, f.fact_id))
            if len(self._made) > _MOST_KEPT:
                self._made.popitem(last=False)
        return self._made[key]

    def _of_thing(self, thing: Thing, zone: tzinfo, now_ns: int, regions: Sequence[Region]) -> list[Fact]:
        if not thing.stretches:
            return []
        places = usual_places(thing, self._near, regions, self._index)
        total = sum(place.count for place in places)
        made = [self._usual(thing, place, total) for place in places]
        made += self._together(thing)
        if thing.stretches[0].start >= habits.CLOCK_EPOCH_NS:
            made += self._place_habits(thing, places, zone, now_ns)
            made += self._state_habits(thing, zone, now_ns)
            made += self._event_habits(thing, zone, now_ns)
        return made + self._said(thing, now_ns)

    def _held_by(
        self, holders: Sequence[Thing], agents: Sequence[str], zone: tzinfo, now_ns: int, regions: Sequence[Region]
    ) -> list[Fact]:
        """Usual places of other things that are on or in these."""
        slots = {slot for thing in holders for slot in thing.slots}
        if not slots or len(slots) > _MOST_KEPT:
            return []
        ids = {self._index.ids[slot] for slot in slots}
        others = self._things.of(self._above(slots), agents, now_ns)
        made = [
            self._usual(thing, place, sum(p.count for p in places))
            for thing in others
            if thing.slots.isdisjoint(slots) and thing.stretches
            for places in [usual_places(thing, self._near, regions, self._index)]
            for place in places
        ]
        return [fact for fact in made if ids & set(fact.object_ids)]

    def _above(self, slots: set[int]) -> list[int]:
        """Entries that ever stood within or right above these."""
        found: set[int] = set()
        for slot in sorted(slots):
            box = Boxes(*self._index.corners(np.array([slot])))
            (x0, y0, z0), (x1, y1, z1) = box.low[0].tolist(), box.high[0].tolist()
            near, _ = self._index.zones.find(Narrow((x0, y0, z0), (x1, y1, z1 + _ABOVE_M)))
            low, high = self._index.corners(near)
            meets = (low <= (x1, y1, z1 + _ABOVE_M)).all(axis=1) & (high >= (x0, y0, z0)).all(axis=1)
            small = (high - low)[:, :2].prod(axis=1) <= box.size[0, :2].prod()
            found.update(near[meets & small & self._index.entries["alive"][near]].tolist())
        return sorted(found - slots)[:_MOST_HELD]

    # Places and company.

    def _usual(self, thing: Thing, place: UsualPlace, total: int) -> Fact:
        return _fact(
            FactKind.USUAL_PLACE,
            thing,
            _on(place, self._index),
            [stretch.source for stretch in place.stretches],
            Interval(place.stretches[0].start, max(s.end for s in place.stretches) - 1),
            object_ids=tuple(self._index.ids[slot] for slot in place.holders),
            region=place.regions[0] if place.regions else "",
            map_id=place.map_id,
            place=place.centre,
            weight=place.share * total / (total + 1),
            count=place.count,
            total=total,
            time_ns=sum(s.end - s.start for s in place.stretches),
        )

    def _together(self, thing: Thing) -> list[Fact]:
        """What was beside it on most occasions."""
        seen = occasions(thing.stretches)[-MOST_OCCASIONS:]
        if len(seen) < FEWEST:
            return []
        beside: dict[str, list[tuple[Interval, Stretch, Slots]]] = {}
        columns, labels = self._index.entries, self._index.labels.texts
        for occasion in seen:
            stretch = max((s for s in thing.stretches if s.start < occasion.end), key=lambda s: (s.end, s.start))
            near = self._near.beside(thing, stretch)
            for label in {labels[code] for code in columns["label"][near].tolist()} - {thing.label}:
                alike = near[[labels[code] == label for code in columns["label"][near].tolist()]]
                beside.setdefault(label, []).append((occasion, stretch, alike))
        made = []
        for label, times in sorted(beside.items()):
            n, total = len(times), len(seen)
            if n < FEWEST or n < REGULARLY * total:
                continue
            others = Counter(slot for _, _, slots in times for slot in slots.tolist())
            ids = tuple(self._index.ids[slot] for slot, _ in sorted(others.items(), key=lambda o: (-o[1], o[0])))
            sources = list(dict.fromkeys(stretch.source for _, stretch, _ in times))
            span = Interval(times[0][0].start, times[-1][0].end - 1)
            weight = n / total * n / (n + 1)
            made.append(
                _fact(
                    FactKind.TOGETHER,
                    thing,
                    label,
                    sources,
                    span,
                    object_ids=ids,
                    weight=weight,
                    count=n,
                    total=total,
                    time_ns=intervals.total_ns(occasion for occasion, _, _ in times),
                )
            )
        return made

    # Times of day.

    def _place_habits(self, thing: Thing, places: Sequence[UsualPlace], zone: tzinfo, now_ns: int) -> list[Fact]:
        made = []
        for place in places:
            there = [Interval(s.start, s.end) for s in place.stretches]
            elsewhere = [Interval(s.start, s.end) for p in places if p is not place for s in p.stretches]
            sources = [s.source for s in place.stretches]
            span = Interval(place.stretches[0].start, max(s.end for s in place.stretches) - 1)
            where = place.regions[0] if place.regions else ""
            name = _on(place, self._index) or (f"in {where}" if where else "there")
            ids = tuple(self._index.ids[slot] for slot in place.holders)
            more = {"object_ids": ids, "region": where, "map_id": place.map_id, "place": place.centre}
            found = habits.of_state(there, [*elsewhere, *_gone(thing, now_ns)], zone)
            made += [_habit_fact(thing, habit, name, sources, span, **more) for habit in found]
        return made

    def _state_habits(self, thing: Thing, zone: tzinfo, now_ns: int) -> list[Fact]:
        """'power: on' and the like: values that come and go."""
        made = []
        runs = [
            (s.entry.entry_id, a)
            for s in thing.entries
            for a in s.entry.attributes
            if a.name.casefold() not in LASTING
            and a.name != DESCRIBED_BY
            and a.name != DESCRIBED_BY
            and a.count >= ESTABLISHED
            and a.first_seen <= now_ns
        ]
        for name, value in sorted({(a.name, a.value) for _, a in runs}):
            mine = [(i, a, Interval(a.first_seen, min(a.last_seen, now_ns) + 1)) for i, a in runs if a.name == name]
            holds = [span for _, a, span in mine if a.value == value]
            fails = [span for _, a, span in mine if a.value != value]
            sources = list(dict.fromkeys(f"attribute {i} {name}" for i, a, _ in mine if a.value == value))
            whole = Interval(min(s.start for s in holds), max(s.end for s in holds) - 1)
            found = habits.of_state(holds, fails, zone)
            made += [_habit_fact(thing, habit, f"{name}: {value}", sources, whole) for habit in found]
        return made

    def _event_habits(self, thing: Thing, zone: tzinfo, now_ns: int) -> list[Fact]:
        """When it usually comes, goes, is moved, or changes."""
        known = [e for e in self._store.events(slots=sorted(thing.slots)) if _is_timed(e, now_ns)]
        days = self._days_seen(thing.agents, zone, now_ns) if known else []
        kinds: dict[str, list[StoredEvent]] = {}
        for stored in known:
            kinds.setdefault(_what(stored), []).append(stored)
        made = []
        for what, events in sorted(kinds.items()):
            sources = [f"event {e.event.event_id}" for e in events]
            span = Interval(events[0].event.earliest_ns, events[-1].event.latest_ns)
            found = habits.of_events((e.event.stamp_ns for e in events), days, zone)
            made += [_habit_fact(thing, habit, what, sources, span) for habit in found]
        return made

    def _days_seen(self, agents: Sequence[str], zone: tzinfo, now_ns: int) -> list[date]:
        """Local days on which these agents saw anything."""
        sightings = self._index.sightings
        rows = (sightings["slot"] >= 0) & (sightings["start"] <= now_ns)
        owner = self._index.entries["agent"][sightings["slot"][rows]]
        rows[rows] = np.isin(owner, self._index.agents.find_all(agents))
        hours = np.unique(sightings["start"][rows] // (900 * NS_PER_S))
        return sorted({habits.local(int(hour) * 900 * NS_PER_S, zone)[0] for hour in hours})

    # What was said.

    def _said(self, thing: Thing, now_ns: int) -> list[Fact]:
        slots, made = self._index.slots, []
        for said in self._episodes.ties.said(now_ns):
            if slots.get(said[-1].entry_id, -1) not in thing.slots:
                continue
            kind = FactKind.OWNER if said[-1].owns else FactKind.NAME
            count = sum(tie.holds for tie in said)
            sources = [f"episode {tie.episode_id}" for tie in said]
            span = Interval(said[0].stamp_ns, said[-1].stamp_ns)
            weight = count / (len(said) + 1)
            made.append(_fact(kind, thing, said[-1].name, sources, span, weight=weight, count=count, total=len(said)))
        return made


def zone_of(name: str) -> tzinfo:
    """A time zone by its IANA name; empty: UTC. Raises InvalidArgument for an unknown one."""
    try:
        return ZoneInfo(name) if name else timezone.utc
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidArgument(f"'{name}' is no IANA time zone; write for example Europe/Berlin") from error


def _gone(thing: Thing, now_ns: int) -> list[Interval]:
    """When it was at none of its places: from when one was found empty until it was seen again."""
    if len(thing.entries) > 1:  # one entry may be gone because another one is where the thing is now
        return []
    presence = thing.entries[0].entry.presence
    ends = [p.end for p in presence if p.end <= now_ns]
    back = [*(p.start for p in presence[1:]), FOREVER]
    spans = (Interval(end, start if start <= now_ns else end + 1) for end, start in zip(ends, back, strict=False))
    return [span for span in spans if span.end > span.start]


def _is_timed(stored: StoredEvent, now_ns: int) -> bool:
    """Whether it is known well enough at what time of day it happened."""
    e = stored.event
    looked = e.earliest_ns > 0 or e.kind is not EventKind.APPEARED
    return looked and e.latest_ns <= now_ns and e.latest_ns - e.earliest_ns <= _KNOWN_WITHIN_NS


def _what(stored: StoredEvent) -> str:
    """What happened: a kind, or which value became which."""
    e = stored.event
    return e.detail if e.kind is EventKind.ATTRIBUTE_CHANGED else e.kind.name


def _on(place: UsualPlace, index: Index) -> str:
    """'on table', 'in sink'; '' where nothing is known that holds it."""
    if not place.holders:
        return ""
    return f"{place.relation} {index.labels.texts[index.entries['label'][place.holders[0]]]}"


def _habit_fact(thing: Thing, habit: Habit, what: str, sources: Sequence[str], span: Interval, **more: Any) -> Fact:
    return _fact(
        FactKind.HABIT,
        thing,
        what,
        sources,
        span,
        weekdays=habit.weekdays,
        day_from_s=habit.day_from_s,
        day_to_s=habit.day_to_s,
        weight=habit.weight,
        count=habit.days,
        total=habit.of_days,
        **more,
    )


def _fact(kind: FactKind, thing: Thing, what: str, sources: Sequence[str], span: Interval, **more: Any) -> Fact:
    """``span``: first and last stamp of the evidence."""
    parts = (int(kind), *thing.ids, what, more.get("map_id", ""), more.get("day_from_s", ""), sources[0])
    number = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).hexdigest()
    return Fact(
        fact_id=number,
        kind=kind,
        label=thing.label,
        entry_ids=thing.ids,
        object=what,
        sources=tuple(sources[-MOST_SOURCES:]),
        agents=thing.agents,
        first_ns=span.start,
        last_ns=span.end,
        **more,
    )
