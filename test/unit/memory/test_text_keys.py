"""Vectors are found by keys of their texts: the same in SQLite, PostgreSQL and Python, and for no two texts alike."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core.model import Embedding
from r4_ros.memory.codec import text_key
from r4_ros.memory.sql_vectors import keep_vector, vector_models, vector_of, vectors_of
from r4_ros.memory.sqlite_store import SqliteStore

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


def test_the_key_of_a_text_never_changes() -> None:
    assert text_key("model", "a mug").hex() == "34004ece16dcb2c391a2"


@given(st.tuples(TEXTS, TEXTS), st.tuples(TEXTS, TEXTS))
def test_other_texts_and_models_have_other_keys(one: tuple[str, str], other: tuple[str, str]) -> None:
    joined = ["\n".join(pair) for pair in (one, other)]
    assert (text_key(*one) == text_key(*other)) == (joined[0] == joined[1])


def test_each_model_has_its_own_vector_of_a_text_and_the_last_one_asked_counts(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    made = [Embedding(model, np.eye(4, dtype=np.float32)[i]) for i, model in enumerate(("b", "a"))]
    with store._file.transaction():
        numbers = [keep_vector(store._file, "a mug", embedding) for embedding in made]
        assert [keep_vector(store._file, "a mug", embedding) for embedding in made] == numbers
        keep_vector(store._file, "a cup", made[0])
    models = vector_models(store._file)
    assert models == ["a", "b"]
    for found in (vector_of(store._file, models, "a mug"), vectors_of(store._file, ["a mug", "no"])["a mug"]):
        assert found is not None and found.model == "a" and found.vector.tolist() == [0, 1, 0, 0]
    assert set(vectors_of(store._file, ["a mug", "a cup", "no"])) == {"a mug", "a cup"}
    store.close()


def test_an_older_file_gets_the_keys_that_the_program_looks_for(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    raw = sqlite3.connect(path)
    raw.executescript((Path(__file__).parents[2] / "golden" / "memory_v17.sql").read_text(encoding="utf-8"))
    texts = dict(raw.execute("SELECT vector_no, text FROM vector"))
    raw.close()
    store = SqliteStore(path)
    rows = store._file.execute("SELECT vector_no, key FROM vector")
    assert {number: text_key("axes", text) for number, text in texts.items()} == dict(rows)
    store.close()
