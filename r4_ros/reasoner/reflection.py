"""A run that looks at itself: in what situation it is, which key left nothing over, and what to try next.

This is the query writer's side of experience. Only ``focused`` takes a focus; who writes answers never sees one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from r4_ros.core.lessons import RELAX_KEY, Anomaly, Focus, Key, Relax, Situation
from r4_ros.reasoner import lexicon
from r4_ros.reasoner.keys import Plan, Step
from r4_ros.reasoner.refine import Relaxation
from r4_ros.reasoner.run import Found

REPEATED, NOVEL = 0.9, 0.2
"""From which cosine on a query is the same again, and from which share on a round's evidence is new (RRM)."""


def situation(plan: Plan, found: Found | None, anomaly: Anomaly = Anomaly.EMPTY) -> Situation:
    """What is asked for, by type only, and which key left nothing over. ``found`` is None where a place isn't known."""
    index = found.missing if found is not None and found.missing >= 0 else len(plan.steps) - 1
    step = plan.steps[index]
    semantic = step.semantic
    facets = [f"{Key.SEMANTIC.value}:{'anything' if semantic.anything else 'named' if semantic.name else 'kind'}"]
    facets += [f"{Key.SEMANTIC.value}:attribute"] * any(a.is_known for a in semantic.attributes)
    facets += [f"{Key.SEMANTIC.value}:strange"] * (bool(semantic.text) and lexicon.kind_of(semantic.text) is None)
    facets += [f"{Key.SEMANTIC.value}:standing"] * lexicon.is_standing(semantic.text)
    facets += [f"{Key.SEMANTIC.value}:alike"] * (found is not None and bool(found.retrieval.entries))
    facets += [
        f"{Key.SPATIAL.value}:{'region' if k.reference.kind == 'region' else k.relation.value}" for k in step.spatial
    ]
    facets += [f"{Key.TEMPORAL.value}:{k.op.value}" for k in step.temporal]
    facets += [f"{Key.AGENT.value}:named"] * bool(step.agents)
    facets += ["chained"] * (len(plan.steps) > 1) + ["past"] * plan.past
    facets += ["reference"] * (index < len(plan.steps) - 1)
    facets.append(f"emptied_by:{emptied_by(found).value}")
    return Situation(plan.form.value, tuple(dict.fromkeys(facets)), anomaly)


def emptied_by(found: Found | None) -> Key:
    """The first key after which nothing was left; the spatial one where the place isn't even known."""
    if found is None:
        return Key.SPATIAL
    if found.retrieval.after_semantic == 0:
        return Key.SEMANTIC
    return Key.SPATIAL if found.retrieval.after_spatial == 0 else Key.TEMPORAL


def by_blame(options: Sequence[Relaxation], plan: Plan, found: Found | None) -> list[Relaxation]:
    """What to try, first what loosens the key that left nothing over; otherwise in the order given.

    The place isn't blamed for a thing that stays where it stands: what else was said of it is the likelier mistake.
    """
    blamed = emptied_by(found)
    if blamed is Key.SPATIAL and lexicon.is_standing(plan.target.semantic.text):
        return list(options)
    return sorted(options, key=lambda option: RELAX_KEY[option.keys[-1]] is not blamed)


def by_change(options: Sequence[Relaxation]) -> list[Relaxation]:
    """What to try after rounds that brought nothing new: first what drops two conditions, or the whole kind."""
    return sorted(options, key=lambda option: len(option.keys) < 2 and Relax.ANY_KIND not in option.keys)


def novelty(returned: Iterable[str], known: set[str]) -> float:
    """The share of a round's entries that no round before returned; 0 where it returned none."""
    ids = set(returned)
    return len(ids - known) / len(ids) if ids else 0.0


def is_repeated(plan: Plan, earlier: Sequence[Plan]) -> bool:
    """Whether a plan asks what one before it asked: cosine of their queries at least 0.90."""
    return any(cosine(plan, before) >= REPEATED for before in earlier)


def cosine(a: Plan, b: Plan) -> float:
    """How alike two plans' queries are, 0..1: of their steps, the least alike.

    A step is a vector of what its keys say, each key (kind, properties, place, time, robots) of length one.
    """
    if len(a.steps) != len(b.steps) or a.form is not b.form:
        return 0.0
    return min(_step_cosine(p, q) for p, q in zip(a.steps, b.steps, strict=True))


def _step_cosine(a: Step, b: Step) -> float:
    left, right = _keys(a), _keys(b)
    shared = sum(len(p & q) / math.sqrt(len(p) * len(q)) for p, q in zip(left, right, strict=True) if p and q)
    lengths = sum(map(bool, left)) * sum(map(bool, right))
    return shared / math.sqrt(lengths) if lengths else float(left == right)


def _keys(step: Step) -> tuple[frozenset[str], ...]:
    semantic = step.semantic
    kinds = frozenset(semantic.labels) or frozenset([semantic.text] if semantic.text else [])
    return (
        frozenset(["anything"]) if semantic.anything else kinds,
        frozenset(a.model_dump_json() for a in semantic.attributes),
        frozenset(k.model_dump_json() for k in step.spatial),
        frozenset(k.model_dump_json() for k in step.temporal),
        frozenset(step.agents),
    )


def focused(options: Sequence[Relaxation], focus: Focus) -> list[Relaxation]:
    """What to try as a focus advises: what it prefers first, what it says to avoid last."""
    return sorted(options, key=lambda option: rank(option.keys, focus))


def rank(keys: tuple[Relax, ...], focus: Focus) -> int:
    """One condition as it is preferred, then two preferred ones at once, then all else, last what is to be avoided."""
    if keys and set(keys) <= set(focus.prefer):
        return focus.prefer.index(keys[0]) if len(keys) == 1 else len(focus.prefer)
    return len(focus.prefer) + 1 + (bool(keys) and set(keys) <= set(focus.avoid))
