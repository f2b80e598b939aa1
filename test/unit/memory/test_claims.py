"""Where robots that saw one thing disagree."""

from __future__ import annotations

from typing import Any

import pytest

from r4_ros.core.model import Query, Visibility

S = 1_000_000_000
HIDDEN = {"visibility": Visibility.OCCLUDED}


@pytest.fixture
def pair(make_robot: Any) -> Any:
    return make_robot("r1", map_id="home"), make_robot("r2", map_id="home")


def state(thing: Any, value: str, name: str = "state", **more: Any) -> Any:
    return thing("door", (2, 0, 1.0), (0.1, 0.9, 2.0)).seen(attributes=((name, value),), **more)


def said(memory: Any, about: str = "state", **more: Any) -> list[Any]:
    (one,) = memory.retrieve(Query(labels=("door",), **more)).entries
    return [(c.agent_id, c.value, c.stamp_ns // S, c.visibility.name, c.holds) for c in one.claims if c.about == about]


def test_of_states_the_newest_holds_and_the_other_is_told(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(second.frame(100, state(thing, "open", **HIDDEN)))
    memory.ingest(first.frame(160, state(thing, "closed")))
    assert said(memory) == [("r1", "closed", 160, "VISIBLE", True), ("r2", "open", 100, "OCCLUDED", False)]
    assert ("state", "closed") in memory.retrieve(Query()).entries[0].attributes
    assert said(memory, agents=("r2",)) == []


def test_at_about_the_same_time_the_unoccluded_one_holds(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(100, state(thing, "closed")))
    memory.ingest(second.frame(120, state(thing, "open", **HIDDEN)))
    assert [c[:2] for c in said(memory)] == [("r1", "closed"), ("r2", "open")]
    assert ("state", "closed") in memory.retrieve(Query()).entries[0].attributes


def test_what_changed_is_no_disagreement(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(second.frame(100, state(thing, "open")))
    for t in range(110, 114):
        memory.ingest(first.frame(t, state(thing, "open")))
    for t in range(120, 124):
        memory.ingest(first.frame(t, state(thing, "closed")))
    assert said(memory) == [], "the first one saw it open, too, before it saw it closed"


def test_what_was_seen_long_ago_is_no_disagreement(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(second.frame(100, state(thing, "open")))
    memory.ingest(first.frame(500, state(thing, "closed")))
    assert said(memory) == []


def test_of_what_lasts_the_clearest_holds_then_the_most_frequent(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    for t in range(100, 106):
        memory.ingest(second.frame(t, state(thing, "metal", "material", **HIDDEN)))
    memory.ingest(first.frame(5000, state(thing, "wood", "material")))
    memory.ingest(second.frame(5100, state(thing, "metal", "material", **HIDDEN)))
    found = said(memory, "material")
    assert [c[:2] for c in found] == [("r1", "wood"), ("r2", "metal")], "also long after"
    (one,) = memory.retrieve(Query()).entries
    assert one.agent_id == "r2" and dict(one.attributes)["material"] == "wood"


def test_what_only_one_knows_of_a_thing_is_known_of_it(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(100, state(thing, "wood", "material")))
    memory.ingest(second.frame(200, state(thing, "closed")))
    (one,) = memory.retrieve(Query()).entries
    assert dict(one.attributes)["material"] == "wood" and dict(one.attributes)["state"] == "closed"
    assert one.claims == ()


def test_one_found_it_gone_that_another_saw_there(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(100, thing("door", (2, 0, 1.0))))
    memory.ingest(second.frame(115, thing("door", (2, 0, 1.0)).seen(**HIDDEN)))
    mine = next(e.entry_id for e in memory.entries() if e.agent_id == "r1")
    for t in (120, 121, 122):
        memory.ingest(first.absent(t, mine))
    assert [c[:2] + c[3:] for c in said(memory, "presence")] == [
        ("r1", "gone", "ABSENT", True),
        ("r2", "there", "OCCLUDED", False),
    ]


def test_another_robots_thing_that_one_found_gone(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(100, thing("door", (2, 0, 1.0))))
    theirs = next(e.entry_id for e in memory.entries())
    for t in (120, 121, 122):
        memory.ingest(second.absent(t, theirs))
    assert [c[:2] for c in said(memory, "presence")] == [("r2", "gone"), ("r1", "there")]


def test_what_was_found_gone_a_minute_after_another_robot_saw_it_has_left(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(100, thing("door", (2, 0, 1.0))))
    theirs = next(e.entry_id for e in memory.entries())
    for t in (160, 161, 162):
        memory.ingest(second.absent(t, theirs))
    assert said(memory, "presence") == []


def test_places_apart_are_told(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    door = thing("door", (2, 0, 1.0)).seen(track_id="7")
    for t in (100, 101):
        memory.ingest(first.frame(t, door))
    memory.ingest(second.frame(102, thing("door", (2, 0, 1.0)).seen(**HIDDEN)))
    for t in range(103, 109):
        memory.ingest(first.frame(t, door.at(2, 2.0, 1.0)))
    assert [c[:2] for c in said(memory, "place")] == [("r1", "2.00 2.00 1.00"), ("r2", "2.00 0.00 1.00")]


def test_views_of_parts_are_no_disagreement(memory: Any, pair: Any, thing: Any) -> None:
    first, second = pair
    memory.ingest(first.frame(100, thing("door", (2, 0, 1.0), (0.1, 1.6, 2.0))))
    memory.ingest(second.frame(110, thing("door", (2, 0.6, 1.0), (0.1, 1.6, 2.0))))
    assert said(memory, "place") == []
