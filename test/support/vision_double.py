"""A vision model that says what it is told to, when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from r4_ros.core.errors import R4Error
from r4_ros.core.ports import VisionRequest

Say = Callable[[VisionRequest], str | R4Error]


class VisionDouble:
    """Implements core.ports.VisionModel. ``gate`` closed: replies wait until it is set."""

    def __init__(self, say: Say | str, name: str = "double") -> None:
        self.name = name
        self.batches: list[list[VisionRequest]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.loaded = False
        self._say: Say = (lambda _: say) if isinstance(say, str) else say

    def load(self) -> None:
        self.loaded = True

    def close(self) -> None:
        self.loaded = False
        self.gate.set()

    def reply(self, requests: Sequence[VisionRequest], deadline_s: float) -> list[str | R4Error]:
        self.batches.append(list(requests))
        self.gate.wait(100.0)
        return [self._say(request) for request in requests]
