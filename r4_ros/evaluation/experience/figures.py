"""The figures of ``r4 eval experience``: each mode, and paired differences between modes over the seeds."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from r4_ros.evaluation.experience.stream import Ended, Outcome

RESAMPLES = 10_000
PAIRS = (
    ("reflection", "none"),
    ("experience", "reflection"),
    ("lifecycle", "reflection"),
    ("lifecycle", "experience"),
    ("experience", "static"),
    ("lifecycle", "static"),
    ("random", "reflection"),
    ("shuffled", "reflection"),
    ("noisy", "reflection"),
    ("shift", "shift_reflection"),
)
"""What is compared with what."""
MOST_TOLD = 8

Runs = Mapping[str, Sequence[Ended]]
"""By mode, one run a seed, in the same order of seeds."""


def figures(runs: Runs) -> dict[str, Any]:
    """JSON-ready: ``modes``, ``differences`` (points of accuracy of the second half) and ``lessons``."""
    return {
        "seeds": len(next(iter(runs.values()))),
        "tasks": sum(len(ended.outcomes) for ended in next(iter(runs.values()))),
        "modes": {name: _mode(found) for name, found in runs.items()},
        "differences": [_difference(runs, a, b) for a, b in PAIRS if a in runs and b in runs],
        "lessons": _lessons(runs.get("lifecycle", ())),
    }


def accuracy(outcomes: Sequence[Outcome]) -> float:
    """Share of tasks that ended right."""
    return sum(outcome.right for outcome in outcomes) / max(1, len(outcomes))


def interval(values: Sequence[float]) -> list[float]:
    """95 % of the means of resampled seeds."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    means = np.asarray(values, float)[drawn].mean(axis=1)
    return [round(float(v), 4) for v in np.percentile(means, [2.5, 97.5])]


def _second(ended: Ended) -> list[Outcome]:
    return ended.outcomes[len(ended.outcomes) // 2 :]


def _mode(found: Sequence[Ended]) -> dict[str, Any]:
    halves = [accuracy(_second(ended)) for ended in found]
    quarters = [[accuracy(part) for part in _quarters(ended.outcomes)] for ended in found]
    whole = [outcome for ended in found for outcome in ended.outcomes]
    return {
        "accuracy_second_half": round(float(np.mean(halves)), 4),
        "accuracy_by_quarter": [round(float(v), 4) for v in np.mean(quarters, axis=0)],
        "rounds": round(float(np.mean([outcome.rounds for outcome in whole])), 3),
        "queries": round(float(np.mean([outcome.queries for outcome in whole])), 3),
        "bank": round(float(np.mean([ended.bank for ended in found])), 1),
        "ci95": interval(halves),
        "advised": round(float(np.mean([outcome.lessons for outcome in whole])), 4),
        "retried": round(float(np.mean([bool(outcome.tried) for outcome in whole])), 4),
    }


def _quarters(outcomes: Sequence[Outcome]) -> list[Sequence[Outcome]]:
    edges = [len(outcomes) * k // 4 for k in range(5)]
    return [outcomes[a:b] for a, b in itertools.pairwise(edges)]


def _difference(runs: Runs, name: str, other: str) -> dict[str, Any]:
    """Paired by seed."""
    apart = [accuracy(_second(a)) - accuracy(_second(b)) for a, b in zip(runs[name], runs[other], strict=True)]
    pairs = [p for a, b in zip(runs[name], runs[other], strict=True) for p in zip(_second(a), _second(b), strict=True)]
    return {
        "mode": name,
        "against": other,
        "difference": round(float(np.mean(apart)), 4),
        "ci95": interval(apart),
        "gained": sum(p.right and not q.right for p, q in pairs),
        "lost": sum(q.right and not p.right for p, q in pairs),
    }


def _lessons(found: Sequence[Ended]) -> dict[str, Any]:
    """What lessons of all seeds advise, with how the tasks ended that used them; most used first."""
    counted = ("support", "uses", "helped", "hurt")
    sums: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(("seeds", *counted), 0.0))
    for ended in found:
        for lesson in ended.lessons:
            advice = "; ".join(f"{what} {', '.join(lesson[what])}" for what in ("prefer", "avoid") if lesson[what])
            emptied = lesson["when_to_use"].rpartition("emptied_by:")[2] or "?"
            total = sums[f"{lesson['polarity']}: {advice} (emptied by {emptied})"]
            total["seeds"] += 1
            for name in counted:
                total[name] += float(lesson[name])
    used = sorted(sums.items(), key=lambda item: item[1]["helped"] - item[1]["hurt"])
    return {"helped": dict(reversed(used[-MOST_TOLD:])), "hurt": dict(used[:MOST_TOLD])}
