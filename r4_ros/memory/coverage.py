"""Which places were looked at, and when: from the frames that kept their coarse depth image.

A frame keeps its depth when its camera moved by 0.1 m or turned by 5 degrees since the last one that did, or 2 s
passed; until then that one's depth holds for it too. A point counts as looked at when it lies in the field of view
and nothing nearer was measured in its direction.

Views of the last hour, and some thousands beside, are kept so. Older ones are *settled*, minute by minute: what is kept
of them is which cells of 0.5 m were looked at, and the newest depth image from each viewpoint.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import relative, rotation_angle, transform_points
from r4_ros.core.model import FOREVER, IDENTITY, NS_PER_S, FloatArray, Pose, View
from r4_ros.core.pose_array import rotation_matrices
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.cells import MINUTE_NS, Cells, CoarseCoverage, block_of, cells_of, centres_of, pack
from r4_ros.memory.store import StoredCells, StoredView
from r4_ros.memory.tables import Codes, Table

KEEP_DISTANCE_M, KEEP_ANGLE_RAD, KEEP_PERIOD_NS = 0.1, math.radians(5), 2 * NS_PER_S
BLOCKED_M = 0.3
_CHUNK = 256

MOST_VIEWS, RECENT_NS = 4096, 3600 * NS_PER_S
"""So many views, and those of the last hour, are kept as they are; older ones are settled."""
_BEHIND = 512
_TURN_RAD = math.radians(30)
_APART_M, _APART_RAD = 0.5, math.radians(15)
"""Of views of one minute that are closer, one gives the cells."""

_Viewpoint = tuple[str, int, int, int, int, int]
_Shape = tuple[str, int, int]
"""Map id, rows and columns of the depth images of a group."""


class Views(NamedTuple):
    """Views [m] of sets of points [n]: when each was taken and until when it held, the share of each set's points that
    it saw [m, n], and how far away their middle was [m, n].
    """

    stamp: npt.NDArray[np.int64]
    until: npt.NDArray[np.int64]
    share: FloatArray
    distance: FloatArray

    @staticmethod
    def none(sets: int) -> Views:
        """No view."""
        never, nothing = np.zeros(0, np.int64), np.zeros((0, sets))
        return Views(never, never, nothing, nothing)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The view that a camera kept last, and its row."""

    view: StoredView  # without its depth, which lies in the row
    group: Table
    row: int
    shape: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Settling:
    """A minute to be settled: its cells, its views, the newest of them by viewpoint, and those whose depth goes."""

    cells: StoredCells
    views: Sequence[_Kept]
    last_from: Mapping[_Viewpoint, _Kept]
    gone: Sequence[_Kept]

    @property
    def frames(self) -> list[int]:
        """Ids of the frames that the cells tell of."""
        return [kept.view.frame_id for kept in self.views]

    @property
    def dropped(self) -> list[int]:
        """Ids of the frames whose depth goes."""
        return [kept.view.frame_id for kept in self.gone]


class Coverage:
    """All kept views, grouped by map and size of the depth image, and the settled past."""

    def __init__(self, anchors: AnchorBook, most_views: int = MOST_VIEWS, recent_ns: int = RECENT_NS) -> None:
        self._anchors, self.most_views, self.recent_ns = anchors, most_views, recent_ns
        self._groups: dict[_Shape, Table] = {}
        self._agents = Codes()
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._recent: deque[_Kept] = deque()
        self._last_from: dict[_Viewpoint, _Kept] = {}
        self._free: dict[int, list[int]] = {}
        self.past = CoarseCoverage(anchors)

    def with_anchors(self, anchors: AnchorBook) -> Coverage:
        """The same views, from where they were taken with these anchors; for reading."""
        other = copy.copy(self)
        other._anchors = anchors
        return other

    def maps(self) -> list[str]:
        """The common maps on which anything was looked at, sorted."""
        found = (self._anchors.common_maps(group["anchor"]) for group in self._groups.values())
        return sorted(self.past.maps().union(*found))

    def in_common(self, agent_id: str, map_id: str, points: FloatArray) -> tuple[str, FloatArray]:
        """Points [n, 3] of an agent's own map, as ``last_looks`` takes them."""
        known = self._anchors.alignments.of(agent_id, map_id)
        return (map_id, points) if known is None else (known.common_id, transform_points(known.pose, points))

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
                sight=(np.float64, 0),  # square of how far away it sees, at the corners of the image
                depth=(np.float16, rows * cols),
            )
        free = self._free.get(id(group))
        row = free.pop() if free else group.extend(1)
        group["stamp"][row], group["until"][row] = stored.stamp_ns, stored.until_ns
        group["agent"][row] = self._agents.code(stored.agent_id)
        group["anchor"][row] = stored.anchor_id
        pose = stored.sensor_in_anchor
        group["sensor"][row] = (*pose.position, *pose.orientation)
        group["half_width"][row] = math.tan(view.horizontal_fov / 2), math.tan(view.vertical_fov / 2)
        group["reach"][row] = view.min_depth, view.max_depth
        group["sight"][row] = view.max_depth**2 * (1 + (group["half_width"][row] ** 2).sum())
        group["depth"][row] = view.depth.ravel()
        kept = _Kept(replace(stored, view=_no_depth(view)), group, row, (rows, cols))
        self._kept[stored.agent_id, stored.camera] = kept
        if stored.settled:
            self._last_from[self._viewpoint(kept)] = kept
        else:
            self._recent.append(kept)

    def last_looks(
        self,
        map_id: str,
        points: FloatArray,
        start_ns: int = 0,
        end_ns: int = FOREVER,
        agents: Sequence[str] = (),
        clearance_m: float = -BLOCKED_M,
    ) -> npt.NDArray[np.int64]:
        """When each point [n, 3] of the common map was last looked at in [start, end), -1 where it wasn't.

        ``clearance_m``: how far behind the point the first surface must have been (negative: it may be before it). Of
        settled minutes only the cell is known that holds the point; they say nothing of a clearance above 0.
        """
        looked = np.full(len(points), -1, np.int64)
        codes = self._agents.find_all(agents)
        for (group_map, rows, cols), group in self._groups.items():
            if group_map != map_id and not self._anchors.alignments:
                continue
            wanted = (group["until"] >= start_ns) & (group["stamp"] < end_ns)
            if self._anchors.alignments:
                wanted &= self._anchors.on_common_map(group["anchor"], map_id)
            if agents:
                wanted &= np.isin(group["agent"], codes)
            numbers = self._within_reach(group, np.flatnonzero(wanted), points)
            stamps = np.minimum(group["until"][numbers], end_ns - 1)
            order = np.argsort(stamps, kind="stable")[::-1]
            found = self._look(group, numbers[order], stamps[order], (rows, cols), points, clearance_m)
            looked = np.maximum(looked, found)
        if clearance_m <= 0 and len(self.past) and len(points):
            coarse = self.past.last_looks(map_id, points, start_ns, end_ns, agents, clearance_m > -BLOCKED_M / 2)
            looked = np.maximum(looked, coarse)
        return looked

    def views_of(
        self, map_id: str, agent_id: str, start_ns: int, end_ns: int, points: FloatArray, clearance_m: FloatArray
    ) -> Views:
        """The agent's kept views that began in [start, end), and how they see sets of points [n, p, 3].

        ``map_id`` is its own map; the points are in common coordinates.

        ``clearance_m`` [n]: as in ``last_looks``, for each set. Settled minutes aren't among them.
        """
        sets, each = points.shape[:2]
        code, found = self._agents.find(agent_id), list[Views]()
        flat, clear = points.reshape(-1, 3), np.repeat(clearance_m, each)
        for (group_map, rows, cols), group in self._groups.items():
            wanted = (group["stamp"] >= start_ns) & (group["stamp"] < end_ns) & (group["agent"] == code)
            numbers = np.flatnonzero(wanted) if group_map == map_id else np.zeros(0, np.int64)
            for chunk in np.split(numbers, range(_CHUNK, len(numbers), _CHUNK)):
                sees = self._sees(group, chunk, (rows, cols), flat, clear).reshape(-1, sets, each)
                position = self._anchors.place(group["anchor"][chunk], group["sensor"][chunk, :3])
                away = np.linalg.norm(points.mean(axis=1)[None] - position[:, None], axis=2)
                found.append(Views(group["stamp"][chunk], group["until"][chunk], sees.mean(axis=2), away))
        return Views(*(np.concatenate(part) for part in zip(Views.none(sets), *found, strict=True)))

    def any_view(self, start_ns: int, end_ns: int, agents: Sequence[str] = ()) -> bool:
        """Whether anything was looked at in [start, end)."""
        codes = self._agents.find_all(agents)
        for group in self._groups.values():
            mask = (group["until"] >= start_ns) & (group["stamp"] < end_ns)
            if agents:
                mask &= np.isin(group["agent"], codes)
            if mask.any():
                return True
        return self.past.any_view(start_ns, end_ns, agents)

    @property
    def is_behind(self) -> bool:
        """Whether many more views are kept than need be: nobody had them settled in time."""
        return len(self._recent) > self.most_views + _BEHIND

    def due(self) -> Settling | None:
        """The oldest minute that may be settled, if there are more recent views than are kept; changes nothing.

        A minute becomes cells. Depth images go, but for the newest one taken from each viewpoint (a metre, 30 degrees):
        what was seen to be empty there can be told by it.
        """
        if len(self._recent) <= self.most_views:
            return None
        in_use = {id(kept) for kept in self._kept.values()}
        old = [kept for kept in islice(self._recent, self.most_views) if id(kept) not in in_use]
        if not old or self._recent[-1].view.stamp_ns - old[0].view.stamp_ns < self.recent_ns:
            return None
        views = [kept for kept in old if _minute_of(kept.view) == _minute_of(old[0].view)]
        last = {self._viewpoint(kept): kept for kept in views}
        stays = {id(kept) for kept in last.values()}
        gone = [kept for kept in views if id(kept) not in stays]
        gone += [self._last_from[key] for key in last if key in self._last_from]
        return Settling(self._minute(views), views, last, gone)

    def settled(self, done: Settling) -> None:
        """Take over a minute that was stored."""
        self.past.add(done.cells)
        settled = {id(kept) for kept in done.views}
        self._recent = deque(kept for kept in self._recent if id(kept) not in settled)
        self._last_from.update(done.last_from)
        for kept in done.gone:
            kept.group["stamp"][kept.row], kept.group["until"][kept.row] = FOREVER, -1
            self._free.setdefault(id(kept.group), []).append(kept.row)

    def _minute(self, views: Sequence[_Kept]) -> StoredCells:
        """The cells of what views of one agent and minute saw."""
        first = views[0].view
        apart = {self._viewpoint(kept, _APART_M, _APART_RAD): kept for kept in views}.values()
        planes = zip(*(self._cells(kept) for kept in apart), strict=True)
        looked, reached = (np.concatenate(plane) for plane in planes)
        pose = self._anchors[first.anchor_id].pose_in_map
        until = max(int(kept.group["until"][kept.row]) for kept in views)
        where = (first.agent_id, first.map_id, first.stamp_ns, until)
        return StoredCells(*where, first.anchor_id, pose, pack(block_of(looked, reached)))

    def _cells(self, kept: _Kept) -> tuple[Cells, Cells]:
        """The cells of its own map whose centres a view saw, and those that sight reached."""
        rotation, position = (part[0] for part in self._poses(kept.group, np.array([kept.row]), own=True))
        rows, cols = kept.shape
        near_far, half = kept.group["reach"][kept.row], kept.group["half_width"][kept.row]
        depth = np.minimum(kept.group["depth"][kept.row].astype(float), near_far[1]).reshape(rows, cols)
        v, u = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, cols), indexing="ij")
        rays = np.stack([u * half[0], v * half[1], np.ones_like(u)], axis=-1) * (depth[..., None] + BLOCKED_M)
        ends = rays[depth > 0] @ rotation.T + position
        if not len(ends):
            return np.zeros((0, 3), np.int64), np.zeros((0, 3), np.int64)
        low, high = np.minimum(ends.min(axis=0), position), np.maximum(ends.max(axis=0), position)
        axes = [np.arange(a, b + 1) for a, b in zip(*cells_of(np.stack([low, high])).tolist(), strict=True)]
        cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        centres = centres_of(cells)
        numbers = np.array([kept.row])
        looked = self._sees(kept.group, numbers, (rows, cols), centres, -BLOCKED_M, own=True)[0]
        reached = self._sees(kept.group, numbers, (rows, cols), centres[looked], 0.0, own=True)[0]
        return cells[looked], cells[looked][reached]

    def _viewpoint(self, kept: _Kept, size_m: float = 1.0, turn_rad: float = _TURN_RAD) -> _Viewpoint:
        """From where a view was taken, coarse."""
        pose = self._anchors.in_map(kept.view.anchor_id, kept.view.sensor_in_anchor)
        x, y, z = (math.floor(c / size_m) for c in pose.position)
        ahead = rotation_matrices(np.array([pose.orientation]))[0][:, 2]
        turn = math.floor(math.atan2(ahead[1], ahead[0]) / turn_rad)
        return kept.view.map_id, x, y, z, turn, math.floor(math.asin(max(-1.0, min(1.0, ahead[2]))) / turn_rad)

    def _within_reach(self, group: Table, numbers: npt.NDArray[np.int64], points: FloatArray) -> npt.NDArray[np.int64]:
        """Those of the views that were taken near enough to some point [n, 3] to see it, whichever way they look."""
        if not len(points):
            return numbers[:0]
        position = self._anchors.place(group["anchor"][numbers], group["sensor"][numbers, :3])
        low, high = points.min(axis=0), points.max(axis=0)
        apart = np.maximum(np.maximum(low - position, position - high), 0)
        return np.asarray(numbers[(apart**2).sum(axis=1) <= group["sight"][numbers]])

    def _look(
        self,
        group: Table,
        numbers: npt.NDArray[np.int64],
        stamps: npt.NDArray[np.int64],
        shape: tuple[int, int],
        points: FloatArray,
        clearance_m: float,
    ) -> npt.NDArray[np.int64]:
        """When views of a group last saw each point; -1: never. Newest views first, until every point is found."""
        looked = np.full(len(points), -1, np.int64)
        for i in range(0, len(numbers), _CHUNK):
            missing = np.flatnonzero(looked < 0)
            if not missing.size:
                break
            chunk = numbers[i : i + _CHUNK]
            sees = self._sees(group, chunk, shape, points[missing], clearance_m)
            newest = np.where(sees, stamps[i : i + _CHUNK, None], -1).max(axis=0)
            looked[missing] = np.maximum(looked[missing], newest)
        return looked

    def _sees(
        self,
        group: Table,
        numbers: npt.NDArray[np.int64],
        shape: tuple[int, int],
        points: FloatArray,
        clearance_m: float | FloatArray,
        own: bool = False,
    ) -> npt.NDArray[np.bool_]:
        """Which views [m] see which points [n] (``own``: of their own map); the clearance may be one of each point."""
        rotation, position = self._poses(group, numbers, own)
        local = (points[None] - position[:, None]) @ rotation
        z = local[..., 2]
        near, far = group["reach"][numbers].T[..., None]
        side = np.abs(local[..., :2]) < z[..., None] * group["half_width"][numbers][:, None]
        sees = (z > np.maximum(near, 1e-3)) & (z < far) & side.all(axis=-1)
        view, point = np.nonzero(sees)
        along = z[view, point]
        at = local[view, point, :2] / along[:, None] / group["half_width"][numbers[view]]
        rows, cols = shape
        col, row = np.minimum((at + 1) / 2 * (cols, rows), (cols - 1, rows - 1)).astype(int).T
        depth = group["depth"][numbers[view], row * cols + col].astype(float)
        clearance = clearance_m if isinstance(clearance_m, float) else clearance_m[point]
        sees[view, point] = (depth > 0) & (depth >= along + clearance)
        return np.asarray(sees)

    def _poses(self, group: Table, numbers: npt.NDArray[np.int64], own: bool = False) -> tuple[FloatArray, FloatArray]:
        """Rotations [m, 3, 3] and positions [m, 3] of the sensors, in common coordinates or in their own maps."""
        anchor = group["anchor"][numbers]
        sensor = group["sensor"][numbers]
        outer = (self._anchors.rotations if own else self._anchors.common_rotations)[anchor]
        position = self._anchors.place(anchor, sensor[:, :3], own)
        return np.asarray(outer @ rotation_matrices(sensor[:, 3:])), position

    def nbytes(self) -> int:
        """Memory taken."""
        return sum(group.nbytes() for group in self._groups.values()) + self.past.nbytes()


def _no_depth(view: View) -> View:
    return View(view.horizontal_fov, view.vertical_fov, view.min_depth, view.max_depth)


def _minute_of(view: StoredView) -> tuple[str, str, int]:
    return view.agent_id, view.map_id, view.stamp_ns // MINUTE_NS
