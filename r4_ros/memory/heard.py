"""What a map server says of others, as records on their way into a robot's memory."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.model import CorrectionRecord, Embedding
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.store import (
    AnchorRecord,
    SessionRecord,
    StoredCells,
    StoredEntry,
    StoredEpisode,
    StoredEvent,
    StoredFrame,
)


@dataclass(frozen=True, slots=True)
class Heard:
    """How far a robot heard a map server: numbers of the last change, frame, move of anchors, minute and episode.

    ``origin``: which database; ``at``: when that change was, so that an older copy of it is noticed. ``entry``,
    ``event``: while all is taken anew, the last ones taken (-1: that is done). ``said``, ``aligned``: what people
    corrected, and said of where maps lie, so far.
    """

    origin: str = ""
    change: int = 0
    at: str = ""
    frame: int = 0
    shift: int = 0
    coverage: int = 0
    episode: int = 0
    entry: int = 0
    event: int = 0
    said: str = ""
    aligned: str = ""

    def to_text(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self))

    @staticmethod
    def of_text(text: str) -> Heard:
        """What ``to_text`` made a text of; of an empty one nothing."""
        return Heard(**json.loads(text)) if text else Heard()


@dataclass(frozen=True, slots=True)
class HeardFrame:
    """A frame without what it saw: where an agent was and looked. ``until_ns``: how long its depth holds."""

    frame: StoredFrame
    until_ns: int
    settled: bool


@dataclass(frozen=True, slots=True)
class ServerWords:
    """What people corrected at a map server of a robot's things.

    ``said``: by others than the robot, oldest first, each with when it was taken back (0: it holds); places of what is
    pinned are in the robot's own maps. ``unsaid``: of what the robot said, by its own numbers, what others took back,
    and when.
    """

    said: tuple[tuple[CorrectionRecord, int], ...] = ()
    unsaid: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class News:
    """What changed since; numbers of anchors, slots and frames are the server's.

    ``anchors``: those that the rest speaks of, by number; ``moved``: those that stand elsewhere now. ``parts``: of
    entries that are parts of others, the ids of both. ``gone``: ids of entries that are no more; ``all_ids``: of all
    that there are, once all was taken anew. ``hidden``: ids of what people had forgotten (None: as before).
    ``alignments``: all of maps that hold; ``words``: of the robot's own things (None: as before).
    """

    heard: Heard
    more: bool = False
    sessions: tuple[SessionRecord, ...] = ()
    anchors: dict[int, AnchorRecord] = field(default_factory=dict)
    moved: tuple[AnchorRecord, ...] = ()
    frames: tuple[HeardFrame, ...] = ()
    entries: tuple[StoredEntry, ...] = ()
    parts: dict[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    all_ids: frozenset[str] | None = None
    events: tuple[tuple[StoredEvent, bool], ...] = ()
    absences: tuple[tuple[str, FoundAbsent], ...] = ()
    cells: tuple[StoredCells, ...] = ()
    episodes: tuple[tuple[StoredEpisode, Embedding | None], ...] = ()
    hidden: frozenset[str] | None = None
    alignments: tuple[AlignmentRecord, ...] | None = None
    words: ServerWords | None = None

    @property
    def size(self) -> int:
        """How many records."""
        some = (self.moved, self.frames, self.entries, self.gone, self.events, self.absences, self.cells, self.episodes)
        return sum(map(len, some))
