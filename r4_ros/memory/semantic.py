"""The semantic key: how well labels, descriptions and attributes of entries fit what was asked."""

from __future__ import annotations

import difflib
import re

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import FloatArray, Query
from r4_ros.core.ports import Embedder
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.ties import NOTHING_TOLD, Told

_MOST_HINTS = 5
_WORDS_FIT = 0.8


class SemanticKey:
    """Scores entries by meaning: 1 for an asked label, else the best cosine above ``match_similarity``.

    Without an embedder, a text fits a label or description whose words it shares, with score 0.8.
    """

    def __init__(self, index: Index, config: MemoryConfig, embedder: Embedder | None) -> None:
        self._index, self._config, self._embedder = index, config, embedder

    def filter(self, query: Query, slots: Slots, told: Told = NOTHING_TOLD) -> tuple[Slots, FloatArray]:
        """The slots that fit, with their scores 0..1. ``told``: who entries are and whose; a name fits like a label."""
        slots = self._with_attributes(query, slots, told)
        columns = self._index.entries
        if query.exclude_labels:
            unwanted = {label.casefold() for label in query.exclude_labels}
            codes = [c for c, text in enumerate(self._index.labels.texts) if text.casefold() in unwanted]
            slots = slots[~np.isin(columns["label"][slots], codes)]
        if not query.labels and not query.text:
            return slots, np.ones(len(slots))
        by_label, by_description = self._text_scores(query)
        scores = np.maximum(by_label[columns["label"][slots]], by_description[columns["description"][slots]])
        for asked in {*query.labels, query.text}:
            scores[np.isin(slots, list(told.holders.get(("name", asked.casefold()), ())))] = 1.0
        fits = scores > 0
        return slots[fits], scores[fits]

    def _with_attributes(self, query: Query, slots: Slots, told: Told) -> Slots:
        for name, value in query.attributes:
            key = (name.casefold(), value.casefold())
            holders = self._index.attributes.get(key, set()) | told.holders.get(key, set())
            slots = slots[np.isin(slots, np.fromiter(holders, np.int64, len(holders)))]
        return slots

    def _text_scores(self, query: Query) -> tuple[FloatArray, FloatArray]:
        """Score of each distinct label and of each distinct description; 0 where it doesn't fit."""
        labels, descriptions = self._index.labels, self._index.descriptions
        wanted = {label.casefold() for label in query.labels}
        by_label = np.array([float(text.casefold() in wanted) for text in labels.texts])
        by_description = np.zeros(len(descriptions.texts))
        asked = [text for text in (*query.labels, query.text) if text]
        if self._embedder is None:
            if query.text:
                by_label = np.maximum(by_label, [_words_fit(query.text, text) for text in labels.texts])
                by_description = np.array([_words_fit(text, query.text) for text in descriptions.texts])
            return by_label, by_description
        vectors = self._embedder.embed(asked)
        for texts, scores in ((labels, by_label), (descriptions, by_description)):
            texts.complete(self._embedder)
            codes, cosines = texts.above(self._embedder.name, vectors, self._config.match_similarity)
            scores[codes] = np.maximum(scores[codes], np.clip(cosines.astype(float), 0, 1))
        return by_label, by_description

    def hints(self, query: Query, slots: Slots) -> tuple[str, ...]:
        """Labels of these slots nearest in meaning to what was asked, best first."""
        asked = [text for text in (*query.labels, query.text) if text]
        if not asked:
            return ()
        codes = np.flatnonzero(np.bincount(self._index.entries["label"][slots])).tolist()
        known = sorted({self._index.labels.texts[code] for code in codes})
        if not known:
            return ()
        if self._embedder is None:
            folded = {text.casefold(): text for text in known}
            close = [m for a in asked for m in difflib.get_close_matches(a.casefold(), folded, _MOST_HINTS, 0.5)]
            return tuple(dict.fromkeys(folded[m] for m in close))[:_MOST_HINTS]
        self._index.labels.complete(self._embedder)
        scores = self._index.labels.similarities(self._embedder.name, self._embedder.embed(asked))
        order = sorted(codes, key=lambda code: -scores[code])
        return tuple(self._index.labels.texts[code] for code in order[:_MOST_HINTS])


def _words_fit(text: str, label: str) -> float:
    """Whether all words of the label are among those of the text."""
    words = set(re.findall(r"\w+", text.casefold()))
    parts = re.findall(r"\w+", label.casefold())
    return _WORDS_FIT if parts and words.issuperset(parts) else 0.0
