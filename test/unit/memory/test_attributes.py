from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core.model import AttributeValue
from r4_ros.memory.attributes import (
    ESTABLISHED,
    agree,
    current_attributes,
    in_common,
    observe_attribute,
    surely_agree,
)


def told(name: str, values: Sequence[str]) -> tuple[tuple[AttributeValue, ...], list[str]]:
    """The history after one value a second, each a letter, and the changes."""
    history: tuple[AttributeValue, ...] = ()
    changes = []
    for stamp, value in enumerate(values):
        history, change = observe_attribute(history, name, value, stamp)
        if change is not None:
            changes.append(f"{change.old}{change.new}@{change.earliest}-{change.latest}")
    return history, changes


def test_what_changes_is_a_history_of_runs() -> None:
    history, changes = told("state", "aaaabbbbaaa")
    assert [(a.value, a.first_seen, a.last_seen) for a in history] == [("a", 0, 3), ("b", 4, 7), ("a", 8, 10)]
    assert changes == ["ab@3-4", "ba@7-8"]
    assert current_attributes(history) == (("state", "a"),)


def test_slips_leave_no_trace() -> None:
    history, changes = told("state", "aaabaaabbaaacda")
    assert changes == [] and [a.value for a in history] == ["a"]
    assert current_attributes(told("state", "aaab")[0]) == (("state", "a"),)
    assert current_attributes(told("state", "ab")[0]) == (("state", "b"),)


def test_what_lasts_is_voted_for() -> None:
    history, changes = told("color", "aaabbbaabbba" + "a" * 5)
    assert changes == [] and {(a.value, a.count) for a in history} == {("a", 11), ("b", 6)}
    assert current_attributes(history) == (("color", "a"),)
    both = (*history, AttributeValue("state", "open", 0, 0, 1))
    assert current_attributes(both) == (("color", "a"), ("state", "open"))


def test_histories_agree_by_their_votes() -> None:
    gray, mixed, red = told("color", "aaaa")[0], told("color", "aabbb")[0], told("color", "ccccccca")[0]
    assert agree(gray, mixed) and not agree(gray, red) and not agree(mixed, red)
    assert agree(gray, ()) and agree(gray, told("material", "zzz")[0])
    assert agree(told("state", "x")[0], told("state", "y")[0]), "states say nothing of identity"
    assert surely_agree(gray, gray) and surely_agree(gray, ()) and not surely_agree(gray, mixed)


def test_a_colour_that_was_voted_now_and_then_is_not_the_things_colour() -> None:
    """Yellow keys that looked red three times of ten aren't the red ones."""
    yellow, red = told("color", "yyyyyyyrrr")[0], told("color", "rrrrr")[0]
    assert in_common(yellow, red) == (pytest.approx(0.3), ESTABLISHED) and not agree(yellow, red)


def test_few_votes_are_sure_only_where_all_are_the_same() -> None:
    wavering = told("color", "yyyyr")[0]
    once, twice, thrice = (told("color", "y" * n)[0] for n in (1, 2, 3))
    assert [surely_agree(wavering, seen) for seen in (once, twice, thrice)] == [False, False, True]
    assert surely_agree(told("color", "yyyy")[0], once) and agree(wavering, once)


def test_spellings_are_one() -> None:
    assert surely_agree(told("colour", ["GREY"])[0], told("color", ["gray"])[0])


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_agreement_is_mutual_and_what_is_sure_is_possible(one: list[str], other: list[str]) -> None:
    a, b = told("color", one)[0], told("color", other)[0]
    assert in_common(a, b) == in_common(b, a) and 0 <= in_common(a, b)[0] <= 1 == in_common(a, a)[0]
    assert agree(a, b) or not surely_agree(a, b)
