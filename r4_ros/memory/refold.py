"""Entries made anew of kept sightings, as if these had been theirs from the start. Nothing is stored here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from r4_ros.core import intervals
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import AttributeValue, Entry, Interval, Motion, Stay
from r4_ros.memory import observe
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.attributes import LASTING, merged_histories
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.division_records import KeptSighting
from r4_ros.memory.stays import FrameContext, Seen, Views, merged, new_stays, place, reach
from r4_ros.memory.store import StoredEvent

_CLEAR_M = 0.3


class Refolder:
    """Works sightings into entries, where they stand by the anchors of today."""

    def __init__(self, anchors: AnchorBook, coverage: Coverage, config: MemoryConfig) -> None:
        self._anchors, self._coverage, self._config = anchors, coverage, config
        self._gap_ns = intervals.nanoseconds(config.sighting_gap_s)

    def seen(self, row: KeptSighting) -> Seen:
        """A sighting in the map."""
        [seen], _ = place([row.observation], self._anchors.in_map(row.anchor_id, row.sensor_in_anchor))
        return seen

    def context(self, row: KeptSighting, entry: Entry, revision: int) -> FrameContext:
        """What the frame of a sighting of this entry knows."""
        return FrameContext(
            agent_id=entry.agent_id,
            session=row.session,
            era_start=0,
            map_id=entry.map_id,
            stamp_ns=row.stamp_ns,
            revision=revision,
            anchor=self._anchors[row.anchor_id],
            sensor=self._anchors.in_map(row.anchor_id, row.sensor_in_anchor).position,
            anchors=self._anchors,
            config=self._config,
        )

    def fold(
        self, rows: Sequence[KeptSighting], entry: Entry, slot: int, revision: int
    ) -> tuple[Entry, list[StoredEvent]]:
        """The entry with this one's id that these sightings, in the order they came, make, and what happened to it."""
        first, context = self.seen(rows[0]), self.context(rows[0], entry, revision)
        where = self._coverage.in_common(entry.agent_id, entry.map_id, np.array([first.centre]))
        looks = self._coverage.last_looks(*where, end_ns=rows[0].stamp_ns, clearance_m=_CLEAR_M)
        stored, happened = observe.begin(
            first, new_stays([first], context)[0], entry.entry_id, slot, max(0, int(looks[0])), context
        )
        events = {e.event.event_id: e for e in happened}
        for row in rows[1:]:
            seen, context = self.seen(row), self.context(row, entry, revision)
            [again] = merged([stored.entry.stays[-1]], [seen], Views.stacked([seen]), context)
            stored, happened = observe.sight(stored, seen, again, context)
            events |= {e.event.event_id: e for e in happened}
        return stored.entry, list(events.values())

    def continued(self, entry: Entry, known: Sequence[KeptSighting], rest: Entry) -> Entry:
        """An entry of which only ``known`` is kept, with what ``rest`` says in place of it: the earlier part stays."""
        since = min(row.stamp_ns for row in known)
        before = _without(entry, known, since)
        stays = (*before.stays, *rest.stays)
        if before.stays and self._goes_on(before.stays[-1], rest.stays[0]):
            last, first = before.stays[-1], rest.stays[0]
            span = Interval(min(last.interval.start, first.interval.start), first.interval.end)
            joined = replace(
                first, interval=span, count=last.count + first.count, whole=min(last.whole, last.count) + first.whole
            )
            stays = (*before.stays[:-1], joined, *rest.stays[1:])
        votes = dict(before.label_votes)
        for name, weight in rest.label_votes:
            votes[name] = votes.get(name, 0.0) + weight
        label = max(votes, key=lambda name: votes[name])
        newest = entry.presence[-1]
        return rest.evolve(
            session=max(before.session, rest.session),
            label=label,
            label_votes=tuple(votes.items()),
            label_embedding=rest.label_embedding if label == rest.label else entry.label_embedding,
            description=rest.description or before.description,
            description_embedding=rest.description_embedding if rest.description else before.description_embedding,
            stays=stays,
            sightings=intervals.merge((*before.sightings, *rest.sightings), self._gap_ns),
            presence=(*entry.presence[:-1], replace(newest, last_seen=rest.last_seen)),
            attributes=merged_histories(before.attributes, rest.attributes),
            count=before.count + rest.count,
            confidence=entry.confidence,
            motion=observe.motion_of(stays, before.count + rest.count, Motion.UNKNOWN, self._gap_ns),
        )

    def _goes_on(self, last: Stay, first: Stay) -> bool:
        a, b = (self._anchors.box(stay, own=True).pose.position for stay in (last, first))
        return math.dist(a, b) < reach(self._config, max(*last.box.extent, *first.box.extent))


def _without(entry: Entry, known: Sequence[KeptSighting], since_ns: int) -> Entry:
    """What is left of an entry without these sightings, the first of which has this stamp."""
    votes, words = dict(entry.label_votes), dict[tuple[str, str], int]()
    for row in known:
        votes[row.observation.label] = votes.get(row.observation.label, 0.0) - row.observation.confidence
        for pair in dict(row.observation.attributes).items():
            words[pair] = words.get(pair, 0) + 1
    stays = []
    for stay in entry.stays:
        if stay.interval.start < since_ns:
            end = min(stay.interval.end, since_ns)
            taken = sum(stay.interval.start <= row.stamp_ns < stay.interval.end for row in known)
            count = max(0, stay.count - taken)
            stays.append(replace(stay, interval=Interval(stay.interval.start, end), count=count))
    return entry.evolve(
        label_votes=tuple((name, weight) for name, weight in votes.items() if weight > 1e-6),
        stays=tuple(stays),
        sightings=tuple(Interval(s.start, min(s.end, since_ns)) for s in entry.sightings if s.start < since_ns),
        attributes=tuple(a for a in (_fewer(a, words, since_ns) for a in entry.attributes) if a.count > 0),
        count=entry.count - len(known),
    )


def _fewer(a: AttributeValue, words: dict[tuple[str, str], int], since_ns: int) -> AttributeValue:
    """A value without those that were seen since: of what changes, what was seen before holds until then."""
    if a.name.casefold() not in LASTING and a.first_seen >= since_ns:
        return replace(a, count=0)
    return replace(a, last_seen=min(a.last_seen, since_ns), count=max(0, a.count - words.get((a.name, a.value), 0)))
