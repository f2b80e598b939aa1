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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, quat_from_yaw
from r4_ros.core.model import NS_PER_S, OPTICAL_TO_BASE, Box, Frame, Observation, Pose, View
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.sqlite_store import SqliteStore

FRAMES_PER_S, PER_FRAME = 5, 10
THINNED_S = 5.0
"""Of whole days a frame is driven this often: as often as there is an anchor."""
_DAY_S, _MINUTE_S = 86_400, 60
_START_S = 1_800_000_000
_SPEED, _RADIUS_M = 0.3, 3.0
"""Metres a second, along a circle."""
_THINGS = 200
_ALWAYS_MB = 3


@dataclass
class Drive:
    """Days that were driven so far. ``seconds`` of each, with a frame each ``period_s``; sizes in bytes."""

    seconds: int
    period_s: float
    days: int = 0
    largest: int = 0
    on_disk: int = 0

    @property
    def observations(self) -> int:
        """How many were made."""
        return self.days * round(self.seconds / self.period_s) * PER_FRAME

    def day(self, library: Library, path: Path) -> None:
        """Drive one more day, with history dropped once a second."""
        every = max(1, round(1.0 / self.period_s))
        for number, frame in enumerate(self._frames()):
            library.ingest(frame, tell=False)
            if number % every == 0:
                library.keep_history()
                self.largest = max(self.largest, library.used_bytes())
        self.on_disk = max(self.on_disk, path.stat().st_size)
        self.days += 1

    def _frames(self) -> Iterator[Frame]:
        rng = np.random.default_rng(self.days)
        angles = np.arange(_THINGS) / _THINGS
        for number in range(round(self.seconds / self.period_s)):
            stamp_ns = (_START_S + self.days * _DAY_S) * NS_PER_S + round(number * self.period_s * NS_PER_S)
            turn = number * self.period_s * _SPEED / (2 * math.pi * _RADIUS_M) % 1.0
            ahead = np.argsort((angles - turn) % 1.0)[:PER_FRAME]
            noise = rng.normal(0, 0.01, (PER_FRAME, 3))
            yield _frame(self.days, number, stamp_ns, turn, ahead.tolist(), noise)


def bench_history(days: int, minutes: int, budget_mb: int, whole: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Drive so many minutes on each of so many days, with a budget for whole days of ``budget_mb``.

    ``whole``: drive all of each day with few frames, within ``budget_mb`` itself.
    """
    drive = Drive(_DAY_S, THINNED_S) if whole else Drive(minutes * _MINUTE_S, 1.0 / FRAMES_PER_S)
    budget = budget_mb if whole else _ALWAYS_MB + max(1, round(budget_mb * drive.seconds / _DAY_S))
    with tempfile.TemporaryDirectory(prefix="r4-bench-") as folder:
        path = Path(folder) / "memory.db"
        with open_library(path, config_of(budget)) as library:
            for day in range(days):
                say(f"day {day + 1} of {days}")
                drive.day(library, path)
        return history_figures(path, drive, budget)


def config_of(budget_mb: int) -> MemoryConfig:
    """Of a memory that drops nothing for its age."""
    return replace(MemoryConfig(), history_mb=budget_mb, history_days=0.0, writer_silence_s=0.0)


def history_figures(path: Path, drive: Drive, budget_mb: int) -> dict[str, Any]:
    """What became of the drive in a database that nobody has open; all its observations are dropped in the end."""
    store = SqliteStore(path)
    rows, dropped, pruned = store.counts(), store.dropped(), store.prune()
    store.close()
    return {
        "days": drive.days,
        "observations_per_s": round(PER_FRAME / drive.period_s, 1),
        "share_of_day": round(drive.seconds / _DAY_S, 6),
        "observations": drive.observations,
        "observations_dropped": dropped.observations,
        "observations_kept": rows["observation"],
        "rows": rows,
        "budget_mb": budget_mb,
        "largest_mb": round(drive.largest / 1e6, 3),
        "file_mb": round(drive.on_disk / 1e6, 3),
        "within": drive.largest <= budget_mb * 1_000_000,
        "bytes_per_observation": round((pruned.bytes_before - pruned.bytes_after) / pruned.observations),
        "without_observations_mb": round(pruned.bytes_after / 1e6, 3),
        "days_of_observations_kept": round(rows["observation"] / (drive.observations / drive.days), 1),
    }


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
