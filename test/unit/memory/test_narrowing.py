"""What a query finds must not depend on where candidates are looked for: narrowed, ranked by meaning, or among all."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import (
    EntryState,
    Evidence,
    Order,
    Pose,
    Query,
    Reference,
    Region,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
)
from r4_ros.memory import cosines, gather, moments, relations
from r4_ros.memory import index as index_module
from r4_ros.memory import spatial as spatial_module
from r4_ros.memory.library import Library, open_library

S = 1_000_000_000
END = 60
LABELS = ("mug", "cup", "chair", "plate", "book")
ROOM = Region("room", ((0.0, -2.0), (4.0, -2.0), (4.0, 3.0), (0.0, 3.0)), 0.0, 1.5)


class Words:
    """An embedder in which some words are alike."""

    name = "words"

    def embed(self, texts: Any) -> Any:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> np.ndarray:
        rng = np.random.default_rng(sum(text.encode()))
        vector = 0.25 * rng.standard_normal(16)
        vector[len(text) % 3] += 2.0
        return (vector / np.linalg.norm(vector)).astype(np.float32)


@pytest.fixture(scope="module", params=["embedder", "rough cosines", "words only"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    path = tmp_path_factory.mktemp("narrowing") / "memory.db"
    embedder = None if request.param == "words only" else Words()
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "rough cosines":
            patch.setattr(cosines, "BYTES_FROM", 4)
        with open_library(path, MemoryConfig(writer_silence_s=0.0), embedder) as opened:
            yield opened


def fill(library: Library, make_robot: Any, thing: Any) -> None:
    """Three robots on one map that see the same things, some of which are carried, vanish, return; one starts anew."""
    if library.agents():
        return
    rng = random.Random(4)
    library.set_regions([ROOM])
    robots = [make_robot(agent, map_id="home") for agent in ("r1", "r2", "r3")]
    things = [
        thing(
            label := rng.choice(LABELS),
            (rng.uniform(-5, 8), rng.uniform(-5, 5), rng.uniform(0.1, 2)),
            (rng.uniform(0.1, 0.9),) * 3,
        ).seen(description=f"a {rng.choice(['red', 'blue', 'old'])} {label}", attributes=(("color", "red"),))
        for _ in range(25)
    ]
    for step in range(END * 3):
        robot = robots[step % 3]
        if step == 2 * END:  # its clock was set back
            robots[2].session, robots[2].writer = 1, "again"
        back_s = 100 if robot.session else 0
        robot.where = (rng.uniform(-2, 2), rng.uniform(-2, 2), rng.uniform(-3, 3))
        moved = rng.randrange(3)
        things[moved] = things[moved].at(things[moved].centre[0] + rng.uniform(-2, 2), *things[moved].centre[1:])
        chosen = [
            t.at(*(c + rng.uniform(-0.1, 0.1) for c in t.centre)).seen(track_id=f"{n}" if n % 2 else "")
            for n, t in enumerate(things)
            if rng.random() < 0.3
        ]
        library.ingest(robot.frame(200 + step / 3 - back_s, *chosen))
        if step % 9 == 8:
            mine = [e for e in library.entries() if e.agent_id == robot.agent_id]
            lost = rng.choice(mine)
            for k in range(3):
                library.ingest(robot.absent(200 + step / 3 - back_s + 0.1 + 0.05 * k, lost.entry_id))
    assert len(library.entries()) > 40


times = st.integers(-10, END * 2 + 4).map(lambda half: (200 + half / 2) * S).map(int)
temporal = st.builds(
    lambda kind, a, b: TemporalConstraint(kind, min(a, b), max(a, b) + 1), st.sampled_from(TemporalKind), times, times
)
poses = st.builds(
    lambda x, y, w: Pose((x, y, 0.5), (0.0, 0.0, float(np.sqrt(1 - w * w)), w)),
    st.floats(-5, 8),
    st.floats(-5, 5),
    st.floats(-1, 1),
)
distances = st.sampled_from([0.0, 0.7, 2.0, 4.0])
spatial = st.one_of(
    st.builds(
        SpatialConstraint,
        st.sampled_from(
            ["near", "within", "next_to", "above", "left_of", "facing", "across_from", "in_view", "in_cone", "beyond"]
        ),
        st.sampled_from([Reference.EGO, Reference.POSE]),
        pose=poses,
        stamp_ns=st.one_of(st.none(), times),
        max_distance=distances,
        horizontal_fov=st.just(1.5),
        vertical_fov=st.just(1.0),
        negate=st.sampled_from([False, False, True]),
    ),
    st.builds(
        SpatialConstraint,
        st.sampled_from(["in", "within", "near", "side", "centre", "corner", "end", "top", "along"]),
        st.sampled_from([Reference.POINT, Reference.BOX, Reference.POLYGON, Reference.REGION]),
        pose=poses,
        region=st.just("room"),
        extent=st.tuples(*[st.sampled_from([1.0, 3.0, 8.0])] * 3),
        polygon=st.just(((-4.0, -4.0), (1.0, -4.0), (-1.0, 4.0))),
        z_min=st.just(0.0),
        z_max=st.sampled_from([1.0, 5.0]),
        max_distance=distances,
        negate=st.sampled_from([False, False, True]),
    ),
    st.builds(
        SpatialConstraint,
        st.sampled_from(sorted(set(relations.RELATIONS) - {"facing", "in_view", "in_cone", "beyond"})),
        st.just(Reference.ENTRIES),
        entry_ids=st.lists(st.integers(0, 60), min_size=1, max_size=12),
        other_entry_ids=st.lists(st.integers(0, 60), min_size=1, max_size=5),
        max_distance=distances,
        min_distance=st.sampled_from([0.0, 0.0, 0.3]),
        negate=st.sampled_from([False, False, True]),
    ),
)
queries = st.builds(
    Query,
    labels=st.sampled_from([(), (), ("mug",), ("CHAIR", "book")]),
    text=st.sampled_from(["", "", "an old cup", "red mug"]),
    attributes=st.sampled_from([(), (), (), (("Color", "RED"),)]),
    exclude_labels=st.sampled_from([(), (), ("plate",)]),
    spatial=st.lists(spatial, max_size=2).map(tuple),
    temporal=st.lists(temporal, max_size=2).map(tuple),
    agents=st.sampled_from([(), (), ("r1",), ("r1", "r3")]),
    states=st.sampled_from([(), (), (EntryState.PRESENT, EntryState.UNKNOWN)]),
    at_ns=st.one_of(st.none(), times),
    now_ns=st.one_of(st.none(), times),
    ego_agent=st.sampled_from(["r1", "r2"]),
    order=st.sampled_from([Order.SCORE, Order.SCORE, Order.SCORE, *Order]),
    limit=st.sampled_from([1, 4, 50]),
    with_events=st.booleans(),
)


def named(query: Query, ids: list[str]) -> Query:
    """With the ids of entries instead of their numbers."""
    constraints = tuple(
        replace(
            c,
            entry_ids=tuple(ids[int(i) % len(ids)] for i in c.entry_ids),
            other_entry_ids=tuple(ids[int(i) % len(ids)] for i in c.other_entry_ids),
        )
        for c in query.spatial
    )
    return replace(query, spatial=constraints)


# seen then by one robot, so described by another one only
DESCRIBED_BY_ANOTHER = Query(
    labels=("CHAIR", "book"),
    temporal=(TemporalConstraint(TemporalKind.SEEN_IN, 200 * S, 202 * S + 1),),
    agents=("r1", "r3"),
    ego_agent="r1",
    limit=50,
)


@given(query=queries, cells=st.sampled_from([1, 1_000_000]), many=st.sampled_from([0, 12, 1000]))
@example(query=DESCRIBED_BY_ANOTHER, cells=1, many=1000)
@settings(max_examples=100, deadline=None)
def test_narrowed_or_not_the_same_is_found(
    base: Library, make_robot: Any, thing: Any, query: Query, cells: int, many: int
) -> None:
    fill(base, make_robot, thing)
    query = named(query, [e.entry_id for e in base.entries()])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spatial_module, "_FEW_PLACES", 1000)
        whole = base.retrieve(query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "_FEW", 0)
        patch.setattr(gather, "_MANY", many)
        patch.setattr(gather, "_LEAST_RATED", 0)
        patch.setattr(gather, "_MOST_RATED", 2 * many)
        patch.setattr(gather, "_FIRST_PART", 2)
        patch.setattr(gather, "_PART_GROWTH", 2)
        patch.setattr(gather, "_GROWTH", 2)
        patch.setattr(gather, "_FEW_PLACES", 3)
        patch.setattr(moments, "_MOST_STEPS", 2)
        patch.setattr(spatial_module, "_FEW_PLACES", 0)
        patch.setattr(index_module, "_MOST_PLACES", 3)
        patch.setattr(index_module, "_MOST_CELLS", cells)
        found = base.retrieve(query)
        counted = base.retrieve(replace(query, with_counts=True))
    assert found.entries == whole.entries
    assert found.events == whole.events
    counts = ("after_semantic", "after_spatial", "after_temporal")
    for name in counts:
        assert getattr(found, name) in (-1, getattr(whole, name))
    if not whole.entries:
        assert (found.after_semantic == 0) == (whole.after_semantic == 0)
        assert not query.spatial or (found.after_spatial == 0) == (whole.after_spatial == 0)
    assert counted == whole


def rounded(evidence: Evidence) -> Evidence:
    """A product of one row rounds otherwise than one of many, in the last place."""
    return replace(evidence, score=round(evidence.score, 9), spatial_score=round(evidence.spatial_score, 9))


@given(query=queries, some=st.lists(st.integers(0, 60), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_a_thing_is_named_by_any_of_its_sources(
    base: Library, make_robot: Any, thing: Any, query: Query, some: list[int]
) -> None:
    """Who names all asks for what who names none does; who names one, for one thing of these."""
    fill(base, make_robot, thing)
    ids = [e.entry_id for e in base.entries()]
    query = replace(named(query, ids), limit=1000)
    every = base.retrieve(query).entries
    assert base.retrieve(replace(query, entry_ids=tuple(ids))).entries == every
    told = [rounded(e) for e in every]
    for i in some:
        found = base.retrieve(replace(query, entry_ids=(ids[i % len(ids)],))).entries
        assert len(found) <= 1 and all(rounded(e) in told for e in found)


@pytest.mark.parametrize("carried", [True, False])
def test_the_newest_of_a_thing_speaks_whoevers_words_it_was_found_by(
    make_memory: Any, make_robot: Any, thing: Any, carried: bool
) -> None:
    """One robot carries off what only another one described: the words of the one find it where the other saw it."""
    first, second = (make_robot(agent, map_id="home") for agent in ("r1", "r2"))
    here = thing("mug", (2.0, 0.0, 0.8))
    with make_memory(Words(), writer_silence_s=0.0) as library:
        library.set_regions([ROOM])
        library.ingest(first.frame(1, here.seen(description="red mug", attributes=(("color", "red"),))))
        for step in range(12):
            at = (2.0, min(4.5, 0.45 * step) if carried else 0.0, 0.8)
            library.ingest(second.frame(2 + 0.5 * step, here.at(*at).seen(track_id="7", description="a cup of tea")))
        for n in range(40):  # others, far off, that fit the words too
            library.ingest(second.frame(9 + n, thing("mug", (2.0, 30.0 + 2 * n, 0.8)).seen(description=f"red mug {n}")))
        old, new = library.entries()[:2]
        room = SpatialConstraint("in", Reference.REGION, region="room")
        asked = [
            Query(text="red mug", limit=1),
            Query(text="red mug", limit=2, states=(EntryState.PRESENT, EntryState.UNKNOWN)),
            Query(attributes=(("color", "red"),)),
            Query(text="red mug", limit=1, with_counts=True),
            Query(text="red mug", spatial=(room,)),
            Query(labels=("mug",), spatial=(room,)),
            Query(text="red mug", at_ns=60 * S, spatial=(room,)),
        ]
        for n, query in enumerate(asked):
            whole = library.retrieve(query).entries
            if n < 4:
                assert (whole[0].entry_id, whole[0].count) == (new.entry_id, old.count + new.count), n
            else:
                assert bool(whole) is not carried, n
            with pytest.MonkeyPatch.context() as patch:
                for name, value in {"_FEW": 0, "_LEAST_RATED": 0, "_FIRST_PART": 1, "_MANY": 1}.items():
                    patch.setattr(gather, name, value)
                assert library.retrieve(query).entries == whole, n
        for name in (old.entry_id, new.entry_id):
            [thing_] = library.retrieve(Query(entry_ids=(name,))).entries
            assert (thing_.entry_id, thing_.count) == (new.entry_id, old.count + new.count)
        [alone] = library.retrieve(Query(entry_ids=(old.entry_id,), agents=("r1",))).entries
        assert (alone.entry_id, alone.count) == (old.entry_id, old.count), "each source can be looked at"
