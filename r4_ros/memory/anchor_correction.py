"""A SLAM's corrected path, as new places of the anchors that lie on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.anchors import LONGEST_GAP_NS, Stamps, corrected
from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.geometry import compose
from r4_ros.core.limits import FARTHEST_M
from r4_ros.core.model import Anchor, Pose
from r4_ros.core.pose_array import PoseArray
from r4_ros.memory.anchor_records import Passed
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.store import MemoryStore

_SAME = 1e-5
"""Metres and rad; an anchor that would move by less stays as it is."""


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """Nodes by stamp: their stamps [n], corrected poses, and where the base was in odom as the robot passed them."""

    stamps: Stamps
    fixed: PoseArray
    passed: PoseArray

    def __getitem__(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> _Path:
        return _Path(self.stamps[rows], self.fixed[rows], self.passed[rows])


class AnchorCorrector:
    """Computes where anchors stand after a correction of the path; changes nothing."""

    def __init__(self, store: MemoryStore, sessions: Sessions, anchors: AnchorBook) -> None:
        self._store, self._sessions, self._anchors = store, sessions, anchors

    def prepare(
        self, agent_id: str, stamps_ns: Sequence[int], poses: Sequence[Pose], map_id: str, only: int | None = None
    ) -> list[Anchor]:
        """The anchors that move. Raises InvalidArgument, UnknownEntry; see ``Library.correct_anchors``."""
        stamps, fixed = checked_nodes(agent_id, stamps_ns, poses)
        if not self._sessions.of(agent_id):
            raise UnknownEntry(f"agent '{agent_id}' has no path to correct; known: {self._sessions.agents()}")
        order = np.argsort(stamps)
        moved, found, left = list[Anchor](), False, np.ones(len(stamps), np.bool_)
        for session in reversed([s for s in self._sessions.of(agent_id) if only in (None, s.session)]):
            inside = order[left[order] & (session.first_ns <= stamps[order]) & (stamps[order] <= session.newest_ns)]
            left[inside] = False
            for key, path in self._paths(agent_id, session.session, stamps[inside], fixed[inside]):
                if not map_id or key[0] == map_id:
                    found = True
                    moved += self._moved(agent_id, session.session, *key, path)
        if not found:
            raise InvalidArgument(
                f"none of the {len(stamps_ns)} nodes lies on the way of agent '{agent_id}'"
                + (f" on map '{map_id}'" if map_id else "")
                + ": nodes need the stamps of the images, and frames before and after them"
            )
        return moved

    def _paths(
        self, agent_id: str, session: int, stamps: Stamps, fixed: PoseArray
    ) -> Iterator[tuple[tuple[str, bool], _Path]]:
        """The nodes, ascending in stamp, that memory has frames around, by map and whether there was odometry."""
        if not len(stamps):
            return
        before, after = self._store.passed(agent_id, session, stamps.tolist())
        gap = after.stamps - before.stamps
        known = (before.anchors >= 0) & (after.anchors >= 0) & (gap <= LONGEST_GAP_NS)
        kind, kind_after = (self._anchors.kind_of(passed.anchors) for passed in (before, after))
        known &= kind == kind_after
        share = (stamps - before.stamps) / np.maximum(gap, 1)
        passed = self._in_path(before).interpolate(self._in_path(after), share)
        path = _Path(stamps, fixed, passed)
        for number in np.unique(kind[known]).tolist():
            yield self._anchors.kinds[number], path[known & (kind == number)]

    def _in_path(self, passed: Passed) -> PoseArray:
        return self._anchors.in_paths(passed.anchors).compose(passed.base_in_anchor)

    def _moved(self, agent_id: str, session: int, map_id: str, odometry: bool, path: _Path) -> list[Anchor]:
        anchors = [a for a in self._anchors.of(agent_id, session, map_id) if (a.pose_in_odom is not None) == odometry]
        numbers = np.array([a.anchor_id for a in anchors], np.int64)
        current, in_path = self._anchors.in_maps(numbers), self._anchors.in_paths(numbers)
        new = corrected(self._anchors.stamps(numbers), current, in_path, path.stamps, path.fixed, path.passed)
        return _changed(anchors, current, new)


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
    current = PoseArray.of([a.pose_in_map for a in known])
    moved = PoseArray.of([compose(step, a.pose_in_map) for a in known])
    return _changed(known, current, current.interpolate(moved, np.array(shares[:-1])))


def by_odometry(anchors: Sequence[Anchor], odom_in_map: Pose) -> list[Anchor]:
    """Anchors placed by odometry from where it stands in the map; only those that move are given."""
    known = [a for a in anchors if a.pose_in_odom is not None]
    current = PoseArray.of([a.pose_in_map for a in known])
    return _changed(known, current, PoseArray.of([compose(odom_in_map, a.in_path) for a in known]))


def _changed(anchors: Sequence[Anchor], current: PoseArray, new: PoseArray) -> list[Anchor]:
    """The anchors that get another pose, with it, and with the one that they were recorded with."""
    rows = np.flatnonzero(new.differs(current, _SAME))
    pairs = zip((anchors[row] for row in rows.tolist()), new[rows].poses(), strict=True)
    return [
        Anchor(
            a.anchor_id,
            a.agent_id,
            a.session,
            a.map_id,
            a.stamp_ns,
            pose,
            a.pose_in_odom,
            a.recorded_in_map or a.pose_in_map,
        )
        for a, pose in pairs
    ]


def checked_nodes(agent_id: str, stamps_ns: Sequence[int], poses: Sequence[Pose]) -> tuple[Stamps, PoseArray]:
    """The nodes of a path. Raises InvalidArgument for what can't be one: none, equal stamps, impossible poses."""
    problem = ""
    if not stamps_ns or len(stamps_ns) != len(poses):
        problem = f"{len(stamps_ns)} stamps and {len(poses)} poses; each node needs both"
    elif len(set(stamps_ns)) != len(stamps_ns):
        problem = "several nodes have one stamp; each needs the stamp of its own image"
    fixed = PoseArray.of(poses)
    length = np.linalg.norm(fixed.orientations, axis=1)
    sound = (np.abs(fixed.positions) < FARTHEST_M).all(axis=1) & (np.abs(length - 1) < 1e-3)
    if not problem and not sound.all():
        problem = f"a pose has no possible place or no unit quaternion: {poses[int(np.argmin(sound))]}"
    if problem:
        raise InvalidArgument(f"correction of agent '{agent_id}': {problem}")
    return np.array(stamps_ns, np.int64), fixed
