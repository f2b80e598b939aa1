"""``r4 bench sync``: a robot that was away for a day catches up with a map server, and what its own frames pay."""

from __future__ import annotations

import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import NS_PER_S, Embedding, Frame
from r4_ros.evaluation.bench_crowd import bench_crowd
from r4_ros.evaluation.bench_data import AGENTS, DIMENSION, MODEL, START_NS, make_things
from r4_ros.evaluation.bench_ingest import Walk
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.inbox import Inbox
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.postgres_store import PostgresStore
from r4_ros.memory.synchronizer import SyncConfig, Synchronizer

_DAY_NS = 24 * 3600 * NS_PER_S
_FRAME = 10
_STAY = 50
_BLOCK, _RATE_HZ = 50, 25.0
_PERIOD_S = 0.2


def bench_sync(
    observations: int, things: int, live_frames: int, robots: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """A day of so many observations in frames of 10; then frames at 25 Hz, in turns with and without syncing.

    ``robots``: so many then hear of it all, and report while one of them floods (0: none do).
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="r4-bench-")))
        server = Server()
        stack.callback(server.close)
        url = server.database()
        central = stack.enter_context(open_library(url, MemoryConfig()))
        assert isinstance(central.store, PostgresStore)
        for name in AGENTS[:2]:
            central.store.make_role(name, name)
        walk = Walk(make_things(things), 0, START_NS, "bench", 1)
        robot = stack.enter_context(open_library(folder / "r1.db", MemoryConfig()))
        say(f"a day of {observations:,} observations, offline")
        count = observations // _FRAME
        for frame in _day(walk, count):
            robot.ingest(frame)
        inbox = Inbox(lambda: central, lambda: central, MemoryConfig(agent_rate_hz=0.0))
        say("catching up")
        up = _caught_up(robot, inbox, _config(url, 0), server)
        say("another robot hears of it")
        other = stack.enter_context(open_library(folder / "r2.db", MemoryConfig()))
        down = _heard(other, _config(url, 1))
        say("frames with and without it")
        live = _live(robot, walk, inbox, _config(url, 0), live_frames)
        crowd = dict[str, Any]()
        seen = sorted(robot.store.observation_ids())
        stored = sorted(central.store.observation_ids())
        if robots:
            say(f"{robots} robots hear of it, and report")
            frames = map(_with_vectors, walk.frames(10**9, _FRAME, _STAY))
            crowd = {"crowd": bench_crowd(robots, url, central, inbox, server, frames, folder)}
        return {
            "observations": len(seen),
            "missing": len(set(seen) - set(stored)),
            "duplicated": len(stored) - len(set(stored)),
            "up": up,
            "down": down,
            "live": live,
            **crowd,
        }


def _config(url: str, robot: int) -> SyncConfig:
    return SyncConfig(url.replace("//r4@", f"//{AGENTS[robot]}@"))


def _day(walk: Walk, count: int) -> Iterator[Frame]:
    """Frames over a whole day, with vectors of what is seen."""
    for number, frame in enumerate(walk.frames(count, _FRAME, _STAY)):
        yield _with_vectors(replace(frame, stamp_ns=START_NS + number * _DAY_NS // max(count, 1)))


def _with_vectors(frame: Frame) -> Frame:
    return replace(frame, observations=tuple(replace(o, label_embedding=_vector(o.label)) for o in frame.observations))


def _vector(label: str) -> Embedding:
    vector = np.random.default_rng(zlib.crc32(label.encode())).normal(size=DIMENSION)
    return Embedding(MODEL, (vector / np.linalg.norm(vector)).astype(np.float32))


def _caught_up(robot: Library, inbox: Inbox, config: SyncConfig, server: Server) -> dict[str, float]:
    sync = Synchronizer(lambda: robot, config)
    told_s = worked_s = 0.0
    began, database_s = time.perf_counter(), server.cpu_s()
    while True:
        start = time.process_time()
        sync.step()
        told = time.process_time()
        worked = inbox.work()
        told_s, worked_s = told_s + told - start, worked_s + time.process_time() - told
        if worked is None and not sync.state.waiting_frames:
            break
    took_s, state = time.perf_counter() - began, sync.state
    sync.close()
    observations = state.observations
    return {
        "observations_per_s": round(observations / took_s),
        "catch_up_s": round(took_s, 2),
        "bytes_per_observation": round(state.sent_bytes / observations, 1),
        "batches": state.sent_batches,
        "robot_cpu_us_per_observation": round(told_s / observations * 1e6, 1),
        "server_cpu_us_per_observation": round(worked_s / observations * 1e6, 1),
        "database_cpu_us_per_observation": round((server.cpu_s() - database_s) / observations * 1e6, 1),
    }


def _heard(other: Library, config: SyncConfig) -> dict[str, float]:
    sync = Synchronizer(lambda: other, config)
    began, start, longest_s, busy = time.perf_counter(), time.process_time(), 0.0, True
    while busy:
        step = time.process_time()
        busy = sync.step()
        longest_s = max(longest_s, time.process_time() - step)
    took_s, cpu_s, records = time.perf_counter() - began, time.process_time() - start, sync.state.heard
    sync.close()
    return {
        "records": records,
        "entries": len(other.entries()),
        "records_per_s": round(records / took_s),
        "catch_up_s": round(took_s, 2),
        "longest_step_cpu_ms": round(longest_s * 1e3, 1),
        "robot_cpu_us_per_record": round(cpu_s / max(records, 1) * 1e6, 1),
        "file_bytes_per_record": round(other.store.size_bytes() / max(records, 1)),
    }


def _live(robot: Library, walk: Walk, inbox: Inbox, config: SyncConfig, count: int) -> dict[str, float]:
    """Frames at a robot's rate, blocks of them in turns with and without a thread that keeps the file in step."""
    times: dict[bool, list[float]] = {True: [], False: []}
    newest, frames = robot.newest_stamp(AGENTS[0]), list(walk.frames(count, _FRAME, _STAY))
    frames = [_with_vectors(replace(f, stamp_ns=newest + (n + 1) * NS_PER_S)) for n, f in enumerate(frames)]
    for first in range(0, len(frames), _BLOCK):
        syncing = (first // _BLOCK) % 2 == 1
        stop = threading.Event()
        thread = threading.Thread(target=_keep, args=(robot, config, stop), daemon=True)
        if syncing:
            thread.start()
        for frame in frames[first : first + _BLOCK]:
            start = time.perf_counter()
            robot.ingest(frame)
            took = time.perf_counter() - start
            times[syncing].append(took)
            time.sleep(max(0.0, 1 / _RATE_HZ - took))
        stop.set()
        if syncing:
            thread.join()
            while inbox.work() is not None:  # not while frames are timed: it is another computer's work
                pass
    sync = Synchronizer(lambda: robot, config)
    while sync.step() or inbox.work() is not None or sync.state.waiting_frames:
        pass
    sync.close()
    found: dict[str, float] = {"frames": count}
    for syncing, name in ((False, "alone"), (True, "syncing")):
        p50, p99 = np.percentile(times[syncing], (50, 99)) * 1e3
        found |= {f"{name}_p50_ms": round(float(p50), 2), f"{name}_p99_ms": round(float(p99), 2)}
    found["p99_ratio"] = round(found["syncing_p99_ms"] / found["alone_p99_ms"], 2)
    return found


def _keep(robot: Library, config: SyncConfig, stop: threading.Event) -> None:
    sync = Synchronizer(lambda: robot, config)
    while not stop.is_set():
        began = time.monotonic()
        busy = sync.step()
        stop.wait(min(0.5, time.monotonic() - began) if busy else _PERIOD_S)
    sync.close()
