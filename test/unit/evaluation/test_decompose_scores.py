"""`r4 eval decompose`: what is scored, how, and what bad files get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_double import chat_double, says
from typer.testing import CliRunner

from r4_ros.cli import main
from r4_ros.core.errors import InvalidArgument, UnsupportedQuestion
from r4_ros.evaluation import decompose as evaluation
from r4_ros.reasoner.decompose import plan
from r4_ros.reasoner.keys import Plan


def label(form: str, target: str = "", spatial: list[Any] | None = None, op: str = "none") -> dict[str, Any]:
    return {
        "form": form,
        "target": target,
        "attributes": [],
        "asked": None,
        "spatial": spatial or [],
        "superlative": None,
        "temporal": {"op": op, "arg": ""},
    }


ON_TABLE = [{"subject": "target", "relation": "on", "anchor": "table"}]
ROWS: list[dict[str, Any]] = [
    {"dataset": "d", "id": 1, "question": "where is the mug", "labels": [label("locate", "mugs")]},
    {"question": "what is on the table", "labels": [label("exists", "x"), label("identify", "", ON_TABLE)]},
    {"question": "was the box on the table 12 s ago", "labels": [label("verify", "box", ON_TABLE, "before")]},
    {"question": "is there a cup", "context": "somewhere"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in ROWS) + "\n\n", encoding="utf-8")
    return path


def run(*args: str) -> Any:
    if not main.app.registered_commands:
        main.load_commands()
    return CliRunner().invoke(main.app, ["eval", "decompose", *args])


def test_scores_and_predictions_are_written(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "pred.jsonl"
    result = run(str(file), "--out", str(out), "--json")
    found = json.loads(result.stdout)
    assert (found["n"], found["labelled"], found["failed"]) == (4, 3, 0)
    assert found["form"] == found["target"] == found["superlative"] == 1.0
    assert found["spatial_f1"] == pytest.approx(2 / 3, abs=1e-4)  # the claim of a yes/no question restricts nothing
    assert found["temporal"] == 0.0  # 'ago' predicted, 'before' labelled: both missed
    assert found["all"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["ci95"]["form"] == [1.0, 1.0]
    assert 0 < found["ms_p50"] <= found["ms_p99"]
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [r["question"] for r in rows] == [r["question"] for r in ROWS]
    assert rows[1]["spatial"] == ON_TABLE
    assert set(label("")) < set(rows[0])


def test_without_labels_nothing_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"question": "where is the mug"}), encoding="utf-8")
    found = json.loads(run(str(path), "--json").stdout)
    assert (found["n"], found["labelled"]) == (1, 0)
    assert "form" not in found


@pytest.mark.parametrize("line", ["{", "[]", '{"id": 1}', '{"question": 3}', '{"question": "a", "labels": [1]}'])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(ROWS[0]) + "\n" + line, encoding="utf-8")
    with pytest.raises(InvalidArgument, match="line 2"):
        evaluation.read_questions(path)


def test_an_unknown_planner_and_a_missing_file_are_refused(file: Path, tmp_path: Path) -> None:
    assert isinstance(run(str(file), "--planner", "oracle").exception, InvalidArgument)
    assert isinstance(run(str(tmp_path / "none.jsonl")).exception, InvalidArgument)


def test_a_question_without_a_plan_counts_as_failed_and_wrong() -> None:
    def planner(text: str) -> Plan:
        if "mug" in text:
            raise UnsupportedQuestion("no")
        return plan(text)

    asked = [evaluation.Labelled("", "", r["question"], tuple(r.get("labels", ()))) for r in ROWS[:2]]
    found = evaluation.score(evaluation.predict(asked, planner))
    assert (found["failed"], found["form"], found["all"]) == (1, 0.5, 0.5)


@pytest.mark.parametrize(
    ("a", "b"), [("recycling bins", "bin"), ("coffee-table", "table"), ("boxes", "box"), ("shelves", "shelf"), ("", "")]
)
def test_heads(a: str, b: str) -> None:
    assert evaluation.head(a) == evaluation.head(b)


def test_pairs_take_relation_and_anchor() -> None:
    other = [{"subject": "x", "relation": "on", "anchor": "Tables"}]
    assert evaluation.pairs_f1(ON_TABLE, other) == 1.0
    assert evaluation.pairs_f1(ON_TABLE, [{"relation": "in", "anchor": "table"}]) == 0.0
    assert evaluation.pairs_f1(ON_TABLE, []) == 0.0
    assert evaluation.pairs_f1([], []) == 1.0


def test_a_language_model_is_scored_alone(file: Path) -> None:
    """Where it gives no plan the question failed; the rules don't help."""
    plan_of_all = json.dumps({"form": "locate", "steps": [{"semantic": {"text": "mug"}}]})
    with chat_double(says(plan_of_all)) as server:
        found = json.loads(
            run(str(file), "--planner", "lm", "--lm-model", "m", "--lm-url", server.url, "--json").stdout
        )
    assert (found["n"], found["failed"]) == (4, 2) and found["form"] == pytest.approx(1 / 3, abs=1e-4)
    assert isinstance(run(str(file), "--planner", "lm").exception, InvalidArgument)
