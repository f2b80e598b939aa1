"""Predict, log, then learn: a task is on disk before anybody may say whether its answer was right."""

from __future__ import annotations

from r4_ros.core.errors import ExperienceError
from r4_ros.core.model import Answer, Feedback, FeedbackRecord, Question, TaskRecord
from r4_ros.core.ports import Clock, TaskStore


class Recorder:
    """The ``TaskLog`` of an agent: finished tasks and, later, their feedback.

    All feedback is kept; a task counts once, with what was said last. Nothing of the memory's content is
    copied but the ids of the evidence.
    """

    def __init__(self, store: TaskStore, clock: Clock, agent_id: str = "") -> None:
        self._store = store
        self._clock = clock
        self._agent_id = agent_id

    def record_task(self, question: Question, answer: Answer, stamp_ns: int) -> None:
        """Record a finished task; it is durable on return. The same task again, whenever, changes nothing.

        Raises ExperienceError for an answer without a task id, or with the id of another task.
        """
        if not answer.task_id:
            raise ExperienceError("the answer names no task (task_id is empty): it can't be recorded")
        self._store.add_task(
            TaskRecord(
                task_id=answer.task_id,
                agent_id=self._agent_id or question.ego_agent,
                stamp_ns=stamp_ns,
                question=question,
                form=answer.form,
                verdict=answer.verdict,
                text=answer.text,
                value=answer.value,
                value_frame=answer.value_frame,
                confidence=answer.confidence,
                evidence_ids=tuple(e.entry_id for e in answer.evidence),
                trace=answer.trace,
            )
        )

    def record_feedback(self, task_id: str, feedback: Feedback, correction: str = "", source: str = "") -> None:
        """Record what became of a task. Raises ExperienceError where no such task was recorded."""
        self._store.add_feedback(FeedbackRecord(task_id, feedback, self._clock.now_ns(), correction, source))

    def outcome(self, task_id: str) -> Feedback | None:
        """What was said last about a task; None: nothing yet. Raises ExperienceError for an unknown task."""
        if self._store.task(task_id) is None:
            raise ExperienceError(f"no task '{task_id}' was recorded here: give the task_id of an answer of this agent")
        said = self._store.feedback(task_id)
        return said[-1].feedback if said else None

    def tally(self) -> dict[Feedback | None, int]:
        """How many tasks ended how, each counted once; None: nobody said yet."""
        return self._store.tally()
