"""Three layers kept apart: learning writes nothing into the memory, and nothing of the memory gets into lessons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core import model as m
from r4_ros.core.config import ExperienceConfig, MemoryConfig, ReasonerConfig
from r4_ros.experience.learner import Learner
from r4_ros.experience.recorder import Recorder
from r4_ros.memory.library import open_library
from r4_ros.memory.migrations import APPLICATION_ID, MIGRATIONS
from r4_ros.memory.sql_lessons import SqlLessonStore
from r4_ros.memory.sqlite_experience import SqliteTaskStore
from r4_ros.memory.sqlite_file import open_sqlite
from r4_ros.reasoner.answer import Reasoner

OLD = 1_700_000_000 * m.NS_PER_S
THINGS = (("cup", 0.0, "red"), ("book", 0.7, "red"), ("book", -0.7, "green"), ("teapot", 0.3, "blue"))
QUESTIONS = (
    "Where is the green cup?",
    "Where is the blue book?",
    "Is there a yellow teapot on the book?",
    "Where was the green cup on the book 2 seconds ago?",
)
REFLECTIVE, LOGGED = {"lesson", "lesson_change", "copied"}, {"task", "feedback", "learnt"}


class Clock:
    """Counts."""

    def now_ns(self) -> int:
        return 7


def frame(sequence: int) -> m.Frame:
    observations = tuple(
        m.Observation(i, label, m.Box(m.Pose((x, 0.2, 2.0)), (0.1, 0.1, 0.1)), attributes=(("color", color),))
        for i, (label, x, color) in enumerate(THINGS)
    )
    view = m.View(1.0, 0.8, 0.1, 5.0, np.full((4, 4), 4.0, np.float32))
    pose = m.Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))
    stamp = OLD + sequence * m.NS_PER_S
    return m.Frame(
        "robot", "camera", "w", sequence, 0, stamp, "home", "map", "optical", pose, view, observations=observations
    )  # fmt: skip


def content(file: Any) -> dict[str, Sequence[Any]]:
    """All rows of all tables."""
    names = [row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: sorted(map(repr, file.execute(f"SELECT * FROM {name}"))) for name in names}


def remembered(path: Path) -> dict[str, Sequence[Any]]:
    file = open_sqlite(path, APPLICATION_ID, MIGRATIONS, read_only=True)
    found = content(file)
    file.close()
    return found


def test_learning_leaves_the_memory_as_it_was_and_lessons_know_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_library(path, MemoryConfig()) as library:
        for sequence in range(1, 6):
            library.ingest(frame(sequence))
    before = remembered(path)
    tasks = SqliteTaskStore(tmp_path / "experience.db")
    learner = Learner(SqlLessonStore(tasks), ExperienceConfig())
    recorder = Recorder(tasks, Clock(), "robot")
    with open_library(path, MemoryConfig()) as library:
        reasoner = Reasoner(library, ReasonerConfig(), recorder, learner)
        for number in range(12):
            answer = reasoner.answer(m.Question(QUESTIONS[number % 4], ego_agent="robot"))
            feedback = m.Feedback.RIGHT if number % 3 else m.Feedback.WRONG
            recorder.record_feedback(answer.task_id, feedback, "the red one in the den", "operator")
            learner.learn()
    assert learner.size > 0 and remembered(path) == before
    written = content(tasks.file)
    assert {name for name in written if not name.startswith("sqlite_")} == REFLECTIVE | LOGGED
    assert not set(written) & {name for name in before if not name.startswith("sqlite_")}
    told = " ".join(row for name in REFLECTIVE for row in written[name]).casefold()
    named = {word for label, _, color in THINGS for word in (label, color)} | {"yellow", "den", "operator", "seconds"}
    assert not [word for word in named if word in told], told
    entries = [row.split("'")[1] for row in before.get("entry", ()) if "'" in row]
    assert not [entry for entry in entries if entry in told]
    tasks.close()
