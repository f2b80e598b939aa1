"""What changed in a map server's memory since a cursor, read from its database by a robot: states, not the history.

All of one call is of one moment, and bounded. Entries, events and absences are found by the log of changes
(``postgres_sync``); where its beginning was dropped meanwhile, or the database isn't the one that was heard before, all
of them are taken anew, page by page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.model import MEMORY, Anchor, CorrectionKind, Embedding, View
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.codec import unpack_depth, unpack_known_pose, unpack_pose
from r4_ros.memory.feed_words import server_words
from r4_ros.memory.heard import Heard, HeardFrame, News
from r4_ros.memory.revise import split_id
from r4_ros.memory.sql import Database, Row
from r4_ros.memory.sql_alignments import AlignmentTable
from r4_ros.memory.sql_entries import EntryTable
from r4_ros.memory.sql_frames import SESSIONS
from r4_ros.memory.sql_rows import stored_episode, stored_event
from r4_ros.memory.sql_vectors import vector_models, vector_of
from r4_ros.memory.store import (
    AnchorRecord,
    SessionRecord,
    StoredCells,
    StoredEntry,
    StoredEpisode,
    StoredEvent,
    StoredFrame,
    WriterRecord,
)

CHANGES, ENTRIES, EVENTS, FRAMES, MINUTES, EPISODES, MOVES = 30, 200, 300, 300, 30, 100, 20
"""At most so many in one call: logged statements, entries, events, frames looked through, minutes, episodes, moves."""
_SECOND = 1_000_000_000

_ORIGIN = "SELECT CAST(min(at) AS text) FROM r4_schema"
_KNOWN = "SELECT CAST(at AS text) FROM changed WHERE change_no = ?"
_OLDEST = "SELECT min(change_no) FROM changed"
_NEWEST = "SELECT change_no, CAST(at AS text) FROM changed ORDER BY change_no DESC LIMIT 1"
_CHANGED = (
    "SELECT change_no, CAST(at AS text), kind, ids, gone FROM changed WHERE change_no > ? ORDER BY change_no LIMIT ?"
)
_SESSIONS = f"{SESSIONS} WHERE agent_id <> ? ORDER BY agent_id, session"
_ANCHORS = "SELECT * FROM anchor WHERE anchor_id = ANY(?) ORDER BY anchor_id"
_SLOTS = "SELECT slot FROM entry WHERE slot >= ? AND agent_id <> ? ORDER BY slot LIMIT ?"
_OTHERS = "SELECT slot FROM entry WHERE slot = ANY(?) AND agent_id <> ? ORDER BY slot"
_PARTS = """SELECT e.entry_id, k.entry_id, k.slot FROM entry e JOIN entry k ON k.slot = e.merged_into
    WHERE e.slot = ANY(?)"""
_EVENTS = """SELECT event_id, kind, entry_id, anchor.agent_id, event.label, event.stamp_ns, earliest_ns, latest_ns,
    anchor.map_id, place, from_place, detail, slot, event.anchor_id, from_anchor, voided, event_no
    FROM event JOIN entry USING(slot) JOIN anchor ON anchor.anchor_id = event.anchor_id
    WHERE anchor.agent_id <> ? AND """
_ABSENCES = """SELECT entry_id, slot, observer, first_ns, a.count, enough FROM found_absent a JOIN entry USING(slot)
    WHERE observer <> ?"""
_SHIFTS = f"SELECT shift_no, anchors FROM shift WHERE shift_no > ? AND agent_id <> ? ORDER BY shift_no LIMIT {MOVES}"
_FRAMES = f"""SELECT frame_id, s.agent_id, t.session, s.camera, f.stamp_ns, w.writer, w.writer_session,
    w.first_sequence, w.session, w.newest_sequence, w.newest_ns, f.sequence, s.map_id, s.map_frame, s.sensor_frame,
    f.anchor_id, f.sensor_in_anchor, f.base_in_sensor, s.horizontal_fov, s.vertical_fov, s.min_depth, s.max_depth,
    f.rows, f.depth, f.until_ns, f.settled FROM frame f JOIN session t USING(session_no) JOIN stream s USING(stream_id)
    JOIN writer w USING(writer_no) WHERE frame_id > ? AND frame_id <= ? AND s.agent_id <> ? AND (f.depth IS NOT NULL
    OR NOT EXISTS (SELECT 1 FROM frame g WHERE g.session_no = f.session_no AND g.stream_id = f.stream_id
    AND g.stamp_ns < f.stamp_ns AND g.stamp_ns >= f.stamp_ns / {_SECOND} * {_SECOND})) ORDER BY frame_id"""
_CELLS = """SELECT coverage_no, agent_id, map_id, start_ns, until_ns, anchor_id, anchor_pose, cells FROM coverage
    WHERE coverage_no > ? AND agent_id <> ? ORDER BY coverage_no LIMIT ?"""
_EPISODES = "SELECT * FROM episode WHERE episode_no > ? AND agent_id <> ? ORDER BY episode_no LIMIT ?"
_SAID = """SELECT (SELECT concat(count(*), '/', max(correction_no), '/', sum(undone_by)) FROM correction),
    (SELECT concat(count(*), '/', max(alignment_no), '/', sum(undone_by)) FROM alignment)"""
_CORRECTIONS = "SELECT kind, entry_id, request, undone_by FROM correction WHERE source <> ?"


class Feed:
    """Reads what a map server says of all agents but one."""

    def __init__(self, database: Database, agent_id: str) -> None:
        self._file, self._own = database, agent_id
        self._entries = EntryTable(database)

    def since(self, heard: Heard, writer: str = "") -> News:
        """What changed. ``writer``: what the memory that hears is called. Raises StoreError."""
        with self._file.reading():
            heard = self._continued(heard)
            news = self._changes(heard) if heard.entry < 0 else self._anew(heard)
            frames, until, more = self._frames(heard)
            cells = self._file.execute(_CELLS, (heard.coverage, self._own, MINUTES))
            episodes = self._file.execute(_EPISODES, (heard.episode, self._own, EPISODES))
            shifts = self._file.execute(_SHIFTS, (heard.shift, self._own))
            [(said, aligned)] = self._file.execute(_SAID)
            minutes = tuple(map(_cells, cells))
            told = tuple(self._episode(row) for row in episodes)
            moved = {int(n) for row in shifts for n in np.frombuffer(row[1], "<i4")}
            news = replace(
                news,
                more=news.more or more or len(cells) == MINUTES or len(episodes) == EPISODES or len(shifts) == MOVES,
                sessions=tuple(SessionRecord(*row) for row in self._file.execute(_SESSIONS, (self._own,))),
                frames=frames,
                cells=minutes,
                episodes=told,
                moved=tuple(self._anchors(moved).values()),
                hidden=self._hidden() if said != heard.said else None,
                alignments=self._alignments() if aligned != heard.aligned else None,
                words=server_words(self._file, self._own, writer) if said != heard.said else None,
                heard=replace(
                    news.heard,
                    frame=until,
                    coverage=cells[-1][0] if cells else heard.coverage,
                    episode=episodes[-1][0] if episodes else heard.episode,
                    shift=shifts[-1][0] if shifts else heard.shift,
                    said=said,
                    aligned=aligned,
                ),
            )
            return replace(news, anchors=self._anchors(_spoken_of(news)))

    def _continued(self, heard: Heard) -> Heard:
        """The cursor, or the beginning where it leads nowhere."""
        [(origin,)] = self._file.execute(_ORIGIN)
        if heard.origin != origin:
            return self._beginning(origin)
        if heard.entry >= 0:  # all is being taken anew
            return heard
        if heard.change:
            goes_on = self._file.execute(_KNOWN, (heard.change,)) == [(heard.at,)]
        else:
            goes_on = self._file.execute(_OLDEST) in ([(None,)], [(1,)])
        return heard if goes_on else self._beginning(origin)

    def _beginning(self, origin: str) -> Heard:
        rows = self._file.execute(_NEWEST)
        change, at = rows[0] if rows else (0, "")
        return Heard(origin, change, at)

    def _changes(self, heard: Heard) -> News:
        rows = self._file.execute(_CHANGED, (heard.change, CHANGES))
        if not rows:
            return News(heard)
        ids = {
            kind: sorted({i for row in rows if row[2] == kind for i in row[3]})
            for kind in ("entry", "event", "absence")
        }
        slots = [row[0] for row in self._file.execute(_OTHERS, (ids["entry"], self._own))]
        events = self._file.execute(f"{_EVENTS} event_no = ANY(?) ORDER BY event_no", (self._own, ids["event"]))
        absences = self._file.execute(
            f"{_ABSENCES} AND slot = ANY(?) ORDER BY slot, first_ns", (self._own, ids["absence"])
        )
        entries, parts = self._states(slots)
        return News(
            replace(heard, change=rows[-1][0], at=rows[-1][1]),
            more=len(rows) == CHANGES,
            entries=entries,
            parts=parts,
            gone=tuple(name for row in rows for name in row[4] or ()),
            events=tuple(map(_event, events)),
            absences=tuple(map(_absence, absences)),
        )

    def _anew(self, heard: Heard) -> News:
        """A page of all there is: first entries, then events and the rest."""
        slots = [row[0] for row in self._file.execute(_SLOTS, (heard.entry, self._own, ENTRIES))]
        if slots:
            entries, parts = self._states(slots)
            return News(replace(heard, entry=slots[-1] + 1), more=True, entries=entries, parts=parts)
        rows = self._file.execute(f"{_EVENTS} event_no > ? ORDER BY event_no LIMIT {EVENTS}", (self._own, heard.event))
        if len(rows) == EVENTS:
            return News(replace(heard, event=rows[-1][16]), more=True, events=tuple(map(_event, rows)))
        absences = self._file.execute(f"{_ABSENCES} ORDER BY slot, first_ns", (self._own,))
        ids = self._file.execute("SELECT entry_id FROM entry WHERE agent_id <> ?", (self._own,))
        return News(
            replace(heard, entry=-1, event=-1),
            more=True,
            events=tuple(map(_event, rows)),
            absences=tuple(map(_absence, absences)),
            all_ids=frozenset(row[0] for row in ids),
        )

    def _states(self, slots: Sequence[int]) -> tuple[tuple[StoredEntry, ...], dict[str, str]]:
        """Entries, with those that they are parts of, and which of which."""
        found, parts, new = set[int](), dict[str, str](), set(slots)
        while new:
            found |= new
            rows = self._file.execute(_PARTS, (sorted(new),))
            parts.update((row[0], row[1]) for row in rows)
            new = {row[2] for row in rows} - found
        return tuple(self._entries.read(found, also_merged=True)), parts

    def _anchors(self, numbers: Iterable[int]) -> dict[int, AnchorRecord]:
        rows = self._file.execute(_ANCHORS, (sorted(numbers),)) if numbers else ()
        return {row[0]: _anchor(row) for row in rows}

    def _frames(self, heard: Heard) -> tuple[tuple[HeardFrame, ...], int, bool]:
        [(newest,)] = self._file.execute("SELECT coalesce(max(frame_id), 0) FROM frame")
        until = max(heard.frame, min(newest, heard.frame + FRAMES))
        rows = self._file.execute(_FRAMES, (heard.frame, until, self._own))
        return tuple(map(_frame, rows)), until, until < newest

    def _episode(self, row: Row) -> tuple[StoredEpisode, Embedding | None]:
        stored = stored_episode(row)
        return stored, vector_of(self._file, vector_models(self._file), stored.episode.text)

    def _alignments(self) -> tuple[AlignmentRecord, ...]:
        """Those that hold, one of each map."""
        records = [record for record, _, _ in AlignmentTable(self._file).all()]
        return tuple(
            {(r.agent_id, r.map_id): r for r in records if r.alignment is not None and not r.undone_by}.values()
        )

    def _hidden(self) -> frozenset[str]:
        """Ids of what no answer names, by what people said."""
        hidden = set[str]()
        for kind, entry_id, request, undone_by in self._file.execute(_CORRECTIONS, (MEMORY,)):
            _, other_id, at_ns, *_ = json.loads(request)
            if kind == CorrectionKind.FORGET and not undone_by:
                hidden.add(entry_id)
            elif kind == CorrectionKind.MERGE and not undone_by:
                hidden.add(other_id)
            elif kind == CorrectionKind.SPLIT and not other_id and undone_by > 0:
                hidden.add(split_id(entry_id, at_ns))
        return frozenset(hidden - {""})


def _spoken_of(news: News) -> set[int]:
    """Numbers of the anchors on which something hangs."""
    stays = [stay for stored in news.entries for stay in stored.entry.stays]
    found = {stay.anchor_id for stay in stays} | {share.anchor_id for stay in stays for share in stay.shares}
    found |= {n for event, _ in news.events for n in (event.anchor_id, event.from_anchor) if n is not None}
    found |= {heard.frame.anchor_id for heard in news.frames} | {minute.anchor_id for minute in news.cells}
    return found | {e.anchor_id for e, _ in news.episodes if e.anchor_id is not None}


def _anchor(row: Row) -> AnchorRecord:
    poses = (unpack_pose(row[6]), unpack_known_pose(row[7]), unpack_known_pose(row[8]))
    return AnchorRecord(row[2], Anchor(row[0], row[1], row[3], row[4], row[5], *poses))


def _event(row: Row) -> tuple[StoredEvent, bool]:
    return stored_event(row), bool(row[15])


def _cells(row: Row) -> StoredCells:
    return StoredCells(row[1], row[2], row[3], row[4], row[5], unpack_pose(row[6]), row[7])


def _absence(row: Row) -> tuple[str, FoundAbsent]:
    return row[0], FoundAbsent(row[1], row[2], row[3], row[4], bool(row[5]))


def _frame(row: Row) -> HeardFrame:
    depth: Any = np.zeros((0, 0), np.float32) if row[23] is None else unpack_depth(row[23], row[22])
    frame = StoredFrame(
        frame_id=row[0],
        agent_id=row[1],
        session=row[2],
        camera=row[3],
        stamp_ns=row[4],
        writer=WriterRecord(row[1], row[3], row[5], row[6], row[7], row[8], row[9], row[10]),
        sequence=row[11],
        map_id=row[12],
        map_frame=row[13],
        sensor_frame=row[14],
        anchor_id=row[15],
        sensor_in_anchor=unpack_pose(row[16]),
        base_in_sensor=unpack_pose(row[17]),
        view=View(row[18], row[19], row[20], row[21], depth),
    )
    return HeardFrame(frame, row[24], bool(row[25]))
