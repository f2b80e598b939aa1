from __future__ import annotations

import numpy as np
import pytest

from r4_ros.adapters import multilingual
from r4_ros.adapters.embedders import embedder_of, make_embedder
from r4_ros.adapters.minilm import DIMENSION, NAME, MiniLm
from r4_ros.adapters.sentence_embedder import SentenceEmbedder
from r4_ros.core.errors import InvalidArgument

embedder = MiniLm()


def test_vectors_are_unit_and_in_order() -> None:
    texts = ["a white mug", "", "television", "кружка", "x " * 2000]
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), DIMENSION)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(embedder.embed(texts[::-1]), vectors[::-1])


def test_a_vector_does_not_depend_on_its_company() -> None:
    together = MiniLm().embed(["a chair", "a very long sentence about a sofa that stands in a far corner"])
    np.testing.assert_array_equal(MiniLm().embed(["a chair"])[0], together[0])


def test_meaning_is_near() -> None:
    sofa, couch, banana = embedder.embed(["sofa", "couch", "banana"])
    assert sofa @ couch > 0.7 > 0.4 > sofa @ banana


def test_nothing_gives_an_empty_table() -> None:
    assert MiniLm().embed([]).shape == (0, DIMENSION)


def test_names() -> None:
    assert make_embedder("none") is None
    assert isinstance(make_embedder("minilm"), MiniLm)
    with pytest.raises(InvalidArgument, match="minilm"):
        make_embedder("word2vec")


def test_a_memory_s_embedder_is_found_by_the_name_of_its_vectors() -> None:
    assert isinstance(embedder_of([]), MiniLm) and isinstance(embedder_of(["b", NAME]), MiniLm)
    assert isinstance(embedder_of(["unheard of"]), MiniLm)
    assert isinstance(embedder_of([multilingual.NAME]), multilingual.Multilingual)
    named = embedder_of(["st:intfloat/e5-small"])
    assert isinstance(named, SentenceEmbedder) and named.name == "st:intfloat/e5-small"
