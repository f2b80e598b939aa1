"""'which rooms have no window', 'which room has the most chairs', 'except the kitchen'."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from r4_ros.core.model import Answer, Verdict
from r4_ros.reasoner.decompose import plan

Ask = Callable[..., Answer]


@pytest.fixture
def looked(home: object) -> None:
    """All rooms but the attic were looked at well."""
    home.coverage = 0.9  # type: ignore[attr-defined]


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize(
    ("question", "rooms"),
    [
        ("which rooms have chairs?", {"kitchen", "living room"}),
        ("which rooms have no bowl?", {"living room"}),
        ("which room has the most chairs?", {"kitchen"}),
        ("which room has the fewest chairs?", {"living room"}),
        ("which rooms have at least two chairs?", {"kitchen"}),
        ("which rooms have more than one chair?", {"kitchen"}),
        ("which rooms have exactly one chair?", {"living room"}),
        ("which rooms have fewer than two chairs?", {"living room"}),
        ("which rooms have two chairs?", {"kitchen"}),
        ("which rooms except the kitchen have chairs?", {"living room"}),
    ],
)
def test_rooms_by_what_is_in_them(ask: Ask, question: str, rooms: set[str]) -> None:
    answer = ask(question)
    assert answer.verdict is Verdict.ANSWERED and isinstance(answer.value, tuple), answer.text
    assert set(answer.value) == rooms, answer.text


def test_a_room_that_was_hardly_looked_at_is_not_said_to_have_none(ask: Ask) -> None:
    answer = ask("which rooms have no bowl?")
    assert answer.verdict is Verdict.NOT_SEEN and "living room" in answer.text


def test_no_other_question_asks_for_rooms_without(ask: Ask) -> None:
    assert ask("in which room is there no bowl?").verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("how many chairs are there except in the kitchen?", 1),
        ("how many chairs are there anywhere but in the kitchen?", 1),
        ("excluding the kitchen, how many chairs are there?", 1),
        ("how many chairs are there apart from the kitchen?", 1),
    ],
)
def test_a_room_is_left_out(ask: Ask, question: str, count: int) -> None:
    answer = ask(question)
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, count), answer.text


@pytest.mark.parametrize(
    "question",
    ["without the couch, how many seats are there?", "are all chairs but one black?", "where is the cup instead?"],
)
def test_what_is_left_out_otherwise_is_refused(question: str) -> None:
    assert plan(question).unsupported
