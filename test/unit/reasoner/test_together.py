"""Several things named in one question: each is told, none is dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from r4_ros.core.model import Answer, Verdict
from r4_ros.reasoner.decompose import plan
from r4_ros.reasoner.together import named

Ask = Callable[..., Answer]


@pytest.mark.parametrize(
    ("question", "value", "things"),
    [
        ("where are the tv and the couch?", None, {"tv", "couch"}),
        ("where are the tv, the couch and the laptop?", None, {"tv", "couch", "laptop"}),
        ("how many chairs and cups are there?", 5, {"chair1", "chair2", "chair3", "mug", "bluecup"}),
        ("how many cups and mugs are there?", 2, {"mug", "bluecup"}),
        ("is there a bowl and a chair in the kitchen?", True, {"bowl", "chair1", "chair2"}),
        ("what colour are the couch and the tv?", ("gray", "black"), {"couch", "tv"}),
        ("when did you last see the couch and the tv?", None, {"couch", "tv"}),
        ("is there a red cup and a blue cup in the kitchen?", True, {"mug", "bluecup"}),
    ],
)
def test_all_are_told(ask: Ask, question: str, value: Any, things: set[str]) -> None:
    answer = ask(question)
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, value), answer.text
    assert {e.entry_id for e in answer.evidence} == things


def test_one_that_is_missing_is_not_hidden_by_the_other(ask: Ask, home: Any) -> None:
    unknown = ask("where are the tv and the unicorn?")
    assert unknown.verdict is Verdict.NOT_SEEN and unknown.value is None and "unicorn" in unknown.text
    assert ask("is there a bowl and a unicorn in the kitchen?").value is None
    home.coverage = 0.95
    denied = ask("is there a bowl and a couch in the kitchen?")
    assert (denied.verdict, denied.value) == (Verdict.ANSWERED, False)


@pytest.mark.parametrize(
    "question",
    [
        "take me to the tv and the couch",
        "where are the red and the blue cup?",
        "how many red and blue cups are there?",
        "how many cups or bowls are there?",
        "what is on the table and the counter?",
    ],
)
def test_what_cannot_be_told_together_is_refused(ask: Ask, question: str) -> None:
    assert ask(question).verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize(
    ("said", "noun", "attributes"),
    [
        ("white mug", "mug", ["white"]),
        ("office chair", "office chair", []),
        ("big red chair", "chair", ["big", "red"]),
        ("unicorn", "unicorn", []),
        ("red flux capacitor", "flux capacitor", ["red"]),
    ],
)
def test_words_of_a_thing(said: str, noun: str, attributes: list[str]) -> None:
    key = named(said)
    assert (key.text, [a.value for a in key.attributes]) == (noun, attributes)


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("where is the cup and what colour is it?", "what colour is it"),
        ("what is on the table and who saw it?", "who saw it"),
        ("when was the cup moved and by whom?", "by whom"),
        ("when and where did you see the cup?", "where did you see the cup"),
        ("where is the tv? and the couch?", "and the couch"),
        ("where is the tv? Where is the couch?", "where is the couch"),
    ],
)
def test_a_second_question_is_told_to_be_open(ask: Ask, question: str, rest: str) -> None:
    answer = ask(question)
    assert f"ask '{rest}' by itself" in answer.text, answer.text


@pytest.mark.parametrize(
    "question",
    [
        "where is the cup? Thanks!",
        "what is between the couch and the tv?",
        "I lost my cup. Where is it?",
        "is there something I can sit on? If so, what?",
    ],
)
def test_one_question_is_one(ask: Ask, question: str) -> None:
    assert "by itself" not in ask(question).text


def test_they_are_what_was_named_before(ask: Ask) -> None:
    assert ask("I lost my cups. Where are they?").verdict is Verdict.ANSWERED


def test_places_of_a_second_question_restrict_nothing() -> None:
    read = plan("What did you see in the kitchen and what is on the table?")
    assert [k.reference.region for k in read.target.spatial] == ["kitchen"]
    assert read.rest == "what is on the table"
