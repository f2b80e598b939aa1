"""What is not so: looked for, claimed, or said not to be understood; never answered as if 'not' weren't there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from r4_ros.core.model import Answer, Verdict
from r4_ros.reasoner.decompose import plan
from r4_ros.reasoner.keys import Form, Plan, Relation

Ask = Callable[..., Answer]


def denies(read: Plan) -> bool:
    keys = [key for step in read.steps for key in step.spatial]
    return any(k.negate for k in keys) or any(a.negate for step in read.steps for a in step.semantic.attributes)


@pytest.mark.parametrize(
    "question",
    [
        "where is the plant that isn't in the kitchen?",
        "Where's the cup that is not red?",
        "Which cups aren't blue?",
        "how many chairs are not in the kitchen",
        "show me the chair which isn't in the kitchen",
        "Is there a cup that isn't on the table?",
        "What isn't on the counter?",
        "what colour is the cup that's not on the table",
        "take me to the chair that isn't in the living room",
    ],
)
def test_what_is_meant_may_be_what_is_not_so(question: str) -> None:
    read = plan(question)
    assert denies(read) and not read.unsupported, read
    assert read.claim is None


@pytest.mark.parametrize(
    "question",
    [
        "Which mug was never moved?",
        "Which of the cups didn't move?",
        "Which drawers haven't been opened since Monday?",
        "Which rooms haven't you been in?",
        "What didn't you see in the kitchen?",
        "Where is the door that is never open?",
        "Who hasn't been in the kitchen today?",
        "When was the couch not in the living room?",
    ],
)
def test_what_cannot_be_denied_is_refused(question: str) -> None:
    read = plan(question)
    assert read.unsupported or denies(read), read


@pytest.mark.parametrize("question", ["Is the cup not in the kitchen?", "The cup isn't in the kitchen, is it?"])
def test_a_claim_denies_once(question: str) -> None:
    claim = plan(question).claim
    assert claim is not None and claim.negate
    assert claim.spatial is not None and not claim.spatial.negate


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Isn't there a cup on the table?", Form.EXISTS),
        ("Didn't you see my keys?", Form.EXISTS),
        ("where is the cup, I can't find it", Form.LOCATE),
        ("I can't see the remote. Where is it?", Form.LOCATE),
        ("Isn't the cup in the kitchen?", Form.VERIFY),
    ],
)
def test_a_courtesy_denies_nothing(question: str, form: Form) -> None:
    read = plan(question)
    assert (read.form, read.unsupported) == (form, "")
    assert not denies(read) and (read.claim is None or not read.claim.negate)


def test_a_tag_denies_nothing(ask: Ask) -> None:
    answer = ask("The couch is gray, ain't it?")
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, True), answer.text


@pytest.mark.parametrize("question", ["Was the cup in there?", "is the cup on it", "you saw the cup where?"])
def test_a_place_that_is_not_said_is_asked_for(question: str) -> None:
    assert plan(question).unsupported, question


def test_it_may_be_what_has_something_in_it() -> None:
    assert not plan("What room has the red apple in it?").unsupported


def test_outside_a_room_is_near_and_not_in_it() -> None:
    keys = plan("what is outside the kitchen?").target.spatial
    assert [(k.relation, k.negate) for k in keys] == [(Relation.NEAR, False), (Relation.IN, True)]
    keys = plan("how many cups are outside the kitchen?").target.spatial
    assert [(k.relation, k.negate) for k in keys] == [(Relation.IN, True)]
    claim = plan("Is the couch outside the kitchen?").claim
    assert claim is not None and claim.negate and claim.spatial is not None
    assert (claim.spatial.relation, claim.spatial.negate) == (Relation.IN, False)


def test_cups_that_are_not_red(ask: Ask) -> None:
    answer = ask("which cups aren't red")
    assert answer.verdict is Verdict.ANSWERED, answer.text
    assert {dict(e.attributes)["color"] for e in answer.evidence} == {"blue"}


def test_what_has_no_known_colour_is_not_said_to_be_of_another(ask: Ask) -> None:
    answer = ask("which laptops aren't red")
    assert answer.verdict is not Verdict.ANSWERED, answer.text
    assert "no non-red laptop" in answer.text


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("is the cup no longer in the living room?", True),
        ("is the couch no longer in the living room?", False),
        ("is the couch not in the kitchen any more?", True),
        ("isn't the couch in the kitchen any more?", True),
        ("is the backpack no longer there?", True),
        ("is the backpack still there?", False),
        ("isn't the couch in the living room?", True),
    ],
)
def test_no_longer(ask: Ask, question: str, value: bool) -> None:
    answer = ask(question)
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, value), answer.text
