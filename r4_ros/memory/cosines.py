"""Unit vectors and their cosines with a query, exact: few rows directly, many through a copy in bytes first.

The only module that imports faiss. Elements are rounded to float16, as the store has them, and kept in float32, which
is scored in half the time. A copy of every vector in one byte a dimension is quicker to read still. How far rounding
can shift a distance or a cosine is known, so the copy only decides what need not be looked at: what it leaves is scored
from the vectors themselves, and no row that belongs to the result can be missing.
"""

from __future__ import annotations

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
_HEADROOM = 1.25
"""Later vectors may have larger elements than the first ones."""
_CHUNK, _AT_ONCE = 512, 16
_HALF_BITS = np.int32(0x8FFFE000 - 2**32)
_HALF_SCALE = np.float32(2.0**112)


class UnitVectors:
    """Rows of unit vectors, appended and never changed; their elements are those of float16."""

    def __init__(self, dimension: int) -> None:
        self._matrix: Float32Array = np.empty((16, dimension), np.float32)
        self._rows = 0
        self._bytes: _Bytes | None = None

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: int) -> Float32Array:
        vector: Float32Array = self._matrix[row]
        return vector

    def reserve(self, count: int) -> None:
        """Make room for so many rows in all."""
        if count > len(self._matrix):
            grown: Float32Array = np.empty((count, self._matrix.shape[1]), np.float32)
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
        self._matrix[first : self._rows] = _singles(np.ascontiguousarray(vectors, np.float16))
        if self._bytes is not None:
            self._bytes.append(self._matrix[first : self._rows])
        elif self._rows >= BYTES_FROM:
            self._bytes = _Bytes(self._matrix[: self._rows])

    def dots(self, vector: Float32Array, rows: Rows) -> Float32Array:
        """Cosine of the vector with each of the rows; whichever are asked for together, each one's is the same."""
        count, vector = len(rows), np.asarray(vector, np.float32)
        rows = np.concatenate([rows, np.zeros(-count % _AT_ONCE, np.int64)])  # a product's last rows round otherwise
        cosines = np.empty(len(rows), np.float32)
        for i in range(0, len(rows), _CHUNK):
            np.dot(self._matrix[rows[i : i + _CHUNK]], vector, out=cosines[i : i + _CHUNK])
        return cosines[:count]

    def above(self, vector: Float32Array, threshold: float, rows: Rows | None = None) -> tuple[Rows, Float32Array]:
        """The rows (of the given ones, ascending; else of all) whose cosine is at least the threshold, ascending."""
        rows = self._maybe_above(vector, threshold, rows)
        cosines = self.dots(vector, rows)
        kept = cosines >= threshold
        return rows[kept], cosines[kept]

    def _maybe_above(self, vector: Float32Array, threshold: float, rows: Rows | None) -> Rows:
        every = np.arange(self._rows) if rows is None else rows
        if self._bytes is None or len(every) <= _DIRECT:
            return every
        tried = _FIRST
        while rows is None and tried <= min(_MOST, self._rows):
            found, farthest = self._bytes.nearest(vector, tried)
            if self._bytes.excludes(vector, threshold, farthest):
                return np.sort(found)
            tried *= 4
        rough, shift = self._bytes.dots(vector, every)
        return every[rough >= threshold - shift]

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
        return int(self._matrix[: self._rows].nbytes) + copied


def _singles(halves: HalfArray) -> Float32Array:
    """The same numbers in float32; several times as quick as numpy's own conversion.

    Sign, exponent and fraction go where float32 has them; the exponent's offset is made up for by a product.
    """
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _HALF_BITS
    singles: Float32Array = bits.view(np.float32)
    singles *= _HALF_SCALE
    return singles


class _Bytes:
    """The copy: each vector scaled and rounded to -127..127, searched by distance."""

    def __init__(self, vectors: Float32Array) -> None:
        faiss = _faiss()
        self._dimension = dimension = vectors.shape[1]
        self._codes: npt.NDArray[np.uint8] = np.zeros((0, dimension), np.uint8)
        self._index: Any = faiss.IndexScalarQuantizer(
            dimension, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_L2
        )
        self._scale = 127 / (_HEADROOM * max(float(np.abs(vectors).max()), 1e-6))
        self._shift = 0.0  # how far rounding moved a vector at most, in scaled units
        self._longest = 0.0  # the largest squared length
        for i in range(0, len(vectors), BYTES_FROM):
            self.append(vectors[i : i + BYTES_FROM])

    def append(self, vectors: Float32Array) -> None:
        rounded, shift = self._rounded(vectors)
        self._shift = max(self._shift, shift)
        self._longest = max(self._longest, float(np.einsum("ij,ij->i", vectors, vectors).max(initial=0.0)))
        self._index.add(rounded)
        flat = _faiss().rev_swig_ptr(self._index.codes.data(), self._index.ntotal * self._dimension)
        self._codes = flat.reshape(-1, self._dimension)

    def dots(self, vector: Float32Array, rows: Rows) -> tuple[Float32Array, float]:
        """About the cosines of the vector with rows, and by how much they may be wrong at most."""
        cosines, vector = np.empty(len(rows), np.float32), np.asarray(vector, np.float32)
        for i in range(0, len(rows), _CHUNK):
            np.dot(self._codes[rows[i : i + _CHUNK]].astype(np.float32), vector, out=cosines[i : i + _CHUNK])
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
