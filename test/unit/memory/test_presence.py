from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.model import (
    FOREVER,
    EntryState,
    EventKind,
    Presence,
    Query,
    TemporalConstraint,
    TemporalKind,
    Visibility,
)
from r4_ros.memory.presence import present_at, seen, state_at

S = 1_000_000_000


def kinds(library: Any) -> list[EventKind]:
    return [e.kind for e in library.events()]


def gone_mug(library: Any, robot: Any, thing: Any) -> str:
    """A mug seen at 0 and 1 s and found gone at 10, 10.5 and 11 s."""
    mug = thing("mug", (2, 0, 0.8))
    library.ingest(robot.frame(0, mug))
    library.ingest(robot.frame(1, mug))
    (entry,) = library.entries()
    for t in (10, 10.5, 11):
        library.ingest(robot.absent(t, entry.entry_id, entry.revision))
    return str(entry.entry_id)


def test_absence_in_enough_frames_over_enough_time_closes_presence_with_bounds(
    memory: Any, robot: Any, thing: Any
) -> None:
    gone_mug(memory, robot, thing)
    (entry,) = memory.entries()
    assert entry.state == EntryState.GONE
    assert entry.presence == (Presence(0, 0, S, 10 * S),)
    assert entry.last_seen == S and entry.stays[-1].interval.end == S + 1
    gone = memory.events()[-1]
    assert gone.kind == EventKind.DISAPPEARED and (gone.earliest_ns, gone.latest_ns) == (S, 10 * S)
    assert gone.place == pytest.approx(memory.placed()[0].box.pose.position)


def test_that_a_place_is_hidden_changes_nothing(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8))))
    (entry,) = memory.entries()
    empty = robot.absent(10, entry.entry_id, entry.revision)
    hidden = tuple(replace(o, visibility=Visibility.OCCLUDED) for o in empty.observations)
    for t in (10, 11, 12, 13):
        stamped = replace(empty, stamp_ns=t * S, sequence=t, observations=hidden)
        assert memory.ingest(stamped).stored == memory.ingest(stamped).stored == 0
    (after,) = memory.entries()
    assert (after.presence, after.sightings, after.visibility) == (entry.presence, entry.sightings, entry.visibility)
    assert kinds(memory) == [EventKind.APPEARED]


def test_too_few_frames_or_too_short_a_time_close_nothing(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(0, mug))
    (entry,) = memory.entries()
    for t in (10, 10.1, 10.2, 10.3, 10.4):
        memory.ingest(robot.absent(t, entry.entry_id))
    assert memory.entries()[0].presence[-1].end == FOREVER
    memory.ingest(robot.frame(10.5, mug))
    for t in (20, 21.5):
        memory.ingest(robot.absent(t, entry.entry_id))
    assert memory.entries()[0].presence[-1].end == FOREVER
    memory.ingest(robot.absent(22, entry.entry_id))
    assert memory.entries()[0].presence[-1].end == 20 * S


def test_a_sighting_in_between_starts_the_evidence_anew(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(0, mug))
    (entry,) = memory.entries()
    for t in (10, 11):
        memory.ingest(robot.absent(t, entry.entry_id))
    memory.ingest(robot.frame(12, mug))
    memory.ingest(robot.absent(13, entry.entry_id))
    assert memory.entries()[0].state == EntryState.PRESENT


def test_not_being_seen_closes_nothing(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("mug", (2, 0, 0.8))))
    for t in range(1, 20):
        memory.ingest(robot.frame(t))
    assert memory.entries()[0].presence[-1].end == FOREVER
    assert memory.placed()[0].state == EntryState.UNKNOWN


def test_absence_of_an_older_place_or_of_something_unknown_is_ignored(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8)).seen(track_id="1")
    memory.ingest(robot.frame(0, mug))
    old = memory.entries()[0]
    memory.ingest(robot.frame(1, mug.at(2, 2, 0.8)))
    for t in (2, 3, 4, 5):
        memory.ingest(robot.absent(t, old.entry_id, old.revision))
        memory.ingest(robot.absent(t + 0.1, "nobody"))
    (entry,) = memory.entries()
    assert entry.state == EntryState.PRESENT and len(entry.stays) == 2


def test_seen_and_absent_in_one_frame_counts_as_seen(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(0, mug))
    (entry,) = memory.entries()
    for t in (1, 2, 3, 4):
        memory.ingest(robot.absent(t, entry.entry_id, 0, mug))
    assert memory.entries()[0].state == EntryState.PRESENT


def test_a_later_sighting_reopens(memory: Any, robot: Any, thing: Any) -> None:
    entry_id = gone_mug(memory, robot, thing)
    memory.ingest(robot.frame(20, thing("mug", (2, 0.05, 0.8))))
    (entry,) = memory.entries()
    assert entry.entry_id == entry_id and entry.state == EntryState.PRESENT
    assert entry.presence[1] == Presence(11 * S, 20 * S, 20 * S), "found empty at 10 s, seen empty until 11 s"
    assert present_at(entry.presence, 15 * S) is None
    assert kinds(memory) == [EventKind.APPEARED, EventKind.DISAPPEARED, EventKind.REAPPEARED]
    assert len(entry.stays) == 2


def test_other_agents_dont_close_what_isnt_theirs(memory: Any, make_robot: Any, thing: Any) -> None:
    mine, other = make_robot("r1", map_id="home"), make_robot("r2", map_id="home")
    memory.ingest(mine.frame(0, thing("mug", (2, 0, 0.8))))
    (entry,) = memory.entries()
    for t in (10, 11, 12, 13):
        memory.ingest(other.absent(t, entry.entry_id))
    assert memory.entries()[0].state == EntryState.PRESENT


def test_gone_here_and_new_there_is_linked_as_moved(memory: Any, robot: Any, thing: Any) -> None:
    old_id = gone_mug(memory, robot, thing)
    robot.where = (0, 5, 0)
    memory.ingest(robot.frame(30, thing("mug", (2, 5, 0.8))))
    old, new = memory.entries()
    assert new.moved_from == old.entry_id == old_id and not new.maybe_same_as
    moved = [e for e in memory.events() if e.kind == EventKind.MOVED]
    assert len(moved) == 1 and moved[0].entry_id == new.entry_id
    assert moved[0].from_place is not None and abs(moved[0].from_place[1]) < 1e-6
    assert (moved[0].earliest_ns, moved[0].latest_ns) == (S, 30 * S)


def test_the_link_is_made_too_when_the_new_place_is_seen_first(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(0, mug))
    old = memory.entries()[0]
    memory.ingest(robot.frame(5, mug.at(2, 5, 0.8)))
    for t in (10, 11, 12):
        memory.ingest(robot.absent(t, old.entry_id))
    assert memory.entries()[1].moved_from == old.entry_id


def test_the_link_is_withdrawn_when_the_old_one_is_back(memory: Any, robot: Any, thing: Any) -> None:
    gone_mug(memory, robot, thing)
    memory.ingest(robot.frame(30, thing("mug", (2, 5, 0.8))))
    memory.ingest(robot.frame(40, thing("mug", (2, 0, 0.8))))
    assert memory.entries()[1].moved_from == ""


def test_with_a_look_alike_unaccounted_for_it_stays_open(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("mug", (2, -3, 0.8))))
    gone_mug_id = None
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(0.5, mug))
    gone_mug_id = memory.entries()[1].entry_id
    for t in (10, 10.5, 11):
        memory.ingest(robot.absent(t, gone_mug_id))
    memory.ingest(robot.frame(30, mug.at(2, 5, 0.8)))
    new = memory.entries()[2]
    assert new.moved_from == "" and new.maybe_same_as == (gone_mug_id,)


def test_another_colour_or_size_is_another_thing(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8)).seen(attributes=(("color", "red"),))
    memory.ingest(robot.frame(0, mug))
    (entry,) = memory.entries()
    for t in (10, 11, 12):
        memory.ingest(robot.absent(t, entry.entry_id))
    memory.ingest(robot.frame(30, mug.at(2, 5, 0.8).seen(attributes=(("color", "blue"),))))
    memory.ingest(robot.frame(31, thing("mug", (2, -5, 0.8), (0.4, 0.4, 0.4))))
    assert [e.moved_from for e in memory.entries()] == ["", "", ""]
    assert all(not e.maybe_same_as for e in memory.entries())


def test_an_appearance_says_since_when_the_place_was_known_to_be_empty(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(3))
    memory.ingest(robot.frame(9, thing("mug", (2, 0, 1.0))))
    memory.ingest(robot.frame(9.5, thing("vase", (-4, 0, 1.0))))
    mug, vase = memory.events()
    assert (mug.earliest_ns, mug.latest_ns) == (3 * S, 9 * S)
    assert vase.earliest_ns == 0, "nobody ever looked there"
    assert memory.entries()[0].presence[0].start_earliest == 3 * S


@given(
    st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=1, max_size=30),
)
@settings(max_examples=200, deadline=None)
def test_presence_never_overlaps_whatever_comes_late(steps: list[tuple[int, bool]]) -> None:
    presence: tuple[Presence, ...] = ()
    for stamp, close in steps:
        if close and presence and presence[-1].end == FOREVER and stamp > presence[-1].last_seen:
            last = presence[-1]
            presence = (*presence[:-1], Presence(last.start_earliest, last.start, last.last_seen, stamp))
        else:
            presence, _ = seen(presence, stamp)
            assert present_at(presence, stamp) is not None
    for p in presence:
        assert p.start_earliest <= p.start <= p.last_seen < p.end
    for a, b in itertools.pairwise(presence):
        assert a.end <= b.start_earliest or a.end <= b.start


def test_state_is_derived_at_the_asked_time() -> None:
    presence = (Presence(0, 10, 20, 50), Presence(50, 80, 90))
    assert state_at(presence, 20, 21, 1e-9 * 5) == EntryState.PRESENT
    assert state_at(presence, 20, 40, 1e-9 * 5) == EntryState.UNKNOWN
    assert state_at(presence, 20, 60, 1e-9 * 5) == EntryState.GONE
    assert state_at(presence, 90, 91, 1e-9 * 5) == EntryState.PRESENT


def test_the_link_waits_until_the_new_one_was_seen_well(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 0.8))
    memory.ingest(robot.frame(0, mug))
    old = memory.entries()[0]
    memory.ingest(robot.frame(5, thing("mug", (2, 5, 0.8), (0.4, 0.4, 0.4))))
    for t in (10, 11, 12):
        memory.ingest(robot.absent(t, old.entry_id))
    assert memory.entries()[1].moved_from == "", "it seemed to be larger"
    for t in range(20, 60):
        robot.where = (0, 5, 0) if t % 2 else (2, 3, 1.57)
        memory.ingest(robot.frame(t, mug.at(2, 5, 0.8)))
    assert memory.entries()[1].moved_from == old.entry_id


def test_what_was_seen_elsewhere_was_no_longer_at_its_old_place(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(1, thing("mug", (2, 0, 0.8))))
    (old,) = memory.entries()
    robot.where = (0, 5, 0)
    memory.ingest(robot.frame(10, thing("mug", (2, 5, 0.8))))
    robot.where = (0, 0, 0)
    for t in (20, 21, 22):
        memory.ingest(robot.absent(t, old.entry_id))
    assert memory.entries()[1].moved_from == old.entry_id
    for at_s, count in ((5, 1), (15, 1), (25, 1)):
        found = memory.retrieve(Query(labels=("mug",), at_ns=at_s * S)).entries
        assert len(found) == count, at_s
    then = TemporalConstraint(TemporalKind.PRESENT_IN, 12 * S, 30 * S)
    assert [e.entry_id for e in memory.retrieve(Query(temporal=(then,))).entries] == [memory.entries()[1].entry_id]
