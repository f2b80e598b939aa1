"""A small memory over hand-made evidence, and a home to ask about; shared by the reasoner's tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from r4_ros.core.config import ReasonerConfig
from r4_ros.core.geometry import bounds, box_gap, inside_polygon, quat_from_yaw, yaw_of
from r4_ros.core.model import (
    FOREVER,
    NS_PER_S,
    Answer,
    Box,
    EntryState,
    Event,
    EventKind,
    Evidence,
    Interval,
    Motion,
    Pose,
    Presence,
    Query,
    Question,
    Reference,
    Region,
    Retrieval,
    SpatialConstraint,
    TemporalKind,
    TrailPoint,
    Vec3,
    Visibility,
)
from r4_ros.reasoner.answer import Reasoner

START = 1_700_000_000 * NS_PER_S  # 2023-11-14 22:13:20 UTC
NOW = START + 100 * NS_PER_S
KITCHEN = Region("kitchen", ((0, 0), (4, 0), (4, 4), (0, 4)))
LIVING = Region("living room", ((4, 0), (9, 0), (9, 4), (4, 4)))
ATTIC = Region("attic", ((20, 20), (24, 20), (24, 24), (20, 24)))


@dataclass
class FakeMemory:
    """core.ports.Memory over a list of evidence; relations in their simplest forms."""

    entries: list[Evidence] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    places: dict[str, list[tuple[int, Vec3]]] = field(default_factory=dict)  # entry -> (from stamp, position)
    regions: tuple[Region, ...] = (KITCHEN, LIVING, ATTIC)
    trails: dict[str, Callable[[int], Pose]] = field(default_factory=dict)
    coverage: float = 0.4
    unseen: tuple[str, ...] = ("attic",)
    similar: dict[str, set[str]] = field(default_factory=dict)  # text -> labels that an embedder would match
    now_ns: int = NOW
    queries: list[Query] = field(default_factory=list)
    on_retrieve: Callable[[Query, float], None] | None = None

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        self.queries.append(query)
        if self.on_retrieve is not None:
            self.on_retrieve(query, deadline_s)
        now = query.now_ns if query.now_ns is not None else self.now_ns
        at = query.at_ns if query.at_ns is not None else now
        placed = [self._at(e, query.at_ns) for e in self.entries]
        semantic = [e for e in placed if self._semantic(e, query)]
        spatial = [e for e in semantic if all(self._holds(c, e, placed, query, at) for c in query.spatial)]
        found = [e for e in spatial if all(self._in_time(t.kind, t.start_ns, t.end_ns, e) for t in query.temporal)]
        agents = sorted(self.trails)
        ego = query.ego_agent or (agents[0] if len(agents) == 1 else "")
        ids = {e.entry_id for e in found}
        region = next((c.region for c in query.spatial if c.reference is Reference.REGION), "")
        return Retrieval(
            revision=1,
            now_ns=now,
            entries=tuple(found[: query.limit]),
            events=tuple(e for e in self.events if query.with_events and e.entry_id in ids),
            ego=TrailPoint(ego, at, "m", self.trails[ego](at)) if ego else None,
            ego_frame="map" if ego else "",
            ego_candidates=tuple(agents) if len(agents) > 1 and not query.ego_agent else (),
            after_semantic=len(semantic),
            after_spatial=len(spatial),
            after_temporal=len(found),
            coverage=self.coverage if query.spatial else -1.0,
            visited=region not in self.unseen,
            last_looked=now - 5 * NS_PER_S,
            regions=tuple(r.name for r in self.regions),
        )

    def _at(self, e: Evidence, at_ns: int | None) -> Evidence:
        stays = [p for start, p in self.places.get(e.entry_id, []) if at_ns is not None and start <= at_ns]
        position = stays[-1] if stays else e.box.pose.position
        inside = [
            r.name
            for r in self.regions
            if inside_polygon(r.polygon, [position[:2]])[0] and r.z_min <= position[2] <= r.z_max
        ]
        return replace(e, box=Box(Pose(position), e.box.extent), regions=tuple(inside))

    def _semantic(self, e: Evidence, query: Query) -> bool:
        if query.entry_ids and e.entry_id not in query.entry_ids:
            return False
        named = not query.labels and not query.text
        named = named or e.label in query.labels or e.label in self.similar.get(query.text, set())
        attributes = dict(e.attributes)
        return (
            named
            and all(attributes.get(k) == v for k, v in query.attributes)
            and (not query.states or e.state in query.states)
            and (not query.agents or e.agent_id in query.agents)
            and e.label not in query.exclude_labels
        )

    def _in_time(self, kind: TemporalKind, start: int, end: int, e: Evidence) -> bool:
        if kind is TemporalKind.CHANGED_IN:
            return any(v.entry_id == e.entry_id and start <= v.stamp_ns < end for v in self.events)
        gone = e.present.end if e.present is not None else FOREVER
        return e.first_seen < end and start < gone

    def _holds(self, c: SpatialConstraint, e: Evidence, placed: list[Evidence], query: Query, at: int) -> bool:
        stamp = c.stamp_ns if c.stamp_ns is not None else at
        agent = query.ego_agent or (next(iter(self.trails)) if len(self.trails) == 1 else "")
        viewer = c.pose if c.reference is Reference.POSE or not agent else self.trails[agent](stamp)
        if c.reference is Reference.REGION:
            return (c.region in e.regions) != c.negate
        if c.reference is Reference.ENTRIES:
            firsts = [p for p in placed if p.entry_id in c.entry_ids]
            seconds = [p for p in placed if p.entry_id in c.other_entry_ids] or [None]
            return any(_related(c, e, a, b, viewer) for a in firsts for b in seconds if a.entry_id != e.entry_id)
        x, y = _seen_from(viewer, e.box.pose.position)
        if c.relation in ("near", "next_to"):
            return math.hypot(x, y) <= {"near": 1.0, "next_to": 0.5}[c.relation]
        if c.relation not in ("left_of", "right_of", "in_front_of", "behind"):
            return False
        return _side(c.relation, x, y) and (not c.max_distance or math.hypot(x, y) <= c.max_distance)


def _seen_from(viewer: Pose, position: Vec3) -> tuple[float, float]:
    dx, dy = position[0] - viewer.position[0], position[1] - viewer.position[1]
    yaw = yaw_of(viewer.orientation)
    return dx * math.cos(yaw) + dy * math.sin(yaw), dy * math.cos(yaw) - dx * math.sin(yaw)


def _side(relation: str, x: float, y: float) -> bool:
    return {
        "left_of": y > abs(x) / 2,
        "right_of": -y > abs(x) / 2,
        "in_front_of": x > abs(y) / 2,
        "behind": -x > abs(y) / 2,
    }[relation]


def _related(c: SpatialConstraint, e: Evidence, a: Evidence, b: Evidence | None, viewer: Pose) -> bool:
    (low, high), (a_low, a_high) = bounds(e.box), bounds(a.box)
    overlap = bool(((low[:2] < a_high[:2]) & (a_low[:2] < high[:2])).all())
    gap = box_gap(e.box, a.box)
    if c.relation == "between":
        assert b is not None
        way = math.dist(a.box.pose.position, b.box.pose.position)
        detour = sum(math.dist(e.box.pose.position, o.box.pose.position) for o in (a, b))
        return b.entry_id != e.entry_id and detour < 1.2 * way
    if c.relation in ("left_of", "right_of", "in_front_of", "behind"):
        x, y = _seen_from(viewer, e.box.pose.position)
        ax, ay = _seen_from(viewer, a.box.pose.position)
        toward = -1 if c.relation in ("in_front_of", "behind") else 1
        return _side(c.relation, toward * (x - ax), y - ay) and gap <= (c.max_distance or 99)
    return {
        "on": overlap and abs(low[2] - a_high[2]) < 0.15,
        "in": bool(((low >= a_low) & (high <= a_high)).all()),
        "under": overlap and high[2] <= a_high[2],
        "above": overlap and low[2] >= a_high[2] - 0.15,
        "below": overlap and high[2] <= a_low[2] + 0.15,
        "near": gap <= 1.0,
        "next_to": gap <= 0.5,
    }.get(c.relation, gap <= 1.0)


def evidence(
    entry_id: str,
    label: str,
    position: Vec3,
    extent: Vec3,
    *,
    color: str = "",
    agent: str = "rex",
    first: float = 0.0,
    last: float = 95.0,
    state: EntryState = EntryState.PRESENT,
    attributes: tuple[tuple[str, str], ...] = (),
) -> Evidence:
    """A hand-made piece of evidence; first and last are seconds after START."""
    first_ns, last_ns = START + round(first * NS_PER_S), START + round(last * NS_PER_S)
    end = last_ns + NS_PER_S if state is EntryState.GONE else FOREVER
    return Evidence(
        entry_id=entry_id,
        agent_id=agent,
        label=label,
        box=Box(Pose(position), extent),
        frame="map",
        map_id="m",
        first_seen=first_ns,
        last_seen=last_ns,
        present=Presence(first_ns, first_ns, last_ns, end),
        sightings=(Interval(first_ns, last_ns + 1),),
        visibility=Visibility.VISIBLE,
        state=state,
        motion=Motion.STATIC,
        count=20,
        confidence=0.9,
        score=1.0,
        attributes=((("color", color),) if color else ()) + attributes,
    )


def event(kind: EventKind, entry_id: str, label: str, second: float, place: Vec3, source: Vec3 | None = None) -> Event:
    """An event at a second after START, known to half a second."""
    stamp = START + round(second * NS_PER_S)
    half = NS_PER_S // 2
    return Event(
        f"{entry_id}:{kind.name}", kind, entry_id, "rex", label, stamp, stamp - half, stamp + half, "m", place, source
    )


@pytest.fixture
def home() -> FakeMemory:
    """A kitchen and a living room as one robot, rex, knows them; rex stands at (6, 2) and looks along +x.

    The red mug was moved from the table to the counter at 50 s; the backpack vanished at 61 s; rex turned from +y
    to +x at 80 s.
    """
    memory = FakeMemory(
        trails={"rex": lambda ns: Pose((6, 2, 0), quat_from_yaw(math.pi / 2 if ns < START + 80e9 else 0))}
    )
    memory.entries = [
        evidence("table", "dining table", (2, 2, 0.38), (1.2, 0.8, 0.76), color="brown"),
        evidence("counter", "counter", (0.4, 2, 0.45), (0.6, 2, 0.9), color="white"),
        evidence("mug", "cup", (0.4, 2.2, 0.95), (0.1, 0.1, 0.1), color="red", first=2),
        evidence("bluecup", "cup", (2.2, 2.1, 0.81), (0.1, 0.1, 0.1), color="blue"),
        evidence("bowl", "bowl", (1.8, 1.9, 0.80), (0.2, 0.2, 0.08), color="green"),
        evidence("chair1", "chair", (1.0, 2, 0.45), (0.45, 0.45, 0.9), color="black"),
        evidence("chair2", "chair", (3.0, 2, 0.45), (0.45, 0.45, 0.9), color="black"),
        evidence("chair3", "chair", (7.5, 3.5, 0.45), (0.45, 0.45, 0.9), color="gray"),
        evidence("tv", "tv", (8.6, 2, 1.2), (0.1, 1.2, 0.7), color="black"),
        evidence("couch", "couch", (6.5, 0.5, 0.4), (1.8, 0.8, 0.8), color="gray"),
        evidence("plant", "potted plant", (8.5, 3.4, 0.4), (0.4, 0.4, 0.8), color="green"),
        evidence(
            "backpack", "backpack", (4.6, 3.0, 0.2), (0.3, 0.3, 0.4), color="blue", last=60, state=EntryState.GONE
        ),
        evidence("laptop", "laptop", (6.5, 0.5, 0.83), (0.3, 0.2, 0.04), attributes=(("power", "on"),)),
    ]
    memory.events = [
        event(EventKind.MOVED, "mug", "cup", 50, (0.4, 2.2, 0.95), (1.9, 2.2, 0.81)),
        event(EventKind.DISAPPEARED, "backpack", "backpack", 61, (4.6, 3.0, 0.2)),
    ]
    memory.places["mug"] = [(START, (1.9, 2.2, 0.81)), (START + 50 * NS_PER_S, (0.4, 2.2, 0.95))]
    return memory


@pytest.fixture
def ask(home: FakeMemory) -> Callable[..., Answer]:
    """Ask the home a question in words; further arguments are the question's fields."""
    reasoner = Reasoner(home, ReasonerConfig())

    def answer(text: str, **fields: object) -> Answer:
        return reasoner.answer(replace(Question(text), **fields))  # type: ignore[arg-type]

    return answer


@pytest.fixture
def make() -> Callable[..., Evidence]:
    """Makes a piece of evidence."""
    return evidence


@pytest.fixture
def happened() -> Callable[..., Event]:
    """Makes an event."""
    return event
