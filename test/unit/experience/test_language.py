"""Lessons by a language model over a real HTTP server that follows a script: what it says is data, held to the run."""

from __future__ import annotations

import json

import pytest
from chat_double import chat_double, fails, says
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.adapters import chat_server
from r4_ros.adapters.language_models import make_reflecting
from r4_ros.core.config import ExperienceConfig, build
from r4_ros.core.errors import InvalidArgument, NotPermitted
from r4_ros.core.guard import strangers
from r4_ros.core.lessons import Focus, Lesson, Polarity, Relax, Situation
from r4_ros.core.model import Feedback
from r4_ros.experience.language import LanguageReflector
from r4_ros.experience.reflect import lesson_of
from r4_ros.experience.runs import Attempt, RunReport

CUP = Situation("locate", ("semantic:kind", "spatial:on", "emptied_by:semantic"))
RUN = RunReport(CUP, (Attempt((Relax.KIND,), 0), Attempt((Relax.PLACE,), 2)), (Relax.PLACE,), False, ())
NOTE = "drop the place before the kind"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_server, "WAIT_S", (0.01, 0.01))


def rules() -> Lesson:
    made = lesson_of(RUN, Feedback.RIGHT, "robot", 3)
    assert made is not None
    return made


def revised(*answers: object) -> tuple[Lesson, int, list[dict[str, object]]]:
    with chat_double(*answers) as server:  # type: ignore[arg-type]
        config = build(ExperienceConfig, {"reflection": "lm", "lm_model": "tiny", "lm_url": server.url})
        model = make_reflecting(config)
        assert model is not None
        reflector = LanguageReflector(model, 5.0)
        return reflector.revised(rules(), RUN, Feedback.RIGHT), reflector.refused, server.requests


def reply(prefer: list[str], avoid: list[str], note: str = NOTE) -> str:
    return json.dumps({"prefer": prefer, "avoid": avoid, "note": note})


def test_a_models_choices_and_note_are_taken_and_it_sees_types_only() -> None:
    lesson, refused, requests = revised(says(reply(["place", "any_kind"], ["kind"])))
    assert lesson.correction == Focus((Relax.PLACE, Relax.ANY_KIND), (Relax.KIND,), NOTE)
    assert (lesson.polarity, refused) == (Polarity.SUCCESS, 0) and lesson.lesson_id != rules().lesson_id
    told = json.dumps(requests[0]["messages"])
    assert "spatial:on" in told and "robot" not in told.replace("a robot's memory", "")


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        reply(["magic"], []),
        reply(["kind"], []),  # was tried and found nothing
        reply(["place"], ["place"]),
        reply([], ["place"]),  # led to the right answer
        json.dumps({"prefer": ["place"], "avoid": [], "note": "", "sql": "drop table lesson"}),
        json.dumps(["place"]),
    ],
)
def test_what_is_no_lesson_or_contradicts_the_run_is_refused(text: str) -> None:
    lesson, refused, _ = revised(says(text))
    assert (lesson, refused) == (rules(), 1)


def test_where_the_server_fails_the_rules_stand() -> None:
    assert revised(fails(500))[:2] == (rules(), 1)


@pytest.mark.parametrize(
    "note",
    ["ask Anna", "look in the kitchen", "try 4 times", '"the red mug" is on the desk', "mug", "cup; kind", "x" * 9],
)
def test_a_note_that_names_anything_is_dropped(note: str) -> None:
    lesson, _, _ = revised(says(reply(["place"], [], note)))
    assert lesson.correction == Focus((Relax.PLACE,), ())
    with pytest.raises(InvalidArgument):
        Focus(note=note)


@given(st.text(max_size=60))
def test_only_words_about_asking_pass_the_guard(text: str) -> None:
    assert strangers(f"{text} Ming4")


def test_a_model_needs_a_name_and_permission() -> None:
    with pytest.raises(InvalidArgument):
        build(ExperienceConfig, {"reflection": "lm"})
    away = build(ExperienceConfig, {"reflection": "lm", "lm_model": "x", "lm_url": "http://192.0.2.1:9/v1"})
    with pytest.raises(NotPermitted):
        make_reflecting(away)
    assert make_reflecting(ExperienceConfig()) is None
