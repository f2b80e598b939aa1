"""The history of observations within days and megabytes, while frames go on; entries know what they knew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import StoreError
from r4_ros.memory.library import Library, open_library

DAY_S = 24 * 3600.0
CONFIG = MemoryConfig(history_days=0.0, history_mb=0, writer_silence_s=0.0)


def dropped_all(library: Library) -> int:
    count = 0
    while (dropped := library.keep_history()).before_ns:
        count += dropped.observations
    return count


def drive(library: Library, robot: Any, thing: Any, start_s: float, frames: int, period_s: float = 0.5) -> None:
    for i in range(frames):
        things = [thing(f"kind {n % 7}", (1.0 + n % 5, n / 5 - 4, 0.5)) for n in range(i % 3, 20)]
        library.ingest(robot.frame(start_s + i * period_s, *things))


def test_what_is_older_than_the_days_goes_and_nothing_else(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    robot = make_robot()
    with open_library(tmp_path / "a.db", replace(CONFIG, history_days=2.0)) as library:
        for day in range(4):
            drive(library, robot, thing, 1000 + day * DAY_S, 30)
        known, events, before = library.entries(), library.events(), library.info()["rows"]
        trail = library.trail("r1")
        dropped = dropped_all(library)
        rows: Any = library.info()["rows"]
        assert dropped == before["observation"] - rows["observation"] > 0  # type: ignore[index]
        assert library.entries() == known and library.events() == events
        assert rows["observation"] == pytest.approx(before["observation"] * 2 / 4, rel=0.05)  # type: ignore[index]
        assert len(library.trail("r1")) < len(trail)
        for point in trail:  # the robot stood still
            assert library.trail_at("r1", point.stamp_ns).pose == point.pose
        assert library.info()["dropped"] == {
            "observations": dropped,
            "frames": before["frame"] - rows["frame"],  # type: ignore[index]
            "before_ns": library.info()["dropped"]["before_ns"],  # type: ignore[index]
        }
        assert not library.history_exceeds
    with open_library(tmp_path / "a.db", CONFIG) as library:
        assert library.entries() == known and library.info()["dropped"]["observations"] == dropped  # type: ignore[index]


def test_a_dropped_frame_that_comes_again_changes_nothing(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    robot = make_robot()
    first = robot.frame(10, thing("mug", (1, 0, 1)))
    with open_library(tmp_path / "a.db", replace(CONFIG, history_days=1.0)) as library:
        library.ingest(first)
        for i in range(20):
            library.ingest(robot.frame(11 + i * DAY_S / 10))
        assert dropped_all(library) == 1
        revision, known = library.revision, library.entries()
        assert library.ingest(first).stored == 0 and library.revision == revision and library.entries() == known


def test_the_file_stays_within_its_size_and_says_when_it_cannot(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    robot, config = make_robot(), replace(CONFIG, history_mb=1)
    largest = 0
    with open_library(tmp_path / "a.db", config) as library:
        for i in range(40):
            drive(library, robot, thing, 1000 + i * 100, 25, period_s=0.1)
            dropped_all(library)
            largest = max(largest, library._store.used_bytes())
        assert largest <= 1_000_000 and not library.history_exceeds
        assert library.info()["dropped"]["observations"] > 1000  # type: ignore[index]
    with open_library(tmp_path / "b.db", replace(config, history_mb=1)) as library:
        drive(library, robot, lambda label, at: thing(f"{label} {'x' * 30_000}", at), 1000, 12)
        dropped_all(library)
        assert library.history_exceeds


def test_the_newest_minute_is_kept_so_that_tracks_go_on(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    robot = make_robot()
    with open_library(tmp_path / "a.db", replace(CONFIG, history_days=1e-6)) as library:
        for i in range(100):
            library.ingest(robot.frame(10 + i, thing("ball", (1 + i / 10, 0, 1)).seen(track_id="t")))
        assert dropped_all(library) == 100 - 61
    with open_library(tmp_path / "a.db", replace(CONFIG, history_mb=1, history_days=0.0)) as library:
        library.ingest(robot.frame(110.5, thing("ball", (1 + 16, 0, 1)).seen(track_id="t")))
        assert len(library.entries()) == 1


def test_several_sessions_and_agents_are_dropped_by_their_own_clocks(
    tmp_path: Path, make_robot: Any, thing: Any
) -> None:
    old, new = make_robot(agent_id="old"), make_robot(agent_id="new")
    with open_library(tmp_path / "a.db", replace(CONFIG, history_days=1.0)) as library:
        drive(library, old, thing, 5 * DAY_S, 10)
        old.session, old.writer = 1, "w2"
        drive(library, old, thing, 100, 10)  # its clock was set back: the first part's age isn't known
        drive(library, new, thing, 50 * DAY_S, 10)
        assert dropped_all(library) == 0
        drive(library, old, thing, 100 + 2 * DAY_S, 10)
        assert dropped_all(library) > 0
        assert library._store.oldest_history().keys() == {("old", 0), ("old", 2), ("new", 0)}


def test_a_read_only_memory_drops_nothing(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    with open_library(tmp_path / "a.db", CONFIG) as library:
        drive(library, make_robot(), thing, 10, 3)
    reader = open_library(tmp_path / "a.db", replace(CONFIG, history_days=1e-9), read_only=True)
    with reader as library, pytest.raises(StoreError, match="read-only"):
        library.keep_history()


@given(per_frame=st.sampled_from([20, 60, 150]), period_s=st.floats(1.0, 40.0), seed=st.integers(0, 99))
@settings(max_examples=4, deadline=None)
def test_whatever_the_rate_history_keeps_to_its_budget_and_entries_to_the_world(
    tmp_path_factory: pytest.TempPathFactory, make_robot: Any, thing: Any, per_frame: int, period_s: float, seed: int
) -> None:
    """Of 15,000 sightings of 150 things, so many a frame, as long a time as that takes: 1 MB, and one entry a thing."""
    robot, rng = make_robot(), np.random.default_rng(seed)
    world = [thing(f"kind {n % 30}", (1.0 + n % 10, n // 10 - 7.0, 0.5)) for n in range(150)]
    path = tmp_path_factory.mktemp("budget") / "a.db"
    with open_library(path, replace(CONFIG, history_mb=1)) as library:
        for number in range(15_000 // per_frame):
            seen = [world[n] for n in sorted(rng.permutation(150)[:per_frame].tolist())]
            library.ingest(robot.frame(100 + number * period_s, *seen))
            dropped_all(library) if number % 10 == 0 else None
            assert number % 10 or library.used_bytes() <= 1_000_000 or library.history_exceeds
        dropped_all(library)
        rows: Any = library.info()["rows"]
        gone: Any = library.info()["dropped"]
        assert rows["observation"] + gone["observations"] == 15_000 // per_frame * per_frame
        assert (
            len(library.entries()) == 150 and sum(e.count for e in library.entries()) == 15_000 // per_frame * per_frame
        )
        minute = 60 / period_s * per_frame + 2 * per_frame  # what must stay
        assert library.used_bytes() <= 1_000_000 or rows["observation"] <= minute
        assert library.history_exceeds == (library.used_bytes() > 1_000_000)
