"""What the gate is worth, and what a confidence is worth."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

COVERAGES = (0.25, 0.5, 0.75, 0.9, 1.0)
BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.0001)


class _Right(Protocol):
    @property
    def right(self) -> bool: ...


class _Marked(Protocol):
    @property
    def answer(self) -> dict[str, Any]: ...

    @property
    def mark(self) -> _Right: ...


def gate_figures(with_gate: Sequence[_Marked], without: Sequence[_Marked]) -> dict[str, Any]:
    """How often the gate opened and how often that was right; what it saved, where the same was asked without it."""
    opened = [k for k, m in enumerate(with_gate) if _steps(m.answer, "gate", "open")]
    right = sum(with_gate[k].mark.right for k in opened)
    found: dict[str, Any] = {"asked": len(with_gate), "opened": len(opened)}
    found["precision"] = round(right / len(opened), 4) if opened else None
    if not without:
        return found
    counts = [[_steps(m.answer, "retrieve") for m in marked] for marked in (with_gate, without)]
    return {
        **found,
        "precision_without": round(sum(without[k].mark.right for k in opened) / max(1, len(opened)), 4),
        "retrievals": sum(counts[0]),
        "retrievals_without": sum(counts[1]),
        "saved_when_open": round(sum(counts[1][k] - counts[0][k] for k in opened) / max(1, len(opened)), 2),
        "accuracy": _share([m.mark.right for m in with_gate]),
        "accuracy_without": _share([m.mark.right for m in without]),
    }


def _steps(answer: Mapping[str, Any], action: str, begins: str = "") -> int:
    return sum(s["action"] == action and s["detail"].startswith(begins) for s in answer["trace"])


def confidence_figures(claims: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Brier score of claims (confidence, right), its skill against always saying the share that is right, and the
    risk-coverage curve: the share of wrong ones among the surest so many (El-Yaniv and Wiener, JMLR 2010).
    """
    if not claims:
        return {"claims": 0}
    sure, right = np.array([c for c, _ in claims]), np.array([float(r) for _, r in claims])
    brier, constant = float(np.mean((sure - right) ** 2)), float(np.mean((right.mean() - right) ** 2))
    order = np.argsort(-sure, kind="stable")
    wrong = np.cumsum(1 - right[order]) / np.arange(1, len(order) + 1)
    return {
        "claims": len(claims),
        "right": _share(right.tolist()),
        "brier": round(brier, 4),
        "brier_constant": round(constant, 4),
        "skill": round(1 - brier / constant, 4) if constant > 0 else None,
        "risk_at_coverage": {f"{c:g}": round(float(wrong[max(1, round(c * len(order))) - 1]), 4) for c in COVERAGES},
        "risk_coverage_area": round(float(wrong.mean()), 4),
        "reliability": [
            {"from": low, "claims": int(inside.sum()), "mean": round(float(sure[inside].mean()), 3)}
            | {"right": _share(right[inside].tolist())}
            for low, high in itertools.pairwise(BINS)
            if (inside := (sure >= low) & (sure < high)).any()
        ],
    }


def _share(values: Sequence[float]) -> float:
    return round(sum(values) / max(1, len(values)), 4)
