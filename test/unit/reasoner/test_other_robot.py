"""'The other robot' is every robot but the one that asks; where nobody is said to ask, that is asked back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from r4_ros.core.model import Answer, Pose, Verdict
from r4_ros.reasoner.decompose import plan

Ask = Callable[..., Answer]


@pytest.fixture
def two(home: Any) -> Any:
    """The home as rex knows it, and what ann saw of it: the couch."""
    home.trails["ann"] = lambda ns: Pose((2.0, 3.0, 0.0))
    home.entries = [replace(e, agent_id="ann") if e.label == "couch" else e for e in home.entries]
    return home


@pytest.mark.parametrize(
    "question",
    [
        "what did the other robot see in the kitchen?",
        "Did the other robot see the bear?",
        "has another robot seen my keys",
        "where is the mug according to the other robot",
        "How many chairs have the other robots seen?",
        "where was the other robot 20 seconds ago?",
    ],
)
def test_another_robot_is_part_of_the_plan(question: str) -> None:
    read = plan(question)
    assert (read.target.agents, read.unsupported) == (("the other robot",), "")


@pytest.mark.parametrize("question", ["did the other robot see the couch", "did the other robot see the tv"])
def test_it_is_whoever_does_not_ask(two: Any, ask: Ask, question: str) -> None:
    answers = {me: ask(question, ego_agent=me) for me in ("rex", "ann")}
    asker, saw = ("rex", "ann") if "couch" in question else ("ann", "rex")
    assert answers[asker].value is True, answers[asker].text
    assert {e.agent_id for e in answers[asker].evidence} == {saw}
    assert answers[saw].value is not True, answers[saw].text


def test_without_an_asker_it_is_asked_back(two: Any, ask: Ask) -> None:
    answer = ask("what did the other robot see in the living room", ego_agent="")
    assert answer.verdict is Verdict.AMBIGUOUS
    assert "ann and rex" in answer.text


def test_alone_there_is_no_other(ask: Ask) -> None:
    answer = ask("did the other robot see the couch", ego_agent="rex")
    assert answer.verdict is not Verdict.ANSWERED, answer.text
