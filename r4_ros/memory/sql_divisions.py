"""Entries that proved to be two in the store: sightings by entry, and how they were divided."""

from __future__ import annotations

import json
from collections.abc import Sequence

from r4_ros.core.model import Interval, Visibility
from r4_ros.memory.codec import dump, unpack_pose
from r4_ros.memory.division_records import Division, KeptSighting
from r4_ros.memory.sql import Database
from r4_ros.memory.sql_rows import EVENT, VOID, event_row, observation_of
from r4_ros.memory.sql_vectors import vectors_of

_SIGHTINGS = """SELECT f.frame_id, session, stamp_ns, anchor_id, sensor_in_anchor, slot, idx, label, box, covariance,
    visibility, confidence, track_id, description, attributes, image, camera
    FROM session JOIN frame f USING(session_no) JOIN stream USING(stream_id) JOIN observation USING(frame_id)
    WHERE session.agent_id = ? AND stamp_ns >= ? AND stamp_ns < ? AND visibility >= 0 AND visibility <> ?
    AND slot IN ({})
    ORDER BY f.frame_id DESC, idx DESC LIMIT ?"""

_ENOUGH = "UPDATE found_absent SET enough = ? WHERE slot = ? AND observer = ? AND first_ns = ?"


class DivisionTable:
    """Reads sightings and writes divisions; writing happens inside the caller's transaction."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def sightings(
        self, agent_id: str, interval: Interval, slots: Sequence[int], limit: int, absences: bool = False
    ) -> list[KeptSighting]:
        """The last ``limit`` kept sightings in the interval that were given to these slots, in the order they came.

        ``absences``: also what found their places empty.
        """
        sql = _SIGHTINGS.format(", ".join(str(int(slot)) for slot in slots))
        without = -1 if absences else int(Visibility.ABSENT)
        rows = self._file.execute(sql, (agent_id, interval.start, interval.end, without, limit))
        vectors = vectors_of(self._file, sorted({text for row in rows for text in (row[7], row[13]) if text}))
        found = []
        for row in reversed(rows):
            frame_id, session, stamp_ns, anchor_id, sensor, slot, *seen, camera = row
            where = (frame_id, session, stamp_ns, anchor_id, unpack_pose(sensor), slot)
            found.append(KeptSighting(*where, observation_of(tuple(seen), vectors.get), camera))
        return found

    def write(self, correction_no: int, d: Division) -> None:
        """Give sightings to other entries, and keep how it was."""
        self._file.execute(
            "INSERT INTO division VALUES (?, ?, ?, ?, ?, ?)",
            (
                correction_no,
                d.to,
                dump(d.sightings),
                dump([(slot, *self._merge_of(slot)) for slot, _ in d.parts]),
                dump(d.voided),
                dump([event.event.event_id for event in d.events]),
            ),
        )
        self._give([(to, frame, index) for frame, index, _, to in d.sightings])
        for slot, into in d.parts:
            merge_no, _ = self._merge_of(slot)
            self._file.execute("UPDATE merge SET undone_by = ? WHERE merge_no = ?", (correction_no, merge_no))
            self._file.execute("UPDATE entry SET merged_into = ? WHERE slot = ?", (into, slot))
        self._void(d.voided, True)
        self._void(d.restored, False)
        self._file.execute_many(EVENT, [event_row(event) for event in d.events])
        rows = [(int(a.enough), a.slot, a.observer, a.first_ns) for a in d.absences]
        self._file.execute_many(_ENOUGH, rows)

    def take_back(self, correction_no: int) -> None:
        """All as it was before a division."""
        [(sightings, parts, voided, added)] = self._file.execute(
            "SELECT sightings, parts, voided, added FROM division WHERE correction_no = ?", (correction_no,)
        )
        self._give([(slot, frame, index) for frame, index, slot, *_ in json.loads(sightings)])
        for slot, merge_no, kept in json.loads(parts):
            self._file.execute("UPDATE merge SET undone_by = 0 WHERE merge_no = ?", (merge_no,))
            self._file.execute("UPDATE entry SET merged_into = ? WHERE slot = ?", (kept, slot))
        self._void(json.loads(added), True)
        self._void(json.loads(voided), False)

    def _merge_of(self, slot: int) -> tuple[int, int | None]:
        """The merge that a slot's entry is a part by (0: by none), and of which slot (None: of none)."""
        [(kept,)] = self._file.execute("SELECT merged_into FROM entry WHERE slot = ?", (slot,))
        rows = self._file.execute(
            "SELECT merge_no FROM merge WHERE merged = ? AND undone_by = 0 ORDER BY merge_no DESC LIMIT 1", (slot,)
        )
        return (rows[0][0] if rows and kept is not None else 0), kept

    def _give(self, rows: Sequence[tuple[int, int, int]]) -> None:
        """Sightings (slot, frame, index) to the entries in these slots, and their pictures."""
        self._file.execute_many("UPDATE observation SET slot = ? WHERE frame_id = ? AND idx = ?", rows)
        self._file.execute_many(
            "UPDATE crop SET slot = ? WHERE name = (SELECT nullif(image, '') FROM observation "
            "WHERE frame_id = ? AND idx = ?)",
            rows,
        )

    def _void(self, event_ids: Sequence[str], voided: bool) -> None:
        self._file.execute_many(VOID, [(int(voided), event_id) for event_id in event_ids])
