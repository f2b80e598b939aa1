"""The combined query through the whole memory: ``Library.retrieve`` with its counts, states and evidence."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import (
    Float32Array,
    Pose,
    Query,
    Reference,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
)
from r4_ros.evaluation.bench_data import AGENTS, MODEL, Combined, Things
from r4_ros.evaluation.bench_fill import fill
from r4_ros.memory.library import open_library

_LIMIT = 10
_FITS = 0.1
"""So little likeness is enough: nearly all in the asked place and time is ranked, as in the index's own query."""


class _Vectors:
    """An embedder that knows the vectors of the queries, by their numbers."""

    name = MODEL

    def __init__(self, queries: Sequence[Combined]) -> None:
        self._vectors = np.stack([query.vector for query in queries])

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """One unit vector a text; those of labels are of no query."""
        known = [int(text.removeprefix("query ")) if text.startswith("query ") else -1 for text in texts]
        none = np.zeros_like(self._vectors[0])
        return np.stack([self._vectors[i] if i >= 0 else none for i in known])


def bench_library(things: Things, queries: dict[float, list[Combined]]) -> dict[str, Any]:
    """Time the queries on a file with the things, and how long it takes to open."""
    every = [query for asked in queries.values() for query in asked]
    with tempfile.TemporaryDirectory(prefix="r4-bench-") as folder:
        path = Path(folder) / "memory.db"
        fill(path, things)
        start = time.perf_counter()
        config = MemoryConfig(match_similarity=_FITS)
        with open_library(path, config, _Vectors(every)) as library:
            opened_s = time.perf_counter() - start
            library.retrieve(_query(0, every[0]))
            results, number = list[dict[str, float]](), 0
            for percent, asked in queries.items():
                times = []
                for query in asked:
                    start = time.perf_counter()
                    library.retrieve(_query(number, query))
                    times.append((time.perf_counter() - start) * 1e3)
                    number += 1
                p50, p99 = np.percentile(times, (50, 99)).tolist()
                results.append({"selectivity": percent, "p50_ms": round(p50, 3), "p99_ms": round(p99, 3)})
    return {"start_s": round(opened_s, 3), "results": results}


def _query(number: int, query: Combined) -> Query:
    """By text, within the ball in the box."""
    if query.low is None or query.high is None:
        return Query(text=f"query {number}", limit=_LIMIT)
    middle = np.add(query.low, query.high) / 2
    here = Pose((float(middle[0]), float(middle[1]), float(middle[2])))
    reach = (query.high[0] - query.low[0]) / 2
    return Query(
        text=f"query {number}",
        spatial=(SpatialConstraint("within", Reference.POINT, pose=here, max_distance=reach),),
        temporal=(TemporalConstraint(TemporalKind.SEEN_IN, query.start_ns, query.end_ns),),
        agents=tuple(AGENTS[agent] for agent in query.agents),
        limit=_LIMIT,
    )
