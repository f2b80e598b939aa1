"""The gate: what is in plain view now is answered without the memory; nothing else is (DESIGN section 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from r4_ros.core.config import ReasonerConfig
from r4_ros.core.model import Answer, Question, Verdict, Visibility
from r4_ros.reasoner.answer import Reasoner

OFF = ReasonerConfig(gate=False)


def ask(home: Any, text: str, config: ReasonerConfig | None = None) -> Answer:
    home.queries.clear()
    return Reasoner(home, config or ReasonerConfig()).answer(Question(text))


def gated(answer: Answer) -> bool:
    return any(s.action == "gate" and s.detail.startswith("open") for s in answer.trace)


@pytest.fixture
def seen(home: Any, make: Any) -> Any:
    """The home, with a lamp and a tv in plain view at this moment."""
    home.entries = [replace(e, last_seen=home.now_ns) if e.entry_id == "tv" else e for e in home.entries]
    home.entries.append(make("lamp", "lamp", (7.5, 1.2, 1.0), (0.3, 0.3, 0.5), color="white", last=100.0))
    home.entries.sort(key=lambda e: -e.last_seen)
    return home


@pytest.mark.parametrize(
    "question",
    ["which direction is the tv", "how far is the lamp", "is the lamp on my left or on my right", "do you see a lamp"],
)
def test_what_is_in_view_needs_one_look_and_the_answer_is_the_same(seen: Any, question: str) -> None:
    quick = ask(seen, question)
    looks = len(seen.queries)
    slow = ask(seen, question, OFF)
    assert gated(quick) and not gated(slow)
    assert (quick.verdict, quick.value) == (slow.verdict, slow.value) == (Verdict.ANSWERED, slow.value)
    assert looks == 1 < len(seen.queries)


@pytest.mark.parametrize(
    "question",
    [
        "how many lamps are there",
        "where was the lamp 20 seconds ago",
        "which direction was the tv when you came in",
        "how far is the lamp from the tv",
        "is there a piano",
        "which direction is the plant",  # not in view
        "which direction is the red lamp",  # the one in view is white
        "how far is the chair next to the tv",
        "how far are the lamps",
    ],
)
def test_all_else_goes_to_the_memory(seen: Any, question: str) -> None:
    assert not gated(ask(seen, question))


def test_a_glimpse_is_no_plain_view_and_a_second_is_the_limit(seen: Any) -> None:
    lamp = next(e for e in seen.entries if e.entry_id == "lamp")
    for worse in (
        replace(lamp, visibility=Visibility.OCCLUDED),
        replace(lamp, last_seen=seen.now_ns - 1_100_000_000),
        replace(lamp, agent_id="other"),
    ):
        seen.entries = [worse, *(e for e in seen.entries if e.entry_id != "lamp")]
        assert not gated(ask(seen, "which direction is the lamp")), worse
