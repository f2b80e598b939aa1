"""Lessons in the database of the tasks that taught them, in tables of their own: each update is one transaction.

Each lesson belongs to the agent that learnt it; all agents of a database read all of them. In a robot's own file its
own have no owner's name, and others' are what a map server told (``lesson_link``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.core.lessons import FailureMode, Focus, Key, Lesson, Polarity, Relax, Situation
from r4_ros.core.model import Feedback, TaskRecord
from r4_ros.memory.sql import Row
from r4_ros.memory.sql_experience import SqlTaskStore

_LESSON = """lesson_id, polarity, situation, evidence_need, failure_mode, prefer, avoid, support, uses, helped, hurt,
    created, last_used, agents, note"""

_COLUMNS = tuple(name.strip() for name in _LESSON.split(","))
_KEEP = (
    f"INSERT INTO lesson(owner, {_LESSON}) VALUES ({', '.join('?' * (len(_COLUMNS) + 1))}) "
    f"ON CONFLICT(owner, lesson_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
)
_DROP = "DELETE FROM lesson WHERE owner = ? AND lesson_id = ?"
_NAMES = tuple(name.strip() for name in _LESSON.replace("situation", "when_to_use").split(","))

_COUNTERS = ("support", "uses", "helped", "hurt", "created", "last_used")


class SqlLessonStore:
    """The ``LessonStore`` of the experience room, over an open task store. Raises StoreError."""

    def __init__(self, tasks: SqlTaskStore) -> None:
        self._tasks, self._file, self._owner = tasks, tasks.file, tasks.owner

    def lessons(self) -> dict[str, Lesson]:
        """The owner's lessons by id, in the order of their ids."""
        rows = self._file.execute(f"SELECT {_LESSON} FROM lesson WHERE owner = ? ORDER BY lesson_id", (self._owner,))
        return {row[0]: _lesson_of(row) for row in rows}

    def sound(self) -> dict[str, Lesson]:
        """The owner's lessons by id, without rows that are none of ours: where somebody else wrote them."""
        rows = self._file.execute(f"SELECT {_LESSON} FROM lesson WHERE owner = ? ORDER BY lesson_id", (self._owner,))
        return {row[0]: lesson for row in rows if (lesson := _sound(row)) is not None}

    def replace(self, lessons: Mapping[str, Lesson]) -> bool:
        """Make the owner's lessons these, whatever there was before; False: so they were. All or nothing."""
        rows = self._file.execute(f"SELECT {_LESSON} FROM lesson WHERE owner = ?", (self._owner,))
        before, after = {row[0]: row for row in rows}, {i: _row(lesson) for i, lesson in lessons.items()}
        gone = sorted(before.keys() - after.keys())
        written = [row for i, row in after.items() if before.get(i) != row]
        if not gone and not written:
            return False
        with self._file.transaction():
            self._file.execute_many(_DROP, [(self._owner, lesson_id) for lesson_id in gone])
            self._file.execute_many(_KEEP, [(self._owner, *row) for row in written])
        return True

    def others(self) -> tuple[tuple[str, Lesson], ...]:
        """What other agents learnt, each lesson with whose it is; rows that are none of ours are left out."""
        rows = self._file.execute(
            f"SELECT owner, {_LESSON} FROM lesson WHERE owner <> ? ORDER BY owner, lesson_id", (self._owner,)
        )
        return tuple((row[0], lesson) for row in rows if (lesson := _sound(row[1:])) is not None)

    def task_count(self) -> int:
        """How many tasks were learnt from."""
        rows = self._file.execute(
            "SELECT count(*) FROM learnt JOIN task USING(task_no) WHERE owner = ?", (self._owner,)
        )
        return int(rows[0][0])

    def due(self, limit: int) -> tuple[tuple[TaskRecord, Feedback], ...]:
        """Tasks that have feedback and weren't learnt from, oldest first, each with what was said last."""
        rows = self._file.execute(
            """SELECT task_id, (SELECT feedback FROM feedback f WHERE f.task_no = t.task_no
                ORDER BY feedback_no DESC LIMIT 1)
            FROM task t WHERE owner = ? AND EXISTS(SELECT 1 FROM feedback f WHERE f.task_no = t.task_no)
                AND task_no NOT IN (SELECT task_no FROM learnt)
            ORDER BY task_no LIMIT ?""",
            (self._owner, limit),
        )
        found = ((self._tasks.task(task_id), Feedback(latest)) for task_id, latest in rows)
        return tuple((task, said) for task, said in found if task is not None)

    def update(
        self,
        task_ids: Sequence[str],
        written: Mapping[str, Lesson],
        dropped: Sequence[str],
        audit: Sequence[tuple[str, str, str]],
    ) -> None:
        """One update, all or nothing: these tasks were learnt from, and this is what came of it.

        Raises StoreError also where a task was learnt from before: it never counts twice.
        """
        owner = self._owner
        with self._file.transaction():
            for task_id in task_ids:
                self._file.execute(
                    "INSERT INTO learnt SELECT task_no FROM task WHERE owner = ? AND task_id = ?", (owner, task_id)
                )
            self._file.execute_many(_DROP, [(owner, lesson_id) for lesson_id in dropped])
            self._file.execute_many(_KEEP, [(owner, *_row(lesson)) for lesson in written.values()])
            self._file.execute_many(
                "INSERT INTO lesson_change(owner, lesson_id, what, why) VALUES (?, ?, ?, ?)",
                [(owner, *change) for change in audit],
            )

    def audit(self, limit: int = 100) -> tuple[tuple[str, str, str], ...]:
        """What became of lessons, latest first: lesson id, what, why."""
        rows = self._file.execute(
            "SELECT lesson_id, what, why FROM lesson_change WHERE owner = ? ORDER BY change_no DESC LIMIT ?",
            (self._owner, limit),
        )
        return tuple((row[0], row[1], row[2]) for row in rows)


def lesson_to_dict(lesson: Lesson) -> dict[str, object]:
    """A lesson as JSON-ready values."""
    return {
        "lesson_id": lesson.lesson_id,
        "polarity": lesson.polarity.value,
        "when_to_use": str(lesson.when_to_use),
        "evidence_need": lesson.evidence_need.value,
        "failure_mode": lesson.failure_mode.value,
        "prefer": [r.value for r in lesson.correction.prefer],
        "avoid": [r.value for r in lesson.correction.avoid],
        "support": lesson.support,
        "uses": lesson.uses,
        "helped": lesson.helped,
        "hurt": lesson.hurt,
        "created": lesson.created,
        "last_used": lesson.last_used,
        "agents": list(lesson.agents),
        "note": lesson.correction.note,
    }


def _row(lesson: Lesson) -> Row:
    return tuple(json.dumps(v) if isinstance(v, list) else v for v in lesson_to_dict(lesson).values())


def lesson_from_dict(fields: Mapping[str, Any]) -> Lesson:
    """A lesson from what ``lesson_to_dict`` made of it. Raises InvalidArgument for anything else."""
    try:
        given = {"note": "", **fields}
        row = tuple(json.dumps(given[k]) if isinstance(given[k], list) else given[k] for k in _NAMES)
        return _checked(row)
    except (KeyError, TypeError, ValueError, StoreError) as error:
        raise InvalidArgument(f"that is no lesson of ours: {error}") from None


def _checked(row: Row) -> Lesson:
    fields = dict(zip(_NAMES, row, strict=True))
    if not re.fullmatch("[0-9a-f]{16}", fields["lesson_id"]):
        raise ValueError("its lesson_id isn't one")
    if not all(math.isfinite(fields[k]) and fields[k] >= 0 for k in _COUNTERS):
        raise ValueError("its counters can't be")
    return _lesson_of(row)


def _sound(row: Row) -> Lesson | None:
    try:
        return _checked(row)
    except (ValueError, StoreError):
        return None


def _lesson_of(row: Row) -> Lesson:
    lesson_id, polarity, situation, need, mode, prefer, avoid, *counters, agents, note = row
    support, uses, helped, hurt, created, used = counters
    try:
        focus = Focus(tuple(Relax(r) for r in json.loads(prefer)), tuple(Relax(r) for r in json.loads(avoid)), note)
        return Lesson(
            lesson_id,
            Polarity(polarity),
            Situation.parse(situation),
            Key(need),
            FailureMode(mode),
            focus,
            support,
            uses,
            helped,
            hurt,
            created,
            last_used=used,
            agents=tuple(json.loads(agents)),
        )
    except (ValueError, TypeError, InvalidArgument) as error:
        raise StoreError(f"lesson '{lesson_id}' can't be read, its row is damaged: {error}") from error
