"""A run that looks at itself: in what situation it is, which key left nothing over, and what to try next.

This is the query writer's side of experience. Only ``focused`` takes a focus; who writes answers never sees one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from r4_ros.core.lessons import Anomaly, Focus, Key, Relax, Situation, own_rank
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


def by_itself(options: Sequence[Relaxation], anomaly: Anomaly, facets: Sequence[str]) -> list[Relaxation]:
    """What to try, in the order in which a run goes on by itself; of two pairs the one that came up first."""
    return sorted(options, key=lambda option: own_rank(option.keys, anomaly, facets))


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


def focused(options: Sequence[Relaxation], focus: Focus, found: Sequence[Relax] = ()) -> list[Relaxation]:
    """What to try as a focus advises: what it prefers right before what it warns of, all else as it was.

    found: what was dropped to find something already.
    """
    ordered = list(options)
    preferred = next((o for o in ordered if is_query(o.keys, focus.prefer)), None)
    warned = next((o for o in ordered if is_query(o.keys, focus.avoid)), None)
    if preferred is None:
        if warned is not None and not focus.prefer:
            ordered.remove(warned)
            ordered.append(warned)
        return ordered
    first = 0 if not focus.avoid or is_query(found, focus.avoid) else len(ordered)
    before = first if warned is None else ordered.index(warned)
    at = ordered.index(preferred)
    if before < at:
        ordered.insert(before, ordered.pop(at))
    return ordered


def is_query(dropped: Sequence[Relax], meant: Sequence[Relax]) -> bool:
    """Whether a query drops just what is meant."""
    return bool(dropped) and set(dropped) == set(meant)
