"""Records of where an agent was and believed to be, as a store gives and takes them; see ``store.py``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import Pose
from r4_ros.core.pose_array import PoseArray


@dataclass(frozen=True, slots=True)
class TrailRecord:
    """Where an agent's base was, relative to an anchor."""

    stamp_ns: int
    map_id: str
    map_frame: str
    anchor_id: int
    base_in_anchor: Pose


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """Where an agent's base was at n stamps each, as by ``TrailRecord``; anchor -1: not known."""

    stamps: npt.NDArray[np.int64]
    anchors: npt.NDArray[np.int64]
    base_in_anchor: PoseArray


@dataclass(frozen=True, slots=True)
class PathRecord:
    """A SLAM's correction of an agent's way in one session on one map: base poses in the map as it knew them then."""

    agent_id: str
    session: int
    map_id: str
    stamps_ns: tuple[int, ...]
    poses: tuple[Pose, ...]


@dataclass(frozen=True, slots=True)
class BeliefRecord:
    """What an agent last said of where it is, in a session on a map; poses None and stamps 0: never.

    ``corrected``: the map's relation to odom that a correction made known and TF doesn't tell yet. Unsettled since
    ``began_ns``, until ``until_ns``; what it saw absent before ``trusted_ns`` means nothing.
    """

    agent_id: str
    session: int
    map_id: str
    stamp_ns: int
    writer: str
    odom_in_map: Pose
    in_odom: Pose
    corrected: Pose | None = None
    stepped_ns: int = 0
    began_ns: int = 0
    until_ns: int = 0
    trusted_ns: int = 0
