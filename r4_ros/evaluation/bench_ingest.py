"""``r4 bench ingest``: association alone, and whole frames through match, update and durable commit."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Box, FloatArray, Frame, Observation, Pose, View, observation_id
from r4_ros.evaluation.bench_data import AGENTS, MAP, Things, make_things
from r4_ros.evaluation.bench_fill import CAMERA, fill
from r4_ros.evaluation.bench_retrieval import R4
from r4_ros.memory.associate import Associator
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.stays import FrameContext, place
from r4_ros.memory.working import COLLECTOR

BATCHES = (1, 10, 100)
_PERIOD_NS = 100_000_000
_NEW = 0.1
"""Share of observations of things that weren't known."""
_JITTER_M = 0.02
_STEP_M = 0.05
_STAY = 50
"""Frames in a row of a robot that drives: five seconds at 0.5 m/s and ten frames a second."""
_MATCHED, _WARM_UP = 60, 5


class Walk:
    """Frames of one agent that goes from place to place and sees what is nearest there."""

    def __init__(self, things: Things, agent: int, stamp_ns: int, writer: str, seed: int) -> None:
        from scipy.spatial import cKDTree

        self._things, self._agent, self._stamp, self._writer = things, agent, stamp_ns, writer
        self._rng = np.random.default_rng(seed)
        self._mine = np.flatnonzero(things.agent == agent)
        self._tree = cKDTree(things.centres[self._mine])
        self._sequence = 0

    def frames(self, count: int, size: int, stay: int = 1) -> Iterator[Frame]:
        """So many frames with so many observations each; ``stay``: frames in a row that see the same surroundings.

        The robot moves by 5 cm a frame and is elsewhere when it has stayed; one that stays for one frame only never
        sees a thing twice.
        """
        for n in range(count):
            if n % stay == 0:
                start = self._things.centres[self._rng.choice(self._mine)]
                rows = self._mine[np.atleast_1d(self._tree.query(start, k=min(size, len(self._mine)))[1])]
            sensor = Pose((float(start[0]) + _STEP_M * (n % stay), float(start[1]), 1.0))
            centres = self._things.centres[rows] + self._rng.normal(0, _JITTER_M, (len(rows), 3))
            new = self._rng.random(len(rows)) < _NEW
            centres[new, 2] += 3.0 + 0.4 * (n % stay)  # on top of something: a place where nothing was
            kinds = np.where(new, -1 - self._rng.integers(0, 50, len(rows)), self._things.kind[rows])
            self._sequence += 1
            self._stamp += _PERIOD_NS
            yield self._frame(sensor, centres - np.asarray(sensor.position), kinds.tolist())

    def _frame(self, sensor: Pose, places: FloatArray, kinds: list[int]) -> Frame:
        observations = tuple(
            Observation(i, f"kind {kind}", Box(Pose((x, y, z)), (0.2, 0.2, 0.2)), confidence=0.9)
            for i, (kind, (x, y, z)) in enumerate(zip(kinds, places.tolist(), strict=True))
        )
        return Frame(
            agent_id=AGENTS[self._agent],
            camera=CAMERA,
            writer=self._writer,
            sequence=self._sequence,
            session=0,
            stamp_ns=self._stamp,
            map_id=MAP,
            map_frame="map",
            sensor_frame="camera",
            sensor_in_map=sensor,
            view=View(1.2, 0.9, 0.1, 10.0, np.full((12, 16), 4.0, np.float32)),
            sensor_in_odom=sensor,
            observations=observations,
        )


def bench_ingest(
    entries: int, observations: int, db: Path | None, acks: Path | None, say: Callable[[str], None]
) -> dict[str, Any]:
    """Measure on a memory of that many entries. ``db``: the file to use (filled if it is new), else a temporary one.

    ``acks``: a file that gets the id of each acknowledged observation after its commit.
    """
    with ExitStack() as stack:
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(*COLLECTOR)  # as the memory node does
        if db is None:
            db = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="r4-bench-"))) / "memory.db"
        say(f"making {entries:,} things")
        things = make_things(entries)
        say("association")
        associated_per_s = _associated_per_s(things)
        start = time.perf_counter()
        fill(db, things)
        filled_s = time.perf_counter() - start
        start = time.perf_counter()
        library = stack.enter_context(open_library(db, MemoryConfig(writer_silence_s=0.0)))
        opened_s = time.perf_counter() - start
        bytes_per_entry = db.stat().st_size / entries
        log = None if acks is None else stack.enter_context(acks.open("a", encoding="ascii"))
        newest = library.newest_stamp(AGENTS[0])
        walk = Walk(things, 0, newest, f"bench-{newest}", newest % 2**32)
        measured: dict[int, list[dict[str, float]]] = {}
        share = observations // (2 * len(BATCHES))
        for stay in (_STAY, 1):
            for size in BATCHES:
                say(f"frames of {size}, " + ("driving" if stay > 1 else "each at another place"))
                found = _ingested(library, walk.frames(max(3, share // size), size, stay), log)
                measured.setdefault(stay, []).append({"batch": size, **found})
        frames = measured[_STAY]
        return {
            "entries": entries,
            "observations": observations,
            "association_per_s": round(associated_per_s),
            "frames": frames,
            "frames_elsewhere": measured[1],
            "caller_ms_p50": frames[0]["p50_ms"],  # BATCHES begins with 1
            "caller_ms_p99": frames[0]["p99_ms"],
            "fill_s": round(filled_s, 3),
            "start_s": round(opened_s, 3),
            "disk_bytes_per_entry": round(bytes_per_entry),
        }


def _ingested(library: Library, frames: Iterator[Frame], log: IO[str] | None) -> dict[str, float]:
    """Ingest frames, one after the other, as the memory node does while nobody takes ``entries_delta``."""
    times, seen = [], 0
    for frame in frames:
        start = time.perf_counter()
        library.ingest(frame, tell=False)
        times.append(time.perf_counter() - start)
        seen += len(frame.observations)
        if log is not None:
            _acknowledge(log, frame)
    p50, p99 = np.percentile(times, (50, 99)) * 1e3
    return {
        "observations_per_s": round(seen / sum(times)),
        "p50_ms": round(float(p50), 3),
        "p99_ms": round(float(p99), 3),
    }


def _associated_per_s(things: Things) -> float:
    """Observations a second that are matched with the entries of an index, in batches of 100; nothing is stored."""
    import scipy.optimize  # noqa: F401  the associator imports it when it first needs it

    index = R4(things).index
    config = MemoryConfig()
    associator = Associator(index, config)
    took, matched = 0.0, 0
    for n, frame in enumerate(Walk(things, 0, int(things.last.max()), "match", 1).frames(_MATCHED, BATCHES[-1])):
        sensor = frame.sensor_in_map
        seen, views = place(frame.observations, sensor)
        anchor = index.anchors[0]
        context = FrameContext(AGENTS[0], 0, 0, MAP, frame.stamp_ns, 1, anchor, sensor.position, index.anchors, config)
        start = time.perf_counter()
        associator.match(seen, views, [None] * len(seen), context)
        if n >= _WARM_UP:
            took += time.perf_counter() - start
            matched += len(seen)
    return matched / took


def _acknowledge(log: IO[str], frame: Frame) -> None:
    """Append the ids of a frame that is committed. The first session is the only one: stamps never jump."""
    for o in frame.observations:
        log.write(observation_id(frame.agent_id, 0, frame.camera, frame.stamp_ns, o.index) + "\n")
    log.flush()
