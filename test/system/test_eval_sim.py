"""The proof of the answers, on seconds of the apartment."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from chat_double import chat_double, says
from typer.testing import CliRunner

from r4_ros.bridges.apartment.script import Change
from r4_ros.cli.main import app, load_commands
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.evaluation.sim.ask import questions, read_wordings
from r4_ros.evaluation.sim.keyed import KEYS
from r4_ros.evaluation.sim.proof import ask_all, figures
from r4_ros.evaluation.sim.runs import make, make_unrendered
from r4_ros.evaluation.sim.scenarios import Scenario
from r4_ros.evaluation.sim.truth import Truth
from r4_ros.memory.library import open_library
from r4_ros.reasoner import decompose

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
    assert found["glances"]["asked"] >= found["glances"]["opened"] >= 0
    assert len(found["keys"]) == 8 and found["keys"]["none"]["accuracy"] < found["accuracy"]
    assert found["unanswerable_answered"] == 0 and set(found["baselines"]) == {
        "last 30 s",
        "last 60 s",
        "last 120 s",
        "captions",
    }


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
    together = CliRunner().invoke(app, ["eval", "sim", "--answers", str(out), "--answers", str(out), "--json"])
    assert together.exit_code == 0, together.output
    assert json.loads(together.stdout)["questions"] == 4 and json.loads(together.stdout)["accuracy"] == 1.0
    plans = [says(decompose.plan(str(r["text"])).model_dump_json()) for r in rows]
    with chat_double(*plans) as server:
        by_model = ["--planner", "lm", "--lm-model", "m", "--lm-url", server.url]
        result = CliRunner().invoke(app, [*command, *by_model, "--out", str(out), "--json"])
    assert result.exit_code == 0 and json.loads(result.stdout)["accuracy"] == 1.0, result.output
    answers = [json.loads(line)["answer"] for line in out.read_text().splitlines()]
    told = [step["detail"] for a in answers for step in a["trace"] if step["action"] == "plan"]
    assert len(told) == len(server.requests) == 2 and all(t.startswith("lm m: ") for t in told)


@pytest.mark.parametrize("wrong", [["--planner", "lm"], ["--keys", "sem,odd"], ["--log", "x.db"], ["--degrade", "fog"]])
def test_the_command_refuses_what_makes_no_sense(wrong: list[str]) -> None:
    load_commands()
    assert CliRunner().invoke(app, ["eval", "sim", *wrong]).exit_code != 0


def test_worse_sensing_makes_a_memory_of_its_own(tmp_path: Path) -> None:
    clean = make(SHORT, tmp_path, None)
    noisy = make(SHORT, tmp_path, None, degrade=frozenset({"noise", "labels", "closure"}))
    assert noisy.db != clean.db and noisy.truth == clean.truth, "the truth stays what it was"
    clear, worse = (open_library(made.db, MemoryConfig(), None, read_only=True) for made in (clean, noisy))
    with clear as a, worse as b:
        right = {(e.label, tuple(e.box.pose.position)) for e in a.placed()}
        assert right.isdisjoint((e.label, tuple(e.box.pose.position)) for e in b.placed())
        sofa, moved = (next(e.box.pose.position for e in x.placed() if e.label == "sofa") for x in (a, b))
        assert math.dist(sofa, moved) < 0.3, "the loop closure brings all back"


def test_questions_are_asked_in_other_words(tmp_path: Path) -> None:
    load_commands()
    truth = Truth(make(SHORT, tmp_path, None).truth)
    file = tmp_path / "words.yaml"
    file.write_text("locate_now:\n- Pray tell where the {x} be?\n")
    asked = questions(truth, "t", 0, worded=read_wordings(file))
    assert asked and all(case.text.startswith("Pray tell where the ") for case in asked)
    for wrong in ("nonsense:\n- Where?\n", "locate_now: []\n", "locate_now:\n- Where is {q}?\n", "- x\n", "a: [\n"):
        file.write_text(wrong)
        with pytest.raises(InvalidArgument):
            read_wordings(file)
