"""A stream of tasks answered in one mode: each batch is on disk before anything is said of its outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.config import ExperienceConfig, MemoryConfig, ReasonerConfig
from r4_ros.core.model import Feedback, Query, Question, Retrieval
from r4_ros.core.ports import Advisor, Embedder, Memory
from r4_ros.evaluation.experience.days import Day
from r4_ros.evaluation.experience.modes import MODES, Mode, advisor_of, told
from r4_ros.evaluation.experience.tasks import Task, right
from r4_ros.experience.learner import Learner
from r4_ros.experience.recorder import Recorder
from r4_ros.memory.library import open_library
from r4_ros.memory.sql_lessons import SqlLessonStore, lesson_to_dict
from r4_ros.memory.sqlite_experience import SqliteTaskStore
from r4_ros.reasoner.answer import Reasoner, answer_to_dict
from r4_ros.reasoner.planner import Planned, RulesPlanner

BATCH = 64


@dataclass(frozen=True)
class Outcome:
    """How one task went."""

    task: Task
    right: bool
    rounds: int
    queries: int
    tried: tuple[tuple[str, int], ...]
    lessons: bool
    text: str


@dataclass
class Ended:
    """A whole stream in one mode."""

    outcomes: list[Outcome] = field(default_factory=list)
    bank: int = 0
    lessons: list[dict[str, Any]] = field(default_factory=list)


class Remembered:
    """A memory that isn't written to: what it was asked before, it answers from a table."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: dict[Query, Retrieval] = {}

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        """As the memory; the deadline counts the first time only."""
        if query not in self._known:
            self._known[query] = self._memory.retrieve(query, deadline_s)
        return self._known[query]


class ReadOnce:
    """The rules planner; the same question is read once."""

    def __init__(self) -> None:
        self._planner = RulesPlanner()
        self._known: dict[str, Planned] = {}

    def plan(self, text: str, deadline_s: float) -> Planned:
        """The plan of a question."""
        if text not in self._known:
            self._known[text] = self._planner.plan(text, deadline_s)
        return self._known[text]


class Clock:
    """Counts; nothing here depends on the time of day."""

    def now_ns(self) -> int:
        """The same time always."""
        return 0


class Stream:
    """The tasks of one seed and the memories they are asked of; close it after use."""

    def __init__(self, days: Sequence[Day], tasks: Sequence[Task], embedder: Embedder | None) -> None:
        self.tasks = tuple(tasks)
        self._open = ExitStack()
        self._memories = {
            day.number: Remembered(
                self._open.enter_context(open_library(day.made.db, MemoryConfig(), embedder, read_only=True))
            )
            for day in days
        }
        self._planner = ReadOnce()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def run(self, name: str, seed: int, folder: Path, order: Sequence[str] = ()) -> Ended:
        """All tasks in a mode. order: of the relaxations, for 'static'. Predictions go into a file in ``folder``."""
        mode = MODES[name]
        config = ReasonerConfig(experience=mode.experience, relax_order=list(order) if mode.tuned else [])
        store = SqliteTaskStore(folder / f"{name}-{seed}.db")
        lessons = SqlLessonStore(store)
        learner = None if mode.life_cycle is None else Learner(lessons, ExperienceConfig(), mode.life_cycle)
        recorder = Recorder(store, Clock(), "robot1")
        rng = np.random.default_rng([seed, 52])
        ended = Ended()
        try:
            for start in range(0, len(self.tasks), BATCH):
                batch = self.tasks[start : start + BATCH]
                answered = [self._answered(t, config, recorder, advisor_of(mode, learner, seed + start)) for t in batch]
                ended.outcomes += [outcome for _, outcome in answered]
                if learner is not None:
                    _teach(mode, answered, recorder, learner, rng)
            ended.bank = learner.size if learner is not None else 0
            ended.lessons = [lesson_to_dict(k) for k in lessons.lessons().values()]
        finally:
            store.close()
        return ended

    def _answered(
        self, task: Task, config: ReasonerConfig, recorder: Recorder, advisor: Advisor | None
    ) -> tuple[str, Outcome]:
        """The final answer, recorded, and its mark."""
        reasoner = Reasoner(self._memories[task.day], config, recorder, advisor, self._planner)
        answer = answer_to_dict(reasoner.answer(Question(task.text, ego_agent="robot1")))
        return answer["task_id"], outcome_of(task, answer)

    def outcome(self, task: Task, order: Sequence[str], rounds: int) -> Outcome:
        """How a task goes with a fixed order of relaxations and so many rounds; nothing is recorded."""
        config = ReasonerConfig(experience="off", relax_order=list(order))
        reasoner = Reasoner(self._memories[task.day], config, planner=self._planner)
        question = Question(task.text, ego_agent="robot1", max_rounds=rounds)
        return outcome_of(task, answer_to_dict(reasoner.answer(question)))


def outcome_of(task: Task, answer: dict[str, Any]) -> Outcome:
    """A task's mark and effort, from its answer."""
    trace = answer["trace"]
    return Outcome(
        task,
        right(task, answer),
        max((step["round"] for step in trace), default=1),
        sum(step["action"] == "retrieve" for step in trace),
        tuple((step["detail"], step["found"]) for step in trace if step["action"] == "tried"),
        any(step["action"] == "experience" for step in trace),
        answer["answer"],
    )


def _teach(
    mode: Mode, answered: Sequence[tuple[str, Outcome]], recorder: Recorder, learner: Learner, rng: np.random.Generator
) -> None:
    """Only now is anything said of the batch."""
    said = told(mode, [outcome.right for _, outcome in answered], rng)
    for (task_id, _), good in zip(answered, said, strict=True):
        recorder.record_feedback(task_id, Feedback.RIGHT if good else Feedback.WRONG, source="simulator")
    while learner.learn():
        pass
