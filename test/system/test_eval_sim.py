"""The proof of the answers, on seconds of the apartment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from r4_ros.bridges.apartment.script import Change
from r4_ros.cli.main import app, load_commands
from r4_ros.evaluation.sim.keyed import KEYS
from r4_ros.evaluation.sim.proof import ask_all, figures
from r4_ros.evaluation.sim.runs import make, make_unrendered
from r4_ros.evaluation.sim.scenarios import Scenario

pytestmark = pytest.mark.system
SHORT = Scenario("t", 0, 8.0, ("robot1",), (Change(4.0, "flower vase", None),), 2.0, (160, 120))


def test_a_scenario_is_made_once_and_asked_with_every_key(tmp_path: Path) -> None:
    made = make(SHORT, tmp_path, None)
    files = sorted(tmp_path.iterdir())
    again = make(SHORT, tmp_path, None)
    assert again.truth == made.truth and sorted(tmp_path.iterdir()) == files
    made.db.with_suffix(".json").unlink()
    assert make(SHORT, tmp_path, None).truth == made.truth, "the kept pictures are the rendered ones"
    found = figures(ask_all([made], None, frozenset(KEYS), variants=True))
    assert found["questions"] > 20 and 0.3 < found["accuracy"] <= 1
    assert found["keys"]["sem+spa+tem"]["accuracy"] == found["accuracy"]
    assert len(found["keys"]) == 8 and found["keys"]["none"]["accuracy"] < found["accuracy"]
    assert found["unanswerable_answered"] == 0 and set(found["baselines"]) == {"30 s", "60 s", "120 s"}


def test_a_memory_without_pictures_knows_what_one_with_pictures_does(tmp_path: Path) -> None:
    made, unrendered = make(SHORT, tmp_path, None), make_unrendered(SHORT, tmp_path, None)
    assert unrendered.truth["objects"] == made.truth["objects"]
    with_pictures, without = (
        [set(f["pixels"]) for f in m.truth["frames"] if f["agent_id"] == "robot1"] for m in (made, unrendered)
    )
    assert sum(len(a & b) for a, b in zip(with_pictures, without, strict=True)) > 0.9 * sum(map(len, with_pictures))
    found = figures(ask_all([unrendered], None, frozenset(KEYS), variants=False))
    assert found["questions"] > 20 and found["accuracy"] > 0.5 and found["unanswerable_answered"] == 0


def test_foreign_questions_are_asked_of_a_foreign_memory(tmp_path: Path) -> None:
    load_commands()
    made = make(SHORT, tmp_path, None)
    file, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"text": "Is there a sofa?", "want": {"kind": "bool", "value": True}, "ego_agent": "robot1"},
        {"text": "Where is the piano?", "want": {"kind": "none", "verdicts": ["NOT_SEEN"]}, "form": "unanswerable"},
    ]
    file.write_text("\n".join(json.dumps(r) for r in rows))
    command = ["eval", "sim", "--log", str(made.db), "--questions", str(file), "--embedder", "none"]
    result = CliRunner().invoke(app, [*command, "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["accuracy"] == 1.0
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [w["mark"]["right"] for w in written] == [True, True] and written[0]["answer"]["evidence"]


@pytest.mark.parametrize("wrong", [["--planner", "lm"], ["--keys", "sem,odd"], ["--log", "x.db"]])
def test_the_command_refuses_what_makes_no_sense(wrong: list[str]) -> None:
    load_commands()
    assert CliRunner().invoke(app, ["eval", "sim", *wrong]).exit_code != 0
