"""Unit vectors and their cosines with a query, exact: few rows directly, many through copies in bytes first.

Elements are kept in float16, as the store has them, and widened in the processor's cache when they are scored, which is
quicker than reading twice the bytes. Copies in bytes are quicker to read still. How far they can be wrong is known, so
they only decide what need not be looked at: what they leave is scored from the vectors themselves, and no row that
belongs to the result can be missing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Float32Array
from r4_ros.memory.byte_copies import ByteCopy, HalfArray, Rows, copies_of, singles

BYTES_FROM = 32_768
"""With fewer rows there are no copies in bytes: reading the vectors is quick enough."""
_DIRECT = 8192
"""So many rows are scored one by one."""
_SHARE_TO_SCAN = 6
"""From this share of all rows on (one in ...), all are scanned."""
_ENOUGH = 512
"""So few aren't looked at by their copies first."""
_FIRST, _MOST = 1024, 16_384
_SAMPLE = 2048
"""So many rows tell about how many of all are near to a vector."""
_ROUGH = 1e-4
"""A product of many rows with several vectors may differ from those one by one by less than this."""
_KEPT_ROWS, _KEPT, _HIT_BYTES = 2_000_000, 4096, 12
"""So many rows, of so many vectors, are remembered with their cosines, in so many bytes each."""
_CHUNK, _AT_ONCE = 512, 16


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
        self._copies: list[ByteCopy] = []
        self._known: OrderedDict[tuple[bytes, float], _Hits] = OrderedDict()
        self._known_rows = 0

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: int) -> Float32Array:
        return singles(self._matrix[row])

    def reserve(self, count: int) -> None:
        """Make room for so many rows in all."""
        if count > len(self._matrix):
            grown: HalfArray = np.empty((count, self._matrix.shape[1]), np.float16)
            grown[: self._rows] = self._matrix[: self._rows]
            self._matrix = grown
            for copy in self._copies:
                copy.reserve(count)

    def append(self, vectors: Float32Array | HalfArray) -> None:
        """Add rows."""
        first, self._rows = self._rows, self._rows + len(vectors)
        if self._rows > len(self._matrix):
            # memory that isn't written yet costs nothing, so doubling is only an address range
            rows, self._rows = self._rows, first
            self.reserve(max(rows, 2 * len(self._matrix)))
            self._rows = rows
        self._matrix[first : self._rows] = vectors
        for copy in self._copies:
            copy.append(self._matrix[first : self._rows])
        if not self._copies and self._rows >= BYTES_FROM:
            self._copies = copies_of(self._matrix[: self._rows])
            for copy in self._copies:
                copy.reserve(len(self._matrix))

    def dots(self, vector: Float32Array, rows: Rows) -> Float32Array:
        """Cosine of the vector with each of the rows; whichever are asked for together, each one's is the same."""
        return np.asarray(self._dots(vector[None], rows)[0])

    def _dots(self, vectors: Float32Array, rows: Rows) -> Float32Array:
        """The same for several vectors [n, d]: [n, rows]."""
        count, vectors = len(rows), np.asarray(vectors, np.float32)
        if missing := -count % _AT_ONCE:
            rows = np.concatenate([rows, np.zeros(missing, np.int64)])  # a product's last rows round otherwise
        if len(vectors) == 1 and len(rows) <= _CHUNK:
            return np.asarray(np.dot(singles(np.take(self._matrix, rows, axis=0)), vectors[0])[None, :count])
        cosines = np.empty((len(vectors), len(rows)), np.float32)
        for first, some in self._widened(rows):
            for vector, its in zip(vectors, cosines, strict=True):
                np.dot(some, vector, out=its[first : first + len(some)])
        return cosines[:, :count]

    def _widened(self, rows: Rows) -> Iterator[tuple[int, Float32Array]]:
        """The vectors of rows, some hundreds at a time, each time in the same memory; and how many came before."""
        halves = np.empty((min(_CHUNK, len(rows)), self._matrix.shape[1]), np.float16)
        wide = np.empty(halves.shape, np.float32)
        for first in range(0, len(rows), _CHUNK):
            n = len(some := rows[first : first + _CHUNK])
            np.take(self._matrix, some, axis=0, out=halves[:n], mode="clip")  # that mode writes straight into ``out``
            yield first, singles(halves[:n], wide[:n])

    @property
    def are_sketched(self) -> bool:
        """Whether there are sketches of the rows."""
        return len(self._copies) > 1

    def roughly(self, vector: Float32Array, rows: Rows, sketched: bool = False) -> tuple[Float32Array, float]:
        """About the cosine of the vector with each of the rows, and by how much those may be wrong at most.

        ``sketched``: by the sketches, and by how much they may be too small; they may be too large by any amount.
        """
        copies = self._copies[:1] if sketched else self._copies[-1:]
        return copies[0].dots(vector, rows) if copies else (self.dots(vector, rows), 0.0)

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
        few = bool(self._copies) and first == 0
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
        """The rows that near, of which there are about so many, by the whole copy; None where that is no quicker."""
        tried = _FIRST
        while tried < 2 * about:
            tried *= 4
        while tried <= min(_MOST // 4, self._rows):
            rows, farthest = self._copies[-1].nearest(vector, tried)
            if farthest >= self._copies[-1].reach(vector, threshold):
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
        size = self._rows if rows is None else len(rows)
        if size > max(_DIRECT, self._rows // _SHARE_TO_SCAN):
            for copy in self._copies:
                found = self._scanned(copy, vector, count, rows)
                if found is not None:
                    return found
        return self._best(vector, count, np.arange(self._rows) if rows is None else rows)

    def _best(self, vector: Float32Array, count: int, rows: Rows) -> tuple[Rows, Float32Array]:
        """The nearest of some rows, by rough cosines first."""
        if self._copies and len(rows) > max(_ENOUGH, count):
            rough, wrong = self._copies[-1].dots(vector, rows)
            rows = rows[rough >= np.partition(rough, -count)[-count] - 2 * wrong]
        return best(rows, self.dots(vector, rows), count)

    def _scanned(
        self, copy: ByteCopy, vector: Float32Array, count: int, rows: Rows | None
    ) -> tuple[Rows, Float32Array] | None:
        """The nearest of many rows, by a scan of all; None where that proves nothing."""
        allowed = None
        if rows is not None:
            allowed = np.zeros(self._rows, np.bool_)
            allowed[rows] = True
        tried = max(3 * _FIRST, 8 * count)
        while tried <= min(_MOST, self._rows):
            found, farthest = copy.nearest(vector, tried)
            found, cosines = self._best(vector, count, found if allowed is None else found[allowed[found]])
            if len(found) == count and farthest >= copy.reach(vector, float(cosines[-1])):
                return found, cosines
            tried *= 4
        return None

    def nbytes(self) -> int:
        """Memory taken by the rows in use."""
        copied = sum(copy.nbytes() for copy in self._copies)
        return int(self._matrix[: self._rows].nbytes) + copied + _HIT_BYTES * self._known_rows


def best(rows: Rows, cosines: Float32Array, count: int) -> tuple[Rows, Float32Array]:
    """The first ``count`` by cosine, ties by row."""
    if 4 * count < len(rows):
        least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
        kept = cosines >= least
        rows, cosines = rows[kept], cosines[kept]
    order = np.lexsort((rows, -cosines))[:count]
    return rows[order], cosines[order]
