"""The vocabulary of the suite: plain frozen records, SI units, int64 nanoseconds of ROS time.

Frames: *sensor* is the optical frame (x right, y down, z forward), *base* the robot (x forward, z up),
*odom* and *map* are fixed frames with z up. Quaternions are x y z w. An extent is the full box size.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum

import numpy as np
import numpy.typing as npt

Float = np.float64
FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Matrix3 = tuple[float, float, float, float, float, float, float, float, float]

NS_PER_S = 1_000_000_000
FOREVER = 2**63 - 1
"""End of an interval that is still open."""
NO_COVARIANCE: Matrix3 = (0.0,) * 9  # type: ignore[assignment]


class Visibility(IntEnum):
    UNKNOWN = 0
    VISIBLE = 1
    TRUNCATED = 2
    OCCLUDED = 3
    ABSENT = 4


class EntryState(IntEnum):
    UNKNOWN = 0
    PRESENT = 1
    GONE = 2


class Motion(IntEnum):
    UNKNOWN = 0
    STATIC = 1
    MOVABLE = 2
    DYNAMIC = 3


class EventKind(IntEnum):
    APPEARED = 1
    MOVED = 2
    DISAPPEARED = 3
    REAPPEARED = 4
    ATTRIBUTE_CHANGED = 5


class EpisodeSource(IntEnum):
    CAPTION = 1
    UTTERANCE = 2
    OPERATOR = 3


@dataclass(frozen=True, slots=True)
class Pose:
    """A rigid placement: position in metres, orientation as a unit quaternion (x, y, z, w)."""

    position: Vec3 = (0.0, 0.0, 0.0)
    orientation: Quat = (0.0, 0.0, 0.0, 1.0)


IDENTITY = Pose()
OPTICAL_TO_BASE = Pose(orientation=(0.5, -0.5, 0.5, 0.5))
"""Pose of a base frame (x forward, z up) in the optical frame of a camera that stands in its origin, looking forward."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Half-open [start, end) in nanoseconds; ``end`` is FOREVER while still open."""

    start: int
    end: int


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


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """Pinhole camera: focal lengths and principal point in pixels, plumb_bob/rational distortion or none."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Box:
    """An oriented box: pose of its centre and its full size along its own axes, metres."""

    pose: Pose
    extent: Vec3


@dataclass(frozen=True, slots=True)
class Observation:
    """One instance seen in one frame; its box is in the sensor frame."""

    index: int
    label: str
    box: Box
    position_covariance: Matrix3 = NO_COVARIANCE
    description: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    label_embedding: Embedding | None = None
    description_embedding: Embedding | None = None
    visibility: Visibility = Visibility.VISIBLE
    confidence: float = 1.0
    track_id: str = ""
    image: str = ""
    entry_id: str = ""
    entry_revision: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """What part of the world a frame saw: field of view, depth range and a coarse depth image.

    ``depth`` is float32 [rows, cols], metres along the optical axis, 0 where nothing was measured;
    its cells divide the image evenly. An empty array means that it wasn't given.
    """

    horizontal_fov: float
    vertical_fov: float
    min_depth: float
    max_depth: float
    depth: Float32Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return False
        mine = (self.horizontal_fov, self.vertical_fov, self.min_depth, self.max_depth)
        theirs = (other.horizontal_fov, other.vertical_fov, other.min_depth, other.max_depth)
        return mine == theirs and bool(np.array_equal(self.depth, other.depth))

    def __hash__(self) -> int:
        return hash((self.horizontal_fov, self.vertical_fov, self.min_depth, self.max_depth, self.depth.tobytes()))


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame record: what one processed camera frame saw, also when it saw nothing.

    ``session`` is the writer's own count of time resets; memory maps it to its sessions.
    """

    agent_id: str
    camera: str
    writer: str
    sequence: int
    session: int
    stamp_ns: int
    map_id: str
    map_frame: str
    sensor_frame: str
    sensor_in_map: Pose
    view: View
    sensor_in_odom: Pose | None = None
    base_in_sensor: Pose = OPTICAL_TO_BASE
    pose_covariance: tuple[float, ...] = ()
    observations: tuple[Observation, ...] = ()


def observation_id(agent_id: str, session: int, camera: str, stamp_ns: int, index: int) -> str:
    """The idempotency key of an observation: the same sighting always gets the same 128-bit id (hex)."""
    text = f"{agent_id}\0{session}\0{camera}\0{stamp_ns}\0{index}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Anchor:
    """A keyframe of an agent's path; everything remembered hangs on one, so a loop closure moves only anchors."""

    anchor_id: int
    agent_id: str
    session: int
    map_id: str
    stamp_ns: int
    pose_in_map: Pose
    pose_in_odom: Pose | None = None


@dataclass(frozen=True, slots=True)
class Stay:
    """A time during which a thing kept its place; poses are averaged only within a stay."""

    interval: Interval
    anchor_id: int
    box: Box  # in the anchor's frame
    position_covariance: Matrix3
    count: int


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """One value of an attribute, when it was seen to hold and how often."""

    name: str
    value: str
    first_seen: int
    last_seen: int
    count: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one object: SEM, SPA (stays), TEM (sightings, presence), AID, VIS."""

    entry_id: str
    agent_id: str
    revision: int
    session: int
    map_id: str
    label: str
    label_votes: tuple[tuple[str, float], ...]
    stays: tuple[Stay, ...]
    sightings: tuple[Interval, ...]
    presence: tuple[Presence, ...]
    description: str = ""
    attributes: tuple[AttributeValue, ...] = ()
    label_embedding: Embedding | None = None
    description_embedding: Embedding | None = None
    visibility: Visibility = Visibility.UNKNOWN
    confidence: float = 0.0
    count: int = 0
    state: EntryState = EntryState.UNKNOWN
    motion: Motion = Motion.UNKNOWN
    moved_from: str = ""  # entry id this one is linked with as moved
    maybe_same_as: tuple[str, ...] = ()

    @property
    def first_seen(self) -> int:
        return self.sightings[0].start

    @property
    def last_seen(self) -> int:
        """Stamp of the last sighting (its interval ends 1 ns later)."""
        return self.sightings[-1].end - 1

    def evolve(self, **changes: object) -> Entry:
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry's current state in the map frame, as perception and RViz need it."""

    entry_id: str
    agent_id: str
    revision: int
    map_id: str
    label: str
    box: Box
    position_covariance: Matrix3
    state: EntryState
    motion: Motion
    visibility: Visibility
    confidence: float
    count: int
    first_seen: int
    last_seen: int
    description: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an entry; it happened in [earliest, latest], best estimate ``stamp_ns``."""

    event_id: str
    kind: EventKind
    entry_id: str
    agent_id: str
    label: str
    stamp_ns: int
    earliest_ns: int
    latest_ns: int
    map_id: str
    place: Vec3  # map frame
    from_place: Vec3 | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """Free text of a moment, with when, where and who."""

    episode_id: str
    agent_id: str
    text: str
    interval: Interval
    source: EpisodeSource
    map_id: str = ""
    place: Vec3 | None = None
    participants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """A named part of a map: a polygon on the floor (x, y in metres, map frame) and a height range."""

    name: str
    polygon: tuple[tuple[float, float], ...]
    z_min: float = -0.5
    z_max: float = 3.0
    map_id: str = ""


@dataclass(frozen=True, slots=True)
class TrailPoint:
    """Where an agent's base was; map frame."""

    agent_id: str
    stamp_ns: int
    map_id: str
    pose: Pose


class Reference(Enum):
    """What a spatial constraint refers to; values as in ``msg/SpatialConstraint``."""

    EGO = 1
    ENTRIES = 2
    POINT = 3
    REGION = 4
    POSE = 5


@dataclass(frozen=True, slots=True)
class SpatialConstraint:
    """The candidate stands in ``relation`` to the reference. Relations: see memory/relations.py."""

    relation: str
    reference: Reference
    entry_ids: tuple[str, ...] = ()
    other_entry_ids: tuple[str, ...] = ()
    pose: Pose = IDENTITY
    region: str = ""
    stamp_ns: int | None = None
    min_distance: float = 0.0
    max_distance: float = 0.0
    negate: bool = False


class TemporalKind(IntEnum):
    SEEN_IN = 1
    PRESENT_AT = 2
    PRESENT_IN = 3
    APPEARED_IN = 4
    DISAPPEARED_IN = 5
    CHANGED_IN = 6
    LAST_SEEN_BEFORE = 7
    FIRST_SEEN_AFTER = 8


@dataclass(frozen=True, slots=True)
class TemporalConstraint:
    kind: TemporalKind
    start_ns: int
    end_ns: int = FOREVER


class Order(IntEnum):
    SCORE = 0
    NEAREST = 1
    FARTHEST = 2
    LAST_SEEN = 3
    FIRST_SEEN = 4
    LARGEST = 5
    SMALLEST = 6
    HIGHEST = 7
    LOWEST = 8
    LEFTMOST = 9
    RIGHTMOST = 10


@dataclass(frozen=True, slots=True)
class Query:
    """One retrieval by any mix of the three keys; mirrors ``srv/Retrieve``."""

    labels: tuple[str, ...] = ()
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    exclude_labels: tuple[str, ...] = ()
    entry_ids: tuple[str, ...] = ()
    spatial: tuple[SpatialConstraint, ...] = ()
    temporal: tuple[TemporalConstraint, ...] = ()
    agents: tuple[str, ...] = ()
    states: tuple[EntryState, ...] = ()
    visibilities: tuple[Visibility, ...] = ()
    at_ns: int | None = None  # where things were then; None: their latest known place
    now_ns: int | None = None  # None: the newest stamp in the memory
    ego_agent: str = ""
    order: Order = Order.SCORE
    order_from: SpatialConstraint | None = None
    limit: int = 50
    with_events: bool = False
    with_episodes: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """One remembered object as an answer cites it, placed in the map frame at the time asked about."""

    entry_id: str
    agent_id: str
    label: str
    box: Box
    frame: str
    map_id: str
    first_seen: int
    last_seen: int
    present: Presence | None
    sightings: tuple[Interval, ...]
    visibility: Visibility
    state: EntryState
    motion: Motion
    count: int
    confidence: float
    score: float
    semantic_score: float = 1.0
    spatial_score: float = 1.0
    temporal_score: float = 1.0
    description: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    regions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a query found and what is needed to say honestly why it found nothing."""

    revision: int
    now_ns: int
    entries: tuple[Evidence, ...] = ()
    events: tuple[Event, ...] = ()
    episodes: tuple[Episode, ...] = ()
    ego: TrailPoint | None = None
    ego_frame: str = ""  # map frame of ``ego``
    ego_candidates: tuple[str, ...] = ()
    after_semantic: int = 0
    after_spatial: int = 0
    after_temporal: int = 0
    coverage: float = -1.0  # 0..1; -1: no place or time asked
    visited: bool = True
    last_looked: int | None = None
    regions: tuple[str, ...] = ()
    labels_known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one frame record, after COMMIT."""

    agent_id: str
    writer: str
    sequence: int
    revision: int
    stored: int  # observations stored; 0 for a frame that was known already
    changed: tuple[PlacedEntry, ...] = ()
    removed: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()


class Verdict(str, Enum):
    ANSWERED = "ANSWERED"
    NOT_SEEN = "NOT_SEEN"
    NEVER_VISITED = "NEVER_VISITED"
    STALE = "STALE"
    AMBIGUOUS = "AMBIGUOUS"
    UNSUPPORTED = "UNSUPPORTED"
    TIMEOUT = "TIMEOUT"


AnswerValue = bool | int | float | str | Vec3 | tuple[str, ...] | None
"""By form: exists/verify bool; count int; distance, duration float (m, s); locate, navigate Vec3 (map frame);
when int (ns); identify, attribute, state, choose, compare, direction, order, explain, action strings."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what 'now', 'me' and 'today' mean."""

    text: str
    now_ns: int | None = None
    ego_agent: str = ""
    viewpoint: Pose | None = None  # base pose in the map frame
    timezone: str = ""
    agents: tuple[str, ...] = ()
    deadline_s: float = 10.0
    max_rounds: int = 5


@dataclass(frozen=True, slots=True)
class TraceStep:
    round: int
    action: str
    detail: str
    found: int = 0
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    question: str
    text: str
    form: str
    verdict: Verdict
    value: AnswerValue = None
    confidence: float = 0.0
    evidence: tuple[Evidence, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    task_id: str = ""
    value_frame: str = ""  # frame of a locate/navigate value


class Feedback(IntEnum):
    RIGHT = 1
    PARTLY = 2
    WRONG = 3
