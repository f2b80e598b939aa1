"""Anchors: when a new one is due, how a pose hangs on one, and where they stand after a loop closure."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import relative, rotation_angle
from r4_ros.core.model import IDENTITY, NS_PER_S, Anchor, Frame, Pose
from r4_ros.core.pose_array import PoseArray

LONGEST_GAP_NS = 10 * NS_PER_S
"""Between nodes of a path farther apart than this, nothing is interpolated."""

Stamps = npt.NDArray[np.int64]


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


def corrected(
    stamps_ns: Stamps, current: PoseArray, odometry: PoseArray, nodes: Stamps, fixed: PoseArray, passed: PoseArray
) -> PoseArray:
    """Where anchors stand in the map after a correction of the path they lie on.

    ``stamps_ns`` [n], ``current``, ``odometry``: the anchors' stamps, their poses in the map until now and in odom.
    ``nodes`` [m], ``fixed``, ``passed``: stamps of the SLAM's nodes, ascending, the robot's corrected poses in the map,
    and its poses in odom as it passed them.

    Between two nodes at most ``LONGEST_GAP_NS`` apart, the ways from both by odometry are interpolated; in a longer gap
    it is the way from the nearer one. An anchor that is farther than that from any node moves along with the nearest
    one that isn't; after the last node, it goes by odometry, as the SLAM's own TF does.
    """
    odom_in_map = fixed.compose(passed.inverse())
    after = np.clip(np.searchsorted(nodes, stamps_ns, side="right"), 0, len(nodes) - 1)
    before = np.where(stamps_ns < nodes[after], np.clip(after - 1, 0, None), after)
    gap, way = nodes[after] - nodes[before], stamps_ns - nodes[before]
    share = np.clip(way / np.maximum(gap, 1), 0, 1)
    share = np.where(gap > LONGEST_GAP_NS, np.round(share), share)
    result = odom_in_map[before].compose(odometry).interpolate(odom_in_map[after].compose(odometry), share)
    distance = np.minimum(np.abs(way), np.abs(stamps_ns - nodes[after]))
    far = (distance > LONGEST_GAP_NS) & (stamps_ns < nodes[-1])
    if not far.any() or far.all():
        return result
    near = np.flatnonzero(~far)
    leader = near[_nearest(stamps_ns[near], stamps_ns[far])]
    carried = result[leader].compose(current[leader].inverse()).compose(current[far])
    result.positions[far], result.orientations[far] = carried.positions, carried.orientations
    return result


def _nearest(stamps_ns: Stamps, asked_ns: Stamps) -> Stamps:
    """For each asked stamp the number of the stamp nearest to it."""
    order = np.argsort(stamps_ns, kind="stable")
    ordered = stamps_ns[order]
    after = np.clip(np.searchsorted(ordered, asked_ns), 0, len(ordered) - 1)
    before = np.clip(after - 1, 0, None)
    return order[np.where(asked_ns - ordered[before] <= ordered[after] - asked_ns, before, after)]
