"""The anchors in memory: which one a frame hangs on, and where everything on them stands.

They are kept in their agent's own map, in which its SLAM works and its things are told apart. Queries see everything in
*common* coordinates: those of the map that the own map is aligned with, else its own ones.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from r4_ros.core.alignments import Alignments
from r4_ros.core.anchors import is_due, sensor_in_anchor
from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, rotation_angle, rotation_matrix
from r4_ros.core.model import Anchor, Box, FloatArray, Frame, Pose, Stay, Vec3
from r4_ros.core.pose_array import PoseArray
from r4_ros.memory import shares
from r4_ros.memory.store import AnchorRecord
from r4_ros.memory.tables import Table

_PORTION = 4096
_NOISE = 1e-3
"""Metres and rad; a correction by less is none."""

Numbers = npt.NDArray[np.int64]
_Stream = tuple[str, str, int, str]


class AnchorBook:
    """All anchors by id (0, 1, 2 ...), with columns for placing, or moving, many at once."""

    def __init__(
        self, config: MemoryConfig, anchors: Iterable[AnchorRecord] = (), alignments: Alignments | None = None
    ) -> None:
        self._config = config
        self.alignments = alignments or Alignments()
        self.moves = 0  # how often anchors were moved
        self._anchors: list[Anchor] = []
        self._inverse: dict[int, Pose] = {}
        self._streams: dict[_Stream, list[tuple[int, int]]] = {}
        self._columns = Table(
            rotation=(np.float64, 9),
            position=(np.float64, 3),
            orientation=(np.float64, 4),
            path=(np.float64, 7),
            common_rotation=(np.float64, 9),
            common_position=(np.float64, 3),
            stamp=(np.int64, 0),
            kind=(np.int32, 0),
            owner=(np.int32, 0),
        )
        self.owners: dict[tuple[str, str], int] = {}
        """The numbers of agents with their maps, ascending."""
        self.kinds: list[tuple[str, bool]] = []
        """Of anchors, by number: their map, and whether they have odometry."""
        for record in anchors:
            self.add(record)

    def __len__(self) -> int:
        return len(self._anchors)

    def __getitem__(self, anchor_id: int) -> Anchor:
        return self._anchors[anchor_id]

    def add(self, record: AnchorRecord) -> None:
        """Remember an anchor that is stored; its id is the next one."""
        anchor = record.anchor
        number = anchor.anchor_id
        assert number == len(self._anchors)
        self._anchors.append(anchor)
        columns, pose = self._columns, anchor.pose_in_map
        columns.extend(1)
        columns["rotation"][number] = rotation_matrix(pose.orientation).ravel()
        columns["position"][number], columns["orientation"][number] = pose.position, pose.orientation
        columns["path"][number] = (*anchor.in_path.position, *anchor.in_path.orientation)
        columns["stamp"][number], columns["kind"][number] = anchor.stamp_ns, self._kind(anchor)
        columns["owner"][number] = self._owner(anchor)
        if self.alignments:
            self._place_common([number])
        else:
            columns["common_rotation"][number] = columns["rotation"][number]
            columns["common_position"][number] = pose.position
        stream = (anchor.agent_id, record.camera, anchor.session, anchor.map_id)
        insort(self._streams.setdefault(stream, []), (anchor.stamp_ns, number))

    def find(self, record: AnchorRecord) -> int | None:
        """The number that an anchor of another memory has here; None: it isn't here."""
        a = record.anchor
        known = self._streams.get((a.agent_id, record.camera, a.session, a.map_id), [])
        i = bisect_left(known, (a.stamp_ns, -1))
        return known[i][1] if i < len(known) and known[i][0] == a.stamp_ns else None

    def _kind(self, anchor: Anchor) -> int:
        kind = (anchor.map_id, anchor.pose_in_odom is not None)
        if kind not in self.kinds:
            self.kinds.append(kind)
        return self.kinds.index(kind)

    def _owner(self, anchor: Anchor) -> int:
        return self.owners.setdefault((anchor.agent_id, anchor.map_id), len(self.owners))

    def _place_common(self, numbers: Sequence[int]) -> None:
        """Write where anchors stand in common coordinates."""
        columns = self._columns
        if not self.alignments:
            columns["common_rotation"][numbers] = columns["rotation"][numbers]
            columns["common_position"][numbers] = columns["position"][numbers]
            return
        for number in numbers:
            pose = self.common_pose(number)
            columns["common_rotation"][number] = rotation_matrix(pose.orientation).ravel()
            columns["common_position"][number] = pose.position

    @property
    def rotations(self) -> FloatArray:
        """Of all anchors in their maps, [n, 3, 3]."""
        return self._columns["rotation"].reshape(-1, 3, 3)

    @property
    def common_rotations(self) -> FloatArray:
        """Of all anchors in common coordinates, [n, 3, 3]."""
        return self._columns["common_rotation"].reshape(-1, 3, 3)

    @property
    def translations(self) -> FloatArray:
        """Where all anchors are in their maps, [n, 3]."""
        return self._columns["position"]

    def kind_of(self, numbers: Numbers) -> Numbers:
        """By anchor, the place in ``kinds``."""
        return np.asarray(self._columns["kind"][numbers], np.int64)

    def stamps(self, numbers: Numbers) -> Numbers:
        """Stamps of anchors, ns."""
        return np.asarray(self._columns["stamp"][numbers])

    def in_maps(self, numbers: Numbers) -> PoseArray:
        """Poses of anchors in their maps."""
        return PoseArray(self._columns["position"][numbers], self._columns["orientation"][numbers])

    def in_paths(self, numbers: Numbers) -> PoseArray:
        """Poses of anchors in what no correction changes (``Anchor.in_path``)."""
        poses = self._columns["path"][numbers]
        return PoseArray(poses[:, :3], poses[:, 3:])

    def hang(self, frame: Frame, session: int, map_id: str) -> tuple[Anchor, AnchorRecord | None]:
        """The latest anchor of the frame's camera not after its stamp; a new one, not yet added, where one is due."""
        known = self._streams.get((frame.agent_id, frame.camera, session, map_id), [])
        i = bisect_right(known, (frame.stamp_ns, len(self._anchors))) - 1
        if i >= 0:
            last = self._anchors[known[i][1]]
            c = self._config
            if not is_due(last, frame, c.anchor_distance_m, c.anchor_angle_rad, c.anchor_period_s):
                return last, None
        sensor_in_map, recorded = frame.sensor_in_map, None
        if i >= 0 and _believes_old_map(self._anchors[known[i][1]], frame):
            last, recorded = self._anchors[known[i][1]], sensor_in_map
            sensor_in_map = compose(last.pose_in_map, sensor_in_anchor(last, frame))
        number, key = len(self._anchors), (frame.agent_id, session, map_id, frame.stamp_ns)
        anchor = Anchor(number, *key, sensor_in_map, frame.sensor_in_odom, recorded)
        return anchor, AnchorRecord(frame.camera, anchor)

    def of(self, agent_id: str, session: int, map_id: str) -> list[Anchor]:
        """The anchors of a session on a map, of all cameras, by id."""
        wanted = (agent_id, session, map_id)
        streams = [known for (a, _, s, m), known in self._streams.items() if (a, s, m) == wanted]
        return [self._anchors[number] for number in sorted(number for known in streams for _, number in known)]

    def numbers_of(self, agent_id: str, map_id: str) -> Numbers:
        """The ids of an agent's anchors on a map, of all sessions and cameras, ascending."""
        return np.flatnonzero(self._columns["owner"] == self.owners.get((agent_id, map_id), -1))

    def moved(self, anchors: Sequence[Anchor]) -> AnchorBook:
        """A book in which these known anchors stand as they are given; this one stays as it is."""
        other = copy.copy(self)
        other._anchors, other._inverse = list(self._anchors), {}
        for anchor in anchors:
            other._anchors[anchor.anchor_id] = anchor
        numbers = [anchor.anchor_id for anchor in anchors]
        poses = PoseArray.of([anchor.pose_in_map for anchor in anchors])
        names = ("rotation", "position", "orientation", "common_rotation", "common_position")
        columns = other._columns = self._columns.with_own(*names)
        columns["rotation"][numbers] = poses.rotations().reshape(-1, 9)
        columns["position"][numbers], columns["orientation"][numbers] = poses.positions, poses.orientations
        other._place_common(numbers)
        return other

    def aligned(self, alignments: Alignments) -> tuple[AnchorBook, npt.NDArray[np.bool_]]:
        """A book with these alignments, and which anchors (by id) stand elsewhere in it; this one stays as it is."""
        other = copy.copy(self)
        other.alignments = alignments
        other._columns = self._columns.with_own("common_rotation", "common_position")
        differ = [self.alignments.of(*owner) != alignments.of(*owner) for owner in self.owners]
        moved = np.array([*differ, False], np.bool_)[self._columns["owner"]]
        other._place_common(np.flatnonzero(moved).tolist())
        return other, moved

    def take(self, other: AnchorBook) -> None:
        """Be as the other book, which was made of this one."""
        self.moves += 1
        self._anchors, self._inverse = other._anchors, other._inverse
        self._columns, self.alignments = other._columns, other.alignments

    def latest(self, agent_id: str, map_id: str, stamp_ns: int) -> Anchor | None:
        """The agent's latest anchor in a map not after a stamp, of any camera."""
        found: list[tuple[int, int]] = []
        for (agent, _, _, stream_map), known in self._streams.items():
            if agent == agent_id and stream_map == map_id:
                i = bisect_right(known, (stamp_ns, len(self._anchors))) - 1
                found += known[i : i + 1] if i >= 0 else []
        return self._anchors[max(found)[1]] if found else None

    def box(self, stay: Stay, own: bool = False, middle: Vec3 | None = None) -> Box:
        """A stay's box in common coordinates; ``own``: in its own map; ``middle``: where its centre is, if known."""
        pose_of = (lambda number: self._anchors[number].pose_in_map) if own else self.common_pose
        return shares.box(stay, pose_of, middle)

    def in_map(self, anchor_id: int, pose: Pose) -> Pose:
        """A pose on an anchor, in its own map."""
        return compose(self._anchors[anchor_id].pose_in_map, pose)

    def common_pose(self, anchor_id: int) -> Pose:
        """Where an anchor stands in common coordinates."""
        anchor = self._anchors[anchor_id]
        alignment = self.alignments.of(anchor.agent_id, anchor.map_id)
        return anchor.pose_in_map if alignment is None else compose(alignment.pose, anchor.pose_in_map)

    def in_common(self, anchor_id: int, pose: Pose) -> Pose:
        """A pose on an anchor, in common coordinates."""
        return compose(self.common_pose(anchor_id), pose)

    def common_map(self, anchor_id: int) -> str:
        """Id of the map in whose coordinates an anchor is told."""
        anchor = self._anchors[anchor_id]
        return self.alignments.map_of(anchor.agent_id, anchor.map_id)

    def on_common_map(self, anchor_ids: npt.NDArray[np.int32], map_id: str) -> npt.NDArray[np.bool_]:
        """Which anchors [n] are told in the coordinates of this map."""
        told = [self.alignments.map_of(*owner) == map_id for owner in self.owners]
        return np.array([*told, False], np.bool_)[self._columns["owner"][anchor_ids]]

    def common_maps(self, anchor_ids: npt.NDArray[np.int32]) -> set[str]:
        """The maps in whose coordinates these anchors are told."""
        owners = set(np.unique(self._columns["owner"][anchor_ids]).tolist())
        return {self.alignments.map_of(*owner) for owner, number in self.owners.items() if number in owners}

    def in_anchor(self, anchor: Anchor, pose: Pose) -> Pose:
        """A map pose, relative to an anchor."""
        back = self._inverse.get(anchor.anchor_id)
        if back is None:
            back = self._inverse[anchor.anchor_id] = inverse(anchor.pose_in_map)
        return compose(back, pose)

    def place(self, anchor_ids: npt.NDArray[np.int32], points: FloatArray, own: bool = False) -> FloatArray:
        """Points [n, 3], each on its anchor, in common coordinates; ``own``: in their own maps."""
        rotations = self.rotations if own else self.common_rotations
        positions = self._columns["position" if own else "common_position"]
        rotated = np.einsum("nij,nj->ni", rotations[anchor_ids], points)
        placed: FloatArray = rotated + positions[anchor_ids]
        return placed

    def place_boxes(
        self, anchor_ids: npt.NDArray[np.int32], points: FloatArray, half_axes: FloatArray, own: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Boxes, each on its anchor: their centres [n, 3], and half the sizes [n, 3] of what bounds them.

        In common coordinates; ``own``: in their own maps.

        ``points`` [n, 3], ``half_axes`` [n, 9]: the half axes as the columns of a matrix, row by row. All as columns
        of n and in portions that stay in the processor's cache, three times as quick as by matrices.
        """
        centre, half = np.empty((len(points), 3)), np.empty((len(points), 3), half_axes.dtype)
        prefix = "" if own else "common_"
        rotations, positions = self._columns[f"{prefix}rotation"], self._columns[f"{prefix}position"]
        for begin in range(0, len(points), _PORTION):
            part = slice(begin, begin + _PORTION)
            numbers = anchor_ids[part]
            turns, axes = (m.T.reshape(3, 3, -1).copy() for m in (rotations[numbers], half_axes[part]))
            centre[part] = np.einsum("ijn,jn->ni", turns, points[part].T.copy()) + positions[numbers]
            half[part] = np.abs(np.einsum("ijn,jkn->ikn", turns.astype(axes.dtype), axes)).sum(axis=1).T
        return centre, half


def frame_in_anchor(anchor: Anchor, frame: Frame) -> Pose:
    """The frame's sensor pose relative to its anchor (by odometry where there is some)."""
    return sensor_in_anchor(anchor, frame)


def _believes_old_map(last: Anchor, frame: Frame) -> bool:
    """Whether a frame, by its pose in the map, doesn't know yet of the correction that moved the anchor before it."""
    if last.recorded_in_map is None or last.pose_in_odom is None or frame.sensor_in_odom is None:
        return False
    motion = sensor_in_anchor(last, frame)
    old, new = compose(last.recorded_in_map, motion), compose(last.pose_in_map, motion)
    correction = apart(old, new)
    return correction > _NOISE and apart(frame.sensor_in_map, old) < correction / 2


def apart(a: Pose, b: Pose) -> float:
    """Metres and rad together: 0 only for the same pose."""
    return math.dist(a.position, b.position) + rotation_angle(a.orientation, b.orientation)
