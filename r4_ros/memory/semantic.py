"""The semantic key: how well labels, descriptions and attributes of entries fit what was asked."""

from __future__ import annotations

import difflib
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Float32Array, FloatArray, Order, Query
from r4_ros.core.ports import Embedder
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.ties import NOTHING_TOLD, Told
from r4_ros.memory.vectors import CodeArray, TextVectors

_MOST_HINTS = 5
_WORDS_FIT = 0.8
_SPARSE = 16
"""So many times more texts than candidates: those of the candidates are looked up by sorting."""
_MOST_FIT = 6
"""Where more texts than this share of all (one in ...) fit by meaning, they aren't all looked for."""
_FEW_ASKED, _FEW_WANTED, _QUICK = 2, 64, 2048
"""The best few that fit one or two texts are found more quickly than all, where more than _QUICK do."""
_KEPT = 256
"""The vectors of so many askings are remembered."""


@dataclass(frozen=True, slots=True)
class Meant:
    """Slots (ascending) that fit what was asked, with their scores 0..1; any other that fits scores at most ``bound``.

    A bound of 0: they are all.
    """

    slots: Slots
    scores: FloatArray
    bound: float = 0.0

    def of(self, slots: Slots) -> Meant:
        """Those that are among these slots."""
        kept = np.isin(self.slots, slots, assume_unique=True)
        return Meant(self.slots[kept], self.scores[kept], self.bound)


@dataclass(frozen=True, slots=True)
class _Fits:
    """Codes of texts that fit, ascending, with their scores 0..1; of some texts or of all."""

    codes: CodeArray
    scores: FloatArray

    def of(self, codes: CodeArray, texts: int) -> FloatArray:
        """The score of each of these codes, 0 where it doesn't fit; ``texts``: how many there are."""
        if not len(self.codes):
            return np.zeros(len(codes))
        if _SPARSE * len(codes) < texts:
            at = np.searchsorted(self.codes, codes)
            at[at == len(self.codes)] = 0
            return np.where(self.codes[at] == codes, self.scores[at], 0.0)
        by_code = np.zeros(texts)
        by_code[self.codes] = self.scores
        return np.asarray(by_code[codes])

    def without(self, codes: CodeArray) -> _Fits:
        """Those that aren't among these."""
        kept = ~np.isin(self.codes, codes)
        return _Fits(self.codes[kept], self.scores[kept])


class SemanticKey:
    """Scores entries by meaning: 1 for an asked label, else the best cosine above ``match_similarity``.

    Without an embedder, a text fits a label or description whose words it shares, with score 0.8.
    """

    def __init__(self, index: Index, config: MemoryConfig, embedder: Embedder | None) -> None:
        self._index, self._config, self._embedder = index, config, embedder
        self._vectors: OrderedDict[tuple[str, ...], Float32Array] = OrderedDict()

    def asks(self, query: Query) -> bool:
        """Whether a label or a text is asked for, so that what fits can be found without reading all entries."""
        return bool(query.labels or query.text)

    def ranks(self, query: Query) -> bool:
        """Whether what is asked for fits some entries better than others, by their vectors."""
        return self.asks(query) and self._embedder is not None

    def all_fitting(self, query: Query, told: Told = NOTHING_TOLD) -> Meant | None:
        """All entries that fit and that answers may name; None where so many do that it is better to look at some."""
        index = self._index
        if self._embedder is not None:
            self._complete()
            asked, threshold, texts = self._asked(query), self._config.match_similarity, index.descriptions
            most = len(texts.texts) // _MOST_FIT
            if query.order is Order.SCORE and len(asked) <= _FEW_ASKED and query.limit <= _FEW_WANTED:
                most = min(most, _QUICK)
            if texts.may_exceed(self._embedder.name, asked, threshold, most):
                return None
        labels, descriptions = self._label_fits(query), self._description_fits(query)
        held = [index.holding("label", labels.codes), index.holding("description", descriptions.codes)]
        slots = np.unique(np.concatenate([*held, self._so_named(query, told)]))
        return self._scored(query, self._allowed(query, slots, told), labels, descriptions, told)

    def filter(self, query: Query, slots: Slots, told: Told = NOTHING_TOLD) -> Meant:
        """Those of the slots (ascending) that fit. ``told``: who entries are and whose; a name fits like a label."""
        slots = self._allowed(query, slots, told)
        if not self.asks(query):
            return Meant(slots, np.ones(len(slots)))
        codes = self._index.entries["description"][slots]
        return self._scored(query, slots, self._label_fits(query), self._description_fits(query, codes), told)

    def at_most(self, query: Query, slots: Slots, told: Told = NOTHING_TOLD) -> FloatArray:
        """What each of the slots scores at most, 0 where it doesn't fit: as remembered, or by rough cosines."""
        assert self._embedder is not None
        self._complete()
        index, model, asked, least = self._index, self._embedder.name, self._asked(query), self._config.match_similarity
        labels, codes = index.entries["label"][slots], index.entries["description"][slots]
        if index.descriptions.remembers(model, asked, least):
            most = self._description_fits(query).of(codes, len(index.descriptions.texts))
        else:
            rated = [index.descriptions.roughly(model, vector, codes) for vector in asked]
            most = np.max([rough.astype(float) + wrong for rough, wrong in rated], axis=0)
            most = np.where(most < least, 0.0, np.minimum(most, 1.0))
        most = np.maximum(most, self._label_fits(query).of(labels, len(index.labels.texts)))
        most[np.isin(slots, self._so_named(query, told))] = 1.0
        return most

    def _allowed(self, query: Query, slots: Slots, told: Told) -> Slots:
        """Those of the slots with the asked attributes, and no unwanted label."""
        held = self.attributed(query, told)
        return self.wanted(query, slots if held is None else slots[np.isin(slots, held)])

    def wanted(self, query: Query, slots: Slots) -> Slots:
        """Those of the slots that have no unwanted label."""
        if query.exclude_labels:
            unwanted = [code for label in query.exclude_labels for code in self._index.labels.same(label)]
            slots = slots[~np.isin(self._index.entries["label"][slots], unwanted)]
        return slots

    def _scored(self, query: Query, slots: Slots, labels: _Fits, descriptions: _Fits, told: Told) -> Meant:
        """Those of the slots that have such a label or description, or an asked name."""
        index = self._index
        scores = np.maximum(
            labels.of(index.entries["label"][slots], len(index.labels.texts)),
            descriptions.of(index.entries["description"][slots], len(index.descriptions.texts)),
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

    def _label_fits(self, query: Query) -> _Fits:
        """All labels that fit: the asked ones whatever their case, then by meaning or by words."""
        labels = self._index.labels
        same = np.array(sorted({code for label in query.labels for code in labels.same(label)}), np.int64)
        if self._embedder is None:
            made = labels.words.made_of(query.text)
            others = _Fits(made, np.full(len(made), _WORDS_FIT))
        else:
            others = self._alike(labels, query, None)
        others = others.without(same)
        codes = np.concatenate([same, others.codes])
        order = np.argsort(codes, kind="stable")
        return _Fits(codes[order], np.concatenate([np.ones(len(same)), others.scores])[order])

    def _description_fits(self, query: Query, codes: CodeArray | None = None) -> _Fits:
        """All descriptions that fit; ``codes``: it is enough to know it of these."""
        descriptions = self._index.descriptions
        if self._embedder is None:
            having = descriptions.words.having_all(query.text)
            return _Fits(having, np.full(len(having), _WORDS_FIT))
        if codes is not None:
            codes = np.unique(codes).astype(np.int64)
        return self._alike(descriptions, query, codes)

    def _alike(self, texts: TextVectors, query: Query, codes: CodeArray | None) -> _Fits:
        """The texts (None: of all) whose best cosine with what was asked is at least ``match_similarity``."""
        assert self._embedder is not None
        self._complete()
        codes, cosines = texts.above(self._embedder.name, self._asked(query), self._config.match_similarity, codes)
        order = np.argsort(codes)
        return _Fits(codes[order], np.clip(cosines[order].astype(float), 0, 1))

    def _asked(self, query: Query) -> Float32Array:
        """The vectors [n, d] of what is asked for."""
        assert self._embedder is not None
        asked = tuple(dict.fromkeys(text for text in (*query.labels, query.text) if text))
        if asked not in self._vectors:
            self._vectors[asked] = self._embedder.embed(asked)
            if len(self._vectors) > _KEPT:
                self._vectors.popitem(last=False)
        return self._vectors[asked]

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
