"""From what a model or a program wrote to a whole plan: checked against the schema, synonyms and the question added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from r4_ros.core.errors import InvalidArgument
from r4_ros.reasoner import lexicon
from r4_ros.reasoner.keys import Plan, SemanticKey, Step


def completed(question: str, written: Mapping[str, Any]) -> Plan:
    """The plan of a question as written, with the labels that mean each noun.

    Raises InvalidArgument, with what is wrong where, for what doesn't fit the schema.
    """
    try:
        plan = Plan.model_validate({**written, "question": question})
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
        raise InvalidArgument(f"that is no plan: {told}") from error
    return plan.model_copy(update={"steps": tuple(_whole(step) for step in plan.steps)})


def _whole(step: Step) -> Step:
    key = step.semantic
    if not key.text or key.labels or key.name:
        return step
    text = key.text.casefold()
    anything = lexicon.is_anything(text)
    labels = () if anything else lexicon.labels_for(text)
    filled = SemanticKey.model_validate(key.model_dump() | {"text": text, "labels": labels, "anything": anything})
    return step.model_copy(update={"semantic": filled})
