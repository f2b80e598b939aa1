"""The temporal key: which entries were seen, present or changed when, and where things were at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FOREVER, EntryState, EventKind, TemporalConstraint, TemporalKind
from r4_ros.memory.index import Index, Mask, Slots
from r4_ros.memory.store import MemoryStore, StoredEvent
from r4_ros.memory.tables import PartTable

_KINDS = {
    TemporalKind.APPEARED_IN: {EventKind.APPEARED, EventKind.REAPPEARED},
    TemporalKind.DISAPPEARED_IN: {EventKind.DISAPPEARED},
    TemporalKind.CHANGED_IN: set(EventKind),
}


class TemporalKey:
    """Filters slots by intervals and events, as known at ``now``."""

    def __init__(self, index: Index, store: MemoryStore) -> None:
        self._index, self._store = index, store

    def holds(self, constraint: TemporalConstraint, now_ns: int) -> Mask:
        """Which slots (a mask over all) satisfy a constraint."""
        start, end = constraint.start_ns, min(constraint.end_ns, now_ns + 1)
        kind = constraint.kind
        if kind == TemporalKind.SEEN_IN:
            return self._overlapping(self._index.sightings, start, end)
        if kind == TemporalKind.PRESENT_AT:
            return self.present(start)
        if kind == TemporalKind.PRESENT_IN:
            return self._without_moved(self._overlapping(self._index.presence, start, end), start)
        if kind == TemporalKind.LAST_SEEN_BEFORE:
            return self._overlapping(self._index.sightings, 0, start)
        if kind == TemporalKind.FIRST_SEEN_AFTER:
            first = self._index.entries["first_seen"]
            return np.asarray((first >= start) & (first < end))
        mask = np.zeros(self._index.entries.rows, bool)
        happened = [e.slot for e in self._events(start, end, now_ns) if e.event.kind in _KINDS[kind]]
        mask[happened] = True
        return mask

    def _events(self, start_ns: int, end_ns: int, now_ns: int) -> Sequence[StoredEvent]:
        return [e for e in self._store.events(start_ns, end_ns) if e.event.latest_ns <= now_ns]

    def _overlapping(self, table: PartTable, start_ns: int, end_ns: int) -> Mask:
        rows = (table["slot"] >= 0) & (table["start"] < end_ns) & (table["end"] > start_ns)
        mask = np.zeros(self._index.entries.rows, bool)
        mask[table["slot"][rows]] = True
        return mask

    def present(self, stamp_ns: int) -> Mask:
        """Which slots (a mask over all) are believed to be at their place at a time."""
        return self._without_moved(self._overlapping(self._index.presence, stamp_ns, stamp_ns + 1), stamp_ns)

    def _without_moved(self, mask: Mask, stamp_ns: int) -> Mask:
        """The mask without entries whose thing had been seen elsewhere by a time, though nobody had looked back yet."""
        first_seen, slots = self._index.entries["first_seen"], self._index.slots
        for moved, successor in self._index.successors.items():
            if moved in slots and first_seen[successor] <= stamp_ns:
                mask[slots[moved]] = False
        return mask

    def in_view(self, stamp_ns: int, slack_ns: int) -> Mask:
        """Which slots (a mask over all) were seen at a time, give or take the slack."""
        return self._overlapping(self._index.sightings, stamp_ns - slack_ns, stamp_ns + slack_ns + 1)

    def last_seen(self, now_ns: int) -> npt.NDArray[np.int64]:
        """Last sighting of each slot not after ``now``; -1 where there is none."""
        last: npt.NDArray[np.int64] = self._index.entries["last_seen"].copy()
        if (last > now_ns).any():
            table = self._index.sightings
            rows = np.flatnonzero((table["slot"] >= 0) & (table["start"] <= now_ns))
            last[:] = -1
            np.maximum.at(last, table["slot"][rows], np.minimum(table["end"][rows] - 1, now_ns))
        return last

    def known_gone(self, slots: Slots, now_ns: int) -> npt.NDArray[np.int64]:
        """When each slot's last presence was found to have ended, -1 where it hadn't by ``now``."""
        end = self._index.presence["end"][self._index.presence.last[slots]]
        return np.where(end <= now_ns, end, -1)

    def states(self, now_ns: int, in_view_ns: int) -> npt.NDArray[np.int8]:
        """State of each slot at ``now``: in view, gone, or not looked at since."""
        recent = now_ns - self.last_seen(now_ns) <= in_view_ns
        states = np.where(recent, EntryState.PRESENT, EntryState.UNKNOWN)
        return np.where(self.present(now_ns), states, EntryState.GONE).astype(np.int8)

    def stay_rows(self, slots: Slots, stamp_ns: int) -> Slots:
        """For each slot, the row of the stay that held at a time: the last one begun by then, else the first."""
        stays = self._index.stays
        rows = stays.last[slots].astype(np.int64)
        while True:
            later = np.flatnonzero((stays["start"][rows] > stamp_ns) & (stays["prev"][rows] >= 0))
            if not later.size:
                return rows
            rows[later] = stays["prev"][rows[later]]


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
