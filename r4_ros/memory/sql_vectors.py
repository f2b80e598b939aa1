"""What texts mean, in a store: one vector for each text and model, found by a key of both (``codec.text_key``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from r4_ros.core.model import Embedding
from r4_ros.memory.codec import pack_vector, text_key, unpack_vector
from r4_ros.memory.sql import Database

_MODEL = "INSERT INTO model(name) VALUES (?) ON CONFLICT DO NOTHING"
_KEEP = """INSERT INTO vector(key, model_no, data) VALUES (?, (SELECT model_no FROM model WHERE name = ?), ?)
    ON CONFLICT(key) DO UPDATE SET key = excluded.key RETURNING vector_no"""
_FIND = "SELECT vector_no, data FROM vector WHERE key = ?"
_CHUNK = 500


def keep_vector(file: Database, text: str, embedding: Embedding) -> int:
    """Keep what a text means, and give the number of that; a vector that is known stays as it is."""
    key = text_key(embedding.model, text)
    rows = file.execute("SELECT vector_no FROM vector WHERE key = ?", (key,))
    if not rows:
        file.execute(_MODEL, (embedding.model,))
        rows = file.execute(_KEEP, (key, embedding.model, pack_vector(embedding.vector)))
    return int(rows[0][0])


def vector_models(file: Database) -> list[str]:
    """The models that the kept vectors were made by."""
    return [row[0] for row in file.execute("SELECT name FROM model ORDER BY name")]


def vectors_by(file: Database, model: str, texts: Sequence[str]) -> Iterator[tuple[str, int, Embedding]]:
    """What texts mean by a model, as far as it is kept: the text, the number of the vector and the vector."""
    for i in range(0, len(texts), _CHUNK):
        keys = {text_key(model, text): text for text in texts[i : i + _CHUNK]}
        sql = f"SELECT key, vector_no, data FROM vector WHERE key IN ({', '.join('?' * len(keys))})"
        for key, number, data in file.execute(sql, tuple(keys)):
            yield keys[bytes(key)], number, Embedding(model, unpack_vector(data))


def vectors_of(file: Database, texts: Sequence[str]) -> dict[str, Embedding]:
    """What texts mean, each by the model that was asked last; without those of which it isn't kept."""
    found: dict[str, tuple[int, Embedding]] = {}
    for model in vector_models(file):
        for text, number, embedding in vectors_by(file, model, texts):
            if text not in found or number > found[text][0]:
                found[text] = (number, embedding)
    return {text: embedding for text, (_, embedding) in found.items()}


def vector_of(file: Database, models: Sequence[str], text: str) -> Embedding | None:
    """What a text means, by the model among these that was asked last; None: that isn't kept."""
    found = [(*row, model) for model in models for row in file.execute(_FIND, (text_key(model, text),))]
    if not found:
        return None
    _, data, model = max(found, key=lambda row: row[0])
    return Embedding(model, unpack_vector(data))
