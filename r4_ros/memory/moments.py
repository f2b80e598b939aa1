"""The temporal key: which entries were seen, present or changed when, and where things were at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FOREVER, EntryState, EventKind, TemporalConstraint, TemporalKind
from r4_ros.memory.index import Index, Mask, Slots
from r4_ros.memory.store import MemoryStore
from r4_ros.memory.tables import PartTable

_KINDS = {
    TemporalKind.APPEARED_IN: {EventKind.APPEARED, EventKind.REAPPEARED},
    TemporalKind.DISAPPEARED_IN: {EventKind.DISAPPEARED},
    TemporalKind.CHANGED_IN: set(EventKind),
}

_FEW = 512
"""The events of so many entries are looked up by entry."""
_MOST_STEPS = 64
"""So many intervals of an entry are looked at one after the other; then all of all are."""


class TemporalKey:
    """What holds for slots by their intervals and events, as known at ``now``; results are by slot, in their order."""

    def __init__(self, index: Index, store: MemoryStore) -> None:
        self._index, self._store = index, store

    def holds(self, constraint: TemporalConstraint, slots: Slots, now_ns: int) -> Mask:
        """Which slots satisfy a constraint."""
        start, end = constraint.start_ns, min(constraint.end_ns, now_ns + 1)
        kind, first = constraint.kind, self._index.entries["first_seen"][slots]
        if kind == TemporalKind.SEEN_IN:
            return self._overlapping(self._index.sightings, slots, start, end)
        if kind == TemporalKind.ONLY_SEEN_IN:
            return np.asarray((first >= start) & (self.last_seen(slots, now_ns) < constraint.end_ns))
        if kind == TemporalKind.PRESENT_AT:
            return self.present(slots, start)
        if kind == TemporalKind.PRESENT_IN:
            there = self._overlapping(self._index.presence, slots, start, end) & ~self._moved(slots, start)
            return there & (self._found_gone(slots, start, end - 1) < 0)
        if kind == TemporalKind.LAST_SEEN_BEFORE:
            return np.asarray(first < start)
        if kind == TemporalKind.FIRST_SEEN_AFTER:
            return np.asarray((first >= start) & (first < end))
        of = slots.tolist() if len(slots) <= _FEW else None
        counts = self._index.absences.counts
        events = (e for e in self._store.events(start, end, of) if e.event.latest_ns <= now_ns)
        known = (e for e in events if e.event.kind in _KINDS[kind] and counts(e.event.agent_id))
        return np.isin(slots, [e.slot for e in known])

    def _overlapping(self, table: PartTable, slots: Slots, start_ns: int, end_ns: int) -> Mask:
        """Which slots have an interval that overlaps [start, end): looked for from the newest one back."""
        found = np.zeros(len(slots), np.bool_)
        waiting = np.flatnonzero(table.last[slots] >= 0)
        rows = table.last[slots[waiting]].astype(np.int64)
        for _ in range(_MOST_STEPS):
            late = table["end"][rows] > start_ns
            hit = late & (table["start"][rows] < end_ns)
            found[waiting[hit]] = True
            before = table["prev"][rows].astype(np.int64)
            further = late & ~hit & (before >= 0)  # the ones before end earlier
            waiting, rows = waiting[further], before[further]
            if not len(rows):
                return found
        mask = np.zeros(self._index.entries.rows, np.bool_)
        mask[table["slot"][(table["slot"] >= 0) & (table["start"] < end_ns) & (table["end"] > start_ns)]] = True
        found[waiting] = mask[slots[waiting]]
        return found

    def present(self, slots: Slots, stamp_ns: int) -> Mask:
        """Which slots are believed to be at their place at a time."""
        there = self._overlapping(self._index.presence, slots, stamp_ns, stamp_ns + 1)
        return there & ~self._moved(slots, stamp_ns) & (self._found_gone(slots, stamp_ns, stamp_ns) < 0)

    def _found_gone(self, slots: Slots, stamp_ns: int, last_ns: int) -> npt.NDArray[np.int64]:
        """When another agent found each slot's thing gone, by a stamp; -1: not so, or seen since, until ``last``."""
        absences, since = self._index.absences, np.full(len(slots), -1, np.int64)
        rows = np.flatnonzero(np.isin(slots, absences.slots()))
        if rows.size:
            seen = self.last_seen(slots[rows], last_ns).tolist()
            since[rows] = [absences.end(s, t, stamp_ns) for s, t in zip(slots[rows].tolist(), seen, strict=True)]
        return since

    def _moved(self, slots: Slots, stamp_ns: int) -> Mask:
        """Whose thing had been seen elsewhere by a time, though nobody had looked back yet."""
        moved, successors = self._index.moved()
        known = self._index.entries["first_seen"][successors] <= stamp_ns
        return np.isin(slots, moved[known])

    def in_view(self, slots: Slots, stamp_ns: int, slack_ns: int) -> Mask:
        """Which slots were seen at a time, give or take the slack."""
        return self._overlapping(self._index.sightings, slots, stamp_ns - slack_ns, stamp_ns + slack_ns + 1)

    def last_seen(self, slots: Slots, now_ns: int) -> npt.NDArray[np.int64]:
        """Last sighting of each slot not after ``now``; -1 where there is none."""
        last: npt.NDArray[np.int64] = self._index.entries["last_seen"][slots]
        waiting = np.flatnonzero(last > now_ns)
        if len(waiting):
            last[waiting] = self._last_before(slots[waiting], now_ns)
        return last

    def _last_before(self, slots: Slots, now_ns: int) -> npt.NDArray[np.int64]:
        table, last = self._index.sightings, np.full(len(slots), -1, np.int64)
        waiting, rows = np.arange(len(slots)), table.last[slots].astype(np.int64)
        for _ in range(_MOST_STEPS):
            begun = table["start"][rows] <= now_ns
            last[waiting[begun]] = np.minimum(table["end"][rows[begun]] - 1, now_ns)
            before = table["prev"][rows].astype(np.int64)
            further = ~begun & (before >= 0)
            waiting, rows = waiting[further], before[further]
            if not len(rows):
                return last
        every = np.full(self._index.entries.rows, -1, np.int64)
        begun = (table["slot"] >= 0) & (table["start"] <= now_ns)
        np.maximum.at(every, table["slot"][begun], np.minimum(table["end"][begun] - 1, now_ns))
        last[waiting] = every[slots[waiting]]
        return last

    def known_gone(self, slots: Slots, now_ns: int) -> npt.NDArray[np.int64]:
        """When each slot's last presence was found to have ended, by whomever, -1 where it hadn't by ``now``."""
        end = self._index.presence["end"][self._index.presence.last[slots]]
        return np.maximum(np.where(end <= now_ns, end, -1), self._found_gone(slots, now_ns, now_ns))

    def states(self, slots: Slots, now_ns: int, in_view_ns: int) -> npt.NDArray[np.int8]:
        """State of each slot at ``now``: in view, gone, or not looked at since."""
        recent = now_ns - self.last_seen(slots, now_ns) <= in_view_ns
        states = np.where(recent, EntryState.PRESENT, EntryState.UNKNOWN)
        return np.where(self.present(slots, now_ns), states, EntryState.GONE).astype(np.int8)

    def stay_rows(self, slots: Slots, stamp_ns: int) -> Slots:
        """For each slot, the row of the stay that held at a time: the last one begun by then, else the first."""
        stays = self._index.stays
        rows = stays.last[slots].astype(np.int64)
        waiting = np.arange(len(rows))
        while True:
            at = rows[waiting]
            later = (stays["start"][at] > stamp_ns) & (stays["prev"][at] >= 0)
            if not later.any():
                return rows
            waiting = waiting[later]
            rows[waiting] = stays["prev"][at[later]]


def asked_window(constraints: Sequence[TemporalConstraint], at_ns: int | None, now_ns: int) -> tuple[int, int]:
    """The time [start, end) in which a place would have to have been looked at to know what was asked."""
    start, end = 0, now_ns + 1
    if at_ns is not None:
        end = min(end, at_ns + 1)
    for c in constraints:
        if c.kind in (TemporalKind.PRESENT_AT, TemporalKind.LAST_SEEN_BEFORE):
            end = min(end, c.start_ns + 1)
        else:
            start, end = max(start, c.start_ns), min(end, c.end_ns if c.end_ns != FOREVER else end)
    return start, end
