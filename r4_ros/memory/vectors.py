"""Distinct texts (labels, descriptions) with their unit vectors: a query is compared with each text once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Embedding, Float32Array
from r4_ros.core.ports import Embedder
from r4_ros.memory.bulk import VectorBatch
from r4_ros.memory.byte_copies import HalfArray
from r4_ros.memory.cosines import UnitVectors
from r4_ros.memory.tables import Codes, Table
from r4_ros.memory.words import WordIndex

_MOST_KEPT = 4096
"""Texts of which it is remembered what is alike."""

CodeArray = npt.NDArray[np.int64]


class TextVectors:
    """Texts by code; vectors by model, since vectors of two models never mix."""

    def __init__(self) -> None:
        self._codes = Codes()
        self._models: dict[str, _Model] = {}
        self._words = WordIndex()
        self._folded = 0
        self._same_word: dict[str, list[int]] = {}
        self._alike: dict[tuple[str, str, float], tuple[int, list[int]]] = {}
        self._like: dict[tuple[int, float], list[int]] = {}
        self._like_of = (0, 0)
        self._expected: list[CodeArray] = []
        self._is_ordered = False

    @property
    def texts(self) -> list[str]:
        """All texts; the place is the code."""
        return self._codes.texts

    @property
    def words(self) -> WordIndex:
        """Which texts have which words; read when first asked for."""
        self._words.read(self.texts)
        return self._words

    def code(self, text: str, embedding: Embedding | None = None) -> int:
        """The code of a text, new or known; its vector is kept if it is given for the first time."""
        return int(self.code_all((text,), (embedding,))[0])

    def code_all(self, texts: Sequence[str], embeddings: Sequence[Embedding | None] = ()) -> CodeArray:
        """The codes of texts, each as by ``code``, with their vectors added at once. ``embeddings``: all or none."""
        codes = self._codes.code_all(texts)
        if embeddings:
            self._add_missing(codes, texts, embeddings)
        return np.array(codes, np.int64)

    def _add_missing(self, codes: Sequence[int], texts: Sequence[str], embeddings: Sequence[Embedding | None]) -> None:
        missing: dict[str, dict[int, Float32Array]] = {}
        for code, text, embedding in zip(codes, texts, embeddings, strict=True):
            if embedding is not None and text and self._row(embedding.model, code) < 0:
                missing.setdefault(embedding.model, {}).setdefault(code, embedding.vector)
        for model, vectors in missing.items():
            self.add(model, list(vectors), np.stack(list(vectors.values())))

    def expect(self, numbers: CodeArray, codes: CodeArray) -> None:
        """The vectors of these texts come with these numbers (negative: there is none)."""
        some = numbers >= 0
        self._expected.append(np.stack([numbers[some], codes[some]]))

    def take(self, batch: VectorBatch) -> None:
        """Keep the vectors that are expected, and that their texts lack."""
        if len(self._expected) > 1 or not self._is_ordered:
            expected = np.concatenate(self._expected, axis=1) if self._expected else np.zeros((2, 0), np.int64)
            numbers, first = np.unique(expected[0], return_index=True)
            self._expected = [np.stack([numbers, expected[1][first]])]
            self._is_ordered = True
        numbers, codes = self._expected[0]
        at = np.searchsorted(numbers, batch.numbers)
        at[at == len(numbers)] = 0
        here = np.flatnonzero(numbers[at] == batch.numbers) if len(numbers) else np.zeros(0, np.int64)
        known = self._models.get(batch.model)
        if known is None and len(here):
            known = self._models[batch.model] = _Model(batch.vectors.shape[1])
            known.vectors.reserve(len(numbers))
        if known is not None:
            wanted = codes[at[here]]
            lacking = known.rows_of(wanted) < 0
            self.add(batch.model, wanted[lacking].tolist(), batch.vectors[here[lacking]])

    def all_taken(self) -> None:
        """No more vectors are expected."""
        self._expected, self._is_ordered = [], False

    def knows(self, model: str) -> bool:
        """Whether any text has a vector of that model."""
        return model in self._models

    def find(self, text: str) -> int:
        """The code of a text, -1 where it isn't known."""
        return self._codes.find(text)

    def add(self, model: str, codes: Sequence[int], vectors: Float32Array | HalfArray) -> None:
        """Give known texts that have no vector of this model one each."""
        if len(codes):
            self._models.setdefault(model, _Model(vectors.shape[1])).add(codes, vectors)

    def vector(self, model: str, code: int) -> Float32Array | None:
        """The vector of a text by that model."""
        row = self._row(model, code)
        return None if row < 0 else self._models[model].vectors[row]

    def _row(self, model: str, code: int) -> int:
        known = self._models.get(model)
        return -1 if known is None else known.row(code)

    def alike(self, a: int, b: int, threshold: float) -> bool:
        """Whether two texts are the same but for case, or as similar as that by any model that knows both."""
        if self.texts[a].casefold() == self.texts[b].casefold():
            return True
        for model in self._models:
            x, y = self.vector(model, a), self.vector(model, b)
            if x is not None and y is not None:
                return float(x @ y) >= threshold
        return False

    def same(self, text: str) -> list[int]:
        """The codes of all texts that are the same but for case."""
        for code in range(self._folded, len(self.texts)):
            self._same_word.setdefault(self.texts[code].casefold(), []).append(code)
        self._folded = len(self.texts)
        return self._same_word.get(text.casefold(), [])

    def all_alike(self, text: str, embedding: Embedding | None, threshold: float) -> list[int]:
        """The codes of all texts that are the same but for case, or as similar as that by the embedding's model."""
        same = self.same(text)
        known = None if embedding is None else self._models.get(embedding.model)
        if embedding is None or known is None:
            return same
        key, vectors = (text, embedding.model, threshold), len(known.vectors)
        if self._alike.get(key, (-1,))[0] != vectors:
            if len(self._alike) >= _MOST_KEPT:
                self._alike.clear()
            rows, _ = known.vectors.above(embedding.vector[None], threshold)
            self._alike[key] = vectors, known.codes_of(rows).tolist()
        return sorted({*same, *self._alike[key][1]})

    def all_like(self, codes: CodeArray, threshold: float) -> CodeArray:
        """The codes of all texts that are like any of these, themselves included."""
        known = len(self.texts), sum(len(model.vectors) for model in self._models.values())
        if self._like_of != known or len(self._like) >= _MOST_KEPT:
            self._like_of, self._like = known, {}
        like: set[int] = set()
        for code in codes.tolist():
            if (code, threshold) not in self._like:
                self._like[code, threshold] = self._all_like(code, threshold)
            like.update(self._like[code, threshold])
        return np.array(sorted(like), np.int64)

    def _all_like(self, code: int, threshold: float) -> list[int]:
        vectors = ((model, self.vector(model, code)) for model in self._models)
        known = next((Embedding(model, vector) for model, vector in vectors if vector is not None), None)
        return self.all_alike(self.texts[code], known, threshold)

    def complete(self, embedder: Embedder) -> None:
        """Embed the texts that lack a vector of this model."""
        known = self._models.get(embedder.name)
        codes = np.arange(0 if known is None else known.complete_to, len(self.texts))
        lacking = codes if known is None else codes[known.rows_of(codes) < 0]
        missing = [code for code in lacking.tolist() if self.texts[code]]
        if missing:
            self.add(embedder.name, missing, embedder.embed([self.texts[code] for code in missing]))
        if embedder.name in self._models:
            self._models[embedder.name].complete_to = len(self.texts)

    def similarities(self, model: str, vectors: Float32Array, codes: CodeArray | None = None) -> Float32Array:
        """Best cosine of these texts (None: all, by code) with any of the vectors [n, d]; -1 where there is none."""
        known = self._models.get(model)
        if codes is None:
            codes = np.arange(len(self.texts))
        rows = np.full(len(codes), -1) if known is None else known.rows_of(codes)
        there = rows >= 0
        if known is not None and there.all():
            return known.vectors.best_dots(vectors, rows)
        best = np.full(len(codes), -1.0, np.float32)
        if known is not None and there.any():
            best[there] = known.vectors.best_dots(vectors, rows[there])
        return best

    def roughly(
        self, model: str, vector: Float32Array, codes: CodeArray, sketched: bool = False
    ) -> tuple[Float32Array, float]:
        """About the cosine of each of these texts, -1 where there is none, and by how much those may be wrong.

        ``sketched``: by sketches, and by how much they may be too small.
        """
        known = self._models.get(model)
        cosines = np.full(len(codes), -1.0, np.float32)
        if known is None:
            return cosines, 0.0
        rows = known.rows_of(codes)
        there = rows >= 0
        if there.all():
            return known.vectors.roughly(vector, rows, sketched)
        cosines[there], wrong = known.vectors.roughly(vector, rows[there], sketched)
        return cosines, wrong

    def are_sketched(self, model: str) -> bool:
        """Whether there are sketches of the vectors."""
        return model in self._models and self._models[model].vectors.are_sketched

    def above(
        self, model: str, vectors: Float32Array, threshold: float, codes: CodeArray | None = None
    ) -> tuple[CodeArray, Float32Array]:
        """The texts whose best cosine with any of the vectors [n, d] is at least the threshold, and that cosine.

        In the order in which they got their vectors. ``codes``: it is enough to tell it of these texts, each once.
        """
        known = self._models.get(model)
        if known is None:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        rows = None if codes is None else known.rows_among(codes)
        rows, cosines = known.vectors.above(vectors, threshold, rows)
        return known.codes_of(rows), cosines

    def remembers(self, model: str, vectors: Float32Array, threshold: float) -> bool:
        """Whether ``above`` was asked about all texts with these vectors, so that it looks up what it found."""
        known = self._models.get(model)
        return known is not None and known.vectors.remembers(vectors, threshold)

    def may_exceed(self, model: str, vectors: Float32Array, threshold: float, count: int) -> bool:
        """Whether it seems that the best cosine of more than ``count`` texts is at least the threshold."""
        known = self._models.get(model)
        return known is not None and known.vectors.may_exceed(vectors, threshold, count)

    def nearest(
        self, model: str, vector: Float32Array, count: int, codes: CodeArray | None = None
    ) -> tuple[CodeArray, Float32Array]:
        """The texts with the highest cosines, best first, and those. ``codes``: only these texts, each once."""
        known = self._models.get(model)
        if known is None:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        rows = None if codes is None else known.rows_among(codes)
        rows, cosines = known.vectors.nearest(vector, count, rows)
        return known.codes_of(rows), cosines

    def nbytes(self) -> int:
        """Memory taken by the vectors, and by the numbers of words."""
        return sum(model.nbytes() for model in self._models.values()) + self._words.nbytes()


class _Model:
    """The vectors of one model: which row is whose."""

    def __init__(self, dimension: int) -> None:
        self.vectors = UnitVectors(dimension)
        self.complete_to = 0
        self._by_code = Table(row=(np.int32, 0))  # one more than the row; 0: none
        self._by_row = Table(code=(np.int32, 0))

    def add(self, codes: Sequence[int], vectors: Float32Array | HalfArray) -> None:
        missing = max(codes) + 1 - self._by_code.rows
        if missing > 0:
            self._by_code.extend(missing)
        first = self._by_row.extend(len(codes))
        self._by_row["code"][first:] = codes
        self._by_code["row"][np.asarray(codes, np.int64)] = np.arange(first, first + len(codes)) + 1
        self.vectors.append(vectors)

    def row(self, code: int) -> int:
        return int(self._by_code["row"][code]) - 1 if code < self._by_code.rows else -1

    def rows_of(self, codes: CodeArray) -> CodeArray:
        """Rows of texts; -1 where there is none."""
        if codes.max(initial=-1) < self._by_code.rows:
            return np.asarray(np.subtract(np.take(self._by_code["row"], codes), 1, dtype=np.int64))
        rows = np.full(len(codes), -1, np.int64)
        known = codes < self._by_code.rows
        rows[known] = self._by_code["row"][codes[known]].astype(np.int64) - 1
        return rows

    def rows_among(self, codes: CodeArray) -> CodeArray:
        """Rows of the texts that have one, ascending."""
        rows = self.rows_of(codes)
        return np.sort(rows[rows >= 0])

    @property
    def codes(self) -> npt.NDArray[np.int32]:
        """The text of each row."""
        return self._by_row["code"]

    def codes_of(self, rows: CodeArray) -> CodeArray:
        return np.asarray(self.codes[rows].astype(np.int64))

    def nbytes(self) -> int:
        return self.vectors.nbytes() + self._by_code.nbytes() + self._by_row.nbytes()
