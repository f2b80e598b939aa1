"""Asking the running reasoner from a process that is no node: one call of its QueryMemory service."""

from __future__ import annotations

import time
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


def ask_service(question: Question, namespace: str = "") -> Answer:
    """The running reasoner's answer.

    Raises NotReady where none is found, DeadlineExceeded, or the error that it sent.
    """
    prepare()
    context = Context()
    rclpy.init(context=context)
    executor = SingleThreadedExecutor(context=context)
    node = rclpy.create_node("r4_ask", namespace=namespace or None, context=context)
    executor.add_node(node)
    try:
        client = node.create_client(srv.QueryMemory, "reasoner/query_memory")
        return _call(executor, client, question, time.monotonic() + question.deadline_s + GRACE_S)
    finally:
        executor.shutdown()
        node.destroy_node()  # type: ignore[no-untyped-call]
        context.try_shutdown()


def _call(executor: Any, client: Any, question: Question, until: float) -> Answer:
    """The first reply; a request is repeated as the first reply after discovery may be lost."""
    while not client.service_is_ready():
        if time.monotonic() >= until:
            raise NotReady(f"nobody offers {client.srv_name}: is the reasoner node active? start it with `r4 up`")
        executor.spin_once(timeout_sec=0.05)
    request = fill_question(srv.QueryMemory.Request(), question)
    pause_s = FIRST_TRY_S
    futures: list[Any] = []
    while time.monotonic() < until:
        futures.append(client.call_async(request))
        again = min(until, time.monotonic() + pause_s)
        while time.monotonic() < again:
            executor.spin_once(timeout_sec=0.05)
            for future in futures:
                if future.done():
                    return _answer(future.result())
        pause_s *= 2
    raise DeadlineExceeded(f"{client.srv_name} didn't reply in time")


def _answer(response: Any) -> Answer:
    error = error_of(response.outcome)
    if error is not None:
        raise error
    return answer_from_msg(response.answer)
