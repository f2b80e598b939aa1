"""Entries that turn out to fill one space, without a loop closure: a large thing that was first seen in pieces.

Two things can't be in one place. So where an entry grows into another one of its kind, until they share a good part of
the smaller one's room, both are one thing, unless a frame ever saw both: those are look-alikes that stand close. They
are merged as after a loop closure: on record, and the younger one's id goes on to name the thing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from r4_ros.core import intervals
from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import bounds
from r4_ros.core.model import FOREVER, Entry, FloatArray, Interval
from r4_ros.memory.attributes import agree
from r4_ros.memory.index import Index
from r4_ros.memory.merge_records import MergeChange
from r4_ros.memory.merging import MergeContext, combined, may_merge, void_events
from r4_ros.memory.said import Said
from r4_ros.memory.stays import FrameContext
from r4_ros.memory.store import EntryChange, MemoryStore, StoredEntry, StoredEvent
from r4_ros.memory.working import Working

REASON = "one space"
SHARE = 0.4
"""Of the smaller one's room; neighbours of one kind overlap less, whatever the noise."""
_PAD_SHARE, _PAD_M = 0.05, 0.03
_GROWTH_M, _LEAP_M = 0.01, 0.05


@dataclass(slots=True)
class _Plan:
    """What a frame leads to: entries as it leaves them, what it saw, what happened, and the merges found so far."""

    working: Working
    in_frame: set[int]
    events: Sequence[StoredEvent]
    context: FrameContext
    after: dict[int, StoredEntry] = field(default_factory=dict)
    parts: dict[int, list[int]] = field(default_factory=dict)
    merged: set[int] = field(default_factory=set)
    changes: list[MergeChange] = field(default_factory=list)

    def get(self, slot: int) -> StoredEntry:
        """An entry as it is by now."""
        return self.after.get(slot) or self.working.get(slot)

    def slots_of(self, slot: int) -> list[int]:
        """The entry's slot and those of what was merged into it just now."""
        return self.parts.get(slot, [slot])


class OneSpace:
    """Plans the merges that a frame gives rise to; changes nothing."""

    def __init__(self, store: MemoryStore, index: Index, said: Said, config: MemoryConfig) -> None:
        self._store, self._index, self._said = store, index, said
        self._similarity = config.label_similarity
        self._gap_ns = intervals.nanoseconds(config.sighting_gap_s)
        self._apart: set[tuple[int, int]] = set()

    def merges(
        self, working: Working, in_frame: Collection[int], events: Sequence[StoredEvent], context: FrameContext
    ) -> list[MergeChange]:
        """Merges of what the frame made grow. ``in_frame``: slots of all that it saw; ``events``: all it led to."""
        plan = _Plan(working, set(in_frame), events, context)
        for slot in [change.after.slot for change in working.changes() if _grew(change)]:
            for other in self._around(slot, plan):
                if not {slot, other} & plan.merged:
                    self._try(slot, other, plan)
        return plan.changes

    def _around(self, slot: int, plan: _Plan) -> list[int]:
        """Slots of what is of its kind and touches it, by slot."""
        index, entry = self._index, plan.get(slot).entry
        label = index.labels.find(entry.label)
        if label < 0:  # the first of its kind
            return []
        low, high = bounds(plan.context.box(entry.stays[-1]))
        owner = index.agents.find(entry.agent_id), index.maps.find(entry.map_id)
        slots = index.touching(*owner, low - _PAD_M, high + _PAD_M)
        slots = slots[slots != slot]
        lows, highs, _ = index.own_places(slots)
        slots = slots[((lows < high + _PAD_M) & (highs > low - _PAD_M)).all(axis=1)]
        of = index.entries["label"]
        near = {s for s in slots.tolist() if index.labels.alike(int(of[s]), label, self._similarity)}
        return sorted(near - self._said.spoken_of()) if near else []

    def _try(self, slot: int, other: int, plan: _Plan) -> None:
        """Merge the two, if they are one thing."""
        older, newer = sorted((plan.get(slot), plan.get(other)), key=lambda s: (s.entry.first_seen, s.slot))
        if slot in self._said.spoken_of() or not self._one_thing(older, newer, plan):
            return
        slots = (older.slot, newer.slot)
        events = [*self._store.events(slots=slots), *(e for e in plan.events if e.slot in slots)]
        context = MergeContext(plan.context.revision, plan.context.numbered, self._gap_ns)
        after = StoredEntry(older.slot, combined(older.entry, newer.entry, False, context, pieces=True))
        voided = void_events(older.entry, newer.entry, events)
        moved = tuple(
            dict.fromkeys(e.event.event_id for e in events if e.slot == newer.slot and e.event.event_id not in voided)
        )
        change = MergeChange(EntryChange(older, after), newer, plan.context.stamp_ns, REASON, voided, moved)
        plan.changes.append(change)
        plan.after[older.slot] = after
        plan.parts[older.slot] = plan.slots_of(older.slot) + plan.slots_of(newer.slot)
        plan.merged.add(newer.slot)

    def _one_thing(self, older: StoredEntry, newer: StoredEntry, plan: _Plan) -> bool:
        a, b = older.entry, newer.entry
        pair = (older.slot, newer.slot)
        if (
            pair in self._apart
            or self._said.divided(*pair)
            or min(a.session, b.session) < plan.context.era_start
            or not may_merge(a, b)
        ):
            return False
        if any(e.presence[-1].end != FOREVER for e in (a, b)):
            return False
        whole = bool(a.stays[-1].whole and b.stays[-1].whole)
        if whole and not agree(a.attributes, b.attributes):  # colours of pieces say little
            return False
        boxes = [bounds(plan.context.box(e.stays[-1])) for e in (a, b)]
        if _overlap(*boxes[0], *boxes[1]) < SHARE:
            return False
        if self._seen_together(older, newer, plan):
            self._apart.add(pair)
            return False
        return True

    def _seen_together(self, older: StoredEntry, newer: StoredEntry, plan: _Plan) -> bool:
        """Whether a frame saw both; where it can't be looked up any more, whether one may have."""
        mine, theirs = plan.slots_of(older.slot), plan.slots_of(newer.slot)
        if plan.in_frame & set(mine) and plan.in_frame & set(theirs):
            return True
        agent = older.entry.agent_id
        dropped = max((before for (a, _), before in self._store.pruned_before().items() if a == agent), default=0)
        for both in _shared(older.entry, newer.entry):
            if both.start < dropped or self._store.seen_together(agent, both, mine, theirs):
                return True
        return False


def _grew(change: EntryChange) -> bool:
    """Whether more of a thing is known than before: a piece of it, or more than views of the whole differ by noise."""
    entry, before = change.after.entry, change.before
    if entry.presence[-1].end != FOREVER:
        return False
    stay = entry.stays[-1]
    pieces = stay.whole < stay.count
    if before is None or len(before.entry.stays) != len(entry.stays):
        return pieces
    sizes = zip(stay.box.extent, before.entry.stays[-1].box.extent, strict=True)
    return max(now - then for now, then in sizes) > (_GROWTH_M if pieces else _LEAP_M)


def _overlap(a_low: FloatArray, a_high: FloatArray, b_low: FloatArray, b_high: FloatArray) -> float:
    """What two boxes share of the smaller one, along each axis, multiplied. Padded a little: pieces are thin."""
    sizes = np.minimum(a_high - a_low, b_high - b_low)
    pad = 2 * min(_PAD_M, _PAD_SHARE * float(max((a_high - a_low).max(), (b_high - b_low).max())))
    shared = np.clip(np.minimum(a_high, b_high) - np.maximum(a_low, b_low) + pad, 0, None)
    return float((shared / (sizes + pad)).prod())


def _shared(a: Entry, b: Entry) -> list[Interval]:
    """When both were in view."""
    both = (intervals.intersection(mine, theirs) for mine in a.sightings for theirs in b.sightings)
    return [Interval(i.start, i.end + 1) for i in both if i is not None]
