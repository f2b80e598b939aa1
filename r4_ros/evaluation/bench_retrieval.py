"""``r4 bench retrieval``: the combined query against plain numpy and, where they are installed, other engines."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import IDENTITY, Anchor
from r4_ros.evaluation.bench_data import AGENTS, MAP, MODEL, Combined, Things, make_entries, make_queries, make_things
from r4_ros.evaluation.bench_library import bench_library
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.index import Index
from r4_ros.memory.store import AnchorRecord, StoredEntry
from r4_ros.memory.zones import Narrow

LIMIT = 10
SELECTIVITIES = (100.0, 10.0, 1.0, 0.1, 0.01)
_BATCH = 4096
_SECONDS = 6.0
"""An engine gets about as long for each selectivity."""
_TURN = 10


class Engine(Protocol):
    """Something that answers combined queries."""

    name: str

    def query(self, query: Combined) -> Sequence[int] | npt.NDArray[np.int64]:
        """The numbers of the best things, best first."""


class Numpy:
    """The yardstick: a mask over plain columns, then one product of the rows that passed and the vector."""

    name = "numpy"

    def __init__(self, things: Things) -> None:
        self._things = things
        self._axes = [np.ascontiguousarray(things.centres[:, axis]) for axis in range(3)]

    def query(self, query: Combined) -> npt.NDArray[np.int64]:
        """Best first; exact."""
        t = self._things
        if query.low is None or query.high is None:
            rows = np.arange(len(t))
            cosines = t.vectors @ query.vector
        else:
            mask = (t.first < query.end_ns) & (t.last >= query.start_ns)
            for axis, low, high in zip(self._axes, query.low, query.high, strict=True):
                mask &= (axis >= low) & (axis <= high)
            mask &= np.isin(t.agent, query.agents)
            rows = np.flatnonzero(mask)
            cosines = t.vectors[rows] @ query.vector
        count = min(LIMIT, len(rows))
        best = np.argpartition(-cosines, count - 1)[:count]
        return np.asarray(rows[best[np.argsort(-cosines[best], kind="stable")]])


class R4:
    """The memory's index, filled as at the start of a memory node."""

    name = "r4"

    def __init__(self, things: Things) -> None:
        config = MemoryConfig()
        anchors = [AnchorRecord("front", Anchor(i, a, 0, MAP, 0, IDENTITY)) for i, a in enumerate(AGENTS)]
        self.index = Index(AnchorBook(config, anchors), config.epsilon_max_m)
        self.rebuild_s = 0.0
        for i in range(0, len(things), _BATCH):
            rows = range(i, min(i + _BATCH, len(things)))
            entries = [(None, StoredEntry(k, e)) for k, e in zip(rows, make_entries(things, rows), strict=True)]
            start = time.perf_counter()
            self.index.apply(entries)
            self.rebuild_s += time.perf_counter() - start
        start = time.perf_counter()
        self.index.zones.sort()
        self.rebuild_s += time.perf_counter() - start
        self._agents = [self.index.agents.find(agent) for agent in AGENTS]

    def query(self, query: Combined) -> npt.NDArray[np.int64]:
        """Best first; exact."""
        agents = tuple(self._agents[a] for a in query.agents) if query.agents else None
        narrow = Narrow(query.low, query.high, query.start_ns, query.end_ns, agents)
        return self.index.nearest(MODEL, query.vector, LIMIT, narrow)[0]


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds over repeated queries, and the share of the right answers that were found."""

    p50_ms: float
    p99_ms: float
    recall: float


def measure(
    engines: Sequence[Engine], queries: Sequence[Combined], right: Sequence[npt.NDArray[np.int64]]
) -> list[Timing]:
    """Time engines on the same queries after a warm-up, as many as time allows.

    They take turns, so that what else the machine does meanwhile is the same for all. The warm-up is over all queries:
    what is timed isn't when a page of memory is touched for the first time.
    """
    for engine in engines:
        deadline = time.monotonic() + _SECONDS
        for query in queries:
            engine.query(query)
            if time.monotonic() > deadline:
                break
    times: list[list[float]] = [[] for _ in engines]
    hits: list[list[float]] = [[] for _ in engines]
    deadline = time.monotonic() + _SECONDS * len(engines)
    for first in range(0, len(queries), _TURN):
        for engine, its_times, its_hits in zip(engines, times, hits, strict=True):
            for i in range(first, min(first + _TURN, len(queries))):
                start = time.perf_counter()
                found = engine.query(queries[i])
                its_times.append((time.perf_counter() - start) * 1e3)
                its_hits.append(len(set(map(int, found)) & set(right[i].tolist())) / max(1, len(right[i])))
        if time.monotonic() > deadline:
            break
    percentiles = [np.percentile(its_times, (50, 99)).tolist() for its_times in times]
    return [Timing(p50, p99, float(np.mean(h))) for (p50, p99), h in zip(percentiles, hits, strict=True)]


def bench_retrieval(
    count: int,
    repeats: int,
    peers: Sequence[Callable[[Things], Engine]],
    say: Callable[[str], None],
    with_library: bool = False,
) -> dict[str, Any]:
    """Measure all engines over the same things and queries. ``say`` is told what is going on.

    ``with_library``: also the same queries through ``Library.retrieve``, on a file.
    """
    say(f"making {count:,} things")
    things = make_things(count)
    yardstick = Numpy(things)
    queries = {percent: make_queries(things, percent, repeats) for percent in SELECTIVITIES}
    right = {percent: [yardstick.query(query) for query in asked] for percent, asked in queries.items()}
    say("building the index")
    r4 = R4(things)
    results = _results((yardstick, r4), queries, right, say)
    for peer in peers:
        try:
            results += _results((peer(things),), queries, right, say)
        except Exception as error:  # whatever another program raises, ours is measured
            say(f"{peer} is left out: {error}")
        gc.collect()
    bytes_per_entry = round(r4.index.nbytes() / count)
    library: dict[str, Any] = {}
    if with_library:
        say("the whole library")
        library = {"library": bench_library(things, queries)}
    return {
        "entries": count,
        "limit": LIMIT,
        "queries": repeats,
        "results": results,
        "ratios": _ratios(results),
        "bytes_per_entry": bytes_per_entry,
        "rebuild_s": round(r4.rebuild_s, 3),
        **library,
    }


def _results(
    engines: Sequence[Engine],
    queries: dict[float, list[Combined]],
    right: dict[float, list[npt.NDArray[np.int64]]],
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """The timings of engines at all selectivities."""
    results = []
    for percent, asked in queries.items():
        say(f"{', '.join(engine.name for engine in engines)} at {percent:g} %")
        for engine, timing in zip(engines, measure(engines, asked, right[percent]), strict=True):
            results.append({"engine": engine.name, "selectivity": percent, **_rounded(timing)})
    return results


def _rounded(timing: Timing) -> dict[str, float]:
    return {"p50_ms": round(timing.p50_ms, 4), "p99_ms": round(timing.p99_ms, 4), "recall": round(timing.recall, 4)}


def _ratios(results: Sequence[dict[str, Any]]) -> list[dict[str, float]]:
    """How many times quicker than the yardstick r4 is."""
    p50 = {(r["engine"], r["selectivity"]): r["p50_ms"] for r in results}
    return [
        {"selectivity": percent, "numpy_over_r4": round(p50["numpy", percent] / max(p50["r4", percent], 1e-4), 2)}
        for percent in SELECTIVITIES
    ]
