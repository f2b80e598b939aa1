"""``r4 bench`` on tiny memories: what it prints, and that nothing it finds is wrong."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import bench
from r4_ros.evaluation.bench_retrieval import SELECTIVITIES


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    bench.register(made)
    return made


def test_retrieval_as_json(app: typer.Typer) -> None:
    options = ["bench", "retrieval", "--entries", "3000", "--repeats", "4", "--no-peers", "--json"]
    ran = CliRunner().invoke(app, options)
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    assert found["entries"] == 3000 and found["bytes_per_entry"] > 1536 and found["rebuild_s"] > 0
    keys = {(r["engine"], r["selectivity"]) for r in found["results"]}
    assert keys == {(engine, percent) for engine in ("r4", "numpy") for percent in SELECTIVITIES}
    assert all(r["recall"] == 1.0 and 0 < r["p50_ms"] <= r["p99_ms"] for r in found["results"])
    assert [r["selectivity"] for r in found["ratios"]] == list(SELECTIVITIES)
