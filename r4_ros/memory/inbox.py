"""The map server's side: batches that robots put into the inbox are worked in, as if they had come by topic.

A batch, the note of how far its robot came, and its leaving the inbox are one transaction, so that it is worked in once
whatever is killed meanwhile. Agents take turns by batches; what is beyond an agent's rate waits in the inbox, and its
robot, which sends no more while much waits there, keeps the rest in its file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, NotPermitted, StoreError, StoreOutdated
from r4_ros.core.model import CorrectionRecord, Embedding
from r4_ros.memory import envelope, interchange_read
from r4_ros.memory.envelope import RECORDS, Told
from r4_ros.memory.frame_limits import Credit, check_size
from r4_ros.memory.interchange import Json
from r4_ros.memory.library import Library
from r4_ros.memory.postgres_sync import CHANNEL_DONE
from r4_ros.memory.sql import Row
from r4_ros.memory.transfer import Importer

KINDS = ("embedding", "frame", "episode", "coverage", "correction", "path", "alignment")
"""Of docs/interchange.md, what a robot may tell."""
WORDS, WORDS_BYTES = ("episode", "correction", "alignment"), 1 << 16
"""What people and models say takes no more; all else no more than twice ``frame_kb`` besides."""
_WAITING = "SELECT DISTINCT agent_id FROM inbox ORDER BY agent_id"
_NEXT = "SELECT inbox_no, agent_id, writer, sequence, content FROM inbox WHERE agent_id = ? ORDER BY inbox_no LIMIT 1"
_STATE = "SELECT sequence, told FROM synced WHERE agent_id = ? AND writer = ?"
_DONE = """INSERT INTO synced(agent_id, writer, sequence, told, offset_ns, round_ns, frames, observations, refused,
    problem) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(agent_id, writer) DO UPDATE SET
    sequence = excluded.sequence, told = excluded.told, offset_ns = excluded.offset_ns, round_ns = excluded.round_ns,
    frames = synced.frames + excluded.frames, observations = synced.observations + excluded.observations,
    refused = synced.refused + excluded.refused, at = clock_timestamp(),
    problem = CASE WHEN excluded.problem = '' THEN synced.problem ELSE excluded.problem END"""
_OURS = "SELECT ours FROM synced_correction WHERE agent_id = ? AND writer = ? AND theirs = ?"
_NUMBERED = """INSERT INTO synced_correction VALUES (?, ?, ?, ?)
    ON CONFLICT(agent_id, writer, theirs) DO UPDATE SET ours = excluded.ours"""

_MOST_KNOWN = 20_000
"""Vectors of texts that are remembered."""


@dataclass(frozen=True, slots=True)
class WorkedIn:
    """What became of one batch. ``problem``: of the first record that was refused, or of the batch itself."""

    agent_id: str
    sequence: int
    frames: int = 0
    observations: int = 0
    refused: int = 0
    problem: str = ""


class Inbox:
    """Works batches in, one at a time. ``library``: the map server's memory; ``anew`` opens it as it is stored.

    ``config``: how large a frame may be, and how many records of an agent are worked in a second, on average.
    ``held_s``: after the last look, for how long all that waits is beyond its agents' rates (0: nothing is held).
    ``monotonic`` is for tests.
    """

    def __init__(
        self,
        library: Callable[[], Library],
        anew: Callable[[], Library],
        config: MemoryConfig | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._library, self._anew, self._config = library, anew, config or MemoryConfig()
        self._monotonic, self.held_s = monotonic, 0.0
        self._credits: dict[str, Credit] = {}
        self._last, self._spoilt = "", False
        self._meanings: dict[str, Embedding] = {}

    def work(self) -> WorkedIn | None:
        """Work in the batch whose turn it is; None: none may be now. Raises StoreError; then it is tried again."""
        if self._spoilt:
            self._anew()
            self._spoilt = False
        library = self._library()
        try:
            row = self._next(library)
        except StoreOutdated:  # somebody else wrote to it
            self._spoilt = True
            raise
        if row is None:
            return None
        revision = library.revision
        try:
            return self._worked(library, row, together=True)
        except StoreError as error:
            # nothing is stored, but the memory may know of some of it
            self._spoilt = library.revision != revision or isinstance(error, StoreOutdated)
            self._meanings.clear()
            if self._spoilt:
                library = self._anew()
                self._spoilt = False
            library.store.revision()  # raises where the database is away
        return self._worked(library, row, together=False)  # a record can't be stored: that one is refused

    def _next(self, library: Library) -> Row | None:
        file = library.store.file
        agents = [row[0] for row in file.execute(_WAITING)]
        turns = sorted(agents, key=lambda agent: (agent <= self._last, agent))
        waits = {agent: self._credit(agent).wait_s() for agent in turns}
        free = [agent for agent in turns if not waits[agent]]
        self.held_s = 0.0 if free else min(waits.values(), default=0.0)
        if not free:
            return None
        self._last = free[0]
        rows = file.execute(_NEXT, (self._last,))
        return rows[0] if rows else None

    def _credit(self, agent: str) -> Credit:
        if agent not in self._credits:
            self._credits[agent] = Credit(self._config.agent_rate_hz, self._monotonic)
        return self._credits[agent]

    def _worked(self, library: Library, row: Row, together: bool) -> WorkedIn:
        number, agent, writer, sequence, content = row
        file = library.store.file
        known = file.execute(_STATE, (agent, writer))
        done, told = (known[0][0], Told.of_text(known[0][1])) if known else (0, Told())
        try:
            head, lines = envelope.unpack(bytes(content))
            if sequence <= done:
                raise InvalidArgument(f"batch {sequence} was worked in already")
            if head.after != told and not head.again:
                raise InvalidArgument(f"batch {sequence} doesn't follow on what was worked in")
        except InvalidArgument as error:
            with file.transaction():
                if sequence > done:
                    file.execute(_DONE, (agent, writer, sequence, told.to_text(), 0, 0, 0, 0, 1, str(error)))
                file.execute("DELETE FROM inbox WHERE inbox_no = ?", (number,))
                file.execute("SELECT pg_notify(?, ?)", (CHANNEL_DONE, agent))
            self._credit(agent).spend(1)
            return WorkedIn(agent, sequence, refused=1, problem=str(error))
        importer = BatchImporter(library, agent, writer, together, self._config)
        importer.take_meanings(lines, self._meanings)
        if head.live:
            library.set_live(True)
        if not together:
            found = importer.read(lines)
        with library.together():
            if together:
                found = importer.read(lines)
            problem = found.problems[0] if found.problems else ""
            counts = (found.frames, found.observations, found.refused)
            clock = (head.offset_ns, head.round_ns)
            file.execute(_DONE, (agent, writer, sequence, head.told.to_text(), *clock, *counts, problem))
            file.execute("DELETE FROM inbox WHERE inbox_no = ?", (number,))
            file.execute("SELECT pg_notify(?, ?)", (CHANNEL_DONE, agent))
        self._credit(agent).spend(importer.records)
        return WorkedIn(agent, sequence, *counts, problem)


class BatchImporter(Importer):
    """Works the records of one agent's batch in; what speaks of another agent is refused.

    ``together``: what can't be stored is raised; else it is refused like what is wrong, if the database is there.
    """

    def __init__(self, library: Library, agent: str, writer: str, together: bool, config: MemoryConfig) -> None:
        super().__init__(library)
        self._config = config
        self._agent, self._writer, self._store, self._together = agent, writer, library.store, together
        self._ours = True
        self.records = self._size = 0

    def _line(self, line: str) -> None:
        self._size = len(line)
        try:
            super()._line(line)
        except StoreError as error:
            if self._together:
                raise
            self._store.revision()  # raises where the database is away
            raise InvalidArgument(f"can't be stored: {error}") from error

    def _allow(self, values: Json) -> None:
        kind = values["type"]
        self.records += kind != "embedding"
        if self.records > RECORDS:
            raise InvalidArgument(f"a batch has at most {RECORDS} records, without vectors")
        most = WORDS_BYTES + (0 if kind in WORDS else 2000 * self._config.frame_kb)
        if self._size > most:
            raise InvalidArgument(f"{kind}: a record of {self._size} bytes, more than {most}")
        if kind not in KINDS:
            raise NotPermitted(f"a robot tells no record of type '{kind}'")
        if kind not in ("embedding", "correction") and values.get("agent") != self._agent:
            raise NotPermitted(f"the inbox of '{self._agent}' takes nothing of '{values.get('agent')!s:.60}'")
        if kind == "frame":
            limits = self._config
            check_size(*_size_of(values), limits.frame_observations, limits.frame_kb)
            self._library.anybody_may_write(self._agent)

    def take_meanings(self, lines: Sequence[str], known: dict[str, Embedding]) -> None:
        """What the texts of a batch mean that it doesn't say itself, asked for at once, before it is worked in.

        ``known``: what was asked for before; it is added to.
        """
        texts = set[str]()
        for line in lines:
            with suppress(ValueError, TypeError, AttributeError):  # what is wrong with a line is said when it is read
                texts |= _texts_of(json.loads(line))
        new = sorted(texts - known.keys())
        if len(known) + len(new) > _MOST_KNOWN:
            known.clear()
        known.update(self._store.vectors(new))
        self._vectors.update({text: known[text] for text in texts & known.keys()})

    def _alignment(self, values: Json) -> None:
        self._library.hear_robot(interchange_read.alignment_from_json(values))
        self.done.alignments += 1

    def _correction(self, values: Json) -> None:
        said, stamp_ns = interchange_read.correction_from_json(values)
        theirs = interchange_read.Fields(values, "correction").take("number", int)
        key = (self._agent, self._writer)
        if "undoes" in values:
            said = replace(said, correction_id=self._undone(values["undoes"]))
        elif said.correction_id:
            rows = self._store.file.execute(_OURS, (*key, said.correction_id))
            if not rows:
                raise InvalidArgument(f"correction {said.correction_id} of '{self._agent}' isn't known here")
            said = replace(said, correction_id=rows[0][0])
        for agent in self._library.agents_of(said):
            if agent != self._agent:
                raise NotPermitted(f"'{self._agent}' corrects nothing of '{agent}'")
        known = self._store.file.execute(_OURS, (*key, theirs))
        records = self._library.corrections()
        if known and records[known[0][0] - 1].stamp_ns == stamp_ns:
            return  # told again
        number = self._library.correct_beneath(said, stamp_ns)
        with self._store.file.transaction():
            self._store.file.execute(_NUMBERED, (*key, theirs, number))
        self.done.corrections += 1

    def _undone(self, values: Json) -> int:
        """The number of a correction made here that the robot heard of and takes back."""
        said, stamp_ns = interchange_read.correction_from_json(values)
        mark = self._library.mark(CorrectionRecord(0, stamp_ns, said, ()))
        for record in reversed(self._library.corrections()):
            if not record.undone_by and self._library.mark(record) == mark:
                return record.correction_id
        raise InvalidArgument("what it takes back doesn't hold here")


def _size_of(frame: Json) -> tuple[int, int]:
    """How many observations a frame record has, and about how many bytes their texts, pictures and its depth take.

    Vectors are records of their own. Raises InvalidArgument for what is no frame record.
    """
    seen, view = frame.get("observations", []), frame.get("view", {})
    if not isinstance(seen, list) or not isinstance(view, dict):
        raise InvalidArgument("a frame's observations are a list, its view is an object")
    cells = [n if isinstance(n, int) else 0 for n in (view.get("rows"), view.get("cols"))]
    texts = sum(_length(o) for o in seen if isinstance(o, dict))
    return len(seen), texts + 4 * abs(cells[0] * cells[1])


def _length(observation: Json) -> int:
    words = [observation.get(name) for name in ("label", "description", "image", "attributes")]
    return sum(len(word) if isinstance(word, str) else len(json.dumps(word)) for word in words if word)


def _texts_of(values: Json) -> set[str]:
    """The texts of a record that mean something."""
    told = [o.get(name) for o in values.get("observations", ()) for name in ("label", "description")]
    told.append(values.get("text") if values.get("type") == "episode" else None)
    return {text for text in told if isinstance(text, str) and text}
