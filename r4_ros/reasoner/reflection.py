"""A run that looks at itself: in what situation it is, which key left nothing over, and what to try next.

This is the query writer's side of experience. Only ``focused`` takes a focus; who writes answers never sees one.
"""

from __future__ import annotations

from collections.abc import Sequence

from r4_ros.core.lessons import RELAX_KEY, Anomaly, Focus, Key, Relax, Situation
from r4_ros.reasoner.keys import Plan
from r4_ros.reasoner.refine import Relaxation
from r4_ros.reasoner.run import Found


def situation(plan: Plan, found: Found | None) -> Situation:
    """What is asked for, by type only, and which key left nothing over. ``found`` is None where a place isn't known."""
    step = plan.steps[found.missing if found is not None and found.missing >= 0 else -1]
    semantic = step.semantic
    facets = [f"{Key.SEMANTIC.value}:{'anything' if semantic.anything else 'named' if semantic.name else 'kind'}"]
    facets += [f"{Key.SEMANTIC.value}:attribute"] * any(a.is_known for a in semantic.attributes)
    facets += [
        f"{Key.SPATIAL.value}:{'region' if k.reference.kind == 'region' else k.relation.value}" for k in step.spatial
    ]
    facets += [f"{Key.TEMPORAL.value}:{k.op.value}" for k in step.temporal]
    facets += [f"{Key.AGENT.value}:named"] * bool(step.agents)
    facets += ["chained"] * (len(plan.steps) > 1) + ["past"] * plan.past
    facets.append(f"emptied_by:{emptied_by(found).value}")
    return Situation(plan.form.value, tuple(dict.fromkeys(facets)), Anomaly.EMPTY)


def emptied_by(found: Found | None) -> Key:
    """The first key after which nothing was left; the spatial one where the place isn't even known."""
    if found is None:
        return Key.SPATIAL
    if found.retrieval.after_semantic == 0:
        return Key.SEMANTIC
    return Key.SPATIAL if found.retrieval.after_spatial == 0 else Key.TEMPORAL


def by_blame(options: Sequence[Relaxation], found: Found | None) -> list[Relaxation]:
    """What to try, first what loosens the key that left nothing over; otherwise in the order given."""
    blamed = emptied_by(found)
    return sorted(options, key=lambda option: RELAX_KEY[option.key] is not blamed)


def focused(options: Sequence[Relaxation], focus: Focus) -> list[Relaxation]:
    """What to try as a focus advises: what it prefers first, what it says to avoid not at all."""
    kept = [option for option in options if option.key not in focus.avoid]
    return sorted(kept, key=lambda option: _rank(option.key, focus))


def _rank(key: Relax, focus: Focus) -> int:
    return focus.prefer.index(key) if key in focus.prefer else len(focus.prefer)
