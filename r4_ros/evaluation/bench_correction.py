"""``r4 bench correction``: a SLAM corrects a long way on which many things hang, while others ask where they are.

One robot drives strip by strip through a hall; its belief of where it is drifts, so the things that it sees at the end
where it saw some at the beginning are new to it. The correction puts all in its place, where these become one.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import (
    FOREVER,
    IDENTITY,
    NO_COVARIANCE,
    NS_PER_S,
    OPTICAL_TO_BASE,
    Anchor,
    Box,
    Entry,
    EntryState,
    FloatArray,
    Interval,
    Pose,
    Presence,
    Query,
    Stay,
    Visibility,
)
from r4_ros.core.pose_array import PoseArray
from r4_ros.evaluation.bench_data import MAP, START_NS
from r4_ros.evaluation.bench_fill import empty_frame
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.sqlite_store import SqliteStore
from r4_ros.memory.store import (
    EntryChange,
    FrameChange,
    StoredEntry,
)

AGENT, CAMERA = "r1", "front"
DRIFT = Pose((3.0, 2.0, 0.1), quat_from_yaw(0.01))
_PERIOD_NS = 5 * NS_PER_S
_STRIP_M, _AREA_M2, _KINDS, _EXTENT_M = 4.0, 2.0, 1000, 0.2
_SEEN_AGAIN = 100
_BATCH = 5000
_WATCHED = 64
_PAUSE_S = 0.005
"""Between two queries."""


@dataclass(frozen=True, eq=False)
class Way:
    """Anchors [m] where they are, where they were believed to be, and elsewhere, and things [n]: kind, anchor, place.

    ``aside``: both ends of the way are where they belong, so that what was seen again from the last anchor stays one.
    """

    true: PoseArray
    believed: PoseArray
    aside: PoseArray
    kind: npt.NDArray[np.int64]
    anchor: npt.NDArray[np.int64]
    local: FloatArray
    """Centres in the anchors' frames, metres."""

    @property
    def stamps(self) -> list[int]:
        """Of the anchors, ns."""
        return [START_NS + i * _PERIOD_NS for i in range(len(self.true))]

    def placed(self, anchors: PoseArray, rows: npt.NDArray[np.int64]) -> FloatArray:
        """Where things are in the map if the anchors stand like this."""
        at = anchors[self.anchor[rows]]
        return at.compose(PoseArray(self.local[rows], np.tile((0.0, 0.0, 0.0, 1.0), (len(rows), 1)))).positions


def make_way(entries: int, anchors: int, seed: int = 0) -> Way:
    """That many things and anchors; the last things are some of the first ones, seen again from the last anchor."""
    rng = np.random.default_rng(seed)
    again = min(_SEEN_AGAIN, entries // 4)
    centre = np.column_stack([rng.uniform(0, math.sqrt(entries * _AREA_M2), (entries, 2)), rng.uniform(0, 2, entries)])
    strip = (centre[:, 0] // _STRIP_M).astype(int)
    centre = centre[np.lexsort((np.where(strip % 2 == 0, centre[:, 1], -centre[:, 1]), strip))]
    kind, anchor = rng.integers(0, _KINDS, entries), np.arange(entries) * anchors // entries
    centre[-again:], kind[-again:], anchor[-again:] = centre[:again], kind[:again], anchors - 1
    counts = np.bincount(anchor[:-again], minlength=anchors)
    sums = [np.bincount(anchor[:-again], centre[:-again, axis], anchors) for axis in range(2)]
    places = np.column_stack([*sums / np.maximum(counts, 1), np.ones(anchors)])
    turns = np.array([quat_from_yaw(float(yaw)) for yaw in rng.uniform(-3, 3, anchors)])
    true = PoseArray(places, turns)
    start, end = (PoseArray.of([pose] * anchors) for pose in (IDENTITY, DRIFT))
    way = np.linspace(0, 1, anchors)
    believed = start.interpolate(end, way).compose(true)
    aside = start.interpolate(end, np.interp(way, (0.1, 0.5, 0.9), (0.0, 0.5, 0.0))).compose(true)
    local = true.inverse()[anchor].compose(PoseArray(centre, np.tile((0.0, 0.0, 0.0, 1.0), (entries, 1)))).positions
    return Way(true, believed, aside, kind, anchor, local)


def fill_way(path: Path, way: Way) -> None:
    """Write the way, as it was believed, and the things into a new file."""
    store = SqliteStore(path)
    try:
        for number, pose in enumerate(way.believed.poses()):
            store.write_frame(_anchored(way, number, pose))
        for first in range(0, len(way.kind), _BATCH):
            rows = range(first, min(first + _BATCH, len(way.kind)))
            changes = tuple(EntryChange(None, StoredEntry(row, _entry(way, row))) for row in rows)
            change = _anchored(way, len(way.true) - 1, IDENTITY)
            store.write_frame(replace(change, known=True, anchor=None, entries=changes))
    finally:
        store.close()


def _anchored(way: Way, number: int, pose: Pose) -> FrameChange:
    """A frame with an anchor of its own, in which nothing was seen."""
    stamp = START_NS + number * _PERIOD_NS
    return empty_frame(number + 1, Anchor(number, AGENT, 0, MAP, stamp, pose, pose), stamp)


def _entry(way: Way, row: int) -> Entry:
    stamp = START_NS + int(way.anchor[row]) * _PERIOD_NS
    x, y, z = way.local[row].tolist()
    label = f"kind {way.kind[row]}"
    box = Box(Pose((x, y, z)), (_EXTENT_M,) * 3)
    return Entry(
        entry_id=f"{row:016x}",
        agent_id=AGENT,
        revision=1,
        session=0,
        map_id=MAP,
        label=label,
        label_votes=((label, 1.0),),
        stays=(Stay(Interval(stamp, FOREVER), int(way.anchor[row]), box, NO_COVARIANCE, 1),),
        sightings=(Interval(stamp, stamp + 1),),
        presence=(Presence(stamp, stamp, stamp),),
        visibility=Visibility.VISIBLE,
        confidence=0.9,
        count=1,
        state=EntryState.UNKNOWN,
    )


class Watcher(threading.Thread):
    """Asks for a few things all over the way, again and again: all must stand as in one state."""

    def __init__(self, library: Library, way: Way) -> None:
        super().__init__(name="r4-bench-queries")
        rows = np.linspace(0, len(way.kind) - _SEEN_AGAIN - 1, _WATCHED).astype(np.int64)
        rows = np.unique(rows[rows >= min(_SEEN_AGAIN, len(way.kind) // 4)])
        self._library = library
        self._query = Query(entry_ids=tuple(f"{row:016x}" for row in rows), limit=_WATCHED)
        self._rows = {f"{row:016x}": n for n, row in enumerate(rows.tolist())}
        self._right = [way.placed(anchors, rows) for anchors in (way.believed, way.true, way.aside)]
        self._told = threading.Event()
        self.wrong, self.times_ms, self.seen = 0, list[float](), set[int]()

    def run(self) -> None:
        """Until it is told to stop."""
        while not self._told.wait(_PAUSE_S):
            self.ask()

    def ask(self) -> None:
        """Once."""
        start = time.perf_counter()
        found = self._library.retrieve(self._query, deadline_s=60.0).entries
        self.times_ms.append((time.perf_counter() - start) * 1e3)
        rows = [self._rows[e.entry_id] for e in found]
        places = np.array([e.box.pose.position for e in found])
        fits = [which for which, right in enumerate(self._right) if np.abs(places - right[rows]).max() < 1e-4]
        self.wrong += len(rows) != len(self._rows) or not fits
        self.seen.update(fits)

    def stop(self) -> None:
        """And wait for it."""
        self._told.set()
        self.join()


@dataclass
class _Clock:
    """How long the parts of a correction took, by name; and of the processor's time, without waiting for others."""

    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    worked: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def watch(self, owner: Any, method: str, name: str) -> None:
        """Time a method of an object from now on."""
        plain = getattr(owner, method)

        def timed(*arguments: Any, **named: Any) -> Any:
            start, began = time.perf_counter(), time.thread_time()
            result = plain(*arguments, **named)
            self.took[name].append(time.perf_counter() - start)
            self.worked[name].append(time.thread_time() - began)
            return result

        setattr(owner, method, timed)


def bench_correction(entries: int, anchors: int, rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Correct the way and lay it aside again, ``rounds`` times each, while a thread asks."""
    import scipy.spatial  # noqa: F401  loaded when entries are first merged

    say(f"making {entries:,} things on {anchors:,} anchors")
    way = make_way(entries, anchors)
    with tempfile.TemporaryDirectory(prefix="r4-bench-") as folder:
        path = Path(folder) / "memory.db"
        fill_way(path, way)
        start = time.perf_counter()
        with open_library(path, MemoryConfig()) as library:
            opened_s = time.perf_counter() - start
            watcher = Watcher(library, way)
            for _ in range(20):
                watcher.ask()
            alone_ms, watcher.times_ms = watcher.times_ms, []
            say("correcting")
            log = path.with_name(path.name + "-wal")
            logged = log.stat().st_size if log.exists() else 0
            clock, merged = _Clock(), 0
            _watch(clock, library)
            watcher.start()
            for poses in _turns(way, rounds):
                merged += len(library.correct_anchors(AGENT, way.stamps, poses).removed)
            watcher.stop()
            written = log.stat().st_size - logged
            still_right = _is_right(library, way)
    yardstick = _numpy_s(way)
    parts = {name: _figures(times) for name, times in clock.took.items()}
    memory, worked = (
        [t - r - w for t, r, w in zip(*(times[k] for k in ("total", "read", "write")), strict=True)]
        for times in (clock.took, clock.worked)
    )
    return {
        "entries": entries,
        "anchors": anchors,
        "corrections": 2 * rounds,
        "merged": merged,
        "in_memory": {**_figures(memory), "cpu_median_s": round(statistics.median(worked), 4)},
        "parts": parts,
        "numpy_s": round(yardstick, 4),
        "times_numpy": round(statistics.median(worked) / yardstick, 2),
        "start_s": round(opened_s, 3),
        "written_bytes_per_anchor": round(max(0, written) / anchors / 2 / rounds),
        "queries": {
            "answered": len(watcher.times_ms),
            "wrong": watcher.wrong + (not still_right),
            "saw": sorted(("believed", "true", "aside")[which] for which in watcher.seen),
            "alone_p50_ms": round(statistics.median(alone_ms), 3),
            "p50_ms": round(statistics.median(watcher.times_ms), 3),
            "longest_ms": round(max(watcher.times_ms), 3),
        },
    }


def _turns(way: Way, rounds: int) -> Iterator[list[Pose]]:
    """Base poses of the nodes: as they are, then aside, and so on."""
    base = PoseArray.of([OPTICAL_TO_BASE] * len(way.true))
    there, aside = (anchors.compose(base).poses() for anchors in (way.true, way.aside))
    for _ in range(rounds):
        yield there
        yield aside


def _watch(clock: _Clock, library: Library) -> None:
    clock.watch(library, "correct_anchors", "total")
    clock.watch(library._anchor_corrector, "prepare", "path")
    clock.watch(library._index, "beside", "places")
    clock.watch(library._mover._merger, "pairs", "pairs")
    clock.watch(library._mover, "plan", "merging")
    clock.watch(library._mover, "take", "swap")
    clock.watch(library._store, "passed", "read")
    clock.watch(library._store, "write_anchor_correction", "write")


def _is_right(library: Library, way: Way) -> bool:
    """Whether all things that have one place only are where the last correction put them."""
    again = min(_SEEN_AGAIN, len(way.kind) // 4)
    rows = np.arange(again, len(way.kind) - again)
    centres = library._index.centres(rows)
    return bool(np.abs(centres - way.placed(way.aside, rows)).max() < 1e-4)


def _numpy_s(way: Way) -> float:
    """The yardstick: all boxes placed anew in plain numpy, nothing else."""
    rotations, axes = way.true.rotations(), np.tile((np.eye(3) * _EXTENT_M / 2), (len(way.kind), 1, 1))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        turned = rotations[way.anchor]
        centre = np.einsum("nij,nj->ni", turned, way.local) + way.true.positions[way.anchor]
        half = np.abs(turned @ axes).sum(axis=2)
        _ = centre - half, centre + half
        times.append(time.perf_counter() - start)
    return min(times)


def _figures(times: list[float]) -> dict[str, float]:
    return {"median_s": round(statistics.median(times), 4), "longest_s": round(max(times), 4)}
