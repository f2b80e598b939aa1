"""After a loop closure, what proves to be one thing is one entry, and nothing of it is lost."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from loops import SECONDS, Loop, shelf

from r4_ros.core.geometry import compose
from r4_ros.core.model import FOREVER, EntryState, EventKind, Frame, Pose, Query
from r4_ros.memory.library import Library
from r4_ros.memory.sql_merges import MERGED

S = 1_000_000_000


def drive(library: Library, loop: Loop, seconds: float = SECONDS) -> Loop:
    for frame in loop.frames(seconds):
        library.ingest(frame)
    return loop


def sound(library: Library) -> None:
    """What must hold of every entry."""
    for entry in library.entries():
        for parts in (entry.sightings, entry.presence, [s.interval for s in entry.stays]):
            assert all(a.start < a.end for a in parts)
            assert all(a.end <= b.start for a, b in itertools.pairwise(parts))
        assert entry.presence[-1].last_seen == entry.last_seen
    assert library._store.problems() == []


def test_what_was_seen_twice_because_of_drift_is_one_again(memory: Any, robot: Any, thing: Any) -> None:
    loop = drive(memory, Loop(robot, shelf(thing)))
    before = memory.entries()
    first, second = (e for e in before if e.label == "thing0")
    assert len(before) == 13

    correction = memory.correct_anchors("r1", *loop.correction())

    after = memory.entries()
    assert len(after) == 12 and correction.removed == (second.entry_id,)
    assert [e.entry_id for e in correction.changed] == [first.entry_id]
    [merged] = [e for e in after if e.label == "thing0"]
    assert merged.entry_id == first.entry_id and merged.count == first.count + second.count
    assert (merged.first_seen, merged.last_seen) == (first.first_seen, second.last_seen)
    assert merged.sightings == (*first.sightings, *second.sightings)
    assert len(merged.presence) == 1 and merged.presence[0].end == FOREVER
    for entry in memory.placed():
        [true] = [t.centre for t in loop.things if t.label == entry.label]
        assert math.dist(entry.box.pose.position, true) < 0.05
    assert [e.kind for e in memory.events() if e.label == "thing0"] == [EventKind.APPEARED]
    assert sum(e.count for e in after) == sum(e.count for e in before)
    sound(memory)


def test_a_merge_is_recorded_with_what_was_before_and_survives_a_restart(
    open_memory: Any, robot: Any, thing: Any
) -> None:
    library = open_memory()
    loop = drive(library, Loop(robot, shelf(thing)))
    before = {e.entry_id: e for e in library.entries()}
    removed = library.correct_anchors("r1", *loop.correction()).removed
    [record] = library.merges()
    assert record.kept_before.entry == before[record.kept_id] and (record.merged_id,) == removed
    assert record.reason == "correction" and record.revision == library.revision
    by_old_id = Query(entry_ids=removed)
    known = (library.entries(), library.placed(), library.events(), library.retrieve(by_old_id))
    assert [e.entry_id for e in known[3].entries] == [record.kept_id]
    library.close()
    library = open_memory()
    assert (library.entries(), library.placed(), library.events(), library.retrieve(by_old_id)) == known
    assert library.correct_anchors("r1", *loop.correction()).anchors == 0
    after = robot.frame(60, thing("thing0", (6, 0, 0.8)), thing("new", (6, 1, 0.8)))
    library.ingest(after)
    assert len(library.entries()) == 13 and len({e.entry_id for e in library.entries()}) == 13
    sound(library)


def shifted(frame: Frame, shift: Pose) -> Frame:
    """The frame as a robot with a wrong pose sends it."""
    wrong = compose(shift, frame.sensor_in_map)
    return replace(frame, sensor_in_map=wrong, sensor_in_odom=wrong)


SHIFT = Pose((0.0, 1.0, 0.0))


def correct(library: Library, frames: list[Frame]) -> Any:
    """The shifted frames' poses are put right."""
    true = [compose(f.sensor_in_map, f.base_in_sensor) for f in frames]
    return library.correct_anchors("r1", [f.stamp_ns for f in frames], true)


def gone_at_a_wrong_place(memory: Library, robot: Any, thing: Any) -> list[Frame]:
    """A cup, then the robot is a metre off: another cup, while the first one's place is found empty."""
    cup = thing("cup", (3, 0, 0.8))
    straight = [robot.frame(10 + i, cup) for i in range(3)]
    drifted = [robot.frame(30 + i, cup) for i in range(8)]
    for frame in straight:
        memory.ingest(shifted(frame, Pose()))
    [first] = memory.entries()
    for frame in drifted[:4]:
        memory.ingest(shifted(frame, SHIFT))
    for i in range(4):
        memory.ingest(shifted(robot.absent(34.2 + i, first.entry_id, 0, cup), SHIFT))
    assert [e.state for e in memory.entries()] == [EntryState.GONE, EntryState.PRESENT]
    assert EventKind.MOVED in {e.kind for e in memory.events()}
    return straight + drifted


def test_a_thing_taken_for_gone_at_a_wrong_place_was_never_gone(memory: Any, robot: Any, thing: Any) -> None:
    robot.depth = 3.0
    frames = gone_at_a_wrong_place(memory, robot, thing)
    first = memory.entries()[0]
    correct(memory, frames)
    [entry] = memory.entries()
    assert entry.entry_id == first.entry_id and entry.state == EntryState.PRESENT and len(entry.presence) == 1
    assert (entry.moved_from, entry.maybe_same_as, len(entry.stays)) == ("", (), 1)
    assert [e.kind for e in memory.events()] == [EventKind.APPEARED]
    sound(memory)


def test_a_thing_whose_true_place_was_seen_empty_was_gone(memory: Any, robot: Any, thing: Any) -> None:
    robot.depth = 8.0
    cup = thing("cup", (3, 0, 0.8))
    frames = [robot.frame(10 + i, cup) for i in range(3)]
    for frame in frames:
        memory.ingest(shifted(frame, Pose()))
    [first] = memory.entries()
    drifted = [robot.absent(30 + i, first.entry_id) for i in range(4)] + [robot.frame(40 + i, cup) for i in range(3)]
    for frame in drifted:
        memory.ingest(shifted(frame, SHIFT))
    correct(memory, frames + drifted)
    [entry] = memory.entries()
    assert [p.start // S for p in entry.presence] == [10, 40] and entry.presence[0].end == 30 * S
    assert [e.kind for e in memory.events()] == [EventKind.APPEARED, EventKind.DISAPPEARED, EventKind.REAPPEARED]
    sound(memory)


@pytest.mark.parametrize("others", [{"label": "plate"}, {"attributes": (("color", "red"),)}])
def test_other_things_at_one_place_stay_two(memory: Any, robot: Any, thing: Any, others: dict[str, Any]) -> None:
    cup = thing("cup", (3, 0, 0.8)).seen(attributes=(("color", "blue"),))
    other = thing(others.pop("label", "cup"), (3, 0, 0.8)).seen(**{"attributes": (("color", "blue"),), **others})
    straight = [robot.frame(10 + i, cup) for i in range(3)]
    drifted = [robot.frame(30 + i, other) for i in range(3)]
    for frame in straight:
        memory.ingest(shifted(frame, Pose()))
    for frame in drifted:
        memory.ingest(shifted(frame, SHIFT))
    assert correct(memory, straight + drifted).removed == () and len(memory.entries()) == 2


@pytest.mark.parametrize("together", [True, False])
def test_things_that_one_frame_saw_stay_two(memory: Any, robot: Any, thing: Any, together: bool) -> None:
    left, right = thing("cup", (3, 0, 0.8)), thing("cup", (3, 0.4, 0.8))
    frames = [robot.frame(10, left)]
    robot.where = (0.6, 0.0, 0.0)  # on an anchor of its own
    frames += [robot.frame(12, *([left] if together else []), right)]  # too late for the left one to have walked there
    for frame in frames:
        memory.ingest(shifted(frame, Pose()))
    nearer = Pose((0.0, -0.2, 0.0))
    poses = [compose(f.sensor_in_map, f.base_in_sensor) for f in frames]
    correction = memory.correct_anchors("r1", [f.stamp_ns for f in frames], [poses[0], compose(nearer, poses[1])])
    assert correction.anchors == 1 and len(correction.removed) == (not together)


def test_several_rounds_become_one_entry(memory: Any, robot: Any, thing: Any) -> None:
    cup = thing("cup", (3, 0, 0.8))
    frames = [robot.frame(30 * i + k, cup) for i in range(4) for k in range(3)]
    for n, frame in enumerate(frames):
        memory.ingest(shifted(frame, Pose((0.0, 1.2 * (n // 3), 0.0))))
    ids = [e.entry_id for e in memory.entries()]
    assert len(ids) == 4
    correction = correct(memory, frames)
    [entry] = memory.entries()
    assert entry.entry_id == ids[0] and set(correction.removed) == set(ids[1:]) and entry.count == 12
    assert [e.entry_id for e in correction.changed] == ids[:1] and len(memory.merges()) == 3
    found = memory.retrieve(Query(entry_ids=tuple(ids)))
    assert [e.entry_id for e in found.entries] == ids[:1]
    sound(memory)


@pytest.mark.parametrize("seen_again", [False, True])
def test_a_thing_that_was_moved_since_is_still_the_one_it_was(
    memory: Any, robot: Any, thing: Any, seen_again: bool
) -> None:
    cup = thing("cup", (3, 0, 0.8)).seen(track_id="4")
    straight = [robot.frame(10 + i, thing("cup", (3, 0, 0.8))) for i in range(3)]
    drifted = [robot.frame(30 + i, cup) for i in range(3)]
    carried = [robot.frame(33 + i, cup.at(3, 0.7 * (i + 1), 0.8)) for i in range(3)]
    again = [robot.frame(40, thing("cup", (3, 0, 0.8)))] if seen_again else []
    for frame in straight:
        memory.ingest(shifted(frame, Pose()))
    for frame in drifted + carried:
        memory.ingest(shifted(frame, SHIFT))
    for frame in again:
        memory.ingest(shifted(frame, Pose()))
    first, second = memory.entries()
    assert len(second.stays) > 1
    correction = correct(memory, straight + drifted + carried + again)
    assert correction.removed == (second.entry_id,)
    entry, *others = memory.entries()
    if seen_again:  # by then the first one had been carried off
        assert [(e.first_seen, e.count) for e in others] == [(40 * S, 1)]
    assert len(others) == len(again)
    assert entry.entry_id == first.entry_id and entry.count == 9
    assert [s.box for s in entry.stays[1:]] == [s.box for s in second.stays[1:]]
    assert memory.placed()[0].box.pose.position == pytest.approx((3, 2.1, 0.8), abs=0.2)
    kinds = [e.kind for e in memory.events()]
    assert kinds.count(EventKind.APPEARED) == 1 + len(again) and EventKind.MOVED in kinds
    sound(memory)


def test_a_thing_that_went_and_came_back_is_still_the_one_it_was(memory: Any, robot: Any, thing: Any) -> None:
    robot.depth = 8.0
    cup = thing("cup", (3, 0, 0.8))
    straight = [robot.frame(10 + i, cup) for i in range(3)]
    for frame in straight:
        memory.ingest(shifted(frame, Pose()))
    drifted = [robot.frame(30 + i, cup) for i in range(3)]
    for frame in drifted:
        memory.ingest(shifted(frame, SHIFT))
    second = memory.entries()[1]
    drifted += [robot.absent(34 + i, second.entry_id) for i in range(4)] + [robot.frame(50 + i, cup) for i in range(3)]
    for frame in drifted[3:]:
        memory.ingest(shifted(frame, SHIFT))
    assert len(memory.entries()[1].presence) == 2
    assert correct(memory, straight + drifted).removed == (second.entry_id,)
    [entry] = memory.entries()
    assert [p.last_seen // S for p in entry.presence] == [32, 52] and entry.presence[0].end == 34 * S
    assert [e.kind for e in memory.events()] == [EventKind.APPEARED, EventKind.DISAPPEARED, EventKind.REAPPEARED]
    sound(memory)


def test_what_is_merged_is_found_without_going_through_all_entries(memory: Any) -> None:
    """It is asked for with each merge that is taken apart."""
    [(*_, how)] = memory._store._file.execute(f"EXPLAIN QUERY PLAN {MERGED}")
    assert "USING INDEX entry_merged" in how
