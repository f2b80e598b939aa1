"""The semantic key: how well labels, descriptions and attributes of entries fit what was asked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Float32Array, FloatArray, Query
from r4_ros.core.ports import Embedder
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.ties import NOTHING_TOLD, Told
from r4_ros.memory.vectors import CodeArray, TextVectors
from r4_ros.memory.zones import Codes32

_MOST_HINTS = 5
_WORDS_FIT = 0.8
_SPARSE = 16
"""So many times more texts than candidates: those of the candidates are looked up by sorting."""


@dataclass(frozen=True, slots=True)
class Meant:
    """Slots (ascending) that fit what was asked, with their scores 0..1; any other that fits scores at most ``bound``.

    A bound of 0: they are all.
    """

    slots: Slots
    scores: FloatArray
    bound: float = 0.0


class SemanticKey:
    """Scores entries by meaning: 1 for an asked label, else the best cosine above ``match_similarity``.

    Without an embedder, a text fits a label or description whose words it shares, with score 0.8.
    """

    def __init__(self, index: Index, config: MemoryConfig, embedder: Embedder | None) -> None:
        self._index, self._config, self._embedder = index, config, embedder

    def can_rank(self, query: Query) -> bool:
        """Whether what fits best can be found without scoring all that fits."""
        return self._embedder is not None and bool(query.labels or query.text)

    def filter(self, query: Query, slots: Slots, told: Told = NOTHING_TOLD) -> Meant:
        """Those of the slots (ascending) that fit. ``told``: who entries are and whose; a name fits like a label."""
        held = self.attributed(query, told)
        slots = slots if held is None else slots[np.isin(slots, held)]
        columns = self._index.entries
        if query.exclude_labels:
            unwanted = [code for label in query.exclude_labels for code in self._index.labels.same(label)]
            slots = slots[~np.isin(columns["label"][slots], unwanted)]
        if not query.labels and not query.text:
            return Meant(slots, np.ones(len(slots)))
        scores = np.maximum(
            self._scores(self._index.labels, columns["label"][slots], self._label_scores, query),
            self._scores(self._index.descriptions, columns["description"][slots], self._description_scores, query),
        )
        scores[np.isin(slots, self._so_named(query, told))] = 1.0
        fits = scores > 0
        return Meant(slots[fits], scores[fits])

    def best(self, query: Query, count: int, told: Told = NOTHING_TOLD) -> Meant:
        """Those that fit best of all entries that answers may name: as many as have one of the ``count`` descriptions
        nearest in meaning, or a label that fits."""
        assert self._embedder is not None
        index, asked = self._index, self._asked(query)
        self._complete()
        threshold, bound = self._config.match_similarity, 0.0
        codes = [np.array([c for label in query.labels for c in index.labels.same(label)], np.int64)]
        codes.append(index.labels.above(self._embedder.name, asked, threshold)[0])
        held = [index.holding("label", np.unique(np.concatenate(codes))), self._so_named(query, told)]
        shown = index.shown_codes("description")
        for vector in asked:
            found, cosines = index.descriptions.nearest(self._embedder.name, vector, count, shown)
            fits = cosines >= threshold
            if len(found) == count and fits.all():
                bound = max(bound, float(cosines[-1]))
            held.append(index.holding("description", found[fits]))
        meant = self.filter(query, np.unique(np.concatenate(held)), told)
        return Meant(meant.slots, meant.scores, bound)

    def attributed(self, query: Query, told: Told = NOTHING_TOLD) -> Slots | None:
        """All slots with the asked attributes, ascending; None where none are asked."""
        if not query.attributes:
            return None
        known = self._index.attributes
        keys = [(name.casefold(), value.casefold()) for name, value in query.attributes]
        held = set[int].intersection(*(known.get(key, set()) | told.holders.get(key, set()) for key in keys))
        return np.array(sorted(held), np.int64)

    def _so_named(self, query: Query, told: Told) -> Slots:
        """The slots of entries that have a name that is asked for."""
        keys = [("name", text.casefold()) for text in (*query.labels, query.text) if text]
        return np.array(sorted({slot for key in keys for slot in told.holders.get(key, ())}), np.int64)

    def _scores(
        self, texts: TextVectors, codes: Codes32, score: Callable[[Query, CodeArray], FloatArray], query: Query
    ) -> FloatArray:
        """Scores by code, each distinct one scored once."""
        if _SPARSE * len(codes) < len(texts.texts):
            distinct, inverse = np.unique(codes.astype(np.int64), return_inverse=True)
            return np.asarray(score(query, distinct)[inverse])
        distinct = np.flatnonzero(np.bincount(codes, minlength=len(texts.texts))).astype(np.int64)
        by_code = np.zeros(len(texts.texts))
        by_code[distinct] = score(query, distinct)
        return np.asarray(by_code[codes])

    def _label_scores(self, query: Query, codes: CodeArray) -> FloatArray:
        wanted = [code for label in query.labels for code in self._index.labels.same(label)]
        scores = np.isin(codes, wanted).astype(float)
        if self._embedder is None:
            texts = self._index.labels.texts
            fits: FloatArray = np.array([_words_fit(query.text, texts[code]) for code in codes.tolist()])
        else:
            fits = self._alike(self._index.labels, query, codes)
        return np.asarray(np.maximum(scores, fits))

    def _description_scores(self, query: Query, codes: CodeArray) -> FloatArray:
        if self._embedder is not None:
            return self._alike(self._index.descriptions, query, codes)
        texts = self._index.descriptions.texts
        return np.array([_words_fit(texts[code], query.text) for code in codes.tolist()])

    def _alike(self, texts: TextVectors, query: Query, codes: CodeArray) -> FloatArray:
        """The best cosine of each text (ascending codes) with what was asked; 0 below ``match_similarity``."""
        assert self._embedder is not None
        self._complete()
        some = None if len(codes) == len(texts.texts) else codes
        found, cosines = texts.above(self._embedder.name, self._asked(query), self._config.match_similarity, some)
        scores = np.zeros(len(codes))
        scores[np.searchsorted(codes, found)] = np.clip(cosines.astype(float), 0, 1)
        return scores

    def _asked(self, query: Query) -> Float32Array:
        assert self._embedder is not None
        return self._embedder.embed([text for text in (*query.labels, query.text) if text])

    def _complete(self) -> None:
        """Embed what came without a vector of this memory's embedder."""
        assert self._embedder is not None
        self._index.labels.complete(self._embedder)
        self._index.descriptions.complete(self._embedder)

    def hints(self, query: Query) -> tuple[str, ...]:
        """Labels that are known, nearest in meaning to what was asked, best first."""
        asked = [text for text in (*query.labels, query.text) if text]
        labels = self._index.labels
        shown = self._index.shown_codes("label")
        codes = np.arange(len(labels.texts)) if shown is None else shown
        if not asked or not len(codes):
            return ()
        if self._embedder is None:
            folded = {labels.texts[code].casefold(): labels.texts[code] for code in codes.tolist()}
            close = [
                m for a in asked for m in difflib.get_close_matches(a.casefold(), sorted(folded), _MOST_HINTS, 0.5)
            ]
            return tuple(dict.fromkeys(folded[m] for m in close))[:_MOST_HINTS]
        labels.complete(self._embedder)
        scores = labels.similarities(self._embedder.name, self._embedder.embed(asked), codes)
        return tuple(labels.texts[codes[i]] for i in np.argsort(-scores, kind="stable")[:_MOST_HINTS].tolist())


def _words_fit(text: str, label: str) -> float:
    """Whether all words of the label are among those of the text."""
    words = set(re.findall(r"\w+", text.casefold()))
    parts = re.findall(r"\w+", label.casefold())
    return _WORDS_FIT if parts and words.issuperset(parts) else 0.0
