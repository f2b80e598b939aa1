"""Copies of vectors in one byte a dimension: quick to read, and how wrong they may be is known.

The only module that imports faiss. A sketch is such a copy of what matters most of each vector: its coordinates along
the main axes of a sample, and how long the rest of it is. Two vectors are never nearer to each other than their
sketches are, so a sketch tells as surely as a whole copy which rows need not be looked at, only of fewer rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Float32Array
from r4_ros.memory.large_pages import clear_into_large_pages

Rows = npt.NDArray[np.int64]
HalfArray = npt.NDArray[np.float16]

SKETCH = 160
"""Dimensions of a sketch; there are none of vectors that have less than twice as many."""
_SAMPLE = 2048
"""So many vectors tell the main axes."""
_HEADROOM = 1.25
"""Later vectors may have larger elements than the first ones."""
_CHUNK = 512
_ROUNDING = 2e-3
"""A rest's length, from the difference of two sums in float32, is wrong by less than this."""
_HALF_BITS = np.int32(0x8FFFE000 - 2**32)
_HALF_SCALE = np.float32(2.0**112)


def singles(halves: HalfArray, out: Float32Array | None = None) -> Float32Array:
    """The same numbers in float32; several times as quick as numpy's own conversion.

    Sign, exponent and fraction go where float32 has them; the exponent's offset is made up for by a product.
    """
    found: Float32Array = np.empty(halves.shape, np.float32) if out is None else out
    bits = found.view(np.int32)
    np.copyto(bits, halves.view(np.int16))
    bits <<= 13
    bits &= _HALF_BITS
    found *= _HALF_SCALE
    return found


def copies_of(vectors: HalfArray) -> list[ByteCopy]:
    """The copies of vectors [n, d] that help to search them, the coarsest one first."""
    sketches = [ByteCopy(vectors, _Sketch(vectors))] if vectors.shape[1] >= 2 * SKETCH else []
    return [*sketches, ByteCopy(vectors)]


class _Sketch:
    """What matters most of a vector."""

    def __init__(self, vectors: HalfArray) -> None:
        sample = singles(vectors[:: -(-len(vectors) // _SAMPLE)]).astype(float)
        axes = np.linalg.eigh(sample.T @ sample)[1][:, 1 - SKETCH :]
        self._axes: Float32Array = np.ascontiguousarray(axes, np.float32)
        self._usual = np.float32(0)
        self._usual = np.median(self.of(sample.astype(np.float32))[:, -1])

    def of(self, vectors: Float32Array) -> Float32Array:
        """Coordinates along the axes, and by how much the rest is longer than usual, [n, SKETCH]."""
        sketch = np.empty((len(vectors), SKETCH), np.float32)
        np.matmul(vectors, self._axes, out=sketch[:, :-1])
        rest = np.einsum("ij,ij->i", vectors, vectors) - np.einsum("ij,ij->i", sketch[:, :-1], sketch[:, :-1])
        sketch[:, -1] = np.sqrt(np.maximum(rest, 0)) - self._usual
        return sketch

    def weights(self, vector: Float32Array) -> tuple[Float32Array, float]:
        """By what the sketch of a vector is multiplied, and what is added, for the largest possible product with it."""
        weights = self.of(vector[None])[0]
        weights[-1] += self._usual
        return weights, float(weights[-1] * self._usual)


class ByteCopy:
    """Each vector, or its sketch, scaled and rounded to -127..127; searched by distance."""

    def __init__(self, vectors: HalfArray, sketch: _Sketch | None = None) -> None:
        faiss = _faiss()
        self._sketch, self._rounding = sketch, 0.0 if sketch is None else _ROUNDING
        self._dimension = dimension = vectors.shape[1] if sketch is None else SKETCH
        self._codes: npt.NDArray[np.uint8] = np.zeros((0, dimension), np.uint8)
        self._room = 0
        self._index: Any = faiss.IndexScalarQuantizer(
            dimension, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_L2
        )
        largest = float(np.abs(self._seen(singles(vectors))).max())
        self._scale = 127 / (_HEADROOM * max(largest, 1e-6))
        self._shift = 0.0  # how far rounding moved a vector at most, in scaled units
        self._longest = 0.0  # the largest squared length
        self.append(vectors)

    def _seen(self, vectors: Float32Array) -> Float32Array:
        return vectors if self._sketch is None else self._sketch.of(vectors)

    def append(self, vectors: HalfArray) -> None:
        """Add rows."""
        self.reserve(len(self._codes) + len(vectors))
        for i in range(0, len(vectors), _CHUNK):
            some = singles(vectors[i : i + _CHUNK])
            rounded, shift = self._rounded(some)
            self._shift = max(self._shift, shift)
            self._longest = max(self._longest, float(np.einsum("ij,ij->i", some, some).max()))
            self._index.add(rounded)
        self._codes = self._memory(self._index.ntotal)

    def reserve(self, rows: int) -> None:
        """Make room for so many rows in all."""
        if rows > self._room:
            self._room = max(rows, 2 * self._room)
            known = self._codes.copy()
            self._index.codes.resize(0)
            self._index.codes.resize(self._room * self._dimension)
            clear_into_large_pages(self._memory(self._room))
            self._codes = self._memory(len(known))
            self._codes[:] = known

    def _memory(self, rows: int) -> npt.NDArray[np.uint8]:
        """The codes of the first rows, where faiss has them."""
        flat = _faiss().rev_swig_ptr(self._index.codes.data(), rows * self._dimension)
        return np.asarray(flat.reshape(-1, self._dimension))

    def dots(self, vector: Float32Array, rows: Rows) -> tuple[Float32Array, float]:
        """About the cosines of the vector with rows, and by how much they may be larger at most.

        By the whole copy, by how much they may be wrong; by a sketch, they may be smaller by any amount.
        """
        cosines, vector, added = np.empty(len(rows), np.float32), np.asarray(vector, np.float32), 0.0
        if self._sketch is not None:
            vector, added = self._sketch.weights(vector)
        codes = np.empty((min(_CHUNK, len(rows)), self._dimension), np.uint8)
        numbers = np.empty(codes.shape, np.float32)
        for i in range(0, len(rows), _CHUNK):
            n = len(some := rows[i : i + _CHUNK])
            np.take(self._codes, some, axis=0, out=codes[:n], mode="clip")  # that mode writes straight into ``out``
            np.copyto(numbers[:n], codes[:n])
            np.dot(numbers[:n], vector, out=cosines[i : i + n])
        above = 128 * vector.sum(dtype=float)  # a code is 128 more than its element
        cosines -= np.float32(above - added * self._scale)
        cosines /= np.float32(self._scale)
        return cosines, (self._shift / self._scale + self._rounding) * float(np.linalg.norm(vector)) + 1e-4

    def _rounded(self, vectors: Float32Array) -> tuple[Float32Array, float]:
        """As the copy has them, and by how much, in scaled units, that is off at most."""
        scaled = self._seen(vectors) * np.float32(self._scale)
        rounded = np.clip(np.rint(scaled), -127, 127)
        scaled -= rounded
        off = float(np.sqrt(np.einsum("ij,ij->i", scaled, scaled).max(initial=0.0)))
        return rounded, off + self._rounding * self._scale + 1e-3

    def nearest(self, vector: Float32Array, count: int) -> tuple[Rows, float]:
        """The nearest rows by the copy, and the distance of the farthest of them."""
        distances, rows = self._index.search(self._rounded(vector[None])[0], count)
        return rows[0], float(np.sqrt(distances[0, -1]))

    def reach(self, vector: Float32Array, threshold: float) -> float:
        """No row that is as far by the copy, or farther, has a cosine above the threshold."""
        squared = self._longest + float(vector @ vector) - 2 * threshold
        distance = self._scale * float(np.sqrt(max(squared, 0.0)))
        return (distance + self._rounded(vector[None])[1] + self._shift) / (1 - 1e-5)

    def nbytes(self) -> int:
        """Memory taken by the rows."""
        return int(self._codes.nbytes)


@lru_cache(maxsize=1)
def _faiss() -> Any:
    """Faiss with one thread: on a busy machine several are slower than one, and queries come in parallel anyway."""
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss
