"""The ``TaskStore`` of the experience room in a SQL database: tasks and feedback, nothing that the memory knows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from r4_ros.core.errors import ExperienceError, StoreError
from r4_ros.core.model import (
    AnswerValue,
    Feedback,
    FeedbackRecord,
    Pose,
    Question,
    TaskRecord,
    TraceStep,
    Verdict,
)
from r4_ros.memory.codec import dump
from r4_ros.memory.sql import Database, Row

_TASK = """task_id, agent_id, stamp_ns, question, form, verdict, answer, value, value_frame, confidence,
    evidence_ids, trace"""
_SELECT = f"SELECT {_TASK} FROM task WHERE owner = ?"


class SqlTaskStore:
    """Tasks and what was said about them, durable on return also across power loss (tasks are rare).

    ``owner``: the agent whose they are, where a database is shared; empty in a robot's own file. Raises StoreError and
    SchemaError where the database can't be used, ExperienceError where a record is refused.
    """

    def __init__(self, file: Database, owner: str = "") -> None:
        self.file, self.owner = file, owner

    def add_task(self, record: TaskRecord) -> bool:
        """Store a task; False where it was there already, whenever it came. The first stamp is kept.

        Raises ExperienceError where its id is another task's.
        """
        row = _task_row(record)
        with self.file.transaction():
            known = self.file.execute(f"{_SELECT} AND task_id = ?", (self.owner, record.task_id))
            if not known:
                marks = ", ".join("?" * (len(row) + 1))
                self.file.execute(f"INSERT INTO task(owner, {_TASK}) VALUES ({marks})", (self.owner, *row))
                return True
        if _without_stamp(known[0]) != _without_stamp(row):
            raise ExperienceError(f"task '{record.task_id}' is recorded with another content: task ids must be unique")
        return False

    def add_feedback(self, record: FeedbackRecord) -> None:
        """Append to the feedback of a task. Raises ExperienceError where the task isn't recorded."""
        with self.file.transaction():
            known = self.file.execute(
                "SELECT task_no FROM task WHERE owner = ? AND task_id = ?", (self.owner, record.task_id)
            )
            if not known:
                raise ExperienceError(f"no task '{record.task_id}' was recorded here: nothing to give feedback on")
            self.file.execute(
                "INSERT INTO feedback(task_no, feedback, stamp_ns, correction, source) VALUES (?, ?, ?, ?, ?)",
                (known[0][0], int(record.feedback), record.stamp_ns, record.correction, record.source),
            )

    def task(self, task_id: str) -> TaskRecord | None:
        """The record of a task; None: unknown."""
        rows = self.file.execute(f"{_SELECT} AND task_id = ?", (self.owner, task_id))
        return _task_of(rows[0]) if rows else None

    def feedback(self, task_id: str) -> tuple[FeedbackRecord, ...]:
        """All that was said about a task, in the order in which it came."""
        rows = self.file.execute(
            """SELECT feedback, f.stamp_ns, correction, source FROM feedback f JOIN task USING(task_no)
            WHERE owner = ? AND task_id = ? ORDER BY feedback_no""",
            (self.owner, task_id),
        )
        return tuple(FeedbackRecord(task_id, Feedback(row[0]), *row[1:]) for row in rows)

    def tasks(self, limit: int = 100) -> tuple[TaskRecord, ...]:
        """The tasks recorded last, latest first."""
        rows = self.file.execute(f"{_SELECT} ORDER BY task_no DESC LIMIT ?", (self.owner, limit))
        return tuple(_task_of(row) for row in rows)

    def tally(self) -> dict[Feedback | None, int]:
        """How many tasks have which latest feedback; None: nothing was said yet."""
        rows = self.file.execute(
            """SELECT latest, count(*) FROM (SELECT (SELECT feedback FROM feedback f WHERE f.task_no = t.task_no
                ORDER BY feedback_no DESC LIMIT 1) AS latest FROM task t WHERE owner = ?) AS told
            GROUP BY latest ORDER BY latest NULLS FIRST""",
            (self.owner,),
        )
        return {None if value is None else Feedback(value): count for value, count in rows}

    def problems(self) -> list[str]:
        """What an integrity check finds; empty: sound."""
        return self.file.problems()

    def close(self) -> None:
        """Release it."""
        self.file.close()


def _task_row(record: TaskRecord) -> Row:
    return (
        record.task_id,
        record.agent_id,
        record.stamp_ns,
        dump(asdict(record.question)),
        record.form,
        record.verdict.value,
        record.text,
        dump(record.value),
        record.value_frame,
        record.confidence,
        dump(record.evidence_ids),
        dump([asdict(step) for step in record.trace]),
    )


def _without_stamp(row: Row) -> Row:
    return (*row[:2], *row[3:])


def _task_of(row: Row) -> TaskRecord:
    (task_id, agent_id, stamp_ns, question, form, verdict, text, value, frame, confidence, evidence, trace) = row
    try:
        return TaskRecord(
            task_id=task_id,
            agent_id=agent_id,
            stamp_ns=stamp_ns,
            question=_question_of(json.loads(question)),
            form=form,
            verdict=Verdict(verdict),
            text=text,
            value=_value_of(json.loads(value)),
            value_frame=frame,
            confidence=confidence,
            evidence_ids=tuple(json.loads(evidence)),
            trace=tuple(TraceStep(**step) for step in json.loads(trace)),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"task '{task_id}' can't be read, its row is damaged: {error}") from error


def _question_of(fields: dict[str, Any]) -> Question:
    viewpoint = fields.pop("viewpoint")
    pose = Pose(tuple(viewpoint["position"]), tuple(viewpoint["orientation"])) if viewpoint else None
    return Question(**{**fields, "agents": tuple(fields["agents"])}, viewpoint=pose)


def _value_of(value: Any) -> AnswerValue:
    return tuple(value) if isinstance(value, list) else value
