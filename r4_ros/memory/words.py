"""Which of many texts have which words: found without reading the texts."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
_WORD = re.compile(r"\w+")


class WordIndex:
    """The words of texts, by the numbers of the texts; case doesn't matter. Only the newest texts are ever read."""

    def __init__(self) -> None:
        self._with: dict[str, array[int]] = {}
        self._counts = array("i")

    def read(self, texts: Sequence[str]) -> None:
        """Take over the texts that came since; the ones before are unchanged."""
        for text in islice(texts, len(self._counts), None):
            words = _words(text)
            for word in words:
                self._with.setdefault(word, array("i")).append(len(self._counts))
            self._counts.append(len(words))

    def having_all(self, text: str) -> Numbers:
        """The texts that have all words of this one, ascending; none where it has no words."""
        holders = sorted(self._holders(text), key=len)
        if not holders:
            return np.zeros(0, np.int64)
        found = holders[0].astype(np.int64)
        for others in holders[1:]:
            found = found[np.isin(found, others, assume_unique=True)]
        return found

    def made_of(self, text: str) -> Numbers:
        """The texts that have no words but some of this one's, and one at least, ascending."""
        found, shared = np.unique(np.concatenate([np.zeros(0, np.int32), *self._holders(text)]), return_counts=True)
        return np.asarray(found[shared == np.asarray(self._counts, np.int32)[found]].astype(np.int64))

    def _holders(self, text: str) -> Iterator[npt.NDArray[np.int32]]:
        for word in _words(text):
            yield np.asarray(self._with.get(word, array("i")), np.int32)

    def nbytes(self) -> int:
        """Memory taken by the numbers; the words themselves come to it."""
        return 4 * (len(self._counts) + sum(map(len, self._with.values())))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
