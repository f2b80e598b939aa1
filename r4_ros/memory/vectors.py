"""Distinct texts (labels, descriptions) with their unit vectors: a query is compared with each text once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from r4_ros.core.model import Embedding, Float32Array
from r4_ros.core.ports import Embedder
from r4_ros.memory.codec import as_stored
from r4_ros.memory.tables import Codes


class TextVectors:
    """Texts by code; vectors by model, since vectors of two models never mix."""

    def __init__(self) -> None:
        self._codes = Codes()
        self._rows: dict[str, dict[int, int]] = {}
        self._matrices: dict[str, Float32Array] = {}

    @property
    def texts(self) -> list[str]:
        """All texts; the place is the code."""
        return self._codes.texts

    def code(self, text: str, embedding: Embedding | None = None) -> int:
        """The code of a text, new or known; its vector is kept if it is given for the first time."""
        code = self._codes.code(text)
        if embedding is not None and text and code not in self._rows.setdefault(embedding.model, {}):
            self._add(embedding.model, [code], embedding.vector[None])
        return code

    def find(self, text: str) -> int:
        """The code of a text, -1 where it isn't known."""
        return self._codes.find(text)

    def vector(self, model: str, code: int) -> Float32Array | None:
        """The vector of a text by that model."""
        row = self._rows.get(model, {}).get(code)
        return None if row is None else self._matrices[model][row]

    def alike(self, a: int, b: int, threshold: float) -> bool:
        """Whether two texts are the same but for case, or as similar as that by any model that knows both."""
        if self.texts[a].casefold() == self.texts[b].casefold():
            return True
        for model, rows in self._rows.items():
            if a in rows and b in rows:
                matrix = self._matrices[model]
                return float(matrix[rows[a]] @ matrix[rows[b]]) >= threshold
        return False

    def complete(self, embedder: Embedder) -> None:
        """Embed the texts that lack a vector of this model."""
        rows = self._rows.setdefault(embedder.name, {})
        missing = [code for code, text in enumerate(self.texts) if text and code not in rows]
        if missing:
            self._add(embedder.name, missing, embedder.embed([self.texts[code] for code in missing]))

    def similarities(self, model: str, vectors: Float32Array) -> Float32Array:
        """Best cosine of each text with any of the vectors [n, d], by code; -1 where a text has no vector."""
        best = np.full(len(self.texts), -1.0, np.float32)
        rows = self._rows.get(model)
        if rows:
            count = len(rows)
            cosines = self._matrices[model][:count] @ vectors.T
            best[np.fromiter(rows.keys(), np.int64, count)] = cosines.max(axis=1)
        return best

    def nbytes(self) -> int:
        """Memory taken by the vectors."""
        return sum(matrix.nbytes for matrix in self._matrices.values())

    def _add(self, model: str, codes: Sequence[int], vectors: Float32Array) -> None:
        rows = self._rows[model]
        used = len(rows)
        matrix = self._matrices.get(model)
        if matrix is None:
            matrix = np.zeros((max(16, len(codes)), vectors.shape[1]), np.float32)
        if used + len(codes) > len(matrix):
            grown = np.zeros((max(used + len(codes), 2 * len(matrix)), matrix.shape[1]), np.float32)
            grown[:used] = matrix[:used]
            matrix = grown
        matrix[used : used + len(codes)] = as_stored(np.asarray(vectors, np.float32))
        self._matrices[model] = matrix
        rows.update((code, used + i) for i, code in enumerate(codes))
