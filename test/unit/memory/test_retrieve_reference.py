"""Retrieval against a plain reading of the same entries, over random memories and random queries."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import bounds, yaw_of
from r4_ros.core.model import (
    Entry,
    EntryState,
    EventKind,
    Order,
    Pose,
    Query,
    Reference,
    Region,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
)
from r4_ros.memory.library import Library, open_library

S = 1_000_000_000
END = 40
LABELS = ("mug", "chair", "plate", "book")
ROOM = Region("room", ((0.0, -2.0), (4.0, -2.0), (4.0, 3.0), (0.0, 3.0)), 0.0, 1.5)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Library]]:
    folder = tmp_path_factory.mktemp("bases")
    opened = [open_library(folder / f"{seed}.db", MemoryConfig()) for seed in range(3)]
    yield opened
    for library in opened:
        library.close()


def fill(library: Library, make_robot: Any, thing: Any, folder_seed: int) -> None:
    """Two robots, things that are carried, vanish and return."""
    if library.agents():
        return
    rng = random.Random(folder_seed)
    library.set_regions([ROOM])
    robots = [make_robot(agent, map_id=f"map of {agent}") for agent in ("r1", "r2")]
    things = [
        thing(
            rng.choice(LABELS),
            (rng.uniform(-3, 6), rng.uniform(-4, 4), rng.uniform(0.1, 2)),
            (rng.uniform(0.1, 0.9),) * 3,
        )
        for _ in range(12)
    ]
    for step in range(END * 2):
        robot = robots[step % 2]
        robot.where = (rng.uniform(-2, 2), rng.uniform(-2, 2), rng.uniform(-3, 3))
        carried = things[0]
        things[0] = carried.at(carried.centre[0] + 0.2, *carried.centre[1:]).seen(track_id="t")
        chosen = [t for t in things if rng.random() < 0.4]
        frame = robot.frame(step / 2, *chosen)
        library.ingest(frame)
        if step % 8 == 7:
            mine = [e for e in library.entries() if e.agent_id == robot.agent_id]
            lost = rng.choice(mine) if mine else None
            for k in range(3) if lost else ():
                library.ingest(robot.absent(step / 2 + 0.1 + 0.05 * k, lost.entry_id))
    assert len(library.entries()) > 10


times = st.integers(-1, END * 2 + 2).map(lambda half: half * S // 2)
temporal = st.builds(
    lambda kind, a, b: TemporalConstraint(kind, max(0, min(a, b)), max(a, b, 0) + 1),
    st.sampled_from(list(TemporalKind)),
    times,
    times,
)
poses = st.builds(
    lambda x, y, yaw: Pose((x, y, 0.5), (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))),
    st.floats(-3, 6),
    st.floats(-4, 4),
    st.floats(-3, 3),
)
spatial = st.one_of(
    st.builds(
        SpatialConstraint,
        st.sampled_from(["near", "within"]),
        st.just(Reference.POINT),
        pose=poses,
        min_distance=st.sampled_from([0.0, 0.5]),
        max_distance=st.sampled_from([0.0, 2.0, 4.0]),
        negate=st.booleans(),
    ),
    st.builds(
        SpatialConstraint,
        st.sampled_from(["left_of", "right_of", "in_front_of", "behind"]),
        st.just(Reference.POSE),
        pose=poses,
        negate=st.booleans(),
    ),
    st.builds(
        SpatialConstraint, st.just("in"), st.just(Reference.REGION), region=st.just("room"), negate=st.booleans()
    ),
)
queries = st.builds(
    Query,
    labels=st.sampled_from([(), ("mug",), ("CHAIR", "book")]),
    exclude_labels=st.sampled_from([(), (), ("plate",)]),
    spatial=st.lists(spatial, max_size=2).map(tuple),
    temporal=st.lists(temporal, max_size=2).map(tuple),
    agents=st.sampled_from([(), ("r1",), ("r1", "r2")]),
    states=st.sampled_from([(), (), (EntryState.PRESENT,), (EntryState.GONE, EntryState.UNKNOWN)]),
    at_ns=st.one_of(st.none(), times.filter(lambda t: t >= 0)),
    now_ns=st.one_of(st.none(), times.filter(lambda t: t >= 0)),
    order=st.sampled_from([Order.SCORE, Order.LAST_SEEN, Order.HIGHEST]),
    limit=st.sampled_from([2, 50]),
)


@given(number=st.integers(0, 2), query=queries)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_retrieval_equals_a_plain_reading(
    bases: list[Library], make_robot: Any, thing: Any, number: int, query: Query
) -> None:
    library = bases[number]
    fill(library, make_robot, thing, number)
    found = library.retrieve(query)
    plain = Plain(library, query)
    expected = plain.entries()
    assert found.now_ns == plain.now
    assert found.after_temporal == len(expected)
    assert {e.entry_id for e in found.entries} <= {e.entry_id for e in expected}
    assert len(found.entries) == min(query.limit, len(expected))
    if query.order != Order.SCORE:
        key = plain.last_seen if query.order == Order.LAST_SEEN else plain.height
        values = sorted((key(e) for e in expected), reverse=True)[: query.limit]
        by_id = {e.entry_id: e for e in expected}
        assert [key(by_id[e.entry_id]) for e in found.entries] == pytest.approx(values)
    for evidence in found.entries:
        entry = next(e for e in expected if e.entry_id == evidence.entry_id)
        assert evidence.state == plain.state(entry)
        assert evidence.last_seen == plain.last_seen(entry)
        assert evidence.box.pose.position == pytest.approx(plain.box(entry)[2])


class Plain:
    """The query, read entry by entry."""

    def __init__(self, library: Library, query: Query) -> None:
        self.library, self.query = library, query
        newest = [library.newest_stamp(a) for a in query.agents or library.agents()]
        self.now = query.now_ns if query.now_ns is not None else max(newest)
        self.at = query.at_ns if query.at_ns is not None else self.now
        self.placed = {p.entry_id: p for p in library.placed()}
        self.events = library.events()

    def entries(self) -> list[Entry]:
        return [e for e in self.library.entries() if self.fits(e)]

    def fits(self, e: Entry) -> bool:
        q = self.query
        if e.first_seen > self.now or (q.agents and e.agent_id not in q.agents):
            return False
        if q.labels and e.label.casefold() not in [w.casefold() for w in q.labels]:
            return False
        if e.label in q.exclude_labels:
            return False
        if q.at_ns is not None and not self.present(e, q.at_ns):
            return False
        if q.states and self.state(e) not in q.states:
            return False
        return all(self.near(e, c) != c.negate for c in q.spatial) and all(self.then(e, c) for c in q.temporal)

    def present(self, e: Entry, t: int) -> bool:
        return any(p.start <= t < p.end for p in e.presence)

    def last_seen(self, e: Entry) -> int:
        return max(min(s.end - 1, self.now) for s in e.sightings if s.start <= self.now)

    def state(self, e: Entry) -> EntryState:
        if not self.present(e, self.now):
            return EntryState.GONE
        return EntryState.PRESENT if self.now - self.last_seen(e) <= 2 * S else EntryState.UNKNOWN

    def then(self, e: Entry, c: TemporalConstraint) -> bool:
        end = min(c.end_ns, self.now + 1)
        kind = c.kind
        if kind == TemporalKind.SEEN_IN:
            return any(s.start < end and s.end > c.start_ns for s in e.sightings)
        if kind == TemporalKind.PRESENT_AT:
            return self.present(e, c.start_ns)
        if kind == TemporalKind.PRESENT_IN:
            return any(p.start < end and p.end > c.start_ns for p in e.presence)
        if kind == TemporalKind.ONLY_SEEN_IN:
            known = [s for s in e.sightings if s.start <= self.now]
            return all(c.start_ns <= s.start and min(s.end - 1, self.now) < c.end_ns for s in known)
        if kind == TemporalKind.LAST_SEEN_BEFORE:
            return any(s.start < c.start_ns for s in e.sightings)
        if kind == TemporalKind.FIRST_SEEN_AFTER:
            return c.start_ns <= e.first_seen < end
        kinds = {
            TemporalKind.APPEARED_IN: (EventKind.APPEARED, EventKind.REAPPEARED),
            TemporalKind.DISAPPEARED_IN: (EventKind.DISAPPEARED,),
            TemporalKind.CHANGED_IN: tuple(EventKind),
        }[kind]
        return any(
            v.entry_id == e.entry_id
            and v.kind in kinds
            and v.latest_ns <= self.now
            and v.latest_ns >= c.start_ns
            and (v.earliest_ns or v.stamp_ns) < end
            for v in self.events
        )

    def box(self, e: Entry) -> tuple[Any, Any, Any]:
        stay = [s for s in e.stays if s.interval.start <= self.at][-1:] or [e.stays[0]]
        box = self.library._index.box(stay[0])
        return (*bounds(box), box.pose.position)

    def height(self, e: Entry) -> float:
        return float(self.box(e)[2][2])

    def near(self, e: Entry, c: SpatialConstraint) -> bool:
        low, high, centre = self.box(e)
        p = c.pose.position
        if c.relation == "in":
            return 0 <= centre[0] < 4 and -2 <= centre[1] < 3 and 0 <= centre[2] <= 1.5
        if c.reference is Reference.POSE:
            bearing = math.atan2(centre[1] - p[1], centre[0] - p[0]) - yaw_of(c.pose.orientation)
            turn = {"in_front_of": 0, "left_of": 90, "behind": 180, "right_of": -90}[c.relation]
            return math.cos(bearing - math.radians(turn)) >= 0.5
        gap = math.dist(p, [min(max(v, a), b) for v, a, b in zip(p, low, high, strict=True)])
        allowed = gap >= c.min_distance and (not c.max_distance or gap <= c.max_distance)
        return allowed and (c.relation == "within" or gap <= 1)
