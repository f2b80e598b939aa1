"""What people say of entries: it shows at once, holds against what is seen next, and can be taken back."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import InvalidArgument, StoreError, UnknownEntry
from r4_ros.core.model import CorrectionKind as K
from r4_ros.core.model import EntryCorrection, EntryState, Query
from r4_ros.memory.transfer import Importer, export_lines

S = 1_000_000_000
NOW = 77 * S


def said(library: Any, kind: K, entry_id: str = "", **more: Any) -> Any:
    return library.correct(EntryCorrection(kind, entry_id, source="anna", **more), NOW)


def see(library: Any, robot: Any, first_s: float, count: int, *things: Any) -> list[Any]:
    return [library.ingest(robot.frame(first_s + 0.5 * i, *things)) for i in range(count)]


def labels(library: Any) -> list[str]:
    return sorted(entry.label for entry in library.entries())


def state(library: Any) -> Any:
    """All that is shown; revisions apart, which only ever grow."""
    placed = [(p.entry_id, p.label, p.box, p.count, p.first_seen, p.last_seen, p.state) for p in library.placed()]
    entries = [e.evolve(revision=0) for e in library.entries()]
    return entries, placed, library.events(), [e.entry_id for e in library.retrieve(Query(limit=99)).entries]


@pytest.fixture
def mug(thing: Any) -> Any:
    return thing("mug", (2, 0, 0.8))


@pytest.fixture
def mug_id(memory: Any, robot: Any, mug: Any) -> str:
    see(memory, robot, 1, 4, mug)
    return str(memory.entries()[0].entry_id)


def test_a_new_name_holds_whatever_the_detector_says(memory: Any, robot: Any, mug: Any, mug_id: str) -> None:
    receipt = said(memory, K.RENAME, mug_id, label="Anna's cup")
    assert [p.label for p in receipt.changed] == ["Anna's cup"] and receipt.removed == ()
    later = see(memory, robot, 3, 30, mug)
    assert labels(memory) == ["Anna's cup"] and later[-1].changed[0].count == 34
    assert memory.retrieve(Query(labels=("Anna's cup",))).entries[0].entry_id == mug_id
    said(memory, K.UNDO)
    assert labels(memory) == ["mug"] and memory.entries()[0].count == 34
    assert dict(memory.entries()[0].label_votes) == pytest.approx({"mug": 34.0}, abs=1e-3)


def test_a_renamed_thing_isnt_taken_for_its_neighbour(memory: Any, robot: Any, mug: Any, mug_id: str) -> None:
    said(memory, K.RENAME, mug_id, label="vase")
    see(memory, robot, 3, 3, mug, mug.at(2, 0.6, 0.8))
    assert labels(memory) == ["mug", "vase"]
    assert [e.count for e in memory.entries()] == [7, 3]


def test_what_is_pinned_stays_where_it_is(memory: Any, robot: Any, mug: Any, mug_id: str) -> None:
    receipt = said(memory, K.PIN, mug_id, position=(2.1, 0.1, 0.8))
    assert receipt.changed[0].box.pose.position == pytest.approx((2.1, 0.1, 0.8))
    see(memory, robot, 3, 20, mug.at(2.2, 0.2, 0.8))
    (entry,) = memory.placed()
    assert entry.box.pose.position == pytest.approx((2.1, 0.1, 0.8)) and entry.count == 24
    see(memory, robot, 20, 1, mug.at(3.5, 1, 0.8).seen(track_id="4"))
    assert len(memory.placed()) == 2, "what is elsewhere is another thing"
    said(memory, K.UNDO)
    assert memory.placed()[0].box.pose.position == pytest.approx((2, 0, 0.8))
    see(memory, robot, 21, 20, mug.at(2.2, 0.2, 0.8))
    assert memory.placed()[0].box.pose.position[1] > 0.1, "and it follows again"


def test_a_pinned_thing_isnt_carried_off_by_a_track(memory: Any, robot: Any, mug: Any) -> None:
    tracked = mug.seen(track_id="4")
    see(memory, robot, 1, 1, tracked)
    said(memory, K.PIN, memory.entries()[0].entry_id)
    see(memory, robot, 1.5, 1, tracked.at(3.5, 1, 0.8))
    assert [p.box.pose.position for p in memory.placed()] == [pytest.approx((2, 0, 0.8)), pytest.approx((3.5, 1, 0.8))]


def test_a_forgotten_thing_stays_forgotten_while_it_is_seen(open_memory: Any, robot: Any, mug: Any) -> None:
    memory = open_memory(forget_gap_s=60.0)
    see(memory, robot, 1, 4, mug)
    mug_id = memory.entries()[0].entry_id
    assert said(memory, K.FORGET, mug_id).removed == (mug_id,)
    receipts = see(memory, robot, 3, 20, mug)
    assert state(memory)[:3] == ([], [], []) and receipts[-1].changed == () and receipts[-1].stored == 1
    assert memory.retrieve(Query(labels=("mug",))).entries == () and memory.entries_near("r1", 9) == []
    with pytest.raises(UnknownEntry):
        said(memory, K.RENAME, mug_id, label="cup")
    memory.close()
    memory = open_memory(forget_gap_s=60.0)
    see(memory, robot, 70, 3, mug)
    assert labels(memory) == [], "57 s: still the forgotten one, also after a restart"
    see(memory, robot, 150, 3, mug)
    (new,) = memory.entries()
    assert new.entry_id != mug_id and new.count == 3 and new.first_seen == 150 * S, "seen anew"
    said(memory, K.UNDO)
    assert {e.entry_id: e.count for e in memory.entries()} == {mug_id: 27, new.entry_id: 3}


def test_merged_entries_are_one_and_stay_one(memory: Any, robot: Any, mug: Any, mug_id: str, thing: Any) -> None:
    see(memory, robot, 3, 2, mug, thing("cup", (2, 0.22, 0.8)))
    other = next(e for e in memory.entries() if e.label == "cup")
    before = state(memory)
    receipt = said(memory, K.MERGE, mug_id, other_id=other.entry_id)
    assert receipt.removed == (other.entry_id,)
    (one,) = memory.entries()
    assert one.entry_id == mug_id and one.count == 8 and dict(one.label_votes) == {"mug": 6.0, "cup": 2.0}
    see(memory, robot, 4, 3, thing("cup", (2, 0.22, 0.8)))
    assert [(e.entry_id, e.count) for e in memory.entries()] == [(mug_id, 11)]
    assert {e.entry_id for e in memory.events()} == {mug_id}
    said(memory, K.UNDO)
    kept, back = memory.entries()
    assert (kept.count, back.count) == (9, 2), "what was seen since stays with the one that saw it"
    assert back.evolve(revision=0) == before[0][1]


def test_a_merge_of_far_entries_is_a_move(memory: Any, robot: Any, mug: Any, mug_id: str) -> None:
    see(memory, robot, 30, 2, mug.at(4, 1, 0.8))
    new = memory.entries()[1].entry_id
    said(memory, K.MERGE, mug_id, other_id=new)
    (one,) = memory.placed()
    assert one.box.pose.position == pytest.approx((4, 1, 0.8)) and len(memory.entries()[0].stays) == 2
    see(memory, robot, 40, 2, mug, mug.at(4, 1, 0.8))
    assert sorted(e.count for e in memory.entries()) == [2, 8], "another one where it once stood"


def test_a_split_makes_two(memory: Any, robot: Any, mug: Any, mug_id: str) -> None:
    see(memory, robot, 30, 4, mug)
    whole = state(memory)
    said(memory, K.SPLIT, mug_id, at_ns=20 * S)
    old, new = memory.entries()
    assert (old.entry_id, old.state, old.count, new.count) == (mug_id, EntryState.GONE, 4, 4)
    assert (old.last_seen, new.first_seen) == (round(2.5 * S), 30 * S)
    frozen = state(memory)
    said(memory, K.UNDO)
    assert state(memory) == whole
    said(memory, K.SPLIT, mug_id, at_ns=20 * S)
    assert state(memory) == frozen, "the same again gives the same ids"
    see(memory, robot, 33, 3, mug)
    assert [e.count for e in memory.entries()] == [4, 7], "the older one isn't seen any more"
    said(memory, K.UNDO)
    assert [(e.entry_id, e.count) for e in memory.entries()] == [(mug_id, 11)]


def test_what_cant_be_is_refused_and_leaves_no_trace(memory: Any, robot: Any, mug: Any, mug_id: str) -> None:
    before, revision = state(memory), memory.revision
    for kind, more in (
        (K.RENAME, {"label": " "}),
        (K.MERGE, {"other_id": mug_id}),
        (K.SPLIT, {"at_ns": 1}),
        (K.SPLIT, {"at_ns": 99 * S}),
        (K.UNDO, {}),
        (K.UNDO, {"correction_id": 7}),
    ):
        with pytest.raises(InvalidArgument):
            said(memory, kind, mug_id, **more)
    for more in ({"entry_id": "nobody"}, {"entry_id": mug_id, "other_id": "nobody"}):
        with pytest.raises(UnknownEntry, match="nobody"):
            said(memory, K.MERGE, **more)
    assert state(memory) == before and memory.revision == revision and memory.corrections() == []


def test_the_record_tells_who_when_what_and_what_was_taken_back(open_memory: Any, robot: Any, mug: Any) -> None:
    memory = open_memory()
    see(memory, robot, 1, 2, mug)
    mug_id = memory.entries()[0].entry_id
    said(memory, K.RENAME, mug_id, label="cup")
    said(memory, K.PIN, mug_id)
    with pytest.raises(InvalidArgument, match="take back correction 2 first"):
        said(memory, K.UNDO, correction_id=1)
    said(memory, K.UNDO)
    records, shown = memory.corrections(), state(memory)
    assert [(r.correction_id, r.correction.kind, r.undone_by) for r in records] == [
        (1, K.RENAME, 0),
        (2, K.PIN, 3),
        (3, K.UNDO, 0),
    ]
    assert {r.correction.source for r in records} == {"anna"} and {r.stamp_ns for r in records} == {NOW}
    (change,) = memory._store.corrected(1)
    assert (change.before.entry.label, change.after.entry.label) == ("mug", "cup")
    memory.close()
    again = open_memory()
    assert again.corrections() == records and state(again) == shown
    reader = open_memory(read_only=True)
    with pytest.raises(StoreError, match="read-only"):
        said(reader, K.FORGET, mug_id)


STEP = st.one_of(
    st.tuples(st.just("see"), st.integers(1, 7), st.integers(0, 3)),
    st.tuples(
        st.sampled_from([K.RENAME, K.MERGE, K.SPLIT, K.PIN, K.FORGET, K.UNDO]), st.integers(0, 5), st.integers(0, 5)
    ),
)


def act(library: Any, robot: Any, thing: Any, step: Any, clock: list[float]) -> None:
    what, a, b = step
    if what == "see":
        clock[0] += 0.4 + 13 * b
        things = [
            thing("mug", (x, 0.117 * b + 0.013 * b * b + 0.043 * k * b + 0.029 * k, 0.8)).seen(
                position_covariance=tuple(0.0025 * (1 + 0.37 * k) * v for v in np.eye(3).ravel())
            )  # no two ways are equal, nor those to the mean of two places
            for k, x in enumerate((2.03, 2.21, 2.479))
            if a >> k & 1
        ]
        library.ingest(robot.frame(clock[0], *things))
        return
    ids = [e.entry_id for e in library.entries()] or ["none"]
    one, other = ids[a % len(ids)], ids[b % len(ids)]
    with suppress(InvalidArgument, UnknownEntry):
        library.correct(EntryCorrection(what, one, f"name {b}", other, round((clock[0] - 5 * a) * S)), NOW)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEP, max_size=25))
@example([("see", 2, 0), ("see", 4, 0), (K.RENAME, 0, 0), ("see", 6, 0)])
def test_restarts_and_exports_keep_all_that_was_said(
    open_memory: Any, make_robot: Any, thing: Any, tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("said").name
    (robot, clock), (robot2, clock2) = ((make_robot(), [10.0]) for _ in range(2))
    steady, restarted = open_memory(f"../{folder}/a.db"), open_memory(f"../{folder}/b.db")
    for step in steps:
        act(steady, robot, thing, step, clock)
        act(restarted, robot2, thing, step, clock2)
        restarted.close()
        restarted = open_memory(f"../{folder}/b.db")
    assert state(steady) == state(restarted)
    assert steady.corrections() == restarted.corrections()
    copy = open_memory(f"../{folder}/c.db", writer_silence_s=0.0)
    done = Importer(copy).read(export_lines(steady._store), strict=True)
    assert done.corrections == len(steady.corrections())
    shown = [(e.entry_id, e.label, e.count, e.sightings, e.presence) for e in steady.entries()]
    assert [(e.entry_id, e.label, e.count, e.sightings, e.presence) for e in copy.entries()] == shown
