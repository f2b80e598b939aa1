"""The facade of the experience room: advice for a run, and learning from finished tasks in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from r4_ros.core.config import ExperienceConfig
from r4_ros.core.lessons import Advice, Lesson, Situation
from r4_ros.core.ports import LessonStore
from r4_ros.experience import bank
from r4_ros.experience.language import LanguageReflector
from r4_ros.experience.reflect import lesson_of
from r4_ros.experience.runs import report
from r4_ros.experience.select import focus_of, select

BATCH = 64


class Learner:
    """An ``Advisor`` whose lessons come from a store. A lesson helps only tasks that begin after it was learnt.

    ``life_cycle``: without it, every lesson stays as it is and counts alike; for comparison. ``reflector``: a language
    model that looks over each lesson.
    """

    def __init__(
        self,
        store: LessonStore,
        config: ExperienceConfig,
        life_cycle: bool = True,
        reflector: LanguageReflector | None = None,
    ) -> None:
        self._store, self._config, self._life_cycle, self._reflector = store, config, life_cycle, reflector
        self._shared: dict[str, Lesson] = {}
        self._refresh()

    def _refresh(self) -> None:
        self._bank, self._task_count = self._store.lessons(), self._store.task_count()

    @property
    def size(self) -> int:
        """How many lessons there are."""
        return len(self._bank)

    @property
    def lessons(self) -> Mapping[str, Lesson]:
        """All lessons by id."""
        return self._bank

    def select(self, situation: Situation) -> tuple[Lesson, ...]:
        """At most two lessons that fit, the better one first."""
        lessons, count = {**self._shared, **self._bank}, self._task_count
        if not self._life_cycle:
            return select(lessons.values(), situation, dict.fromkeys(lessons, 1.0), proven=False)
        worth = {i: bank.utility(k, count, self._config) for i, k in lessons.items()}
        return select(lessons.values(), situation, worth)

    def advise(self, situation: Situation) -> Advice:
        """What to try first in such a situation; an empty focus where nothing fits."""
        lessons = self.select(situation)
        return Advice(focus_of(lessons), tuple(lesson.lesson_id for lesson in lessons))

    def learn(self) -> int:
        """Learn from the tasks whose outcome was told since, at most a batch of 64; returns how many these were.

        On disk in one transaction or not at all; nothing is learnt twice. Raises StoreError.
        """
        due = self._store.due(BATCH)
        if not due:
            return 0
        self._refresh()  # others may have written since, on a server
        lessons, change, count = dict(self._bank), bank.Change(), self._task_count
        for task, feedback in due:
            run = report(task.trace)
            count += 1
            lesson = lesson_of(run, feedback, task.agent_id, count)
            if lesson is not None and self._reflector is not None:
                lesson = self._reflector.revised(lesson, run, feedback)
            if not self._life_cycle:
                if lesson is not None:
                    bank.keep(lessons, lesson, change)
                continue
            taught = "" if lesson is None else bank.add(lessons, lesson, self._config, change)
            bank.credit(lessons, run, feedback, count, self._config, change, but=taught)
        if self._life_cycle:
            bank.tidy(lessons, count, self._config, change)
        self._store.update([task.task_id for task, _ in due], change.written, change.dropped, change.audit)
        self._bank, self._task_count = lessons, count
        return len(due)

    def listen(self) -> int:
        """Take others' lessons as they are now, to be used beside its own; returns how many these are.

        They stay theirs: what comes of using one is not counted here, so that none is counted twice. Near ones are one,
        and as many are kept as of its own. Raises StoreError.
        """
        self._refresh()  # its own may have been taken over from a map server
        shared: dict[str, Lesson] = {}
        for _, lesson in self._store.others():
            here = replace(lesson, created=self._task_count, last_used=self._task_count)
            bank.add(shared, here, self._config, bank.Change())
        bank.tidy(shared, self._task_count, self._config, bank.Change())
        self._shared = shared
        return len(shared)

    def adopt(self, lessons: Iterable[Lesson]) -> int:
        """Take over lessons of another robot; those that are here already stay as they are. Returns how many are new.

        Lessons hold no facts, so any robot may use them. Raises StoreError.
        """
        self._refresh()
        known, change = dict(self._bank), bank.Change()
        fresh = [lesson for lesson in lessons if lesson.lesson_id not in known]
        for lesson in fresh:
            here = replace(lesson, created=self._task_count, last_used=self._task_count)
            bank.add(known, here, self._config, change)
        bank.tidy(known, self._task_count, self._config, change)
        self._store.update((), change.written, change.dropped, change.audit)
        self._bank = known
        return len(fresh)
