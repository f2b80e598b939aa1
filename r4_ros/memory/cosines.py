"""Unit vectors and their cosines with a query, exact: few rows directly, many through a copy in bytes first.

The only module that imports faiss. Elements are kept in float16, as the store has them, and widened in the processor's
cache when they are scored, which is quicker than reading twice the bytes. A copy of every vector in one byte a
dimension is quicker to read still. How far rounding can shift a distance or a cosine is known, so the copy only decides
what need not be looked at: what it leaves is scored from the vectors themselves, and no row that belongs to the result
can be missing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Float32Array

Rows = npt.NDArray[np.int64]
HalfArray = npt.NDArray[np.float16]

BYTES_FROM = 32_768
"""With fewer rows there is no copy in bytes: reading the vectors is quick enough."""
_DIRECT = 8192
"""So many rows are scored one by one."""
_SHARE_TO_SCAN = 6
"""From this share of all rows on (one in ...), all are scanned."""
_FIRST, _MOST = 1024, 16_384
_SAMPLE = 2048
"""So many rows tell about how many of all are near to a vector."""
_ROUGH = 1e-4
"""A product of many rows with several vectors may differ from those one by one by less than this."""
_KEPT_ROWS, _KEPT, _HIT_BYTES = 2_000_000, 4096, 12
"""So many rows, of so many vectors, are remembered with their cosines, in so many bytes each."""
_HEADROOM = 1.25
"""Later vectors may have larger elements than the first ones."""
_CHUNK, _AT_ONCE = 512, 16
_HALF_BITS = np.int32(0x8FFFE000 - 2**32)
_HALF_SCALE = np.float32(2.0**112)


@dataclass(frozen=True, slots=True)
class _Hits:
    """Which of the first ``upto`` rows are that near to a vector, ascending, and their cosines."""

    upto: int
    rows: Rows
    cosines: Float32Array


_NO_HITS = _Hits(0, np.zeros(0, np.int64), np.zeros(0, np.float32))


def _key(vector: Float32Array, threshold: float) -> tuple[bytes, float]:
    return vector.tobytes(), threshold


def _joined(hits: Sequence[_Hits]) -> tuple[Rows, Float32Array]:
    """The rows of several vectors' hits, ascending, each with its best cosine."""
    if len(hits) == 1:
        return hits[0].rows, hits[0].cosines
    rows = np.unique(np.concatenate([h.rows for h in hits]))
    best: Float32Array = np.full(len(rows), -1.0, np.float32)
    for h in hits:
        at = np.searchsorted(rows, h.rows)
        best[at] = np.maximum(best[at], h.cosines)
    return rows, best


class UnitVectors:
    """Rows of unit vectors, appended and never changed; their elements are those of float16."""

    def __init__(self, dimension: int) -> None:
        self._matrix: HalfArray = np.empty((16, dimension), np.float16)
        self._rows = 0
        self._bytes: _Bytes | None = None
        self._known: OrderedDict[tuple[bytes, float], _Hits] = OrderedDict()
        self._known_rows = 0

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: int) -> Float32Array:
        return _singles(self._matrix[row])

    def reserve(self, count: int) -> None:
        """Make room for so many rows in all."""
        if count > len(self._matrix):
            grown: HalfArray = np.empty((count, self._matrix.shape[1]), np.float16)
            grown[: self._rows] = self._matrix[: self._rows]
            self._matrix = grown

    def append(self, vectors: Float32Array | HalfArray) -> None:
        """Add rows."""
        first, self._rows = self._rows, self._rows + len(vectors)
        if self._rows > len(self._matrix):
            # memory that isn't written yet costs nothing, so doubling is only an address range
            rows, self._rows = self._rows, first
            self.reserve(max(rows, 2 * len(self._matrix)))
            self._rows = rows
        self._matrix[first : self._rows] = vectors
        if self._bytes is not None:
            self._bytes.append(self._matrix[first : self._rows])
        elif self._rows >= BYTES_FROM:
            self._bytes = _Bytes(self._matrix[: self._rows])

    def dots(self, vector: Float32Array, rows: Rows) -> Float32Array:
        """Cosine of the vector with each of the rows; whichever are asked for together, each one's is the same."""
        return np.asarray(self._dots(vector[None], rows)[0])

    def _dots(self, vectors: Float32Array, rows: Rows) -> Float32Array:
        """The same for several vectors [n, d]: [n, rows]."""
        count, vectors = len(rows), np.asarray(vectors, np.float32)
        if missing := -count % _AT_ONCE:
            rows = np.concatenate([rows, np.zeros(missing, np.int64)])  # a product's last rows round otherwise
        if len(vectors) == 1 and len(rows) <= _CHUNK:
            return np.asarray(np.dot(_singles(self._matrix[rows]), vectors[0])[None, :count])
        cosines = np.empty((len(vectors), len(rows)), np.float32)
        for first, some in self._widened(rows):
            for vector, its in zip(vectors, cosines, strict=True):
                np.dot(some, vector, out=its[first : first + len(some)])
        return cosines[:, :count]

    def _widened(self, rows: Rows) -> Iterator[tuple[int, Float32Array]]:
        """The vectors of rows, some hundreds at a time, each time in the same memory; and how many came before."""
        halves = np.empty((min(_CHUNK, len(rows)), self._matrix.shape[1]), np.float16)
        singles = np.empty(halves.shape, np.float32)
        for first in range(0, len(rows), _CHUNK):
            n = len(some := rows[first : first + _CHUNK])
            np.take(self._matrix, some, axis=0, out=halves[:n], mode="clip")  # that mode writes straight into ``out``
            yield first, _singles(halves[:n], singles[:n])

    def roughly(self, vector: Float32Array, rows: Rows) -> tuple[Float32Array, float]:
        """About the cosine of the vector with each of the rows, and by how much those may be wrong at most."""
        return (self.dots(vector, rows), 0.0) if self._bytes is None else self._bytes.dots(vector, rows)

    def best_dots(self, vectors: Float32Array, rows: Rows) -> Float32Array:
        """Each row's best cosine with any of the vectors [n, d]."""
        cosines = self._dots(vectors, rows)
        return cosines[0] if len(cosines) == 1 else np.asarray(cosines.max(axis=0))

    def above(self, vectors: Float32Array, threshold: float, rows: Rows | None = None) -> tuple[Rows, Float32Array]:
        """The rows whose best cosine with any of the vectors [n, d] is at least the threshold, ascending, and it.

        ``rows``: it is enough to tell it of these, ascending. Else what is found is remembered, and looked up the next
        time.
        """
        vectors = np.ascontiguousarray(vectors, np.float32)
        if rows is not None and len(rows) <= _DIRECT and not self.remembers(vectors, threshold):
            cosines = self.best_dots(vectors, rows)
            kept = cosines >= threshold
            return rows[kept], cosines[kept]
        return _joined(self._hits(vectors, threshold))

    def remembers(self, vectors: Float32Array, threshold: float) -> bool:
        """Whether it is known of each of these vectors [n, d] which rows are that near to it."""
        return all(_key(vector, threshold) in self._known for vector in vectors)

    def may_exceed(self, vectors: Float32Array, threshold: float, count: int) -> bool:
        """Whether it seems that more than ``count`` rows have a best cosine of at least the threshold."""
        if self._rows <= count:
            return False
        known = [self._known.get(_key(vector, threshold)) for vector in vectors]
        most = sum(len(hits.rows) for hits in known if hits is not None)
        unknown = vectors[[hits is None for hits in known]]
        return most + float(self._shares(unknown, threshold).sum()) * self._rows > count

    def _shares(self, vectors: Float32Array, threshold: float) -> npt.NDArray[np.float64]:
        """About which share of all rows is that near to each of the vectors."""
        rows = np.arange(0, self._rows, max(1, self._rows // _SAMPLE))
        near = sum((some @ vectors.T >= threshold).sum(axis=0) for _, some in self._widened(rows))
        return np.asarray(near / max(1, len(rows)))

    def _hits(self, vectors: Float32Array, threshold: float) -> list[_Hits]:
        """The rows that near to each of the vectors, ascending: as remembered, and among those added since."""
        keys = [_key(vector, threshold) for vector in vectors]
        known = [self._known.get(key, _NO_HITS) for key in keys]
        for first in {hits.upto for hits in known if hits.upto < self._rows}:
            some = [i for i, hits in enumerate(known) if hits.upto == first]
            for i, (rows, cosines) in zip(some, self._scan_from(first, vectors[some], threshold), strict=True):
                old = known[i]
                rows, cosines = np.concatenate([old.rows, rows]), np.concatenate([old.cosines, cosines])
                known[i] = _Hits(self._rows, rows, cosines)
        for key, hits in zip(keys, known, strict=True):
            self._known_rows += len(hits.rows) - len(self._known.get(key, _NO_HITS).rows)
            self._known[key] = hits
            self._known.move_to_end(key)
        while len(self._known) > _KEPT or self._known_rows > _KEPT_ROWS:
            self._known_rows -= len(self._known.popitem(last=False)[1].rows)
        return known

    def _scan_from(self, first: int, vectors: Float32Array, threshold: float) -> list[tuple[Rows, Float32Array]]:
        """For each of the vectors the rows from one on that are that near to it, ascending, with their cosines."""
        few = self._bytes is not None and first == 0
        shares = self._shares(vectors, threshold) if few else np.ones(len(vectors))
        found: list[tuple[Rows, Float32Array] | None] = [
            self._by_copy(vector, threshold, share * self._rows) if few else None
            for vector, share in zip(vectors, shares.tolist(), strict=True)
        ]
        rest = [i for i, its in enumerate(found) if its is None]
        for i, rows in zip(rest, self._roughly_above(first, vectors[rest], threshold), strict=True):
            cosines = self.dots(vectors[i], rows)
            kept = cosines >= threshold
            found[i] = rows[kept], cosines[kept]
        return [its for its in found if its is not None]

    def _by_copy(self, vector: Float32Array, threshold: float, about: float) -> tuple[Rows, Float32Array] | None:
        """The rows that near, of which there are about so many, by the copy in bytes; None where that is no quicker."""
        assert self._bytes is not None
        tried = _FIRST
        while tried < 2 * about:
            tried *= 4
        while tried <= min(_MOST // 4, self._rows):
            rows, farthest = self._bytes.nearest(vector, tried)
            if self._bytes.excludes(vector, threshold, farthest):
                rows = np.sort(rows)
                cosines = self.dots(vector, rows)
                return rows[cosines >= threshold], cosines[cosines >= threshold]
            tried *= 4
        return None

    def _roughly_above(self, first: int, vectors: Float32Array, threshold: float) -> list[Rows]:
        """For each of the vectors the rows from one on that are that near to it, and some that nearly are."""
        if not len(vectors):
            return []
        which, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for i, some in self._widened(np.arange(first, self._rows)):
            its, at = np.nonzero(vectors @ some.T >= threshold - _ROUGH)
            which.append(its)
            rows.append(at + first + i)
        each, every = np.concatenate(which), np.concatenate(rows)
        order = np.argsort(each, kind="stable")
        ends = np.cumsum(np.bincount(each, minlength=len(vectors)))
        return np.split(every[order], ends[:-1])

    def nearest(self, vector: Float32Array, count: int, rows: Rows | None = None) -> tuple[Rows, Float32Array]:
        """The ``count`` rows (of the given ones, ascending; else of all) with the highest cosines, best first.

        Ties by row.
        """
        every = np.arange(self._rows) if rows is None else rows
        if self._bytes is None or len(every) <= _DIRECT:
            return best(every, self.dots(vector, every), count)
        if len(every) > self._rows // _SHARE_TO_SCAN:
            found = self._scanned(self._bytes, vector, count, rows)
            if found is not None:
                return found
        rough, shift = self._bytes.dots(vector, every)
        count = min(count, len(every))
        least = np.partition(rough, len(rough) - count)[len(rough) - count] - 2 * shift
        every = every[rough >= least]
        return best(every, self.dots(vector, every), count)

    def _scanned(
        self, copy: _Bytes, vector: Float32Array, count: int, rows: Rows | None
    ) -> tuple[Rows, Float32Array] | None:
        """The nearest of many rows, by a scan of all; None where that proves nothing."""
        allowed = None
        if rows is not None:
            allowed = np.zeros(self._rows, np.bool_)
            allowed[rows] = True
        tried = max(_FIRST, 8 * count)
        while tried <= min(_MOST, self._rows):
            found, farthest = copy.nearest(vector, tried)
            found = found if allowed is None else found[allowed[found]]
            found, cosines = best(found, self.dots(vector, found), count)
            if len(found) == count and copy.excludes(vector, float(cosines[-1]), farthest):
                return found, cosines
            tried *= 4
        return None

    def nbytes(self) -> int:
        """Memory taken by the rows in use."""
        copied = 0 if self._bytes is None else self._rows * self._matrix.shape[1]
        return int(self._matrix[: self._rows].nbytes) + copied + _HIT_BYTES * self._known_rows


def _singles(halves: HalfArray, out: Float32Array | None = None) -> Float32Array:
    """The same numbers in float32; several times as quick as numpy's own conversion.

    Sign, exponent and fraction go where float32 has them; the exponent's offset is made up for by a product.
    """
    singles: Float32Array = np.empty(halves.shape, np.float32) if out is None else out
    bits = singles.view(np.int32)
    np.copyto(bits, halves.view(np.int16))
    bits <<= 13
    bits &= _HALF_BITS
    singles *= _HALF_SCALE
    return singles


class _Bytes:
    """The copy: each vector scaled and rounded to -127..127, searched by distance."""

    def __init__(self, vectors: HalfArray) -> None:
        faiss = _faiss()
        self._dimension = dimension = vectors.shape[1]
        self._codes: npt.NDArray[np.uint8] = np.zeros((0, dimension), np.uint8)
        self._index: Any = faiss.IndexScalarQuantizer(
            dimension, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_L2
        )
        self._scale = 127 / (_HEADROOM * max(float(np.abs(_singles(vectors)).max()), 1e-6))
        self._shift = 0.0  # how far rounding moved a vector at most, in scaled units
        self._longest = 0.0  # the largest squared length
        self.append(vectors)

    def append(self, vectors: HalfArray) -> None:
        """Add rows."""
        for i in range(0, len(vectors), _CHUNK):
            some = _singles(vectors[i : i + _CHUNK])
            rounded, shift = self._rounded(some)
            self._shift = max(self._shift, shift)
            self._longest = max(self._longest, float(np.einsum("ij,ij->i", some, some).max()))
            self._index.add(rounded)
        flat = _faiss().rev_swig_ptr(self._index.codes.data(), self._index.ntotal * self._dimension)
        self._codes = flat.reshape(-1, self._dimension)

    def dots(self, vector: Float32Array, rows: Rows) -> tuple[Float32Array, float]:
        """About the cosines of the vector with rows, and by how much they may be wrong at most."""
        cosines, vector = np.empty(len(rows), np.float32), np.asarray(vector, np.float32)
        codes = np.empty((min(_CHUNK, len(rows)), self._dimension), np.uint8)
        singles = np.empty(codes.shape, np.float32)
        for i in range(0, len(rows), _CHUNK):
            n = len(some := rows[i : i + _CHUNK])
            np.take(self._codes, some, axis=0, out=codes[:n], mode="clip")  # that mode writes straight into ``out``
            np.copyto(singles[:n], codes[:n])
            np.dot(singles[:n], vector, out=cosines[i : i + n])
        cosines -= np.float32(128 * vector.sum(dtype=float))  # what a code is more than its element
        cosines /= np.float32(self._scale)
        return cosines, self._shift / self._scale * float(np.linalg.norm(vector)) + 1e-4

    def _rounded(self, vectors: Float32Array) -> tuple[Float32Array, float]:
        scaled = vectors * np.float32(self._scale)
        rounded = np.clip(np.rint(scaled), -127, 127)
        return rounded, float(np.linalg.norm(rounded - scaled, axis=1).max(initial=0.0)) + 1e-3

    def nearest(self, vector: Float32Array, count: int) -> tuple[Rows, float]:
        """The nearest rows by the copy, and the distance of the farthest of them."""
        distances, rows = self._index.search(self._rounded(vector[None])[0], count)
        return rows[0], float(np.sqrt(distances[0, -1]))

    def excludes(self, vector: Float32Array, threshold: float, distance: float) -> bool:
        """Whether no row farther than that by the copy can have a cosine above the threshold."""
        shift = self._rounded(vector[None])[1]
        return distance * (1 - 1e-5) - shift - self._shift >= self._reach(vector, threshold)

    def _reach(self, vector: Float32Array, threshold: float) -> float:
        """The largest distance, in scaled units, of a row with at least that cosine."""
        squared = self._longest + float(vector @ vector) - 2 * threshold
        return self._scale * float(np.sqrt(max(squared, 0.0)))


def best(rows: Rows, cosines: Float32Array, count: int) -> tuple[Rows, Float32Array]:
    """The first ``count`` by cosine, ties by row."""
    if 4 * count < len(rows):
        least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
        kept = cosines >= least
        rows, cosines = rows[kept], cosines[kept]
    order = np.lexsort((rows, -cosines))[:count]
    return rows[order], cosines[order]


@lru_cache(maxsize=1)
def _faiss() -> Any:
    """Faiss with one thread: on a busy machine several are slower than one, and queries come in parallel anyway."""
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss
