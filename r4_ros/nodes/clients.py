"""The memory as a port, over its service: for worker threads, never for callbacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from r4_ros.core.errors import DeadlineExceeded, FrameRefused, NotReady, OutcomeCode, R4Error
from r4_ros.core.model import Query, Retrieval, TraceStep
from r4_ros.nodes.convert_queries import query_to_request, retrieval_from_response

FIRST_TRY_S = 1.0  # the first reply after discovery is sometimes lost, so a request is repeated, less and less often
POLL_S = 0.05


def error_of(outcome: Any) -> R4Error | None:
    """The error that an Outcome stands for; None for OK."""
    if outcome.code == OutcomeCode.OK:
        return None
    return _CLASSES.get(outcome.code, R4Error)(outcome.message)


def _classes(root: type[R4Error]) -> dict[int, type[R4Error]]:
    found: dict[int, type[R4Error]] = {}
    for kind in root.__subclasses__():
        if kind is not FrameRefused:
            found.update({**_classes(kind), int(kind.code): kind})
    return found


_CLASSES = _classes(R4Error)


def first_reply(executor: Any, client: Any, request: Any, until: float) -> Any:
    """The reply to a request, which is repeated till ``until`` on the monotonic clock; for who spins by itself.

    Raises DeadlineExceeded.
    """
    pause_s = FIRST_TRY_S
    futures: list[Any] = []
    while time.monotonic() < until:
        futures.append(client.call_async(request))
        again = min(until, time.monotonic() + pause_s)
        while time.monotonic() < again:
            executor.spin_once(timeout_sec=0.05)
            for future in futures:
                if future.done():
                    return future.result()
        pause_s *= 2
    raise DeadlineExceeded(f"{client.srv_name} didn't reply in time")


class RemoteMemory:
    """``core.ports.Memory`` over the Retrieve service of another node.

    ``cancelled`` and ``progress`` belong to the question at work: the first makes ``retrieve`` give up at once,
    the second is told of each retrieval.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.cancelled = threading.Event()
        self.progress: Callable[[TraceStep], None] | None = None
        self._step = 0

    @property
    def ready(self) -> bool:
        """Whether a memory offers the service now."""
        return bool(self._client.service_is_ready())

    def begin(self, cancelled: threading.Event, progress: Callable[[TraceStep], None] | None = None) -> None:
        """A new question."""
        self.cancelled, self.progress, self._step = cancelled, progress, 0

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        """One retrieval; repeated within the deadline if no reply comes.

        Raises NotReady where no memory answers, DeadlineExceeded, or the error that the memory sent.
        """
        started = time.monotonic()
        response = self._call(query_to_request(query), started + deadline_s)
        error = error_of(response.outcome)
        if error is not None:
            raise error
        found = retrieval_from_response(response)
        self._step += 1
        if self.progress is not None:
            what = ", ".join(query.labels) or query.text or "anything"
            duration_s = time.monotonic() - started
            self.progress(TraceStep(self._step, "retrieve", what, len(found.entries), duration_s))
        return found

    def _call(self, request: Any, until: float) -> Any:
        """The first reply to one of the requests sent."""
        self._wait(self._client.service_is_ready, until, "nobody offers {}: is the memory node active?")
        futures: list[Any] = []
        replied = threading.Event()
        pause_s = FIRST_TRY_S
        try:
            while not replied.is_set():
                future = self._client.call_async(request)
                future.add_done_callback(lambda _: replied.set())
                futures.append(future)
                next_try = min(until, time.monotonic() + pause_s)
                while not replied.wait(POLL_S) and time.monotonic() < next_try:
                    self._check()
                pause_s *= 2
                if not replied.is_set() and time.monotonic() >= until:
                    raise DeadlineExceeded(f"{self._client.srv_name} didn't reply in time")
            return next(future for future in futures if future.done()).result()
        finally:
            for future in futures:
                if not future.done():
                    self._client.remove_pending_request(future)

    def _wait(self, condition: Callable[[], bool], until: float, message: str) -> None:
        while not condition():
            self._check()
            if time.monotonic() >= until:
                raise NotReady(message.format(self._client.srv_name))
            time.sleep(POLL_S)

    def _check(self) -> None:
        if self.cancelled.is_set():
            raise DeadlineExceeded("the question was cancelled")
