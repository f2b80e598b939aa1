"""What was first seen in pieces is one entry once these fill one space; look-alikes that stand close never are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.model import CorrectionKind, EntryCorrection, EventKind, Query, Visibility
from r4_ros.memory.one_space import REASON

S = 1_000_000_000
TRUNCATED = {"visibility": Visibility.TRUNCATED}


def part(thing: Any, low: float, high: float, label: str = "counter", **more: Any) -> Any:
    """A part of a thing that runs along y."""
    return thing(label, (3.0, (low + high) / 2, 0.45), (0.6, high - low, 0.9)).seen(**{**TRUNCATED, **more})


def seen_from_both_ends(memory: Any, robot: Any, thing: Any) -> tuple[str, str]:
    """A counter of 4 m whose ends are seen first; gives the ids of the two entries."""
    memory.ingest(robot.frame(0, part(thing, -2.0, -1.4), thing("mug", (3, -1.8, 1.0))))
    memory.ingest(robot.frame(1, part(thing, 1.4, 2.0)))
    first, second = (e for e in memory.entries() if e.label == "counter")
    return first.entry_id, second.entry_id


def test_pieces_that_meet_in_a_frame_with_an_anchor_of_its_own_are_one_thing(
    memory: Any, robot: Any, thing: Any
) -> None:
    """Each 6 s later, so that both hang on the anchor of the frame that shows them to be one."""
    seen_from_both_ends(memory, robot, thing)
    for k in range(8):
        memory.ingest(robot.frame(8 + 6 * k, part(thing, -2.0 + 0.4 * k, -0.8 + 0.4 * k)))
    [counter] = [e for e in memory.entries() if e.label == "counter"]
    assert counter.count == 10 and len(memory.merges()) == 1 and memory._store.problems() == []


def test_pieces_that_grow_into_each_other_are_one_thing(open_memory: Any, robot: Any, thing: Any) -> None:
    library = open_memory()
    first, second = seen_from_both_ends(library, robot, thing)
    receipts = [library.ingest(robot.frame(2 + k, part(thing, -2.0 + 0.4 * k, -0.8 + 0.4 * k))) for k in range(8)]
    [counter] = [e for e in library.entries() if e.label == "counter"]
    assert counter.entry_id == first and counter.count == 10
    assert counter.stays[-1].box.extent[1] == pytest.approx(4.0, abs=0.05)
    assert [r.removed for r in receipts if r.removed] == [(second,)]
    assert second not in {e.entry_id for r in receipts[-2:] for e in r.changed}
    [record] = library.merges()
    assert (record.kept_id, record.merged_id, record.reason) == (first, second, REASON)
    assert [e.kind for e in library.events() if e.label == "counter"] == [EventKind.APPEARED]
    by_old_id = Query(entry_ids=(second,))
    known = library.entries(), library.placed(), library.retrieve(by_old_id), library.events()
    assert [e.entry_id for e in known[2].entries] == [first]
    library.close()
    library = open_memory()
    assert (library.entries(), library.placed(), library.retrieve(by_old_id), library.events()) == known
    library.ingest(robot.frame(20, part(thing, 1.0, 2.0)))
    assert len(library.entries()) == 2 and library._store.problems() == []


def test_a_piece_inside_of_what_is_known_by_now_is_taken_in(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("chair", (3.2, 0.18, 0.05), (0.03, 0.03, 0.1)).seen(**TRUNCATED)))  # a leg
    memory.ingest(robot.frame(1, thing("chair", (3.0, 0.0, 0.7), (0.45, 0.45, 0.5)).seen(**TRUNCATED)))
    assert len(memory.entries()) == 2
    memory.ingest(robot.frame(2, thing("chair", (3.0, 0.0, 0.45), (0.45, 0.45, 0.9))))
    assert len(memory.entries()) == 1


@pytest.mark.parametrize("pruned", [False, True])
def test_what_one_frame_saw_as_two_stays_two(open_memory: Any, robot: Any, thing: Any, pruned: bool) -> None:
    library = open_memory()
    library.ingest(robot.frame(0, part(thing, -2.0, -1.4), part(thing, 1.4, 2.0)))
    if pruned:
        library.ingest(robot.frame(0.5))
        library._store.prune(before_ns=S // 4)
        library.close()
        library = open_memory()
    for k in range(8):
        library.ingest(robot.frame(1 + k, part(thing, -2.0 + 0.4 * k, -0.8 + 0.4 * k)))
    assert len(library.entries()) == 2 and not library.merges()


def test_things_of_another_kind_or_colour_or_that_are_gone_stay_two(memory: Any, robot: Any, thing: Any) -> None:
    def two(y: float, label: str, other: str, first: dict[str, Any], second: dict[str, Any]) -> None:
        memory.ingest(robot.frame(next(clock), thing(label, (3, y - 0.35, 0.4), (0.6, 0.4, 0.8)).seen(**first)))
        memory.ingest(robot.frame(next(clock), thing(other, (3, y + 0.35, 0.4), (0.6, 0.4, 0.8)).seen(**second)))
        for _ in range(8):
            memory.ingest(robot.frame(next(clock), thing(other, (3, y + 0.1, 0.4), (0.6, 0.9, 0.8)).seen(**second)))

    clock = itertools.count()
    two(-3.0, "box", "crate", {}, TRUNCATED)
    red, blue = ({"attributes": (("color", color),)} for color in ("red", "blue"))
    two(3.0, "box", "box", red, blue)
    assert not memory.merges()


def test_what_people_spoke_of_is_left_to_them(memory: Any, robot: Any, thing: Any) -> None:
    first, _ = seen_from_both_ends(memory, robot, thing)
    memory.correct(EntryCorrection(CorrectionKind.RENAME, first, label="counter"), 2 * S)
    for k in range(8):
        memory.ingest(robot.frame(2 + k, part(thing, -2.0 + 0.4 * k, -0.8 + 0.4 * k)))
    assert len(memory.entries()) == 3 and not memory.merges()


def row_of_chairs(thing: Any, count: int, spacing: float) -> list[Any]:
    return [thing("chair", (3.0, spacing * i, 0.45), (0.45, 0.45, 0.9)) for i in range(count)]


@given(
    spacing=st.floats(0.65, 0.8),
    seed=st.integers(0, 10_000),
    alone=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_a_row_of_equal_chairs_is_never_merged(
    spacing: float, seed: int, alone: bool, make_memory: Any, make_robot: Any, thing: Any
) -> None:
    """Seen one by one or several at a time, whole or cut off at a side, with noise of 3 cm.

    They stand farther apart than a thing of this size may seem to move from one sighting to the next.
    """
    robot, rng = make_robot(depth=2.0), np.random.default_rng(seed)  # what isn't named is there, and blocks the view
    chairs = row_of_chairs(thing, 5, spacing)
    with make_memory() as memory:
        truth: dict[tuple[int, int], int] = {}
        for n in range(25):
            which = rng.permutation(5)[: 1 if alone else rng.integers(1, 4)].tolist()
            views = [noisy(chairs[k], rng) for k in which]
            frame = robot.frame(n * 0.5, *views)
            memory.ingest(frame)
            truth |= {(frame.stamp_ns, i): k for i, k in enumerate(which)}
        owners = owners_of(memory)
        mixed = [names for names in chairs_of(owners, truth).values() if len(names) > 1]
        assert not mixed and not memory.merges() and len(memory.entries()) == len(set(truth.values()))


def noisy(chair: Any, rng: np.random.Generator) -> Any:
    """A view of a chair; every third one lacks up to half of it on one side."""
    x, y, z = np.asarray(chair.centre) + rng.normal(0, 0.015, 3).clip(-0.03, 0.03)
    if rng.random() < 0.66:
        return chair.at(x, y, z)
    cut = rng.uniform(0.05, 0.25) * rng.choice([-1, 1])
    _, width, height = chair.extent
    seen = chair.at(x, y + cut / 2, z).seen(**TRUNCATED)
    return type(chair)(chair.label, seen.centre, (chair.extent[0], width - abs(cut), height), seen.more)


def owners_of(memory: Any) -> dict[tuple[int, int], str]:
    """(stamp, index) of each observation -> id of its entry now."""
    rows = memory._store._file.execute(
        "SELECT stamp_ns, idx, slot FROM observation JOIN frame USING(frame_id) WHERE slot IS NOT NULL"
    )
    kept = {slot: into for slot, _, into in memory._store.merged()}
    return {(stamp, index): str(kept.get(slot, slot)) for stamp, index, slot in rows}


def chairs_of(owners: dict[tuple[int, int], str], truth: dict[tuple[int, int], int]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for key, entry in owners.items():
        found.setdefault(entry, set()).add(truth[key])
    return found


@given(seed=st.integers(0, 10_000), thickness=st.floats(0.02, 0.05), stacked=st.booleans())
@settings(max_examples=12, deadline=None)
def test_books_on_a_shelf_and_boxes_on_a_stack_are_never_merged(
    seed: int, thickness: float, stacked: bool, make_memory: Any, make_robot: Any, thing: Any
) -> None:
    """The camera passes along; each frame shows some that stand side by side, the outermost ones cut off."""
    robot, rng = make_robot(), np.random.default_rng(seed)
    size = 0.25 if stacked else thickness
    with make_memory() as memory:
        for n in range(25):
            first = int(rng.integers(0, 6))
            views = []
            for k in range(first, first + 3):
                at = (3.0, 0.0, size * k) if stacked else (3.0, size * k, 1.0)
                extent = (0.4, 0.4, size) if stacked else (0.2, size, 0.25)
                centre = np.asarray(at) + rng.normal(0, 0.004, 3)
                edge = k in (first, first + 2)
                views.append(thing("book", tuple(centre), extent).seen(**(TRUNCATED if edge else {})))
            memory.ingest(robot.frame(n * 0.3, *views))
        assert not memory.merges() and len(memory.entries()) >= 3
