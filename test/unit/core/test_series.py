from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core import intervals
from r4_ros.core.model import Interval
from r4_ros.core.series import BLOCK, LONG, Series
from r4_ros.memory.tables import first_difference

LENGTHS = st.one_of(st.integers(1, 3), st.integers(BLOCK - 1, BLOCK + 2), st.integers(2 * BLOCK - 1, 3 * BLOCK + 1))
PLACES = st.one_of(st.none(), st.integers(-4 * BLOCK, 4 * BLOCK))


@given(LENGTHS, st.lists(st.booleans(), max_size=20), PLACES, PLACES, st.sampled_from([None, 1, 2, -1]))
def test_it_is_as_a_tuple(length: int, changes: list[bool], start: Any, stop: Any, step: Any) -> None:
    made: Series[int] = Series.of(range(length))
    expected = tuple(range(length))
    for n, more in enumerate(changes):
        before, was = made, expected
        made = made.with_more(-n) if more else made.with_last(-n)
        expected = (*expected, -n) if more else (*expected[:-1], -n)
        assert before == was, "it is as it was"
        assert first_difference(before, made) == first_difference(was, expected) == first_difference(was, made)
    assert made == expected and expected == made and made == Series.of(expected) and hash(made) == hash(expected)
    assert tuple(made) == expected and len(made) == len(expected) and tuple(reversed(made)) == expected[::-1]
    assert tuple(made[start:stop:step]) == expected[start:stop:step]
    assert [made[i] for i in range(-len(made), len(made))] == [*expected, *expected]
    assert pickle.loads(pickle.dumps(made)) == made
    assert made != made.with_more(0) and made != expected[:-1]
    for outside in (len(made), -len(made) - 1):
        with pytest.raises(IndexError):
            made[outside]


@given(st.integers(LONG - 3, LONG + 3), st.lists(st.integers(0, 40), max_size=30))
def test_sightings_are_the_same_in_either(count: int, stamps: list[int]) -> None:
    """A long history takes one more sighting, later or late, as a short one does."""
    known = tuple(Interval(10 * i, 10 * i + 1) for i in range(count))
    long, plain = known, known
    for late in stamps:
        stamp = 10 * count + 20 - late
        long = intervals.add(long, stamp, 5)
        plain = intervals.merge((*plain, intervals.at(stamp)), 5)
        assert long == plain


def test_what_a_sighting_changes_shares_the_rest() -> None:
    history = intervals.add(tuple(Interval(10 * i, 10 * i + 1) for i in range(10 * BLOCK)), 10**9, 5)
    assert isinstance(history, Series)
    later = intervals.add(history, 2 * 10**9, 5)
    assert isinstance(later, Series) and all(a is b for a, b in zip(history._full, later._full, strict=False))
