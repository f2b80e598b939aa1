"""Predict, log, then learn: what the recorder promises, over the store that it really uses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import ExperienceError, SchemaError, StoreError
from r4_ros.core.model import (
    FOREVER,
    Answer,
    AnswerValue,
    Box,
    EntryState,
    Evidence,
    Feedback,
    FeedbackRecord,
    Motion,
    Pose,
    Question,
    TaskRecord,
    TraceStep,
    Verdict,
    Visibility,
)
from r4_ros.core.ports import TaskLog, TaskStore
from r4_ros.experience.recorder import Recorder
from r4_ros.memory.sql_experience import SqlTaskStore
from r4_ros.memory.sqlite_experience import SqliteTaskStore
from r4_ros.memory.sqlite_file import open_sqlite

ROOT = Path(__file__).resolve().parents[3]
QUESTION = Question(
    "Wo ist die Tasse? 杯", 5, "robot", Pose((1.0, 2.0, 0.0)), "Europe/Berlin", ("robot", "other"), 3.5, 4
)
TRACE = (TraceStep(1, "plan", "locate cup"), TraceStep(1, "retrieve", "cup", 2, 0.25))


class Ticking:
    """A clock that moves by one nanosecond a look."""

    def __init__(self) -> None:
        self.now = 1000

    def now_ns(self) -> int:
        self.now += 1
        return self.now


def evidence(entry_id: str) -> Evidence:
    return Evidence(
        entry_id=entry_id,
        agent_id="robot",
        label="cup that nobody else knows of",
        box=Box(Pose((7.25, 8.5, 9.75)), (0.1, 0.1, 0.1)),
        frame="map",
        map_id="home",
        first_seen=1,
        last_seen=2,
        present=None,
        sightings=(),
        visibility=Visibility.VISIBLE,
        state=EntryState.PRESENT,
        motion=Motion.STATIC,
        count=1,
        confidence=1.0,
        score=1.0,
    )


def answer(
    task_id: str = "task-1", value: AnswerValue = (1.0, 2.0, 3.0), verdict: Verdict = Verdict.ANSWERED
) -> Answer:
    return Answer(
        "Where is the cup?", "It is there.", "locate", verdict, value, 0.75, (evidence("e1"), evidence("e2")), TRACE,
        task_id, "map",
    )  # fmt: skip


@pytest.fixture
def recorder(tasks: SqlTaskStore) -> Recorder:
    return Recorder(tasks, Ticking(), "robot")


def test_the_ports_are_met(tasks: SqlTaskStore, recorder: Recorder) -> None:
    log: TaskLog = recorder
    keeps: TaskStore = tasks
    log.record_task(QUESTION, answer(), 42)
    assert keeps.task("task-1") == TaskRecord(
        task_id="task-1",
        agent_id="robot",
        stamp_ns=42,
        question=QUESTION,
        form="locate",
        verdict=Verdict.ANSWERED,
        text="It is there.",
        value=(1.0, 2.0, 3.0),
        value_frame="map",
        confidence=0.75,
        evidence_ids=("e1", "e2"),
        trace=TRACE,
    )


def test_a_task_is_there_when_recording_returns_also_for_another_process(recorder: Recorder, path: Path) -> None:
    recorder.record_task(QUESTION, answer(), 42)
    other = SqliteTaskStore(path, read_only=True)
    assert [t.task_id for t in other.tasks()] == ["task-1"]
    other.close()


def test_nothing_of_the_memory_but_ids_is_kept(recorder: Recorder, tasks: SqlTaskStore, path: Path) -> None:
    recorder.record_task(QUESTION, answer(), 42)
    tasks.close()
    content = path.read_bytes()
    assert b"Wo ist die Tasse" in content
    assert b"nobody else knows" not in content
    assert b"7.25" not in content


def test_the_same_task_again_changes_nothing_and_another_one_with_its_id_is_refused(
    recorder: Recorder, tasks: SqlTaskStore
) -> None:
    recorder.record_task(QUESTION, answer(), 42)
    recorder.record_task(QUESTION, answer(), 99)
    with pytest.raises(ExperienceError, match="another content"):
        recorder.record_task(QUESTION, answer(value=(9.0, 9.0, 9.0)), 42)
    assert len(tasks.tasks()) == 1
    recorded = tasks.task("task-1")
    assert recorded is not None
    assert (recorded.value, recorded.stamp_ns) == ((1.0, 2.0, 3.0), 42)


def test_an_answer_that_names_no_task_is_refused(recorder: Recorder, tasks: SqlTaskStore) -> None:
    with pytest.raises(ExperienceError, match="task_id"):
        recorder.record_task(QUESTION, answer(task_id=""), 42)
    assert tasks.tasks() == ()


def test_feedback_before_its_task_is_refused_and_leaves_nothing(recorder: Recorder, tasks: SqlTaskStore) -> None:
    with pytest.raises(ExperienceError, match="task-1"):
        recorder.record_feedback("task-1", Feedback.RIGHT)
    with pytest.raises(ExperienceError, match="task-1"):
        recorder.outcome("task-1")
    recorder.record_task(QUESTION, answer(), 42)
    assert recorder.outcome("task-1") is None
    assert tasks.feedback("task-1") == ()


def test_feedback_twice_is_kept_twice_and_counted_once(recorder: Recorder, tasks: SqlTaskStore) -> None:
    recorder.record_task(QUESTION, answer("a"), 1)
    recorder.record_task(QUESTION, answer("b"), 2)
    recorder.record_task(QUESTION, answer("c"), 3)
    recorder.record_feedback("a", Feedback.WRONG, "on the shelf", "operator")
    recorder.record_feedback("a", Feedback.WRONG, "on the shelf", "operator")
    recorder.record_feedback("b", Feedback.RIGHT, source="judge")
    recorder.record_feedback("b", Feedback.PARTLY, source="operator")
    assert recorder.tally() == {None: 1, Feedback.WRONG: 1, Feedback.PARTLY: 1}
    assert (recorder.outcome("a"), recorder.outcome("b"), recorder.outcome("c")) == (
        Feedback.WRONG,
        Feedback.PARTLY,
        None,
    )
    assert tasks.feedback("a") == (
        FeedbackRecord("a", Feedback.WRONG, 1001, "on the shelf", "operator"),
        FeedbackRecord("a", Feedback.WRONG, 1002, "on the shelf", "operator"),
    )


def test_the_latest_tasks_come_first_up_to_the_limit(recorder: Recorder, tasks: SqlTaskStore) -> None:
    for k in range(5):
        recorder.record_task(QUESTION, answer(f"task-{k}"), 100 - k)
    assert [t.task_id for t in tasks.tasks(limit=2)] == ["task-4", "task-3"]


finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**62), 2**62),
    finite,
    st.text(max_size=20),
    st.tuples(finite, finite, finite),
    st.lists(st.text(max_size=9), max_size=4).map(tuple),
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    value=values, text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30), verdict=st.sampled_from(Verdict)
)
def test_any_answer_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, value: AnswerValue, text: str, verdict: Verdict
) -> None:
    tasks = SqliteTaskStore(tmp_path_factory.mktemp("experience") / "e.db")
    question = replace(QUESTION, text=text, viewpoint=None, now_ns=FOREVER, agents=())
    Recorder(tasks, Ticking()).record_task(question, answer(value=value, verdict=verdict), 7)
    back = tasks.task("task-1")
    tasks.close()
    assert back is not None
    assert (back.question, back.verdict, back.agent_id) == (question, verdict, "robot")
    assert back.value == value
    assert type(back.value) is type(value)


def test_a_memory_file_is_not_taken_for_an_experience_file(path: Path) -> None:
    open_sqlite(path, 0x1234, (("CREATE TABLE t(x)",),)).close()
    with pytest.raises(SchemaError, match="another program"):
        SqliteTaskStore(path)


def test_a_damaged_row_is_named(tasks: SqlTaskStore, recorder: Recorder, path: Path) -> None:
    recorder.record_task(QUESTION, answer(), 42)
    tasks.file.execute("UPDATE task SET trace = '[{\"nonsense\": 1}]'")
    with pytest.raises(StoreError, match=r"task-1.*damaged"):
        tasks.task("task-1")
    assert tasks.problems() == []


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from test_recorder_parts import QUESTION, Ticking, answer
from r4_ros.experience.recorder import Recorder
from r4_ros.memory.sqlite_experience import SqliteTaskStore
recorder = Recorder(SqliteTaskStore(sys.argv[1]), Ticking())
for k in range(100000):
    recorder.record_task(QUESTION, answer(f"task-{k}"), k)
    print(k, flush=True)
"""


@pytest.mark.parametrize("after", [1, 20])
def test_a_kill_between_record_and_feedback_loses_nothing(path: Path, tmp_path: Path, after: int) -> None:
    (tmp_path / "test_recorder_parts.py").write_bytes(Path(__file__).read_bytes())
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as writer:
        assert writer.stdout is not None
        for _ in range(after):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout if line.strip().isdigit())])
    tasks = SqliteTaskStore(path)
    recorder = Recorder(tasks, Ticking())
    for k in range(acknowledged + 1):
        recorder.record_feedback(f"task-{k}", Feedback.RIGHT)
    recorder.record_task(QUESTION, answer("task-0"), 0)
    assert tasks.problems() == []
    assert recorder.tally()[Feedback.RIGHT] == acknowledged + 1
    tasks.close()
