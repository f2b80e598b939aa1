"""Synthetic memories for benchmarks: things in rooms, seen over a month by four robots, each described by a vector.

Vectors lie in clusters, as descriptions of similar things do. A seed gives the same data on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import vec3
from r4_ros.core.model import (
    FOREVER,
    NO_COVARIANCE,
    NS_PER_S,
    Box,
    Embedding,
    Entry,
    EntryState,
    Float32Array,
    Interval,
    Pose,
    Presence,
    Stay,
    Visibility,
)
from r4_ros.memory.codec import single

DIMENSION = 384
MODEL = "synthetic"
MAP = "hall"
AGENTS = ("r1", "r2", "r3", "r4")
START_NS = 1_800_000_000 * NS_PER_S
_MONTH_NS = 30 * 24 * 3600 * NS_PER_S
_CHUNK = 50_000
_AREA_M2 = 2.0
"""Floor area for each thing."""


@dataclass(frozen=True, eq=False)
class Things:
    """Columns of n entries: unit vectors [n, 384], centres [n, 3] in metres, first and last sighting, agent, kind."""

    vectors: Float32Array
    centres: Float32Array
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    agent: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Combined:
    """Top 10 by cosine among entries with their centre in a box, seen in [start, end), of some agents.

    ``low`` None: unfiltered.
    """

    vector: Float32Array
    low: tuple[float, float, float] | None = None
    high: tuple[float, float, float] | None = None
    start_ns: int = 0
    end_ns: int = FOREVER
    agents: tuple[int, ...] = ()


def make_things(count: int, seed: int = 0) -> Things:
    """That many things; vectors are rounded as a store keeps them."""
    rng = np.random.default_rng(seed)
    kinds = _units(rng.standard_normal((min(1000, max(8, count // 100)), DIMENSION), np.float32))
    kind = rng.integers(0, len(kinds), count).astype(np.int32)
    vectors = np.empty((count, DIMENSION), np.float32)
    for i in range(0, count, _CHUNK):
        near = kinds[kind[i : i + _CHUNK]]
        near += rng.standard_normal(near.shape, np.float32) * np.float32(0.6 / np.sqrt(DIMENSION))
        vectors[i : i + _CHUNK] = _units(near).astype(np.float16)
    side = np.sqrt(count * _AREA_M2)
    rooms = rng.uniform(0, side, (max(4, count // 50), 2))
    floor = rooms[rng.integers(0, len(rooms), count)] + rng.normal(0, 2.0, (count, 2))
    centres = np.column_stack([floor, rng.uniform(0, 2, count)]).astype(np.float32)
    first = START_NS + rng.integers(0, _MONTH_NS, count)
    last = np.minimum(first + (rng.exponential(0.25, count) * _MONTH_NS).astype(np.int64), START_NS + _MONTH_NS)
    return Things(vectors, centres, first, last, rng.integers(0, len(AGENTS), count).astype(np.int32), kind)


def _units(vectors: Float32Array) -> Float32Array:
    units: Float32Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def make_queries(things: Things, percent: float, count: int, seed: int = 1) -> list[Combined]:
    """Queries whose filters pass that share of the things: two agents, a week, and a box as large as it takes."""
    rng = np.random.default_rng(seed)
    wanted = max(1, round(len(things) * percent / 100))
    queries = []
    for _ in range(count):
        near = things.vectors[rng.integers(len(things))]
        noise = rng.standard_normal(DIMENSION, np.float32) * np.float32(0.4 / np.sqrt(DIMENSION))
        vector = _units((near + noise)[None])[0]
        query = Combined(vector) if percent >= 100 else _filtered(things, vector, wanted, rng)
        queries.append(query)
    return queries


def _filtered(things: Things, vector: Float32Array, wanted: int, rng: np.random.Generator) -> Combined:
    agents = tuple(sorted(rng.choice(len(AGENTS), 2, replace=False).tolist()))
    start = START_NS + int(rng.integers(0, _MONTH_NS * 3 // 4))
    end = start + _MONTH_NS // 4
    rows = np.flatnonzero(np.isin(things.agent, agents) & (things.first < end) & (things.last >= start))
    middle = things.centres[rng.choice(rows)].astype(float)
    middle[2] = 1.0
    reach = np.abs(things.centres[rows] - middle).max(axis=1)
    last = min(wanted, len(rows) - 1)
    nearest = np.partition(reach, (last - 1, last))
    half = float(nearest[last - 1] + nearest[last]) / 2
    return Combined(vector, vec3(middle - half), vec3(middle + half), start, end, agents)


def make_entries(things: Things, rows: range, names: Sequence[str] = ()) -> Iterator[Entry]:
    """Things as the entries of a memory, with these labels in turn, else numbered ones.

    Each agent has one anchor, by its number, at the map's origin.
    """
    for i in rows:
        first, last, agent = int(things.first[i]), int(things.last[i]), int(things.agent[i])
        x, y, z = (float(value) for value in things.centres[i])
        label = names[things.kind[i] % len(names)] if names else f"kind {things.kind[i]}"
        yield Entry(
            entry_id=f"{i:016x}",
            agent_id=AGENTS[agent],
            revision=1,
            session=0,
            map_id=MAP,
            label=label,
            label_votes=((label, 1.0),),
            stays=(Stay(Interval(first, FOREVER), agent, single(Box(Pose((x, y, z)), (0.2,) * 3)), NO_COVARIANCE, 1),),
            sightings=(Interval(first, last + 1),),
            presence=(Presence(first, first, last),),
            description=f"thing {i} of {label}",
            description_embedding=Embedding(MODEL, things.vectors[i]),
            visibility=Visibility.VISIBLE,
            confidence=0.9,
            count=1,
            state=EntryState.UNKNOWN,
        )
