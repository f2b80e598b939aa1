"""What texts mean, in a store: one vector for each text and model."""

from __future__ import annotations

from collections.abc import Sequence

from r4_ros.core.model import Embedding
from r4_ros.memory.codec import unpack_vector
from r4_ros.memory.sql import Database

_CHUNK = 500


def vector_models(file: Database) -> list[str]:
    """The models that the kept vectors were made by; found in the index of the vectors, whatever their number."""
    found: list[str] = []
    while True:
        rows = file.execute("SELECT min(model) FROM vector WHERE model > ?", (found[-1] if found else "",))
        if rows[0][0] is None:
            return found
        found.append(rows[0][0])


def vectors_of(file: Database, texts: Sequence[str]) -> dict[str, Embedding]:
    """What texts mean, each by the model that was asked last; without those of which it isn't kept."""
    found: dict[str, tuple[int, Embedding]] = {}
    for model in vector_models(file):
        for i in range(0, len(texts), _CHUNK):
            some = texts[i : i + _CHUNK]
            sql = f"SELECT text, vector_no, data FROM vector WHERE model = ? AND text IN ({', '.join('?' * len(some))})"
            for text, number, data in file.execute(sql, (model, *some)):
                if text not in found or number > found[text][0]:
                    found[text] = (number, Embedding(model, unpack_vector(data)))
    return {text: embedding for text, (_, embedding) in found.items()}


def vector_of(file: Database, models: Sequence[str], text: str) -> Embedding | None:
    """What a text means, by the model among these that was asked last; None: that isn't kept."""
    sql = "SELECT vector_no, data FROM vector WHERE model = ? AND text = ?"
    found = [(*row, model) for model in models for row in file.execute(sql, (model, text))]
    if not found:
        return None
    _, data, model = max(found, key=lambda row: row[0])
    return Embedding(model, unpack_vector(data))
