"""What a run notices of itself, and what advice may change: what is tried next, never what is answered."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import r4_ros.reasoner
from r4_ros.core.config import ReasonerConfig
from r4_ros.core.lessons import FACETS, FORMS, Advice, Anomaly, Focus, Relax, Situation
from r4_ros.core.model import Question, Verdict
from r4_ros.reasoner import reflection
from r4_ros.reasoner.answer import Reasoner, answer_to_dict
from r4_ros.reasoner.decompose import plan
from r4_ros.reasoner.keys import Form, Relation, TemporalOp
from r4_ros.reasoner.refine import further, relaxations

QUESTIONS = (
    "Where is the red mug?",
    "Where is the blue cup on the table in the kitchen?",
    "How many chairs were in the bedroom 5 minutes ago?",
    "What was on the table before the mug was moved?",
    "Did robot 2 see a green sofa in the garage yesterday?",
)
focuses = st.builds(
    Focus,
    st.lists(st.sampled_from(Relax), max_size=3, unique=True).map(tuple),
    st.lists(st.sampled_from(Relax), max_size=3, unique=True).map(tuple),
)


class Adviser:
    """Gives the same advice to all."""

    def __init__(self, focus: Focus, lesson_ids: tuple[str, ...] = ("0123456789abcdef",)) -> None:
        self.advice = Advice(focus, lesson_ids)
        self.asked: list[Situation] = []

    def advise(self, situation: Situation) -> Advice:
        self.asked.append(situation)
        return self.advice


def test_the_vocabulary_of_situations_covers_the_query_language() -> None:
    assert {f.value for f in Form} <= FORMS
    assert {f"spatial:{r.value}" for r in Relation} <= FACETS
    assert {f"temporal:{t.value}" for t in TemporalOp} <= FACETS


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_situation_names_types_only(text: str) -> None:
    made = reflection.situation(plan(text), None)
    words = {w.strip("?.") for w in text.casefold().split()} - {"on", "in", "before", "ago"}
    assert not words & {part for f in made.facets for part in f.replace(":", " ").replace("_", " ").split()}


@settings(deadline=None)
@given(st.sampled_from(QUESTIONS), focuses)
def test_a_focus_orders_and_neither_adds_nor_leaves_out(text: str, focus: Focus) -> None:
    options = list(relaxations(plan(text), None, None))
    ordered = reflection.focused(options, focus)
    assert sorted(map(options.index, ordered)) == list(range(len(options)))
    meant = [
        o for o in options if reflection.is_query(o.keys, focus.prefer) or reflection.is_query(o.keys, focus.avoid)
    ]
    assert [o for o in ordered if o not in meant] == [o for o in options if o not in meant], "all else stays as it was"
    prefer, avoid = (
        next((i for i, o in enumerate(ordered) if reflection.is_query(o.keys, dropped)), None)
        for dropped in (focus.prefer, focus.avoid)
    )
    if prefer is not None and avoid is not None and set(focus.prefer) != set(focus.avoid):
        assert prefer < avoid
    if focus.prefer and focus.avoid and (prefer is None or avoid is None):
        assert ordered == options, "one thing before another says nothing where there is only one of them"


@pytest.mark.parametrize(
    ("prefer", "avoid", "found", "first"),
    [
        ((Relax.PLACE,), (Relax.KIND,), (), Relax.ATTRIBUTE),
        ((Relax.PLACE,), (Relax.ATTRIBUTE,), (), Relax.PLACE),
        ((Relax.PLACE,), (), (), Relax.PLACE),
        ((Relax.PLACE,), (Relax.TIME,), (Relax.TIME,), Relax.PLACE),
        ((Relax.PLACE,), (Relax.TIME,), (), Relax.ATTRIBUTE),
        ((), (Relax.ATTRIBUTE,), (), Relax.ANY_KIND),
    ],
)
def test_what_is_preferred_comes_before_what_is_warned_of_and_no_earlier(
    prefer: tuple[Relax, ...], avoid: tuple[Relax, ...], found: tuple[Relax, ...], first: Relax
) -> None:
    options = list(relaxations(plan("Where is the blue cup on the table?"), None, None))
    assert [o.keys[0] for o in options] == [Relax.ATTRIBUTE, Relax.ANY_KIND, Relax.NEARBY, Relax.PLACE]
    assert reflection.focused(options, Focus(prefer, avoid), found)[0].keys == (first,)


def test_two_conditions_at_once_are_one_query() -> None:
    """Advice to drop both moves neither of them alone."""
    options = list(relaxations(plan("Where is the blue cup on the table?"), None, None))
    both = [*options, *further(options[0], None, None)]
    pair = next(o for o in both if set(o.keys) == {Relax.ATTRIBUTE, Relax.PLACE})
    ordered = reflection.focused(both, Focus((Relax.PLACE, Relax.ATTRIBUTE), (Relax.ANY_KIND,)))
    assert ordered == [options[0], pair, *options[1:], *(o for o in both[len(options) :] if o is not pair)]
    warned = reflection.focused(both, Focus((), (Relax.PLACE, Relax.ATTRIBUTE)))
    assert warned == [*(o for o in both if o is not pair), pair]


def test_the_own_order_is_the_one_in_which_conditions_are_written_down() -> None:
    """``own_rank`` tells the experience room what a run does by itself; the two must not come apart."""
    texts = (*QUESTIONS, "Where is the blue cupp on the table?", "Where was the blue car seen by robot 2 an hour ago?")
    for text in texts:
        asked = plan(text)
        options = list(relaxations(asked, None, None))
        assert reflection.by_itself(options, Anomaly.EMPTY, ()) == options


def test_only_the_query_writer_takes_a_focus() -> None:
    """Only who orders queries has a parameter that is a focus: nobody who judges or words an answer."""
    takers: list[str] = []
    for path in sorted(Path(r4_ros.reasoner.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                notes = [ast.unparse(a.annotation) for a in node.args.args + node.args.kwonlyargs if a.annotation]
                takers += [f"{path.stem}.{node.name}" for note in notes if "Focus" in note or "Advice" in note]
    assert takers == ["lm_plan.order", "planner.order", "reflection.focused", "retry._is_better"]


ASKED = (
    "Where is the yellow cup on the couch?",
    "Is there a yellow cup on the couch in the living room?",
    "Where was the purple cup on the couch 30 seconds ago?",
)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(ASKED), st.lists(focuses, min_size=2, max_size=8), st.integers(0, 2))
def test_the_same_evidence_gives_the_same_answer_whatever_was_advised(
    home: Any, text: str, advised: list[Focus], lessons: int
) -> None:
    """Where the same relaxation found the same evidence, all of the answer but its trace is byte-identical."""
    told: dict[tuple[object, ...], str] = {}
    ids = ("0123456789abcdef", "fedcba9876543210")[:lessons]
    for adviser in (None, *(Adviser(focus, ids) for focus in advised)):
        answer = Reasoner(home, ReasonerConfig(), advisor=adviser).answer(Question(text))
        found = [s.detail for s in answer.trace if s.action == "tried" and s.found]
        whole = json.dumps({k: v for k, v in answer_to_dict(answer).items() if k not in ("trace", "task_id")})
        assert told.setdefault((*found, *(e.entry_id for e in answer.evidence)), whole) == whole


def test_a_run_names_what_emptied_it_and_tries_that_first(home: Any) -> None:
    answer = Reasoner(home).answer(Question("Is there a yellow cup on the couch?"))
    reflected = [Situation.parse(s.detail) for s in answer.trace if s.action == "reflect"]
    assert {s.facets[-1] for s in reflected} == {"emptied_by:semantic"}
    assert reflected[0].anomaly is Anomaly.EMPTY
    assert next(s.detail for s in answer.trace if s.action == "tried") == "attribute"
    elsewhere = Reasoner(home).answer(Question("Where is the cup on the couch?"))
    reflected = [Situation.parse(s.detail) for s in elsewhere.trace if s.action == "reflect"]
    assert {s.facets[-1] for s in reflected} == {"emptied_by:spatial"}
    assert [s.detail for s in elsewhere.trace if s.action == "tried"] == ["nearby", "place"]


def test_advice_is_asked_once_for_an_anomaly_and_only_while_nothing_is_found(home: Any) -> None:
    adviser = Adviser(Focus((Relax.PLACE,)))
    reasoner = Reasoner(home, advisor=adviser)
    assert reasoner.answer(Question("Where is the laptop?")).verdict is Verdict.ANSWERED
    assert adviser.asked == []
    answer = reasoner.answer(Question("Where was the yellow cup on the couch 30 seconds ago?"))
    assert [s.anomaly for s in adviser.asked] == [Anomaly.EMPTY, Anomaly.STALLED]
    said = [s.detail for s in answer.trace if s.action == "experience"]
    assert set(said) == {"0123456789abcdef: drop place first"}


@pytest.mark.parametrize("mode", ["off", "reflection"])
def test_experience_can_be_switched_off(home: Any, mode: str) -> None:
    adviser = Adviser(Focus((Relax.PLACE,)))
    reasoner = Reasoner(home, ReasonerConfig(experience=mode), advisor=adviser)
    answer = reasoner.answer(Question("Where was the yellow cup on the couch 30 seconds ago?"))
    assert adviser.asked == []
    assert any(s.action == "reflect" for s in answer.trace) == (mode == "reflection")


def test_what_is_advised_against_is_tried_last(home: Any) -> None:
    question = Question("Where was the yellow cup on the couch 30 seconds ago?")
    alone = Reasoner(home, ReasonerConfig(experience="reflection")).answer(question)
    first, second = [s.detail for s in alone.trace if s.action == "tried"][:2]
    answer = Reasoner(home, advisor=Adviser(Focus((), (Relax(second),)))).answer(question)
    tried = [s.detail for s in answer.trace if s.action == "tried"]
    assert tried[0] == first and second not in tried[1:2]


def test_the_place_is_blamed_for_what_moves_and_not_for_what_stands() -> None:
    """Where the place left nothing over: a cup may be elsewhere, a wardrobe of another colour is the likelier one."""
    for text, first in (
        ("Where is the blue cup in the kitchen?", Relax.PLACE),
        ("Where is the blue wardrobe in the kitchen?", Relax.ATTRIBUTE),
    ):
        asked = plan(text)
        facets = reflection.situation(asked, None).facets  # None: the place isn't known
        options = reflection.by_itself(list(relaxations(asked, None, None)), Anomaly.EMPTY, facets)
        assert options[0].keys == (first,)
        assert ("semantic:standing" in reflection.situation(asked, None).facets) == (first is Relax.ATTRIBUTE)


def test_after_empty_rounds_comes_what_drops_most() -> None:
    asked = plan("Where is the blue cup on the table?")
    options = list(relaxations(asked, None, None))
    both = [o for one in options for o in further(one, None, None)]
    ordered = reflection.by_itself([*options, *both], Anomaly.STALLED, ("emptied_by:semantic",))
    assert [o.keys for o in ordered][:2] == [(Relax.ANY_KIND,), both[0].keys]
    assert all(len(o.keys) == 1 for o in ordered[1 + len(both) :])


@pytest.mark.parametrize(("avoid", "told"), [((), "attribute"), ((Relax.ATTRIBUTE,), "any_kind")])
def test_what_was_found_stands_unless_a_lesson_warns_of_it(home: Any, avoid: tuple[Relax, ...], told: str) -> None:
    answer = Reasoner(home, advisor=Adviser(Focus((Relax.ANY_KIND,), avoid))).answer(
        Question("Is there a green cup on the table?")
    )
    assert [s.detail for s in answer.trace if s.action == "told"] == [told]
