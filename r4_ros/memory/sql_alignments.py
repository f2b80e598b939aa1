"""Alignments of maps in a store: each with when it was said, and what took it back."""

from __future__ import annotations

from r4_ros.core.alignments import Alignment, AlignmentRecord
from r4_ros.memory.codec import pack_pose, unpack_pose
from r4_ros.memory.sql import Database

_ADD = """INSERT INTO alignment(alignment_no, stamp_ns, agent_id, map_id, common_id, frame, pose, source, frame_id,
    correction_no) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ALL = """SELECT alignment_no, stamp_ns, agent_id, map_id, common_id, frame, pose, source, undone_by, frame_id,
    correction_no FROM alignment ORDER BY alignment_no"""
_NEWEST = "SELECT (SELECT max(frame_id) FROM frame), (SELECT max(correction_no) FROM correction)"


class AlignmentTable:
    """Reads and writes alignments; writing happens inside the caller's transaction."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def add(self, r: AlignmentRecord, undoes: int) -> None:
        """One more; it takes back the one with the number ``undoes`` (0: none)."""
        a = r.alignment
        said = ("", "", None) if a is None else (a.common_id, a.frame, pack_pose(a.pose))
        [(frame_id, correction_no)] = self._file.execute(_NEWEST)
        row = (r.number, r.stamp_ns, r.agent_id, r.map_id, *said, r.source, frame_id or 0, correction_no or 0)
        self._file.execute(_ADD, row)
        if undoes:
            self._file.execute("UPDATE alignment SET undone_by = ? WHERE alignment_no = ?", (r.number, undoes))

    def all(self) -> list[tuple[AlignmentRecord, int, int]]:
        """All, oldest first, each with the newest frame and the newest correction before it (0: none)."""
        found = []
        for number, stamp, agent, map_id, common, frame, pose, source, undone, newest, said in self._file.execute(_ALL):
            known = None if pose is None else Alignment(agent, map_id, common, unpack_pose(pose), frame)
            found.append((AlignmentRecord(number, stamp, agent, map_id, known, source, undone), newest, said))
        return found
