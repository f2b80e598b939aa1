"""How a thing stands: the upright box turned about the vertical that fits it more tightly than the aligned one.

Boxes aligned with the map are what things are told apart and related by; a turn is kept beside such a box, has its
centre and height, and is what is shown of a thing. ``Turn``: yaw of the length (rad, -45 to 45 degrees), length and
width (m). A box looks the same turned by half a turn, and by a quarter with its sides exchanged: yaws are compared with
that in mind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from r4_ros.core.geometry import quat_from_yaw, quat_multiply
from r4_ros.core.model import Box, FloatArray, Pose, Vec3
from r4_ros.memory.codec import pack_turn, unpack_turn

Turn = Vec3
QUARTER = math.pi / 2
ALIGNED_RAD = 0.02  # a box turned by less is aligned
UPRIGHT = 0.999  # cosine: a box that leans more has no turn
CLEARLY = 0.85  # more of the aligned box's ground than this, and the turned one says nothing; perception asks for 0.8
LIKE, TOLERANCE_M = 0.25, 0.02  # of the aligned sides, and those that the turn asks for


def turns_of(axes: FloatArray, extents: Sequence[Vec3]) -> list[Turn | None]:
    """The turns of boxes with these axes [n, 3, 3] in the map; None: as good as aligned, or not upright."""
    yaws = np.arctan2(axes[:, 1, 0], axes[:, 0, 0])
    turned = (np.abs(np.sin(2 * yaws)) > 2 * ALIGNED_RAD) & (axes[:, 2, 2] > UPRIGHT)
    if not turned.any():
        return [None] * len(extents)
    return [
        normal((yaw, *extent[:2])) if turn else None
        for yaw, extent, turn in zip(yaws.tolist(), extents, turned.tolist(), strict=True)
    ]


def normal(turn: Turn) -> Turn:
    """The same with its yaw from -45 to 45 degrees."""
    yaw, length, width = turn
    quarters = round(yaw / QUARTER)
    yaw -= quarters * QUARTER
    return (yaw, width, length) if quarters % 2 else (yaw, length, width)


def averaged(known: Turn | None, seen: Turn | None, share: float, sight: tuple[float, float]) -> Turn | None:
    """A known turn with one more view of all of the thing, which counts for ``share``.

    sight: direction of the view on the ground. Along it only the near side is seen, so nothing shrinks.
    """
    if known is None or seen is None:
        return known or seen
    yaw, *sides = known
    off, *more = normal((seen[0] - yaw, *seen[1:]))
    yaw += share * off
    for i, heading in enumerate((yaw, yaw + QUARTER)):
        along = sight[0] * math.cos(heading) + sight[1] * math.sin(heading)
        change = more[i] - sides[i]
        sides[i] += share * change * (1.0 if change > 0 else max(0.0, 1 - 2 * along**2))
    return normal((yaw, sides[0], sides[1]))


def around(yaw: float, extent: Vec3) -> Turn:
    """What an aligned box takes in a frame turned by ``yaw``: so a view with nothing askew speaks against the turn."""
    c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
    return yaw, extent[0] * c + extent[1] * s, extent[0] * s + extent[1] * c


def kept(turn: Turn | None, extent: Vec3) -> Turn | None:
    """The turn as it is stored, in float32, beside an aligned box; None where the two don't go together."""
    return unpack_turn(pack_turn(turn)) if turn is not None and _fits(turn, extent) else None


def _fits(turn: Turn, extent: Vec3) -> bool:
    """Whether an aligned box of that extent goes with the turned one, and is clearly larger."""
    yaw, length, width = turn
    bounds = around(yaw, (length, width, 0.0))[1:]
    like = all(abs(a - e) <= LIKE * max(a, e) + TOLERANCE_M for a, e in zip(bounds, extent[:2], strict=True))
    return like and length * width <= CLEARLY * extent[0] * extent[1]


def turned(box: Box, turn: Turn | None) -> Box:
    """The box as it is shown; ``turn``: about the box's own vertical."""
    if turn is None:
        return box
    orientation = quat_multiply(box.pose.orientation, quat_from_yaw(turn[0]))
    return Box(Pose(box.pose.position, orientation), (turn[1], turn[2], box.extent[2]))
