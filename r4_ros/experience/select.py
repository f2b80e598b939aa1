"""Which lessons fit a situation. Situation and failure mode weigh above wording; failures need a stricter fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from r4_ros.core.lessons import Focus, Key, Lesson, Polarity, Relax, Situation

MOST = 2
FIT = {Polarity.SUCCESS: 0.55, Polarity.FAILURE: 0.75}
"""The least fit, 0..1, for advice to be given; what failed there may work here, so failures must fit closer."""
W_ANOMALY, W_FACETS, W_NEED, W_FORM = 0.25, 0.45, 0.2, 0.1


def fit(lesson: Lesson, situation: Situation) -> float:
    """How well a lesson fits, 0..1: the same anomaly, facets of the plan and form, a key that the plan has."""
    when = lesson.when_to_use
    return (
        W_ANOMALY * (when.anomaly is situation.anomaly)
        + W_FACETS * facet_cosine(when.facets, situation.facets)
        + W_NEED * (lesson.evidence_need in keys_of(situation))
        + W_FORM * (when.form == situation.form)
    )


def select(lessons: Iterable[Lesson], situation: Situation, worth: dict[str, float]) -> tuple[Lesson, ...]:
    """At most two lessons: the one of what helped that fits best, weighed by its worth, and the next best of any kind.

    What failed is told only beside what helped: alone it doesn't say that anything else would have done better.

    worth: utility of each lesson by id, 0..1; see ``bank.utility``.
    """
    ranked: list[tuple[float, str, Lesson]] = []
    for lesson in lessons:
        how_well = fit(lesson, situation)
        if how_well >= FIT[lesson.polarity]:
            ranked.append((-how_well * worth[lesson.lesson_id], lesson.lesson_id, lesson))
    chosen = [lesson for _, _, lesson in sorted(ranked, key=lambda r: r[:2])]
    best = next((k for k in chosen if k.polarity is Polarity.SUCCESS), None)
    if best is None:
        return ()
    second = next((k for k in chosen if k is not best), None)
    pair = [best] if second is None else [best, second]
    return tuple(sorted(pair, key=chosen.index))


def focus_of(lessons: Sequence[Lesson]) -> Focus:
    """One neutral advice from the lessons, the better one first; what one advises, a worse one can't forbid."""
    prefer: list[Relax] = []
    avoid: list[Relax] = []
    for lesson in lessons:
        prefer += [r for r in lesson.correction.prefer if r not in prefer and r not in avoid]
        avoid += [r for r in lesson.correction.avoid if r not in avoid and r not in prefer]
    note = next((lesson.correction.note for lesson in lessons if lesson.correction.note), "")
    return Focus(tuple(prefer), tuple(avoid), note)


def facet_cosine(a: Sequence[str], b: Sequence[str]) -> float:
    """Cosine of two bags of facets; two empty ones are alike."""
    left, right = set(a), set(b)
    if not left or not right:
        return float(left == right)
    return len(left & right) / math.sqrt(len(left) * len(right))


def keys_of(situation: Situation) -> set[Key]:
    """The keys that a plan has, by its facets (``spatial:on`` is of the spatial key)."""
    return {Key(name) for f in situation.facets if (name := f.partition(":")[0]) in Key._value2member_map_}
