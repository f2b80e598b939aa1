"""Histories as facts need them: which entries are one thing, and for how long it stood where, seen how often.

Entries are taken for one thing where the memory links them: one agent's and another's of one thing, a gone one and what
it may have moved to. So are those alike in label and attributes of which at most one was ever believed to be there at a
time, as a bunch of keys that is now on the table and now on its hook; unless more than two would fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.core import intervals
from r4_ros.core.model import FOREVER, NS_PER_S, Entry, Interval, Motion, Vec3
from r4_ros.memory.attributes import agree
from r4_ros.memory.evidence import until
from r4_ros.memory.fuse import Fuser
from r4_ros.memory.index import Index
from r4_ros.memory.store import StoredEntry
from r4_ros.memory.working import EntryCache

APART_NS = 3600 * NS_PER_S
"""What was seen farther apart than this was seen on two occasions."""
_MOST_ALIKE = 16
"""Of more things with one label, none is taken for another one."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """One stay as far as it was seen by now: its place in the map, and the sightings in it."""

    slot: int
    entry_id: str
    number: int
    map_id: str
    centre: Vec3
    seen: tuple[Interval, ...]

    @property
    def start(self) -> int:
        """When it was first seen there."""
        return self.seen[0].start

    @property
    def end(self) -> int:
        """1 ns after it was last seen there."""
        return self.seen[-1].end

    @property
    def source(self) -> str:
        """How a fact cites it."""
        return f"stay {self.entry_id} {self.number}"


@dataclass(frozen=True, slots=True)
class Thing:
    """Entries that are, or may be, one thing, in the order of their slots, with all their stretches, oldest first."""

    entries: tuple[StoredEntry, ...]
    stretches: tuple[Stretch, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The entries."""
        return tuple(s.entry.entry_id for s in self.entries)

    @property
    def slots(self) -> frozenset[int]:
        """Their slots."""
        return frozenset(s.slot for s in self.entries)

    @property
    def label(self) -> str:
        """What it is called by the entry seen last."""
        return max(self.entries, key=lambda s: (s.entry.last_seen, s.slot)).entry.label

    @property
    def agents(self) -> tuple[str, ...]:
        """Who saw it."""
        return tuple(sorted({s.entry.agent_id for s in self.entries}))

    @property
    def roams(self) -> bool:
        """Whether it moves about, as people do."""
        return any(s.entry.motion is Motion.DYNAMIC for s in self.entries)


class Things:
    """Groups entries. The caller holds the library's lock."""

    def __init__(self, index: Index, cache: EntryCache, fuser: Fuser) -> None:
        self._index, self._cache, self._fuser = index, cache, fuser

    def of(self, slots: Iterable[int], agents: Sequence[str], now_ns: int) -> list[Thing]:
        """The things that these entries are, with what they were before they moved; by their first slots."""
        columns = self._index.entries
        wanted = set(self._index.agents.find_all(agents))
        asked = self._linked(set(slots))
        kept = [
            slot
            for slot in sorted(asked | self._alike(asked))
            if columns["alive"][slot]
            and columns["first_seen"][slot] <= now_ns
            and (not agents or int(columns["agent"][slot]) in wanted)
        ]
        entries = {stored.slot: stored for stored in self._cache.get_many(kept)}
        fused = self._fuser.fuse(np.array(kept, np.int64), now_ns).sources
        linked = _joined(kept, [*self._same(entries), *fused.values()])
        groups = _taking_turns([[entries[slot] for slot in group] for group in linked])
        return [self._thing(group, now_ns) for group in groups if not asked.isdisjoint(s.slot for s in group)]

    def _alike(self, slots: set[int]) -> set[int]:
        """Other entries that are called the same, where these are few."""
        labels = self._index.entries["label"]
        few = self._index.label_holders.counts <= _MOST_ALIKE
        codes = [code for code in {int(labels[slot]) for slot in slots} if few[code]]
        return set(np.flatnonzero(np.isin(labels, codes)).tolist()) if codes else set()

    def _linked(self, slots: set[int]) -> set[int]:
        """The slots with those that they came from or went on as."""
        found, todo = set(slots), sorted(slots)
        while todo:
            for stored in self._cache.get_many(todo):
                entry = stored.entry
                others = [self._index.slots.get(i, -1) for i in (entry.moved_from, *entry.maybe_same_as) if i]
                others.append(self._index.successors.get(entry.entry_id, -1))
                found.update(slot for slot in others if slot >= 0)
            todo = sorted(found - slots)
            slots = set(found)
        return found

    def _same(self, entries: dict[int, StoredEntry]) -> list[tuple[int, ...]]:
        """Pairs of slots that are, or may be, one thing."""
        pairs: list[tuple[int, ...]] = []
        for slot, stored in entries.items():
            for entry_id in (stored.entry.moved_from, *stored.entry.maybe_same_as):
                other = self._index.slots.get(entry_id, -1)
                if other in entries:
                    pairs.append((slot, other))
        return pairs

    def _thing(self, entries: Sequence[StoredEntry], now_ns: int) -> Thing:
        stretches = [s for stored in entries for s in self._stretches(stored, now_ns)]
        stretches.sort(key=lambda s: (s.start, s.slot, s.number))
        return Thing(tuple(entries), tuple(stretches))

    def _stretches(self, stored: StoredEntry, now_ns: int) -> list[Stretch]:
        entry, found = stored.entry, []
        for number, (stay, seen) in enumerate(zip(entry.stays, seen_in_stays(entry, now_ns), strict=True)):
            if seen:
                x, y, z = self._index.box(stay).pose.position
                map_id = self._index.anchors.common_map(stay.anchor_id)
                found.append(Stretch(stored.slot, entry.entry_id, number, map_id, (x, y, z), seen))
        return found


def seen_in_stays(entry: Entry, now_ns: int) -> list[tuple[Interval, ...]]:
    """For each stay of an entry, the sightings in it, as known at a time."""
    sightings = until(entry.sightings, now_ns)
    ends = [*(stay.interval.start for stay in entry.stays[1:]), FOREVER]
    parts: list[tuple[Interval, ...]] = []
    for stay, end in zip(entry.stays, ends, strict=True):
        span = Interval(stay.interval.start, min(end, stay.interval.end))
        shared = (intervals.intersection(s, span) for s in sightings if s.end > span.start and s.start < span.end)
        parts.append(tuple(s for s in shared if s is not None))
    return parts


def occasions(stretches: Iterable[Stretch]) -> tuple[Interval, ...]:
    """When something was seen, as separate occasions."""
    return intervals.merge((s for stretch in stretches for s in stretch.seen), APART_NS)


def _taking_turns(groups: Sequence[list[StoredEntry]]) -> list[list[StoredEntry]]:
    """Groups that are alike and were never there together, as one; in the order in which they were first seen."""
    by_age = sorted(groups, key=lambda g: min((s.entry.first_seen, s.slot) for s in g))
    made: list[list[StoredEntry]] = []
    counts = Counter(group[0].entry.label.casefold() for group in groups)
    for group in by_age:
        label = group[0].entry.label.casefold()
        possible = [m for m in made if m[0].entry.label.casefold() == label] if counts[label] <= _MOST_ALIKE else []
        fits = [m for m in possible if _may_be_one(m, group)]
        if len(fits) == 1:
            fits[0].extend(group)
        else:
            made.append(list(group))
    return [sorted(group, key=lambda s: s.slot) for group in made]


def _may_be_one(a: Sequence[StoredEntry], b: Sequence[StoredEntry]) -> bool:
    if any(not agree(x.entry.attributes, y.entry.attributes) for x in a for y in b):
        return False
    pairs = ((x, y) for x in a for y in b)
    return not any(
        intervals.overlaps(i, j) for x, y in pairs for i in _surely_there(x.entry) for j in _surely_there(y.entry)
    )


def _surely_there(entry: Entry) -> list[Interval]:
    """When it was there as far as was seen; what was never found gone is there still."""
    return [Interval(p.start, p.last_seen + 1 if p.end != FOREVER else FOREVER) for p in entry.presence]


def _joined(slots: Sequence[int], groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """Slots by group, those of overlapping groups together; by their first slot."""
    root = {slot: slot for slot in slots}

    def find(slot: int) -> int:
        while root[slot] != slot:
            slot = root[slot]
        return slot

    for group in groups:
        first = find(group[0])
        for slot in group[1:]:
            a, b = sorted((first, find(slot)))
            root[b] = first = a
    members: dict[int, list[int]] = {}
    for slot in slots:
        members.setdefault(find(slot), []).append(slot)
    return list(members.values())
