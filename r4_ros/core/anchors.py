"""Anchors: when a new one is due, and how a pose hangs on one."""

from __future__ import annotations

import math

from r4_ros.core.geometry import compose, inverse, relative, rotation_angle
from r4_ros.core.model import IDENTITY, NS_PER_S, Anchor, Frame, Pose


def is_due(last: Anchor, frame: Frame, distance_m: float, angle_rad: float, period_s: float) -> bool:
    """Whether the way, the turn or the time since the last anchor asks for a new one."""
    if frame.stamp_ns - last.stamp_ns >= period_s * NS_PER_S:
        return True
    motion = sensor_in_anchor(last, frame)
    return (
        math.hypot(*motion.position) >= distance_m
        or rotation_angle(IDENTITY.orientation, motion.orientation) >= angle_rad
    )


def sensor_in_anchor(anchor: Anchor, frame: Frame) -> Pose:
    """The sensor's pose in the anchor's frame: by odometry where both have it, else by the map pose."""
    if anchor.pose_in_odom is not None and frame.sensor_in_odom is not None:
        return relative(anchor.pose_in_odom, frame.sensor_in_odom)
    return relative(anchor.pose_in_map, frame.sensor_in_map)


def rehang(pose: Pose, old: Anchor, new: Anchor) -> Pose:
    """A pose in the old anchor's frame, as a pose in the new anchor's frame, by their places in the map."""
    return compose(inverse(new.pose_in_map), compose(old.pose_in_map, pose))
