from __future__ import annotations

from r4_ros.core.model import AttributeValue
from r4_ros.memory.attributes import agree, current_attributes, observe_attribute


def told(name: str, values: str) -> tuple[tuple[AttributeValue, ...], list[str]]:
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


def test_histories_agree_where_a_usual_value_is_shared() -> None:
    gray, mixed, red = told("color", "aaaa")[0], told("color", "aabbb")[0], told("color", "ccccccca")[0]
    assert agree(gray, mixed) and not agree(gray, red) and not agree(mixed, red)
    assert agree(gray, ()) and agree(gray, told("material", "zzz")[0])
    assert agree(told("state", "x")[0], told("state", "y")[0]), "states say nothing of identity"
