"""What the figures of the proof say of confidences and of the gate."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from r4_ros.evaluation.sim.figures import confidence_figures, gate_figures


def test_a_confidence_that_knows_has_skill_and_a_constant_has_none() -> None:
    rng = np.random.default_rng(0)
    true = rng.choice([0.5, 0.95], 4000)
    right = rng.random(4000) < true
    knowing = confidence_figures([(float(p), bool(r)) for p, r in zip(true, right, strict=True)])
    share = float(right.mean())
    constant = confidence_figures([(share, bool(r)) for r in right])
    assert knowing["skill"] > 0.1 and constant["skill"] == pytest.approx(0, abs=1e-3)
    assert knowing["risk_at_coverage"]["0.5"] < 0.1 < knowing["risk_at_coverage"]["1"]
    assert knowing["risk_at_coverage"]["1"] == pytest.approx(1 - share, abs=1e-3)
    assert [b["right"] for b in knowing["reliability"]] == pytest.approx([0.5, 0.95], abs=0.03)
    worse = confidence_figures([(1 - float(p), bool(r)) for p, r in zip(true, right, strict=True)])
    assert worse["skill"] < 0 and worse["risk_coverage_area"] > knowing["risk_coverage_area"]
    assert confidence_figures([]) == {"claims": 0}


def _marked(right: bool, retrievals: int, gate: str = "") -> Any:
    trace = [{"action": "retrieve", "detail": "x"}] * retrievals + [{"action": "gate", "detail": gate}] * bool(gate)
    return SimpleNamespace(answer={"trace": trace}, mark=SimpleNamespace(right=right))


def test_the_gate_is_held_against_the_same_questions_without_it() -> None:
    with_gate = [_marked(True, 1, "open: x"), _marked(False, 1, "open: x"), _marked(True, 3, "closed: x")]
    without = [_marked(True, 3), _marked(True, 2), _marked(True, 3)]
    found = gate_figures(with_gate, without)
    assert (found["opened"], found["precision"], found["precision_without"]) == (2, 0.5, 1.0)
    assert (found["retrievals"], found["retrievals_without"], found["saved_when_open"]) == (5, 8, 1.5)
    assert gate_figures(with_gate, []) == {"asked": 3, "opened": 2, "precision": 0.5}
