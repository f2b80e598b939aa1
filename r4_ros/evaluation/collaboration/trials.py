"""Searches alone and with another robot's memory, by how much of the searched space the other one had explored.

Each trial: the robot searches four of six rooms for a thing that is in one of them. Alone it knows nothing. The other
robot has explored none of the four (but the other two), two of them, or all; what it saw through doors into other
rooms is left out. The two ways of searching are the same code, with another ``agents`` in the query.
SPL: success * shortest / max(shortest, driven) (Anderson et al., arXiv 1807.06757).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.bridges.apartment.scene import ROOMS, room_at
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import FloatArray, Frame
from r4_ros.evaluation.collaboration.explorer import VIEWPOINTS, Explorer, Home, explore
from r4_ros.evaluation.collaboration.search import Found, Search, shortest
from r4_ros.memory.library import Library, open_library

OVERLAPS = (0, 50, 100)
SEARCHED_ROOMS = 4
HOMES = 5
"""Trials take turns in homes of as many seeds."""
ASKING, HELPING = "robot1", "robot2"
HELPER_START = (3.4, 1.6)
ASKING_START_S = 600.0
"""After all that the other robot does; the same in each way of searching, and so the noise of what is seen is."""
LEAST_WAY_M = 1.0
RESAMPLES = 2000


@dataclass(frozen=True)
class Task:
    """What is searched, where, from where; and which rooms the other robot explores at each overlap."""

    home_seed: int
    label: str
    rooms: tuple[str, ...]
    start: tuple[float, float]
    shortest_m: float
    explored: dict[int, tuple[str, ...]]


@dataclass(frozen=True)
class Outcome:
    """A task's search alone, and with the other one's memory by overlap, with the metres that the other one drove."""

    task: Task
    alone: Found
    shared: dict[int, tuple[Found, float]]


@lru_cache(maxsize=HOMES)
def home_of(seed: int) -> Home:
    """The apartment of a seed."""
    return Home(seed)


def tasks(count: int, seed: int = 0) -> Iterator[Task]:
    """The first ``count`` tasks of a seed: things that stand in one room only, starts anywhere in the apartment."""
    rng = np.random.default_rng([seed, 17])
    made = 0
    while made < count:
        task = _task(rng, (seed * HOMES) + made % HOMES)
        if task is not None:
            made += 1
            yield task


def _task(rng: np.random.Generator, home_seed: int) -> Task | None:
    home = home_of(home_seed)
    names = sorted(VIEWPOINTS)
    rooms = tuple(str(name) for name in rng.permutation(names)[:SEARCHED_ROOMS])
    standing = home.truth(home.start_ns)
    homes_of: dict[str, set[str]] = {}
    for thing in standing:
        homes_of.setdefault(thing.label, set()).add(thing.room)
    labels = sorted(label for label, where in homes_of.items() if len(where) == 1 and where <= set(rooms))
    label = str(rng.choice(labels))
    start = _start(rng, home)
    way = shortest(home, start, [thing for thing in standing if thing.label == label])
    if not np.isfinite(way) or way < LEAST_WAY_M:
        return None
    others = tuple(name for name in names if name not in rooms)
    half = tuple(str(name) for name in rng.permutation(list(rooms))[: SEARCHED_ROOMS // 2])
    return Task(home_seed, label, rooms, start, way, {0: others, 50: half, 100: rooms})


def _start(rng: np.random.Generator, home: Home) -> tuple[float, float]:
    while True:
        room = ROOMS[int(rng.integers(len(ROOMS)))]
        x, y = float(rng.uniform(room.x0, room.x1)), float(rng.uniform(room.y0, room.y1))
        if room.name in VIEWPOINTS and home.floor.clearance([(x, y)])[0] >= 0.3 and room_at(x, y) == room.name:
            return x, y


def run(chosen: Iterator[Task]) -> Iterator[Outcome]:
    """Each task's searches, alone and at each overlap."""
    for task in chosen:
        alone = _search(task, (), (ASKING,))
        shared = {}
        for overlap in OVERLAPS:
            frames, driven = _explored(task.home_seed, tuple(sorted(task.explored[overlap])))
            shared[overlap] = (_search(task, frames, ()), driven)
        yield Outcome(task, alone, shared)


def _search(task: Task, frames: Sequence[Frame], agents: tuple[str, ...]) -> Found:
    """One search in a memory that begins with another robot's frames."""
    home = home_of(task.home_seed)
    with tempfile.TemporaryDirectory() as folder:
        library = _memory(Path(folder), home)
        for frame in frames:
            library.ingest(frame)
        robot = Explorer(ASKING, home, library, *task.start, t=ASKING_START_S)
        found = Search(robot, task.label, task.rooms, agents).run()
        library.close()
    return found


@cache
def _explored(home_seed: int, rooms: tuple[str, ...]) -> tuple[tuple[Frame, ...], float]:
    """The other robot's frames of some rooms, and the metres that it drove for them."""
    home = home_of(home_seed)
    with tempfile.TemporaryDirectory() as folder:
        library = _memory(Path(folder), home)
        robot = Explorer(HELPING, home, library, *HELPER_START, t=0.0, rooms=frozenset(rooms))
        explore(robot, rooms)
        library.close()
    return tuple(robot.records), robot.path_m


def _memory(folder: Path, home: Home) -> Library:
    library = open_library(folder / "home.db", MemoryConfig(embedder="none"))
    library.set_regions(home.regions)
    return library


def figures(outcomes: Sequence[Outcome], seed: int = 0) -> dict[str, Any]:
    """Success, way and SPL alone and shared at each overlap; the gain in SPL as paired differences, in points.

    ``ci95``: percentile bootstrap over the tasks.
    """
    rng = np.random.default_rng([seed, 23])
    picks = rng.integers(len(outcomes), size=(RESAMPLES, len(outcomes)))
    alone = np.array([_spl(o.task, o.alone) for o in outcomes])
    found: dict[str, Any] = {"trials": len(outcomes), "alone": _side([o.alone for o in outcomes], alone, picks)}
    for overlap in OVERLAPS:
        asked = [o.shared[overlap][0] for o in outcomes]
        spl = np.array([_spl(o.task, f) for o, f in zip(outcomes, asked, strict=True)])
        both = np.array([_spl(o.task, o.shared[overlap][0], o.shared[overlap][1]) for o in outcomes])
        found[f"overlap_{overlap}"] = {
            **_side(asked, spl, picks),
            "told": round(float(np.mean([f.told for f in asked])), 4),
            "spl_summed": round(100 * float(both.mean()), 2),
            "gain": _interval(spl - alone, picks),
        }
    return found


def _spl(task: Task, found: Found, more_m: float = 0.0) -> float:
    return found.success * task.shortest_m / max(task.shortest_m, found.path_m + more_m)


def _side(
    found: Sequence[Found], spl: FloatArray, picks: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
) -> dict[str, Any]:
    return {
        "success": round(float(np.mean([f.success for f in found])), 4),
        "path_m": round(float(np.mean([f.path_m for f in found])), 2),
        "spl": _interval(spl, picks),
    }


def _interval(values: FloatArray, picks: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> dict[str, Any]:
    low, high = np.percentile(values[picks].mean(axis=1), (2.5, 97.5))
    return {"mean": round(100 * float(values.mean()), 2), "ci95": [round(100 * float(v), 2) for v in (low, high)]}
