"""What may be a mistake of the recogniser isn't claimed: left out beside what is sure, else told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Answer, Question, Verdict
from r4_ros.memory.library import Library, open_library
from r4_ros.reasoner.answer import Reasoner
from test.unit.memory.conftest import Robot, Thing


@pytest.fixture(scope="module")
def library(tmp_path_factory: Any) -> Iterator[Library]:
    """A table with a mug, looked at fifty times; once the mug was called a suitcase, once a second mug was seen."""
    robot = Robot()
    table, mug = Thing("table", (3, 0, 0.4), (1.2, 0.8, 0.8)), Thing("mug", (3, 0, 0.86), (0.1, 0.1, 0.12))
    wrong = Thing("suitcase", (3, 0.1, 0.9), (0.04, 0.1, 0.05))
    second = Thing("mug", (3, -0.35, 0.86), (0.1, 0.1, 0.12))
    with open_library(tmp_path_factory.mktemp("doubts") / "m.db", MemoryConfig()) as made:
        for i in range(50):
            robot.where = (0.02 * i, 0.0, 0.0)
            seen = {10: (table, wrong), 20: (table, mug, second)}.get(i, (table, mug))
            made.ingest(robot.frame(i / 2, *seen))
        yield made


def ask(library: Library, text: str) -> Answer:
    return Reasoner(library).answer(Question(text))


def test_a_thing_seen_once_where_it_should_have_been_seen_often_is_not_claimed(library: Library) -> None:
    for text in ("Where is the suitcase?", "Is there a suitcase?", "Is there a suitcase on the table?"):
        answer = ask(library, text)
        assert answer.verdict is not Verdict.ANSWERED or answer.value is False, text
        assert answer.value is not True and "suitcase" in answer.text, text
    assert "mistake" in ask(library, "Is there a suitcase on the table?").text


def test_lists_and_counts_name_what_is_sure(library: Library) -> None:
    listed = ask(library, "What is on the table?")
    assert listed.value == ("mug",)
    counted = ask(library, "How many mugs are on the table?")
    assert counted.value == 1


def test_what_is_sure_is_claimed_as_before(library: Library) -> None:
    where = ask(library, "Where is the mug?")
    assert where.verdict is Verdict.ANSWERED and where.value == pytest.approx((3, 0, 0.86), abs=0.05)
    assert len(where.evidence) == 1 and where.evidence[0].existence > 0.99


def test_one_look_is_enough_where_there_was_only_one(tmp_path: Any) -> None:
    with open_library(tmp_path / "m.db", MemoryConfig()) as made:
        made.ingest(Robot().frame(0.0, Thing("mug", (3, 0, 0.86))))
        answer = ask(made, "Is there a mug?")
        assert answer.verdict is Verdict.ANSWERED and answer.value is True


def test_a_label_that_half_of_the_votes_contest_is_hedged(tmp_path: Any) -> None:
    robot, box = Robot(), {"centre": (3, 0, 0.5), "extent": (0.2, 0.2, 0.2)}
    with open_library(tmp_path / "m.db", MemoryConfig()) as made:
        for i, label in enumerate(["mug", "vase"] * 4 + ["mug"]):
            made.ingest(robot.frame(float(i), Thing(label, **box)))
        answer = ask(made, "Where is the mug?")
        assert answer.verdict is Verdict.AMBIGUOUS and "something else" in answer.text
