"""Many entries as plain columns: how a store hands them over at the start, and how new ones come into the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FOREVER, FloatArray, Interval, Presence
from r4_ros.memory.attributes import current_attributes
from r4_ros.memory.cosines import HalfArray
from r4_ros.memory.store import StoredEntry

Numbers = npt.NDArray[np.int64]
NO_VECTOR = -1


@dataclass(frozen=True, eq=False, slots=True)
class IntervalColumns:
    """Intervals of n entries, one entry after the other, oldest first: ``counts`` [n], at least one each."""

    counts: Numbers
    start: Numbers
    end: Numbers

    @property
    def last(self) -> Numbers:
        """The row of each entry's newest one."""
        return np.cumsum(self.counts) - 1

    @staticmethod
    def of(parts: Sequence[Sequence[Interval] | Sequence[Presence]]) -> IntervalColumns:
        """Intervals by entry as columns."""
        every = [(i.start, i.end) for part in parts for i in part]
        times = np.array(every, np.int64).reshape(-1, 2)
        return IntervalColumns(np.array([len(part) for part in parts], np.int64), times[:, 0], times[:, 1])


@dataclass(frozen=True, eq=False, slots=True)
class StayColumns:
    """Stays of n entries, one entry after the other, oldest first; boxes are in the frames of their anchors."""

    counts: Numbers
    start: Numbers
    anchor: Numbers
    boxes: FloatArray  # [m, 10]: x y z, quaternion x y z w, full size


@dataclass(frozen=True, eq=False, slots=True)
class EntryBatch:
    """n entries by ascending slot.

    ``label_vectors``, ``description_vectors``: numbers of vectors that follow (see ``VectorBatch``), or NO_VECTOR;
    ``attributes`` (current ones) and ``moved_from``: of those entries that have some, by their place in the batch.
    """

    slots: Numbers
    ids: Sequence[str]
    agents: Sequence[str]
    maps: Sequence[str]
    sessions: Numbers
    labels: Sequence[str]
    descriptions: Sequence[str]
    visibility: Numbers
    motion: Numbers
    attributes: dict[int, tuple[tuple[str, str], ...]]
    moved_from: dict[int, str]
    stays: StayColumns
    sightings: IntervalColumns
    presence: IntervalColumns
    label_vectors: Numbers | None = None
    description_vectors: Numbers | None = None

    @property
    def first_seen(self) -> Numbers:
        """Stamp of each entry's first sighting."""
        return np.asarray(self.sightings.start[np.cumsum(self.sightings.counts) - self.sightings.counts])

    @property
    def last_seen(self) -> Numbers:
        """Stamp of each entry's last sighting."""
        return np.asarray(self.sightings.end[self.sightings.last] - 1)

    @property
    def gone(self) -> npt.NDArray[np.bool_]:
        """Whether each entry's last presence has ended."""
        return np.asarray(self.presence.end[self.presence.last] != FOREVER)


@dataclass(frozen=True, eq=False, slots=True)
class VectorBatch:
    """Vectors of one model by their numbers, in float16 [n, d]."""

    model: str
    numbers: Numbers
    vectors: HalfArray


def batch_of(stored: Sequence[StoredEntry]) -> EntryBatch:
    """Entries as columns, without their vectors."""
    entries = [s.entry for s in stored]
    stays = [stay for e in entries for stay in e.stays]
    boxes = [(*s.box.pose.position, *s.box.pose.orientation, *s.box.extent) for s in stays]
    return EntryBatch(
        slots=np.array([s.slot for s in stored], np.int64),
        ids=[e.entry_id for e in entries],
        agents=[e.agent_id for e in entries],
        maps=[e.map_id for e in entries],
        sessions=np.array([e.session for e in entries], np.int64),
        labels=[e.label for e in entries],
        descriptions=[e.description for e in entries],
        visibility=np.array([int(e.visibility) for e in entries], np.int64),
        motion=np.array([int(e.motion) for e in entries], np.int64),
        attributes={i: current_attributes(e.attributes) for i, e in enumerate(entries) if e.attributes},
        moved_from={i: e.moved_from for i, e in enumerate(entries) if e.moved_from},
        stays=StayColumns(
            np.array([len(e.stays) for e in entries], np.int64),
            np.array([s.interval.start for s in stays], np.int64),
            np.array([s.anchor_id for s in stays], np.int64),
            np.array(boxes, float).reshape(-1, 10),
        ),
        sightings=IntervalColumns.of([e.sightings for e in entries]),
        presence=IntervalColumns.of([e.presence for e in entries]),
    )
