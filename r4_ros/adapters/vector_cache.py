"""What all text embedders share: each text is embedded alone, once, by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from r4_ros.core.model import Float32Array

CACHE_SIZE = 20_000


class VectorCache:
    """Vectors of texts, kept; beyond 20,000 the oldest go. Thread-safe; ``make`` is never called by two threads."""

    def __init__(self, make: Callable[[str], Float32Array]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._kept: dict[str, Float32Array] = {}

    def vectors(self, texts: Sequence[str]) -> list[Float32Array]:
        """One vector a text, in order. Raises what ``make`` raises."""
        with self._lock:
            return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Float32Array:
        vector = self._kept.get(text)
        if vector is None:
            vector = self._make(text)
            if len(self._kept) >= CACHE_SIZE:
                self._kept.pop(next(iter(self._kept)))
            self._kept[text] = vector
        return vector
