"""After a correction: entries that were seen while their robot was astray, made anew as they would have been without.

All that is kept of their sightings is worked in again (``anew``), and what comes of it takes their place: which
sightings are whose, stays, presence, links and events. Each goes on as the entry that has most of its sightings, the
oldest of several; those that are left over are parts of it. What a person spoke of, what was told apart, and what part
of the history is dropped of stays as it is. Nothing here is final: the next correction makes them anew again.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from r4_ros.core.geometry import compose, inverse
from r4_ros.core.model import (
    FOREVER,
    MEMORY,
    NS_PER_S,
    Box,
    CorrectionKind,
    CorrectionRecord,
    Entry,
    EntryCorrection,
    EventKind,
    Interval,
    Motion,
    Visibility,
    observation_id,
)
from r4_ros.memory import happenings
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.anew import AT_HAND_M, Again, Made
from r4_ros.memory.attributes import agree
from r4_ros.memory.concerned import MOST_SIGHTINGS
from r4_ros.memory.division_records import Division, KeptSighting
from r4_ros.memory.evidence import stay_at
from r4_ros.memory.index import Index
from r4_ros.memory.revise import split_id
from r4_ros.memory.store import CorrectionChange, EntryChange, MemoryStore, StoredEntry, StoredEvent
from r4_ros.memory.working import EntryCache

_DERIVED = (
    EventKind.APPEARED,
    EventKind.MOVED,
    EventKind.DISAPPEARED,
    EventKind.REAPPEARED,
    EventKind.ATTRIBUTE_CHANGED,
)
_ABSENT_NS = 10 * NS_PER_S
_IN_VIEW_NS = 2 * NS_PER_S


@dataclass(slots=True)
class Group:
    """Entries of one agent on one map, by slot, all slots of each, what is kept of them, and what is made of that."""

    agent_id: str
    entries: dict[int, StoredEntry]
    parts: dict[int, str]
    root: dict[int, int]
    rows: list[KeptSighting]
    made: list[Made]

    @property
    def map_id(self) -> str:
        """Of all of them."""
        return next(iter(self.entries.values())).entry.map_id

    def heirs(self) -> dict[int, int]:
        """By slot of an entry, the slot of what is made of most of its sightings."""
        slot_of = {row.key: row.slot for row in self.rows}
        share: dict[int, Counter[int]] = defaultdict(Counter)
        for made in self.made:
            for key in made.keys:
                share[self.root[slot_of[key]]][made.slot] += 1
        return {slot: max(sorted(of), key=of.__getitem__) for slot, of in share.items()}

    def mixed_up(self) -> set[int]:
        """Slots of entries that would become one thing though what lasts of them differs: they stay as they are."""
        joined: dict[int, list[int]] = defaultdict(list)
        for slot, made in self.heirs().items():
            joined[made].append(slot)
        found = set[int]()
        for slots in joined.values():
            for a, b in itertools.combinations(slots, 2):
                if not agree(self.entries[a].entry.attributes, self.entries[b].entry.attributes):
                    found |= {a, b}
        return found | self._torn(set(joined))

    def _torn(self, heirs: set[int]) -> set[int]:
        """Slots of entries of which something new would come of what was in view all the while: the path has a gap."""
        made_of = {key: made.slot for made in self.made for key in made.keys}
        last, found = dict[int, tuple[int, int]](), set[int]()
        for row in self.rows:
            if row.key not in made_of:
                continue
            slot, made = self.root[row.slot], made_of[row.key]
            stamp, before = last.get(slot, (row.stamp_ns, made))
            if made != before and not {made, before} <= heirs and row.stamp_ns - stamp <= _IN_VIEW_NS:
                found.add(slot)
            last[slot] = row.stamp_ns, made
        return found

    def without(self, slots: set[int]) -> Group:
        """The group without some entries."""
        return Group(
            self.agent_id,
            {slot: stored for slot, stored in self.entries.items() if slot not in slots},
            {slot: name for slot, name in self.parts.items() if self.root[slot] not in slots},
            self.root,
            [row for row in self.rows if self.root[row.slot] not in slots],
            [],
        )


class Remaker:
    """Plans what is made anew; changes nothing."""

    def __init__(
        self,
        store: MemoryStore,
        index: Index,
        anchors: AnchorBook,
        cache: EntryCache,
        again: Again,
    ) -> None:
        self._store, self._index, self._anchors, self._cache, self._again = store, index, anchors, cache, again

    def work(self, group: Group) -> Group | None:
        """What is made of a group's sightings anew; None of none. Takes its time; nothing may be written meanwhile."""
        while group.rows:
            group.made = self._again.made(group.agent_id, group.map_id, group.rows)
            others = group.mixed_up()
            if not others:
                return group
            group = group.without(others)
        return None

    def change(self, group: Group, stamp_ns: int, revision: int, number: int) -> CorrectionChange | None:
        """What becomes of a group of which everything was made anew, as correction ``number``; None: nothing new."""
        return _Remade(group, self._index, self._store, revision).change(stamp_ns, number)

    def read(self, agent_id: str, slots: Collection[int]) -> Group:
        """What is kept of these entries; those of which something is dropped are left out."""
        known = {stored.slot: stored for stored in self._cache.get_many(sorted(slots))}
        some = set(known)
        merged = [m for m in self._store.merged() if m[2] in some] if any(map(self._index.parts_of, some)) else []
        root = {**{slot: slot for slot in some}, **{slot: kept for slot, _, kept in merged}}
        entries = [stored.entry for stored in known.values()]
        span = Interval(
            min((e.first_seen for e in entries), default=0),
            max((_until(e) for e in entries), default=0) + _ABSENT_NS,
        )
        rows = self._store.sightings(agent_id, span, sorted(root), MOST_SIGHTINGS, absences=True)
        count = Counter(root[row.slot] for row in rows if row.observation.visibility != Visibility.ABSENT)
        whole = {slot: stored for slot, stored in known.items() if count[slot] == stored.entry.count}
        rows = [self._placed(row, whole[root[row.slot]].entry) for row in rows if root[row.slot] in whole]
        parts = {slot: entry_id for slot, entry_id, kept in merged if kept in whole}
        return Group(agent_id, whole, parts, root, rows, [])

    def _placed(self, row: KeptSighting, entry: Entry) -> KeptSighting:
        """A sighting with what the frames alone don't tell: who walks keeps being followed.

        An absence of which nobody said where it was looked for was at the entry's place.
        """
        o = row.observation
        if entry.motion == Motion.DYNAMIC and not o.track_id:
            return replace(row, observation=replace(o, track_id=f"of {entry.entry_id}"))
        if o.visibility != Visibility.ABSENT or np.linalg.norm(o.box.pose.position) > AT_HAND_M:
            return row
        box = self._anchors.box(stay_at(entry.stays, row.stamp_ns), own=True)
        sensor = self._anchors.in_map(row.anchor_id, row.sensor_in_anchor)
        return replace(row, observation=replace(o, box=Box(compose(inverse(sensor), box.pose), box.extent)))


class _Remade:
    """What a group is now, held against what it was."""

    def __init__(self, group: Group, index: Index, store: MemoryStore, revision: int) -> None:
        self._group, self._index, self._store, self._revision = group, index, store, revision
        self._row = {row.key: row for row in group.rows}
        self._next = index.entries.rows
        self._slot: dict[int, int] = {}
        """By slot of the other memory, that of this one."""
        self._name: dict[int, str] = {}
        self._absorbed: dict[int, int] = {}
        self._revived: set[int] = set()

    def change(self, stamp_ns: int, number: int) -> CorrectionChange | None:
        """All of it; None where nothing differs."""
        self._match()
        by_id = {made.entry.entry_id: self._name[made.slot] for made in self._group.made}
        entries, happened = [], list[StoredEvent]()
        for made in self._group.made:
            slot = self._slot[made.slot]
            entry = self._named(made, by_id)
            entries.append((slot, entry))
            happened += [happenings.of_another(e, entry.entry_id, slot) for e in made.events]
        known = self._known_events()
        same = self._same(entries, happened, known)
        changes = [self._changed(slot, entry) for slot, entry in entries if slot not in same]
        if not changes and not self._absorbed:
            return None
        new = {e.event.event_id: e for e in happened if e.slot not in same}
        void = [i for i, e in known.items() if i not in new and self._final(e.slot) not in same]
        ids = tuple(c.after.entry.entry_id for c in changes)
        said = EntryCorrection(CorrectionKind.SPLIT, ids[0] if ids else "", source=MEMORY)
        parts = [*self._absorbed.items(), *((slot, None) for slot in sorted(self._revived))]
        division = Division(-1, tuple(self._given()), tuple(parts), tuple(void), tuple(new.values()))
        record = CorrectionRecord(number, stamp_ns, said, ids)
        return CorrectionChange(self._revision, record, tuple(changes), divided=division)

    def _match(self) -> None:
        """Which entry goes on as which."""
        group = self._group
        own: dict[int, Counter[int]] = defaultdict(Counter)
        for made in group.made:
            for key in made.keys:
                own[self._row[key].slot][made.slot] += 1
        heirs = group.heirs()
        oldest = sorted(group.entries, key=lambda s: (group.entries[s].entry.first_seen, s))
        for slot in oldest:
            if heirs[slot] not in self._slot:
                self._give(heirs[slot], slot, group.entries[slot].entry.entry_id)
            else:
                self._absorbed[slot] = self._slot[heirs[slot]]
        for made in group.made:
            if made.slot not in self._slot:
                self._begin(made, own)

    def _give(self, made: int, slot: int, entry_id: str) -> None:
        self._slot[made], self._name[made] = slot, entry_id

    def _begin(self, made: Made, own: dict[int, Counter[int]]) -> None:
        """One that goes on as none of the entries: as a part that it has most of, or as a new one."""
        parts = [s for s in sorted(self._group.parts) if own[s] and max(own[s], key=own[s].__getitem__) == made.slot]
        free = [s for s in parts if s not in self._revived]
        if free:
            self._revived.add(free[0])
            self._give(made.slot, free[0], self._group.parts[free[0]])
            return
        row = self._row[min(made.keys)]
        first = row.observation.index
        name = observation_id(self._group.agent_id, row.session, row.camera, row.stamp_ns, first)[:16]
        while name in self._index.slots or name in self._name.values():
            name = split_id(name, row.stamp_ns)
        self._give(made.slot, self._next, name)
        self._next += 1

    def _named(self, made: Made, by_id: dict[str, str]) -> Entry:
        """An entry by this memory's names."""
        e, rows = made.entry, [self._row[key] for key in made.keys]
        before = self._group.entries.get(self._slot[made.slot])
        outside = [] if before is None else self._outside(before.entry, e)
        moved_from = by_id.get(e.moved_from, "")
        return e.evolve(
            entry_id=self._name[made.slot],
            revision=self._revision,
            session=max(row.session for row in rows),
            stays=tuple(replace(stay, revision=self._revision) for stay in e.stays),
            moved_from=moved_from,
            maybe_same_as=(*(by_id[i] for i in e.maybe_same_as if i in by_id), *outside),
        )

    def _outside(self, before: Entry, made: Entry) -> Iterator[str]:
        """What it may be of which nothing was made anew."""
        slots = self._index.slots
        for i in before.maybe_same_as:
            if i in slots and slots[i] not in self._group.entries and not made.moved_from:
                yield i

    def _known_events(self) -> dict[str, StoredEvent]:
        slots = [*self._group.entries, *self._group.parts]
        mine = [e for e in self._store.events(slots=slots) if e.event.agent_id == self._group.agent_id]
        return {e.event.event_id: e for e in mine if e.event.kind in _DERIVED}

    def _same(
        self, entries: Sequence[tuple[int, Entry]], happened: Sequence[StoredEvent], known: dict[str, StoredEvent]
    ) -> set[int]:
        """Slots of entries that are as they were, but for centimetres."""
        now, then = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)
        for e in happened:
            now[e.slot].add(e.event.event_id)
        for i, e in known.items():
            then[self._group.root.get(e.slot, e.slot)].add(i)
        touched = {slot for _, _, was, to in self._given() for slot in (self._group.root[was], to)}
        touched |= set(self._absorbed) | set(self._absorbed.values()) | self._revived
        same = set()
        for slot, entry in entries:
            before = self._group.entries.get(slot)
            known_so = before is not None and slot not in touched and now[slot] == then[slot]
            if known_so and before is not None and _looks_same(before.entry, entry, self._index):
                same.add(slot)
        return same

    def _final(self, slot: int) -> int:
        """The slot of what goes on as the entry of a slot."""
        slot = slot if slot in self._revived else self._group.root.get(slot, slot)
        return self._absorbed.get(slot, slot)

    def _given(self) -> list[tuple[int, int, int, int]]:
        """Sightings that are another entry's now; of what is a part of it, they stay the part's."""
        group = self._group
        torn = {group.root[slot] for slot in self._revived}
        given = []
        for made in group.made:
            to = self._slot[made.slot]
            for key in sorted(made.keys):
                was = self._row[key].slot
                chained = was in group.parts and was not in self._revived and group.root[was] in torn
                if (was if chained else self._final(was)) != to:
                    given.append((*key, was, to))
        return given

    def _changed(self, slot: int, entry: Entry) -> EntryChange:
        before = self._group.entries.get(slot)
        if slot in self._revived:
            [before] = self._store.entries([slot], also_merged=True)
        return EntryChange(before, StoredEntry(slot, entry))


def _until(entry: Entry) -> int:
    """Until when it was looked for."""
    ends = [p.end for p in entry.presence if p.end != FOREVER]
    return max([entry.last_seen, *ends])


def _looks_same(a: Entry, b: Entry, index: Index) -> bool:
    same = len(a.stays) == len(b.stays) and [p.end for p in a.presence] == [p.end for p in b.presence]
    same = same and (a.moved_from, set(a.maybe_same_as)) == (b.moved_from, set(b.maybe_same_as))
    if not same:
        return False
    for mine, theirs in zip(a.stays, b.stays, strict=True):
        was, now = index.box(mine), index.box(theirs)
        if np.abs(np.subtract(was.pose.position, now.pose.position)).max() > 0.02:
            return False
        if np.abs(np.subtract(was.extent, now.extent)).max() > 0.03:
            return False
    return True
