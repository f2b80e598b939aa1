"""The store of the memory in a SQL database. See ``store.py`` for what it promises."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.model import Anchor, CorrectionRecord, Embedding, Region, Visibility, observation_id
from r4_ros.memory.anchor_records import Passed, PathRecord, TrailRecord
from r4_ros.memory.codec import dump, load_list, unpack_known_pose, unpack_pose
from r4_ros.memory.sql import SET_META, Database, GatheringDatabase
from r4_ros.memory.sql_coverage import CoverageTable
from r4_ros.memory.sql_episodes import EpisodeTable
from r4_ros.memory.sql_frames import REVISION, SESSIONS, FrameTable
from r4_ros.memory.sql_history import History
from r4_ros.memory.sql_rows import EVENT, VOID, event_row, observation_row, passed, stored_event, trail_record
from r4_ros.memory.sql_upkeep import SqlUpkeep
from r4_ros.memory.store import (
    AnchorRecord,
    EntryChange,
    FrameChange,
    KeptFrame,
    SessionRecord,
    StoredCells,
    StoredEntry,
    StoredEpisode,
    StoredEvent,
    StoredView,
    WriterRecord,
)

_OBSERVATION = "INSERT INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
ABSENCE = """INSERT INTO found_absent VALUES (?, ?, ?, ?, ?) ON CONFLICT(slot, observer, first_ns)
    DO UPDATE SET count = excluded.count, enough = excluded.enough"""
_MOST_GATHERED = 64
"""Frames of one transaction that are written at once."""
_FIND = """SELECT f.frame_id, o.idx, o.description FROM session s JOIN frame f USING(session_no)
    JOIN stream t USING(stream_id) LEFT JOIN observation o USING(frame_id)
    WHERE s.agent_id = ? AND s.session = ? AND f.stamp_ns = ? AND t.camera = ?"""
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
        gathering = cast(Database, GatheringDatabase(file, self._write_gathered))
        self._gathering, self._gathered = False, list[FrameChange]()
        super().__init__(gathering)
        self._episodes = EpisodeTable(self._file)
        self._coverage = CoverageTable(self._file)
        self._frames = FrameTable(self._file)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is written in it is committed at its end, all of it or nothing."""
        with self._unwritten_forgotten(), self._file.transaction():
            self._gathering = True
            try:
                yield
                self._write_gathered()
            finally:
                self._gathering = False

    def write_frame(self, change: FrameChange) -> None:
        """Write all of a change or nothing; durable on return, or at the end of ``together``."""
        if self._gathering and not change.merges:
            self._gathered.append(change)
            if len(self._gathered) >= _MOST_GATHERED:
                self._write_gathered()
            return
        with self._unwritten_forgotten(), self._file.transaction():
            self._write([change])

    def _write_gathered(self) -> None:
        """Write the frames that wait for others of their transaction; what is read afterwards needs them."""
        if self._gathered:
            changes, self._gathered = self._gathered, []
            self._write(changes)

    @contextmanager
    def _unwritten_forgotten(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.forget_unwritten()
            raise

    def forget_unwritten(self) -> None:
        """A transaction failed: what waited to be written is void, and so are the numbers that it gave."""
        self._gathered = []
        self._entries.forget_unwritten()
        self._crops.forget_unwritten()
        self._frames.forget_unwritten()

    def _write(self, changes: Sequence[FrameChange]) -> None:
        self._frames.write(changes)
        self._entries.write(_net([change.entries for change in changes]))
        self._entries.keep_vectors(observation for change in changes for observation, _ in change.observations)
        rows = [observation_row(c.frame.frame_id, o, slot) for c in changes for o, slot in c.observations]
        self._file.execute_many(_OBSERVATION, rows)
        for change in changes:
            self._write_seldom(change)
        if changes[-1].known:
            self._write_revision(changes[-1].revision)

    def _write_seldom(self, change: FrameChange) -> None:
        """What few frames have."""
        if change.known:
            self._told.late(change.frame.frame_id)
        if change.voided:
            self._file.execute_many(VOID, [(1, event_id) for event_id in change.voided])
        if change.events:
            self._file.execute_many(EVENT, [event_row(event) for event in change.events])
        if change.crops:
            self._crops.add(change.crops, change.crop_budget)
        for merge in change.merges:
            self._merges.write(merge, change.revision)
        for a in change.absences:
            self._file.execute(ABSENCE, (a.slot, a.observer, a.first_ns, a.count, int(a.enough)))
        for belief in change.beliefs:
            self._shifts.keep(belief)

    def revision(self) -> int:
        """Revision of the last change written."""
        return int(self._file.execute(REVISION)[0][0])

    def is_live(self) -> bool:
        """What ``set_live`` said last; False for a new file."""
        return self._file.execute("SELECT value FROM meta WHERE name = 'live'") == [(1,)]

    def set_live(self, live: bool) -> None:
        """Keep whether the stamps run on the wall clock; durable on return."""
        with self._file.transaction():
            self._file.execute(SET_META, ("live", int(live)))

    def sessions(self) -> list[SessionRecord]:
        """All sessions, by agent and number."""
        return [SessionRecord(*row) for row in self._file.execute(f"{SESSIONS} ORDER BY agent_id, session")]

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

    def find_frame(self, agent_id: str, session: int, camera: str, stamp_ns: int) -> tuple[int, dict[int, str]] | None:
        """Id of a known frame, and by index how each of its observations is described; None: unknown."""
        rows = self._file.execute(_FIND, (agent_id, session, stamp_ns, camera))
        if not rows:
            return None
        return int(rows[0][0]), {index: description for _, index, description in rows if index is not None}

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
            (self._frames.session_number(agent_id, session), since_ns),
        )
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def entries(self, slots: Collection[int] | None = None, also_merged: bool = False) -> Iterator[StoredEntry]:
        """Whole entries by slot, ascending, without merged ones unless these are asked for too; None: all."""
        return self._entries.read(slots, also_merged)

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

    def history(self) -> Iterator[KeptFrame | PathRecord | CorrectionRecord | AlignmentRecord]:
        """All frames that are kept, and what was corrected in between, in the order in which they came."""
        anchors = {record.anchor.anchor_id: record.anchor for record in self.anchors()}
        return History(self._file, anchors, self.said(), aligned=self._alignments.all()).all()

    def trail(self, agent_id: str, session: int, start_ns: int, end_ns: int) -> list[TrailRecord]:
        """Base poses in [start_ns, end_ns), oldest first."""
        number = self._frames.session_number(agent_id, session)
        sql = _TRAIL + "f.stamp_ns >= ? AND f.stamp_ns < ? ORDER BY f.stamp_ns, f.frame_id"
        return [trail_record(row) for row in self._file.execute(sql, (number, start_ns, end_ns))]

    def trail_around(self, agent_id: str, session: int, stamp_ns: int) -> tuple[TrailRecord | None, TrailRecord | None]:
        """The last base pose not after the stamp and the first not before it."""
        key = (self._frames.session_number(agent_id, session), stamp_ns)
        before = self._file.execute(_TRAIL + "f.stamp_ns <= ? ORDER BY f.stamp_ns DESC, f.frame_id LIMIT 1", key)
        after = self._file.execute(_TRAIL + "f.stamp_ns >= ? ORDER BY f.stamp_ns, f.frame_id LIMIT 1", key)
        return trail_record(before[0]) if before else None, trail_record(after[0]) if after else None

    def passed(self, agent_id: str, session: int, stamps_ns: Sequence[int]) -> tuple[Passed, Passed]:
        """The same of many stamps."""
        number = self._frames.session_number(agent_id, session)
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


def _net(changes: Sequence[Sequence[EntryChange]]) -> list[EntryChange]:
    """What several frames changed one after the other, as one change of each entry."""
    net: dict[int, EntryChange] = {}
    for some in changes:
        for change in some:
            earlier = net.get(change.after.slot)
            net[change.after.slot] = change if earlier is None else EntryChange(earlier.before, change.after)
    return list(net.values())
