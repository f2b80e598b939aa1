"""Questions about what is usual, answered from the facts of a real memory, or refused for want of history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Answer, Episode, EpisodeSource, Interval, Question, Verdict
from r4_ros.memory.library import Library, open_library
from r4_ros.reasoner.answer import Reasoner
from test.support.home import Home, at, keys_that_commute
from test.unit.memory.conftest import Robot, Thing

S = 1_000_000_000


@pytest.fixture(scope="module")
def library(tmp_path_factory: Any) -> Iterator[Library]:
    """Two weeks: keys that commute, a cup with its spoon, a tv that is on in the evening, a person, a bag seen once."""
    made = open_library(tmp_path_factory.mktemp("usual") / "home.db", MemoryConfig())
    home = Home(made, Robot, Thing)
    home.places |= {"spot": (2.2, 0.1, 0.85), "beside": (2.35, 0.2, 0.82), "ground": (4.0, -3.0, 0.9)}
    keys_that_commute(home, days=12)
    tv = home.thing("tv", (4, 0, 1.2), (1.0, 0.1, 0.6))
    for day in range(12, 17):
        home.look(at(day, 7), cup="spot", spoon="beside")
        for hour, power in ((8, "off"), (20, "on"), (20.5, "on"), (23, "off")):
            for i in range(4):
                made.ingest(home.robot.frame(at(day, hour) + i, tv.seen(attributes=(("power", power),))))
    home.look(at(17, 9), bag="floor", person="ground")
    (person,) = home.ids("person")
    start = round(at(17, 9) * S)
    said = Interval(start, start + S)
    made.add_episode(Episode("", "r1", "I am Anna", said, EpisodeSource.UTTERANCE, participants=(f"Anna is {person}",)))
    (cup,) = home.ids("cup")
    made.add_episode(
        Episode("", "r1", "that is my cup", said, EpisodeSource.UTTERANCE, participants=(f"Anna owns {cup}",))
    )
    yield made
    made.close()


def ask(library: Library, text: str, **more: Any) -> Answer:
    return Reasoner(library).answer(Question(text, **more))


def test_where_it_usually_is_and_where_else(library: Library) -> None:
    answer = ask(library, "Where are the keys usually?")
    assert answer.form == "locate" and answer.evidence[0].label == "keys"
    assert "on the shelf in the hall" in answer.text and "on the table in the kitchen" in answer.text
    assert "of 20 occasions" in answer.text and "since 2026-03-02" in answer.text
    assert answer.value == pytest.approx((2, 3, 1.05)) or answer.value == pytest.approx((2, 0, 0.85))
    assert any(step.action == "fact" and "stay " in step.detail for step in answer.trace), "sources are cited"
    other = ask(library, "Where do I usually leave my cup?")
    assert other.verdict is Verdict.ANSWERED or "cup" in other.text
    assert other.value == pytest.approx((2.2, 0.1, 0.85))


def test_too_little_history_is_said(library: Library) -> None:
    answer = ask(library, "Where is the bag usually?")
    assert answer.verdict is Verdict.NOT_SEEN and answer.value is None
    assert "only once, too little to say" in answer.text and answer.evidence[0].label == "bag"
    nothing = ask(library, "Where is the piano usually?")
    assert nothing.verdict is Verdict.NOT_SEEN and not nothing.evidence


def test_what_is_usually_somewhere(library: Library) -> None:
    answer = ask(library, "What is usually on the table?")
    assert answer.verdict is Verdict.ANSWERED and isinstance(answer.value, tuple)
    assert "cup" in answer.value and "keys" not in answer.value and {e.label for e in answer.evidence} >= {"cup"}
    room = ask(library, "What is usually in the hall?")
    assert room.verdict is Verdict.ANSWERED and "shelf" in room.value
    beside = ask(library, "What is usually next to the cup?")
    assert (beside.verdict, beside.value) == (Verdict.ANSWERED, ("spoon",))
    unknown = ask(library, "What is usually on the piano?")
    assert unknown.verdict is Verdict.NOT_SEEN and unknown.value == ()


def test_when_in_the_zone_of_the_question(library: Library) -> None:
    answer = ask(library, "When is the tv usually on?")
    assert answer.verdict is Verdict.ANSWERED and answer.value == ("from 20:00 to 20:45 UTC",)
    assert answer.text == "The tv is usually on from 20:00 to 20:45 UTC, on 5 of 5 days."
    berlin = ask(library, "When is the tv usually on?", timezone="Europe/Berlin")
    assert berlin.value == ("from 21:00 to 21:45 CET",)
    keys = ask(library, "When are the keys usually on the shelf?")
    assert keys.verdict is Verdict.ANSWERED and "18:" in str(keys.value)
    never = ask(library, "When is the cup usually moved?")
    assert never.verdict is Verdict.NOT_SEEN and "5 occasions" in never.text


def test_whether_it_is_usually_there(library: Library) -> None:
    yes = ask(library, "Is the cup usually on the table?")
    assert (yes.verdict, yes.value) == (Verdict.ANSWERED, True) and yes.text.startswith("Yes: the cup is usually on")
    assert ask(library, "Is the cup usually on the shelf?").value is False
    assert ask(library, "Are the keys always on the table?").value is False
    even = ask(library, "Are the keys usually on the table?")
    assert even.verdict is Verdict.AMBIGUOUS and even.text.startswith("About half of the time: the keys")
    assert ask(library, "Is the bag usually in the kitchen?").verdict is Verdict.NOT_SEEN


def test_what_cannot_be_told_is_refused(library: Library) -> None:
    for text in (
        "Is the tv usually on?",
        "How many cups are usually on the table?",
        "What is usually on my left?",
        "What is usually under the table?",
    ):
        assert ask(library, text).verdict is Verdict.UNSUPPORTED, text
    assert "I know no place" in ask(library, "What is usually in the attic?").text


def test_a_person_is_found_by_the_name_that_was_said(library: Library) -> None:
    answer = ask(library, "Where is Anna?")
    assert answer.verdict is Verdict.ANSWERED and answer.evidence[0].label == "person"
    assert ask(library, "Where is Berta?").verdict is not Verdict.ANSWERED


def test_whose_things_are_is_known_from_what_was_said(library: Library) -> None:
    hers = ask(library, "Where is Anna's cup?")
    assert hers.verdict is not Verdict.AMBIGUOUS and hers.value == pytest.approx((2.2, 0.1, 0.85))
    assert ("owner", "Anna") in hers.evidence[0].attributes
    assert ask(library, "Where is Berta's cup?").verdict is Verdict.NOT_SEEN, "it is Anna's"
    assert ask(library, "Where is Berta's spoon?").verdict is Verdict.AMBIGUOUS, "whose that is nobody said"


def test_without_clock_times_there_are_no_times_of_day(tmp_path: Path, monkeypatch: Any) -> None:
    from datetime import datetime, timezone

    monkeypatch.setattr("test.support.home.MONDAY", datetime(1970, 1, 5, tzinfo=timezone.utc))
    with open_library(tmp_path / "sim.db", MemoryConfig()) as library:
        keys_that_commute(Home(library, Robot, Thing), days=4)
        assert ask(library, "When are the keys usually on the table?").verdict is Verdict.UNSUPPORTED
        assert "keys" in ask(library, "Where are the keys usually?").text
