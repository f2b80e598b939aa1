"""Retrieval against a plain reading of the same entries, over random memories and random queries."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import (
    Entry,
    EntryState,
    EventKind,
    Order,
    Pose,
    Query,
    Reference,
    Region,
    Share,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
    Visibility,
)
from r4_ros.memory.library import Library, open_library
from test.support import plain_reading as plain

S = 1_000_000_000
END = 40
LABELS = ("mug", "chair", "plate", "book")
ROOM = Region("room", ((0.0, -2.0), (4.0, -2.0), (4.0, 3.0), (0.0, 3.0)), 0.0, 1.5)
HALL = Region("hall", ((4.0, -4.0), (7.0, -4.0), (7.0, 4.0), (4.5, 4.0)), 0.0, 3.0)
NEIGHBOURS = ("between", "near", "next_to", "at", "around", "side", "across_from", "along")
"""Relations that don't reach through walls."""


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
    library.set_regions([ROOM, HALL])
    robots = [make_robot(agent, map_id=f"map of {agent}") for agent in ("r1", "r2")]
    things = [
        thing(
            rng.choice(LABELS),
            (rng.uniform(-3, 6), rng.uniform(-4, 4), rng.uniform(0.1, 2)),
            (rng.uniform(0.1, 1.9), rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9)),
        ).seen(
            attributes=(("color", rng.choice(["red", "blue"])),),
            visibility=rng.choice([Visibility.VISIBLE, Visibility.TRUNCATED, Visibility.OCCLUDED]),
        )
        for _ in range(14)
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


def _pose(x: float, y: float, z: float, q: tuple[float, ...]) -> Pose:
    length = math.hypot(*q)
    a, b, c, d = (v / length for v in q)
    return Pose((x, y, z), (a, b, c, d))


turns = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: math.hypot(*q) > 0.1)
poses = st.builds(_pose, st.floats(-3, 8), st.floats(-4, 4), st.floats(0, 2), turns)
level = st.builds(
    lambda pose, yaw: Pose(pose.position, (0.0, 0.0, math.sin(yaw), math.cos(yaw))), poses, st.floats(0, 3)
)
limits = {"min_distance": st.sampled_from([0.0, 0.0, 0.5]), "max_distance": st.sampled_from([0.0, 2.0, 4.0])}
sides = st.floats(0.3, 9.0)
numbers = st.lists(st.integers(0, 60), min_size=1, max_size=8)
of_place = st.one_of(
    st.builds(
        SpatialConstraint,
        st.sampled_from(["near", "within"]),
        st.just(Reference.POINT),
        pose=poses,
        negate=st.booleans(),
        **limits,
    ),
    st.builds(
        SpatialConstraint,
        st.just("in"),
        st.just(Reference.BOX),
        pose=poses,
        extent=st.tuples(sides, sides, sides),
        negate=st.booleans(),
    ),
    st.builds(
        SpatialConstraint,
        st.sampled_from(["in", "near"]),
        st.just(Reference.POLYGON),
        polygon=st.sampled_from([((-3.0, -3.0), (6.0, -1.0), (1.0, 0.5), (2.0, 4.0)), ROOM.polygon]),
        z_min=st.floats(-1, 1),
        z_max=st.floats(1.1, 2.5),
        negate=st.booleans(),
    ),
    st.builds(
        SpatialConstraint,
        st.sampled_from(["in", "near"]),
        st.just(Reference.REGION),
        region=st.sampled_from(["room", "hall"]),
        negate=st.booleans(),
    ),
)
from_pose = st.one_of(
    st.builds(
        SpatialConstraint,
        st.sampled_from(["left_of", "right_of", "in_front_of", "behind"]),
        st.just(Reference.POSE),
        pose=level,
        negate=st.booleans(),
    ),
    st.builds(
        SpatialConstraint,
        st.sampled_from(["in_view", "in_cone", "beyond"]),
        st.just(Reference.POSE),
        pose=poses,
        horizontal_fov=st.floats(0.2, 6.0),
        vertical_fov=st.floats(0.2, 6.0),
        negate=st.booleans(),
    ),
)
of_entries = st.builds(
    SpatialConstraint,
    st.sampled_from([*plain.RELATIONS, "between"]),
    st.just(Reference.ENTRIES),
    entry_ids=numbers,
    other_entry_ids=numbers,
    negate=st.booleans(),
    **limits,
)
spatial = st.one_of(of_place, from_pose, of_entries)
queries = st.builds(
    Query,
    labels=st.sampled_from([(), ("mug",), ("CHAIR", "book")]),
    exclude_labels=st.sampled_from([(), (), ("plate",)]),
    attributes=st.sampled_from([(), (), (), (("Color", "RED"),)]),
    visibilities=st.sampled_from([(), (), (), (Visibility.VISIBLE, Visibility.OCCLUDED)]),
    order_from=st.builds(SpatialConstraint, st.just("within"), st.just(Reference.POSE), pose=level),
    spatial=st.lists(spatial, max_size=2).map(tuple),
    temporal=st.lists(temporal, max_size=2).map(tuple),
    agents=st.sampled_from([(), ("r1",), ("r1", "r2")]),
    states=st.sampled_from([(), (), (EntryState.PRESENT,), (EntryState.GONE, EntryState.UNKNOWN)]),
    at_ns=st.one_of(st.none(), times.filter(lambda t: t >= 0)),
    now_ns=st.one_of(st.none(), times.filter(lambda t: t >= 0)),
    order=st.sampled_from(list(Order)),
    limit=st.sampled_from([2, 50]),
)


def nearest_to(*position: float) -> Query:
    """What is nearest to an observer who stands there."""
    order_from = SpatialConstraint("within", Reference.POSE, pose=Pose(tuple(position)))
    return Query(order=Order.NEAREST, order_from=order_from, limit=50)


@given(number=st.integers(0, 2), query=queries)
@example(2, nearest_to(5.134988938084744, 1.105850222151898, 1.6454466705722588))  # two 4 mm away, 0.03 um apart
@settings(max_examples=250, deadline=None)
def test_retrieval_equals_a_plain_reading(
    bases: list[Library], make_robot: Any, thing: Any, number: int, query: Query
) -> None:
    library = bases[number]
    fill(library, make_robot, thing, number)
    query = named(query, [e.entry_id for e in library.entries()])
    found = library.retrieve(query)
    reading = Plain(library, query)
    expected = {e.entry_id: e for e in reading.entries()}
    assert found.now_ns == reading.now
    assert found.after_temporal == len(expected)
    assert {e.entry_id for e in found.entries} <= set(expected)
    assert len(found.entries) == min(query.limit, len(expected))
    if query.order != Order.SCORE:
        right = sorted(reading.key(e) for e in expected.values())[: query.limit]
        assert [reading.key(expected[e.entry_id]) for e in found.entries] == pytest.approx(right)
    for evidence in found.entries:
        entry = expected[evidence.entry_id]
        assert evidence.state == reading.state(entry)
        assert evidence.last_seen == reading.last_seen(entry)
        assert evidence.box.pose.position == pytest.approx(plain.centre(reading.box(entry)))


@given(number=st.integers(0, 2), constraint=spatial, at_ns=st.one_of(st.none(), times.filter(lambda t: t >= 0)))
@settings(max_examples=200, deadline=None)
def test_one_spatial_constraint_equals_a_plain_reading(
    bases: list[Library], make_robot: Any, thing: Any, number: int, constraint: SpatialConstraint, at_ns: int | None
) -> None:
    library = bases[number]
    fill(library, make_robot, thing, number)
    query = named(Query(spatial=(constraint,), at_ns=at_ns, limit=100), [e.entry_id for e in library.entries()])
    found = {e.entry_id for e in library.retrieve(query).entries}
    assert found == {e.entry_id for e in Plain(library, query).entries()}


@pytest.mark.parametrize("relation", [*plain.RELATIONS, "between"])
def test_relations_of_all_to_each_equal_a_plain_reading(
    bases: list[Library], make_robot: Any, thing: Any, relation: str
) -> None:
    rng = random.Random(relation)
    for number, library in enumerate(bases):
        fill(library, make_robot, thing, number)
        reading = Plain(library, Query())
        ids = [e.entry_id for e in reading.every]
        for other in ids:
            seconds = tuple(rng.sample(ids, 2)) if relation == "between" else ()
            constraint = SpatialConstraint(relation, Reference.ENTRIES, (other,), seconds)
            reading.query = Query(spatial=(constraint,), limit=100)
            found = {e.entry_id for e in library.retrieve(reading.query).entries}
            assert found == {e.entry_id for e in reading.entries()}


def named(query: Query, ids: list[str]) -> Query:
    """With the ids of entries instead of their numbers."""

    def some(chosen: Any) -> tuple[str, ...]:
        return tuple(ids[i % len(ids)] for i in chosen)

    constraints = [
        replace(c, entry_ids=some(c.entry_ids), other_entry_ids=some(c.other_entry_ids)) for c in query.spatial
    ]
    return replace(query, spatial=tuple(constraints))


class Plain:
    """The query, read entry by entry."""

    def __init__(self, library: Library, query: Query) -> None:
        self.library, self.query = library, query
        newest = [library.newest_stamp(a) for a in query.agents or library.agents()]
        self.now = query.now_ns if query.now_ns is not None else max(newest)
        self.at = query.at_ns if query.at_ns is not None else self.now
        self.every = library.entries()
        self.boxes: dict[str, plain.PlainBox] = {}
        self.events = library.events()

    def entries(self) -> list[Entry]:
        return [e for e in self.every if self.fits(e)]

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
        if q.visibilities and e.visibility not in q.visibilities:
            return False
        has = {(a.name.casefold(), a.value.casefold()) for a in e.attributes}
        if not all((name.casefold(), value.casefold()) in has for name, value in q.attributes):
            return False
        return all(self.holds(e, c) != c.negate for c in q.spatial) and all(self.then(e, c) for c in q.temporal)

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

    def box(self, e: Entry) -> plain.PlainBox:
        if e.entry_id not in self.boxes:
            self.boxes[e.entry_id] = self._box(e)
        return self.boxes[e.entry_id]

    def _box(self, e: Entry) -> plain.PlainBox:
        index = self.library._index
        i = max([0, *(i for i, s in enumerate(e.stays) if s.interval.start <= self.at)])
        stay = e.stays[i]
        anchor = index.anchors[stay.anchor_id].pose_in_map
        frames = [(pose.position, pose.orientation) for pose in (stay.box.pose, anchor)]
        box = plain.placed(frames, stay.box.extent)
        pulls = [(share.weight, self._offset(share, plain.centre(box))) for share in stay.shares]
        box = plain.shifted(box, pulls)
        held = index.stays["half"][index.stays.rows_of(index.slots[e.entry_id])[i]]
        return plain.resized(box, held.tolist())

    def _offset(self, share: Share, point: plain.Point) -> list[float]:
        """How far from a point another stretch of the robot's way says that the thing is."""
        anchor = self.library._index.anchors[share.anchor_id].pose_in_map
        turned = plain.turned(anchor.orientation, share.position)
        return [a + b - c for a, b, c in zip(turned, anchor.position, point, strict=True)]

    def key(self, e: Entry) -> float:
        """What the asked order goes by, ascending."""
        box, order = self.box(e), self.query.order
        pose = self.query.order_from.pose
        if order in (Order.NEAREST, Order.FARTHEST):
            return plain.gap(box, column(pose)) * (1 if order is Order.NEAREST else -1)
        if order in (Order.LEFTMOST, Order.RIGHTMOST):
            x, y, _ = plain.seen_from(pose.position, pose.orientation, plain.centre(box))
            return math.atan2(y, x) * (-1 if order is Order.LEFTMOST else 1)
        if order in (Order.LAST_SEEN, Order.FIRST_SEEN):
            return -self.last_seen(e) if order is Order.LAST_SEEN else e.first_seen
        if order in (Order.LARGEST, Order.SMALLEST):
            return math.prod(plain.size(box)) * (-1 if order is Order.LARGEST else 1)
        return plain.centre(box)[2] * (-1 if order is Order.HIGHEST else 1)

    def holds(self, e: Entry, c: SpatialConstraint) -> bool:
        box = self.box(e)
        middle, (px, py, pz) = plain.centre(box), c.pose.position
        if c.reference is Reference.ENTRIES:
            return any(self.related(e, other, c) for other in self.referred(c.entry_ids))
        if c.reference is Reference.POINT:
            distance = plain.gap(box, ((px, py, pz), (px, py, pz)))
            allowed = distance >= c.min_distance and (not c.max_distance or distance <= c.max_distance)
            near = distance <= 1 and not walled([px, py], middle)
            return allowed and (c.relation == "within" or near)
        if c.reference is Reference.BOX:
            local = plain.seen_from(c.pose.position, c.pose.orientation, middle)
            return all(abs(v) <= side / 2 for v, side in zip(local, c.extent, strict=True))
        if c.reference in (Reference.REGION, Reference.POLYGON):
            region = Region("", c.polygon, c.z_min, c.z_max)
            region = {"room": ROOM, "hall": HALL}.get(c.region, region)
            if c.relation == "near":
                return plain.to_polygon(region.polygon, *middle[:2]) <= 1
            return plain.in_polygon(region.polygon, *middle[:2]) and region.z_min <= middle[2] <= region.z_max
        local = plain.seen_from(c.pose.position, c.pose.orientation, middle)
        if c.relation in ("in_view", "in_cone", "beyond"):
            return plain.from_pose(c.relation, local, (c.horizontal_fov, c.vertical_fov))
        degrees = {"in_front_of": 0, "left_of": 90, "behind": 180, "right_of": -90}[c.relation]
        towards = math.cos(math.atan2(local[1], local[0]) - math.radians(degrees)) >= 0.5
        return towards and not walled([px, py], middle)

    def referred(self, ids: tuple[str, ...]) -> list[Entry]:
        """Entries that were there at the time asked about, or weren't known yet."""
        at = self.query.at_ns
        found = [e for e in self.every if e.entry_id in ids]
        return [e for e in found if at is None or e.first_seen > at or self.present(e, at)]

    def related(self, e: Entry, other: Entry, c: SpatialConstraint) -> bool:
        if other.entry_id == e.entry_id or other.map_id != e.map_id:
            return False
        box, place = self.box(e), self.box(other)
        distance = plain.gap(box, place)
        if distance < c.min_distance or (c.max_distance and distance > c.max_distance):
            return False
        if c.relation in NEIGHBOURS and walled(plain.centre(place), plain.centre(box)):
            return False
        if c.relation != "between":
            return plain.RELATIONS[c.relation](box, place)
        seconds = [s for s in self.referred(c.other_entry_ids) if s.map_id == other.map_id]
        seconds = [s for s in seconds if s.entry_id not in (e.entry_id, other.entry_id)]
        return any(plain.between(box, place, self.box(second)) for second in seconds)


def column(pose: Pose) -> plain.PlainBox:
    """What an observer takes up."""
    x, y, z = pose.position
    return (x, y, z), (x, y, z + 1.5)


def walled(a: Any, b: Any) -> bool:
    """Whether both are in rooms, and in no room together."""
    rooms = [{r.name for r in (ROOM, HALL) if plain.in_polygon(r.polygon, *point[:2])} for point in (a, b)]
    return bool(rooms[0] and rooms[1] and not rooms[0] & rooms[1])
