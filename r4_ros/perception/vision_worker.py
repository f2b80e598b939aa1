"""Asks a vision model on a thread of its own: in batches, no oftener than allowed, and never making anybody wait."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable

from r4_ros.core.errors import NotReady, R4Error
from r4_ros.core.ports import VisionModel, VisionRequest

Answered = Callable[[str | R4Error], None]

BATCH = 8
CAPACITY = 64
REST_S = (1.0, 2.0, 5.0, 15.0, 60.0)  # after batches that all failed
Waiting = tuple[VisionRequest, Answered]


class VisionWorker:
    """``model`` is loaded already. rate_hz: requests a second, on the average. timeout_s: for each batch.

    ``ask`` gives each request's reply, or why there is none, to its ``answered`` on the worker's thread. When more
    than ``capacity`` wait, the oldest is given up. A model that fails is left in peace for longer and longer.
    """

    def __init__(self, model: VisionModel, rate_hz: float, timeout_s: float, capacity: int = CAPACITY) -> None:
        self.name = model.name
        self.counts: Counter[str] = Counter()  # asked, answered, dropped, failed.<error>
        self.trouble = ""  # what the model failed with last, while it does
        self._model, self._period_s, self._timeout_s = model, 1 / rate_hz, timeout_s
        self._capacity = capacity
        self._waiting: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._busy = self._closed = False
        self._failures = 0
        self._not_before = 0.0  # monotonic
        self._thread = threading.Thread(target=self._run, name="r4-vision", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Requests that wait or are being answered."""
        with self._changed:
            return len(self._waiting) + self._busy

    def ask(self, request: VisionRequest, answered: Answered) -> None:
        """Ask when it is its turn; returns at once."""
        dropped: list[Waiting] = []
        with self._changed:
            self.counts["asked"] += 1
            if self._closed:
                dropped.append((request, answered))
            else:
                self._waiting.append((request, answered))
                while len(self._waiting) > self._capacity:
                    dropped.append(self._waiting.popleft())
                self._changed.notify_all()
        self._give_up(dropped)

    def finish(self, timeout_s: float) -> bool:
        """Wait until all requests are answered; False where they aren't by then or the model fails."""
        with self._changed:
            return self._changed.wait_for(self._settled, timeout_s) and not self._waiting

    def close(self) -> bool:
        """Give up what waits and end the thread. False if the model is still at work after its time."""
        with self._changed:
            self._closed = True
            dropped = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        self._give_up(dropped)
        if self._thread is not threading.current_thread():
            self._thread.join(self._timeout_s + 1.0)
        return not self._thread.is_alive()

    def _settled(self) -> bool:
        return not self._busy and (not self._waiting or self._failures > 0)

    def _give_up(self, dropped: list[Waiting]) -> None:
        for _, answered in dropped:
            self.counts["dropped"] += 1
            answered(NotReady("too many requests wait for the vision model"))

    def _run(self) -> None:
        while batch := self._take():
            try:
                replies = self._model.reply([request for request, _ in batch], self._timeout_s)
            except Exception as error:  # a model's own error
                replies = [_ours(error)] * len(batch)
            failed = [reply for reply in replies if isinstance(reply, R4Error)]
            for (_, answered), reply in zip(batch, replies, strict=True):
                self.counts[f"failed.{type(reply).__name__}" if isinstance(reply, R4Error) else "answered"] += 1
                try:
                    answered(reply)
                except Exception as error:
                    self.counts[f"failed.{type(error).__name__}"] += 1
                    self.trouble = f"{type(error).__name__}: {error}"
            with self._changed:
                self._busy = False
                self._rest(len(batch), failed)
                self._changed.notify_all()

    def _take(self) -> list[Waiting]:
        """The next batch, when it is time for it; empty: closed."""
        with self._changed:
            while not self._closed:
                left = self._not_before - time.monotonic()
                if self._waiting and left <= 0:
                    self._busy = True
                    return [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                self._changed.wait(left if self._waiting else None)
            return []

    def _rest(self, asked: int, failed: list[R4Error]) -> None:
        if len(failed) < asked:
            self._failures, self.trouble = 0, ""
            rest = asked * self._period_s
        else:
            self.trouble = str(failed[0])
            rest = REST_S[min(self._failures, len(REST_S) - 1)]
            self._failures += 1
        self._not_before = time.monotonic() + rest


def _ours(error: Exception) -> R4Error:
    return error if isinstance(error, R4Error) else R4Error(f"{type(error).__name__}: {error}")
