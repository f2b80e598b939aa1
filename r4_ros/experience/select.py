"""Which lessons fit a situation. Situation and failure mode weigh above wording; failures need a stricter fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from r4_ros.core.lessons import Focus, Key, Lesson, Polarity, Situation
from r4_ros.experience.evidence import departs, is_sure

MOST = 2
FIT = {Polarity.SUCCESS: 0.55, Polarity.FAILURE: 0.75}
"""The least fit, 0..1, for advice to be given; what failed there may work here, so failures must fit closer."""
W_ANOMALY, W_FACETS, W_NEED, W_FORM = 0.25, 0.45, 0.2, 0.1


def fit(lesson: Lesson, situation: Situation) -> float:
    """How well a lesson fits, 0..1: the same anomaly, facets of the plan and form, a key that the plan has."""
    when = lesson.when_to_use
    return (
        W_ANOMALY * (when.anomaly is situation.anomaly)
        + W_FACETS * _share_met(when.facets, situation.facets)
        + W_NEED * (lesson.evidence_need in keys_of(situation))
        + W_FORM * (when.form == situation.form)
    )


def _share_met(wanted: Sequence[str], facets: Sequence[str]) -> float:
    """How much of what a lesson is for is so here. That more is asked for besides doesn't count against it."""
    return len(set(wanted) & set(facets)) / len(set(wanted)) if wanted else 1.0


def select(
    lessons: Iterable[Lesson], situation: Situation, worth: Mapping[str, float], proven: bool = True
) -> tuple[Lesson, ...]:
    """A lesson of what helped and one of what failed, or none: the two that fit best, weighed by their worth.

    Together they say 'this before that'. Only such pairs are told as say what a run wouldn't do by itself, and of
    which the runs leave no doubt (``evidence``). ``proven`` off: those that fit best, each by itself and whatever runs
    have shown; what failed then only beside what helped.

    worth: utility of each lesson by id, 0..1; see ``bank.utility``.
    """
    weights = {k.lesson_id: (fit(k, situation), k) for k in lessons}
    fitting = [(f * worth[i], k) for i, (f, k) in sorted(weights.items()) if f >= FIT[k.polarity]]
    helped, failed = ([(w, k) for w, k in fitting if k.polarity is p] for p in Polarity)
    if not proven:
        best = max(helped, key=lambda f: f[0], default=None)
        if best is None:
            return ()
        others = [f for f in failed if set(f[1].correction.avoid) != set(best[1].correction.prefer)]
        return tuple(k for _, k in (best, *sorted(others, key=lambda f: -f[0])[:1]))
    helped = [f for f in helped if f[1].when_to_use.core == situation.core]
    pairs = [(v * w, s, f) for v, s in helped for w, f in failed if departs(s, f) and is_sure(s, f)]
    return max(pairs, key=lambda p: p[0])[1:] if pairs else ()


def focus_of(lessons: Sequence[Lesson]) -> Focus:
    """One neutral advice: what the first lesson that prefers something prefers, before what another one warns of."""
    prefer = next((k.correction.prefer for k in lessons if k.correction.prefer), ())
    warned = [k.correction.avoid for k in lessons if k.polarity is Polarity.FAILURE]
    avoid = next((a for a in warned if a and set(a) != set(prefer)), ())
    note = next((lesson.correction.note for lesson in lessons if lesson.correction.note), "")
    return Focus(prefer, avoid, note)


def facet_cosine(a: Sequence[str], b: Sequence[str]) -> float:
    """Cosine of two bags of facets; two empty ones are alike."""
    left, right = set(a), set(b)
    if not left or not right:
        return float(left == right)
    return len(left & right) / math.sqrt(len(left) * len(right))


def keys_of(situation: Situation) -> set[Key]:
    """The keys that a plan has, by its facets (``spatial:on`` is of the spatial key)."""
    return {Key(name) for f in situation.facets if (name := f.partition(":")[0]) in Key._value2member_map_}
