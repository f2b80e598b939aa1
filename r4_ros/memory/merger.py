"""After a correction: which entries of one agent stand at one place now and are one thing.

Two entries are one where the rule of association says so now and didn't before (what stood side by side before was told
apart for a reason), since they came nearer by at least half its distance, their labels and lasting attributes agree,
and no frame saw both. What a person said of entries
stands: those are left as they are. Nothing is lost: the merged entry stays in the store as it was, with a record of the
merge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from r4_ros.core import intervals
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import FOREVER, NS_PER_S, Anchor, Entry, FloatArray, Interval
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.astray import astray
from r4_ros.memory.attributes import agree
from r4_ros.memory.columns import span
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.merge_records import AnchorChange, MergeChange, MergeRecord
from r4_ros.memory.merging import MergeContext, combined, may_continue, void_events
from r4_ros.memory.said import Said
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.stays import reach
from r4_ros.memory.store import EntryChange, MemoryStore, StoredEntry
from r4_ros.memory.working import EntryCache

_MOST_CELLS = 1024
_CLEAR_M = 0.3
_LOOKED_NS = 10 * NS_PER_S


@dataclass(slots=True)
class _Batch:
    """Merges that are planned together: where things stand, entries as they will be, and what each was made of."""

    beside: Index
    coverage: Coverage
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

    def pairs(self, beside: Index, moved: Slots) -> list[tuple[int, int]]:
        """Pairs of slots of which one stands elsewhere in ``beside``, and that came near there, nearest first.

        Near is where an entry is, or was at first, to where another one is: that may have moved since.
        """
        from scipy.spatial import cKDTree

        columns, stays, config = beside.entries, beside.stays, self._config
        free = columns["alive"].copy()
        free[sorted(self._said.spoken_of())] = False
        owner = columns["agent"] * np.int64(len(self._index.maps.texts)) + columns["map"]
        slot = stays["slot"]
        at_an_end = (slot >= 0) & ((stays["prev"] < 0) | (stays.last[slot] == np.arange(len(slot))))
        found: list[tuple[float, int, int]] = []
        for one in np.flatnonzero(np.bincount(owner[moved])).tolist():
            rows = np.flatnonzero(at_an_end & (free & (owner == one))[slot])
            where = span(rows)
            was, now = self._index.stays["centre"][where], stays["centre"][where]
            some = np.flatnonzero(torn(was, now, config.epsilon_min_m / 2, config.epsilon_max_m))
            rows, was, now = rows[some], was[some], now[some]
            a, b = cKDTree(now).query_pairs(config.epsilon_max_m, output_type="ndarray").T
            size = 2 * np.maximum(*(stays["half"][rows[ends]].max(axis=1) for ends in (a, b)))
            epsilon = np.clip(config.epsilon_extent * size, config.epsilon_min_m, config.epsilon_max_m)
            before, distance = (np.linalg.norm(at[a] - at[b], axis=1) for at in (was, now))
            came = np.linalg.norm((now[a] - was[a]) - (now[b] - was[b]), axis=1)
            slot_a, slot_b = (stays["slot"][rows[ends]] for ends in (a, b))
            fits = (slot_a != slot_b) & (distance < epsilon) & (before >= epsilon) & (came >= epsilon / 2)
            found += zip(distance[fits].tolist(), slot_a[fits].tolist(), slot_b[fits].tolist(), strict=True)
        return [(a, b) for _, a, b in sorted(found)]

    def plan(
        self, beside: Index, pairs: Sequence[tuple[int, int]], stamp_ns: int, revision: int, reason: str
    ) -> list[MergeChange]:
        """Merges of the pairs that are one thing, now that things stand where they do in ``beside``."""
        labels, threshold = self._index.labels, self._config.label_similarity
        label = beside.entries["label"]
        batch = _Batch(beside, self._coverage.with_anchors(beside.anchors))
        context = MergeContext(revision, beside.anchors.__getitem__, self._gap_ns)
        for a, b in pairs:
            if labels.alike(int(label[a]), int(label[b]), threshold):
                self._try(batch, a, b, stamp_ns, reason, context)
        return batch.changes

    def _try(self, batch: _Batch, a: int, b: int, stamp_ns: int, reason: str, context: MergeContext) -> None:
        """Merge the entries that two slots belong to by now, if they are one thing."""
        roots = {slot: root for root, parts in batch.parts.items() for slot in parts}
        a, b = roots.get(a, a), roots.get(b, b)
        if a == b:
            return
        pair = [batch.after.get(slot) or self._cache.get(slot) for slot in (a, b)]
        older, newer = sorted(pair, key=lambda s: (s.entry.first_seen, s.slot))
        parts = [batch.parts.get(s.slot, [s.slot]) for s in (older, newer)]
        if any(self._said.divided(x, y) for x in parts[0] for y in parts[1]):
            return
        if not self._one_thing(batch, older.entry, newer.entry) or self._seen_together(older.entry, newer.entry, parts):
            return
        events = self._store.events(slots=(older.slot, newer.slot))
        gone = newer.entry.presence[-1].end != FOREVER and _really_gone(batch, newer.entry)
        after = StoredEntry(older.slot, combined(older.entry, newer.entry, gone, context))
        voided = void_events(older.entry, newer.entry, events)
        moved = tuple(e.event.event_id for e in events if e.slot == newer.slot and e.event.event_id not in voided)
        batch.changes.append(MergeChange(EntryChange(older, after), newer, stamp_ns, reason, voided, moved))
        batch.after[older.slot] = after
        batch.parts[older.slot] = parts[0] + parts[1]
        batch.parts.pop(newer.slot, None)

    def _one_thing(self, batch: _Batch, older: Entry, newer: Entry) -> bool:
        same_era = self._sessions.era(older.agent_id, older.session) == self._sessions.era(
            newer.agent_id, newer.session
        )
        if not same_era or not may_continue(older, newer) or not agree(older.attributes, newer.attributes):
            return False
        boxes = [batch.beside.box(stay) for stay in (older.stays[-1], newer.stays[0])]
        size = max(max(box.extent) for box in boxes)
        if math.dist(*(box.pose.position for box in boxes)) >= reach(self._config, size):
            return False
        return older.presence[-1].end == FOREVER or not _really_gone(batch, older)

    def _seen_together(self, older: Entry, newer: Entry, parts: list[list[int]]) -> bool:
        shared = [
            both
            for mine in older.sightings
            for theirs in newer.sightings
            if (both := intervals.intersection(mine, theirs)) is not None
        ]
        return any(self._store.seen_together(older.agent_id, _wide(both), parts[0], parts[1]) for both in shared)


def contradicted(merges: Sequence[MergeRecord], anchors: AnchorBook, config: MemoryConfig) -> list[MergeRecord]:
    """Merges that hold though the places at which two entries met are well apart again, the latest first.

    They met within reach of each other; apart by twice of it, no rule would take them for one.
    """
    found = []
    for merge in merges:
        first, second = merge.kept_before.entry.stays[-1], merge.merged.entry.stays[0]
        a, b = (anchors.box(stay, own=True).pose.position for stay in (first, second))
        size = max(*first.box.extent, *second.box.extent)
        if not merge.undone_by and merge.kept_after is not None and math.dist(a, b) > 2 * reach(config, size):
            found.append(merge)
    return sorted(found, key=lambda merge: -merge.merge_no)


def _really_gone(batch: _Batch, entry: Entry) -> bool:
    """Whether its place, as it is known now, was in view and empty when it was taken for gone."""
    end = entry.presence[-1].end
    centre = batch.beside.box(entry.stays[-1]).pose.position
    agents, map_id = (entry.agent_id,), batch.beside.anchors.common_map(entry.stays[-1].anchor_id)
    looked = batch.coverage.last_looks(map_id, np.array([centre]), end, end + _LOOKED_NS, agents, clearance_m=_CLEAR_M)
    return bool(looked[0] >= end)


def torn(was: FloatArray, now: FloatArray, least_m: float, reach_m: float) -> npt.NDArray[np.bool_]:
    """Where in a map the things within reach of each other didn't all move alike, by at least so much. For each thing.

    ``was``, ``now`` [n, 3]: all things' places. Nothing is left out, some may be too many: they are told apart by cells
    of the ground, at most 1,024 x 1,024, and by the least and the most that what is in one and around it moved.
    """
    ground = [along - along.min(initial=np.inf) for along in now[:, :2].T]
    cell = max(reach_m, max(float(along.max(initial=0.0)) for along in ground) / (_MOST_CELLS - 1))
    x, y = ((along / cell).astype(np.int64) + 1 for along in ground)
    width = int(y.max(initial=0)) + 2
    cells, shape = x * width + y, (int(x.max(initial=0)) + 2, width)
    spread = np.zeros(shape, np.float32)
    for moved in (now - was).T.astype(np.float32):
        most, least = np.full(shape, -np.inf, np.float32), np.full(shape, np.inf, np.float32)
        np.maximum.at(most.ravel(), cells, moved)
        np.minimum.at(least.ravel(), cells, moved)
        _around(np.maximum, most)
        _around(np.minimum, least)
        spread += np.square(np.maximum(most - least, 0))  # where nothing is, -inf becomes 0
    return np.asarray(spread.ravel()[cells] >= np.float32(least_m * least_m * 0.99))


def _around(best: np.ufunc, cells: npt.NDArray[np.float32]) -> None:
    """Give each cell also what its eight neighbours have; those at the border are empty."""
    for lines in (cells, cells.T):
        middle = best(best(lines[:-2], lines[1:-1]), lines[2:])
        lines[1:-1] = middle


def _wide(interval: Interval) -> Interval:
    return Interval(interval.start, interval.end + 1)


@dataclass(frozen=True, slots=True)
class Moving:
    """Anchors as they will stand, where everything is then, and what came near to each other; nothing is changed.

    ``astray``: slots of what was seen where the robot turns out not to have been (see ``astray``).
    """

    agent_id: str
    anchors: Sequence[Anchor]
    beside: Index
    pairs: Sequence[tuple[int, int]]
    astray: Slots


class AnchorMover:
    """Moves anchors, on disk and in memory, and merges what thereby proves to be one.

    All that takes its time is worked out beside what queries see, by ``prepare``; once it is stored, ``take`` lets them
    see it at once. Nothing else may be written in between.
    """

    def __init__(
        self, store: MemoryStore, anchors: AnchorBook, index: Index, cache: EntryCache, merger: Merger
    ) -> None:
        self._store, self._anchors, self._index, self._cache, self._merger = store, anchors, index, cache, merger

    def prepare(self, agent_id: str, anchors: Sequence[Anchor]) -> Moving:
        """Work out what a move of an agent's anchors means; queries may go on meanwhile."""
        moved = np.zeros(len(self._anchors), np.bool_)
        moved[[anchor.anchor_id for anchor in anchors]] = True
        beside, slots = self._index.beside(self._anchors.moved(anchors), moved)
        lost = astray(agent_id, self._anchors, beside.anchors, self._index)
        return Moving(agent_id, anchors, beside, self._merger.pairs(beside, slots), lost)

    def plan(self, moving: Moving, stamp_ns: int, revision: int, reason: str) -> AnchorChange:
        """What to store, with the merges. The caller keeps queries out, since entries are read."""
        merges = self._merger.plan(moving.beside, moving.pairs, stamp_ns, revision, reason)
        before = tuple(self._anchors[anchor.anchor_id].pose_in_map for anchor in moving.anchors)
        return AnchorChange(moving.agent_id, reason, revision, tuple(moving.anchors), before, tuple(merges))

    def store(self, change: AnchorChange) -> None:
        """All of it or nothing; durable on return. Queries may go on meanwhile where there are no merges."""
        self._store.write_anchor_correction(change)

    def take(self, moving: Moving, change: AnchorChange) -> None:
        """Let queries see what is stored. The caller keeps them out."""
        self._anchors.take(moving.beside.anchors)
        self._index.take_places(moving.beside)
        apply_merges(change.merges, self._index, self._cache)


def apply_merges(merges: Sequence[MergeChange], index: Index, cache: EntryCache) -> None:
    """Let queries see merges that are stored."""
    for merge in merges:
        kept, merged = merge.kept, merge.merged
        index.remove(merged)
        index.alias(merged.slot, merged.entry.entry_id, kept.after.slot)
        index.apply([(kept.before.entry if kept.before else None, kept.after)])
        cache.put(kept.after)
