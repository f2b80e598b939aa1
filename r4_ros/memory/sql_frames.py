"""Frames in a store, with their sessions, writers, streams and anchors; many are written in few statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from r4_ros.memory.codec import pack_depth, pack_known_pose, pack_pose
from r4_ros.memory.sql import Database, Row
from r4_ros.memory.store import AnchorRecord, FrameChange, SessionRecord, StoredFrame, WriterRecord

_FRAME = """INSERT INTO frame(frame_id, session_no, stamp_ns, stream_id, writer_no, sequence, anchor_id,
    sensor_in_anchor, base_in_sensor, until_ns, rows, depth, believed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_PROLONG = "UPDATE frame SET until_ns = ? WHERE frame_id = ? AND until_ns < ?"
_ANCHOR = "INSERT INTO anchor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SESSION_SEEN = "UPDATE session SET first_ns = ?, newest_ns = ? WHERE session_no = ?"
_WRITER_SEEN = "UPDATE writer SET newest_sequence = ?, newest_ns = ?, revision = ? WHERE writer_no = ?"
SESSIONS = """SELECT agent_id, session, era, first_ns, coalesce((SELECT max(stamp_ns) FROM frame f
    WHERE f.session_no = s.session_no AND stamp_ns > newest_ns), newest_ns) FROM session s"""
"""Sessions as they are: the row of one isn't written for every frame that goes on with it."""
REVISION = """SELECT coalesce(max(value), 0) FROM (SELECT value FROM meta WHERE name = 'revision'
    UNION ALL SELECT max(revision) FROM writer) AS known"""
"""The revision of the last change: a frame's stands with its writer, which is written anyway."""


class FrameTable:
    """Writes frames, inside the caller's transaction."""

    def __init__(self, file: Database) -> None:
        self._file = file
        self._session_numbers: dict[tuple[str, int], int] = {}
        self._writer_numbers: dict[tuple[Any, ...], int] = {}
        self._streams: dict[tuple[Any, ...], int] = {}

    def write(self, changes: Sequence[FrameChange]) -> None:
        """Write the frames of changes, of which each is later than those before it, and what they belong to.

        Revisions of frames that aren't known yet are written with them.
        """
        self.write_sessions([c.session for c in changes if c.session.first_ns == c.frame.stamp_ns])
        self.add_anchors([change.anchor for change in changes if change.anchor is not None])
        new = [change for change in changes if not change.known]
        rows, writers, prolonged = list[Row](), dict[int, Row](), dict[int, int]()
        for change in new:
            frame, w = change.frame, change.frame.writer
            number = self._writer_of(w)
            writers[number] = (w.newest_sequence, w.newest_ns, change.revision, number)
            rows.append(self._row(frame, self._session_of(change.session), number))
            if frame.prolongs is not None:
                prolonged[frame.prolongs] = max(frame.stamp_ns, prolonged.get(frame.prolongs, 0))
        self._file.execute_many(_WRITER_SEEN, list(writers.values()))
        self._file.execute_many(_FRAME, rows)
        if prolonged:
            self._file.execute_many(_PROLONG, [(until, frame_id, until) for frame_id, until in prolonged.items()])

    def write_sessions(self, sessions: Sequence[SessionRecord]) -> None:
        """Write what is known of sessions now; of several records of one the last."""
        rows = {number: (s.first_ns, s.newest_ns, number) for s in sessions for number in (self._session_of(s),)}
        self._file.execute_many(_SESSION_SEEN, list(rows.values()))

    def add_anchors(self, anchors: Sequence[AnchorRecord]) -> None:
        """Add new anchors."""
        self._file.execute_many(_ANCHOR, [_anchor_row(anchor) for anchor in anchors])

    def session_number(self, agent_id: str, session: int) -> int:
        """The number by which frames say whose they are; -1: no such session."""
        rows = self._file.execute(
            "SELECT session_no FROM session WHERE agent_id = ? AND session = ?", (agent_id, session)
        )
        return int(rows[0][0]) if rows else -1

    def forget_unwritten(self) -> None:
        """After a transaction that failed: numbers that it had given are void."""
        for numbers in (self._session_numbers, self._writer_numbers, self._streams):
            numbers.clear()

    def _session_of(self, session: SessionRecord) -> int:
        key = (session.agent_id, session.session)
        if key not in self._session_numbers:
            [(self._session_numbers[key],)] = self._file.execute(
                "INSERT INTO session(agent_id, session, era, first_ns, newest_ns) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT(agent_id, session) DO UPDATE SET newest_ns = excluded.newest_ns, "
                "first_ns = excluded.first_ns RETURNING session_no",
                (*key, session.era, session.first_ns, session.newest_ns),
            )
        return self._session_numbers[key]

    def _writer_of(self, w: WriterRecord) -> int:
        key = (w.agent_id, w.camera, w.writer, w.writer_session, w.first_sequence)
        if key not in self._writer_numbers:
            [(self._writer_numbers[key],)] = self._file.execute(
                "INSERT INTO writer(agent_id, camera, writer, writer_session, first_sequence, session, "
                "newest_sequence, newest_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT"
                "(agent_id, camera, writer, writer_session, first_sequence) DO UPDATE SET "
                "newest_sequence = excluded.newest_sequence, newest_ns = excluded.newest_ns RETURNING writer_no",
                (*key, w.session, w.newest_sequence, w.newest_ns),
            )
        return self._writer_numbers[key]

    def _row(self, f: StoredFrame, session_no: int, writer_no: int) -> Row:
        depth = f.view.depth
        return (
            f.frame_id,
            session_no,
            f.stamp_ns,
            self._stream_id(f),
            writer_no,
            f.sequence,
            f.anchor_id,
            pack_pose(f.sensor_in_anchor, small=True),
            pack_pose(f.base_in_sensor, small=True),
            f.stamp_ns,
            depth.shape[0],
            pack_depth(depth) if depth.size else None,
            None if f.believed is None else pack_pose(f.believed),
        )

    def _stream_id(self, f: StoredFrame) -> int:
        view = (f.view.horizontal_fov, f.view.vertical_fov, f.view.min_depth, f.view.max_depth)
        key = (f.agent_id, f.camera, f.map_id, f.map_frame, f.sensor_frame, *view)
        if key not in self._streams:
            [(self._streams[key],)] = self._file.execute(
                "INSERT INTO stream(agent_id, camera, map_id, map_frame, sensor_frame, horizontal_fov, vertical_fov, "
                "min_depth, max_depth) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT(agent_id, camera, map_id, map_frame, sensor_frame, horizontal_fov, vertical_fov, "
                "min_depth, max_depth) DO UPDATE SET camera = excluded.camera RETURNING stream_id",
                key,
            )
        return self._streams[key]


def _anchor_row(record: AnchorRecord) -> Row:
    a = record.anchor
    return (
        a.anchor_id,
        a.agent_id,
        record.camera,
        a.session,
        a.map_id,
        a.stamp_ns,
        pack_pose(a.pose_in_map),
        pack_known_pose(a.pose_in_odom),
        pack_known_pose(a.recorded_in_map),
    )
