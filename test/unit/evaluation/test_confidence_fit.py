"""The table of confidence: fitted to what was right, tried on other scenarios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from r4_ros.cli.main import app, load_commands
from r4_ros.core.errors import InvalidArgument
from r4_ros.evaluation.confidence import Claim, fit, left_out, read_claims, worth
from r4_ros.reasoner.confidence import SIGNS, TABLE, by_features, confidence

PLAIN = dict.fromkeys(("recognised", "label_share", "fit", "age"), 1.0) | {
    "existence": 7.0,
    "pieces": 0.0,
    "measured": 0.0,
}


def claims(count: int, slope: float, seed: int = 0) -> list[Claim]:
    """Claims of four scenarios that are right by how often a thing was seen."""
    rng = np.random.default_rng(seed)
    seen = rng.uniform(0, 4, count)
    right = rng.random(count) < 1 / (1 + np.exp(-(slope * (seen - 2))))
    told = enumerate(zip(seen, right, strict=True))
    return [Claim({**PLAIN, "sightings": float(s)}, bool(r), f"s{i % 4}") for i, (s, r) in told]


def test_what_tells_right_from_wrong_gets_its_weight() -> None:
    made = claims(4000, 2.0)
    table = fit(made)
    assert set(table) == {"intercept", *SIGNS}
    assert table["sightings"] == pytest.approx(2.0, abs=0.25) and table["existence"] == 0
    found, others = worth(made, table), left_out(made)
    assert found["skill"] > 0.3 and others["skill"] > 0.3 and others["claims"] == len(made)
    assert worth(claims(1000, 2.0, seed=1), table)["skill"] > 0.3


def test_a_sign_that_makes_no_sense_is_not_fitted() -> None:
    assert fit(claims(2000, -2.0))["sightings"] == 0


def test_the_shipped_table_has_all_weights_with_their_signs() -> None:
    assert set(TABLE) == {"intercept", *SIGNS}
    assert all(TABLE[name] * sign >= 0 for name, sign in SIGNS.items())
    sure = by_features({**PLAIN, "sightings": 4.0})
    assert 0 < by_features({**PLAIN, "sightings": 0.0, "existence": 0.0}) < sure < 1 and confidence([], None, 0) == 0


def rows(scenario: str, count: int) -> list[dict[str, Any]]:
    """Answers as `r4 eval sim --out` writes them; those that rest on one sighting are wrong."""
    evidence = {"entry_id": "e", "agent_id": "r", "label": "mug", "position": [0, 0, 0], "extent": [1, 1, 1]}
    evidence |= {"frame": "map", "map_id": "m", "first_seen": 0, "last_seen": 10, "confidence": 1.0, "score": 1.0}
    evidence |= {"existence": 1.0, "missed": 0, "label_share": 1.0}
    found = []
    for i in range(count):
        cited = {**evidence, "sightings": 1 if i % 3 == 0 else 30}
        answer = {"verdict": "ANSWERED", "form": "locate", "value": [0.0, 0.0, 0.0], "evidence": [cited]}
        found.append({"scenario": scenario, "now_ns": 20, "answer": answer, "mark": {"right": i % 3 > 0}})
    return found


def test_the_command_fits_and_tries(tmp_path: Path) -> None:
    load_commands()
    here, there = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    here.write_text("".join(json.dumps(r) + "\n" for s in ("s0", "s1") for r in rows(s, 300)))
    there.write_text("".join(json.dumps(r) + "\n" for r in rows("s2", 300)))
    result = CliRunner().invoke(app, ["eval", "confidence", str(here), "--test", str(there), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["table"]["sightings"] > 0 and found["test"]["skill"] > 0.5 and found["left_out"]["skill"] > 0.5
    again = CliRunner().invoke(app, ["eval", "confidence", str(here), "--test", str(here), "--json"])
    assert again.exit_code != 0, "what the table was fitted to proves nothing"
    there.write_text("no json\n")
    with pytest.raises(InvalidArgument):
        read_claims([there])
