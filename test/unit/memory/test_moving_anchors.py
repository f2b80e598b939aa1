"""Anchors are moved beside what queries see: these see all as before, or all as it is now, and never wait long."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import Loop, shelf

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import StoreError
from r4_ros.core.geometry import bounds, compose, transform_box
from r4_ros.core.model import IDENTITY, Anchor, Box, Pose, Query
from r4_ros.memory import merger as merger_module
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.boxes import half_axes
from r4_ros.memory.columns import span
from r4_ros.memory.library import Library
from r4_ros.memory.merger import torn
from r4_ros.memory.store import AnchorRecord

SHIFTS = [Pose((0.7 * i, -0.4 * i, 0.0)) for i in range(6)]


def turned(rng: np.random.Generator) -> Pose:
    q = rng.normal(size=4)
    x, y, z, w = (q / np.linalg.norm(q)).tolist()
    px, py, pz = rng.uniform(-9, 9, 3).tolist()
    return Pose((px, py, pz), (x, y, z, w))


@given(seed=st.integers(0, 1000), count=st.sampled_from([1, 7, 9000]))
@settings(max_examples=12, deadline=None)
def test_many_boxes_are_placed_as_one_by_one(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    poses = [turned(rng) for _ in range(3)]
    records = [AnchorRecord("c", Anchor(i, "r", 0, "m", i, pose)) for i, pose in enumerate(poses)]
    book = AnchorBook(MemoryConfig(), records)
    boxes = [Box(turned(rng), (0.3, 0.2, 1.0)) for _ in range(5)]
    which, on = rng.integers(0, 5, count), rng.integers(0, 3, count).astype(np.int32)
    points = np.array([boxes[k].pose.position for k in which])
    numbers = np.array([(*boxes[k].pose.position, *boxes[k].pose.orientation, *boxes[k].extent) for k in which])
    centre, half = book.place_boxes(on, points, half_axes(numbers))
    for n in [*rng.integers(0, count, 5).tolist(), count - 1]:
        low, high = bounds(transform_box(poses[on[n]], boxes[which[n]]))
        np.testing.assert_allclose(centre[n], (low + high) / 2, atol=1e-9)
        np.testing.assert_allclose(half[n], (high - low) / 2, atol=1e-9)


def test_a_book_with_moved_anchors_leaves_the_old_one_as_it_was() -> None:
    records = [AnchorRecord("c", Anchor(i, "r", 0, "m", i, IDENTITY)) for i in range(3)]
    book = AnchorBook(MemoryConfig(), records)
    moved = Anchor(1, "r", 0, "m", 1, Pose((1, 2, 3)), None, IDENTITY)
    assert book.in_anchor(book[1], Pose((5, 5, 5))).position == (5, 5, 5)
    other = book.moved([moved])
    points, on = np.zeros((3, 3)), np.arange(3, dtype=np.int32)
    assert book.place(on, points).tolist() == [[0, 0, 0]] * 3
    assert other.place(on, points).tolist() == [[0, 0, 0], [1, 2, 3], [0, 0, 0]] and other[1] == moved
    book.take(other)
    assert book[1] == moved and book.in_anchor(moved, Pose((5, 5, 5))).position == (4, 3, 2)
    assert len(book) == 3 and book.latest("r", "m", 1) == moved


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(0, 120),
    side=st.sampled_from([0.5, 3.0, 60.0, 4000.0]),
    steps=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_all_that_comes_near_to_another_is_in_what_is_torn(seed: int, count: int, side: float, steps: int) -> None:
    rng = np.random.default_rng(seed)
    was = np.column_stack([rng.uniform(-side, side, (count, 2)), rng.uniform(0, 3, count)])
    shifts = rng.choice([0.0, 0.1, 0.4, 3.0], (steps, 3))
    now = was + shifts[rng.integers(0, steps, count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merger_module, "_MOST_CELLS", 16)
        found = torn(was, now, 0.15, 1.0)
    near = np.linalg.norm(now[:, None] - now[None], axis=2) <= 1.0
    relative = np.linalg.norm((now - was)[:, None] - (now - was)[None], axis=2)
    assert found[(near & (relative >= 0.15)).any(axis=1)].all()
    if steps == 1:
        assert not found.any(), "what moved as a whole isn't torn"


def test_what_moved_alike_far_from_the_tear_is_left_alone() -> None:
    was = np.column_stack([np.linspace(0, 100, 400), np.zeros(400), np.zeros(400)])
    now = was + np.where(was[:, :1] > 50, [[0.0, 1.0, 0.0]], 0.0)
    found = torn(was, now, 0.15, 1.0)
    assert found.any() and np.abs(was[found, 0] - 50).max() < 3


def test_queries_see_all_of_the_old_or_all_of_the_new(open_memory: Any, robot: Any, thing: Any) -> None:
    """Corrections come one after the other, each with another shift of everything, while threads ask."""
    library: Library = open_memory()
    loop = Loop(robot, shelf(thing))
    for frame in loop.frames(30):
        library.ingest(frame)
    stamps, poses = loop.correction()
    library.correct_anchors("r1", stamps, poses)
    whole = {e.entry_id: e.box.pose.position for e in library.retrieve(Query(limit=99)).entries}
    seen: set[int] = set()
    wrong: list[Any] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            found = library.retrieve(Query(limit=99))
            moved = [np.subtract(e.box.pose.position, whole[e.entry_id]) for e in found.entries]
            trail = library.trail("r1")[0].pose.position
            steps = {round(float(m[0]) / 0.7) for m in moved}
            exact = all(np.allclose(m, SHIFTS[round(float(m[0]) / 0.7)].position, atol=1e-6) for m in moved)
            if len(moved) != len(whole) or len(steps) != 1 or not exact or not np.isfinite(trail).all():
                wrong.append((found.revision, moved))
            seen.update(steps)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for round_ in range(2000):
        if round_ >= 40 and len(seen) > 1:
            break
        shift = SHIFTS[round_ % len(SHIFTS)]
        library.correct_anchors("r1", stamps, [compose(shift, pose) for pose in poses])
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong and len(seen) > 1


def test_nothing_is_seen_of_a_correction_until_it_is_stored(
    memory: Any, robot: Any, thing: Any, monkeypatch: Any
) -> None:
    loop = Loop(robot, shelf(thing))
    for frame in loop.frames():
        memory.ingest(frame)
    before = memory.retrieve(Query(limit=99))
    seen: list[Any] = []
    pairs = memory._mover._merger.pairs

    def watched(*arguments: Any) -> Any:
        thread = threading.Thread(target=lambda: seen.append(memory.retrieve(Query(limit=99))))
        thread.start()
        thread.join(timeout=100)
        return pairs(*arguments)

    monkeypatch.setattr(memory._mover._merger, "pairs", watched)
    correction = memory.correct_anchors("r1", *loop.correction())
    assert seen == [before] and correction.removed
    after = memory.retrieve(Query(limit=99))
    assert after.revision == correction.revision and len(after.entries) == len(before.entries) - 1


def test_queries_do_not_wait_for_a_correction_without_merges_to_be_stored(
    memory: Any, robot: Any, thing: Any, monkeypatch: Any
) -> None:
    loop = Loop(robot, shelf(thing))
    for frame in loop.frames():
        memory.ingest(frame)
    stamps, poses = loop.correction()
    memory.correct_anchors("r1", stamps, poses)
    before = memory.retrieve(Query(limit=99))
    seen: list[Any] = []
    write = memory._store.write_anchor_correction

    def watched(*arguments: Any) -> None:
        thread = threading.Thread(target=lambda: seen.append(memory.retrieve(Query(limit=99))))
        thread.start()
        thread.join(timeout=100)
        write(*arguments)

    monkeypatch.setattr(memory._store, "write_anchor_correction", watched)
    correction = memory.correct_anchors("r1", stamps, [compose(SHIFTS[1], pose) for pose in poses])
    assert seen == [before] and correction.anchors and not correction.removed
    assert memory.retrieve(Query(limit=99)).revision == correction.revision > before.revision


def test_a_correction_that_cannot_be_stored_changes_nothing(
    memory: Any, robot: Any, thing: Any, monkeypatch: Any
) -> None:
    loop = Loop(robot, shelf(thing))
    for frame in loop.frames():
        memory.ingest(frame)
    stamps, poses = loop.correction()
    before = memory.retrieve(Query(limit=99))
    for path in (poses, [compose(SHIFTS[1], pose) for pose in poses]):  # the first one with merges
        with monkeypatch.context() as patched:
            patched.setattr(memory._store, "write_anchor_correction", _full)
            with pytest.raises(StoreError):
                memory.correct_anchors("r1", stamps, path)
        assert memory.retrieve(Query(limit=99)) == before
        memory.correct_anchors("r1", stamps, path)
        before = memory.retrieve(Query(limit=99))


def _full(*_: Any) -> None:
    raise StoreError("the disk is full")


@given(numbers=st.lists(st.integers(0, 6), max_size=5, unique=True))
def test_numbers_that_look_like_a_span_and_are_none_stay_as_they_are(numbers: list[int]) -> None:
    all_of_it = np.arange(8)
    assert all_of_it[span(np.array(numbers, np.int64))].tolist() == numbers
