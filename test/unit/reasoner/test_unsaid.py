"""Small words that change what is asked are in the plan, or the question is refused; they are never dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from r4_ros.core.model import Answer, EventKind, Verdict
from r4_ros.reasoner.decompose import plan

Ask = Callable[..., Answer]


@pytest.mark.parametrize(
    "question",
    [
        "what is only in the kitchen?",
        "is there only a mug on the counter?",
        "is hardly anything on the table?",
        "is the cup almost at the edge of the table?",
        "is nearly every chair black?",
        "is the cup partly on the counter?",
        "was the cup moved twice?",
        "has the cup been moved again?",
        "is there another cup?",
        "where is the other cup?",
        "is there anything else on the table?",
        "how many different kinds of things are on the table?",
        "is the bowl on the same table as the blue cup?",
        "must the cup be on the table?",
        "should the cup be on the table?",
        "where should the cup be?",
        "if the cup weren't there, where would it be?",
        "if somebody moved the cup, where would it be?",
        "which robot has seen more things?",
        "how many more chairs than cups are there?",
        "how much taller is the couch than the table?",
        "did you move the cup?",
        "did robot2 move the cup?",
        "did I move the cup?",
        "since when is the cup on the counter?",
        "is the cup on the counter and red?",
        "is the cup red and on the counter?",
        "is the cup red and white?",
        "what is nowhere near the couch?",
        "what changed colour?",
        "which cup is mine?",
        "is this cup yours?",
    ],
)
def test_it_is_refused(ask: Ask, question: str) -> None:
    answer = ask(question)
    assert answer.verdict is Verdict.UNSUPPORTED and answer.value is None, answer.text


@pytest.mark.parametrize(
    "question",
    [
        "is there a cup other than the red one?",
        "what else is on the table?",
        "what is on the other side of the couch?",
        "are the two cups the same colour?",
        "is the bowl in the same room as the cup?",
        "did somebody move the cup?",
        "how many times was the cup moved?",
        "can you tell me if the cup is on the counter?",
        "if I sit on the couch facing the tv, what is to my left?",
        "could you please tell me where the cup is?",
        "what is within less than 2 m of the cup?",
        "is the tv bigger than the laptop?",
        "where should I go to find the cup?",
        "is there a cup at all?",
        "is the door half open?",
    ],
)
def test_what_changes_nothing_is_no_reason(question: str) -> None:
    assert not plan(question).unsupported


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("what was moved first?", ("cup",)),
        ("what was moved last?", ("bowl",)),
        ("what was the second thing that was moved?", ("bowl",)),
        ("what was moved?", ("bowl", "cup")),
    ],
)
def test_the_first_of_what_happened(ask: Ask, home: Any, happened: Any, question: str, labels: tuple[str, ...]) -> None:
    home.events.append(happened(EventKind.MOVED, "bowl", "bowl", 70, (1.8, 1.9, 0.8), (1.0, 1.9, 0.8)))
    answer = ask(question)
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, labels), answer.text


def test_an_order_that_bounds_leave_open_is_ambiguous(ask: Ask, home: Any, happened: Any) -> None:
    home.events.append(happened(EventKind.MOVED, "bowl", "bowl", 50.2, (1.8, 1.9, 0.8), (1.0, 1.9, 0.8)))
    assert ask("what was moved first?").verdict is Verdict.AMBIGUOUS


def test_what_left_before_a_time_counts(ask: Ask) -> None:
    answer = ask("did the backpack disappear before 22:14:50?")
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, True), answer.text


@pytest.mark.parametrize(
    "question",
    ["was the cup moved more than once?", "is the tv taller than 1 m?", "is the table higher than 80 cm?"],
)
def test_numbers_that_nothing_is_compared_with(ask: Ask, question: str) -> None:
    assert ask(question).verdict is Verdict.UNSUPPORTED


def test_where_it_went_is_asked_of_now(ask: Ask) -> None:
    assert ask("where did the backpack go?").verdict is Verdict.STALE
    assert ask("where was the backpack?").verdict is Verdict.ANSWERED


def test_between_two_things_is_one_question() -> None:
    assert not plan("is the lamp between the bag and the window").unsupported
