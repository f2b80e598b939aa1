"""experience_node: records finished tasks and what became of them, learns from both, and gives advice."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from r4_ros import msg, srv
from r4_ros.adapters.language_models import make_reflecting
from r4_ros.core.config import ExperienceConfig
from r4_ros.core.errors import ExperienceError, InvalidArgument, R4Error
from r4_ros.core.lessons import Situation
from r4_ros.core.model import Feedback, Question
from r4_ros.experience.language import LanguageReflector
from r4_ros.experience.learner import Learner
from r4_ros.experience.recorder import Recorder
from r4_ros.experience.select import focus_of
from r4_ros.memory.database_name import is_url
from r4_ros.memory.experience_stores import open_tasks
from r4_ros.memory.lesson_link import LessonLink
from r4_ros.memory.sql_experience import SqlTaskStore
from r4_ros.memory.sql_lessons import SqlLessonStore
from r4_ros.nodes import convert, qos
from r4_ros.nodes.advice import lesson_to_msg
from r4_ros.nodes.base import Job, R4Node, run
from r4_ros.nodes.convert_answers import answer_from_msg
from r4_ros.nodes.diagnostics import Report
from r4_ros.nodes.paths import ros_home
from r4_ros.nodes.worker import Worker

ANSWER_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0
"""Feedback may overtake its answer, which comes by topic; so long it waits for it, and while answers wait here."""
POLL_S = 0.02
LISTEN_PERIOD_S = 30.0
"""How often lessons are shared with other robots."""


class ExperienceNode(R4Node[ExperienceConfig]):
    """Every answer is on disk before anybody may say whether it was right."""

    def __init__(self, **node_options: Any) -> None:
        self._store: SqlTaskStore | None = None
        self._shared = 0
        self._link: LessonLink | None = None
        self._apart = ""
        super().__init__("experience_node", ExperienceConfig, **node_options)

    def now_ns(self) -> int:
        """ROS time; makes the node a ``core.ports.Clock``."""
        return int(self.get_clock().now().nanoseconds)

    def configure(self) -> None:
        """Open the record and make the service."""
        shared = is_url(self.config.db)
        if shared and self.config.sync:
            raise InvalidArgument("sync is for a robot with a file of its own; this node's db is on a server")
        self._store = open_tasks(self.config.db if shared else ros_home(self.config.db), self.agent_id)
        self._recorder = Recorder(self._store, self, self.agent_id)
        model = make_reflecting(self.config)
        self._reflector = None if model is None else LanguageReflector(model, self.config.lm_timeout_s)
        self._learner = Learner(SqlLessonStore(self._store), self.config, reflector=self._reflector)
        self._worker: Worker[Job] = self.worker("r4-experience")
        self._feedback: Worker[Job] = self.worker("r4-feedback")
        if self.config.sync:
            self._link = LessonLink(self._store, self.config.sync, self.agent_id)
            self._sharing: Worker[Job] = self.worker("r4-lessons")  # the network may be slow, advice must not be
        self.serve(srv.RecordOutcome, "experience/record_outcome", self._record_outcome, self._feedback)
        self.serve(srv.SelectExperience, "experience/select", self._select, self._worker)

    def activate(self) -> None:
        """Listen to answers, and learn from what was told before a stop."""
        self.subscribe(msg.Answer, "reasoner/answers", self._on_answer, qos.EVENTS)
        self._worker.offer(self._learn)
        if self._link is not None or is_url(self.config.db):
            self._worker.offer(self._listen)
        if self._link is not None:
            self._offer_sharing()
            self.every(LISTEN_PERIOD_S, self._offer_sharing)
        elif is_url(self.config.db):
            self.every(LISTEN_PERIOD_S, lambda: self._worker.offer(self._listen))

    def cleanup(self) -> None:
        """Close the record."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._store is not None:
            self._store.close()
            self._store = None

    def _on_answer(self, message: Any) -> None:
        stamp_ns = self.now_ns()
        self._worker.offer(lambda: self._record(message, stamp_ns))

    def _record(self, message: Any, stamp_ns: int) -> None:
        answer = answer_from_msg(message)
        self._recorder.record_task(Question(answer.question), answer, stamp_ns)
        self.counts.add("tasks")

    def _record_outcome(self, request: Any, response: Any) -> Any:
        feedback = convert.enum_from_msg(Feedback, request.feedback, "feedback")
        if not request.task_id:
            raise ExperienceError("task_id is empty: give the task_id of an answer")
        self._await_task(request.task_id)
        self._recorder.record_feedback(request.task_id, feedback, request.correction, request.source)
        self.counts.add(f"feedback.{feedback.name.lower()}")
        self._worker.offer(self._learn)
        return response

    def _await_task(self, task_id: str) -> None:
        """Give an answer that was overtaken by its feedback the time to arrive, and to be recorded after others."""
        began = idle_since = time.monotonic()
        while self.active and self._store is not None and self._store.task(task_id) is None:
            now = time.monotonic()
            idle_since = now if self._worker.pending else idle_since
            if now - idle_since > ANSWER_WAIT_S or now - began > LONGEST_WAIT_S:
                return
            time.sleep(POLL_S)

    def _learn(self) -> None:
        while self.config.learn:
            learnt = self._learner.learn()
            if not learnt:
                return
            self.counts.add("learnt", learnt)

    def _listen(self) -> None:
        """What other robots learnt meanwhile."""
        self._shared = self._learner.listen()

    def _offer_sharing(self) -> None:
        if not self._sharing.pending:
            self._sharing.offer(self._share)

    def _share(self) -> None:
        """Keep in step with the map server; without it, all goes on from the file."""
        assert self._link is not None
        try:
            if self._link.step():
                self._worker.offer(self._listen)
            self._apart = ""
        except R4Error as error:
            self._apart = str(error)
            self.note("r4-lessons", error)

    def _select(self, request: Any, response: Any) -> Any:
        lessons = self._learner.select(Situation.parse(request.situation))
        focus = focus_of(lessons)
        response.prefer = [r.value for r in focus.prefer]
        response.avoid = [r.value for r in focus.avoid]
        response.lessons = [lesson_to_msg(lesson) for lesson in lessons]
        return response

    def report(self) -> Report:
        """How much is recorded, and whether answers can arrive."""
        problems = []
        if not self.count_publishers(self.resolve_topic_name("reasoner/answers")):
            problems.append(f"nobody publishes {self.resolve_topic_name('reasoner/answers')}: is the reasoner active?")
        if self._apart:
            problems.append(f"lessons aren't in step with the map server's: {self._apart}")
        counts = {"waiting": self._worker.pending, "lessons": self._learner.size, "lessons_of_others": self._shared}
        if self._reflector is not None:
            counts["refused_reflections"] = self._reflector.refused
        return Report(problems, counts)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop."""
    return run(ExperienceNode, args)


if __name__ == "__main__":
    sys.exit(main())
