"""What became of answers: held against labels, against what a robot found, and said in batches, days later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_double import chat_double, fails, says
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from r4_ros.adapters import chat_server
from r4_ros.cli.main import app, load_commands
from r4_ros.core.model import (
    Box,
    EntryState,
    Evidence,
    Feedback,
    FeedbackRecord,
    Motion,
    Pose,
    Question,
    TaskRecord,
    Verdict,
    Visibility,
)
from r4_ros.experience.outcome import NAMES, of_label, of_visit
from r4_ros.memory.sqlite_experience import SqliteTaskStore

RIGHT, PARTLY, WRONG = Feedback.RIGHT, Feedback.PARTLY, Feedback.WRONG


def task(
    value: Any = None, verdict: Verdict = Verdict.ANSWERED, evidence: tuple[str, ...] = (), name: str = "t"
) -> Any:
    return TaskRecord(
        name, "robot", 1, Question("Where is the mug?"), "locate", verdict, "In the den.", value, evidence_ids=evidence
    )


@pytest.mark.parametrize(
    ("given", "expected", "found"),
    [
        (task(True), True, RIGHT),
        (task(False), True, WRONG),
        (task(1), True, WRONG),
        (task(3), 3, RIGHT),
        (task(3), 4, WRONG),
        (task(2.1), 2.0, RIGHT),
        (task(3.1), 2.0, WRONG),
        (task("Red"), "red", RIGHT),
        (task(("red", "blue")), ["blue", "red"], RIGHT),
        (task(("red", "blue")), "red", PARTLY),
        (task("red"), "blue", WRONG),
        (task((1.0, 2.0, 0.5)), [1.2, 2.2, 0.5], RIGHT),
        (task((1.0, 2.0, 0.5)), [1.2, 3.2, 0.5], WRONG),
        (task(verdict=Verdict.NOT_SEEN), None, RIGHT),
        (task(verdict=Verdict.NOT_SEEN, evidence=("e",)), None, WRONG),
        (task(False), None, RIGHT),
        (task((1.0, 2.0, 0.5), evidence=("e",)), None, WRONG),
        (task(verdict=Verdict.NOT_SEEN), [1.0, 2.0, 0.5], WRONG),
        (task(verdict=Verdict.NOT_SEEN, evidence=("e",)), [1.0, 2.0, 0.5], None),
        (task((1.0, 2.0, 0.5)), "on the shelf", None),
        (task(verdict=Verdict.TIMEOUT), 3, WRONG),
    ],
)
def test_an_answer_is_held_against_what_was_expected(given: TaskRecord, expected: Any, found: Feedback | None) -> None:
    assert of_label(given, expected) is found


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(anything, anything, st.sampled_from(Verdict))
def test_no_label_can_crash_the_judge(value: Any, expected: Any, verdict: Verdict) -> None:
    told = tuple(value) if isinstance(value, list) else value
    assert of_label(task(told, verdict), expected) in (None, *Feedback)


def seen(x: float, last_seen: int, state: EntryState = EntryState.PRESENT, entry_id: str = "mug") -> Evidence:
    return Evidence(
        entry_id, "robot", "mug", Box(Pose((x, 0.0, 0.8)), (0.1, 0.1, 0.1)), "map", "home", 1, last_seen, None, (),
        Visibility.VISIBLE, state, Motion.STATIC, 1, 1.0, 1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("again", "found"),
    [
        ([seen(1.1, 20)], RIGHT),
        ([seen(1.1, 20, entry_id="other")], RIGHT),  # a mug is there, whether it's the same
        ([seen(3.0, 20)], WRONG),
        ([seen(3.0, 20, entry_id="other")], None),  # another one elsewhere says nothing of this place
        ([seen(1.0, 10)], None),  # not seen since
        ([seen(1.0, 10, EntryState.GONE)], WRONG),
        ([replace(seen(1.0, 20), map_id="upstairs")], None),
        ([], None),
    ],
)
def test_what_a_robot_finds_at_the_place(again: list[Evidence], found: Feedback | None) -> None:
    assert of_visit(seen(1.0, 10), again) is found


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "experience.db"
    store = SqliteTaskStore(path)
    for n in range(5):
        store.add_task(task((1.0, 2.0, 0.5), name=f"task-{n}"))
    store.close()
    load_commands()
    yield path


def run(db: Path, *words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["db", "outcomes", *words, "--db", str(db)])
    assert result.exit_code == code, result.output
    return result.output if code == 0 else f"{result.output}{result.exception}"


def said(db: Path) -> dict[str, tuple[FeedbackRecord, ...]]:
    store = SqliteTaskStore(db, read_only=True)
    found = {t.task_id: store.feedback(t.task_id) for t in store.tasks()}
    store.close()
    return found


def test_labels_come_later_in_batches_and_count_once(db: Path, tmp_path: Path) -> None:
    listed = [json.loads(line) for line in run(db).splitlines()]
    assert [row["task_id"] for row in listed] == [f"task-{n}" for n in reversed(range(5))]
    assert {row["question"] for row in listed} == {"Where is the mug?"}
    rows = [
        {**listed[0], "feedback": "wrong", "correction": "on the shelf", "source": "operator"},
        {**listed[1], "expected": [1.1, 2.0, 0.5]},
        {**listed[2], "expected": None},
        {**listed[3], "expected": "on the shelf"},
        {"task_id": "of another robot", "feedback": "right"},
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    told = json.loads(run(db, str(labels), "--json"))
    assert told == {"right": 1, "partly": 0, "wrong": 2, "said before": 0, "undecided": 1, "unknown": 1}
    records = said(db)
    assert [(f.feedback, f.correction, f.source) for f in records["task-4"]] == [(WRONG, "on the shelf", "operator")]
    assert [(f.feedback, f.source) for f in records["task-3"]] == [(RIGHT, "judge")]
    assert json.loads(run(db, str(labels), "--json"))["said before"] == 3
    assert said(db) == records
    assert [json.loads(line)["task_id"] for line in run(db).splitlines()] == ["task-1", "task-0"]


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "[]",
        '{"feedback": "right"}',
        '{"task_id": "task-0"}',
        '{"task_id": "task-0", "feedback": "good"}',
        '{"task_id": "task-0", "feedback": ["right"]}',
        '{"task_id": "task-0", "feedback": "right", "expected": 3}',
        '{"task_id": "task-0", "feedback": "right", "sauce": "x"}',
        '{"task_id": "task-0", "feedback": "right", "source": 3}',
    ],
)
def test_a_line_that_is_no_label_is_named_and_nothing_is_stored(db: Path, tmp_path: Path, line: str) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"task_id": "task-1", "feedback": "right"}\n' + line, encoding="utf-8")
    assert "line 2" in run(db, str(labels), code=1)
    assert not any(said(db).values())


def test_a_file_that_is_not_there_is_named(db: Path, tmp_path: Path) -> None:
    assert "nothing.jsonl" in run(db, str(tmp_path / "nothing.jsonl"), code=1)
    assert "isn't there" in run(tmp_path / "none.db", code=1)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (says('{"answer_is": "partly"}'), PARTLY),
        (says('{"answer_is": "fine"}'), None),
        (says("[]"), None),
        (says("right"), None),
        (fails(500), None),
    ],
)
def test_a_model_judges_what_the_rules_cannot(
    db: Path, tmp_path: Path, reply: Any, found: Feedback | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_server, "WAIT_S", (0.01, 0.01))
    labels = tmp_path / "labels.jsonl"
    rows = [{"task_id": "task-0", "expected": "on the shelf"}, {"task_id": "task-1", "expected": [1, 2, 0.5]}]
    labels.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    with chat_double(reply) as server:
        told = json.loads(run(db, str(labels), "--judge-model", "tiny", "--lm-url", server.url, "--json"))
        assert "on the shelf" in json.dumps(server.requests[0]["messages"])
    assert told["right"] == 1, "the rules can tell that"
    assert [f.feedback for f in said(db)["task-0"]] == ([] if found is None else [found])


def test_questions_go_to_another_host_only_where_that_is_allowed(db: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text("", encoding="utf-8")
    away = run(db, str(labels), "--judge-model", "tiny", "--lm-url", "http://192.0.2.1:9/v1", code=1)
    assert "allow" in away


def test_the_words_for_feedback_are_the_services() -> None:
    assert NAMES == {"right": RIGHT, "partly": PARTLY, "wrong": WRONG}
