"""An entry that proves to be two is divided: the sightings, intervals, words and events of both, reversibly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.core.geometry import compose
from r4_ros.core.model import (
    MEMORY,
    EntryCorrection,
    EventKind,
    Pose,
    Query,
    TemporalConstraint,
    TemporalKind,
    Visibility,
)
from r4_ros.core.model import CorrectionKind as K
from r4_ros.memory.transfer import Importer, export_lines

S = 1_000_000_000
LEFT, RIGHT = (2.0, -0.12, 0.8), (2.0, 0.12, 0.8)


class Two:
    """Two alike mugs 24 cm apart, seen one at a time or together; what stands behind them is near."""

    def __init__(self, memory: Any, robot: Any, thing: Any, label: str = "mug") -> None:
        self.memory, self.robot, self.label, self.thing = memory, robot, label, thing
        self.now_s, self.truth = 0.0, dict[tuple[int, int], int]()
        robot.depth = 2.0

    def mug(self, side: int) -> Any:
        return self.thing(self.label, LEFT if side == 0 else RIGHT)

    def see(self, sides: str, **more: Any) -> Any:
        """A frame with the left (0), the right (1) or both mugs (01)."""
        self.now_s += 0.5
        frame = self.robot.frame(self.now_s, *(self.mug(int(side)).seen(**more) for side in sides))
        self.truth |= {(frame.stamp_ns, i): int(side) for i, side in enumerate(sides)}
        return self.memory.ingest(frame)

    def run(self, *frames: str) -> list[Any]:
        return [self.see(sides) for sides in frames]


ALTERNATING = [*"0000", *"1111", *"00000", *"1111"]
TOGETHER = ["01"] * 4


@pytest.fixture
def two(memory: Any, robot: Any, thing: Any) -> Two:
    return Two(memory, robot, thing)


def owners(memory: Any) -> dict[tuple[int, int], str]:
    return {(stamp, index): entry for _, stamp, index, _, entry in memory.assigned()}


def held(memory: Any) -> Any:
    """What is known, revisions apart."""
    placed = [(p.entry_id, p.box, p.count, p.first_seen, p.last_seen) for p in memory.placed()]
    return [replace(e, revision=0) for e in memory.entries()], placed, memory.events(), owners(memory)


def sound(memory: Any) -> None:
    """Every sighting belongs to one entry, whose counts and intervals tell of all of them and of no others."""
    mine = owners(memory)
    assert len(mine) == len(list(memory._store.assigned()))
    for e in memory.entries():
        stamps = [stamp for (stamp, _), entry in mine.items() if entry == e.entry_id]
        assert e.count == len(stamps) and (e.first_seen, e.last_seen) == (min(stamps), max(stamps))
        assert all(any(s.start <= stamp < s.end for s in e.sightings) for stamp in stamps)
        assert sum(s.count for s in e.stays) == e.count
    assert memory._store.problems() == []


def test_what_was_two_all_along_is_divided(two: Two) -> None:
    memory = two.memory
    two.run(*ALTERNATING)
    [mixed] = memory.entries()
    receipts = two.run(*TOGETHER)
    left, right = sorted(memory.placed(), key=lambda p: p.box.pose.position[1])
    assert left.box.pose.position == pytest.approx(LEFT, abs=0.01)
    assert right.box.pose.position == pytest.approx(RIGHT, abs=0.01)
    by_side = {side: {owners(memory)[key] for key, s in two.truth.items() if s == side} for side in (0, 1)}
    assert all(len(entries) == 1 for entries in by_side.values()) and by_side[0] != by_side[1]
    sound(memory)
    [record] = memory.corrections()
    assert record.correction.source == MEMORY and mixed.entry_id in record.entries and not record.undone_by
    told = next(r for r in receipts if len(r.changed) == 2 and r.events)
    assert {e.kind for e in told.events} == {EventKind.APPEARED}
    appeared = {e.entry_id: e.stamp_ns for e in memory.events() if e.kind is EventKind.APPEARED}
    assert sorted(appeared.values()) == sorted(e.first_seen for e in memory.entries())
    when = TemporalConstraint(TemporalKind.SEEN_IN, 0, 3 * S)
    found = memory.retrieve(Query(temporal=(when,), with_counts=True)).entries
    assert len(found) == 2, "the other one was there from its first sighting on"


def test_a_restart_knows_the_same(open_memory: Any, robot: Any, thing: Any) -> None:
    two = Two(open_memory(), robot, thing)
    two.run(*ALTERNATING, *TOGETHER)
    before = held(two.memory)
    two.memory.close()
    two.memory = open_memory()
    assert held(two.memory) == before
    two.run(*TOGETHER, "0", "1")
    sound(two.memory)
    assert len(two.memory.entries()) == 2 and len(two.memory.corrections()) == 1


def test_taken_back_all_is_as_before_and_stays_so(two: Two) -> None:
    memory = two.memory
    two.run(*ALTERNATING, *TOGETHER[:2])
    before = held(memory)
    two.run(TOGETHER[0])
    assert len(memory.corrections()) == 1
    memory.correct(EntryCorrection(K.UNDO, source="anna"), 99 * S)
    entries, _, events, assigned = held(memory)
    assert [e.count - 1 for e in entries] == [e.count for e in before[0]]
    assert [e.first_seen for e in entries] == [e.first_seen for e in before[0]]
    assert events == before[2]
    assert {key: assigned[key] for key in before[3]} == before[3]
    sound(memory)
    two.run(*TOGETHER, *TOGETHER)
    assert len(memory.corrections()) == 2, "the memory doesn't insist"
    sound(memory)


def test_what_was_seen_since_stays_when_it_is_taken_back(two: Two) -> None:
    two.run(*ALTERNATING, *TOGETHER, *"0011")
    two.memory.correct(EntryCorrection(K.UNDO, source="anna"), 99 * S)
    assert sum(e.count for e in two.memory.entries()) == len(two.truth)
    assert all(e.last_seen > 20 * S / 2 for e in two.memory.entries())


def test_merged_by_a_person_it_is_one_again_and_stays_so(two: Two) -> None:
    memory = two.memory
    two.run(*ALTERNATING)
    [mixed] = memory.entries()
    two.run(*TOGETHER)
    ids = [e.entry_id for e in memory.entries()]
    memory.correct(EntryCorrection(K.MERGE, ids[0], other_id=ids[1], source="anna"), 99 * S)
    [one] = memory.entries()
    assert one.first_seen == mixed.first_seen and one.count == mixed.count + 8
    assert dict(one.label_votes) == {"mug": pytest.approx(one.count)}
    assert all(any(s.start <= stamp < s.end for s in one.sightings) for stamp, _ in two.truth)
    two.run(*ALTERNATING, *TOGETHER)
    assert len(memory.entries()) == 1 and len(memory.corrections()) == 2


def test_one_thing_that_is_carried_to_and_fro_stays_one(two: Two) -> None:
    """The place that it had left was seen empty, so what appears there is another one."""
    two.robot.depth = 8.0
    two.run(*ALTERNATING)
    [mixed] = two.memory.entries()
    two.run(*TOGETHER, *TOGETHER)
    assert not two.memory.corrections() and two.memory.entries()[0].count >= mixed.count


@pytest.mark.parametrize(
    "frames", [[*"00001", *TOGETHER], [*"0000", *TOGETHER], [*"0011", *TOGETHER], ["01", *TOGETHER]]
)
def test_little_evidence_divides_nothing(two: Two, frames: list[str]) -> None:
    two.run(*frames)
    assert not two.memory.corrections()
    sound(two.memory)


def test_parts_of_a_large_thing_arent_two(two: Two) -> None:
    """A view that covers both places shows one thing."""
    two.run(*ALTERNATING)
    two.now_s += 0.5
    two.memory.ingest(two.robot.frame(two.now_s, two.thing("mug", (2.0, 0.0, 0.8), (0.1, 0.4, 0.12))))
    two.run(*TOGETHER, *TOGETHER)
    assert not two.memory.corrections()


def test_views_in_part_prove_nothing(two: Two) -> None:
    two.run(*ALTERNATING)
    for _ in range(8):
        two.see("01", visibility=Visibility.TRUNCATED)
    assert not two.memory.corrections()


def test_what_a_person_spoke_of_is_left(two: Two) -> None:
    two.run(*ALTERNATING)
    two.memory.correct(EntryCorrection(K.RENAME, two.memory.entries()[0].entry_id, label="mug", source="anna"), 9 * S)
    two.run(*TOGETHER, *TOGETHER)
    assert len(two.memory.corrections()) == 1


def test_people_cant_speak_as_the_memory(two: Two) -> None:
    two.run("0")
    with pytest.raises(InvalidArgument, match="source"):
        two.memory.correct(EntryCorrection(K.PIN, two.memory.entries()[0].entry_id, source=MEMORY), S)


@pytest.mark.parametrize("kept_from", [6, 14])
def test_of_dropped_history_nothing_is_divided_and_nothing_is_lost(
    open_memory: Any, robot: Any, thing: Any, kept_from: int
) -> None:
    two = Two(open_memory(), robot, thing)
    two.run(*ALTERNATING)
    [mixed] = two.memory.entries()
    two.memory._store.prune(before_ns=round(kept_from / 2 * S) + 1)
    two.memory.close()
    two.memory = open_memory()
    two.run(*TOGETHER)
    memory = two.memory
    old, new = memory.entries()
    assert sum(e.count for e in (old, new)) == len(two.truth)
    assert old.first_seen == mixed.first_seen and sum(s.count for s in old.stays) == old.count
    divided = len(memory.corrections()) == 1
    assert divided == (kept_from == 6)
    if divided:
        assert min(stamp for stamp, _ in two.truth) < kept_from * S / 2 < new.first_seen
        assert sorted(p.box.pose.position[1] for p in memory.placed()) == pytest.approx([-0.12, 0.12], abs=0.02)
    memory.correct(EntryCorrection(K.UNDO, source="anna"), 99 * S) if divided else None
    assert sum(e.count for e in memory.entries()) == len(two.truth)


def test_where_it_cant_be_stored_a_later_frame_divides(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    two.run(*ALTERNATING)
    write = type(two.memory._store).write_correction
    with monkeypatch.context() as patch:
        patch.setattr(two.memory._store, "write_correction", lambda change: (_ for _ in ()).throw(StoreError("full")))
        receipts = two.run(*TOGETHER)
    assert all(r.stored for r in receipts) and not two.memory.corrections() and write
    two.run(*TOGETHER, *TOGETHER)
    assert len(two.memory.corrections()) == 1
    sound(two.memory)


def test_an_export_builds_the_same_and_what_was_taken_back_stays_so(two: Two, open_memory: Any) -> None:
    two.run(*ALTERNATING, *TOGETHER, "0", "1")
    for name in ("first.db", "second.db"):
        other = open_memory(name, writer_silence_s=0.0)
        done = Importer(other).read(export_lines(two.memory._store), strict=True)
        assert [e.count for e in other.entries()] == [e.count for e in two.memory.entries()] and not done.refused
        assert [r.undone_by for r in other.corrections()] == [r.undone_by for r in two.memory.corrections()]
        assert owners(other) == owners(two.memory)
        two.memory.correct(EntryCorrection(K.UNDO, source="anna"), 99 * S) if name == "first.db" else None


def closing_wrongly(memory: Any, robot: Any, thing: Any) -> tuple[list[int], list[Any], list[Any]]:
    """Two mugs ten metres apart, of which a wrong loop closure makes one; gives stamps and poses, right and wrong."""
    stamps, right, wrong = [], [], []
    for step in range(12):
        x = 10.0 * (step >= 6)
        robot.where, robot.drift = (x, 0, 0), Pose((0.0, 0.0, 0.0))
        frame = robot.frame(step, thing("mug", (x + 2.0, 0.0, 0.8)))
        memory.ingest(frame)
        stamps.append(frame.stamp_ns)
        right.append(compose(frame.sensor_in_map, frame.base_in_sensor))
        wrong.append(replace(right[-1], position=(0.0, 0.0, right[-1].position[2])))
    memory.correct_anchors("r1", stamps, wrong)
    assert len(memory.entries()) == len(memory.merges()) == 1
    return stamps, right, wrong


def test_a_merge_that_a_later_correction_contradicts_is_taken_apart_once(
    open_memory: Any, robot: Any, thing: Any
) -> None:
    memory = open_memory()
    stamps, right, wrong = closing_wrongly(memory, robot, thing)
    done = memory.correct_anchors("r1", stamps, right)
    assert [p.box.pose.position[0] for p in memory.placed()] == pytest.approx([2.0, 12.0], abs=0.01)
    assert {p.entry_id for p in done.changed} == {e.entry_id for e in memory.entries()}
    sound(memory)
    assert len([e for e in memory.events() if e.kind is EventKind.APPEARED]) == 2
    for _ in range(2):
        memory.correct_anchors("r1", stamps, wrong)
        memory.correct_anchors("r1", stamps, right)
    assert len(memory.entries()) == 2 and len(memory.corrections()) == 1, "and isn't made again"
    memory.correct(EntryCorrection(K.UNDO, source="anna"), 99 * S)
    assert len(memory.entries()) == 1
    memory.correct_anchors("r1", stamps, wrong)
    memory.correct_anchors("r1", stamps, right)
    assert len(memory.entries()) == 1, "what a person takes back stays so"
    other = open_memory("other.db", writer_silence_s=0.0)
    Importer(other).read(export_lines(memory._store), strict=True)
    assert owners(other) == owners(memory) and len(other.corrections()) == 2


HISTORIES = st.lists(st.sampled_from(["0", "1", "0", "1", "01", ""]), min_size=1, max_size=30)


@given(
    runs=st.lists(st.tuples(st.sampled_from("01"), st.integers(1, 6)), max_size=7),
    after=HISTORIES,
    seed=st.integers(0, 999),
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_seen_no_sighting_is_lost_or_counted_twice(
    runs: list[tuple[str, int]], after: list[str], seed: int, make_memory: Any, make_robot: Any, thing: Any
) -> None:
    """And what is divided is told apart rightly; taken back, all belongs where it did."""
    rng = np.random.default_rng(seed)

    class Noisy(Two):
        def mug(self, side: int) -> Any:
            mug = super().mug(side)
            return mug.at(*(np.asarray(mug.centre) + rng.normal(0, 0.008, 3)))

    with make_memory() as memory:
        two = Noisy(memory, make_robot(), thing)
        two.run(*(side for side, count in runs for side in side * count), *after, *TOGETHER, *TOGETHER)
        sound(memory)
        assert len(memory.entries()) == 2
        if memory.corrections():
            sides = {(side, owners(memory)[key]) for key, side in two.truth.items()}
            first_together = min(stamp for stamp, index in two.truth if index == 1)
            early = {(side, owners(memory)[key]) for key, side in two.truth.items() if key[0] < first_together}
            assert len(early) <= 2 and len({entry for _, entry in sides}) == 2
            counts = {e.entry_id: e.count for e in memory.entries()}
            memory.correct(EntryCorrection(K.UNDO, source="anna"), 99 * S)
            assert sum(counts.values()) == sum(e.count for e in memory.entries())
            sound(memory)
