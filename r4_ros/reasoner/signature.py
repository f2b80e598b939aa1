"""The signature of a plan: what was understood, flat, in the terms that people label questions in."""

from __future__ import annotations

from typing import Any

from r4_ros.reasoner import temporal
from r4_ros.reasoner.keys import Asked, Attribute, Form, Plan, Reference, Relation, SpatialKey, Step

Signature = dict[str, Any]


def signature(plan: Plan) -> Signature:
    """form, target, attributes, asked, spatial, superlative and temporal as JSON-ready values."""
    target = plan.target
    spatial = []
    for index, step in enumerate(plan.steps):
        twin = plan.compared is not None and step.semantic.text == target.semantic.text
        subject = "target" if index == len(plan.steps) - 1 or twin else step.semantic.text
        spatial += [_constraint(plan, subject, key) for key in step.spatial if not key.negate and not is_here(key)]
    for key in plan.ego:
        spatial.append(_constraint(plan, "ego" if key.subject is None else name_of(plan, key.subject), key))
    when = temporal.primary(target.temporal)
    others = [k.arg for k in target.temporal if k is not when and k.arg]
    happened = plan.event is not None or (plan.claim is not None and plan.claim.event is not None)
    happened = happened and (plan.past or "missing" not in plan.question.casefold())
    past = {"appeared"} if plan.form is Form.VERIFY else {"appeared", "disappeared"}
    happened = happened and not set(_kinds(plan)) <= past  # to come, or 'who took it', is no change of a thing
    op = temporal.labelled(when).value if when is not None else "change" if happened else "none"
    if "changed" in _kinds(plan) and op not in ("first", "last", "nth", "since"):
        op = "change"
    arg = " ".join([when.arg, *others]).strip() if when is not None else ""
    return {
        "form": plan.form.value,
        "target": _target(plan),
        "attributes": _attributes(target) + [f"not {_place(plan, k)}" for k in target.spatial if k.negate],
        "asked": plan.asked.value if plan.asked and plan.asked is not Asked.AGENT else None,
        "spatial": spatial,
        "superlative": next((s for step in reversed(plan.steps) if (s := _superlative(plan, step)) is not None), None),
        "temporal": {"op": op, "arg": arg},
    }


OPEN = frozenset("anything something everything nothing".split())
"""Nouns that name nothing."""


def _target(plan: Plan) -> str:
    """What is asked about: '' where the answer is which of several, 'A and B' where both are."""
    semantic = plan.target.semantic
    others = [name_of(plan, r) for r in plan.compared.others] if plan.compared is not None else []
    if (
        plan.compared is not None
        and plan.compared.which
        and others
        and (" or " in plan.question.casefold() or "between" in plan.question.casefold())
    ):
        noun = semantic.text.split()[-1:]
        alike = noun != ["one"] and all(n.split()[-1:] in (noun, ["one"]) for n in others)
        return semantic.text if alike else ""  # 'is the grey chair or the white one taller'
    if semantic.text in OPEN:
        return ""
    said = plan.question.casefold().replace(" the ", " ")
    both = [n for n in others if f"{semantic.text} and {n}" in said or f"{semantic.text}s and {n}" in said]
    return " and ".join([semantic.text, *semantic.also, *both])


def _attributes(step: Step) -> list[str]:
    semantic = step.semantic
    said = [_word(a) for a in semantic.attributes if a.name != "owner"]
    said += [f"for: {semantic.purpose}"] if semantic.purpose else []
    return said + [f"not {e}" for e in semantic.exclude] + [f"seen by {a}" for a in step.agents]


def _word(attribute: Attribute) -> str:
    return f"not {attribute.value}" if attribute.negate else attribute.value


def _kinds(plan: Plan) -> tuple[str, ...]:
    """What kinds of event a plan asks about."""
    event = plan.event or (plan.claim.event if plan.claim is not None else None)
    return event.kinds if event is not None else ()


def is_here(key: SpatialKey) -> bool:
    """'in the room': where the asker is, which restricts nothing by itself."""
    return key.relation is Relation.IN and key.reference.region == "room"


def _place(plan: Plan, key: SpatialKey) -> str:
    """'on the charger': a place in words, as exclusions are written."""
    name = name_of(plan, key.reference)
    return f"{key.relation.value.replace('_', ' ')} {'me' if name == 'ego' else f'the {name}'}"


def _constraint(plan: Plan, subject: str, key: SpatialKey) -> dict[str, str]:
    found = {"subject": subject, "relation": key.relation.value, "anchor": name_of(plan, key.reference)}
    if key.other is not None:
        found["anchor2"] = name_of(plan, key.other)
    return found


def _superlative(plan: Plan, step: Step) -> dict[str, str] | None:
    extreme = step.superlative
    if extreme is None:
        return None
    origin = extreme.side or (name_of(plan, extreme.reference) if extreme.reference is not None else "")
    return {"by": extreme.by.value, "direction": extreme.direction, "from": origin}


def name_of(plan: Plan, reference: Reference) -> str:
    """What a reference is called: ego, the region's name, or the noun of the step."""
    if reference.kind == "step":
        semantic = plan.steps[reference.step].semantic
        words = (f"{a.value}'s" if a.name == "owner" else a.value for a in semantic.attributes if a.name != "with")
        return " ".join([*words, semantic.text])
    return "ego" if reference.kind == "ego" else reference.region
