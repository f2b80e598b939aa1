"""The gate: what the present view alone may answer, and a model that has to see it, too."""

from __future__ import annotations

from typing import Any

import pytest

from r4_ros.core.config import ReasonerConfig
from r4_ros.core.model import Answer, Question, Verdict
from r4_ros.core.ports import Affirmed
from r4_ros.reasoner import decompose, gate
from r4_ros.reasoner.answer import Reasoner


class Eyes:
    """Sees a thing in a given share of the looks."""

    def __init__(self, share: float | None) -> None:
        self.share = share
        self.asked: list[tuple[str, int]] = []

    def agreement(self, thing: str, now_ns: int, deadline_s: float) -> Affirmed | None:
        assert 0 < deadline_s <= 0.3 * Question("").deadline_s
        self.asked.append((thing, now_ns))
        return None if self.share is None else Affirmed(self.share)

    def interrupt(self) -> None:
        """Never called here."""


@pytest.fixture
def home_with_tv_in_view(home: Any, make: Any) -> Any:
    home.entries = [e for e in home.entries if e.entry_id != "tv"]
    home.entries.append(make("tv", "tv", (8.6, 2, 1.2), (0.1, 1.2, 0.7), color="black", last=100))
    return home


def asked(home: Any, text: str, eyes: Eyes | None = None, **config: Any) -> Answer:
    return Reasoner(home, ReasonerConfig(**config), eyes=eyes).answer(Question(text))


def told(answer: Answer) -> list[str]:
    """What the trace says of the gate."""
    return [step.detail for step in answer.trace if step.action == "gate"]


@pytest.mark.parametrize("text", ["how far away is the tv", "do you see a tv", "which direction is the tv"])
def test_what_is_in_view_is_answered_by_one_look(home_with_tv_in_view: Any, text: str) -> None:
    answer, slow = (asked(home_with_tv_in_view, text, gate=on) for on in (True, False))
    assert told(answer) == ["open: it is in view"] and not told(slow)
    assert (answer.verdict, answer.value, answer.text) == (slow.verdict, slow.value, slow.text)
    retrievals = [sum(step.action == "retrieve" for step in a.trace) for a in (answer, slow)]
    assert retrievals[0] < retrievals[1]


@pytest.mark.parametrize(
    "text",
    [
        "how many tvs are there",
        "where was the tv",
        "is the tv not here",
        "what is on the counter",
        "which direction was the tv a minute ago",
        "how far is the tv from the couch",
    ],
)
def test_the_gate_is_not_for(text: str) -> None:
    assert not gate.may_open(decompose.plan(text))


def test_what_was_seen_five_seconds_ago_is_not_in_view(home: Any) -> None:
    assert told(asked(home, "how far away is the tv")) == ["closed: it isn't in view"]


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0, "open: it is in view"),
        (0.5, "closed: the model sees it 50% of the time"),
        (0.0, "closed: the model sees it 0% of the time"),
        (None, "closed: the model saw no picture"),
    ],
)
def test_a_model_that_looks_must_see_it(home_with_tv_in_view: Any, share: float | None, said: str) -> None:
    eyes = Eyes(share)
    answer = asked(home_with_tv_in_view, "how far away is the tv", eyes)
    assert told(answer) == [said] and eyes.asked == [("tv", home_with_tv_in_view.now_ns)]
    assert answer.verdict is Verdict.ANSWERED and answer.value == pytest.approx(2.55, abs=0.2)  # the memory knows too


def test_the_model_is_not_asked_where_the_gate_is_shut_anyhow(home_with_tv_in_view: Any) -> None:
    eyes = Eyes(1.0)
    asked(home_with_tv_in_view, "how many tvs are there", eyes)
    asked(home_with_tv_in_view, "how far away is the plant", eyes)
    assert eyes.asked == []
