"""A SLAM's corrected path, as new places of the anchors that lie on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from r4_ros.core.anchors import LONGEST_GAP_NS, corrected
from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.geometry import compose, interpolate
from r4_ros.core.model import Anchor, Pose
from r4_ros.core.pose_array import PoseArray
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.store import MemoryStore, TrailRecord

_SAME = 1e-6
"""Metres and rad; an anchor that would move by less stays as it is."""


@dataclass(slots=True)
class _Path:
    """The nodes that lie on one stretch of an agent's way: their stamps, corrected poses, and poses in odom."""

    stamps: list[int] = field(default_factory=list)
    fixed: list[Pose] = field(default_factory=list)
    passed: list[Pose] = field(default_factory=list)


class AnchorCorrector:
    """Computes where anchors stand after a correction of the path; changes nothing."""

    def __init__(self, store: MemoryStore, sessions: Sessions, anchors: AnchorBook) -> None:
        self._store, self._sessions, self._anchors = store, sessions, anchors

    def prepare(self, agent_id: str, stamps_ns: Sequence[int], poses: Sequence[Pose], map_id: str) -> list[Anchor]:
        """The anchors that move. Raises InvalidArgument, UnknownEntry; see ``Library.correct_anchors``."""
        check_nodes(agent_id, stamps_ns, poses)
        if not self._sessions.of(agent_id):
            raise UnknownEntry(f"agent '{agent_id}' has no path to correct; known: {self._sessions.agents()}")
        paths: dict[tuple[int, str, bool], _Path] = {}
        for stamp, pose in sorted(zip(stamps_ns, poses, strict=True), key=lambda node: node[0]):
            passed = self._passed(agent_id, stamp)
            if passed is None or (map_id and passed[0][1] != map_id):
                continue
            path = paths.setdefault(passed[0], _Path())
            path.stamps.append(stamp)
            path.fixed.append(pose)
            path.passed.append(passed[1])
        if not paths:
            raise InvalidArgument(
                f"none of the {len(stamps_ns)} nodes lies on the way of agent '{agent_id}'"
                + (f" on map '{map_id}'" if map_id else "")
                + ": nodes need the stamps of the images, and frames before and after them"
            )
        return [anchor for key, path in paths.items() for anchor in self._moved(agent_id, *key, path)]

    def _passed(self, agent_id: str, stamp_ns: int) -> tuple[tuple[int, str, bool], Pose] | None:
        """Session, map, whether there was odometry, and the base's pose in odom at a stamp; None: not known."""
        for session in reversed(self._sessions.of(agent_id)):
            if not session.first_ns <= stamp_ns <= session.newest_ns:
                continue
            before, after = self._store.trail_around(agent_id, session.session, stamp_ns)
            if before is None or after is None or before.map_id != after.map_id:
                return None
            odometry = self._has_odometry(before)
            gap = after.stamp_ns - before.stamp_ns
            if gap > LONGEST_GAP_NS or odometry != self._has_odometry(after):
                return None
            share = (stamp_ns - before.stamp_ns) / max(gap, 1)
            pose = interpolate(self._in_path(before), self._in_path(after), share)
            return (session.session, before.map_id, odometry), pose
        return None

    def _has_odometry(self, record: TrailRecord) -> bool:
        return self._anchors[record.anchor_id].pose_in_odom is not None

    def _in_path(self, record: TrailRecord) -> Pose:
        return compose(self._anchors[record.anchor_id].in_path, record.base_in_anchor)

    def _moved(self, agent_id: str, session: int, map_id: str, odometry: bool, path: _Path) -> list[Anchor]:
        anchors = [a for a in self._anchors.of(agent_id, session, map_id) if (a.pose_in_odom is not None) == odometry]
        current = PoseArray.of([a.pose_in_map for a in anchors])
        new = corrected(
            np.array([a.stamp_ns for a in anchors], np.int64),
            current,
            PoseArray.of([a.in_path for a in anchors]),
            np.array(path.stamps, np.int64),
            PoseArray.of(path.fixed),
            PoseArray.of(path.passed),
        )
        return _changed(anchors, new.poses())


def spread(anchors: Sequence[Anchor], step: Pose, in_odom: Pose) -> list[Anchor]:
    """Anchors after a step of the map at the end of their way, at ``in_odom``: each takes its share of it, by the way.

    ``step``: where what is at a place of the map belongs now. Only those that move are given.
    """
    known = sorted((a for a in anchors if a.pose_in_odom is not None), key=lambda a: (a.stamp_ns, a.anchor_id))
    path = [*(a.in_path.position for a in known), in_odom.position]
    ways = list(itertools.accumulate(itertools.starmap(math.dist, itertools.pairwise(path)), initial=0.0))
    if ways[-1] < _SAME:
        return []
    shares = [way / ways[-1] for way in ways]
    poses = [
        interpolate(a.pose_in_map, compose(step, a.pose_in_map), share) for a, share in zip(known, shares, strict=False)
    ]
    return _changed(known, poses)


def by_odometry(anchors: Sequence[Anchor], odom_in_map: Pose) -> list[Anchor]:
    """Anchors placed by odometry from where it stands in the map; only those that move are given."""
    known = [a for a in anchors if a.pose_in_odom is not None]
    return _changed(known, [compose(odom_in_map, a.in_path) for a in known])


def _changed(anchors: Sequence[Anchor], poses: Sequence[Pose]) -> list[Anchor]:
    """The anchors that get another pose, with it, and with the one that they were recorded with."""
    old, new = PoseArray.of([a.pose_in_map for a in anchors]), PoseArray.of(poses)
    return [
        replace(anchor, pose_in_map=pose, recorded_in_map=anchor.recorded_in_map or anchor.pose_in_map)
        for anchor, pose, differs in zip(anchors, poses, new.differs(old, _SAME), strict=True)
        if differs
    ]


def check_nodes(agent_id: str, stamps_ns: Sequence[int], poses: Sequence[Pose]) -> None:
    """Raise InvalidArgument for a path that can't be one: no nodes, equal stamps, numbers that can't be poses."""
    problem = ""
    if not stamps_ns or len(stamps_ns) != len(poses):
        problem = f"{len(stamps_ns)} stamps and {len(poses)} poses; each node needs both"
    elif len(set(stamps_ns)) != len(stamps_ns):
        problem = "several nodes have one stamp; each needs the stamp of its own image"
    for pose in poses:
        if not all(map(math.isfinite, pose.position)) or not abs(math.hypot(*pose.orientation) - 1) < 1e-3:
            problem = f"a pose is not finite or has no unit quaternion: {pose}"
    if problem:
        raise InvalidArgument(f"correction of agent '{agent_id}': {problem}")
