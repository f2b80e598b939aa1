"""How surely an answer is right, 0..1: a logistic model of the evidence that it cites.

    p = 1 / (1 + exp(-(intercept + sum of weight x feature)))

Of several pieces of evidence the weakest counts. The table was fitted to marked answers of runs with worse sensing, on
other scenarios than those whose figures are reported; `r4 eval confidence` makes it (docs/evaluation.md). More
sightings and the like never make an answer less sure: the signs are part of the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from r4_ros.core.model import NS_PER_S, AnswerValue, Evidence

SIGNS: Mapping[str, int] = {
    "sightings": 1,  # ln of how often it was seen, at most 100 times
    "existence": 1,  # ln of the odds that it is at its place
    "recognised": 1,  # the recogniser's own confidence
    "label_share": 1,  # of the votes for its label and the next best one
    "fit": 1,  # how well it fits what was asked, all keys together: the margin of relations as well
    "age": -1,  # lg of 1 + seconds since it was seen
    "pieces": -1,  # ln of how many pieces the claim rests on
    "measured": -1,  # 1 for a place or a distance: it may miss by a little
}
"""What the evidence tells, and whether more of it makes the answer more or less sure."""
TABLE: Mapping[str, float] = {
    "intercept": -8.345,
    "sightings": 0.0,
    "existence": 0.948,
    "recognised": 0.0,
    "label_share": 0.0,
    "fit": 4.703,
    "age": 0.0,
    "pieces": 0.0,
    "measured": -1.401,
}
"""Fitted on 2026-11-30 to 1,771 claims of scenarios 6, 10 and 12 of `r4 eval sim`, degraded in four ways and not."""
MOST_SEEN, LEAST_ODDS, MOST_ODDS = 100, -5.0, 7.0


def features(evidence: Sequence[Evidence], value: AnswerValue, now_ns: int) -> dict[str, float]:
    """The features of a claim by name; there must be evidence."""
    oldest = min(e.last_seen for e in evidence)
    return {
        "sightings": math.log(min(MOST_SEEN, max(1, min(e.count for e in evidence)))),
        "existence": min(_log_odds(e.existence) for e in evidence),
        "recognised": min(e.confidence for e in evidence),
        "label_share": min(e.label_share for e in evidence),
        "fit": min(e.score for e in evidence),
        "age": math.log10(1 + max(0, now_ns - oldest) / NS_PER_S),
        "pieces": math.log(len(evidence)),
        "measured": float(_is_measured(value)),
    }


def confidence(
    evidence: Sequence[Evidence], value: AnswerValue, now_ns: int, table: Mapping[str, float] = TABLE
) -> float:
    """How surely a claim that rests on this evidence is right; 0 where there is none."""
    return by_features(features(evidence, value, now_ns), table) if evidence else 0.0


def by_features(known: Mapping[str, float], table: Mapping[str, float] = TABLE) -> float:
    """The model itself."""
    odds = table["intercept"] + sum(table[name] * known[name] for name in SIGNS)
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


def _log_odds(share: float) -> float:
    low, high = 1 / (1 + math.exp(-LEAST_ODDS)), 1 / (1 + math.exp(-MOST_ODDS))
    p = min(max(share, low), high)
    return math.log(p / (1 - p))


def _is_measured(value: AnswerValue) -> bool:
    return isinstance(value, float) or (isinstance(value, tuple) and any(isinstance(v, float) for v in value))
