"""Other engines for ``r4 bench retrieval``, each where it is installed; none is a dependency.

Each gets the same columns and answers the same combined query with its own filters and its own vector search. Exact
search is chosen where an engine offers it, since what is compared is the time to the right answer.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.evaluation.bench_data import DIMENSION, START_NS, Combined, Things
from r4_ros.evaluation.bench_retrieval import LIMIT, Engine

_BATCH = 5000
_TABLE = "things"
_COLUMNS = ("x", "y", "z", "first", "last", "agent")


class _Peer:
    """An engine with a folder of its own. Times are in seconds since the first one: some know float32 or JSON only."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="r4-bench-"))

    def __del__(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _seconds(stamp_ns: int) -> float:
    return (stamp_ns - START_NS) / 1e9


def _rows(things: Things, first: int, last: int) -> list[dict[str, Any]]:
    """Plain columns of some things."""
    return [
        {
            "id": i,
            "x": float(things.centres[i, 0]),
            "y": float(things.centres[i, 1]),
            "z": float(things.centres[i, 2]),
            "first": _seconds(int(things.first[i])),
            "last": _seconds(int(things.last[i])),
            "agent": int(things.agent[i]),
        }
        for i in range(first, last)
    ]


def _batches(things: Things) -> list[tuple[int, int]]:
    return [(i, min(i + _BATCH, len(things))) for i in range(0, len(things), _BATCH)]


def _ranges(query: Combined) -> list[tuple[str, float, float]]:
    """Column, least and most of a filtered query (open sides: infinite)."""
    if query.low is None or query.high is None:
        return []
    axes = [(name, low, high) for name, low, high in zip("xyz", query.low, query.high, strict=True)]
    return [*axes, ("first", -np.inf, _seconds(query.end_ns)), ("last", _seconds(query.start_ns), np.inf)]


def _condition(query: Combined, joint: str) -> str:
    """The filter as an expression of SQL (joint AND) or of Milvus (and)."""
    parts = [f"{name} >= {least!r}" for name, least, _ in _ranges(query) if np.isfinite(least)]
    parts += [f"{name} <= {most!r}" for name, _, most in _ranges(query) if np.isfinite(most)]
    if query.agents:
        names = ", ".join(map(str, query.agents))
        parts.append(f"agent {'IN' if joint == 'AND' else 'in'} {f'({names})' if joint == 'AND' else f'[{names}]'}")
    return f" {joint} ".join(parts)


class LanceDb(_Peer):
    """LanceDB, flat vectors, B-tree indices on the columns, filter first."""

    name = "lancedb"
    _table: Any

    def __init__(self, things: Things) -> None:
        super().__init__()
        arrow = import_module("pyarrow")
        base = import_module("lancedb").connect(self.folder)
        for first, last in _batches(things):
            rows = _rows(things, first, last)
            columns = {name: [row[name] for row in rows] for name in ("id", *_COLUMNS)}
            flat = arrow.array(things.vectors[first:last].ravel())
            columns["vector"] = arrow.FixedSizeListArray.from_arrays(flat, DIMENSION)
            table = arrow.table(columns)
            if first:
                self._table.add(table)
            else:
                self._table = base.create_table(_TABLE, table)
        for column in _COLUMNS:
            self._table.create_scalar_index(column)

    def query(self, query: Combined) -> npt.NDArray[np.int64]:
        """Best first."""
        search = self._table.search(query.vector).distance_type("dot").select(["id", "_distance"]).limit(LIMIT)
        condition = _condition(query, "AND")
        if condition:
            search = search.where(condition, prefilter=True)
        return np.array(search.to_arrow()["id"].to_pylist(), np.int64)


class Qdrant:
    """Qdrant's local mode, in memory."""

    name = "qdrant_local"

    def __init__(self, things: Things) -> None:
        self._models = import_module("qdrant_client.models")
        self._client = import_module("qdrant_client").QdrantClient(":memory:")
        parameters = self._models.VectorParams(size=DIMENSION, distance=self._models.Distance.COSINE)
        self._client.create_collection(_TABLE, vectors_config=parameters)
        for first, last in _batches(things):
            self._client.upload_collection(
                _TABLE, things.vectors[first:last], _rows(things, first, last), ids=list(range(first, last))
            )

    def query(self, query: Combined) -> npt.NDArray[np.int64]:
        """Best first."""
        models, must = self._models, list[Any]()
        for name, least, most in _ranges(query):
            span = models.Range(gte=least if np.isfinite(least) else None, lte=most if np.isfinite(most) else None)
            must.append(models.FieldCondition(key=name, range=span))
        if query.agents:
            must.append(models.FieldCondition(key="agent", match=models.MatchAny(any=list(query.agents))))
        wanted = models.Filter(must=must) if must else None
        found = self._client.query_points(
            _TABLE, query=query.vector.tolist(), query_filter=wanted, limit=LIMIT, with_payload=False
        )
        return np.array([point.id for point in found.points], np.int64)


class Chroma(_Peer):
    """Chroma with its HNSW index."""

    name = "chroma"

    def __init__(self, things: Things) -> None:
        super().__init__()
        client = import_module("chromadb").PersistentClient(str(self.folder))
        self._table = client.create_collection(_TABLE, metadata={"hnsw:space": "ip"})
        for first, last in _batches(things):
            self._table.add(
                ids=[str(i) for i in range(first, last)],
                embeddings=things.vectors[first:last],
                metadatas=_rows(things, first, last),
            )

    def query(self, query: Combined) -> npt.NDArray[np.int64]:
        """Best first."""
        parts: list[dict[str, Any]] = [
            {name: {sign: value}}
            for name, least, most in _ranges(query)
            for sign, value in (("$gte", least), ("$lte", most))
            if np.isfinite(value)
        ]
        if query.agents:
            parts.append({"agent": {"$in": list(query.agents)}})
        where = {"$and": parts} if parts else None
        found = self._table.query(query_embeddings=[query.vector], n_results=LIMIT, where=where, include=[])
        return np.array([int(i) for i in found["ids"][0]], np.int64)


class MilvusLite(_Peer):
    """Milvus-Lite with the index that it chooses; written out first, since from its log it takes ten times as long."""

    name = "milvus_lite"

    def __init__(self, things: Things) -> None:
        super().__init__()
        self._client = import_module("pymilvus").MilvusClient(str(self.folder / "things.db"))
        self._client.create_collection(_TABLE, dimension=DIMENSION, metric_type="IP", auto_id=False)
        for first, last in _batches(things):
            rows = _rows(things, first, last)
            for row, vector in zip(rows, things.vectors[first:last], strict=True):
                row["vector"] = vector.tolist()
            for i in range(0, len(rows), 1000):
                self._client.insert(_TABLE, rows[i : i + 1000])
        self._client.flush(_TABLE)

    def query(self, query: Combined) -> npt.NDArray[np.int64]:
        """Best first."""
        found = self._client.search(
            _TABLE, data=[query.vector.tolist()], limit=LIMIT, filter=_condition(query, "and"), output_fields=[]
        )
        return np.array([hit["id"] for hit in found[0]], np.int64)


_PEERS: tuple[tuple[Callable[[Things], Engine], tuple[str, ...]], ...] = (
    (LanceDb, ("lancedb", "pyarrow")),
    (Qdrant, ("qdrant_client",)),
    (Chroma, ("chromadb",)),
    (MilvusLite, ("pymilvus", "milvus_lite")),
)


def installed_peers() -> list[Callable[[Things], Engine]]:
    """The engines whose packages are here."""
    return [peer for peer, packages in _PEERS if all(find_spec(package) for package in packages)]
