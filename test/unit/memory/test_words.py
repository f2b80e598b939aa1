"""Words of texts against reading the texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from r4_ros.memory.words import WordIndex

words = st.sampled_from(["red", "Red", "mug", "cup", "straße", "STRASSE", "2"])
texts = st.lists(words, max_size=4).map(", ".join)


@given(first=st.lists(texts, max_size=5), more=st.lists(texts, max_size=5), asked=texts)
def test_found_are_the_texts_with_these_words(first: list[str], more: list[str], asked: str) -> None:
    index, every = WordIndex(), list(first)
    index.read(every)
    every += more
    index.read(every)
    wanted = {word.casefold() for word in asked.split(", ") if word}
    held = [{word.casefold() for word in text.split(", ") if word} for text in every]
    assert index.having_all(asked).tolist() == [n for n, own in enumerate(held) if wanted and wanted <= own]
    assert index.made_of(asked).tolist() == [n for n, own in enumerate(held) if own and own <= wanted]
