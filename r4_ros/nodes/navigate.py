"""Driving to what was found: a goal for Nav2's NavigateToPose, sent only where somebody asked for it."""

from __future__ import annotations

import math
from typing import Any

from r4_ros.core.errors import InvalidArgument, Unavailable
from r4_ros.core.geometry import bounds, quat_from_yaw
from r4_ros.core.model import Answer, Box, Evidence, Pose, Vec3, Verdict

REACH_M = 0.8
"""From the middle of the robot to the thing."""


def action_type() -> Any:
    """nav2_msgs' NavigateToPose. Raises Unavailable where Nav2's messages aren't installed."""
    try:
        from nav2_msgs.action import NavigateToPose
    except ImportError as error:
        raise Unavailable(
            f"driving there needs Nav2's messages: sudo apt install ros-$ROS_DISTRO-nav2-msgs ({error})"
        ) from error
    return NavigateToPose


def goal_of(answer: Answer, ego: Vec3 | None) -> tuple[str, Pose]:
    """Frame and pose to drive to: before the thing that the answer is about, facing it.

    ``ego``: where the robot is, in the same frame; it comes from there. None: the thing's own place, for Nav2's
    tolerance to settle. Raises InvalidArgument where the answer is no certain place.
    """
    if answer.verdict is not Verdict.ANSWERED or answer.form not in ("navigate", "locate") or not answer.evidence:
        raise InvalidArgument(f"nothing to drive to: {answer.text} ({answer.verdict.value}, {answer.form})")
    thing: Evidence = answer.evidence[0]
    if not thing.frame:
        raise InvalidArgument(f"the map frame of the {thing.label} isn't known, so Nav2 can't be sent there")
    return thing.frame, standing_before(thing.box, ego)


def standing_before(box: Box, ego: Vec3 | None, reach: float = REACH_M) -> Pose:
    """A pose on the ground, ``reach`` metres from the box on the side of ``ego``, facing the box's middle.

    A robot that is nearer stays where it is.
    """
    x, y, _ = box.pose.position
    if ego is None:
        return Pose((x, y, 0.0))
    low, high = bounds(box)
    edge = [min(max(v, low[k]), high[k]) for k, v in enumerate(ego[:2])]  # of the box, nearest to the robot
    away = math.hypot(ego[0] - edge[0], ego[1] - edge[1])
    share = min(1.0, reach / away) if away > 0 else 0.0
    at = [e + share * (v - e) for e, v in zip(edge, ego[:2], strict=True)]
    return Pose((at[0], at[1], 0.0), quat_from_yaw(math.atan2(y - at[1], x - at[0])))
