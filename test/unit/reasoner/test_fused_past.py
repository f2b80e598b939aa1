"""What several robots saw is one thing; what its id alone was known of at a time need not be what all knew then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from r4_ros.core.model import Answer, Query, Retrieval, Verdict

Ask = Callable[..., Answer]


@pytest.fixture
def later_robot(home: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The things' ids are those of a robot that saw them later than the other one did."""
    retrieve = home.retrieve

    def unknown_by_id(query: Query, deadline_s: float = 10.0) -> Retrieval:
        found: Retrieval = retrieve(query, deadline_s)
        return replace(found, entries=()) if query.entry_ids and query.at_ns is not None else found

    monkeypatch.setattr(home, "retrieve", unknown_by_id)
    return home


def test_no_is_not_said_of_what_the_id_alone_did_not_know(later_robot: Any, ask: Ask) -> None:
    answer = ask("was the blue cup on the table 20 seconds ago")
    assert answer.verdict is Verdict.AMBIGUOUS and answer.value is None
    assert "then I can't tell" in answer.text


def test_a_thing_that_is_told_to_be_in_a_room_was_in_it(later_robot: Any, ask: Ask) -> None:
    later_robot.entries = [replace(e, regions=("kitchen",)) for e in later_robot.entries]
    answer = ask("was the blue cup in the kitchen 20 seconds ago")
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, True)


def test_what_was_seen_first_is_told_first(home: Any, ask: Ask, make: Any) -> None:
    home.entries.append(make("old", "cup", (3.0, 3.0, 0.8), (0.1, 0.1, 0.1), color="red", first=1, last=40))
    answer = ask("where did you first see the red cup")
    assert answer.value == (3.0, 3.0, 0.8)
