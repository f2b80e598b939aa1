"""Texts of the database: what is written quickly is what JSON would be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from r4_ros.memory.codec import dump, dump_votes, load_votes

LABELS = st.sampled_from(["mug", "[", "1.0", ""]) | st.text()
VOTES = st.lists(st.tuples(LABELS, st.floats(0, 1e12)))


@given(VOTES, LABELS)
def test_votes_are_written_as_json_and_read_again(votes: list[tuple[str, float]], label: str) -> None:
    text = dump_votes(votes, label)
    alone = len(votes) == 1 and votes[0][0] == label
    assert text == dump(votes[0][1] if alone else votes)
    assert load_votes(text, label) == tuple(votes)
