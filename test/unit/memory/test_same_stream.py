"""The same stream gives the same memory: at once, with restarts, resent, late; wrong labels are outvoted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from r4_ros.core import intervals
from r4_ros.core.model import FOREVER, Frame, Interval, Motion, Visibility
from r4_ros.memory.library import Library

S = 1_000_000_000
LABELS = ("mug", "cup", "chair", "book")


def stream(robot: Any, thing: Any, seed: int, count: int = 25) -> list[Frame]:
    """Frames of look-alikes with noise, cut-off views, tracks, things that are taken away, and wrong labels."""
    rng = np.random.default_rng(seed)
    things = [
        thing(LABELS[k % 4], (2.0 + 0.4 * (k % 3), 0.35 * k - 1.2, 0.8), tuple(rng.uniform(0.08, 0.5, 3)))
        for k in range(8)
    ]
    frames = []
    for n in range(count):
        seen = []
        for k, one in enumerate(things):
            if rng.random() < 0.4 or (k == 3 and n > count // 2):
                continue
            centre = np.asarray(one.centre) + rng.normal(0, 0.02, 3)
            label = one.label if rng.random() < 0.9 else str(rng.choice(LABELS))
            how = Visibility.TRUNCATED if rng.random() < 0.3 else Visibility.VISIBLE
            color = "red" if k % 2 else str(rng.choice(["blue", "green"], p=[0.8, 0.2]))
            more = {"visibility": how, "confidence": 0.7, "attributes": (("color", color),)}
            if k == 5:
                more["track_id"] = "5"
            seen.append(thing(label, tuple(centre), one.extent).seen(**more))
        robot.where = (0.05 * n, 0.0, 0.02 * n)
        frames.append(robot.frame(n * 0.4, *seen))
    return frames


def known(library: Library) -> Any:
    return library.entries(), library.events(), library.placed(), library.merges(), library.trail("r1")


@example(seed=3714, restarts={15}, resent=False)  # a view at the very distance from which a new one is kept
@given(seed=st.integers(0, 10_000), restarts=st.sets(st.integers(1, 24), max_size=3), resent=st.booleans())
@settings(max_examples=6, deadline=None)
def test_restarts_and_resent_frames_change_nothing(
    seed: int, restarts: set[int], resent: bool, make_memory: Any, reopen: Any, make_robot: Any, thing: Any
) -> None:
    frames = stream(make_robot(), thing, seed)
    with make_memory() as straight:
        for frame in frames:
            straight.ingest(frame)
        expected = known(straight)
    library = make_memory()
    for n, frame in enumerate(frames):
        if n in restarts:
            library = reopen(library)
        library.ingest(frame)
        if resent:
            revision = library.revision
            assert library.ingest(frames[n // 2]).stored == 0 and library.revision == revision
    with library:
        assert known(library) == expected


@given(seed=st.integers(0, 10_000), size=st.integers(2, 25), resent=st.booleans())
@settings(max_examples=6, deadline=None)
def test_frames_that_are_stored_together_leave_what_they_leave_one_by_one(
    seed: int, size: int, resent: bool, make_memory: Any, reopen: Any, make_robot: Any, thing: Any
) -> None:
    frames = stream(make_robot(), thing, seed)
    with make_memory() as straight:
        for frame in frames:
            straight.ingest(frame)
        straight = reopen(straight)
        expected = known(straight), straight.info()["rows"]
        straight.close()
    library = make_memory()
    for i in range(0, len(frames), size):
        with library.together():
            for n, frame in enumerate(frames[i : i + size], i):
                library.ingest(frame)
                if resent:
                    assert library.ingest(frames[(i + n) // 2]).stored == 0
    assert known(library) == expected[0]
    with reopen(library) as library:
        assert (known(library), library.info()["rows"]) == expected


@pytest.fixture
def reopen(clock: Any) -> Any:
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.sqlite_store import SqliteStore

    def again(library: Library) -> Library:
        path = Path(str(library.info()["path"]))
        library.close()
        return Library(SqliteStore(path), MemoryConfig(), None, clock)

    return again


@given(seed=st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_a_label_that_is_wrong_one_time_in_ten_is_outvoted(
    seed: int, make_memory: Any, make_robot: Any, thing: Any
) -> None:
    robot, rng = make_robot(), np.random.default_rng(seed)
    vases = [thing("vase", (2, 0.8 * k, 0.8), (0.2, 0.2, 0.3)) for k in range(4)]
    with make_memory() as memory:
        for n in range(30):
            wrong = rng.random(4) < (0.1 if n else 0.0)
            seen = [replace(v, label="bottle") if w else v for v, w in zip(vases, wrong, strict=True)]
            memory.ingest(robot.frame(n * 0.2, *seen))
        assert [e.label for e in memory.entries()] == ["vase"] * 4
        assert [e.count for e in memory.entries()] == [30] * 4


@given(stamps=st.lists(st.integers(0, 49), min_size=1, max_size=25), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_late_and_doubled_sightings_give_the_intervals_of_a_plain_reading(
    stamps: list[int], seed: int, make_memory: Any, make_robot: Any, thing: Any
) -> None:
    """Late by up to 5 s (a tenth of a second each step); in whatever order, the intervals are those of the stamps."""
    robot, mug = make_robot(), thing("mug", (2, 0, 0.8))
    with make_memory(sighting_gap_s=1.0) as memory:
        for stamp in stamps:
            memory.ingest(robot.frame(100 + stamp / 10, mug))
        (entry,) = memory.entries()
        times = sorted({round((100 + stamp / 10) * 1e9) for stamp in stamps})
        assert entry.sightings == plain_intervals(times, S)
        assert entry.count == len(times) and entry.first_seen == times[0] and entry.last_seen == times[-1]
        assert [(p.start, p.last_seen, p.end) for p in entry.presence] == [(times[0], times[-1], FOREVER)]
        assert intervals.merge(entry.sightings) == entry.sightings


def plain_intervals(times: list[int], gap_ns: int) -> tuple[Interval, ...]:
    """Half-open, a single sighting 1 ns long; sightings up to the gap apart are one."""
    found: list[list[int]] = []
    for t in times:
        if found and t - found[-1][1] <= gap_ns:
            found[-1][1] = t
        else:
            found.append([t, t])
    return tuple(Interval(start, last + 1) for start, last in found)


def test_motion_is_inferred_from_history(memory: Any, robot: Any, thing: Any) -> None:
    shelf, mug, cat = thing("shelf", (4, 2, 1)), thing("mug", (2, 0, 0.8)), thing("cat", (3, -2, 0.2))
    for n in range(14):
        step = 0.0 if n < 3 else 0.8 * n
        seen = [shelf.seen(track_id="s"), mug.at(2, 0.0 if n < 7 else 1.0, 0.8).seen(track_id="m")]
        seen.append(cat.at(3 + step, -2, 0.2).seen(track_id="c"))
        memory.ingest(robot.frame(n * 0.5, *seen))
    assert {e.label: e.motion for e in memory.entries()} == {
        "shelf": Motion.STATIC,
        "mug": Motion.MOVABLE,
        "cat": Motion.DYNAMIC,
    }
