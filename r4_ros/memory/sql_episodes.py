"""Episodes in a store: rows by number, and what their texts mean, kept once a text and model."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from r4_ros.core.model import Embedding
from r4_ros.memory.codec import dump, pack_vec3
from r4_ros.memory.sql import Database
from r4_ros.memory.sql_rows import stored_episode
from r4_ros.memory.sql_vectors import keep_vector, vector_models, vectors_by
from r4_ros.memory.store import StoredEpisode

_INSERT = """INSERT INTO episode(episode_id, agent_id, text, start_ns, end_ns, source, map_id, anchor_id,
    place, participants) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING episode_no"""
_CHUNK = 500


class EpisodeTable:
    """Reads and writes episodes; writing happens inside the caller's transaction."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def add(self, stored: StoredEpisode, embedding: Embedding | None) -> int:
        """Number of the new row; 0 where one with this id is there already."""
        e = stored.episode
        place = None if stored.place is None else pack_vec3(stored.place)
        when_and_who = (e.text, e.interval.start, e.interval.end, int(e.source), e.map_id)
        values = (e.episode_id, e.agent_id, *when_and_who, stored.anchor_id, place, dump(e.participants))
        rows = self._file.execute(_INSERT, values)
        if rows and embedding is not None:
            keep_vector(self._file, e.text, embedding)
        return int(rows[0][0]) if rows else 0

    def overlapping(self, start_ns: int, end_ns: int) -> list[StoredEpisode]:
        """Those that overlap [start_ns, end_ns), oldest first."""
        rows = self._file.execute(
            "SELECT * FROM episode WHERE start_ns < ? AND end_ns > ? ORDER BY start_ns, episode_no", (end_ns, start_ns)
        )
        return [stored_episode(row) for row in rows]

    def read(self, numbers: Collection[int] | None) -> Iterator[StoredEpisode]:
        """By number, ascending; None: all."""
        if numbers is None:
            yield from map(stored_episode, self._file.iterate("SELECT * FROM episode ORDER BY episode_no"))
            return
        ordered = sorted(numbers)
        for i in range(0, len(ordered), _CHUNK):
            chunk = ordered[i : i + _CHUNK]
            where = f"episode_no IN ({', '.join('?' * len(chunk))})"
            rows = self._file.execute(f"SELECT * FROM episode WHERE {where} ORDER BY episode_no", chunk)
            yield from map(stored_episode, rows)

    def vectors(self) -> Iterator[tuple[str, Embedding]]:
        """What the texts of episodes mean, by each model that was asked."""
        texts = [row[0] for row in self._file.execute("SELECT DISTINCT text FROM episode ORDER BY text")]
        for model in vector_models(self._file):
            yield from ((text, embedding) for text, _, embedding in vectors_by(self._file, model, texts))
