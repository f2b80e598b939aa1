"""The newest picture of a camera, for a model that looks at what is in view now."""

from __future__ import annotations

from typing import Any

from r4_ros.core.errors import FrameRefused
from r4_ros.core.model import NS_PER_S
from r4_ros.nodes.convert import time_from_msg
from r4_ros.perception.crops import fitted, jpeg_of
from r4_ros.perception.images import decode_color

NOW_NS = NS_PER_S
SIDE = 768
MAX_BYTES = 256_000


class LatestPicture:
    """Keeps the last Image message; it is decoded only when somebody looks."""

    def __init__(self) -> None:
        self._message: Any = None

    def hear(self, message: Any) -> None:
        """An Image that came."""
        self._message = message

    def __call__(self, now_ns: int) -> bytes | None:
        """As JPEG, if it is within a second of ``now_ns`` and can be read."""
        message = self._message
        if message is None or abs(time_from_msg(message.header.stamp) - now_ns) > NOW_NS:
            return None
        try:
            return jpeg_of(fitted(decode_color(message), SIDE), MAX_BYTES)
        except FrameRefused:
            return None
