"""The table of confidence (`reasoner/confidence.py`) fitted to marked answers, and what it is worth on others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import IDENTITY, Box, EntryState, Evidence, FloatArray, Motion, Pose, Visibility
from r4_ros.evaluation.sim.figures import confidence_figures
from r4_ros.reasoner.confidence import SIGNS, by_features, features
from r4_ros.reasoner.doubts import claimed

SHRINK = 30.0
"""Weight of the squared weights (of standardised features) beside the summed loss: what few claims show stays small."""


@dataclass(frozen=True)
class Claim:
    """An ANSWERED question with evidence: its features, whether it was right, and its scenario."""

    known: Mapping[str, float]
    right: bool
    scenario: str


def read_claims(files: Iterable[Path]) -> list[Claim]:
    """The claims of answers as `r4 eval sim --out` writes them, of the whole memory. Raises InvalidArgument."""
    found = []
    for file in files:
        try:
            rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
            found += [c for row in rows if (c := _claim(row)) is not None]
        except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidArgument(f"{file}: no answers as `r4 eval sim --out` writes them: {error}") from error
    return found


def _claim(row: Mapping[str, Any]) -> Claim | None:
    answer = row["answer"]
    if row.get("variant") or answer["verdict"] != "ANSWERED" or not answer["evidence"]:
        return None
    value = tuple(answer["value"]) if isinstance(answer["value"], list) else answer["value"]
    evidence = claimed([_evidence(e) for e in answer["evidence"]], str(answer["form"]))
    now_ns = int(row["now_ns"])
    return Claim(features(evidence, value, now_ns), bool(row["mark"]["right"]), str(row["scenario"]))


def _evidence(e: Mapping[str, Any]) -> Evidence:
    """Evidence as far as confidence asks of it."""
    unasked: dict[str, Any] = {"visibility": Visibility.UNKNOWN, "state": EntryState.UNKNOWN, "motion": Motion.UNKNOWN}
    return Evidence(
        entry_id=e["entry_id"],
        agent_id=e["agent_id"],
        label=e["label"],
        box=Box(Pose(tuple(e["position"]), IDENTITY.orientation), tuple(e["extent"])),
        frame=e["frame"],
        map_id=e["map_id"],
        first_seen=e["first_seen"],
        last_seen=e["last_seen"],
        present=None,
        sightings=(),
        count=e["sightings"],
        confidence=e["confidence"],
        score=e["score"],
        existence=e["existence"],
        missed=e["missed"],
        label_share=e["label_share"],
        **unasked,
    )


def fit(claims: Sequence[Claim]) -> dict[str, float]:
    """The table that fits the claims best (penalised maximum likelihood, signs as in ``SIGNS``)."""
    from scipy.optimize import minimize

    names = list(SIGNS)
    raw = np.array([[c.known[n] for n in names] for c in claims])
    right = np.array([float(c.right) for c in claims])
    mean, scale = raw.mean(axis=0), raw.std(axis=0)
    scale[scale < 1e-9] = 1.0
    x = (raw - mean) / scale

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        odds = w[0] + x @ w[1:]
        miss = 1 / (1 + np.exp(-odds)) - right
        value = float(np.logaddexp(0, odds).sum() - right @ odds + SHRINK / 2 * w[1:] @ w[1:])
        return value, np.concatenate([[miss.sum()], miss @ x + SHRINK * w[1:]])

    bounds = [(None, None)] + [(0, None) if SIGNS[n] > 0 else (None, 0) for n in names]
    w = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = w[1:] / scale
    table = {"intercept": float(w[0] - weights @ mean), **dict(zip(names, weights.tolist(), strict=True))}
    return {name: round(value, 3) + 0.0 for name, value in table.items()}


def worth(claims: Sequence[Claim], table: Mapping[str, float]) -> dict[str, Any]:
    """Brier score, skill and the risk-coverage curve of the claims by a table."""
    return confidence_figures([(by_features(c.known, table), c.right) for c in claims])


def left_out(claims: Sequence[Claim]) -> dict[str, Any]:
    """The same of each scenario by the table that all others give."""
    pairs = []
    for scenario in sorted({c.scenario for c in claims}):
        others = [c for c in claims if c.scenario != scenario]
        if others:
            table = fit(others)
            pairs += [(by_features(c.known, table), c.right) for c in claims if c.scenario == scenario]
    return confidence_figures(pairs)
