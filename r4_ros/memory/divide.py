"""Entries that prove to be two: look-alikes that stand within reach of each other, of which one was in view at a time.

What is seen now and then at one place and now and then at another one nearby may be one thing that is carried to and
fro, or two. Once frames show both side by side, the places are known, and the sightings until then are told apart by
them. They were two all along if they were seen often enough at both places, and neither place was ever seen empty
while the thing was at the other one. Then the entry that began later gets what was seen at its place, as if it had
been its own from the start; the stays, intervals, words and events of both are made anew of their sightings.

Decided once for a pair, by whole views in several frames; what a person spoke of is left as it is, and so is what a
person took back. What was seen of which the history is dropped stays with the older entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import (
    FOREVER,
    MEMORY,
    NS_PER_S,
    CorrectionKind,
    CorrectionRecord,
    Entry,
    EntryCorrection,
    EventKind,
    FloatArray,
    Interval,
    Vec3,
    Visibility,
)
from r4_ros.memory import happenings
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.division_records import Division, KeptSighting
from r4_ros.memory.index import Index
from r4_ros.memory.refold import Refolder
from r4_ros.memory.said import Said
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.store import CorrectionChange, EntryChange, FrameChange, MemoryStore, StoredEntry, StoredEvent
from r4_ros.memory.working import EntryCache

_FRAMES, _SPAN_NS = 3, NS_PER_S
"""So many frames, over so much time, must show both; and so many sightings, each of the two places."""
_RECENT_NS = 60 * NS_PER_S
_MOST_SIGHTINGS, _MOST_TOGETHER, _MOST_GAPS = 4000, 400, 16
_ALIKE_SIZE = 1.5
_NOISE = 4.0
"""The places are at least so many standard deviations apart."""
_CLEARER = 0.5
"""A sighting belongs to the nearer place if it is so many times nearer at most."""
_CLEAR_M = 0.3
_PAD_M = 0.02
_DERIVED = (EventKind.APPEARED, EventKind.MOVED, EventKind.ATTRIBUTE_CHANGED)
_MOST_PAIRS = 10_000


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two entries, all slots of each, and what is kept of the sightings of the older one (in its last presence)."""

    older: StoredEntry
    newer: StoredEntry
    slots: tuple[list[int], list[int]]
    rows: list[KeptSighting]
    own: list[KeptSighting]


class Divider:
    """Follows the frames; plans divisions, and changes nothing."""

    def __init__(
        self,
        store: MemoryStore,
        index: Index,
        anchors: AnchorBook,
        coverage: Coverage,
        cache: EntryCache,
        sessions: Sessions,
        said: Said,
        config: MemoryConfig,
    ) -> None:
        self._store, self._index, self._coverage, self._cache = store, index, coverage, cache
        self._sessions, self._said, self._config = sessions, said, config
        self._refolder = Refolder(anchors, coverage, config)
        self._together: dict[
            tuple[int, int], tuple[int, int, int]
        ] = {}  # since when, how often, and how often at least
        self._decided: set[tuple[int, int]] = set()

    def due(self, change: FrameChange) -> list[tuple[int, int]]:
        """Slots of an older and a newer entry that enough stored frames showed side by side, the last one this."""
        slots = [slot for o, slot in change.observations if slot is not None and o.visibility == Visibility.VISIBLE]
        if len(slots) < 2:
            return []
        found, stamp = [], change.frame.stamp_ns
        for pair in self._near(sorted(set(slots))):
            first, count, least = self._together.get(pair, (stamp, 0, _FRAMES))
            due = count + 1 >= least and stamp - first >= _SPAN_NS
            self._together[pair] = (first, count + 1, 2 * count + 2 if due else least)
            found += [pair] if due else []
        if len(self._together) > _MOST_PAIRS:
            self._together.clear()
        return found

    def _near(self, slots: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of alike entries that could be taken for each other, the older one first, that aren't decided."""
        columns, labels, config = self._index.entries, self._index.labels, self._config
        some = np.array(slots)
        some = some[columns["alive"][some]]
        (low, high, centre), first_seen = self._index.own_places(some), columns["first_seen"][some]
        distance = np.sqrt(((centre[:, None] - centre) ** 2).sum(axis=2))
        older, newer = np.nonzero((distance < config.epsilon_max_m) & (first_seen[:, None] < first_seen))
        if not len(older):
            return []
        size = (high - low).max(axis=1)
        epsilon = config.epsilon_extent * np.maximum(size[older], size[newer])
        near = distance[older, newer] < np.clip(epsilon, config.epsilon_min_m, config.epsilon_max_m)
        pairs = []
        for a, b in sorted(zip(some[older[near]].tolist(), some[newer[near]].tolist(), strict=True), key=sorted):
            alike = labels.alike(int(columns["label"][a]), int(columns["label"][b]), config.label_similarity)
            if alike and (a, b) not in self._decided:
                pairs.append((a, b))
        free = [pair for pair in pairs if not self._said.spoken_of() & set(pair)]
        return [pair for pair in free if not self._said.divided(*pair)]

    def not_done(self, pair: tuple[int, int]) -> None:
        """What was planned couldn't be stored: ask of this pair again."""
        self._decided.discard(pair)

    def plan(self, pair: tuple[int, int], stamp_ns: int, revision: int, number: int) -> CorrectionChange | None:
        """What divides the pair at this time, as correction ``number``; None where they weren't mixed up, or may be."""
        older, newer = self._cache.get_many(pair)
        sessions = self._sessions.of(older.entry.agent_id)
        if sessions[0].era < sessions[-1].era or not _began_within(older.entry, newer.entry):
            return None
        both = self._read(older, newer)
        places = self._places(both, stamp_ns)
        if both is None or places is None:
            return None
        self._decided.add(pair)
        self._together.pop(pair, None)
        before = [row for row in both.rows if row.stamp_ns < newer.entry.first_seen]
        sides = self._sides(before, *places)
        if sides is None or not self._were_two(before, sides, places, older.entry, newer.entry.first_seen):
            return None
        taken = {row.key for row, side in zip(before, sides.tolist(), strict=True) if side > 0}
        return self._divided(both, taken, stamp_ns, revision, number)

    def _read(self, older: StoredEntry, newer: StoredEntry) -> _Pair | None:
        """What is kept of both; None where the newer one can't be made anew of it."""
        slots = self._slots(older.slot), self._slots(newer.slot)
        own = self._kept(newer.entry, slots[1], newer.entry.first_seen)
        if len(own) != newer.entry.count:
            return None
        return _Pair(older, newer, slots, self._kept(older.entry, slots[0], older.entry.presence[-1].start), own)

    def _slots(self, slot: int) -> list[int]:
        """Its slot and those of the entries that are parts of it."""
        parts = self._index.parts_of(slot)
        return [slot, *(s for s, _, kept in self._store.merged() if kept == slot)] if parts else [slot]

    def _kept(self, entry: Entry, slots: Sequence[int], since_ns: int) -> list[KeptSighting]:
        """Its newest kept sightings since a stamp, in the order they came."""
        found: list[KeptSighting] = []
        for span in reversed(entry.sightings):
            if span.end <= since_ns or len(found) >= _MOST_SIGHTINGS:
                break
            span = Interval(max(span.start, since_ns), span.end)
            found += self._store.sightings(entry.agent_id, span, slots, _MOST_SIGHTINGS - len(found))
        return sorted(found, key=lambda row: row.key)

    def _places(self, both: _Pair | None, stamp_ns: int) -> tuple[FloatArray, FloatArray] | None:
        """Where frames of the last minute saw both, apart from each other; None where they don't show that."""
        if both is None:
            return None
        rows = [row for row in (*both.rows, *both.own) if row.stamp_ns > stamp_ns - _RECENT_NS]
        rows = sorted(rows, key=lambda row: row.frame_id)[-_MOST_TOGETHER:]
        frames = [list(group) for _, group in groupby(rows, key=lambda row: row.frame_id)]
        split = [tuple([row for row in some if row.slot in slots] for slots in both.slots) for some in frames]
        together = [(mine, theirs) for mine, theirs in split if mine and theirs]
        apart = [(*pair, mine[0].stamp_ns) for mine, theirs in together if (pair := self._apart(mine, theirs))]
        stamps = [stamp for _, _, stamp in apart]
        if len(apart) < _FRAMES or 5 * len(apart) < 4 * len(together) or max(stamps) - min(stamps) < _SPAN_NS:
            return None
        centres = np.array([(a, b) for a, b, _ in apart])
        a, b = np.median(centres, axis=0)
        noise = float(np.sqrt(((centres - (a, b)) ** 2).sum(axis=2).mean()))
        return None if np.linalg.norm(a - b) < _NOISE * noise else (a, b)

    def _apart(self, mine: Sequence[KeptSighting], theirs: Sequence[KeptSighting]) -> tuple[Vec3, Vec3] | None:
        """Where one frame saw each of two, wholly, of one size, with room between them; None where it didn't."""
        if len(mine) != 1 or len(theirs) != 1:
            return None
        a, b = self._refolder.seen(mine[0]), self._refolder.seen(theirs[0])
        sizes = max(a.extent), max(b.extent)
        gap = np.abs(np.subtract(a.centre, b.centre)) - np.add(a.extent, b.extent) / 2
        whole = a.whole and b.whole and max(sizes) <= _ALIKE_SIZE * min(sizes)
        return (a.centre, b.centre) if whole and max(gap) >= 0 else None

    def _sides(self, rows: Sequence[KeptSighting], a: FloatArray, b: FloatArray) -> FloatArray | None:
        """For each sighting -1: at the place a, 1: at b, 0: unclear; None where one thing filled both places."""
        distance, sides = float(np.linalg.norm(a - b)), np.zeros(len(rows))
        for n, row in enumerate(rows):
            seen = self._refolder.seen(row)
            half = np.asarray(seen.extent) / 2 + _PAD_M
            if all((np.abs(place - seen.centre) <= half).all() for place in (a, b)):
                return None
            to = [float(np.linalg.norm(place - seen.centre)) for place in (a, b)]
            if min(to) < distance and min(to) < _CLEARER * max(to):
                sides[n] = -1 if to[0] < to[1] else 1
        return sides

    def _were_two(
        self, rows: Sequence[KeptSighting], sides: FloatArray, places: Sequence[FloatArray], entry: Entry, until: int
    ) -> bool:
        """Whether enough was seen at both places, and neither was found empty while the thing was at the other."""
        whole = np.array([row.observation.visibility == Visibility.VISIBLE for row in rows], bool)
        if min(int((whole & (sides == side)).sum()) for side in (-1, 1)) < _FRAMES:
            return False
        stamps = np.array([row.stamp_ns for row in rows], np.int64)
        for side, place in ((-1, places[0]), (1, places[1])):
            there, other = np.sort(stamps[sides == side]), np.sort(stamps[sides == -side])
            ends = np.append(there[1:], until)
            gaps = [
                (s, e) for s, e in zip(there.tolist(), ends.tolist(), strict=True) if ((other > s) & (other < e)).any()
            ]
            for start, end in gaps[-_MOST_GAPS:]:
                where = self._coverage.in_common(entry.agent_id, entry.map_id, place[None])
                looks = self._coverage.last_looks(*where, start + 1, end, (entry.agent_id,), clearance_m=_CLEAR_M)
                if looks[0] >= 0:
                    return False
        return True

    def _divided(
        self, both: _Pair, taken: set[tuple[int, int]], stamp_ns: int, revision: int, number: int
    ) -> CorrectionChange | None:
        older, newer = both.older, both.newer
        moved = [row for row in both.rows if row.key in taken]
        left = [row for row in both.rows if row.key not in taken]
        made, happened = self._refolder.fold(left, older.entry, older.slot, revision)
        whole = len(both.rows) == older.entry.count
        if not whole:
            made = self._refolder.continued(older.entry, both.rows, made)
            happened = [e for e in happened if e.event.kind != EventKind.APPEARED]
        came, more = self._refolder.fold(
            sorted([*moved, *both.own], key=lambda row: row.key), newer.entry, newer.slot, revision
        )
        made, linked = self._linked(made, older, left[-1], revision)
        came, linked_too = self._linked(came, newer, both.own[-1], revision)
        since = 0 if whole else min(row.stamp_ns for row in both.rows) + 1
        new = {e.event.event_id: e for e in (*happened, *more, *linked, *linked_too)}
        known = {
            e.event.event_id: e
            for e in self._store.events(slots=(older.slot, newer.slot))
            if e.event.kind in _DERIVED and (e.slot == newer.slot or e.event.stamp_ns >= since)
        }
        division = Division(
            newer.slot,
            tuple((*row.key, row.slot, newer.slot) for row in moved),
            tuple((slot, newer.slot) for slot in self._parts(both, taken)),
            tuple(known.keys() - new.keys()),
            tuple(e for event_id, e in new.items() if event_id not in known),
        )
        ids = (older.entry.entry_id, newer.entry.entry_id)
        said = EntryCorrection(
            CorrectionKind.SPLIT, ids[0], other_id=ids[1], at_ns=newer.entry.first_seen, source=MEMORY
        )
        record = CorrectionRecord(number, stamp_ns, said, ids)
        changes = (EntryChange(older, replace(older, entry=made)), EntryChange(newer, replace(newer, entry=came)))
        return CorrectionChange(revision, record, changes, divided=division)

    def _linked(
        self, made: Entry, before: StoredEntry, row: KeptSighting, revision: int
    ) -> tuple[Entry, list[StoredEvent]]:
        """With what the entry was linked with, as far as that can still be, and the event of it."""
        entry, index = before.entry, self._index
        names = [i for i in (entry.moved_from, *entry.maybe_same_as) if i in index.slots]
        known = dict(zip(names, self._cache.get_many([index.slots[i] for i in names]), strict=True))
        may = [i for i in names if known[i].entry.last_seen < made.first_seen]
        made = made.evolve(maybe_same_as=tuple(i for i in entry.maybe_same_as if i in may))
        if entry.moved_from not in may:
            return made, []
        made = made.evolve(moved_from=entry.moved_from, motion=max(made.motion, entry.motion))
        context = self._refolder.context(row, made, revision)
        return made, [happenings.linked_as_moved(known[entry.moved_from].entry, made, before.slot, context)]

    def _parts(self, both: _Pair, taken: set[tuple[int, int]]) -> tuple[int, ...]:
        """Merged entries of the older one of which all that is kept goes over."""
        parts = []
        for slot in both.slots[0][1:]:
            keys = {row.key for row in both.rows if row.slot == slot}
            if keys and keys <= taken:
                parts.append(slot)
        return tuple(parts)


def _began_within(older: Entry, newer: Entry) -> bool:
    """Whether both are there, and the newer one began while the older one was, and never went."""
    here = older.presence[-1].end == newer.presence[-1].end == FOREVER
    return here and len(newer.presence) == 1 and older.presence[-1].start < newer.first_seen
