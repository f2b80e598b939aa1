"""After a correction: what agents found gone of each other's things, at places where these weren't, wasn't found gone.

Each record of that kind is held against where the observer looked and where the thing stood, as far as is known now.
What doesn't hold any more counts no more, and its event is void; it is kept, and counts again where a later correction
bears it out. Where the frames that looked are dropped, what they said stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.config import MemoryConfig
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import (
    MEMORY,
    NS_PER_S,
    CorrectionKind,
    CorrectionRecord,
    EntryCorrection,
    EventKind,
    Interval,
    Visibility,
)
from r4_ros.memory import happenings
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.anew import AT_HAND_M, says_gone
from r4_ros.memory.division_records import Division
from r4_ros.memory.evidence import stay_at
from r4_ros.memory.index import Index
from r4_ros.memory.stays import place
from r4_ros.memory.store import CorrectionChange, MemoryStore, StoredEntry
from r4_ros.memory.working import EntryCache

_LOOKED_NS = 10 * NS_PER_S
_MOST_LOOKS, _MOST_RECORDS = 50, 2000


class Rechecker:
    """Plans what counts no more, or again; changes nothing."""

    def __init__(
        self, store: MemoryStore, index: Index, anchors: AnchorBook, cache: EntryCache, config: MemoryConfig
    ) -> None:
        self._store, self._index, self._anchors, self._cache, self._config = store, index, anchors, cache, config

    def plan(self, agent_id: str, stamp_ns: int, revision: int, number: int) -> CorrectionChange | None:
        """After an agent's anchors were moved, as correction ``number``; None: all holds that held. The newest only."""
        records = self._store.absences()
        if not records:
            return None
        changed, ids, void, restored = list[FoundAbsent](), list[str](), list[str](), list[str]()
        merged = {slot: (name, kept) for slot, name, kept in self._store.merged()}
        for record in sorted(records, key=lambda r: -r.first_ns)[:_MOST_RECORDS]:
            name, slot = merged.get(record.slot, (self._index.ids[record.slot], record.slot))
            stored = self._cache.get(slot)
            if agent_id not in (record.observer, stored.entry.agent_id):
                continue
            enough = self._holds(record, stored)
            if enough is None or enough == record.enough:
                continue
            changed.append(replace(record, enough=enough))
            ids.append(stored.entry.entry_id)
            restored += [happenings.found_gone_id(name, record)] if enough else []
            void += [] if enough else self._told(record, stored.slot)
        if not changed:
            return None
        said = EntryCorrection(CorrectionKind.SPLIT, ids[0], source=MEMORY)
        division = Division(-1, (), voided=tuple(void), restored=tuple(restored), absences=tuple(changed))
        record_of = CorrectionRecord(number, stamp_ns, said, tuple(dict.fromkeys(ids)))
        return CorrectionChange(revision, record_of, (), divided=division)

    def _told(self, record: FoundAbsent, slot: int) -> list[str]:
        events = (stored.event for stored in self._store.events(slots=(slot, record.slot)))
        return [
            e.event_id
            for e in events
            if (e.kind, e.agent_id, e.stamp_ns) == (EventKind.DISAPPEARED, record.observer, record.first_ns)
        ]

    def _holds(self, record: FoundAbsent, stored: StoredEntry) -> bool | None:
        """Whether enough frames looked at the thing's place; None where that can't be told."""
        entry, config = stored.entry, self._config
        span = Interval(record.first_ns, record.first_ns + _LOOKED_NS)
        slots: Sequence[int] = (record.slot, stored.slot)
        rows = self._store.sightings(record.observer, span, slots, _MOST_LOOKS, absences=True)
        rows = [row for row in rows if row.observation.visibility == Visibility.ABSENT]
        if not rows or any(math.hypot(*row.observation.box.pose.position) < AT_HAND_M for row in rows):
            return None
        box, stamps = self._index.box(stay_at(entry.stays, record.first_ns)), list[int]()
        for row in rows:
            sensor = self._anchors.in_common(row.anchor_id, row.sensor_in_anchor)
            [seen], _ = place([row.observation], sensor)
            if says_gone(seen, entry.last_seen > row.stamp_ns, box, entry.label):
                stamps.append(row.stamp_ns)
        long_enough = bool(stamps) and stamps[-1] - stamps[0] >= nanoseconds(config.absent_span_s)
        return len(stamps) >= config.absent_frames and long_enough
