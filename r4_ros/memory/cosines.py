"""Unit vectors and their cosines with a query, exact: few rows directly, all rows through a copy in bytes first.

The only module that imports faiss. A copy of every vector in one byte a dimension is four times quicker to read than
the vectors. How far rounding can shift a distance is known, so the copy only decides what need not be looked at: what
it leaves is scored from the vectors themselves, and no row that belongs to the result can be missing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Float32Array

Rows = npt.NDArray[np.int64]

BYTES_FROM = 32_768
"""With fewer rows there is no copy in bytes: reading the vectors is quick enough."""
_FEW = 4096
"""So many rows are read by numpy, which saves small memories the loading of faiss."""
_FIRST, _MOST = 1024, 16_384
_HEADROOM = 1.25
"""Later vectors may have larger elements than the first ones."""


class UnitVectors:
    """Rows of unit vectors, appended and never changed."""

    def __init__(self, dimension: int) -> None:
        self._matrix: Float32Array = np.empty((16, dimension), np.float32)
        self._rows = 0
        self._bytes: _Bytes | None = None

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: int) -> Float32Array:
        vector: Float32Array = self._matrix[row]
        return vector

    def append(self, vectors: Float32Array) -> None:
        """Add rows."""
        first, self._rows = self._rows, self._rows + len(vectors)
        if self._rows > len(self._matrix):
            # memory that isn't written yet costs nothing, so doubling is only an address range
            grown = np.empty((max(self._rows, 2 * len(self._matrix)), self._matrix.shape[1]), np.float32)
            grown[:first] = self._matrix[:first]
            self._matrix = grown
        self._matrix[first : self._rows] = vectors
        if self._bytes is not None:
            self._bytes.append(self._matrix[first : self._rows])
        elif self._rows >= BYTES_FROM:
            self._bytes = _Bytes(self._matrix[: self._rows])

    def dots(self, vector: Float32Array, rows: Rows) -> Float32Array:
        """Cosine of the vector with each of the rows."""
        if len(rows) < _FEW and self._bytes is None:
            plain: Float32Array = self._matrix[rows] @ vector
            return plain
        faiss, count = _faiss(), len(rows)
        vector = np.ascontiguousarray(vector, np.float32)
        rows = np.ascontiguousarray(rows, np.int64)
        cosines = np.empty(count, np.float32)
        pointer = faiss.swig_ptr
        faiss.fvec_inner_products_by_idx(
            pointer(cosines), pointer(vector), pointer(self._matrix), pointer(rows), len(vector), 1, count
        )
        return cosines

    def all_dots(self, vector: Float32Array) -> Float32Array:
        """Cosine of the vector with every row."""
        cosines: Float32Array = self._matrix[: self._rows] @ vector
        return cosines

    def above(self, vector: Float32Array, threshold: float) -> tuple[Rows, Float32Array]:
        """The rows whose cosine is at least the threshold, ascending, and their cosines."""
        tried = _FIRST
        while self._bytes is not None and tried <= min(_MOST, self._rows):
            rows, farthest = self._bytes.nearest(vector, tried)
            if self._bytes.excludes(vector, threshold, farthest):
                rows = np.sort(rows)
                cosines = self.dots(vector, rows)
                kept = cosines >= threshold
                return rows[kept], cosines[kept]
            tried *= 4
        cosines = self.all_dots(vector)
        rows = np.flatnonzero(cosines >= threshold)
        return rows, cosines[rows]

    def nearest(
        self, vector: Float32Array, count: int, allowed: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Rows, Float32Array]:
        """The ``count`` rows with the highest cosines, best first; ties by row. ``allowed``: a mask over all rows."""
        tried = max(_FIRST, 8 * count)
        while self._bytes is not None and tried <= min(_MOST, self._rows):
            rows, farthest = self._bytes.nearest(vector, tried)
            rows = rows if allowed is None else rows[allowed[rows]]
            rows, cosines = best(rows, self.dots(vector, rows), count)
            if len(rows) == count and self._bytes.excludes(vector, float(cosines[-1]), farthest):
                return rows, cosines
            tried *= 4
        every = np.arange(self._rows) if allowed is None else np.flatnonzero(allowed)
        cosines = self.all_dots(vector) if allowed is None else self.dots(vector, every)
        return best(every, cosines, count)

    def nbytes(self) -> int:
        """Memory taken by the rows in use."""
        copied = 0 if self._bytes is None else self._rows * self._matrix.shape[1]
        return int(self._matrix[: self._rows].nbytes) + copied


class _Bytes:
    """The copy: each vector scaled and rounded to -127..127, searched by distance."""

    def __init__(self, vectors: Float32Array) -> None:
        faiss = _faiss()
        dimension = vectors.shape[1]
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
