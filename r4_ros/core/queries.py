"""What is asked of the memory and what comes back: constraints, queries, evidence, questions, answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from r4_ros.core.facts import Fact
from r4_ros.core.records import (
    Episode,
    Event,
    TrailPoint,
)
from r4_ros.core.values import (
    FOREVER,
    IDENTITY,
    Box,
    EntryState,
    Interval,
    Motion,
    Pose,
    Presence,
    Vec3,
    Visibility,
)

ANY_HEIGHT = (-1000.0, 1000.0)
"""Between these heights, in metres, is everything."""


class Reference(Enum):
    """What a spatial constraint refers to; values as in ``msg/SpatialConstraint``."""

    EGO = 1
    ENTRIES = 2
    POINT = 3
    REGION = 4
    POSE = 5
    BOX = 6
    POLYGON = 7


@dataclass(frozen=True, slots=True)
class SpatialConstraint:
    """The candidate stands in ``relation`` to the reference. Relations: see memory/relations.py.

    A BOX has its centre and axes by ``pose`` and its full size by ``extent``; a POLYGON is a prism over the ground,
    from ``z_min`` to ``z_max``. Fields of view (rad) are those of ``in_view`` and ``in_cone``.
    """

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
    extent: Vec3 = (0.0, 0.0, 0.0)
    polygon: tuple[tuple[float, float], ...] = ()
    z_min: float = ANY_HEIGHT[0]
    z_max: float = ANY_HEIGHT[1]
    horizontal_fov: float = 0.0
    vertical_fov: float = 0.0


class TemporalKind(IntEnum):
    """What a temporal constraint asks of an entry; values as in ``msg/TemporalConstraint``."""

    SEEN_IN = 1
    PRESENT_AT = 2
    PRESENT_IN = 3
    APPEARED_IN = 4
    DISAPPEARED_IN = 5
    CHANGED_IN = 6
    LAST_SEEN_BEFORE = 7
    FIRST_SEEN_AFTER = 8
    ONLY_SEEN_IN = 9


@dataclass(frozen=True, slots=True)
class TemporalConstraint:
    """The candidate was seen, present or changed in [start_ns, end_ns)."""

    kind: TemporalKind
    start_ns: int
    end_ns: int = FOREVER


class Order(IntEnum):
    """What comes first; values as in ``srv/Retrieve``."""

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
    with_facts: bool = False
    timezone: str = ""  # of times of day in facts; empty: UTC
    with_counts: bool = False  # count what passed each key, also where candidates were narrowed down by another one


@dataclass(frozen=True, slots=True)
class Claim:
    """What one robot's memory says of a thing of which another's says otherwise; see ``Evidence.claims``.

    ``about``: an attribute, "presence" ("there" or "gone") or "place" ("x y z", m). ``stamp_ns``: when that was seen
    last. ``holds``: it is what the memory goes by.
    """

    about: str
    value: str
    agent_id: str
    entry_id: str
    stamp_ns: int
    visibility: Visibility
    holds: bool


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
    existence: float = 1.0
    """0..1: how surely it is there, by the views in which it was seen and those in which it should have been."""
    missed: int = 0
    """Views of its place in which it should have been seen and wasn't; 0 as well where it was seen so often that nobody
    asks."""
    label_share: float = 1.0
    """Of the votes for its label and the next best one, the share of its label."""
    claims: tuple[Claim, ...] = ()
    """Where those who saw it disagree: of each matter what holds first, then what others say."""
    place_known: bool = True
    """False: on a map that isn't aligned with the one that the asking robot is on; its place means nothing there."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a query found and what is needed to say honestly why it found nothing."""

    revision: int
    now_ns: int
    entries: tuple[Evidence, ...] = ()
    events: tuple[Event, ...] = ()
    episodes: tuple[Episode, ...] = ()
    facts: tuple[Fact, ...] = ()
    ego: TrailPoint | None = None
    ego_frame: str = ""  # map frame of ``ego``
    ego_candidates: tuple[str, ...] = ()
    after_semantic: int = 0  # how many entries passed this key and those before it; -1: not counted
    after_spatial: int = 0
    after_temporal: int = 0
    coverage: float = -1.0  # 0..1; -1: no place or time asked
    visited: bool = True
    last_looked: int | None = None  # most of it in the asked time; else any of it
    regions: tuple[str, ...] = ()
    labels_known: tuple[str, ...] = ()


class Verdict(str, Enum):
    """What an answer is worth: answered, or the honest reason why not."""

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
    """One step of how an answer was found, readable by a person."""

    round: int
    action: str
    detail: str
    found: int = 0
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: its text, its value by form, what it rests on and how it was found."""

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
    """What became of an answer; values as in ``srv/RecordOutcome``."""

    RIGHT = 1
    PARTLY = 2
    WRONG = 3


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A finished task as the experience room keeps it: the run, not what the memory knows.

    Evidence is named by its entry ids only, so that the record can't become a second memory.
    """

    task_id: str
    agent_id: str
    stamp_ns: int
    question: Question
    form: str
    verdict: Verdict
    text: str
    value: AnswerValue = None
    value_frame: str = ""
    confidence: float = 0.0
    evidence_ids: tuple[str, ...] = ()
    trace: tuple[TraceStep, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedbackRecord:
    """What somebody said about a recorded task, and when."""

    task_id: str
    feedback: Feedback
    stamp_ns: int
    correction: str = ""
    source: str = ""
