"""Episodes as columns in RAM, derived from the store: found by meaning, place, time, agent and who took part.

A text fits what is asked if it has all of its words, or by its meaning. Each distinct text is embedded once, when it
comes; what it means is kept with it.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import numpy.typing as npt

from r4_ros.core.alignments import Alignment
from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import transform_points
from r4_ros.core.model import Embedding, Episode, FloatArray, Order, Query
from r4_ros.core.ports import Embedder
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.store import MemoryStore, StoredEpisode
from r4_ros.memory.tables import Codes, Table
from r4_ros.memory.ties import Ties, stated
from r4_ros.memory.vectors import TextVectors

Rows = npt.NDArray[np.int64]

_BATCH = 4096
_WORDS_FIT = 0.8


@dataclass(frozen=True, slots=True)
class Happened:
    """Rows of episodes with how well their texts fit, and, for those that have one, their places in the map."""

    rows: Rows
    fit: FloatArray
    placed: npt.NDArray[np.bool_]
    places: FloatArray
    maps: npt.NDArray[np.int64]

    def keep(self, mask: npt.NDArray[np.bool_]) -> Happened:
        """Those of a mask."""
        return Happened(self.rows[mask], self.fit[mask], self.placed[mask], self.places[mask], self.maps[mask])


def id_of(episode: Episode) -> str:
    """The id that its content gives it."""
    i = episode.interval
    content = "\0".join(
        [episode.agent_id, episode.text, f"{i.start}\0{i.end}\0{int(episode.source)}", *episode.participants]
    )
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


class EpisodeBook:
    """All episodes. The caller holds the library's lock."""

    def __init__(
        self, store: MemoryStore, anchors: AnchorBook, config: MemoryConfig, embedder: Embedder | None
    ) -> None:
        self._store, self._anchors, self._config, self._embedder = store, anchors, config, embedder
        self._columns = Table(
            number=(np.int64, 0),
            start=(np.int64, 0),
            end=(np.int64, 0),
            agent=(np.int32, 0),
            map=(np.int32, 0),
            text=(np.int32, 0),
            anchor=(np.int32, 0),
            placed=(np.bool_, 0),
            place=(np.float64, 3),
        )
        self._agents, self._maps = Codes(), Codes()
        self._texts = TextVectors()
        self._with: dict[str, array[int]] = {}
        self.ties = Ties()
        for stored in store.episodes_by_number():
            self.take(stored)
        if self._columns.rows:
            vectors = iter(store.episode_vectors())
            while batch := list(islice(vectors, _BATCH)):
                self._texts.code_all([text for text, _ in batch], [embedding for _, embedding in batch])

    def __len__(self) -> int:
        return self._columns.rows

    def meaning(self, text: str) -> Embedding | None:
        """What a text means, by this memory's embedder."""
        if self._embedder is None:
            return None
        return Embedding(self._embedder.name, self._embedder.embed([text])[0])

    def take(self, stored: StoredEpisode, embedding: Embedding | None = None) -> None:
        """Take over an episode that was stored."""
        e, columns = stored.episode, self._columns
        row = columns.extend(1)
        columns["number"][row] = stored.number
        columns["start"][row], columns["end"][row] = e.interval.start, e.interval.end
        columns["agent"][row], columns["map"][row] = self._agents.code(e.agent_id), self._maps.code(e.map_id)
        columns["text"][row] = self._texts.code(e.text, embedding)
        columns["anchor"][row] = -1 if stored.anchor_id is None else stored.anchor_id
        columns["placed"][row] = stored.place is not None
        columns["place"][row] = stored.place or (0.0, 0.0, 0.0)
        for participant in e.participants:
            said = stated(participant)
            for name in {said.name, said.entry_id} if said is not None else {participant}:
                self._with.setdefault(name, array("i")).append(row)
        self.ties.take(e)

    def find(
        self, query: Query, agents: Sequence[str], window: tuple[int, int], slots: dict[str, int], now_ns: int
    ) -> Happened:
        """Episodes of the asked agents (and those of none) in [start, end), begun by now, whose text fits.

        Where the query names entries, they took part in them. ``slots``: which ids name one entry.
        """
        columns = self._columns
        mask = (columns["start"] < window[1]) & (columns["end"] > window[0]) & (columns["start"] <= now_ns)
        if query.agents:
            mask &= np.isin(columns["agent"], self._agents.find_all([*agents, ""]))
        if query.entry_ids:
            took_part = np.zeros(len(mask), bool)
            wanted = {slots[i] for i in query.entry_ids if i in slots}
            for name, rows in self._with.items():
                if name in slots and slots[name] in wanted:
                    took_part[np.frombuffer(rows, np.int32)] = True
            mask &= took_part
        found: Rows = np.flatnonzero(mask)
        texts = [text for text in (*query.labels, query.text) if text]
        fit: FloatArray = np.ones(len(found))
        if texts and len(found):
            fit = self._fits(texts)[columns["text"][found]]
            found, fit = found[fit > 0], fit[fit > 0]
        return Happened(found, fit, columns["placed"][found], self._places(found), self._map_codes(found))

    def _fits(self, asked: Sequence[str]) -> FloatArray:
        """How well each distinct text fits any of the asked ones, 0..1."""
        fit = np.zeros(len(self._texts.texts))
        for text in asked:
            fit[self._texts.words.having_all(text)] = _WORDS_FIT
        if self._embedder is not None:
            self._texts.complete(self._embedder)
            vectors = self._embedder.embed(list(asked))
            codes, cosines = self._texts.above(self._embedder.name, vectors, self._config.match_similarity)
            fit[codes] = np.maximum(fit[codes], np.clip(cosines.astype(float), 0, 1))
        return fit

    def _places(self, rows: Rows) -> FloatArray:
        """Where they happened, by the anchors of now, in common coordinates."""
        anchor: Rows = self._columns["anchor"][rows]
        places: FloatArray = self._columns["place"][rows].copy()
        hung = anchor >= 0
        places[hung] = self._anchors.place(anchor[hung].astype(np.int32), places[hung])
        for alignment, free in self._aligned(rows):
            free &= ~hung
            places[free] = transform_points(alignment.pose, places[free])
        return places

    def _map_codes(self, rows: Rows) -> Rows:
        """Codes of the common maps that they are told on."""
        codes = self._columns["map"][rows].astype(np.int64)
        for alignment, some in self._aligned(rows):
            codes[some] = self._maps.code(alignment.common_id)
        return np.asarray(codes)

    def _aligned(self, rows: Rows) -> Iterator[tuple[Alignment, npt.NDArray[np.bool_]]]:
        """Each alignment, and which of the rows lie on its map."""
        agent, own = self._columns["agent"][rows], self._columns["map"][rows]
        for a in self._anchors.alignments:
            yield a, (agent == self._agents.find(a.agent_id)) & (own == self._maps.find(a.map_id))

    def map_codes(self, map_ids: Sequence[str]) -> Rows:
        """For each map of this book its number among the given ones; -1: none of them."""
        numbers = {map_id: i for i, map_id in enumerate(map_ids)}
        return np.array([numbers.get(map_id, -1) for map_id in self._maps.texts], np.int64)

    def best(self, found: Happened, order: Order, limit: int) -> tuple[Episode, ...]:
        """The first ``limit``: by fit, or the latest or the earliest first; then the latest first."""
        start: Rows = self._columns["start"][found.rows]
        keys: list[Rows | FloatArray] = [found.rows, -start, -found.fit]
        if order in (Order.LAST_SEEN, Order.FIRST_SEEN):
            keys.append(start if order is Order.FIRST_SEEN else -start)
        chosen = np.lexsort(keys)[:limit]
        numbers = self._columns["number"][found.rows[chosen]].tolist()
        stored = {s.number: s.episode for s in self._store.episodes_by_number(numbers)}
        return tuple(self._placed(stored[n], found, i) for n, i in zip(numbers, chosen.tolist(), strict=True))

    def _placed(self, episode: Episode, found: Happened, i: int) -> Episode:
        episode = replace(episode, map_id=self._maps.texts[found.maps[i]])
        if not found.placed[i]:
            return episode
        x, y, z = found.places[i].tolist()
        return replace(episode, place=(x, y, z))

    def nbytes(self) -> int:
        """Memory taken by columns, vectors and words."""
        return self._columns.nbytes() + self._texts.nbytes() + sum(4 * len(held) for held in self._with.values())
