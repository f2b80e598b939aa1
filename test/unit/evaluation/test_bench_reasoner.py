"""`r4 bench reasoner`: the questions are read and answered, and the times add up."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from r4_ros.cli import main
from r4_ros.evaluation import bench_reasoner
from r4_ros.reasoner.decompose import plan


def test_it_reports_the_parts_of_the_time() -> None:
    if not main.app.registered_commands:
        main.load_commands()
    result = CliRunner().invoke(main.app, ["bench", "reasoner", "--entries", "300", "--questions", "20", "--json"])
    found = json.loads(result.stdout)
    assert (found["entries"], found["questions"], sum(found["verdicts"].values())) == (300, 20, 20)
    for part in ("overhead", "plan", "memory", "total", "wall"):
        assert 0 < found[f"{part}_ms_p50"] <= found[f"{part}_ms_p99"]
    assert found["retrievals"] > 1


def test_all_but_one_wording_can_be_answered() -> None:
    questions = bench_reasoner.asked(len(bench_reasoner.WORDINGS))
    assert questions == bench_reasoner.asked(len(bench_reasoner.WORDINGS))
    refused = [q for q in questions if plan(q).unsupported]
    assert not refused
    assert len({plan(q).form for q in questions}) >= 10
