"""After a loop closure the memory is what it would have been had the poses been right."""

from __future__ import annotations

import math
import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounds import ROUND_S, Item, Rounds, random_items, ring, turned

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import compose, inverse
from r4_ros.core.model import (
    FOREVER,
    IDENTITY,
    Box,
    CorrectionKind,
    EntryCorrection,
    EntryState,
    EventKind,
    Observation,
    Pose,
    Query,
    Visibility,
)
from r4_ros.memory import concerned
from r4_ros.memory.library import Library

S = 1_000_000_000
DRIFT = turned(0.8, 0.6, 0.0)
Key = tuple[int, int]


def things(library: Library) -> dict[frozenset[Key], str]:
    """Entries by what they were seen by: stamps and indices."""
    seen: dict[str, set[Key]] = {}
    for _, stamp, index, _, entry_id in library.assigned():
        seen.setdefault(entry_id, set()).add((stamp, index))
    return {frozenset(keys): entry_id for entry_id, keys in seen.items()}


def happened(library: Library) -> dict[str, Counter[EventKind]]:
    by_entry: dict[str, Counter[EventKind]] = {}
    for event in library.events():
        by_entry.setdefault(event.entry_id, Counter())[event.kind] += 1
    return by_entry


def compare(library: Library, truth: Library, all_told: bool = False) -> None:
    """The same things, seen when and where they were, and nothing happened to them that didn't.

    ``all_told``: and all of it.
    """
    mine, true = things(library), things(truth)
    assert set(mine) == set(true)
    events, real = happened(library), happened(truth)
    places = {e.entry_id: e.box for e in library.placed()}
    right = {e.entry_id: e.box for e in truth.placed()}
    entries, known = ({e.entry_id: e for e in m.entries()} for m in (library, truth))
    assert set(entries) == set(mine.values())
    for keys, entry_id in mine.items():
        mate = true[keys]
        assert math.dist(places[entry_id].pose.position, right[mate].pose.position) < 0.12
        assert max(np.subtract(places[entry_id].extent, right[mate].extent)) < 0.12
        assert not events[entry_id] - real[mate], (entries[entry_id].label, events[entry_id], real[mate])
        assert entries[entry_id].count == known[mate].count
        assert entries[entry_id].sightings == known[mate].sightings
        if all_told:
            assert events[entry_id] == real[mate], (entries[entry_id].label, events[entry_id], real[mate])
            assert len(entries[entry_id].presence) == len(known[mate].presence)
            assert len(entries[entry_id].stays) == len(known[mate].stays)
    assert library._store.problems() == []


def pair(open_memory: Any, make_robot: Any, items: list[Item], drift: Any, seconds: float) -> tuple[Any, Any, Any]:
    """A memory that drifts, its rounds, and one that doesn't."""
    truth, library = open_memory("truth.db"), open_memory("drift.db")
    Rounds(make_robot(), items, IDENTITY, seconds).drive(truth)
    return library, Rounds(make_robot(), items, drift, seconds), truth


TWO_ROUNDS = 2 * ROUND_S


@pytest.mark.parametrize(
    "fate", ["stays", "seemed to move", "goes", "moves", "twin", "twin of what goes"], ids=lambda f: f.replace(" ", "_")
)
def test_what_seemed_to_happen_never_did_and_what_did_still_did(open_memory: Any, make_robot: Any, fate: str) -> None:
    place, beside = ring(0.4, 5.4), ring(0.46, 5.4)
    cup = {
        "goes": [(0.0, place), (12.0, None)],
        "moves": [(0.0, place), (12.0, ring(3.0, 5.4))],
        "twin of what goes": [(0.0, place), (12.0, None)],
    }.get(fate, [(0.0, place)])
    items = [Item("cup", cup), Item("plate", [(0.0, ring(2.0, 5.4))])]
    items += [Item("cup", [(0.0, beside)])] if "twin" in fate else []
    library, rounds, truth = pair(open_memory, make_robot, items, turned(0.3, 0.2, 0.0), TWO_ROUNDS)
    rounds.drive(library)
    rounds.correct(library)
    compare(library, truth, all_told=fate in ("stays", "seemed to move", "twin"))
    assert Counter(e.label for e in library.entries())["cup"] == (2 if "twin" in fate or fate == "moves" else 1)


def test_a_false_going_is_void_and_on_record(open_memory: Any, make_robot: Any) -> None:
    items = [Item("cup", [(0.0, ring(0.4, 5.4))]), Item("plate", [(0.0, ring(2.0, 5.4))])]
    library, rounds, truth = pair(open_memory, make_robot, items, DRIFT, TWO_ROUNDS)
    rounds.drive(library)
    told = {e.kind for e in library.events()}
    assert EventKind.DISAPPEARED in told or EventKind.MOVED in told
    correction = rounds.correct(library)
    assert [e.kind for e in library.events()] == [EventKind.APPEARED] * 2
    assert {e.state for e in library.entries()} == {EntryState.PRESENT}
    assert all(e.presence[-1].end == FOREVER for e in library.entries())
    assert library.corrections() and all(r.correction.remakes for r in library.corrections())
    assert {e.entry_id for e in correction.changed} == {e.entry_id for e in library.entries()}
    compare(library, truth, all_told=True)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31),
    x=st.floats(-1, 1),
    y=st.floats(-1, 1),
    yaw=st.floats(-0.05, 0.05),
    corrections=st.sampled_from(["one", "partly first", "wrong first", "right, wrong, right"]),
)
def test_any_round_is_told_as_it_was(
    make_memory: Any, make_robot: Any, seed: int, x: float, y: float, yaw: float, corrections: str
) -> None:
    seconds = 3 * ROUND_S
    items = random_items(np.random.default_rng(seed), seconds)
    rounds, wrong = Rounds(make_robot(), items, turned(x, y, yaw), seconds), turned(-y, x, 0.0)
    with make_memory() as truth, make_memory() as library:
        Rounds(make_robot(), items, IDENTITY, seconds).drive(truth)
        if corrections == "partly first":
            rounds.drive(library, 0.0, ROUND_S)
            rounds.correct(library, until_s=ROUND_S)
            rounds.drive(library, ROUND_S)
        else:
            rounds.drive(library)
        if corrections == "wrong first":
            rounds.correct(library, wrong)
        if corrections == "right, wrong, right":
            rounds.correct(library)
            rounds.correct(library, wrong)
        rounds.correct(library)
        compare(library, truth)
        before = library.entries()
        assert rounds.correct(library).anchors == 0 and library.entries() == before


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("frames_between", [False, True])
def test_in_portions_with_frames_between_it_comes_to_the_same(
    make_memory: Any, make_robot: Any, monkeypatch: pytest.MonkeyPatch, seed: int, frames_between: bool
) -> None:
    monkeypatch.setattr(concerned, "AT_ONCE", 20)
    seconds = 3 * ROUND_S
    items = random_items(np.random.default_rng(seed), seconds)
    rounds = Rounds(make_robot(), items, DRIFT, seconds)
    with make_memory() as truth, make_memory() as library:
        Rounds(make_robot(), items, IDENTITY, seconds).drive(truth)
        rounds.drive(library)
        rounds.correct(library)
        assert library.make_anew() is not None, "not all in the first portion"
        if frames_between:  # of nothing: what was there still is
            for i in range(3):
                stamp = 11 + seconds + i
                pose = library.trail("r1")[-1].pose
                rounds.robot.where = (*pose.position[:2], 0.0)
                empty = rounds.robot.frame(stamp)
                library.ingest(replace(empty, view=replace(empty.view, depth=np.zeros((0, 0), np.float32))))
                library.make_anew()
        while library.make_anew() is not None:
            pass
        compare(library, truth)


def test_what_another_robot_found_gone_elsewhere_was_not_gone(open_memory: Any, make_robot: Any, thing: Any) -> None:
    """It looked a metre beside, counts no more once that is known, and counts again where that is taken back."""
    library = open_memory()
    owner, other = make_robot(map_id="home"), make_robot(agent_id="r2", writer="w2", map_id="home")
    for i in range(3):
        library.ingest(owner.frame(10 + i, thing("cup", (3, 0, 0.8))))
    [entry] = library.placed()
    true = [other.frame(30 + i) for i in range(4)]
    off = Pose((0.0, 1.0, 0.0))
    for frame in true:
        believed = compose(off, frame.sensor_in_map)
        local = compose(inverse(believed), entry.box.pose)
        o = Observation(9, "cup", Box(local, entry.box.extent), visibility=Visibility.ABSENT, entry_id=entry.entry_id)
        library.ingest(replace(frame, sensor_in_map=believed, sensor_in_odom=believed, observations=(o,)))
    states = []
    stamps, poses = [f.stamp_ns for f in true], [compose(f.sensor_in_map, f.base_in_sensor) for f in true]
    for shift in (None, IDENTITY, off):
        if shift is not None:
            library.correct_anchors("r2", stamps, [compose(shift, pose) for pose in poses])
        gone = [e for e in library.events() if e.kind == EventKind.DISAPPEARED]
        states.append((library.retrieve(Query()).entries[0].state == EntryState.GONE, len(gone)))
    assert states == [(True, 1), (False, 0), (True, 1)]
    library.close()
    again = open_memory()
    assert again.retrieve(Query()).entries[0].state == EntryState.GONE


def test_what_a_person_spoke_of_stays_as_it_is(open_memory: Any, make_robot: Any) -> None:
    items = [Item("cup", [(0.0, ring(0.4, 5.4))]), Item("plate", [(0.0, ring(2.0, 5.4))])]
    library, rounds, _ = pair(open_memory, make_robot, items, DRIFT, TWO_ROUNDS)
    rounds.drive(library)
    cup = next(e for e in library.entries() if e.label == "cup")
    library.correct(EntryCorrection(CorrectionKind.RENAME, cup.entry_id, label="beaker", source="anna"), 60 * S)
    before = library.entries()
    rounds.correct(library)
    named = next(e for e in library.entries() if e.entry_id == cup.entry_id)
    assert named == next(e for e in before if e.entry_id == cup.entry_id)
    assert Counter(e.label for e in library.entries())["plate"] == 1


def test_what_was_made_anew_is_not_taken_back_by_a_persons_word(open_memory: Any, make_robot: Any) -> None:
    items = [Item("cup", [(0.0, ring(0.4, 5.4))])]
    library, rounds, _ = pair(open_memory, make_robot, items, DRIFT, TWO_ROUNDS)
    rounds.drive(library)
    rounds.correct(library)
    made = library.corrections()[-1].correction_id
    for number in (0, made):
        with pytest.raises(InvalidArgument, match="no correction"):
            library.correct(EntryCorrection(CorrectionKind.UNDO, correction_id=number, source="anna"), 70 * S)


def test_where_history_is_dropped_the_entry_stays_as_it_is(open_memory: Any, make_robot: Any) -> None:
    items = [Item("cup", [(0.0, ring(0.4, 5.4))])]
    library, rounds, _ = pair(open_memory, make_robot, items, turned(0.1, 0.1, 0.0), TWO_ROUNDS)
    rounds.drive(library)
    library._store._file.execute("DELETE FROM observation WHERE frame_id < 10")  # type: ignore[attr-defined]
    before = library.entries()
    rounds.correct(library)
    assert library.entries() == before and not library.corrections()


def test_queries_go_on_while_all_is_worked_in_again(open_memory: Any, make_robot: Any, monkeypatch: Any) -> None:
    library, rounds, _ = pair(open_memory, make_robot, [Item("cup", [(0.0, ring(0.4, 5.4))])], DRIFT, TWO_ROUNDS)
    rounds.drive(library)
    work, asked = library._remaker.work, []

    def watched(group: Any) -> Any:
        asking = threading.Thread(target=lambda: asked.append(library.retrieve(Query())))
        asking.start()
        asking.join(30)
        return work(group)

    monkeypatch.setattr(library._remaker, "work", watched)
    rounds.correct(library)
    assert len(asked) == 1 and len(library.entries()) == 1


def test_without_room_to_work_in_the_correction_holds_all_the_same(
    open_memory: Any, make_robot: Any, monkeypatch: Any
) -> None:
    items = [Item("cup", [(0.0, ring(0.4, 5.4))])]
    library, rounds, truth = pair(open_memory, make_robot, items, DRIFT, TWO_ROUNDS)
    rounds.drive(library)

    def full(**_: Any) -> Any:
        raise OSError("no space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("r4_ros.memory.anew.tempfile.TemporaryDirectory", full)
        assert rounds.correct(library).anchors
    assert not library.corrections() and library._store.problems() == []
    rounds.correct(library, turned(-0.5, 0.5, 0.0))
    rounds.correct(library)
    compare(library, truth)
