"""Side by side, how long, what came first, the robot's own ways, and times that only episodes tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from r4_ros.core.model import (
    NS_PER_S,
    Answer,
    Episode,
    EpisodeSource,
    Event,
    EventKind,
    Interval,
    Query,
    Reference,
    Retrieval,
    Verdict,
    Visibility,
)
from r4_ros.reasoner import news
from r4_ros.reasoner.decompose import plan

Ask = Callable[..., Answer]
START = 1_700_000_000 * NS_PER_S


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("is the couch bigger than the plant", "yes"),
        ("is the plant bigger than the couch", "no"),
        ("is the bowl smaller than the counter", "yes"),
        ("which is bigger, the couch or the plant", "couch"),
        ("which is taller, the chair in the living room or the dining table", "chair"),
        ("which is higher up, the bowl or the couch", "bowl"),
        ("is the couch higher up than the bowl", "no"),
        ("is the couch taller than the bowl", "yes"),
        ("which is closer to me, the tv or the couch", "couch"),
        ("which is higher up, the red cup or the blue cup", "red cup"),
        ("is the plant closer to the tv than the couch", "yes"),
        ("are the tv and the couch the same colour", "no"),
        ("is the tv the same color as the chair in the kitchen", "yes"),
        ("are there more chairs in the kitchen than in the living room", "yes"),
        ("are there fewer chairs in the kitchen than in the living room", "no"),
        ("are there more cups than tables", "yes"),
    ],
)
def test_side_by_side(ask: Ask, question: str, value: str) -> None:
    answer = ask(question)
    assert (answer.verdict, answer.value) == (Verdict.ANSWERED, value), answer.text
    assert len(answer.evidence) >= 2


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        ("is the mug the same color as the cup", Verdict.AMBIGUOUS),  # a red and a blue one
        ("is the chair the same size as the tower", Verdict.NOT_SEEN),
        ("is the laptop the same colour as the tv", Verdict.NOT_SEEN),  # its colour isn't known
        ("is the couch older than the chair", Verdict.UNSUPPORTED),
        ("is the couch more comfortable than the chair", Verdict.UNSUPPORTED),
        ("which is closer to me, the tv or the plant", Verdict.ANSWERED),
    ],
)
def test_what_cant_be_compared_is_not_claimed(ask: Ask, question: str, verdict: Verdict) -> None:
    assert ask(question).verdict is verdict, ask(question).text


def test_of_what_only_a_face_was_seen_faces_are_compared(ask: Ask, home: Any, make: Any) -> None:
    face = make("washer", "washing machine", (3.9, 1.0, 0.43), (0.5, 0.01, 0.83), color="white")
    home.entries.append(replace(face, visibility=Visibility.OCCLUDED))
    home.entries.append(make("box", "box", (3.0, 1.0, 0.2), (0.3, 0.35, 0.4)))
    assert ask("is the box bigger than the washing machine").value == "no"
    assert ask("which is bigger, the box or the washing machine").value == "washing machine"
    home.entries[-2] = replace(face, visibility=Visibility.VISIBLE)  # seen from all sides, it is a board
    assert ask("is the box bigger than the washing machine").value == "yes"


@pytest.mark.parametrize("pronoun", ["it", "them", "him"])
def test_it_is_the_one_of_that_colour_when_it_was_first_seen(ask: Ask, home: Any, make: Any, pronoun: str) -> None:
    home.entries.append(make("late", "cup", (2.4, 1.8, 0.81), (0.1, 0.1, 0.1), color="yellow", first=30))
    answer = ask(f"where was the yellow cup when you first saw {pronoun}")
    assert answer.verdict is Verdict.ANSWERED and answer.evidence[0].entry_id == "late", answer.text


def test_how_long(ask: Ask, home: Any, happened: Any) -> None:
    moved = ask("how long has the red mug been on the counter")
    assert moved.verdict is Verdict.ANSWERED and moved.value == pytest.approx(50.0, abs=0.6)
    always = ask("how long has the tv been in the living room")
    assert always.verdict is Verdict.AMBIGUOUS and "at least" in always.text and always.value == pytest.approx(100)
    gone = ask("how long has the backpack been gone")
    assert gone.verdict is Verdict.ANSWERED and gone.value == pytest.approx(39.0, abs=0.6)
    assert ask("how long was the tv gone").verdict is Verdict.NOT_SEEN
    assert ask("how long did the tv laugh").verdict is Verdict.UNSUPPORTED
    home.events.append(happened(EventKind.REAPPEARED, "backpack", "backpack", 81, (4.6, 3.0, 0.2)))
    assert ask("how long was the backpack gone").value == pytest.approx(20.0, abs=0.6)


def test_what_came_first(ask: Ask, home: Any, happened: Any) -> None:
    seen = ask("which did you see first, the red mug or the tv")
    assert (seen.verdict, seen.value) == (Verdict.ANSWERED, ("tv", "cup"))
    assert ask("which did you see first, the couch or the tv").verdict is Verdict.AMBIGUOUS
    home.events.append(happened(EventKind.MOVED, "chair3", "chair", 70, (7.5, 3.5, 0.45), (7.0, 3.0, 0.45)))
    moved = ask("which was moved first, the grey chair or the red mug")
    assert (moved.verdict, moved.value) == (Verdict.ANSWERED, ("cup", "chair"))
    assert ask("which was moved first, the tv or the red mug").verdict is Verdict.NOT_SEEN


def test_the_second_time_and_what_used_to_be(ask: Ask, home: Any, happened: Any) -> None:
    assert ask("when did the backpack disappear the second time").verdict is Verdict.NOT_SEEN
    home.events.append(happened(EventKind.DISAPPEARED, "backpack", "backpack", 91, (4.6, 3.0, 0.2)))
    second = ask("when did the backpack disappear the second time")
    assert (second.verdict, second.value) == (Verdict.ANSWERED, START + 91 * NS_PER_S)
    used = ask("what used to be in the living room")
    assert (used.verdict, used.value) == (Verdict.ANSWERED, ("backpack",))
    was = ask("where did the red mug use to be")
    assert was.value == (1.9, 2.2, 0.81)


def test_between_places_one_is_chosen(ask: Ask) -> None:
    assert ask("is the laptop on the couch or on the counter").value == ("on the couch",)
    assert ask("is the tv in the kitchen or in the living room").value == ("in the living room",)
    assert ask("is the tv on the couch or on the counter").verdict is Verdict.NOT_SEEN


class Wanderer:
    """The home's memory with the ways of its robot: in the kitchen from 20 to 40 s and from 60 s on; one episode."""

    def __init__(self, home: Any) -> None:
        self.home = home

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        found = self.home.retrieve(query, deadline_s)
        rooms = [c.region for c in query.spatial if c.reference is Reference.REGION]
        if query.with_events and rooms == ["kitchen"]:
            ways = ((EventKind.ENTERED, 20), (EventKind.LEFT, 40), (EventKind.ENTERED, 60))
            found = replace(found, events=found.events + tuple(self._way(kind, s) for kind, s in ways))
        told = Episode(
            "e1", "rex", "the party", Interval(START + 45 * NS_PER_S, START + 55 * NS_PER_S), EpisodeSource.UTTERANCE
        )
        return replace(found, episodes=(told,) if query.with_episodes and "party" in query.text else ())

    @staticmethod
    def _way(kind: EventKind, second: int) -> Event:
        at = START + second * NS_PER_S
        return Event(
            f"{kind.name}{second}", kind, "", "rex", "kitchen", at, at - NS_PER_S // 5, at, "m", (1.0, 1.0, 0.0)
        )


@pytest.fixture
def asked(home: Any) -> Ask:
    from r4_ros.core.model import Question
    from r4_ros.reasoner.answer import Reasoner

    reasoner = Reasoner(Wanderer(home))
    return lambda text: reasoner.answer(Question(text))


def test_the_robots_own_ways(asked: Ask) -> None:
    assert asked("when did you enter the kitchen").value == START + 60 * NS_PER_S
    assert asked("when did you first enter the kitchen").value == START + 20 * NS_PER_S
    assert asked("when did you leave the kitchen").value == START + 40 * NS_PER_S
    stay = asked("how long were you in the kitchen")
    assert (stay.verdict, stay.value) == (Verdict.ANSWERED, 60.0)
    assert asked("how long were you in the attic").verdict is Verdict.NOT_SEEN
    assert asked("how long were you in the ballroom").verdict is Verdict.UNSUPPORTED


def test_times_by_the_robots_ways(asked: Ask) -> None:
    before = asked("where was the red mug before you left the kitchen")
    assert before.value == (1.9, 2.2, 0.81)
    after = asked("was the mug on the counter when you were in the kitchen")
    assert after.verdict in (Verdict.ANSWERED, Verdict.AMBIGUOUS)


def test_times_that_episodes_tell(asked: Ask) -> None:
    start, end = (asked(f"where was the red mug at the {edge} of the party") for edge in ("start", "end"))
    assert (start.value, end.value) == ((1.9, 2.2, 0.81), (0.4, 2.2, 0.95))
    assert asked("where was the red mug at the end of the wedding").verdict is Verdict.UNSUPPORTED


def test_visits_are_told_from_entering_to_leaving() -> None:
    told = news.visits([Wanderer._way(EventKind.ENTERED, 20), Wanderer._way(EventKind.LEFT, 40)], START)
    assert [(e.earliest_ns, e.latest_ns) for e in told] == [(START + 20 * NS_PER_S, START + 40 * NS_PER_S)]
    assert len(news.visits([Wanderer._way(EventKind.LEFT, 40)], START)) == 1


@pytest.mark.parametrize(
    ("question", "own", "region"),
    [
        ("what was on the table after you left the kitchen", "left", "kitchen"),
        ("what did you see before you entered the study", "entered", "study"),
        ("what did you see while you were in the living room", "was_in", "living room"),
        ("where was the mug when robot2 went into the hallway", "entered", "hallway"),
        ("where was the mug after you came out of the bathroom", "left", "bathroom"),
    ],
)
def test_clauses_about_ways_are_read(question: str, own: str, region: str) -> None:
    event = plan(question).target.temporal[0].event
    assert event is not None and (event.own, event.region) == (own, region)


@pytest.mark.parametrize(
    "question", ["how far apart are the tv and the gray couch", "how far is the tv from the couch"]
)
def test_two_things_apart(ask: Ask, question: str) -> None:
    answer = ask(question)
    assert answer.verdict is Verdict.ANSWERED and isinstance(answer.value, float), answer.text
    assert {"tv", "couch"} <= {e.label for e in answer.evidence}


@pytest.mark.parametrize("question", ["where did the couch end up", "where would I have found the couch"])
def test_where_things_ended_up(ask: Ask, question: str) -> None:
    assert ask(question).value == ask("where is the couch").value
