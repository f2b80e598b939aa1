"""The store of the memory in a SQL database. See ``store.py`` for what it promises."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from r4_ros.core.model import Anchor, CorrectionRecord, Embedding, Region, Visibility, observation_id
from r4_ros.memory.anchor_records import Passed, PathRecord, TrailRecord
from r4_ros.memory.codec import (
    dump,
    load_list,
    pack_depth,
    pack_known_pose,
    pack_pose,
    unpack_known_pose,
    unpack_pose,
)
from r4_ros.memory.sql import SET_META, Database
from r4_ros.memory.sql_coverage import CoverageTable
from r4_ros.memory.sql_episodes import EpisodeTable
from r4_ros.memory.sql_history import History
from r4_ros.memory.sql_rows import EVENT, VOID, event_row, observation_row, passed, stored_event, trail_record
from r4_ros.memory.sql_upkeep import SqlUpkeep
from r4_ros.memory.store import (
    AnchorRecord,
    FrameChange,
    KeptFrame,
    SessionRecord,
    StoredCells,
    StoredEntry,
    StoredEpisode,
    StoredEvent,
    StoredFrame,
    StoredView,
    WriterRecord,
)

_FRAME = """INSERT INTO frame(frame_id, session_no, stamp_ns, stream_id, writer_no, sequence, anchor_id,
    sensor_in_anchor, base_in_sensor, until_ns, rows, depth, believed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_PROLONG = "UPDATE frame SET until_ns = ? WHERE frame_id = ? AND until_ns < ?"
_OBSERVATION = "INSERT INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
ABSENCE = """INSERT INTO found_absent VALUES (?, ?, ?, ?, ?) ON CONFLICT(slot, observer, first_ns)
    DO UPDATE SET count = excluded.count, enough = excluded.enough"""
_TRAIL = """SELECT f.stamp_ns, s.map_id, s.map_frame, f.anchor_id, f.sensor_in_anchor, f.base_in_sensor
    FROM frame f JOIN stream s USING(stream_id) WHERE f.session_no = ? AND """


_BESIDE = """SELECT frame_id FROM frame WHERE session_no = :session AND stamp_ns {0} node.value
    ORDER BY stamp_ns {1}, frame_id LIMIT 1"""
_PASSED = f"""SELECT b.stamp_ns, b.anchor_id, b.sensor_in_anchor, b.base_in_sensor,
    a.stamp_ns, a.anchor_id, a.sensor_in_anchor, a.base_in_sensor FROM {{numbers}}
    LEFT JOIN frame b ON b.frame_id = ({_BESIDE.format("<=", "DESC")})
    LEFT JOIN frame a ON a.frame_id = ({_BESIDE.format(">=", "ASC")}) ORDER BY node.key"""


class SqlStore(SqlUpkeep):
    """A ``MemoryStore`` on an open database. Every method raises StoreError."""

    def __init__(self, file: Database) -> None:
        super().__init__(file)
        self._episodes = EpisodeTable(self._file)
        self._coverage = CoverageTable(self._file)
        self._session_numbers: dict[tuple[str, int], int] = {}
        self._writer_numbers: dict[tuple[Any, ...], int] = {}
        self._streams: dict[tuple[Any, ...], int] = {}

    def write_frame(self, change: FrameChange) -> None:
        """Write all of a change or nothing; durable on return."""
        try:
            with self._file.transaction():
                self._write_frame(change)
        except BaseException:
            self.forget_unwritten()
            raise

    def forget_unwritten(self) -> None:
        """A transaction failed: numbers that it gave are void."""
        self._entries.forget_unwritten()
        self._crops.forget_unwritten()
        for numbers in (self._session_numbers, self._writer_numbers, self._streams):
            numbers.clear()

    def _write_frame(self, change: FrameChange) -> None:
        session_no = self._write_session(change.session)
        if change.anchor is not None:
            self._write_anchor(change.anchor)
        if change.known:
            self._told.late(change.frame.frame_id)
        else:
            self._file.execute(_FRAME, self._frame_row(change.frame, session_no))
            if change.frame.prolongs is not None:
                self._file.execute(_PROLONG, (change.frame.stamp_ns, change.frame.prolongs, change.frame.stamp_ns))
        self._entries.write(change.entries)
        self._entries.keep_vectors(observation for observation, _ in change.observations)
        frame_id = change.frame.frame_id
        self._file.execute_many(_OBSERVATION, [observation_row(frame_id, o, s) for o, s in change.observations])
        self._file.execute_many(VOID, [(1, event_id) for event_id in change.voided])
        self._file.execute_many(EVENT, [event_row(event) for event in change.events])
        self._crops.add(change.crops, change.crop_budget)
        for merge in change.merges:
            self._merges.write(merge, change.revision)
        for a in change.absences:
            row = (a.slot, a.observer, a.first_ns, a.count, int(a.enough))
            self._file.execute(ABSENCE, row)
        for belief in change.beliefs:
            self._shifts.keep(belief)
        self._write_revision(change.revision)

    def _write_session(self, session: SessionRecord) -> int:
        key = (session.agent_id, session.session)
        if key in self._session_numbers:
            number = self._session_numbers[key]
            self._file.execute(
                "UPDATE session SET first_ns = ?, newest_ns = ? WHERE session_no = ?",
                (session.first_ns, session.newest_ns, number),
            )
            return number
        [(number,)] = self._file.execute(
            "INSERT INTO session(agent_id, session, era, first_ns, newest_ns) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT(agent_id, session) DO UPDATE SET newest_ns = excluded.newest_ns, first_ns = excluded.first_ns "
            "RETURNING session_no",
            (*key, session.era, session.first_ns, session.newest_ns),
        )
        return self._session_numbers.setdefault(key, int(number))

    def _session_number(self, agent_id: str, session: int) -> int:
        rows = self._file.execute(
            "SELECT session_no FROM session WHERE agent_id = ? AND session = ?", (agent_id, session)
        )
        return int(rows[0][0]) if rows else -1

    def _write_writer(self, w: WriterRecord) -> int:
        key = (w.agent_id, w.camera, w.writer, w.writer_session, w.first_sequence)
        if key in self._writer_numbers:
            number = self._writer_numbers[key]
            self._file.execute(
                "UPDATE writer SET newest_sequence = ?, newest_ns = ? WHERE writer_no = ?",
                (w.newest_sequence, w.newest_ns, number),
            )
            return number
        [(number,)] = self._file.execute(
            "INSERT INTO writer(agent_id, camera, writer, writer_session, first_sequence, session, newest_sequence, "
            "newest_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT"
            "(agent_id, camera, writer, writer_session, first_sequence) DO UPDATE SET "
            "newest_sequence = excluded.newest_sequence, newest_ns = excluded.newest_ns RETURNING writer_no",
            (*key, w.session, w.newest_sequence, w.newest_ns),
        )
        return self._writer_numbers.setdefault(key, int(number))

    def _write_anchor(self, record: AnchorRecord) -> None:
        a = record.anchor
        self._file.execute(
            "INSERT INTO anchor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                a.anchor_id,
                a.agent_id,
                record.camera,
                a.session,
                a.map_id,
                a.stamp_ns,
                pack_pose(a.pose_in_map),
                pack_known_pose(a.pose_in_odom),
                pack_known_pose(a.recorded_in_map),
            ),
        )

    def _frame_row(self, f: StoredFrame, session_no: int) -> tuple[Any, ...]:
        depth = f.view.depth
        return (
            f.frame_id,
            session_no,
            f.stamp_ns,
            self._stream_id(f),
            self._write_writer(f.writer),
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

    def revision(self) -> int:
        """Revision of the last change written."""
        rows = self._file.execute("SELECT value FROM meta WHERE name = 'revision'")
        return int(rows[0][0]) if rows else 0

    def is_live(self) -> bool:
        """What ``set_live`` said last; False for a new file."""
        return self._file.execute("SELECT value FROM meta WHERE name = 'live'") == [(1,)]

    def set_live(self, live: bool) -> None:
        """Keep whether the stamps run on the wall clock; durable on return."""
        with self._file.transaction():
            self._file.execute(SET_META, ("live", int(live)))

    def sessions(self) -> list[SessionRecord]:
        """All sessions, by agent and number."""
        rows = self._file.execute(
            "SELECT agent_id, session, era, first_ns, newest_ns FROM session ORDER BY agent_id, session"
        )
        return [SessionRecord(*row) for row in rows]

    def writers(self) -> list[WriterRecord]:
        """All writers, in the order in which they first wrote."""
        rows = self._file.execute(
            "SELECT agent_id, camera, writer, writer_session, first_sequence, session, newest_sequence, newest_ns "
            "FROM writer ORDER BY writer_no"
        )
        return [WriterRecord(*row) for row in rows]

    def anchors(self, first: int = 0) -> Iterator[AnchorRecord]:
        """All anchors from an id on, by id."""
        for row in self._file.iterate("SELECT * FROM anchor WHERE anchor_id >= ? ORDER BY anchor_id", (first,)):
            poses = (unpack_pose(row[6]), unpack_known_pose(row[7]), unpack_known_pose(row[8]))
            yield AnchorRecord(row[2], Anchor(row[0], row[1], row[3], row[4], row[5], *poses))

    def next_frame_id(self) -> int:
        """An id that no frame has."""
        [(newest,)] = self._file.execute("SELECT max(frame_id) FROM frame")
        return (newest or 0) + 1

    def find_frame(self, agent_id: str, session: int, camera: str, stamp_ns: int) -> tuple[int, frozenset[int]] | None:
        """Id and the observation indices of a known frame; None: unknown."""
        rows = self._file.execute(
            "SELECT frame_id FROM frame JOIN stream USING(stream_id) "
            "WHERE session_no = ? AND stamp_ns = ? AND camera = ?",
            (self._session_number(agent_id, session), stamp_ns, camera),
        )
        if not rows:
            return None
        [(frame_id,)] = rows
        indices = self._file.execute("SELECT idx FROM observation WHERE frame_id = ?", (frame_id,))
        return int(frame_id), frozenset(row[0] for row in indices)

    def observation_ids(self) -> Iterator[str]:
        """Ids of all observations, in the order in which they were stored."""
        for row in self._file.iterate(
            "SELECT session.agent_id, session, camera, stamp_ns, idx FROM observation JOIN frame USING(frame_id) "
            "JOIN session USING(session_no) JOIN stream USING(stream_id) ORDER BY frame_id, idx"
        ):
            yield observation_id(*row)

    def assigned(self) -> Iterator[tuple[str, int, int, str, int]]:
        """(agent, stamp, index, label, slot) of all sightings that are kept, in the order in which they came."""
        for row in self._file.iterate(
            "SELECT agent_id, stamp_ns, idx, label, slot FROM observation JOIN frame USING(frame_id) "
            "JOIN session USING(session_no) WHERE slot IS NOT NULL AND visibility <> ? ORDER BY frame_id, idx",
            (int(Visibility.ABSENT),),
        ):
            yield row[0], row[1], row[2], row[3], row[4]

    def live_tracks(self, agent_id: str, session: int, since_ns: int) -> list[tuple[str, str, int, int]]:
        """(camera, track id, slot, newest stamp) of what was tracked since then."""
        rows = self._file.execute(
            "SELECT camera, track_id, slot, stamp_ns FROM frame JOIN stream USING(stream_id) "
            "JOIN observation USING(frame_id) WHERE session_no = ? AND stamp_ns >= ? AND track_id <> '' "
            "AND slot IS NOT NULL ORDER BY stamp_ns, frame_id, idx",
            (self._session_number(agent_id, session), since_ns),
        )
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def entries(self, slots: Collection[int] | None = None) -> Iterator[StoredEntry]:
        """Whole entries by slot, ascending, without merged ones; None: all."""
        return self._entries.read(slots)

    def views(self) -> Iterator[StoredView]:
        """All frames that kept their depth, oldest first."""
        return self._coverage.views()

    def settle_views(self, cells: StoredCells, settled: Collection[int], dropped: Collection[int]) -> None:
        """Keep a minute's cells; mark the frames whose depth they tell, and drop the depth of others."""
        with self._file.transaction():
            self._coverage.settle(cells, settled, dropped)

    def cells(self, numbers: Collection[int] | None = None) -> Iterator[StoredCells]:
        """All minutes, or those of some numbers, in the order in which they were stored."""
        return self._coverage.cells(numbers)

    def history(self) -> Iterator[KeptFrame | PathRecord | CorrectionRecord]:
        """All frames that are kept, and what was corrected in between, in the order in which they came."""
        anchors = {record.anchor.anchor_id: record.anchor for record in self.anchors()}
        return History(self._file, anchors, self.said()).all()

    def trail(self, agent_id: str, session: int, start_ns: int, end_ns: int) -> list[TrailRecord]:
        """Base poses in [start_ns, end_ns), oldest first."""
        number = self._session_number(agent_id, session)
        sql = _TRAIL + "f.stamp_ns >= ? AND f.stamp_ns < ? ORDER BY f.stamp_ns, f.frame_id"
        return [trail_record(row) for row in self._file.execute(sql, (number, start_ns, end_ns))]

    def trail_around(self, agent_id: str, session: int, stamp_ns: int) -> tuple[TrailRecord | None, TrailRecord | None]:
        """The last base pose not after the stamp and the first not before it."""
        key = (self._session_number(agent_id, session), stamp_ns)
        before = self._file.execute(_TRAIL + "f.stamp_ns <= ? ORDER BY f.stamp_ns DESC, f.frame_id LIMIT 1", key)
        after = self._file.execute(_TRAIL + "f.stamp_ns >= ? ORDER BY f.stamp_ns, f.frame_id LIMIT 1", key)
        return trail_record(before[0]) if before else None, trail_record(after[0]) if after else None

    def passed(self, agent_id: str, session: int, stamps_ns: Sequence[int]) -> tuple[Passed, Passed]:
        """The same of many stamps."""
        number = self._session_number(agent_id, session)
        rows = self._file.execute(
            _PASSED.format(numbers=self._file.numbers), {"session": number, "numbers": dump(list(stamps_ns))}
        )
        return passed([row[:4] for row in rows]), passed([row[4:] for row in rows])

    def map_frames(self) -> dict[str, str]:
        """Name of the fixed frame of each map id."""
        return dict(self._file.execute("SELECT map_id, map_frame FROM stream ORDER BY stream_id"))

    def events(
        self, since_ns: int | None = None, until_ns: int | None = None, slots: Collection[int] | None = None
    ) -> list[StoredEvent]:
        """Events, but void ones, whose [earliest, latest] overlaps [since_ns, until_ns), by stamp."""
        conditions, parameters = ["voided = 0"], list[int]()
        if since_ns is not None:
            conditions.append("latest_ns >= ?")
            parameters.append(since_ns)
        if until_ns is not None:
            conditions.append("CASE earliest_ns WHEN 0 THEN event.stamp_ns ELSE earliest_ns END < ?")
            parameters.append(until_ns)
        if slots is not None:
            conditions.append(f"slot IN ({', '.join(str(int(slot)) for slot in sorted(slots)) or 'NULL'})")
        rows = self._file.execute(
            "SELECT event_id, kind, entry_id, anchor.agent_id, event.label, event.stamp_ns, earliest_ns, latest_ns, "
            "anchor.map_id, place, from_place, detail, slot, event.anchor_id, from_anchor "
            "FROM event JOIN entry USING(slot) JOIN anchor ON anchor.anchor_id = event.anchor_id "
            f"WHERE {' AND '.join(conditions)} ORDER BY event.stamp_ns, event_no",
            parameters,
        )
        return [stored_event(row) for row in rows]

    def add_episode(self, episode: StoredEpisode, revision: int, embedding: Embedding | None = None) -> int:
        """Store an episode; gives its number, 0 where one with the same id is there: that is kept as it is."""
        with self._file.transaction():
            number = self._episodes.add(episode, embedding)
            if number:
                self._write_revision(revision)
        return number

    def episodes(self, start_ns: int, end_ns: int) -> list[StoredEpisode]:
        """Episodes that overlap [start_ns, end_ns), oldest first."""
        return self._episodes.overlapping(start_ns, end_ns)

    def episodes_by_number(self, numbers: Collection[int] | None = None) -> Iterator[StoredEpisode]:
        """Episodes by number, ascending; None: all."""
        return self._episodes.read(numbers)

    def episode_vectors(self) -> Iterator[tuple[str, Embedding]]:
        """What the texts of episodes mean."""
        return self._episodes.vectors()

    def set_regions(self, regions: Sequence[Region], revision: int) -> None:
        """Replace all regions."""
        with self._file.transaction():
            self._file.execute("DELETE FROM region")
            rows = [(r.name, r.map_id, dump(r.polygon), r.z_min, r.z_max) for r in regions]
            self._file.execute_many("INSERT INTO region VALUES (?, ?, ?, ?, ?)", rows)
            self._write_revision(revision)

    def regions(self) -> list[Region]:
        """All regions, by name."""
        rows = self._file.execute("SELECT name, polygon, z_min, z_max, map_id FROM region ORDER BY name, map_id")
        return [Region(row[0], tuple((x, y) for x, y in load_list(row[1])), *row[2:]) for row in rows]
