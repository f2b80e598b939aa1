"""What people said of entries stands when a loop closure moves anchors and merges what proves to be one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from loops import SECONDS, Loop, shelf

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import compose
from r4_ros.core.model import CorrectionKind as K
from r4_ros.core.model import EntryCorrection, Pose, Query
from r4_ros.memory.library import Library
from r4_ros.memory.transfer import Importer, export_lines

NOW = 77_000_000_000


def said(library: Library, kind: K, entry_id: str = "", **more: Any) -> Any:
    return library.correct(EntryCorrection(kind, entry_id, source="anna", **more), NOW)


def drive(library: Library, robot: Any, thing: Any) -> tuple[Loop, list[str]]:
    """Around the loop; gives it and the ids of the two entries that are one thing."""
    loop = Loop(robot, shelf(thing))
    for frame in loop.frames(SECONDS):
        library.ingest(frame)
    return loop, [e.entry_id for e in library.entries() if e.label == "thing0"]


def shown(library: Library) -> Any:
    return library.entries(), library.placed(), library.events(), library.retrieve(Query(limit=99)).entries


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("kind", [K.FORGET, K.PIN, K.RENAME])
def test_an_entry_that_a_person_spoke_of_is_not_merged(
    open_memory: Any, robot: Any, thing: Any, kind: K, which: int
) -> None:
    library = open_memory()
    loop, ids = drive(library, robot, thing)
    said(library, kind, ids[which], label="thing0" if kind is K.RENAME else "")
    before = [e.entry_id for e in library.entries()]
    correction = library.correct_anchors("r1", *loop.correction())
    assert correction.anchors and not correction.removed and not library.merges()
    assert [e.entry_id for e in library.entries()] == before
    found = [e.entry_id for e in library.retrieve(Query(labels=("thing0",), limit=99)).entries]
    assert (ids[which] in found) == (kind is not K.FORGET) and ids[1 - which] in found
    known = shown(library)
    library.close()
    library = open_memory()
    assert shown(library) == known
    said(library, K.UNDO)
    assert sorted(e.entry_id for e in library.entries()) == sorted({*before, *ids})


def test_what_a_person_merged_stays_merged_and_can_be_taken_back(memory: Any, robot: Any, thing: Any) -> None:
    loop, ids = drive(memory, robot, thing)
    said(memory, K.MERGE, ids[0], other_id=ids[1])
    assert memory.correct_anchors("r1", *loop.correction()).anchors and not memory.merges()
    assert ids[1] not in [e.entry_id for e in memory.entries()] and len(memory.entries()) == 12
    assert ids[1] not in [e.entry_id for e in memory.retrieve(Query(limit=99)).entries]
    said(memory, K.UNDO)
    assert {*ids} < {e.entry_id for e in memory.entries()}


def test_what_a_person_split_is_not_merged_again(memory: Any, robot: Any, thing: Any) -> None:
    loop, ids = drive(memory, robot, thing)
    memory.correct_anchors("r1", *loop.correction())
    [merged] = [e for e in memory.entries() if e.entry_id == ids[0]]
    said(memory, K.SPLIT, ids[0], at_ns=merged.sightings[-1].start)
    two = [e.entry_id for e in memory.entries() if e.label == "thing0"]
    stamps, poses = loop.correction()
    memory.correct_anchors("r1", stamps[: len(stamps) // 2], poses[: len(poses) // 2])
    memory.correct_anchors("r1", stamps, poses)
    assert len(two) == 2 and [e.entry_id for e in memory.entries() if e.label == "thing0"] == two


@pytest.mark.parametrize("kind", [K.RENAME, K.SPLIT, K.PIN, K.FORGET])
def test_a_merged_entry_is_corrected_by_either_id(open_memory: Any, robot: Any, thing: Any, kind: K) -> None:
    library = open_memory()
    loop, ids = drive(library, robot, thing)
    library.correct_anchors("r1", *loop.correction())
    before = library.entries()
    [merged] = [e for e in before if e.entry_id == ids[0]]
    said(library, kind, ids[1], label="lamp", at_ns=merged.sightings[-1].start)
    assert library.corrections()[0].correction.entry_id == ids[0]
    known = shown(library)
    library.close()
    library = open_memory()
    assert shown(library) == known
    said(library, K.UNDO)
    assert [e.evolve(revision=0) for e in library.entries()] == [e.evolve(revision=0) for e in before]


def test_a_corrected_memory_is_exported_and_imported(open_memory: Any, robot: Any, thing: Any, tmp_path: Any) -> None:
    library = open_memory("first.db")
    loop, ids = drive(library, robot, thing)
    library.correct_anchors("r1", *loop.correction())
    said(library, K.RENAME, ids[1], label="lamp")
    other = open_memory("second.db")
    done = Importer(other).read(export_lines(library._store))
    assert (done.refused, done.corrections) == (0, 1)
    assert sorted(e.label for e in other.entries()) == sorted(e.label for e in library.entries())


def plain(library: Library) -> Any:
    """All that is shown but revisions."""
    entries = [e.evolve(revision=0) for e in library.entries()]
    placed = [(p.entry_id, p.label, p.box, p.count, p.state) for p in library.placed()]
    found = sorted(e.entry_id for e in library.retrieve(Query(limit=99)).entries)
    return entries, placed, library.events(), found


def test_what_slam_merged_can_be_taken_apart_and_joined_again(open_memory: Any, robot: Any, thing: Any) -> None:
    library = open_memory()
    loop, ids = drive(library, robot, thing)
    apart = {e.entry_id: e.evolve(revision=0) for e in library.entries()}
    events = {e.event_id for e in library.events()}
    library.correct_anchors("r1", *loop.correction())
    whole = plain(library)
    receipt = said(library, K.SPLIT, other_id=ids[1])
    assert sorted(p.entry_id for p in receipt.changed) == sorted(ids) and receipt.removed == ()
    assert {e.entry_id: e.evolve(revision=0) for e in library.entries()} == apart
    assert {e.event_id for e in library.events()} == events
    two = plain(library)
    assert [m.undone_by for m in library.merges()] == [receipt.correction_id]
    found = library.retrieve(Query(labels=("thing0",), limit=9)).entries
    assert sorted(e.entry_id for e in found) == sorted(ids)
    assert library.correct_anchors("r1", *loop.correction()).anchors == 0
    library.close()
    library = open_memory()
    assert plain(library) == two, "also after a restart"
    receipt = said(library, K.UNDO)
    assert receipt.removed == (ids[1],) and plain(library) == whole
    assert [e.entry_id for e in library.retrieve(Query(entry_ids=(ids[1],))).entries] == [ids[0]]
    library.close()
    library = open_memory()
    assert plain(library) == whole and [m.undone_by for m in library.merges()] == [0]
    assert library._store.problems() == []


def test_what_was_seen_since_a_merge_stays_with_the_one_that_saw_it(memory: Any, robot: Any, thing: Any) -> None:
    loop, ids = drive(memory, robot, thing)
    memory.correct_anchors("r1", *loop.correction())
    for i in range(3):
        memory.ingest(loop.frame(80 + i / 2, closed=True))
    before = {e.entry_id: e for e in memory.entries()}
    said(memory, K.SPLIT, other_id=ids[1])
    after = {e.entry_id: e for e in memory.entries()}
    assert after[ids[0]].count + after[ids[1]].count == before[ids[0]].count
    assert after[ids[0]].last_seen == before[ids[0]].last_seen
    assert after[ids[0]].last_seen == 91_000_000_000
    memory.ingest(loop.frame(81.5, closed=True))
    said(memory, K.UNDO)
    assert ids[1] not in {e.entry_id for e in memory.entries()}
    [one] = [e for e in memory.entries() if e.label == "thing0"]
    assert one.count in (before[ids[0]].count, before[ids[0]].count + 1) and one.last_seen >= 91_000_000_000
    assert memory._store.problems() == []


def test_only_what_was_merged_last_is_taken_apart(memory: Any, robot: Any, thing: Any) -> None:
    cup = thing("cup", (3, 0, 0.8))
    frames = [robot.frame(30 * i + k, cup) for i in range(3) for k in range(3)]
    for n, frame in enumerate(frames):
        wrong = compose(Pose((0.0, 1.2 * (n // 3), 0.0)), frame.sensor_in_map)
        memory.ingest(replace(frame, sensor_in_map=wrong, sensor_in_odom=wrong))
    ids = [e.entry_id for e in memory.entries()]
    true = [compose(f.sensor_in_map, f.base_in_sensor) for f in frames]
    assert len(memory.correct_anchors("r1", [f.stamp_ns for f in frames], true).removed) == 2
    first, second = (m.merged_id for m in memory.merges())
    with pytest.raises(InvalidArgument, match=f"part '{second}' first"):
        said(memory, K.SPLIT, other_id=first)
    for nobody in (ids[0], "nobody"):
        with pytest.raises(InvalidArgument, match="isn't a part"):
            said(memory, K.SPLIT, other_id=nobody)
    for part in (second, first):
        said(memory, K.SPLIT, other_id=part)
    assert sorted(e.entry_id for e in memory.entries()) == sorted(ids) and {e.count for e in memory.entries()} == {3}
    for _ in range(2):
        said(memory, K.UNDO)
    assert [(e.entry_id, e.count) for e in memory.entries()] == [(ids[0], 9)]
