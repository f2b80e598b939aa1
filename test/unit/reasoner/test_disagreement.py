"""Answers tell who says otherwise, and of places that mean nothing to the asker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from r4_ros.core.alignments import Alignment
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import NS_PER_S, Box, Frame, Observation, Pose, Question, Verdict, View, Visibility
from r4_ros.memory.library import Library, open_library
from r4_ros.reasoner.answer import Reasoner, answer_to_dict

NOON = 1_700_000_000 * NS_PER_S  # 2023-11-14 22:13:20 UTC
AHEAD = Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with open_library(tmp_path / "fleet.db", MemoryConfig()) as made:
        yield made


def seen(
    agent: str, second: int, label: str, map_id: str = "home", visibility: Any = Visibility.VISIBLE, **attributes: str
) -> Frame:
    box = Box(Pose((0.0, 0.0, 2.0)), (0.3, 0.3, 0.3))
    thing = Observation(0, label, box, visibility=visibility, attributes=tuple(attributes.items()), confidence=0.9)
    stamp, view = NOON + second * NS_PER_S, View(1.0, 0.8, 0.1, 5.0)
    return Frame(agent, "c", "w", second, 0, stamp, map_id, "map", "o", AHEAD, view, observations=(thing,))


def ask(library: Library, text: str, **more: Any) -> Any:
    return Reasoner(library).answer(Question(text, **more))


def test_who_says_otherwise_when_and_how_clearly(library: Library) -> None:
    for t in (0, 1, 2):
        library.ingest(seen("robot2", t, "cabinet", visibility=Visibility.OCCLUDED, openness="open"))
    for t in (60, 61, 62):
        library.ingest(seen("robot1", t, "cabinet", openness="closed"))
    answer = ask(library, "Is the cabinet open?")
    assert answer.value is False, answer.text
    assert "robot1 saw it closed just now, at 22:14:22 UTC, in plain view" in answer.text
    assert "robot2 saw it open 1 min ago, at 22:13:22 UTC, partly hidden" in answer.text
    claims = answer_to_dict(answer)["evidence"][0]["claims"]
    assert [(c["agent_id"], c["value"], c["visibility"], c["holds"]) for c in claims] == [
        ("robot1", "closed", "VISIBLE", True),
        ("robot2", "open", "OCCLUDED", False),
    ]
    assert "disagree" not in ask(library, "Where is the cabinet?").text, "that concerns no state"
    assert "disagree" not in ask(library, "Is the cabinet open?", agents=("robot2",)).text


def test_a_place_on_a_map_that_isnt_aligned_is_unknown_to_the_asker(library: Library) -> None:
    for t in (0, 1, 2):
        library.ingest(seen("robot1", t, "lamp"))
        library.ingest(seen("robot2", t, "kettle", "lab"))
    answer = ask(library, "Where is the kettle?", ego_agent="robot1")
    assert answer.value is None and "isn't aligned with yours" in answer.text and ") m" not in answer.text
    assert answer.evidence and not answer.evidence[0].place_known
    for question in ("How far away is the kettle?", "In which direction is the kettle?"):
        far = ask(library, question, ego_agent="robot1")
        assert (far.verdict, far.value) == (Verdict.NOT_SEEN, None) and "isn't aligned" in far.text, question
    both = ask(library, "How far is the kettle from the lamp?")
    assert both.value is None and "aren't aligned" in both.text
    known = ask(library, "Is there a kettle?", ego_agent="robot1")
    assert known.value is True, "that it is there is known"
    library.align(Alignment("robot2", "lab", "home", Pose((0.0, 3.0, 0.0))), NOON + 3 * NS_PER_S)
    assert ask(library, "Where is the kettle?", ego_agent="robot1").value == pytest.approx((2.0, 3.0, 1.0))
    assert ask(library, "How far is the kettle from the lamp?").value == pytest.approx(3.0)


def test_the_robot_that_saw_it_knows_its_own_place(library: Library) -> None:
    for t in (0, 1, 2):
        library.ingest(seen("robot1", t, "lamp"))
        library.ingest(replace(seen("robot2", t, "kettle"), map_id="lab"))
    assert ask(library, "Where is the kettle?", ego_agent="robot2").value == pytest.approx((2.0, 0.0, 1.0))
