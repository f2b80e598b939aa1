"""Merges in a store: a record of each, and what is a part of what."""

from __future__ import annotations

from collections.abc import Sequence

from r4_ros.core.model import Interval
from r4_ros.memory.codec import dump, load_list
from r4_ros.memory.merge_records import MergeChange, MergeRecord
from r4_ros.memory.sql import Database
from r4_ros.memory.sql_entries import EntryTable

MERGED = "SELECT slot, entry_id, merged_into FROM entry WHERE merged_into IS NOT NULL"
"""In no order: asked for by slot, SQLite goes through all entries for them."""


class MergeTable:
    """Reads and writes merges; writing happens inside the caller's transaction."""

    def __init__(self, file: Database, entries: EntryTable) -> None:
        self._file, self._entries = file, entries

    def write(self, c: MergeChange, revision: int) -> None:
        """One merge: the record, both entries, and whose events are whose."""
        kept, merged = c.kept.after.slot, c.merged.slot
        before, after = (self._entries.snapshot(e) for e in (c.kept.before or c.kept.after, c.kept.after))
        self._file.execute(
            "INSERT INTO merge(kept, merged, stamp_ns, revision, reason, kept_before, kept_after, voided, moved) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (kept, merged, c.stamp_ns, revision, c.reason, before, after, dump(c.voided), dump(c.moved)),
        )
        self._entries.write([c.kept])
        self._join(kept, merged, c.voided, c.moved)

    def _join(self, kept: int, merged: int, voided: Sequence[str], moved: Sequence[str]) -> None:
        self._file.execute("UPDATE entry SET merged_into = ? WHERE slot = ?", (kept, merged))
        self._file.execute_many("UPDATE event SET voided = 1 WHERE event_id = ?", [(i,) for i in voided])
        self._file.execute_many("UPDATE event SET slot = ? WHERE event_id = ?", [(kept, i) for i in moved])

    def part(self, merge_no: int, correction_no: int) -> None:
        """Take a merge apart: the other entry is one again, and so are its events."""
        _, merged, voided, moved = self._of(merge_no)
        self._file.execute("UPDATE merge SET undone_by = ? WHERE merge_no = ?", (correction_no, merge_no))
        self._file.execute("UPDATE entry SET merged_into = NULL WHERE slot = ?", (merged,))
        self._file.execute_many("UPDATE event SET voided = 0 WHERE event_id = ?", [(i,) for i in voided])
        self._file.execute_many("UPDATE event SET slot = ? WHERE event_id = ?", [(merged, i) for i in moved])

    def join(self, merge_no: int) -> None:
        """Make a merge again that was taken apart."""
        self._file.execute("UPDATE merge SET undone_by = 0 WHERE merge_no = ?", (merge_no,))
        self._join(*self._of(merge_no))

    def _of(self, merge_no: int) -> tuple[int, int, list[str], list[str]]:
        [(kept, merged, voided, moved)] = self._file.execute(
            "SELECT kept, merged, voided, moved FROM merge WHERE merge_no = ?", (merge_no,)
        )
        return kept, merged, load_list(voided), load_list(moved)

    def records(self) -> list[MergeRecord]:
        """The records of all merges, oldest first."""
        rows = self._file.execute(
            "SELECT merge_no, k.entry_id, m.entry_id, stamp_ns, merge.revision, reason, kept_before, kept_after, "
            "merged, undone_by, voided, moved FROM merge JOIN entry k ON k.slot = kept JOIN entry m ON m.slot = merged "
            "ORDER BY merge_no"
        )
        others = {stored.slot: stored for stored in self._entries.read({row[8] for row in rows}, also_merged=True)}
        restored = self._entries.restored
        return [
            MergeRecord(
                number,
                kept,
                merged,
                stamp,
                revision,
                reason,
                restored(before),
                restored(after) if after else None,
                others[slot],
                undone_by,
                tuple(load_list(void)),
                tuple(load_list(moved)),
            )
            for number, kept, merged, stamp, revision, reason, before, after, slot, undone_by, void, moved in rows
        ]

    def merged(self) -> list[tuple[int, str, int]]:
        """(slot, entry id, slot of the entry that it is a part of now) of all merged entries, by slot."""
        rows = sorted(self._file.execute(MERGED))
        into = {row[0]: row[2] for row in rows}
        found = []
        for slot, entry_id, kept in rows:
            while kept in into:
                kept = into[kept]
            found.append((slot, entry_id, kept))
        return found

    def seen_together(self, agent_id: str, interval: Interval, slots: Sequence[int], others: Sequence[int]) -> bool:
        """Whether a frame in the interval has observations of entries of both groups of slots."""
        group, other = (", ".join(str(int(slot)) for slot in some) or "NULL" for some in (slots, others))
        rows = self._file.execute(
            "SELECT 1 FROM session JOIN frame USING(session_no) JOIN observation a USING(frame_id) "
            "JOIN observation b USING(frame_id) WHERE agent_id = ? AND stamp_ns >= ? AND stamp_ns < ? "
            f"AND a.slot IN ({group}) AND b.slot IN ({other}) LIMIT 1",
            (agent_id, interval.start, interval.end),
        )
        return bool(rows)
