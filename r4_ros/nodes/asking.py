"""Asks a running reasoner, from a program that is no node itself."""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType

from r4_ros.core.errors import DeadlineExceeded, NotReady
from r4_ros.core.model import Answer, Question

GRACE_S = 5.0  # beyond a question's own deadline, for what lies between here and the reasoner
RETRY_S = 2.0  # the first reply after discovery is sometimes lost


class Asker:
    """A client of ``reasoner/query_memory``, with a ROS context and a thread of its own; use it in a ``with``."""

    def __init__(self, namespace: str = "") -> None:
        from r4_ros.nodes.transport import prepare

        prepare()
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        from r4_ros import srv

        self._request_class = srv.QueryMemory.Request
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node(
            f"r4_ask_{os.getpid()}", namespace=namespace, context=self._context, start_parameter_services=False
        )
        self._client = self._node.create_client(srv.QueryMemory, "reasoner/query_memory")
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._open = True
        self._thread = threading.Thread(target=self._spin, name="r4-ask", daemon=True)
        self._thread.start()

    def wait(self, timeout_s: float) -> None:
        """Until somebody offers the service. Raises NotReady after ``timeout_s``."""
        until = time.monotonic() + timeout_s
        while not self._client.service_is_ready():
            if time.monotonic() >= until:
                raise NotReady(f"nobody offers {self._client.srv_name}: is the reasoner node running? (r4 up)")
            time.sleep(0.05)

    def ask(self, question: Question) -> Answer:
        """The answer; the request is repeated if its reply gets lost.

        Raises NotReady where nobody answers, DeadlineExceeded, or the error that the reasoner sent.
        """
        from r4_ros.nodes.clients import error_of
        from r4_ros.nodes.convert_answers import answer_from_msg, fill_question

        until = time.monotonic() + question.deadline_s + GRACE_S
        self.wait(min(question.deadline_s, GRACE_S))
        while time.monotonic() < until:
            future = self._client.call_async(fill_question(self._request_class(), question))
            replied = threading.Event()
            future.add_done_callback(lambda _, replied=replied: replied.set())
            if replied.wait(max(RETRY_S, question.deadline_s)):
                response = future.result()
                error = error_of(response.outcome)
                if error is not None:
                    raise error
                return answer_from_msg(response.answer)
            self._client.remove_pending_request(future)
        raise DeadlineExceeded(f"{self._client.srv_name} didn't reply within {question.deadline_s + GRACE_S:g} s")

    def close(self) -> None:
        """End the thread, then the node, then the context: in another order Fast DDS aborts."""
        if not self._open:
            return
        self._open = False
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def _spin(self) -> None:
        while self._open and self._context.ok():
            try:
                self._executor.spin_once(timeout_sec=0.1)
            except Exception:
                if self._open and self._context.ok():
                    raise

    def __enter__(self) -> Asker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
