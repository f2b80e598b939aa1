"""The facade of the experience room: advice for a run, and learning from finished tasks in batches."""

from __future__ import annotations

from r4_ros.core.config import ExperienceConfig
from r4_ros.core.lessons import Advice, Situation
from r4_ros.core.ports import LessonStore
from r4_ros.experience import bank
from r4_ros.experience.reflect import lesson_of
from r4_ros.experience.runs import report
from r4_ros.experience.select import focus_of, select

BATCH = 64


class Learner:
    """An ``Advisor`` whose lessons come from a store. A lesson helps only tasks that begin after it was learnt."""

    def __init__(self, store: LessonStore, config: ExperienceConfig) -> None:
        self._store, self._config = store, config
        self._bank = store.lessons()
        self._task_count = store.task_count()

    @property
    def size(self) -> int:
        """How many lessons there are."""
        return len(self._bank)

    def advise(self, situation: Situation) -> Advice:
        """What to try first in such a situation; an empty focus where nothing fits."""
        worth = {i: bank.utility(k, self._task_count, self._config) for i, k in self._bank.items()}
        lessons = select(self._bank.values(), situation, worth)
        return Advice(focus_of(lessons), tuple(lesson.lesson_id for lesson in lessons))

    def learn(self) -> int:
        """Learn from the tasks whose outcome was told since, at most a batch of 64; returns how many these were.

        On disk in one transaction or not at all; nothing is learnt twice. Raises StoreError.
        """
        due = self._store.due(BATCH)
        if not due:
            return 0
        lessons, change, count = dict(self._bank), bank.Change(), self._task_count
        for task, feedback in due:
            run = report(task.trace)
            count += 1
            bank.credit(lessons, run.lessons, feedback, count, change)
            lesson = lesson_of(run, feedback, task.agent_id, count)
            if lesson is not None:
                bank.add(lessons, lesson, self._config, change)
        bank.tidy(lessons, count, self._config, change)
        self._store.update([task.task_id for task, _ in due], change.written, change.dropped, change.audit)
        self._bank, self._task_count = lessons, count
        return len(due)
