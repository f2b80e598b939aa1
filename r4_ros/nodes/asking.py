"""Asking the running reasoner from a process that is no node: calls of its QueryMemory service."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

from r4_ros import srv
from r4_ros.core.errors import DeadlineExceeded, NotReady
from r4_ros.core.model import Answer, Question
from r4_ros.nodes.clients import FIRST_TRY_S, error_of
from r4_ros.nodes.convert_answers import answer_from_msg, fill_question
from r4_ros.nodes.transport import prepare

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
        response = self._first_reply(fill_question(srv.QueryMemory.Request(), question), until)
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

    def _first_reply(self, request: Any, until: float) -> Any:
        """A request is repeated, as the first reply after discovery may be lost."""
        pause_s = FIRST_TRY_S
        futures: list[Any] = []
        while time.monotonic() < until:
            futures.append(self._client.call_async(request))
            again = min(until, time.monotonic() + pause_s)
            while time.monotonic() < again:
                self._executor.spin_once(timeout_sec=0.05)
                for future in futures:
                    if future.done():
                        return future.result()
            pause_s *= 2
        raise DeadlineExceeded(f"{self._client.srv_name} didn't reply in time")
