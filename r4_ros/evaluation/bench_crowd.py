"""``r4 bench sync --robots N``: many robots hear one map server, and report to it while one of them floods it.

All in this process, one after the other, each with a file and a connection of its own: processor times are each
side's own, and lags are in turns of a single core.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Frame
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.inbox import Inbox
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.postgres_store import PostgresStore
from r4_ros.memory.synchronizer import SyncConfig, Synchronizer

ROUNDS = 2
"""Frames of each robot whose lag is measured, without and with a flood."""
_FLOOD = 128
"""Frames that the flood stores in each round; the others store one."""


class Crowd:
    """So many robots that synchronise with one map server, each among the same things."""

    def __init__(self, robots: int, url: str, central: Library, folder: Path, stack: ExitStack) -> None:
        assert isinstance(central.store, PostgresStore)
        self._central, self.names = central, [f"crowd{n}" for n in range(robots)]
        self.libraries, self.syncs = list[Library](), list[Synchronizer]()
        for name in self.names:
            central.store.make_role(name, name)
            self.libraries.append(stack.enter_context(open_library(folder / f"{name}.db", MemoryConfig())))
            self.syncs.append(_in_step(self.libraries[-1], url.replace("//r4@", f"//{name}@")))
            stack.callback(self.syncs[-1].close)

    def hear(self, server: Server) -> dict[str, float]:
        """All take over what is known, in turns; then look once more, when nothing is new."""
        began, cpu_s, database_s = time.perf_counter(), time.process_time(), server.cpu_s()
        busy = list(self.syncs)
        while busy:
            busy = [sync for sync in busy if sync.step()]
            self._check()
        took_s, spent_s = time.perf_counter() - began, time.process_time() - cpu_s
        database_s, records = server.cpu_s() - database_s, sum(sync.state.heard for sync in self.syncs)
        idle_s, idle_database_s = time.process_time(), server.cpu_s()
        for sync in self.syncs:
            sync.step()
        count = len(self.syncs)
        return {
            "records_each": round(records / count),
            "catch_up_s": round(took_s, 2),
            "records_per_s": round(records / took_s),
            "robot_cpu_us_per_record": round(spent_s / max(records, 1) * 1e6, 1),
            "database_cpu_us_per_record": round(database_s / max(records, 1) * 1e6, 1),
            "idle_look_robot_cpu_ms": round((time.process_time() - idle_s) / count * 1e3, 2),
            "idle_look_database_cpu_ms": round((server.cpu_s() - idle_database_s) / count * 1e3, 2),
        }

    def report(self, inbox: Inbox, frames: Iterator[Frame]) -> dict[str, float]:
        """How long a frame of each takes to be worked in: with nothing else to do, and while the first one floods."""
        found = dict[str, float]()
        for name, flood in (("alone", 0), ("flooded", _FLOOD)):
            lags = [lag for _ in range(ROUNDS) for lag in self._lags(inbox, frames, flood)]
            p50, p99 = np.percentile(lags, (50, 99)) * 1e3
            found |= {f"{name}_p50_ms": round(float(p50), 1), f"{name}_p99_ms": round(float(p99), 1)}
        while self.syncs[0].step() or inbox.work() is not None:  # the others' are in
            self._check()
        seen = {i for library in self.libraries for i in library.store.observation_ids()}
        stored = list(self._central.store.observation_ids())
        found["flood_frames"] = ROUNDS * _FLOOD
        return {**found, "missing": len(seen - set(stored)), "duplicated": len(stored) - len(set(stored))}

    def _lags(self, inbox: Inbox, frames: Iterator[Frame], flood: int) -> list[float]:
        for frame in islice(frames, flood):
            self._see(0, frame)
        while flood and self.syncs[0].step():  # as many batches as may wait
            pass
        sent = dict[str, float]()
        for n in range(1, len(self.names)):
            self._see(n, next(frames))
            self.syncs[n].step()
            sent[self.names[n]] = time.perf_counter()
        lags = list[float]()
        while sent:
            worked = inbox.work()
            self.syncs[0].step()
            if worked is not None and worked.agent_id in sent:
                lags.append(time.perf_counter() - sent.pop(worked.agent_id))
            self._check()
        return lags

    def _see(self, robot: int, frame: Frame) -> None:
        self.libraries[robot].ingest(replace(frame, agent_id=self.names[robot]))

    def _check(self) -> None:
        for sync in self.syncs:
            if sync.state.error:
                raise AssertionError(sync.state.error)


def _in_step(library: Library, url: str) -> Synchronizer:
    return Synchronizer(lambda: library, SyncConfig(url))


def bench_crowd(
    robots: int, url: str, central: Library, inbox: Inbox, server: Server, frames: Iterator[Frame], folder: Path
) -> dict[str, Any]:
    """``frames``: what robots see, as many as are asked for."""
    with ExitStack() as stack:
        crowd = Crowd(robots, url, central, folder, stack)
        return {"robots": robots, "down": crowd.hear(server), "up": crowd.report(inbox, frames)}
