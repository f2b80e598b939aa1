"""``r4 bench history``: does the database of a robot that sees things day after day stay within its budget?

The clock is simulated. Of each day some minutes are driven at full rate, and the budget is as much smaller as these are
shorter than a day; so trail, anchors and observations have the proportions of a whole day. What is the same however
long a day is (the newest 4,096 views with their depth, an empty database) comes on top. With whole days, views are
settled long before their frames' history goes; with many minutes a day here it is the other way round, and frames stay.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, quat_from_yaw
from r4_ros.core.model import NS_PER_S, OPTICAL_TO_BASE, Box, Frame, Observation, Pose, View
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.sqlite_store import SqliteStore

FRAMES_PER_S, PER_FRAME = 5, 10
_DAY_S, _MINUTE_S = 86_400, 60
_START_S = 1_800_000_000
_SPEED, _RADIUS_M = 0.3, 3.0
"""Metres a second, along a circle."""
_THINGS = 200
_ALWAYS_MB = 3


def bench_history(days: int, minutes: int, budget_mb: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Drive so many minutes on each of so many days, with a budget for whole days of ``budget_mb``."""
    share = minutes * _MINUTE_S / _DAY_S
    budget = _ALWAYS_MB + max(1, round(budget_mb * share))
    config = replace(MemoryConfig(), history_mb=budget, history_days=0.0, writer_silence_s=0.0)
    largest = on_disk = 0
    with tempfile.TemporaryDirectory(prefix="r4-bench-") as folder:
        path = Path(folder) / "memory.db"
        with open_library(path, config) as library:
            for day in range(days):
                say(f"day {day + 1} of {days}")
                used = _drive(library, day, minutes)
                disk = path.stat().st_size
                largest, on_disk = max(largest, used), max(on_disk, disk)
            rows: Any = library.info()["rows"]
            dropped: Any = library.info()["dropped"]
        store = SqliteStore(path)
        pruned = store.prune()
        store.close()
    seen = days * minutes * _MINUTE_S * FRAMES_PER_S * PER_FRAME
    return {
        "days": days,
        "observations_per_s": FRAMES_PER_S * PER_FRAME,
        "share_of_day": round(share, 6),
        "observations": seen,
        "observations_dropped": dropped["observations"],
        "observations_kept": rows["observation"],
        "budget_mb": budget,
        "largest_mb": round(largest / 1e6, 3),
        "file_mb": round(on_disk / 1e6, 3),
        "within": largest <= budget * 1_000_000,
        "bytes_per_observation": round((pruned.bytes_before - pruned.bytes_after) / pruned.observations),
        "without_observations_mb": round(pruned.bytes_after / 1e6, 3),
        "days_of_observations_kept": round(rows["observation"] / (seen / days), 1),
    }


def _drive(library: Library, day: int, minutes: int) -> int:
    """One day's driving; gives the largest size in use, in bytes, with history dropped once a second."""
    largest = 0
    for number, frame in enumerate(_frames(day, minutes)):
        library.ingest(frame)
        if number % FRAMES_PER_S == 0:
            library.keep_history()
            largest = max(largest, library.used_bytes())
    return largest


def _frames(day: int, minutes: int) -> Iterator[Frame]:
    rng = np.random.default_rng(day)
    angles = np.arange(_THINGS) / _THINGS
    for number in range(minutes * _MINUTE_S * FRAMES_PER_S):
        stamp_ns = (_START_S + day * _DAY_S) * NS_PER_S + number * NS_PER_S // FRAMES_PER_S
        turn = number / FRAMES_PER_S * _SPEED / (2 * math.pi * _RADIUS_M) % 1.0
        ahead = np.argsort((angles - turn) % 1.0)[:PER_FRAME]
        yield _frame(day, number, stamp_ns, turn, ahead.tolist(), rng.normal(0, 0.01, (PER_FRAME, 3)))


def _frame(day: int, number: int, stamp_ns: int, turn: float, things: list[int], noise: Any) -> Frame:
    at = 2 * math.pi * turn
    base = Pose((_RADIUS_M * math.cos(at), _RADIUS_M * math.sin(at), 1.0), quat_from_yaw(at + math.pi / 2))
    sensor = compose(base, inverse(OPTICAL_TO_BASE))
    back = inverse(sensor)
    observations = []
    for index, (thing, (dx, dy, dz)) in enumerate(zip(things, noise.tolist(), strict=True)):
        angle = 2 * math.pi * thing / _THINGS
        place = Pose((5 * math.cos(angle) + dx, 5 * math.sin(angle) + dy, 0.5 + thing % 3 * 0.5 + dz))
        pose = Pose(compose(back, place).position, back.orientation)
        observations.append(
            Observation(index, f"kind {thing % 20}", Box(pose, (0.1, 0.1, 0.1)), confidence=0.9, track_id=f"t{thing}")
        )
    return Frame(
        agent_id="robot",
        camera="front",
        writer=f"day {day}",
        sequence=number + 1,
        session=0,
        stamp_ns=stamp_ns,
        map_id="home",
        map_frame="map",
        sensor_frame="camera",
        sensor_in_map=sensor,
        view=View(1.2, 0.9, 0.1, 10.0, np.full((12, 16), 4.0, np.float32)),
        sensor_in_odom=sensor,
        observations=tuple(observations),
    )
