"""Which places were looked at, and when: from the frames that kept their coarse depth image.

A frame keeps its depth when its camera moved by 0.1 m or turned by 5 degrees since the last one that did, or 2 s
passed; until then that one's depth holds for it too. A point counts as looked at when it lies in the field of view
and nothing nearer was measured in its direction.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import relative, rotation_angle
from r4_ros.core.model import FOREVER, IDENTITY, NS_PER_S, FloatArray, Pose
from r4_ros.core.pose_array import rotation_matrices
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.store import StoredView
from r4_ros.memory.tables import Codes, Table

KEEP_DISTANCE_M, KEEP_ANGLE_RAD, KEEP_PERIOD_NS = 0.1, math.radians(5), 2 * NS_PER_S
BLOCKED_M = 0.3
_CHUNK = 256

_Shape = tuple[str, int, int]
"""Map id, rows and columns of the depth images of a group."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The view that a camera kept last, and its row."""

    view: StoredView
    group: Table
    row: int


class Coverage:
    """All kept views, grouped by map and size of the depth image."""

    def __init__(self, anchors: AnchorBook) -> None:
        self._anchors = anchors
        self._groups: dict[_Shape, Table] = {}
        self._agents = Codes()
        self._kept: dict[tuple[str, str], _Kept] = {}

    def with_anchors(self, anchors: AnchorBook) -> Coverage:
        """The same views, from where they were taken with these anchors; for reading."""
        other = copy.copy(self)
        other._anchors = anchors
        return other

    def maps(self) -> list[str]:
        """The maps on which anything was looked at, sorted."""
        return sorted({map_id for map_id, _, _ in self._groups})

    def holding(self, agent_id: str, camera: str, map_id: str, stamp_ns: int, sensor_in_map: Pose) -> int | None:
        """The kept frame whose depth holds for a new frame too; None where that one must keep its own."""
        last = self._kept.get((agent_id, camera))
        if last is None or last.view.map_id != map_id or not 0 <= stamp_ns - last.view.stamp_ns < KEEP_PERIOD_NS:
            return None
        motion = relative(self._anchors.in_map(last.view.anchor_id, last.view.sensor_in_anchor), sensor_in_map)
        turn = rotation_angle(IDENTITY.orientation, motion.orientation)
        moved = math.hypot(*motion.position) >= KEEP_DISTANCE_M or turn >= KEEP_ANGLE_RAD
        return None if moved else last.view.frame_id

    def prolong(self, agent_id: str, camera: str, stamp_ns: int) -> None:
        """The camera's last kept view holds for a frame at this stamp too."""
        last = self._kept[agent_id, camera]
        last.group["until"][last.row] = max(last.group["until"][last.row], stamp_ns)

    def add(self, stored: StoredView) -> None:
        """Take over a view that was stored."""
        view = stored.view
        rows, cols = view.depth.shape
        group = self._groups.get((stored.map_id, rows, cols))
        if group is None:
            group = self._groups[stored.map_id, rows, cols] = Table(
                stamp=(np.int64, 0),
                until=(np.int64, 0),
                agent=(np.int32, 0),
                anchor=(np.int32, 0),
                sensor=(np.float64, 7),
                half_width=(np.float64, 2),
                reach=(np.float64, 2),
                depth=(np.float16, rows * cols),
            )
        row = group.extend(1)
        group["stamp"][row], group["until"][row] = stored.stamp_ns, stored.until_ns
        group["agent"][row] = self._agents.code(stored.agent_id)
        group["anchor"][row] = stored.anchor_id
        pose = stored.sensor_in_anchor
        group["sensor"][row] = (*pose.position, *pose.orientation)
        group["half_width"][row] = math.tan(view.horizontal_fov / 2), math.tan(view.vertical_fov / 2)
        group["reach"][row] = view.min_depth, view.max_depth
        group["depth"][row] = view.depth.ravel()
        self._kept[stored.agent_id, stored.camera] = _Kept(stored, group, row)

    def last_looks(
        self,
        map_id: str,
        points: FloatArray,
        start_ns: int = 0,
        end_ns: int = FOREVER,
        agents: Sequence[str] = (),
        clearance_m: float = -BLOCKED_M,
    ) -> npt.NDArray[np.int64]:
        """When each point [n, 3] of the map was last looked at in [start, end), -1 where it wasn't.

        ``clearance_m``: how far behind the point the first surface must have been (negative: it may be before it).
        """
        looked = np.full(len(points), -1, np.int64)
        codes = self._agents.find_all(agents)
        for (group_map, rows, cols), group in self._groups.items():
            if group_map != map_id:
                continue
            wanted = (group["until"] >= start_ns) & (group["stamp"] < end_ns)
            if agents:
                wanted &= np.isin(group["agent"], codes)
            numbers = np.flatnonzero(wanted)
            stamps = np.minimum(group["until"][numbers], end_ns - 1)
            order = np.argsort(stamps, kind="stable")[::-1]
            self._look(group, numbers[order], stamps[order], (rows, cols), points, clearance_m, looked)
        return looked

    def any_view(self, start_ns: int, end_ns: int, agents: Sequence[str] = ()) -> bool:
        """Whether anything was looked at in [start, end)."""
        codes = self._agents.find_all(agents)
        for group in self._groups.values():
            mask = (group["until"] >= start_ns) & (group["stamp"] < end_ns)
            if agents:
                mask &= np.isin(group["agent"], codes)
            if mask.any():
                return True
        return False

    def _look(
        self,
        group: Table,
        numbers: npt.NDArray[np.int64],
        stamps: npt.NDArray[np.int64],
        shape: tuple[int, int],
        points: FloatArray,
        clearance_m: float,
        looked: npt.NDArray[np.int64],
    ) -> None:
        """Newest views first, until every point is found."""
        for i in range(0, len(numbers), _CHUNK):
            missing = np.flatnonzero(looked < 0)
            if not missing.size:
                return
            chunk = numbers[i : i + _CHUNK]
            sees = self._sees(group, chunk, shape, points[missing], clearance_m)
            newest = np.where(sees, stamps[i : i + _CHUNK, None], -1).max(axis=0)
            looked[missing] = np.maximum(looked[missing], newest)

    def _sees(
        self,
        group: Table,
        numbers: npt.NDArray[np.int64],
        shape: tuple[int, int],
        points: FloatArray,
        clearance_m: float,
    ) -> npt.NDArray[np.bool_]:
        """Which views [m] see which points [n]."""
        rotation, position = self._poses(group, numbers)
        local = np.einsum("mji,mnj->mni", rotation, points[None] - position[:, None])
        z = local[..., 2]
        near, far = group["reach"][numbers].T
        ahead = (z > np.maximum(near, 1e-3)[:, None]) & (z < far[:, None])
        safe = np.where(ahead, z, 1.0)
        half = group["half_width"][numbers][:, None]
        u, v = np.moveaxis(local[..., :2] / safe[..., None] / half, -1, 0)
        inside = ahead & (np.abs(u) < 1) & (np.abs(v) < 1)
        rows, cols = shape
        row = np.clip(((np.where(inside, v, 0) + 1) / 2 * rows).astype(int), 0, rows - 1)
        col = np.clip(((np.where(inside, u, 0) + 1) / 2 * cols).astype(int), 0, cols - 1)
        depth = group["depth"][numbers[:, None], row * cols + col].astype(float)
        return np.asarray(inside & (depth > 0) & (depth >= z + clearance_m))

    def _poses(self, group: Table, numbers: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Rotations [m, 3, 3] and positions [m, 3] of the sensors in the map."""
        anchor = group["anchor"][numbers]
        sensor = group["sensor"][numbers]
        outer = self._anchors.rotations[anchor]
        position = self._anchors.place(anchor, sensor[:, :3])
        return np.asarray(outer @ rotation_matrices(sensor[:, 3:])), position

    def nbytes(self) -> int:
        """Memory taken."""
        return sum(group.nbytes() for group in self._groups.values())
