"""Many entries as plain columns: how a store hands them over at the start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FOREVER, FloatArray, Share
from r4_ros.memory.byte_copies import HalfArray

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


@dataclass(frozen=True, eq=False, slots=True)
class StayColumns:
    """Stays of n entries, one entry after the other, oldest first; boxes are in the frames of their anchors."""

    counts: Numbers
    start: Numbers
    anchor: Numbers
    boxes: FloatArray  # [m, 10]: x y z, quaternion x y z w, full size
    shares: dict[int, tuple[Share, ...]]  # of those stays that have some, by their place here


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
