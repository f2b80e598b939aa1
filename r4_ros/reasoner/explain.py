"""A plan in words: what was understood, for traces and for honest refusals."""

from __future__ import annotations

from r4_ros.reasoner.keys import Plan, Reference, SpatialKey, TemporalKey, TemporalOp


def understood(plan: Plan) -> str:
    """One sentence: the form, the target with its restrictions, the time."""
    asked = f" its {plan.asked.value}" if plan.asked is not None else ""
    event = f", event: {' or '.join(plan.event.kinds)}" if plan.event is not None else ""
    choices = f", one of: {' / '.join(plan.choices)}" if plan.choices else ""
    return f"{plan.form.value}{asked}: {step_text(plan, len(plan.steps) - 1)}{event}{choices}"


def step_text(plan: Plan, index: int) -> str:
    """'red cup on (table), 12 seconds ago'."""
    step = plan.steps[index]
    attributes = [f"not {a.value}" if a.negate else a.value for a in step.semantic.attributes]
    words = " ".join([*attributes, step.semantic.text or "anything"])
    if step.semantic.purpose:
        words += f" for: {step.semantic.purpose}"
    parts = [words, *(key_text(plan, key) for key in step.spatial)]
    if step.superlative is not None:
        extreme = step.superlative
        origin = f" to ({reference_text(plan, extreme.reference)})" if extreme.reference is not None else ""
        parts.append(f"with {extreme.direction} {extreme.by.value}{origin}")
    parts += [f"seen by {agent}" for agent in step.agents]
    parts += [_time_text(key) for key in step.temporal]
    return ", ".join(parts)


def key_text(plan: Plan, key: SpatialKey) -> str:
    """'on (table)'."""
    other = f" and ({reference_text(plan, key.other)})" if key.other is not None else ""
    negate = "not " if key.negate else ""
    return f"{negate}{key.relation.value.replace('_', ' ')} ({reference_text(plan, key.reference)}){other}"


def reference_text(plan: Plan, reference: Reference) -> str:
    """'me', a region's name, or the step in words."""
    if reference.kind == "step":
        return step_text(plan, reference.step)
    return "me" if reference.kind == "ego" else reference.region


def _time_text(key: TemporalKey) -> str:
    if key.op is TemporalOp.AGO:
        return f"{key.arg} ago"
    return f"{key.op.value} {key.arg}".strip()
