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
    visibility, confidence, track_id, description, attributes, image
    FROM session JOIN frame f USING(session_no) JOIN observation USING(frame_id)
    WHERE agent_id = ? AND stamp_ns >= ? AND stamp_ns < ? AND visibility >= 0 AND visibility <> ? AND slot IN ({})
    ORDER BY f.frame_id DESC, idx DESC LIMIT ?"""


class DivisionTable:
    """Reads sightings and writes divisions; writing happens inside the caller's transaction."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def sightings(self, agent_id: str, interval: Interval, slots: Sequence[int], limit: int) -> list[KeptSighting]:
        """The last ``limit`` kept sightings in the interval that were given to these slots, in the order they came."""
        sql = _SIGHTINGS.format(", ".join(str(int(slot)) for slot in slots))
        rows = self._file.execute(sql, (agent_id, interval.start, interval.end, int(Visibility.ABSENT), limit))
        vectors = vectors_of(self._file, sorted({text for row in rows for text in (row[7], row[13]) if text}))
        return [
            KeptSighting(
                row[0], row[1], row[2], row[3], unpack_pose(row[4]), row[5], observation_of(row[6:], vectors.get)
            )
            for row in reversed(rows)
        ]

    def write(self, correction_no: int, d: Division) -> None:
        """Divide, and keep how."""
        self._file.execute(
            "INSERT INTO division VALUES (?, ?, ?, ?, ?, ?)",
            (
                correction_no,
                d.to,
                dump(d.sightings),
                dump([(slot, *self._merge_of(slot)) for slot in d.parts]),
                dump(d.voided),
                dump([event.event.event_id for event in d.events]),
            ),
        )
        self._give([(d.to, frame, index) for frame, index, _ in d.sightings])
        for slot in d.parts:
            merge_no, _ = self._merge_of(slot)
            self._file.execute("UPDATE merge SET undone_by = ? WHERE merge_no = ?", (correction_no, merge_no))
            self._file.execute("UPDATE entry SET merged_into = ? WHERE slot = ?", (d.to, slot))
        self._void(d.voided, True)
        self._file.execute_many(EVENT, [event_row(event) for event in d.events])

    def take_back(self, correction_no: int) -> None:
        """All as it was before a division."""
        [(sightings, parts, voided, added)] = self._file.execute(
            "SELECT sightings, parts, voided, added FROM division WHERE correction_no = ?", (correction_no,)
        )
        self._give([(slot, frame, index) for frame, index, slot in json.loads(sightings)])
        for slot, merge_no, kept in json.loads(parts):
            self._file.execute("UPDATE merge SET undone_by = 0 WHERE merge_no = ?", (merge_no,))
            self._file.execute("UPDATE entry SET merged_into = ? WHERE slot = ?", (kept, slot))
        self._void(json.loads(added), True)
        self._void(json.loads(voided), False)

    def _merge_of(self, slot: int) -> tuple[int, int]:
        """The merge that a slot's entry is a part by, and of which slot."""
        [(merge_no, kept)] = self._file.execute(
            "SELECT merge_no, kept FROM merge WHERE merged = ? ORDER BY merge_no DESC LIMIT 1", (slot,)
        )
        return merge_no, kept

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
