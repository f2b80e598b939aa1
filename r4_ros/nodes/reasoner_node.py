"""reasoner_node: questions in plain language in, answers with evidence out."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from sensor_msgs.msg import Image

from r4_ros import action, msg, srv
from r4_ros.adapters.embedders import make_embedder
from r4_ros.adapters.eyes import make_eyes
from r4_ros.adapters.language_models import make_language
from r4_ros.core.config import ReasonerConfig
from r4_ros.core.errors import NotReady
from r4_ros.core.model import Answer, TraceStep
from r4_ros.nodes import qos
from r4_ros.nodes.advice import RemoteAdvisor
from r4_ros.nodes.base import Job, R4Node, run
from r4_ros.nodes.camera import LatestPicture
from r4_ros.nodes.clients import RemoteMemory
from r4_ros.nodes.convert import outcome
from r4_ros.nodes.convert_answers import answer_to_msg, question_from_request, step_to_msg
from r4_ros.nodes.diagnostics import Report
from r4_ros.nodes.worker import Worker
from r4_ros.reasoner.answer import Reasoner
from r4_ros.reasoner.planner import make_planner


class ReasonerNode(R4Node[ReasonerConfig]):
    """Answers one question after the other on its own thread; service and action share the code."""

    def __init__(self, **node_options: Any) -> None:
        self._stopping = threading.Event()
        self._at_work: threading.Event | None = None
        super().__init__("reasoner_node", ReasonerConfig, **node_options)

    def configure(self) -> None:
        """Load the planner and make the topics, the service and the action."""
        self._memory = RemoteMemory(self.client(srv.Retrieve, "memory/retrieve"))
        self._advisor = RemoteAdvisor(self.client(srv.SelectExperience, "experience/select"))
        model = make_language(self.config)
        if model is not None:
            self.keep(model, lambda made: made.close())
        self._planner = make_planner(self.config, model)
        self._picture = LatestPicture()
        eyes = make_eyes(self.config, self._picture)
        self._eyes = eyes[0] if eyes is not None else None
        if eyes is not None:
            self.keep(eyes[1], lambda made: made.close())
        self._models = [m for m in (model, self._eyes) if m is not None]
        self._reasoner = self._made(self.config)
        self._worker: Worker[Job] = self.worker("r4-reasoner")
        self._answers = self.advertise(msg.Answer, "reasoner/answers", qos.EVENTS)
        self.serve(srv.QueryMemory, "reasoner/query_memory", self._query, self._worker)
        server = ActionServer(
            self,
            action.AnswerQuestion,
            "reasoner/answer_question",
            self._execute,
            goal_callback=lambda _: GoalResponse.ACCEPT if self.active else GoalResponse.REJECT,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=self.reentrant,
        )
        self.keep(server, lambda made: made.destroy())

    def activate(self) -> None:
        """Take questions; listen to the camera if a model looks at it."""
        if self._eyes is not None:
            self.subscribe(Image, "color/image_raw", self._picture.hear, qos.SENSOR)
        self._stopping = threading.Event()

    def deactivate(self) -> None:
        """Abandon the question at work."""
        self._abandon(self._stopping)

    def on_config(self, config: ReasonerConfig) -> None:
        """Live limits hold from the next question on."""
        if self._configured:
            self._worker.offer(lambda: setattr(self, "_reasoner", self._made(config)))

    def _abandon(self, cancelled: threading.Event) -> None:
        """End a question: also the model's call, if that question is the one at work."""
        cancelled.set()
        if self._at_work is cancelled:
            for model in self._models:
                model.interrupt()

    def _query(self, request: Any, response: Any) -> Any:
        self._fill(response, request, self._stopping, None)
        return response

    async def _execute(self, goal: Any) -> Any:
        """The same as the service; a cancelled goal ends the retrieval it waits for."""
        result = action.AnswerQuestion.Result()
        cancelled = threading.Event()

        def progress(step: TraceStep) -> None:
            if goal.is_cancel_requested or self._stopping.is_set():
                cancelled.set()
            feedback = action.AnswerQuestion.Feedback(step=step_to_msg(step))
            goal.publish_feedback(feedback)

        watch = self.every(0.05, lambda: self._abandon(cancelled) if goal.is_cancel_requested else None)
        try:
            await self.in_background(self._worker, lambda: self._fill(result, goal.request, cancelled, progress))
        except Exception as error:
            self.note("reasoner/answer_question", error)
            result.outcome = outcome(error)
        finally:
            self.forget(watch)
        if goal.is_cancel_requested:
            goal.canceled()
        elif result.outcome.code:
            goal.abort()
        else:
            goal.succeed()
        return result

    def _fill(
        self, reply: Any, request: Any, cancelled: threading.Event, progress: Callable[[TraceStep], None] | None
    ) -> None:
        """Answer on the worker; write the answer into the reply and publish it."""
        self.counts.add("questions")
        if cancelled.is_set():
            raise NotReady("the question was cancelled")
        self._memory.begin(cancelled, progress)
        self._at_work = cancelled
        question = question_from_request(request, self.config.deadline_s, self.config.max_rounds)
        answer = self._reasoner.answer(question)
        self.counts.add(f"verdict.{answer.verdict.value}")
        reply.answer = self._message(answer)
        self._answers.publish(reply.answer)

    def _made(self, config: ReasonerConfig) -> Reasoner:
        """A reasoner to which 'me' is this node's agent; empty: the only agent there is."""
        config = replace(config, agent_id=config.agent_id or self.get_namespace().strip("/"))
        return Reasoner(self._memory, config, None, self._advisor, self._planner, make_embedder("minilm"), self._eyes)

    def _message(self, answer: Answer) -> msg.Answer:
        message = answer_to_msg(answer)
        message.outcome = outcome()
        return message

    def report(self) -> Report:
        """Whether the memory is there."""
        problems = []
        if not self._memory.ready:
            problems.append(f"nobody offers {self.resolve_service_name('memory/retrieve')}: is the memory node active?")
        return Report(problems, {"waiting": self._worker.pending})


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop."""
    return run(ReasonerNode, args)


if __name__ == "__main__":
    sys.exit(main())
