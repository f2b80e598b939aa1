"""The Retrieval Manual, the schema and the worked examples stay in step with the language and the rules planner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r4_ros.core.errors import InvalidArgument
from r4_ros.reasoner import manual
from r4_ros.reasoner.completing import completed
from r4_ros.reasoner.decompose import plan
from r4_ros.reasoner.keys import Form, Relation, TemporalOp

ROOT = Path(__file__).resolve().parents[3]
IDS = [question for question, _ in manual.examples()]


def test_every_form_relation_operator_and_field_is_explained() -> None:
    assert set(manual.FORMS) == set(Form)
    assert set(manual.RELATIONS) == set(Relation)
    assert set(manual.OPERATORS) == set(TemporalOp)
    text = manual.manual()
    for model in manual.models():
        assert f"{model.__name__}: " in text
        assert all(f"  {name}: " in text for name in model.model_fields)
    assert all(question in text for question in IDS)


def test_every_form_relation_and_operator_has_an_example() -> None:
    plans = [completed(q, p) for q, p in manual.examples()]
    assert {p.form for p in plans} == set(Form)
    keys = [k for p in plans for s in p.steps for k in s.spatial] + [k for p in plans for k in p.ego]
    keys += [p.claim.spatial for p in plans if p.claim is not None and p.claim.spatial is not None]
    assert {k.relation for k in keys} == set(Relation)
    used = {k.op for p in plans for s in p.steps for k in s.temporal}
    assert used == set(TemporalOp) - {TemporalOp.NONE}
    assert any(k.negate for k in keys) and any(p.compared for p in plans) and any(p.to_other for p in plans)


@pytest.mark.parametrize(("question", "written"), manual.examples(), ids=IDS)
def test_the_rules_make_the_plan_of_the_example(question: str, written: dict[str, object]) -> None:
    assert completed(question, written) == plan(question)


def test_the_schema_in_the_docs_is_the_language() -> None:
    told = json.loads((ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8"))
    assert told == manual.schema(), "write it anew: python -m r4_ros.reasoner.manual > docs/plan.schema.json"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"form": "sing", "steps": [{}]}, "form"),
        ({"form": "exists", "steps": []}, "steps"),
        ({"form": "exists", "steps": [{"semantic": {"noun": "mug"}}]}, "noun"),
        (
            {"form": "exists", "steps": [{"spatial": [{"relation": "on", "reference": {"kind": "step", "step": 0}}]}]},
            "earlier",
        ),
        ({"form": "when", "steps": [{}], "event": {}}, "an event has"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_place(written: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        completed("is there a mug", written)


def test_synonyms_are_added_to_what_a_model_wrote() -> None:
    made = completed("is there a mug", {"form": "exists", "steps": [{"semantic": {"text": "Mug"}}]})
    assert "cup" in made.target.semantic.labels and made.question == "is there a mug"
