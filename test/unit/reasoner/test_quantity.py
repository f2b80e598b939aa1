"""'every', 'at least two', 'none of': of how many a question asks; understood, or said not to be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from r4_ros.core.model import Answer, Verdict
from r4_ros.reasoner.decompose import plan
from r4_ros.reasoner.keys import Form

Ask = Callable[..., Answer]


@pytest.mark.parametrize(
    ("question", "number", "bound"),
    [
        ("are there at least two cups in the kitchen?", 2, "least"),
        ("Are there at most 3 chairs in the kitchen", 3, "most"),
        ("are there no more than two chairs in the kitchen?", 2, "most"),
        ("are there more than three chairs in the kitchen?", 4, "least"),
        ("are there fewer than three chairs in the kitchen?", 2, "most"),
        ("are there exactly four chairs?", 4, "exact"),
        ("is there only one cup?", 1, "exact"),
        ("are two of the cups red?", 2, "least"),
        ("is at least one of the mugs red?", 1, "least"),
        ("are exactly two of the mugs on the table?", 2, "exact"),
        ("are there two chairs in the study?", 2, ""),
        ("are there chairs in the study?", 0, ""),
    ],
)
def test_a_number_has_its_bound(question: str, number: int, bound: str) -> None:
    read = plan(question)
    assert (read.target.number, read.target.bound, read.unsupported) == (number, bound, "")
    assert read.target.semantic.text in ("cup", "mug", "chair")


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("are all the cups red?", "all"),
        ("is every cup in the kitchen?", "all"),
        ("is each of the cups red?", "all"),
        ("are both cups on the table?", "all"),
        ("are none of the cups red?", "none"),
        ("none of the cups are red, right?", "none"),
        ("are most of the cups red?", "most"),
        ("are more than half of the cups red?", "most"),
        ("are half the cups red?", "half"),
        ("are the cups red?", ""),
    ],
)
def test_a_share_is_claimed_of_what_is_asked_about(question: str, share: str) -> None:
    read = plan(question)
    assert (read.form, read.target.semantic.text, read.target.share) == (Form.VERIFY, "cup", share)
    assert read.claim is not None and not read.unsupported


@pytest.mark.parametrize(
    "question",
    [
        "is there a mug on every table?",
        "is there a lamp on each nightstand?",
        "did both robots see the vase?",
        "did neither robot see the bathtub?",
        "is the vase on no table?",
        "which rooms have both a window and a mirror?",
        "does every room have a window?",
        "have at least two of the mugs been moved?",
        "is the mug near at least two chairs?",
    ],
)
def test_elsewhere_it_is_refused(ask: Ask, question: str) -> None:
    assert ask(question).verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize(
    "question",
    ["where are all the cups?", "show me every cup", "where are both cups?", "list all the cups in the kitchen"],
)
def test_a_list_is_of_all_of_them(question: str) -> None:
    assert not plan(question).unsupported


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("are all the cups red?", False),
        ("is every cup red?", False),
        ("are none of the cups red?", False),
        ("is one of the cups red?", True),
        ("are half of the cups red?", True),
        ("are most of the cups red?", False),
        ("are not all of the cups red?", True),
        ("is everything in the kitchen red?", False),
        ("are there at least two cups?", True),
        ("are there at most two cups?", True),
        ("are there at most one cups?", False),
    ],
)
def test_of_a_red_and_a_blue_cup(ask: Ask, question: str, value: bool) -> None:
    answer = ask(question)
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, value), answer.text


def test_fewer_than_asked_is_no_denial(ask: Ask) -> None:
    assert ask("are three of the cups red?").verdict is Verdict.NOT_SEEN
    assert ask("are there at least five cups?").verdict is Verdict.NOT_SEEN
