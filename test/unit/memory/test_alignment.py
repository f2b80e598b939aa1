"""Maps that lie in others: what several robots saw in maps of their own, told in common coordinates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.alignments import Alignment
from r4_ros.core.errors import InvalidArgument, StoreError, UnknownEntry
from r4_ros.core.geometry import bounds, compose, inverse, normalized, quat_from_yaw
from r4_ros.core.model import (
    CorrectionKind,
    EntryCorrection,
    EntryState,
    Episode,
    EpisodeSource,
    EventKind,
    Frame,
    Interval,
    Order,
    Pose,
    Query,
    Reference,
    Retrieval,
    SpatialConstraint,
)
from r4_ros.memory.transfer import Importer, export_lines

S = 1_000_000_000
QUARTER = Pose((4.0, -2.0, 0.5), quat_from_yaw(math.pi / 2))


def elsewhere(frame: Frame, map_in_home: Pose, map_id: str = "lab") -> Frame:
    """The frame as a robot tells it whose map's origin is there at home."""
    back = inverse(map_in_home)
    odom = frame.sensor_in_odom
    return replace(frame, map_id=map_id, sensor_in_map=compose(back, frame.sensor_in_map), sensor_in_odom=odom)


def lies(pose: Pose, agent: str = "r2", map_id: str = "lab", frame: str = "") -> Alignment:
    return Alignment(agent, map_id, "home", pose, frame)


def at(library: Any, label: str, **more: Any) -> list[tuple[float, ...]]:
    found = library.retrieve(Query(labels=(label,), **more)).entries
    return [tuple(round(v, 3) for v in e.box.pose.position) for e in found]


@pytest.fixture
def pair(make_robot: Any) -> Any:
    return make_robot("r1", map_id="home"), make_robot("r2", map_id="home")


@pytest.fixture
def two(memory: Any, pair: Any, thing: Any) -> Any:
    """Both robots saw one mug; each something of its own. The second one's map is its own."""
    first, second = pair
    memory.ingest(first.frame(1, thing("mug", (2, 0, 0.8)), thing("lamp", (3, 1, 1))))
    seen = second.frame(60, thing("mug", (2.1, 0, 0.8)), thing("book", (2.1, 0.5, 0.8)))
    memory.ingest(elsewhere(seen, QUARTER))
    return memory


NEAR_MUG_M = SpatialConstraint("within", Reference.POSE, pose=Pose((2, 0, 0.8)), max_distance=1.0)


def test_what_isnt_aligned_is_found_by_meaning_and_time_but_not_by_place(two: Any) -> None:
    found = two.retrieve(Query(labels=("mug",), ego_agent="r1"))
    assert sorted((e.agent_id, e.map_id) for e in found.entries) == [("r1", "home"), ("r2", "lab")]
    assert found.ego is not None and found.ego.map_id == "home"
    lamp = next(e.entry_id for e in two.retrieve(Query(labels=("lamp",))).entries)
    by_lamp = SpatialConstraint("near", Reference.ENTRIES, entry_ids=(lamp,), max_distance=5.0)
    assert two.retrieve(Query(labels=("book",), spatial=(by_lamp,))).entries == ()


def test_relations_within_a_map_that_isnt_aligned_hold(two: Any) -> None:
    mug = next(e.entry_id for e in two.retrieve(Query(labels=("mug",), agents=("r2",))).entries)
    by_mug = SpatialConstraint("near", Reference.ENTRIES, entry_ids=(mug,))
    assert [e.label for e in two.retrieve(Query(spatial=(by_mug,))).entries] == ["book"]


def test_what_coincides_once_maps_are_aligned_is_one_thing_and_apart_when_that_is_taken_back(two: Any) -> None:
    before = two.retrieve(Query(), deadline_s=60)
    entries = two.entries()
    said = two.align(lies(QUARTER, frame="site"), 70 * S, "Ann")
    assert said is not None and said.number == 1 and two.align(lies(QUARTER, frame="site"), 71 * S) is None
    found = two.retrieve(Query(labels=("mug",), ego_agent="r2"))
    (mug,) = found.entries
    assert (mug.agent_id, mug.map_id, mug.frame, mug.count) == ("r2", "home", "site", 2)
    assert mug.box.pose.position == pytest.approx((2.1, 0, 0.8), abs=1e-4)
    assert found.ego is not None and (found.ego.map_id, found.ego_frame) == ("home", "site")
    assert found.ego.pose.position == pytest.approx((0, 0, 1.0), abs=0.05)
    assert two.entries() == entries, "nothing stored is rewritten"
    two.take_back_alignment("r2", "lab", 80 * S, "Bob")
    after = two.retrieve(Query(), deadline_s=60)
    assert (after.entries, after.events) == (before.entries, before.events)
    with pytest.raises(UnknownEntry, match="isn't aligned"):
        two.take_back_alignment("r2", "lab", 81 * S)
    assert [(r.number, r.alignment is None, r.undone_by, r.source) for r in two.alignments()] == [
        (1, False, 2, "Ann"),
        (2, True, 0, "Bob"),
    ]


def test_spatial_constraints_reach_into_aligned_maps(two: Any) -> None:
    place = SpatialConstraint("within", Reference.POINT, pose=Pose((2.1, 0.5, 0.8)), max_distance=0.3)
    nearest = Query(labels=("book",), spatial=(place,), order=Order.NEAREST)
    assert two.retrieve(nearest).entries == ()
    two.align(lies(QUARTER), 70 * S)
    assert [e.label for e in two.retrieve(nearest).entries] == ["book"]


def test_a_later_word_replaces_an_earlier_one_and_taking_it_back_brings_that_back(two: Any) -> None:
    two.align(lies(QUARTER), 70 * S)
    two.align(lies(Pose((100, 0, 0))), 71 * S)
    far = two.retrieve(Query(labels=("book",))).entries[0].box.pose.position
    two.take_back_alignment("r2", "lab", 72 * S)
    assert far[0] > 90 and at(two, "book") == [(2.1, 0.5, 0.8)]


def test_the_same_after_a_restart(two: Any, open_memory: Any) -> None:
    tilted = Pose((1, 2, 3), normalized((0.1, -0.2, 0.3, 0.9)))
    two.align(lies(tilted), 70 * S)
    two.align(lies(Pose((9, 9, 9)), agent="r3", map_id="later"), 71 * S)
    expected = (two.placed(), two.retrieve(Query(with_events=True)), two.trail("r2"), two.alignments(), two.revision)
    two.close()
    again = open_memory()
    found = (again.placed(), again.retrieve(Query(with_events=True)), again.trail("r2"))
    assert (*found, again.alignments(), again.revision) == expected


def test_an_empty_memory_may_be_told_what_will_come(memory: Any, pair: Any, thing: Any) -> None:
    memory.align(lies(QUARTER), 1 * S)
    memory.ingest(elsewhere(pair[1].frame(2, thing("mug", (2, 0, 0.8))), QUARTER))
    assert at(memory, "mug") == [(2, 0, 0.8)]


def test_where_nothing_can_be_stored_nothing_changes(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (two.placed(), two.revision)

    def fail(*_: object) -> None:
        raise StoreError("disk full")

    monkeypatch.setattr(two._store, "write_alignment", fail)
    with pytest.raises(StoreError):
        two.align(lies(QUARTER), 70 * S)
    assert (two.placed(), two.revision) == before and two.alignments() == []
    monkeypatch.undo()
    two.align(lies(QUARTER), 70 * S)
    assert len(two.alignments()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lies(Pose((math.nan, 0, 0))),
        lies(Pose((0, 0, 0), (0, 0, 0, 0))),
        lies(Pose(), agent=""),
        Alignment("r2", "lab", "", Pose()),
    ],
)
def test_what_cant_be_is_refused(two: Any, wrong: Alignment) -> None:
    with pytest.raises(InvalidArgument):
        two.align(wrong, 70 * S)
    assert two.alignments() == []


def test_which_map_is_meant(two: Any) -> None:
    assert two.common_map("r2", "lab") == "home" and two.common_map("r2", "lab", "site") == "site"
    with pytest.raises(UnknownEntry, match="'r2': 'lab'"):
        two.common_map("r2", "attic")


def test_a_configuration_counts_when_it_changes(two: Any) -> None:
    two.configure(lies(QUARTER), 70 * S)
    two.align(lies(Pose((1, 0, 0))), 71 * S, "Ann")
    assert two.configure(lies(QUARTER), 72 * S) is None, "what Ann said since then holds"
    assert two.configure(lies(Pose((2, 0, 0))), 73 * S) is not None
    assert [r.source for r in two.alignments()] == ["configuration", "Ann", "configuration"]


def test_frames_that_come_afterwards_are_the_same_things(two: Any, pair: Any, thing: Any) -> None:
    _, second = pair
    two.align(lies(QUARTER), 61 * S)
    ids = {e.entry_id for e in two.entries()}
    for t in range(62, 66):
        two.ingest(elsewhere(second.frame(t, thing("mug", (2.1, 0, 0.8)), thing("book", (2.1, 0.5, 0.8))), QUARTER))
    assert {e.entry_id for e in two.entries()} == ids
    assert at(two, "mug") == [(2.1, 0, 0.8)] and at(two, "book") == [(2.1, 0.5, 0.8)]


def test_a_loop_closure_in_an_aligned_map_moves_what_is_told_by_it(memory: Any, pair: Any, thing: Any) -> None:
    _, second = pair
    second.drift = Pose()
    for t in range(1, 8):
        memory.ingest(elsewhere(second.frame(t, thing("mug", (2, 0, 0.8))), QUARTER))
    memory.align(lies(QUARTER), 9 * S)
    base = compose(inverse(QUARTER), Pose((0, 0, 1)))
    shifted = [compose(Pose((0, 1, 0)), base)] * 2
    memory.correct_anchors("r2", [1 * S, 7 * S], shifted)
    assert at(memory, "mug") == [pytest.approx((1.0, 0, 0.8), abs=0.01)], "a metre along the lab's y is one along -x"
    memory.take_back_alignment("r2", "lab", 10 * S)
    memory.align(lies(QUARTER), 11 * S)
    assert at(memory, "mug") == [pytest.approx((1.0, 0, 0.8), abs=0.01)]


def test_a_robots_perception_is_told_in_its_own_map(two: Any) -> None:
    own = {e.label: e for e in two.entries_near("r2", 50)}
    assert set(own) == {"mug", "book"}
    two.align(lies(QUARTER), 70 * S)
    told = two.entries_near("r2", 50)
    assert {e.map_id for e in told} == {"lab"} and sorted(e.label for e in told) == ["book", "lamp", "mug", "mug"]
    book = next(e for e in told if e.label == "book")
    assert book.box.pose.position == pytest.approx(own["book"].box.pose.position, abs=1e-6)
    lamp = next(e for e in told if e.label == "lamp")
    assert compose(QUARTER, lamp.box.pose).position == pytest.approx((3, 1, 1), abs=1e-4)


def test_what_another_robot_finds_gone_is_gone_once_maps_are_aligned(two: Any, pair: Any) -> None:
    _, second = pair
    lamp = next(e.entry_id for e in two.entries() if e.label == "lamp")
    two.ingest(elsewhere(second.absent(61, lamp), QUARTER))
    two.align(lies(QUARTER), 62 * S)
    assert two.retrieve(Query(labels=("lamp",))).entries[0].state is not EntryState.GONE
    for t in (63, 64, 65):
        two.ingest(elsewhere(second.absent(t, lamp), QUARTER))
    assert two.retrieve(Query(labels=("lamp",))).entries[0].state is EntryState.GONE
    (gone,) = [e for e in two.events() if e.agent_id == "r2" and e.kind is EventKind.DISAPPEARED]
    assert gone.map_id == "home" and gone.place == pytest.approx((3, 1, 1), abs=1e-4)


def test_episodes_places_and_what_was_looked_at_move_along(two: Any, pair: Any) -> None:
    said = Episode("", "r2", "it fell", Interval(60 * S, 61 * S), EpisodeSource.CAPTION)
    here = replace(said, text="free", agent_id="r9", map_id="attic", place=(1.0, 0.0, 0.0))
    two.add_episode(said)
    two.add_episode(here)
    two.align(lies(QUARTER), 70 * S)
    two.align(lies(QUARTER, "r9", "attic"), 70 * S)
    told = {e.text: e for e in two.retrieve(Query(with_episodes=True)).episodes}
    assert told["it fell"].place == pytest.approx((0, 0, 1.0), abs=0.05) and told["it fell"].map_id == "home"
    assert told["free"].place == pytest.approx((4, -1, 0.5)) and told["free"].map_id == "home"
    box = SpatialConstraint("in", Reference.BOX, pose=Pose((3, 0, 0.8)), extent=(0.4, 0.4, 0.4))
    assert two.retrieve(Query(spatial=(box,), agents=("r2",))).coverage > 0.9


def test_a_pin_is_where_it_was_said_to_be_in_the_coordinates_of_answers(two: Any) -> None:
    two.align(lies(QUARTER), 70 * S)
    book = next(e.entry_id for e in two.entries() if e.label == "book")
    two.correct(EntryCorrection(CorrectionKind.PIN, book, position=(5.0, 5.0, 1.0)), 71 * S)
    assert at(two, "book") == [(5.0, 5.0, 1.0)]


def test_an_export_tells_it_all(two: Any, open_memory: Any) -> None:
    two.align(lies(Pose((1, 1, 1))), 65 * S, "Ann")
    two.take_back_alignment("r2", "lab", 66 * S, "Bob")
    two.align(lies(QUARTER), 70 * S, "Ann")
    book = next(e.entry_id for e in two.entries() if e.label == "book")
    two.correct(EntryCorrection(CorrectionKind.PIN, book, position=(5.0, 5.0, 1.0)), 71 * S)
    two.align(lies(Pose((1, 0, 0))), 75 * S, "Ann")
    copy = open_memory("copy.db", writer_silence_s=0.0)
    done = Importer(copy).read(export_lines(two._store), strict=True)
    assert done.alignments == 4 and copy.alignments() == two.alignments()
    ours, theirs = ({p.entry_id: p.box.pose.position for p in m.placed()} for m in (two, copy))
    assert ours.keys() == theirs.keys()
    assert all(ours[i] == pytest.approx(theirs[i], abs=1e-4) for i in ours)


def test_maps_of_one_robot_that_are_aligned_hold_one_thing(memory: Any, make_robot: Any, thing: Any) -> None:
    robot = make_robot("r1", map_id="home")
    memory.ingest(robot.frame(1, thing("mug", (2, 0, 0.8))))
    robot.where = (0.0, 0.0, 0.0)
    memory.ingest(elsewhere(robot.frame(2, thing("mug", (2, 0, 0.8))), QUARTER))
    assert len(memory.retrieve(Query(labels=("mug",))).entries) == 2
    memory.align(lies(QUARTER, agent="r1"), 3 * S)
    assert len(memory.retrieve(Query(labels=("mug",))).entries) == 1 and len(memory.entries()) == 2


def test_robots_on_one_map_id_share_it_unless_one_is_aligned_otherwise(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(1, thing("mug", (2, 0, 0.8))))
    memory.ingest(second.frame(2, thing("mug", (2, 0, 0.8))))
    assert len(memory.retrieve(Query(labels=("mug",))).entries) == 1, "one map id: one map"
    memory.align(Alignment("r2", "home", "home", Pose((10, 0, 0))), 3 * S)
    assert at(memory, "mug", order=Order.FIRST_SEEN) == [(2, 0, 0.8), (12, 0, 0.8)]


NUMBERS = st.floats(-20, 20, allow_nan=False, width=32)
TURNS = st.tuples(*[st.floats(-1, 1, width=32)] * 4).filter(lambda q: math.hypot(*q) > 0.1).map(normalized)
POSES = st.builds(Pose, st.tuples(NUMBERS, NUMBERS, NUMBERS), TURNS)
PLACES = st.tuples(st.integers(4, 14), st.integers(-6, 6)).map(lambda p: (p[0] / 2.5, p[1] / 2.5, 0.8))
SEEN = st.lists(st.tuples(st.sampled_from(["mug", "book", "lamp"]), PLACES), max_size=4, unique_by=lambda t: t[1])


def told(found: Retrieval) -> list[Any]:
    """All but places, and since when a thing may have been there: others' looks count for that if aligned."""
    return [
        (e.entry_id, e.agent_id, e.label, e.map_id, e.count, e.sightings, e.state, e.visibility)
        + (() if e.present is None else (e.present.start, e.present.last_seen, e.present.end))
        for e in found.entries
    ]


@settings(max_examples=25, deadline=None)
@given(POSES, POSES, SEEN, SEEN, SEEN)
def test_aligning_equals_a_memory_built_in_the_common_map(
    make_memory: Any, make_robot: Any, thing: Any, pose: Pose, wrong: Pose, first: Any, second: Any, third: Any
) -> None:
    built, aligned = make_memory(), make_memory()
    try:
        robots = make_robot("r1", map_id="home"), make_robot("r2", map_id="home")
        things = [[thing(label, place) for label, place in seen] for seen in (first, second, third)]
        frames = [robots[0].frame(1, *things[0]), robots[1].frame(40, *things[1]), robots[1].frame(80, *things[2])]
        aligned.align(lies(wrong), 0)
        for n, frame in enumerate(frames):
            built.ingest(frame)
            if n == 2:
                aligned.align(lies(pose), 60 * S)  # some comes before it, some after
            aligned.ingest(frame if n == 0 else elsewhere(frame, pose))
        expected, found = built.retrieve(Query(limit=50)), aligned.retrieve(Query(limit=50))
        assert told(found) == told(expected)
        ours, theirs = (
            np.array([e.box.pose.position for e in r.entries] or np.zeros((0, 3))) for r in (found, expected)
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
        trails = [[p.pose.position for p in m.trail("r2")] for m in (built, aligned)]
        np.testing.assert_allclose(*trails, atol=1e-5)
    finally:
        built.close()
        aligned.close()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 3), st.tuples(NUMBERS, NUMBERS, NUMBERS), SEEN)
def test_boxes_of_a_map_turned_by_quarters_are_the_same(
    make_memory: Any, make_robot: Any, thing: Any, quarters: int, position: Any, seen: Any
) -> None:
    pose = Pose(position, quat_from_yaw(quarters * math.pi / 2))
    built, aligned = make_memory(), make_memory()
    try:
        robot = make_robot("r2", map_id="home")
        for t in (1, 2, 3):
            frame = robot.frame(t, *(thing(label, place, (0.1, 0.3, 0.5)) for label, place in seen))
            built.ingest(frame)
            aligned.ingest(elsewhere(frame, pose))
        aligned.align(lies(pose), 4 * S)
        ours, theirs = (
            {e.entry_id: np.array(bounds(e.box)) for e in m.retrieve(Query(limit=50)).entries} for m in (aligned, built)
        )
        assert ours.keys() == theirs.keys()
        for entry_id, box in ours.items():
            np.testing.assert_allclose(box, theirs[entry_id], atol=2e-3)
    finally:
        built.close()
        aligned.close()
