"""What places and words may be, wherever they come from."""

from __future__ import annotations

import math

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Pose, Vec3

FARTHEST_M = 1e8
"""A coordinate is less than this; UTM's reach 1e7 m. Beyond, squares and boxes overflow."""
MOST_BYTES = 32_000
"""A name, or the words of an episode, take no more as UTF-8."""


def is_place(position: Vec3) -> bool:
    """Whether all coordinates (m) are numbers that a place can have."""
    x, y, z = position
    return -FARTHEST_M < x < FARTHEST_M and -FARTHEST_M < y < FARTHEST_M and -FARTHEST_M < z < FARTHEST_M


def is_pose(pose: Pose) -> bool:
    """Whether it has a place, and a unit quaternion."""
    return is_place(pose.position) and abs(math.hypot(*pose.orientation) - 1) < 1e-3


def check_place(position: Vec3 | None, what: str) -> None:
    """Raise InvalidArgument where a position isn't one; None is none."""
    if position is not None and not is_place(position):
        raise InvalidArgument(f"{what} {position} is no place: three numbers below {FARTHEST_M:g} m are needed")


def check_words(text: str, what: str) -> None:
    """Raise InvalidArgument for words that are too long."""
    if len(text) * 4 > MOST_BYTES and (size := len(text.encode("utf-8", "surrogatepass"))) > MOST_BYTES:
        raise InvalidArgument(f"{what} of {size:,} bytes is too long: at most {MOST_BYTES:,} are kept")
