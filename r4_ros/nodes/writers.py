"""One writer for each agent: a second one is refused, a restarted one takes over after a silence."""

from __future__ import annotations

import time
from collections.abc import Callable

from r4_ros.core.errors import WriterRefused


class Writers:
    """Who writes for which agent, on the monotonic clock."""

    def __init__(self, silence_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._silence_s = silence_s
        self._monotonic = monotonic
        self._current: dict[str, tuple[str, float]] = {}

    def admit(self, agent_id: str, writer: str) -> None:
        """Let this writer's frame in. Raises WriterRefused while another one is alive."""
        now = self._monotonic()
        current, heard = self._current.get(agent_id, (writer, now))
        if current != writer and now - heard < self._silence_s:
            raise WriterRefused(
                f"agent '{agent_id}' is written by {current}; {writer} is refused: stop one of the two perception "
                "nodes, or give it its own agent_id"
            )
        self._current[agent_id] = (writer, now)
