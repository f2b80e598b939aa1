"""What a robot's memory has to tell a map server: a cursor over its own history, which is read, never copied.

Told are the records of docs/interchange.md, in the order in which they came: frames, corrected paths, what people
corrected, and then episodes; and where the agent's own maps lie by now, if that was said here. Frames that changed
afterwards (a description that came late) are told again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.geometry import compose
from r4_ros.core.model import FOREVER, Anchor, CorrectionRecord, Embedding, Frame, Interval, Pose
from r4_ros.memory import interchange
from r4_ros.memory.alignable import MAP_SERVER
from r4_ros.memory.anchor_records import PathRecord
from r4_ros.memory.attachments import DATA_URL, NAME
from r4_ros.memory.cells import placed
from r4_ros.memory.codec import dump
from r4_ros.memory.envelope import RECORDS, Told
from r4_ros.memory.heeding import is_from_server
from r4_ros.memory.interchange import Json
from r4_ros.memory.sql import Row
from r4_ros.memory.sql_history import History, Since
from r4_ros.memory.sqlite_store import SqliteStore
from r4_ros.memory.store import KeptFrame

FRAMES, LATE_FRAMES, EPISODES = 32, 32, 256
MOST_COUNTED = 10_000
"""Of frames that wait no more are counted."""
BYTES = 2_000_000
"""A batch has no more than these, before it is compressed; a single record may be larger."""
Known = Callable[[str, list[str]], set[str]]
"""Of a model's texts, those whose vectors the server has."""

_FRAME = """SELECT f.stamp_ns, s.camera, w.writer, f.sequence FROM frame f JOIN stream s USING(stream_id)
    JOIN writer w USING(writer_no) WHERE frame_id = ?"""
_UNTIL = """SELECT max(frame_id), count(*) FROM (SELECT frame_id FROM frame JOIN stream USING(stream_id)
    WHERE frame_id > ? AND agent_id = ? ORDER BY frame_id LIMIT ?)"""
_WAITING = f"""SELECT count(*), min(stamp_ns) FROM (SELECT stamp_ns FROM frame JOIN stream USING(stream_id)
    WHERE frame_id > ? AND agent_id = ? ORDER BY frame_id LIMIT {MOST_COUNTED})"""
_LATE = "SELECT late_no, frame_id FROM late WHERE late_no > ? AND frame_id <= ? ORDER BY late_no LIMIT ?"
_CELLS = "SELECT coverage_no FROM coverage WHERE agent_id = ? AND until_ns >= ? AND start_ns <= ?"
_EPISODES = "SELECT episode_no FROM episode WHERE episode_no > ? AND agent_id = ? ORDER BY episode_no LIMIT ?"


@dataclass(frozen=True, slots=True)
class Batch:
    """Records to be sent, from one state to the next, and how many frames and observations they hold."""

    after: Told
    told: Told
    lines: tuple[str, ...]
    frames: int
    observations: int


class Outbox:
    """Reads a SQLite memory that a node may be writing to. ``images``: pictures of things go along."""

    def __init__(self, path: Path, agent_id: str, images: bool = False) -> None:
        self._store = SqliteStore(path, read_only=True)
        self._file = self._store.file
        self._agent, self._images = agent_id, images
        self._anchors: dict[int, Anchor] = {}
        self._moves = -1

    def close(self) -> None:
        """Release the file."""
        self._store.close()

    def until(self, told: Told) -> tuple[int, int]:
        """The newest frame that the next batch may hold, and how many there are up to it (0: none is left)."""
        [(newest, count)] = self._file.execute(_UNTIL, (told.frame, self._agent, FRAMES))
        return newest or told.frame, count

    def waiting(self, told: Told) -> tuple[int, int]:
        """How many of the agent's frames weren't told (``MOST_COUNTED`` at most), and when they begin (0: none)."""
        [(count, oldest)] = self._file.execute(_WAITING, (told.frame, self._agent))
        return count, oldest or 0

    def continues(self, told: Told) -> bool:
        """Whether this is the history that was told so far; False: the file is a copy older than that, or another."""
        rows = self._file.execute(_FRAME, (told.frame,))
        if not told.mark or (rows and _mark(rows[0]) == told.mark):
            return True
        [(newest,)] = self._file.execute("SELECT coalesce(max(frame_id), 0) FROM frame")
        before = max(self._store.pruned_before().values(), default=0)
        return not rows and newest >= told.frame and bool(json.loads(told.mark)[0] < before)

    def read(self, told: Told, until: int, known: Known) -> Batch | None:
        """What comes next, with frames up to ``until``; None: nothing. Raises StoreError."""
        with self._file.reading():
            self._follow_anchors()
            more = self._file.execute(_UNTIL, (until, self._agent, 1))[0][1]
            reader = _Reader(self, told, known)
            lines = [*reader.alignments(), *reader.history(until if more else FOREVER)]
            if not reader.is_full and not more:
                lines += reader.late()
                lines += reader.episodes()
        if reader.told == told:
            return None
        return Batch(told, reader.told, (*reader.embeddings(), *lines), reader.frames, reader.observations)

    def _follow_anchors(self) -> None:
        [(moves,)] = self._file.execute("SELECT coalesce(max(shift_no), 0) FROM shift")
        if moves != self._moves:
            self._anchors, self._moves = {}, moves
        self._anchors.update({r.anchor.anchor_id: r.anchor for r in self._store.anchors(len(self._anchors))})


class _Reader:
    """One batch while it is made."""

    def __init__(self, outbox: Outbox, told: Told, known: Known) -> None:
        self._store, self._file, self._anchors = outbox._store, outbox._file, outbox._anchors
        self._agent, self._images, self._known = outbox._agent, outbox._images, known
        self.told = told
        self.frames = self.observations = self._bytes = self._records = 0
        self._stamps: list[int] = []
        self._vectors: dict[str, Embedding] = {}

    @property
    def is_full(self) -> bool:
        """Whether no more may go into the batch."""
        return self._bytes > BYTES or self._records >= RECORDS // 2

    def history(self, until: int) -> Iterator[str]:
        """Frames, corrected paths and what people said, and the minutes of the past in which the frames lie."""
        told = self._store.said()
        history = History(
            self._file, self._anchors, told, Since(self._agent, self.told.frame, self.told.shift, self.told.correction)
        )
        depths = history.held_depths()
        for kept in history.all(until):
            if isinstance(kept, KeptFrame):
                yield self._frame(kept, depths)
            elif isinstance(kept, PathRecord):
                yield self._line(interchange.path_to_json(kept))
            elif isinstance(kept, CorrectionRecord) and self._is_own(kept):
                undone = told[kept.correction.correction_id - 1][1] if kept.correction.correction_id else None
                yield self._line(self._correction(kept, undone))
            if isinstance(kept, CorrectionRecord):
                self.told = replace(self.told, correction=kept.correction_id)
            self.told = replace(self.told, shift=history.moves_told)
            if self.is_full:
                break
        else:
            self.told = replace(self.told, shift=history.moves_told)
        yield from self._cells()

    def _correction(self, record: CorrectionRecord, undone: CorrectionRecord | None) -> Json:
        """``undone``: what it takes back; where that came from the server it goes by what it was there."""
        said = replace(record.correction, correction_id=0 if undone is None else undone.correction_id)
        made = {**interchange.correction_to_json(replace(record, correction=said)), "number": record.correction_id}
        if undone is None or not is_from_server(undone):
            return made
        told = replace(undone, correction=replace(undone.correction, source=""))
        return {**made, "correction_id": 0, "undoes": interchange.correction_to_json(told)}

    def _is_own(self, record: CorrectionRecord) -> bool:
        if is_from_server(record):
            return False
        ids = record.entries or (record.correction.entry_id,)
        rows = self._file.execute("SELECT agent_id FROM entry WHERE entry_id = ?", (ids[0],))
        return bool(rows) and rows[0][0] == self._agent

    def _frame(self, kept: KeptFrame, depths: dict[str, Any]) -> str:
        frame, held = kept.frame, kept.held
        before = depths.pop(frame.camera, None)
        if held and before is not None:  # the first of its camera: the batch stands for itself
            frame, held = replace(frame, view=replace(frame.view, depth=before)), False
        self.frames += 1
        self.observations += len(frame.observations)
        self._stamps.append(frame.stamp_ns)
        mark = _mark((frame.stamp_ns, frame.camera, frame.writer, frame.sequence))
        self.told = replace(self.told, frame=kept.frame_id, mark=mark)
        return self._line(interchange.frame_to_json(self._with_pictures(frame), held))

    def _with_pictures(self, frame: Frame) -> Frame:
        for text, embedding in interchange.texts_of(frame):
            self._vectors.setdefault(text, embedding)
        if not self._images or not any(o.image.startswith(NAME) for o in frame.observations):
            return frame
        return replace(frame, observations=tuple(replace(o, image=self._picture(o.image)) for o in frame.observations))

    def _picture(self, name: str) -> str:
        rows = self._file.execute("SELECT jpeg FROM crop WHERE name = ?", (name,)) if name.startswith(NAME) else ()
        return DATA_URL + base64.b64encode(rows[0][0]).decode("ascii") if rows else name

    def _cells(self) -> Iterator[str]:
        """What was settled of the time of these frames: their depth may be gone."""
        if not self._stamps:
            return
        numbers = self._file.execute(_CELLS, (self._agent, min(self._stamps), max(self._stamps)))
        for minute in self._store.cells([row[0] for row in numbers]) if numbers else ():
            block = placed(minute, self._anchors[minute.anchor_id].pose_in_map)
            span = Interval(minute.start_ns, minute.until_ns)
            yield self._line(interchange.coverage_to_json(minute.agent_id, minute.map_id, span, block))

    def alignments(self) -> Iterator[str]:
        """Where own maps of which something was said here lie by now, as of when that was said."""
        own = [record for record in self._store.alignments() if record.agent_id == self._agent]
        said = {r.map_id: r for r in own if r.source != MAP_SERVER and r.number > self.told.alignment}
        held = {r.map_id: r.alignment for r in own if r.alignment is not None and not r.undone_by}
        for map_id, last in said.items():
            word = AlignmentRecord(0, last.stamp_ns, self._agent, map_id, held.get(map_id), last.source)
            yield self._line(interchange.alignment_to_json(word))
            self.told = replace(self.told, alignment=max(self.told.alignment, last.number))

    def late(self) -> Iterator[str]:
        """Frames that changed after they were told."""
        rows = self._file.execute(_LATE, (self.told.late, self.told.frame, LATE_FRAMES))
        for frame_id in sorted({row[1] for row in rows}):
            history = History(self._file, self._anchors, (), Since(self._agent, frame_id - 1, self.told.shift))
            for kept in history.all(frame_id):
                if isinstance(kept, KeptFrame):
                    yield self._line(interchange.frame_to_json(self._with_pictures(kept.frame), False))
        if rows:
            self.told = replace(self.told, late=rows[-1][0])

    def episodes(self) -> Iterator[str]:
        """What happened, in words."""
        numbers = [row[0] for row in self._file.execute(_EPISODES, (self.told.episode, self._agent, EPISODES))]
        for stored in self._store.episodes_by_number(numbers) if numbers else ():
            episode = stored.episode
            if stored.anchor_id is not None and stored.place is not None:
                place = compose(self._anchors[stored.anchor_id].pose_in_map, Pose(stored.place)).position
                episode = replace(episode, place=place)
            yield self._line(interchange.episode_to_json(episode))
            vector = self._store.vector(episode.text)
            if vector is not None:
                self._vectors.setdefault(episode.text, vector)
        if numbers:
            self.told = replace(self.told, episode=numbers[-1])

    def embeddings(self) -> Iterator[str]:
        """What the texts of the batch mean, where the server doesn't know it."""
        for model in sorted({embedding.model for embedding in self._vectors.values()}):
            texts = [text for text, embedding in self._vectors.items() if embedding.model == model]
            has = self._known(model, texts)
            yield from (
                dump(interchange.embedding_to_json(text, self._vectors[text])) for text in texts if text not in has
            )

    def _line(self, values: Json) -> str:
        line = dump(values)
        self._bytes += len(line)
        self._records += 1
        return line


def _mark(row: Row) -> str:
    """Which frame it is: stamp, camera, writer, sequence number."""
    return json.dumps([row[0], row[1], row[2], row[3]])
