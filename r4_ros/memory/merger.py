"""After a correction: which entries of one agent stand at one place now and are one thing.

Two entries are one where the rule of association says so now and didn't before (what stood side by side before was told
apart for a reason), their labels and lasting attributes agree, and no frame saw both. What a person said of entries
stands: those are left as they are. Nothing is lost: the merged entry stays in the store as it was, with a record of the
merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from r4_ros.core import intervals
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import FOREVER, NS_PER_S, Anchor, Entry, FloatArray, Interval
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.attributes import agree
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.merging import MergeContext, combined, may_merge, void_events
from r4_ros.memory.said import Said
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.store import EntryChange, MemoryStore, MergeChange, StoredEntry
from r4_ros.memory.working import EntryCache

_CLEAR_M = 0.3
_LOOKED_NS = 10 * NS_PER_S


@dataclass(slots=True)
class _Batch:
    """Merges that are planned together: entries as they will be, and what each was made of."""

    after: dict[int, StoredEntry] = field(default_factory=dict)
    parts: dict[int, list[int]] = field(default_factory=dict)
    changes: list[MergeChange] = field(default_factory=list)


class Merger:
    """Plans merges; changes nothing."""

    def __init__(
        self,
        store: MemoryStore,
        anchors: AnchorBook,
        index: Index,
        coverage: Coverage,
        cache: EntryCache,
        sessions: Sessions,
        said: Said,
        config: MemoryConfig,
    ) -> None:
        self._store, self._index, self._coverage, self._cache = store, index, coverage, cache
        self._anchors, self._sessions, self._said, self._config = anchors, sessions, said, config
        self._gap_ns = intervals.nanoseconds(config.sighting_gap_s)

    def plan(self, moved: Slots, was: FloatArray, stamp_ns: int, revision: int, reason: str) -> list[MergeChange]:
        """Merges of entries of which one stands elsewhere than before; ``was``: all entries' centres until then."""
        batch = _Batch()
        context = MergeContext(revision, self._anchors, self._gap_ns)
        for a, b in self._pairs(moved, was):
            self._try(batch, a, b, stamp_ns, reason, context)
        return batch.changes

    def _pairs(self, moved: Slots, was: FloatArray) -> Iterator[tuple[int, int]]:
        """Pairs of slots that are near and alike now and weren't near before, nearest first."""
        from scipy.spatial import cKDTree

        columns, config = self._index.entries, self._config
        moves = np.zeros(self._index.entries.rows, np.bool_)
        moves[moved] = True
        free = columns["alive"].copy()
        free[sorted(self._said.spoken_of())] = False
        owners = np.column_stack([columns["agent"], columns["map"]])
        found: list[tuple[float, int, int]] = []
        for owner in np.unique(owners[moved], axis=0):
            slots = np.flatnonzero(free & (owners == owner).all(axis=1))
            pairs = slots[cKDTree(columns["centre"][slots]).query_pairs(config.epsilon_max_m, output_type="ndarray")]
            a, b = pairs[:, 0], pairs[:, 1]
            size = np.maximum(*((columns["high"][s] - columns["low"][s]).max(axis=1) for s in (a, b)))
            epsilon = np.clip(config.epsilon_extent * size, config.epsilon_min_m, config.epsilon_max_m)
            distance = np.linalg.norm(columns["centre"][a] - columns["centre"][b], axis=1)
            before = np.linalg.norm(was[a] - was[b], axis=1)
            fits = (moves[a] | moves[b]) & (distance < epsilon) & (before >= epsilon)
            found += zip(distance[fits].tolist(), a[fits].tolist(), b[fits].tolist(), strict=True)
        for _, x, y in sorted(found):
            if self._index.labels.alike(int(columns["label"][x]), int(columns["label"][y]), config.label_similarity):
                yield x, y

    def _try(self, batch: _Batch, a: int, b: int, stamp_ns: int, reason: str, context: MergeContext) -> None:
        """Merge the entries that two slots belong to by now, if they are one thing."""
        roots = {slot: root for root, parts in batch.parts.items() for slot in parts}
        a, b = roots.get(a, a), roots.get(b, b)
        if a == b:
            return
        pair = [batch.after.get(slot) or self._cache.get(slot) for slot in (a, b)]
        older, newer = sorted(pair, key=lambda s: (s.entry.first_seen, s.slot))
        parts = [batch.parts.get(s.slot, [s.slot]) for s in (older, newer)]
        if not self._one_thing(older.entry, newer.entry) or self._seen_together(older.entry, newer.entry, parts):
            return
        events = self._store.events(slots=(older.slot, newer.slot))
        gone = newer.entry.presence[-1].end != FOREVER and self._really_gone(newer.entry)
        after = StoredEntry(older.slot, combined(older.entry, newer.entry, gone, context))
        voided = void_events(older.entry, newer.entry, events)
        moved = tuple(e.event.event_id for e in events if e.slot == newer.slot and e.event.event_id not in voided)
        batch.changes.append(MergeChange(EntryChange(older, after), newer, stamp_ns, reason, voided, moved))
        batch.after[older.slot] = after
        batch.parts[older.slot] = parts[0] + parts[1]
        batch.parts.pop(newer.slot, None)

    def _one_thing(self, older: Entry, newer: Entry) -> bool:
        same_era = self._sessions.era(older.agent_id, older.session) == self._sessions.era(
            newer.agent_id, newer.session
        )
        if not same_era or not may_merge(older, newer) or not agree(older.attributes, newer.attributes):
            return False
        return older.presence[-1].end == FOREVER or not self._really_gone(older)

    def _really_gone(self, entry: Entry) -> bool:
        """Whether its place, as it is known now, was in view and empty when it was taken for gone."""
        end = entry.presence[-1].end
        centre = self._index.box(entry.stays[-1]).pose.position
        agents = (entry.agent_id,)
        looked = self._coverage.last_looks(
            entry.map_id, np.array([centre]), end, end + _LOOKED_NS, agents, clearance_m=_CLEAR_M
        )
        return bool(looked[0] >= end)

    def _seen_together(self, older: Entry, newer: Entry, parts: list[list[int]]) -> bool:
        shared = [
            both
            for mine in older.sightings
            for theirs in newer.sightings
            if (both := intervals.intersection(mine, theirs)) is not None
        ]
        return any(self._store.seen_together(older.agent_id, _wide(both), parts[0], parts[1]) for both in shared)


def _wide(interval: Interval) -> Interval:
    return Interval(interval.start, interval.end + 1)


class AnchorMover:
    """Moves anchors, on disk and in memory, and merges what thereby proves to be one."""

    def __init__(
        self, store: MemoryStore, anchors: AnchorBook, index: Index, cache: EntryCache, merger: Merger
    ) -> None:
        self._store, self._anchors, self._index, self._cache, self._merger = store, anchors, index, cache, merger

    def move(self, anchors: Sequence[Anchor], stamp_ns: int, revision: int, reason: str) -> list[MergeChange]:
        """All of it or nothing; gives the merges."""
        before = [self._anchors[anchor.anchor_id] for anchor in anchors]
        was = self._index.entries["centre"].copy()
        slots = self._index.anchors_moved(self._anchors.move(anchors))
        try:
            merges = self._merger.plan(slots, was, stamp_ns, revision, reason)
            self._store.write_anchor_correction(anchors, merges, revision)
        except BaseException:
            self._index.anchors_moved(self._anchors.move(before))
            raise
        for merge in merges:
            kept, merged = merge.kept, merge.merged
            self._index.remove(merged)
            self._index.alias(merged.slot, merged.entry.entry_id, kept.after.slot)
            self._index.apply([(kept.before.entry if kept.before else None, kept.after)])
            self._cache.put(kept.after)
        return merges
