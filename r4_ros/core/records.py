"""What perception hands over and memory keeps: observations, frame records, entries, events, episodes, trail."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from r4_ros.core.quick import quick
from r4_ros.core.values import (
    NO_COVARIANCE,
    OPTICAL_TO_BASE,
    Box,
    Embedding,
    EntryState,
    EpisodeSource,
    EventKind,
    Float32Array,
    Interval,
    Matrix3,
    Motion,
    Pose,
    Presence,
    Vec3,
    Visibility,
)


@quick
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

    @property
    def is_hidden_entry(self) -> bool:
        """Not a sighting: an entry whose place is hidden from view, so that nothing is known of it."""
        return self.visibility == Visibility.OCCLUDED and bool(self.entry_id)


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


@quick
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


@quick
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
    recorded_in_map: Pose | None = None  # as it was believed when the anchor was made, if it was corrected since

    @property
    def in_path(self) -> Pose:
        """Its pose in what no correction changes: odom, or, without odometry, the map as it was then."""
        return self.pose_in_odom or self.recorded_in_map or self.pose_in_map


@quick
@dataclass(frozen=True, slots=True)
class Share:
    """What another stretch of the robot's way than that of a stay's own anchor says of where the thing is."""

    anchor_id: int
    weight: float  # in the mean that the stay's place is; what all shares lack to 1 is the weight of its own anchor
    position: Vec3  # of the box's centre, in the anchor's frame


@quick
@dataclass(frozen=True, slots=True)
class Stay:
    """A time during which a thing kept its place; poses are averaged only within a stay."""

    interval: Interval
    anchor_id: int
    box: Box  # in the anchor's frame, along the map's axes when it was last seen
    position_covariance: Matrix3
    count: int
    whole: int = 0  # how many of them saw the whole silhouette
    revision: int = 0  # of the memory when the stay began
    turned: Vec3 | None = None  # yaw in the box (rad), length and width (m) of the tighter upright box about its centre
    shares: tuple[Share, ...] = ()  # seen from other stretches too: the box is what its own anchor's says; see memory


@quick
@dataclass(frozen=True, slots=True)
class AttributeValue:
    """One value of an attribute, when it was seen to hold and how often."""

    name: str
    value: str
    first_seen: int
    last_seen: int
    count: int


@quick
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
    sightings: Sequence[Interval]
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
        """Stamp of the first sighting."""
        return self.sightings[0].start

    @property
    def last_seen(self) -> int:
        """Stamp of the last sighting (its interval ends 1 ns later)."""
        return self.sightings[-1].end - 1

    def evolve(self, **changes: object) -> Entry:
        """A copy with these fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


@quick
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


@quick
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


@quick
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


@quick
@dataclass(frozen=True, slots=True)
class Region:
    """A named part of a map: a polygon on the floor (x, y in metres, map frame) and a height range."""

    name: str
    polygon: tuple[tuple[float, float], ...]
    z_min: float = -0.5
    z_max: float = 3.0
    map_id: str = ""


@quick
@dataclass(frozen=True, slots=True)
class TrailPoint:
    """Where an agent's base was; map frame."""

    agent_id: str
    stamp_ns: int
    map_id: str
    pose: Pose


@quick
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
    anchors: int = 0  # how many moved before it: places known elsewhere are void


@quick
@dataclass(frozen=True, slots=True)
class Correction:
    """What became of a corrected path, after COMMIT; ``anchors``: how many moved (0: it was known).

    ``changed``, ``removed``: entries that took others in, which proved to be the same, and the ids of those.
    """

    agent_id: str
    revision: int
    anchors: int
    changed: tuple[PlacedEntry, ...] = ()
    removed: tuple[str, ...] = ()
