"""Texts of the database: what is written quickly is what JSON would be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from r4_ros.memory.codec import dump, dump_votes, load_pairs

VOTES = st.lists(st.tuples(st.text(), st.floats(0, 1e12)))


@given(VOTES)
def test_votes_are_written_as_json_and_read_again(votes: list[tuple[str, float]]) -> None:
    text = dump_votes(votes)
    assert text == dump(votes)
    assert load_pairs(text) == tuple(votes)
