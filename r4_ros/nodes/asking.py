"""Asking the running reasoner from a process that is no node, and driving to what it found."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

from r4_ros import srv
from r4_ros.core.errors import NotReady
from r4_ros.core.model import Answer, Feedback, Query, Question, Vec3
from r4_ros.experience.outcome import of_visit
from r4_ros.nodes.clients import error_of, first_reply
from r4_ros.nodes.convert import pose_from_msg, pose_to_msg
from r4_ros.nodes.convert_answers import answer_from_msg, fill_question
from r4_ros.nodes.convert_queries import query_to_request
from r4_ros.nodes.navigate import action_type, goal_of
from r4_ros.nodes.transport import prepare

ARRIVED = "The robot is there."
_ENDED = {
    GoalStatus.STATUS_SUCCEEDED: ARRIVED,
    GoalStatus.STATUS_CANCELED: "The drive was cancelled.",
    GoalStatus.STATUS_ABORTED: "Nav2 gave up: the robot isn't there.",
}
LOOK_S = 10.0  # so long a robot that is there looks for the thing
LOOK_PERIOD_S = 0.5
GRACE_S = 5.0  # discovery and transport, beside the reasoner's own deadline


class Asker:
    """A client with a ROS context of its own, driven by the caller's thread; use it in a ``with``."""

    def __init__(self, namespace: str = "") -> None:
        prepare()
        self._context = Context()
        rclpy.init(context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._node = rclpy.create_node(
            f"r4_ask_{os.getpid()}", namespace=namespace or None, context=self._context, start_parameter_services=False
        )
        self._executor.add_node(self._node)
        self._client = self._node.create_client(srv.QueryMemory, "reasoner/query_memory")

    def __enter__(self) -> Asker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown()
        self._node.destroy_node()  # type: ignore[no-untyped-call]
        self._context.try_shutdown()

    def ask(self, question: Question) -> Answer:
        """The running reasoner's answer.

        Raises NotReady where none is found, DeadlineExceeded, or the error that it sent.
        """
        until = time.monotonic() + question.deadline_s + GRACE_S
        self.find(until)
        response = self._first_reply(self._client, fill_question(srv.QueryMemory.Request(), question), until)
        error = error_of(response.outcome)
        if error is not None:
            raise error
        return answer_from_msg(response.answer)

    def find(self, until: float) -> None:
        """Wait for the reasoner, till ``until`` on the monotonic clock. Raises NotReady."""
        while not self._client.service_is_ready():
            if time.monotonic() >= until:
                raise NotReady(f"nobody offers {self._client.srv_name}: is the reasoner node active? `r4 up` starts it")
            self._executor.spin_once(timeout_sec=0.05)

    def drive(self, answer: Answer, ego_agent: str, action: str = "navigate_to_pose") -> str:
        """Send the robot to what was found, and wait till it is there; gives a sentence on how it ended.

        Raises InvalidArgument where the answer is no place, Unavailable without nav2_msgs, NotReady where nobody
        offers the action or it refuses the goal.
        """
        kind = action_type()
        frame, pose = goal_of(answer, self._ego(ego_agent, answer))
        client = ActionClient(self._node, kind, action)
        try:
            if not self._spin_until(client.server_is_ready, GRACE_S):
                raise NotReady(f"nobody offers the action {action}: is Nav2 active?")
            goal = kind.Goal(pose=PoseStamped(pose=pose_to_msg(pose)))
            goal.pose.header.frame_id = frame
            handle = self._result_of(client.send_goal_async(goal))
            if not handle.accepted:
                raise NotReady(f"{action} refused the goal at {pose.position[0]:.2f}, {pose.position[1]:.2f}")
            try:
                status = self._result_of(handle.get_result_async()).status
            except KeyboardInterrupt:
                self._result_of(handle.cancel_goal_async())
                raise
        finally:
            client.destroy()
        return _ENDED.get(status, f"The drive ended with status {status}.")

    def look(self, question: Question, answer: Answer, within_s: float = LOOK_S) -> Feedback | None:
        """What the robot finds at the place that it was told, told to the experience node; None: it sees nothing.

        The question is asked again until the thing is seen, there or elsewhere, or found gone. Raises as ``ask`` does.
        """
        until, feedback = time.monotonic() + within_s, None
        while answer.evidence and feedback is None and time.monotonic() < until:
            self._spin_until(lambda: False, LOOK_PERIOD_S)
            feedback = of_visit(answer.evidence[0], self.ask(question).evidence)
        if feedback is not None:
            self._tell(answer.task_id, feedback)
        return feedback

    def _tell(self, task_id: str, feedback: Feedback) -> None:
        """Say what became of an answer, where somebody listens."""
        client = self._node.create_client(srv.RecordOutcome, "experience/record_outcome")
        if self._spin_until(client.service_is_ready, GRACE_S):
            request = srv.RecordOutcome.Request(task_id=task_id, feedback=int(feedback), source="robot")
            self._first_reply(client, request, time.monotonic() + GRACE_S)

    def _ego(self, ego_agent: str, answer: Answer) -> Vec3 | None:
        """Where the robot is, in the map that the answer is in; None where the memory doesn't say."""
        client = self._node.create_client(srv.Retrieve, "memory/retrieve")
        if not self._spin_until(client.service_is_ready, GRACE_S):
            return None
        query = query_to_request(Query(ego_agent=ego_agent, limit=1))
        found = self._first_reply(client, query, time.monotonic() + GRACE_S)
        same_map = bool(answer.evidence) and found.has_ego and found.ego_map_id == answer.evidence[0].map_id
        return pose_from_msg(found.ego.pose).position if same_map else None

    def _spin_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        until = time.monotonic() + timeout_s
        while not condition() and time.monotonic() < until:
            self._executor.spin_once(timeout_sec=0.05)
        return condition()

    def _result_of(self, future: Any) -> Any:
        while not future.done():
            self._executor.spin_once(timeout_sec=0.1)
        return future.result()

    def _first_reply(self, client: Any, request: Any, until: float) -> Any:
        return first_reply(self._executor, client, request, until)
