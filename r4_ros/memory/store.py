"""What the memory needs of a store: records in, records out, one transaction a change.

A store keeps what it is given and derives nothing. ``test/contract`` says what every store must do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.model import (
    Anchor,
    CorrectionRecord,
    Embedding,
    Entry,
    Episode,
    Event,
    Frame,
    Interval,
    Observation,
    Pose,
    Region,
    Vec3,
    View,
)
from r4_ros.core.quick import quick
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.anchor_records import BeliefRecord, Passed, PathRecord, TrailRecord
from r4_ros.memory.division_records import Division, KeptSighting
from r4_ros.memory.merge_records import AnchorChange, MergeChange, MergeRecord
from r4_ros.memory.store_upkeep import StoreUpkeep
from r4_ros.memory.stored_words import DescriptionChange, StoredCrop

if TYPE_CHECKING:
    from r4_ros.memory.bulk import EntryBatch, VectorBatch


@quick
@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A stretch of an agent's time in which stamps don't go back. A new ``era``: time went back before it."""

    agent_id: str
    session: int
    era: int
    first_ns: int
    newest_ns: int


@quick
@dataclass(frozen=True, slots=True)
class WriterRecord:
    """Which session the frames of a writer belong to, from its ``first_sequence`` on."""

    agent_id: str
    camera: str
    writer: str
    writer_session: int
    first_sequence: int
    session: int
    newest_sequence: int
    newest_ns: int


@quick
@dataclass(frozen=True, slots=True)
class AnchorRecord:
    """An anchor and the camera whose frames hang on it."""

    camera: str
    anchor: Anchor


@quick
@dataclass(frozen=True, slots=True)
class StoredFrame:
    """A frame record as it is kept: its pose hangs on an anchor; ``view.depth`` is empty where it was thinned out.

    ``believed``: where the sensor was said to be in the map, if its anchor put it elsewhere.
    """

    frame_id: int
    agent_id: str
    session: int
    camera: str
    stamp_ns: int
    writer: WriterRecord
    sequence: int
    map_id: str
    map_frame: str
    sensor_frame: str
    anchor_id: int
    sensor_in_anchor: Pose
    base_in_sensor: Pose
    view: View
    prolongs: int | None = None  # the frame whose kept depth also holds for this one
    believed: Pose | None = None


@quick
@dataclass(frozen=True, slots=True)
class KeptFrame:
    """A frame as it came, as far as it was kept; ``held``: its camera's last kept depth holds for it too."""

    frame_id: int
    frame: Frame
    held: bool


@quick
@dataclass(frozen=True, slots=True)
class StoredView:
    """A frame that kept its depth: what was in view from its stamp until ``until_ns``, and where from.

    ``settled``: the cells that it saw are kept too.
    """

    frame_id: int
    agent_id: str
    camera: str
    map_id: str
    stamp_ns: int
    until_ns: int
    anchor_id: int
    sensor_in_anchor: Pose
    view: View
    settled: bool = False


@quick
@dataclass(frozen=True, slots=True)
class StoredCells:
    """What an agent looked at in one minute, as packed cells of the map (see ``cells``).

    They lie where they did while the anchor had ``anchor_pose`` in the map.
    """

    agent_id: str
    map_id: str
    start_ns: int
    until_ns: int
    anchor_id: int
    anchor_pose: Pose
    cells: bytes


@quick
@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry, its slot (its number in columns and tables) and the evidence of absence gathered so far."""

    slot: int
    entry: Entry
    absent_first: int = 0
    absent_count: int = 0


@quick
@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event; its places hang on anchors (``event.place`` is where they were placed when it was made)."""

    event: Event
    slot: int
    anchor_id: int
    place: Vec3
    from_anchor: int | None = None
    from_place: Vec3 | None = None


@quick
@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode; its place, if any, hangs on an anchor, or stands in the map where there is none.

    ``number``: of its row, in the order in which episodes came; 0: not stored.
    """

    episode: Episode
    anchor_id: int | None = None
    place: Vec3 | None = None
    number: int = field(default=0, compare=False)


@quick
@dataclass(frozen=True, slots=True)
class EntryChange:
    """An entry before (None: new) and after."""

    before: StoredEntry | None
    after: StoredEntry


@quick
@dataclass(frozen=True, slots=True)
class FrameChange:
    """All that one frame changes; written in one transaction.

    observations: each with the slot of its entry (None: an ABSENT that meant nothing). ``known``: the frame was there.
    crops: pictures by their names; of all that are kept the oldest are dropped down to ``crop_budget`` bytes.
    ``merges``: of entries as all else has left them. ``voided``: ids of events that never happened.
    """

    revision: int
    session: SessionRecord
    frame: StoredFrame
    known: bool
    anchor: AnchorRecord | None
    observations: tuple[tuple[Observation, int | None], ...]
    entries: tuple[EntryChange, ...]
    events: tuple[StoredEvent, ...]
    crops: tuple[tuple[str, StoredCrop], ...] = ()
    crop_budget: int = 0
    merges: tuple[MergeChange, ...] = ()
    beliefs: tuple[BeliefRecord, ...] = ()
    absences: tuple[FoundAbsent, ...] = ()
    voided: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class CorrectionChange:
    """All that a person's correction changes; written in one transaction with the record of it.

    ``parted``: number of the merge that it takes apart; ``joined``: of one that it makes again (0: none). The second
    of ``entries`` is the one that then is an entry again, or a part. ``divided``: what the second of ``entries`` gets
    of what was the first one's; ``rejoined``: number of the correction whose division it takes back (0: none).
    """

    revision: int
    record: CorrectionRecord
    entries: tuple[EntryChange, ...]
    parted: int = 0
    joined: int = 0
    divided: Division | None = None
    rejoined: int = 0


class MemoryStore(StoreUpkeep, Protocol):
    """The truth on disk. Every method raises StoreError where the store can't be used."""

    def write_frame(self, change: FrameChange) -> None:
        """Write all of a change or nothing; durable on return."""

    def write_descriptions(self, change: DescriptionChange) -> None:
        """Write late descriptions or nothing; durable on return."""

    def observed(self, frame_id: int) -> dict[int, tuple[str, str]]:
        """Entry id and description of a frame's observations by index, without those of no entry."""

    def vector_models(self) -> list[str]:
        """The models that the kept vectors were made by."""

    def crop(self, slot: int) -> StoredCrop | None:
        """The newest picture of an entry, or of one that became a part of it."""

    def crop_use(self) -> dict[str, int]:
        """``bytes`` of all pictures, and how many had to be ``dropped``."""

    def write_correction(self, change: CorrectionChange) -> None:
        """Write a correction, what it changed and the record of it, or nothing; durable on return."""

    def corrections(self) -> Sequence[CorrectionRecord]:
        """All corrections, oldest first."""

    def corrected(self, correction_id: int) -> Sequence[EntryChange]:
        """What a correction made of which entries."""

    def write_anchor_correction(self, change: AnchorChange) -> None:
        """Write all of a change, with a record of it and of each merge, or nothing; durable on return."""

    def absences(self) -> list[FoundAbsent]:
        """All records of what agents found gone of each other's, by slot, the oldest of each first."""

    def beliefs(self) -> list[BeliefRecord]:
        """What agents said last of where they are, as of their newest frames and what was kept."""

    def keep_belief(self, belief: BeliefRecord) -> None:
        """Keep it until the next one for its agent, session and map; durable on return."""

    def merges(self) -> list[MergeRecord]:
        """The records of all merges, oldest first."""

    def merged(self) -> list[tuple[int, str, int]]:
        """(slot, entry id, slot of the entry that it is a part of now) of all merged entries, by slot."""

    def seen_together(self, agent_id: str, interval: Interval, slots: Sequence[int], others: Sequence[int]) -> bool:
        """Whether a frame in the interval has observations of entries of both groups of slots."""

    def sightings(
        self, agent_id: str, interval: Interval, slots: Sequence[int], limit: int, absences: bool = False
    ) -> list[KeptSighting]:
        """The last ``limit`` kept sightings in the interval that were given to these slots, in the order they came.

        ``absences``: also what found their places empty.
        """

    def revision(self) -> int:
        """Revision of the last change written."""

    def is_live(self) -> bool:
        """What ``set_live`` said last; False for a new file."""

    def set_live(self, live: bool) -> None:
        """Keep whether the stamps run on the wall clock; durable on return."""

    def sessions(self) -> Sequence[SessionRecord]:
        """All sessions, by agent and number."""

    def writers(self) -> Sequence[WriterRecord]:
        """All writers, in the order in which they first wrote."""

    def anchors(self) -> Iterator[AnchorRecord]:
        """All anchors, by id."""

    def next_frame_id(self) -> int:
        """An id that no frame has."""

    def find_frame(self, agent_id: str, session: int, camera: str, stamp_ns: int) -> tuple[int, dict[int, str]] | None:
        """Id of a known frame, and by index how each of its observations is described; None: unknown."""

    def observation_ids(self) -> Iterator[str]:
        """Ids of all observations, in the order in which they were stored."""

    def assigned(self) -> Iterator[tuple[str, int, int, str, int]]:
        """(agent, stamp, index, label, slot) of all sightings that are kept, in the order in which they came."""

    def live_tracks(self, agent_id: str, session: int, since_ns: int) -> list[tuple[str, str, int, int]]:
        """(camera, track id, slot, newest stamp) of what was tracked since then."""

    def entries(self, slots: Collection[int] | None = None, also_merged: bool = False) -> Iterator[StoredEntry]:
        """Whole entries by slot, ascending, without merged ones unless these are asked for too; None: all."""

    def entry_batches(self) -> Iterator[EntryBatch]:
        """All entries but merged ones as columns, by slot."""

    def vector_batches(self) -> Iterator[VectorBatch]:
        """All vectors by number, each batch of one model."""

    def views(self) -> Iterator[StoredView]:
        """All frames that kept their depth, oldest first."""

    def settle_views(self, cells: StoredCells, settled: Collection[int], dropped: Collection[int]) -> None:
        """Keep a minute's cells: frames whose depth they tell (``settled``), frames that lose theirs (``dropped``)."""

    def cells(self) -> Iterator[StoredCells]:
        """All minutes, in the order in which they were stored."""

    def write_alignment(self, record: AlignmentRecord, undoes: int, revision: int) -> None:
        """Keep one more alignment of a map, or that one was taken back (``undoes``: its number; else 0); durable."""

    def alignments(self) -> Sequence[AlignmentRecord]:
        """All alignments, oldest first, also those that don't hold any more."""

    def history(self) -> Iterator[KeptFrame | PathRecord | CorrectionRecord | AlignmentRecord]:
        """All frames that are kept, and what SLAMs and people corrected in between, in the order in which they came.

        Each frame is where it was believed to be. Poses and boxes are as near as they were stored (float32). Not kept:
        covariances of poses, the revision that an absence spoke of, and which entry one that meant nothing spoke of.
        """

    def trail(self, agent_id: str, session: int, start_ns: int, end_ns: int) -> list[TrailRecord]:
        """Base poses in [start_ns, end_ns), oldest first."""

    def trail_around(self, agent_id: str, session: int, stamp_ns: int) -> tuple[TrailRecord | None, TrailRecord | None]:
        """The last base pose not after the stamp and the first not before it."""

    def passed(self, agent_id: str, session: int, stamps_ns: Sequence[int]) -> tuple[Passed, Passed]:
        """The same of many stamps."""

    def map_frames(self) -> dict[str, str]:
        """Name of the fixed frame of each map id."""

    def events(
        self, since_ns: int | None = None, until_ns: int | None = None, slots: Collection[int] | None = None
    ) -> list[StoredEvent]:
        """Events, no void ones, that may have happened in [since_ns, until_ns) by bounds (unknown: stamp), by stamp."""

    def add_episode(self, episode: StoredEpisode, revision: int, embedding: Embedding | None = None) -> int:
        """Store an episode and what its text means; gives its number.

        0 where one with the same id is there: that is kept as it is, and the revision too.
        """

    def episodes(self, start_ns: int, end_ns: int) -> list[StoredEpisode]:
        """Episodes that overlap [start_ns, end_ns), oldest first."""

    def episodes_by_number(self, numbers: Collection[int] | None = None) -> Iterator[StoredEpisode]:
        """Episodes by number, ascending; None: all."""

    def episode_vectors(self) -> Iterator[tuple[str, Embedding]]:
        """What the texts of episodes mean, by each model that was asked."""

    def set_regions(self, regions: Sequence[Region], revision: int) -> None:
        """Replace all regions."""

    def regions(self) -> list[Region]:
        """All regions, by name."""
