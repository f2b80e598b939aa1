"""What others know, written into a robot's store: rows of their namespaces, as a map server has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from r4_ros.core.model import Embedding
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.codec import pack_known_pose, pack_pose
from r4_ros.memory.sql_rows import EVENT, VOID, event_row
from r4_ros.memory.sql_store import ABSENCE, SqlStore
from r4_ros.memory.store import (
    AnchorRecord,
    EntryChange,
    FrameChange,
    SessionRecord,
    StoredCells,
    StoredEntry,
    StoredEpisode,
    StoredEvent,
)

_MOVED = "UPDATE anchor SET pose_in_map = ?, recorded_in_map = ? WHERE anchor_id = ?"
_FRAME = "UPDATE frame SET until_ns = ?, settled = ? WHERE frame_id = ?"
_WHOLE = ("crop", "event", "found_absent", "stay", "sighting", "presence", "entry")


@dataclass(frozen=True, slots=True)
class PeerChange:
    """All that news change, with this memory's own numbers; written in one transaction.

    ``frames``: each with how long its depth holds, and whether cells tell it too. ``parts``: slots of entries with
    those of what they are parts of (None: of nothing). ``kept``: what is remembered with it, by name.
    """

    revision: int
    sessions: tuple[SessionRecord, ...]
    anchors: tuple[AnchorRecord, ...]
    moved: tuple[AnchorRecord, ...]
    frames: tuple[tuple[FrameChange, int, bool], ...]
    entries: tuple[EntryChange, ...]
    parts: dict[int, int | None]
    gone: tuple[StoredEntry, ...]
    events: tuple[tuple[StoredEvent, bool], ...]
    absences: tuple[FoundAbsent, ...]
    cells: tuple[StoredCells, ...]
    episodes: tuple[tuple[StoredEpisode, Embedding | None], ...]
    kept: dict[str, str]


class PeerStore(SqlStore):
    """A ``MemoryStore`` that also takes what others know."""

    def write_peers(self, c: PeerChange) -> list[int]:
        """Write all of a change or nothing; durable on return. Gives the numbers of its episodes (0: known)."""
        try:
            with self._file.transaction():
                return self._write_peers(c)
        except BaseException:
            self.forget_unwritten()
            raise

    def _write_peers(self, c: PeerChange) -> list[int]:
        self._frames.write_sessions(c.sessions)
        self._frames.add_anchors(c.anchors)
        moved = [(pack_pose(a.pose_in_map), pack_known_pose(a.recorded_in_map), a.anchor_id) for a in _of(c.moved)]
        self._file.execute_many(_MOVED, moved)
        if c.frames:
            self._write([frame for frame, _, _ in c.frames])
            rows = [(until_ns, int(settled), frame.frame.frame_id) for frame, until_ns, settled in c.frames]
            self._file.execute_many(_FRAME, rows)
        self._entries.write(c.entries)
        parts = [(kept, slot) for slot, kept in c.parts.items()]
        self._file.execute_many("UPDATE entry SET merged_into = ? WHERE slot = ?", parts)
        for stored in c.gone:
            self._file.execute("UPDATE observation SET slot = NULL WHERE slot = ?", (stored.slot,))
            for table in _WHOLE:
                self._file.execute(f"DELETE FROM {table} WHERE slot = ?", (stored.slot,))
        for event, voided in c.events:
            self._file.execute(EVENT, event_row(event))
            self._file.execute(VOID, (int(voided), event.event.event_id))
        for a in c.absences:
            self._file.execute(ABSENCE, (a.slot, a.observer, a.first_ns, a.count, int(a.enough)))
        for minute in c.cells:
            self._coverage.settle(minute, (), ())
        numbers = [self._episodes.add(stored, embedding) for stored, embedding in c.episodes]
        for name, said in c.kept.items():
            self._told.keep(name, said)
        self._write_revision(c.revision)
        return numbers

    def write_sessions(self, sessions: Sequence[SessionRecord]) -> None:
        """Write sessions that another memory knows; durable on return."""
        with self._file.transaction():
            self._frames.write_sessions(sessions)

    def slots_of(self, entry_ids: Sequence[str]) -> dict[str, tuple[int, int | None]]:
        """Slots of those entries that there are, also of merged ones, each with the slot that it is a part of."""
        found: dict[str, tuple[int, int | None]] = {}
        for i in range(0, len(entry_ids), 500):
            some = entry_ids[i : i + 500]
            among = ", ".join("?" * len(some))
            rows = self._file.execute(
                f"SELECT entry_id, slot, merged_into FROM entry WHERE entry_id IN ({among})", some
            )
            found.update({row[0]: (row[1], row[2]) for row in rows})
        return found

    def read_entries(self, slots: Sequence[int]) -> list[StoredEntry]:
        """Entries by slot, also merged ones."""
        return list(self._entries.read(slots, also_merged=True))

    def entry_ids_of_others(self, agents: Sequence[str]) -> list[str]:
        """Ids of the entries of all agents but these."""
        rows = self._file.execute("SELECT entry_id, agent_id FROM entry ORDER BY slot")
        return [entry_id for entry_id, agent in rows if agent not in agents]

    def was_looked_at(self, minute: StoredCells) -> bool:
        """Whether what an agent saw in a minute is known: by cells, or by depth that no cells tell yet."""
        where = (minute.agent_id, minute.map_id, minute.start_ns, minute.until_ns)
        cells = "SELECT 1 FROM coverage WHERE agent_id = ? AND map_id = ? AND until_ns >= ? AND start_ns <= ? LIMIT 1"
        views = """SELECT 1 FROM frame JOIN stream USING(stream_id) WHERE agent_id = ? AND map_id = ? AND stamp_ns >= ?
            AND stamp_ns <= ? AND depth IS NOT NULL AND settled = 0 LIMIT 1"""
        return bool(self._file.execute(cells, where) or self._file.execute(views, where))


def _of(records: Sequence[AnchorRecord]) -> list[Any]:
    return [record.anchor for record in records]
