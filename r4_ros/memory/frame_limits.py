"""How large a frame may be that a memory takes from a robot, whatever way it came."""

from __future__ import annotations

from r4_ros.core.errors import InvalidArgument


def check_size(observations: int, size: int, most_observations: int, most_kb: int) -> None:
    """Raise InvalidArgument where a frame has too many observations, or they and its depth take too many bytes."""
    if observations > most_observations:
        raise InvalidArgument(
            f"a frame of {observations} observations is more than frame_observations, {most_observations}"
        )
    if size > 1000 * most_kb:
        raise InvalidArgument(f"a frame of {size / 1000:.0f} kB is more than frame_kb, {most_kb}")
