"""Storing frames that wait: one at a time while there is time, several in one transaction while there isn't."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import scipy.optimize  # noqa: F401  the memory needs it for the first frame, which would wait for it
from rclpy.serialization import deserialize_message

from r4_ros import msg
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import FrameRefused, InvalidArgument, NotPermitted, StoreOutdated, WriterRefused
from r4_ros.memory.library import Library
from r4_ros.nodes import convert
from r4_ros.nodes.intake import Intake, Stored, check_sender

TOGETHER_FRAMES, TOGETHER_S = 64, 0.1
"""So many frames at most are committed together, or what was worked in within this time; queries wait meanwhile."""
_REFUSALS = (FrameRefused, InvalidArgument, NotPermitted, WriterRefused)


class Storing:
    """Takes frames from the intake into a memory. ``anew`` opens the memory again, as it is on disk, and gives it.

    ``tell``: whether receipts say how the entries stand that frames changed; ``unreadable``: messages that were none.
    """

    def __init__(
        self, intake: Intake, library: Callable[[], Library], anew: Callable[[], Library], config: MemoryConfig
    ) -> None:
        self._intake, self._library, self._anew, self._config = intake, library, anew, config
        self._must_open = ""
        self.tell, self.unreadable = True, 0

    def store(self) -> list[Stored]:
        """Store frames that wait; on return what became of each is final."""
        first = self._next()
        if first is None:
            return []
        taken = [first]
        if self._must_open or not self._intake.pending:
            return self._one_by_one(taken)
        until, done = time.monotonic() + TOGETHER_S, list[Stored]()
        try:
            with self._library().together():
                done.append(self._stored(*first))
                while len(taken) < TOGETHER_FRAMES and time.monotonic() < until and (one := self._next()):
                    taken.append(one)
                    done.append(self._stored(*one))
        except Exception as error:  # nothing of it is stored, but the memory knows of some of it
            self._must_open = str(error)
            return self._one_by_one(taken)
        return done

    def _next(self) -> tuple[str, Any] | None:
        """Whose frame is next, and the frame: it waited as bytes, since reading them is most of what it costs."""
        while (waited := self._intake.take()) is not None:
            try:
                return waited[0], self._read(waited[1])
            except Exception:
                self.unreadable += 1
        return None

    @staticmethod
    def _read(data: bytes) -> Any:
        return deserialize_message(data, msg.ObservationArray)

    def _one_by_one(self, taken: list[tuple[str, Any]]) -> list[Stored]:
        if self._must_open:
            try:
                self._anew()
            except Exception as error:  # tried again with the next frames
                return [Stored(message, error=error) for _, message in taken]
            self._must_open = ""
        return [self._alone(agent, message) for agent, message in taken]

    def _alone(self, agent: str, message: Any) -> Stored:
        try:
            return self._stored(agent, message)
        except Exception as error:
            if isinstance(error, StoreOutdated):
                self._must_open = str(error)
            return Stored(message, error=error)

    def _stored(self, agent: str, message: Any) -> Stored:
        """Store one frame record; what is wrong with it itself is told, anything else is raised."""
        try:
            check_sender(agent, message, self._config.frame_observations, self._config.frame_kb)
            frame = convert.frame_from_msg(message)
            return Stored(message, frame, self._library().ingest(frame, self.tell))
        except _REFUSALS as error:
            return Stored(message, error=error)
