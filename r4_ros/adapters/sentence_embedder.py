"""Text embedders of the library sentence-transformers: a name on the hub, or a folder. Needs torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.adapters.torch_runtime import INSTALL, pick_runtime
from r4_ros.adapters.vector_cache import VectorCache
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Float32Array

PREFIX = "st:"


class SentenceEmbedder:
    """Unit vectors of texts, float32 [n, d]. The model loads at the first text; vectors are cached. Thread-safe.

    model: such as sentence-transformers/all-MiniLM-L6-v2, whose cosines the memory's thresholds were fitted to;
    with another one set match_similarity and label_similarity to what it takes for alike.
    """

    def __init__(self, model: str, device: str = "auto") -> None:
        self._source, self._device = model, device
        self._model: Any = None
        self._cache = VectorCache(self._one)

    @property
    def name(self) -> str:
        """'st:' and the model's name, or that of its folder: vectors of different names never mix."""
        path = Path(self._source)
        return PREFIX + (path.name if path.is_dir() else self._source)

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """Unit vectors. Raises Unavailable when the library or the model is missing."""
        found = self._cache.vectors(texts)
        return np.stack(found) if found else np.zeros((0, self._dimension()), np.float32)

    def _one(self, text: str) -> Float32Array:
        """Alone, so that a vector doesn't depend on what it is padded with."""
        if self._model is None:
            self._model = self._load()
        made = self._model.encode([text], normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(made[0], np.float32)

    def _dimension(self) -> int:
        return len(self._cache.vectors(["a"])[0])

    def _load(self) -> Any:
        runtime = pick_runtime("the embedder", self._device)
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise Unavailable(
                f"embedder '{self.name}' needs sentence-transformers: {INSTALL} sentence-transformers ({error})"
            ) from error
        try:
            return SentenceTransformer(self._source, device=runtime.device)
        except Exception as error:
            raise Unavailable(
                f"the embedder '{self._source}' can't be loaded: set embedder to st:NAME with a name on the hub or a "
                f"folder, or to minilm ({error})"
            ) from error
