"""How large a frame may be that a memory takes from a robot, and how many a second, whatever way they came."""

from __future__ import annotations

import time
from collections.abc import Callable

from r4_ros.core.errors import InvalidArgument

BURST_S = 2.0
"""For so long an agent may catch up on what it didn't use of its rate."""


def check_size(observations: int, size: int, most_observations: int, most_kb: int) -> None:
    """Raise InvalidArgument where a frame has too many observations, or they and its depth take too many bytes."""
    if observations > most_observations:
        raise InvalidArgument(
            f"a frame of {observations} observations is more than frame_observations, {most_observations}"
        )
    if size > 1000 * most_kb:
        raise InvalidArgument(f"a frame of {size / 1000:.0f} kB is more than frame_kb, {most_kb}")


class Credit:
    """What an agent may store now, in frames: earned at ``rate_hz`` (0: any number), spent by what is stored.

    What it didn't use it may catch up on, for ``BURST_S``. More may be spent than there is; then it waits for longer.
    """

    def __init__(self, rate_hz: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._monotonic = rate_hz, monotonic
        self._most = max(1.0, rate_hz * BURST_S)
        self._credit, self._counted_at = self._most, monotonic()

    def wait_s(self) -> float:
        """Seconds until a frame may be stored; 0: one may now."""
        if not self._rate:
            return 0.0
        now = self._monotonic()
        self._credit = min(self._most, self._credit + self._rate * (now - self._counted_at))
        self._counted_at = now
        return max(0.0, (1.0 - self._credit) / self._rate)

    def spend(self, frames: int) -> None:
        """So many are stored."""
        self._credit -= frames
