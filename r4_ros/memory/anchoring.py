"""The anchors in memory: which one a frame hangs on, and where everything on them stands in the map."""

from __future__ import annotations

import copy
import math
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from r4_ros.core.anchors import is_due, sensor_in_anchor
from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, rotation_angle, rotation_matrix
from r4_ros.core.model import Anchor, FloatArray, Frame, Pose
from r4_ros.core.pose_array import PoseArray
from r4_ros.memory.store import AnchorRecord

_PORTION = 4096
_NOISE = 1e-3
"""Metres and rad; a correction by less is none."""

_Stream = tuple[str, str, int, str]


class AnchorBook:
    """All anchors by id (0, 1, 2 ...), with their map poses as arrays for placing many things at once."""

    def __init__(self, config: MemoryConfig, anchors: Iterable[AnchorRecord] = ()) -> None:
        self._config = config
        self.moves = 0  # how often anchors were moved
        self._anchors: list[Anchor] = []
        self._inverse: dict[int, Pose] = {}
        self._streams: dict[_Stream, list[tuple[int, int]]] = {}
        self.rotations: FloatArray = np.zeros((64, 3, 3))
        self.translations: FloatArray = np.zeros((64, 3))
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
        if number == len(self.translations):
            self.rotations = np.concatenate([self.rotations, np.zeros_like(self.rotations)])
            self.translations = np.concatenate([self.translations, np.zeros_like(self.translations)])
        self._anchors.append(anchor)
        self.rotations[number] = rotation_matrix(anchor.pose_in_map.orientation)
        self.translations[number] = anchor.pose_in_map.position
        stream = (anchor.agent_id, record.camera, anchor.session, anchor.map_id)
        insort(self._streams.setdefault(stream, []), (anchor.stamp_ns, number))

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

    def moved(self, anchors: Sequence[Anchor]) -> AnchorBook:
        """A book in which these known anchors stand as they are given; this one stays as it is."""
        other = copy.copy(self)
        other._anchors, other._inverse = list(self._anchors), {}
        for anchor in anchors:
            other._anchors[anchor.anchor_id] = anchor
        numbers = [anchor.anchor_id for anchor in anchors]
        poses = PoseArray.of([anchor.pose_in_map for anchor in anchors])
        other.rotations, other.translations = self.rotations.copy(), self.translations.copy()
        other.rotations[numbers], other.translations[numbers] = poses.rotations(), poses.positions
        return other

    def take(self, other: AnchorBook) -> None:
        """Be as the other book, which was made of this one."""
        self.moves += 1
        self._anchors, self._inverse = other._anchors, other._inverse
        self.rotations, self.translations = other.rotations, other.translations

    def latest(self, agent_id: str, map_id: str, stamp_ns: int) -> Anchor | None:
        """The agent's latest anchor in a map not after a stamp, of any camera."""
        found: list[tuple[int, int]] = []
        for (agent, _, _, stream_map), known in self._streams.items():
            if agent == agent_id and stream_map == map_id:
                i = bisect_right(known, (stamp_ns, len(self._anchors))) - 1
                found += known[i : i + 1] if i >= 0 else []
        return self._anchors[max(found)[1]] if found else None

    def in_map(self, anchor_id: int, pose: Pose) -> Pose:
        """A pose on an anchor, in the map."""
        return compose(self._anchors[anchor_id].pose_in_map, pose)

    def in_anchor(self, anchor: Anchor, pose: Pose) -> Pose:
        """A map pose, relative to an anchor."""
        back = self._inverse.get(anchor.anchor_id)
        if back is None:
            back = self._inverse[anchor.anchor_id] = inverse(anchor.pose_in_map)
        return compose(back, pose)

    def place(self, anchor_ids: npt.NDArray[np.int32], points: FloatArray) -> FloatArray:
        """Points [n, 3], each on its anchor, in the map."""
        rotated = np.einsum("nij,nj->ni", self.rotations[anchor_ids], points)
        placed: FloatArray = rotated + self.translations[anchor_ids]
        return placed

    def place_boxes(
        self, anchor_ids: npt.NDArray[np.int32], points: FloatArray, half_axes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Boxes, each on its anchor, in the map: their centres [n, 3], and half the sizes [n, 3] of what bounds them.

        ``points`` [n, 3], ``half_axes`` [n, 9]: the half axes as the columns of a matrix, row by row. All as columns
        of n and in portions that stay in the processor's cache, three times as quick as by matrices.
        """
        centre, half = np.empty((len(points), 3)), np.empty((len(points), 3))
        rotations = self.rotations.reshape(-1, 9)
        for begin in range(0, len(points), _PORTION):
            part = slice(begin, begin + _PORTION)
            numbers = anchor_ids[part]
            turns, axes = (m.T.reshape(3, 3, -1).copy() for m in (rotations[numbers], half_axes[part]))
            centre[part] = np.einsum("ijn,jn->ni", turns, points[part].T.copy()) + self.translations[numbers]
            half[part] = np.abs(np.einsum("ijn,jkn->ikn", turns, axes)).sum(axis=1).T
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
