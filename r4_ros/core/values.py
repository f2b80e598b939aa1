"""The building stones of all records: numbers, poses, boxes, intervals, and the enums that messages share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from r4_ros.core.quick import quick

Float = np.float64
FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Matrix3 = tuple[float, float, float, float, float, float, float, float, float]

NS_PER_S = 1_000_000_000
FOREVER = 2**63 - 1
"""End of an interval that is still open."""
NO_COVARIANCE: Matrix3 = (0.0,) * 9


class Visibility(IntEnum):
    """How clearly a thing was seen (VIS); values as in ``msg/Observation``."""

    UNKNOWN = 0
    VISIBLE = 1
    TRUNCATED = 2
    OCCLUDED = 3
    ABSENT = 4


class EntryState(IntEnum):
    """Whether a thing is believed to be at its place; values as in ``msg/ObjectEntry``."""

    UNKNOWN = 0
    PRESENT = 1
    GONE = 2


class Motion(IntEnum):
    """How a thing moves, inferred from its history; values as in ``msg/ObjectEntry``."""

    UNKNOWN = 0
    STATIC = 1
    MOVABLE = 2
    DYNAMIC = 3


class EventKind(IntEnum):
    """What happened to an entry; values as in ``msg/MemoryEvent``."""

    APPEARED = 1
    MOVED = 2
    DISAPPEARED = 3
    REAPPEARED = 4
    ATTRIBUTE_CHANGED = 5
    ENTERED = 6  # the agent itself, a region (the label); no entry
    LEFT = 7


class EpisodeSource(IntEnum):
    """Who says so; values as in ``msg/Episode``."""

    CAPTION = 1
    UTTERANCE = 2
    OPERATOR = 3


@quick
@dataclass(frozen=True, slots=True)
class Pose:
    """A rigid placement: position in metres, orientation as a unit quaternion (x, y, z, w)."""

    position: Vec3 = (0.0, 0.0, 0.0)
    orientation: Quat = (0.0, 0.0, 0.0, 1.0)


IDENTITY = Pose()
OPTICAL_TO_BASE = Pose(orientation=(0.5, -0.5, 0.5, 0.5))
"""Pose of a base frame (x forward, z up) in the optical frame of a camera in its origin that looks forward."""


@quick
@dataclass(frozen=True, slots=True)
class Interval:
    """Half-open [start, end) in nanoseconds; ``end`` is FOREVER while still open."""

    start: int
    end: int


@quick
@dataclass(frozen=True, slots=True)
class Presence:
    """An interval in which a thing is believed to be at its place, with the bounds of its two ends.

    It began in [start_earliest, start] (not seen there before start) and ended in [last_seen, end].
    While it is open, ``end`` is FOREVER.
    """

    start_earliest: int
    start: int
    last_seen: int
    end: int = FOREVER


@quick
@dataclass(frozen=True, slots=True)
class Intrinsics:
    """A camera: focal lengths and principal point in pixels, and its lens distortion, if it has any.

    ``distortion_model``: plumb_bob or rational_polynomial ("" means one of them, by the number of coefficients), or
    equidistant (fisheye, 4 coefficients).
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, ...] = ()
    distortion_model: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Embedding:
    """A unit vector and the name of the model that made it; vectors of two models never mix."""

    model: str
    vector: Float32Array

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Embedding)
            and self.model == other.model
            and self.vector.shape == other.vector.shape
            and bool(np.array_equal(self.vector, other.vector))
        )

    def __hash__(self) -> int:
        return hash((self.model, self.vector.tobytes()))


@quick
@dataclass(frozen=True, slots=True)
class Box:
    """An oriented box: pose of its centre and its full size along its own axes, metres."""

    pose: Pose
    extent: Vec3
