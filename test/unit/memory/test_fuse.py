from __future__ import annotations

from typing import Any

import pytest

from r4_ros.core.model import (
    EntryState,
    EventKind,
    Query,
    TemporalConstraint,
    TemporalKind,
    Visibility,
)

S = 1_000_000_000


@pytest.fixture
def pair(make_robot: Any) -> Any:
    return make_robot("r1", map_id="home"), make_robot("r2", map_id="home")


def test_what_two_agents_saw_counts_once_and_the_newer_place_wins(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(first.frame(1, mug, thing("lamp", (5, 0, 1))))
    memory.ingest(second.frame(60, mug.at(2.2, 0, 0.8)))
    found = memory.retrieve(Query(labels=("mug",)))
    (one,) = found.entries
    assert found.after_semantic == 1 and one.agent_id == "r2"
    assert one.box.pose.position[0] == pytest.approx(2.2)
    assert (one.first_seen, one.last_seen, one.count, len(one.sightings)) == (1 * S, 60 * S, 2, 2)
    assert len(memory.entries()) == 3, "nothing is merged in the store"
    only = memory.retrieve(Query(labels=("mug",), agents=("r1",))).entries
    assert [(e.agent_id, e.count) for e in only] == [("r1", 1)]
    ids = tuple(e.entry_id for e in memory.entries() if e.label == "mug")
    for some in (ids, ids[:1], ids[1:]):
        assert memory.retrieve(Query(entry_ids=some)).entries == found.entries, "any source names the thing"
    for entry_id, agent in zip(ids, ("r1", "r2"), strict=True):
        [alone] = memory.retrieve(Query(entry_ids=(entry_id,), agents=(agent,))).entries
        assert (alone.entry_id, alone.count) == (entry_id, 1), "each source can be looked at"


def test_who_knows_it_whole_speaks_for_who_saw_a_part(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(1, thing("bed", (3, 0, 0.5), (2.0, 1.6, 0.9))))
    memory.ingest(second.frame(60, thing("bed", (3.5, 0, 0.4), (0.9, 1.5, 0.5))))
    (one,) = memory.retrieve(Query(labels=("bed",))).entries
    assert one.agent_id == "r1" and one.box.extent == pytest.approx((2.0, 1.6, 0.9))
    assert one.last_seen == 60 * S and one.state == EntryState.PRESENT


def test_events_of_all_sources_are_told(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(first.frame(1, mug))
    memory.ingest(second.frame(5, mug))
    for robot, times in ((first, (20, 21, 22)), (second, (50, 51, 52))):
        mine = next(e for e in memory.entries() if e.agent_id == robot.agent_id)
        for t in times:
            memory.ingest(robot.absent(t, mine.entry_id))
    found = memory.retrieve(Query(labels=("mug",), with_events=True))
    (one,) = found.entries
    lost = [e for e in found.events if e.kind == EventKind.DISAPPEARED]
    assert {e.agent_id for e in lost} == {"r1", "r2"} and {e.entry_id for e in lost} == {one.entry_id}


def test_between_sightings_at_about_the_same_time_the_unoccluded_one_wins(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(first.frame(1, mug))
    memory.ingest(second.frame(20, mug.at(2.2, 0, 0.8).seen(visibility=Visibility.OCCLUDED)))
    assert memory.retrieve(Query()).entries[0].agent_id == "r1"
    memory.ingest(second.frame(40, mug.at(2.2, 0, 0.8).seen(visibility=Visibility.OCCLUDED)))
    assert memory.retrieve(Query()).entries[0].agent_id == "r2"


def test_newer_absence_wins_over_older_presence(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(second.frame(5, mug))
    memory.ingest(first.frame(1, mug))
    mine = next(e for e in memory.entries() if e.agent_id == "r1")
    for t in (50, 51, 52):
        memory.ingest(first.absent(t, mine.entry_id))
    (one,) = memory.retrieve(Query()).entries
    assert one.state == EntryState.GONE
    assert memory.retrieve(Query(states=(EntryState.PRESENT, EntryState.UNKNOWN))).entries == ()


def test_a_time_counts_if_any_source_saw_it(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(first.frame(1, mug))
    memory.ingest(second.frame(60, mug))
    early = TemporalConstraint(TemporalKind.SEEN_IN, 0, 10 * S)
    assert len(memory.retrieve(Query(temporal=(early,))).entries) == 1


def test_two_things_of_one_agent_never_become_one(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(1, thing("mug", (2, 0, 0.8)), thing("mug", (2, 0.2, 0.8))))
    memory.ingest(second.frame(2, thing("mug", (2, 0.15, 0.8)), thing("plate", (2, 0, 0.8))))
    found = memory.retrieve(Query(labels=("mug",)))
    assert len(found.entries) == 2
    assert sorted(e.count for e in found.entries) == [1, 2]
    assert len(memory.retrieve(Query()).entries) == 3


def test_other_maps_are_other_places(memory: Any, make_robot: Any, thing: Any) -> None:
    for agent in ("r1", "r2"):
        memory.ingest(make_robot(agent).frame(1, thing("mug", (2, 0, 0.8))))
    assert len(memory.retrieve(Query()).entries) == 2


def test_after_time_was_set_back_on_a_named_map_things_count_once(memory: Any, make_robot: Any, thing: Any) -> None:
    robot = make_robot(map_id="home")
    for session in (0, 1):
        robot.session = session
        for t in (10, 20):
            memory.ingest(robot.frame(t, thing("mug", (2, 0, 0.8))))
    assert len(memory.entries()) == 2
    assert len(memory.retrieve(Query()).entries) == 1


def places(memory: Any, **query: Any) -> list[tuple[str, float]]:
    found = memory.retrieve(Query(labels=("keys",), states=(EntryState.PRESENT, EntryState.UNKNOWN), **query))
    return [(e.agent_id, round(e.box.pose.position[1], 2)) for e in found.entries]


def test_what_one_saw_carried_isnt_still_where_the_other_saw_it(memory: Any, pair: Any, thing: Any) -> None:
    """The one follows it with its eyes (a track), so that its entry has two stays."""
    first, second = pair
    keys = thing("keys", (2, 0, 0.8)).seen(track_id="1", visibility=Visibility.OCCLUDED)
    memory.ingest(second.frame(5, keys.at(2, 0.05, 0.8).seen(track_id="", visibility=Visibility.VISIBLE)))
    for t, y in ((8, 0.0), (9, 0.0), (10, 1.5), (11, 1.5)):
        memory.ingest(first.frame(t, keys.at(2, y, 0.8)))
    assert len(memory.entries()) == 2
    assert places(memory) == [("r1", 1.5)]
    assert len(memory.retrieve(Query(labels=("keys",), at_ns=6 * S)).entries) == 1
    assert len(memory.retrieve(Query(labels=("keys",), at_ns=11 * S)).entries) == 1
    assert places(memory, agents=("r2",)) == [("r2", 0.05)], "alone it knows no better"
    memory.ingest(second.frame(30, thing("keys", (2, 0.05, 0.8))))
    assert sorted(places(memory)) == [("r1", 1.5), ("r2", 0.05)], "there are two after all"


def test_what_one_knows_to_have_moved_isnt_still_where_the_other_saw_it(memory: Any, pair: Any, thing: Any) -> None:
    """The one found it elsewhere and its old place empty: a new entry, linked with the gone one."""
    first, second = pair
    keys = thing("keys", (2, 0, 0.8))
    memory.ingest(first.frame(1, keys))
    old = memory.entries()[0]
    memory.ingest(second.frame(9, keys.at(2, 0.05, 0.8)))
    memory.ingest(first.frame(12, keys.at(2, 3, 0.8)))
    for t in (5, 6, 7):
        memory.ingest(first.absent(t + 10, old.entry_id))
    assert [e.moved_from for e in memory.entries()] == ["", "", old.entry_id]
    assert places(memory) == [("r1", 3.0)]
    for at_s in (10, 13, 20):
        assert len(memory.retrieve(Query(labels=("keys",), at_ns=at_s * S)).entries) == 1, at_s
    within = TemporalConstraint(TemporalKind.PRESENT_IN, 14 * S, 30 * S)
    assert len(memory.retrieve(Query(temporal=(within,))).entries) == 1


def test_another_one_at_the_place_that_a_look_alike_left_is_itself(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    keys = thing("keys", (2, 0, 0.8)).seen(track_id="1")
    for t, y in ((8, 0.0), (9, 0.0), (10, 1.5), (11, 1.5)):
        memory.ingest(first.frame(t, keys.at(2, y, 0.8)))
    memory.ingest(first.frame(12, keys.at(2, 1.5, 0.8), thing("keys", (2, 0, 0.8))))
    memory.ingest(second.frame(9, thing("keys", (2, 0.02, 0.8))))
    assert sorted(y for _, y in places(memory)) == [0.0, 1.5]
