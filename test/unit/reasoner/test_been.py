"""'have you ever been in the kitchen', 'which rooms did robot1 visit': by the robot's own way, or unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from r4_ros.core.model import Answer, Event, EventKind, Query, Retrieval, Verdict
from r4_ros.reasoner.decompose import plan

from .conftest import NOW, START, FakeMemory

Ask = Callable[..., Answer]


def _crossing(kind: EventKind, room: str, second: float) -> Event:
    stamp = START + round(second * 1e9)
    return Event(f"{kind}{room}{second}", kind, "", "rex", room, stamp, stamp - 10**8, stamp, "m", (0, 0, 0), None)


class Walked(FakeMemory):
    """A memory whose robot came from the living room into the kitchen at 20 s, and back at 60 s."""

    ways: tuple[Event, ...] = (
        _crossing(EventKind.LEFT, "living room", 20),
        _crossing(EventKind.ENTERED, "kitchen", 20),
        _crossing(EventKind.LEFT, "kitchen", 60),
        _crossing(EventKind.ENTERED, "living room", 60),
    )

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        found = super().retrieve(query, deadline_s)
        rooms = {c.region for c in query.spatial}
        ways = tuple(e for e in self.ways if query.with_events and e.label in rooms)
        return replace(found, events=(*found.events, *ways))


@pytest.fixture
def home(home: FakeMemory) -> Walked:
    return Walked(**vars(home))


@pytest.mark.parametrize(
    ("question", "verdict", "value"),
    [
        ("have you ever been in the kitchen?", Verdict.ANSWERED, True),
        ("were you in the kitchen?", Verdict.ANSWERED, True),
        ("did you visit the kitchen?", Verdict.ANSWERED, True),
        ("did you go into the kitchen?", Verdict.ANSWERED, True),
        ("have you been in the kitchen in the last 20 seconds?", Verdict.ANSWERED, False),
        ("have you never been in the kitchen?", Verdict.ANSWERED, False),
        ("have you ever been in the attic?", Verdict.NEVER_VISITED, False),
        ("have you ever been in the cellar?", Verdict.UNSUPPORTED, None),
        ("has robot7 been in the kitchen?", Verdict.NOT_SEEN, None),
    ],
)
def test_whether(ask: Ask, question: str, verdict: Verdict, value: bool | None) -> None:
    answer = ask(question)
    assert (answer.verdict, answer.value) == (verdict, value), answer.text


def test_without_a_way_nothing_is_denied(ask: Ask, home: Walked) -> None:
    home.ways = ()
    assert ask("have you ever been in the kitchen?").verdict is Verdict.NOT_SEEN


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("which rooms have you been in?", ("living room", "kitchen")),
        ("which rooms did you visit?", ("living room", "kitchen")),
        ("how many rooms did you visit?", 2),
        ("which room were you in first?", ("living room",)),
    ],
)
def test_rooms(ask: Ask, question: str, value: Any) -> None:
    answer = ask(question)
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, value), answer.text


@pytest.mark.parametrize("question", ["which room did you see last?", "which rooms have you never been in?"])
def test_what_the_way_does_not_tell_is_refused(question: str) -> None:
    assert plan(question).unsupported


def test_several_robots_differ(ask: Ask, home: Walked) -> None:
    home.trails = {**home.trails, "max": home.trails["rex"]}
    home.entries = [*home.entries, replace(home.entries[0], entry_id="t2", agent_id="max", last_seen=NOW)]
    assert ask("have you ever been in the kitchen?").verdict is not Verdict.UNSUPPORTED
