"""Where a robot can drive, and smooth ways from place to place through the doors. Map frame, metres, seconds, rad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from r4_ros.bridges.apartment.scene import DOORWAYS, EXTENT, ROOMS, WALL, Thing, room_at
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import bounds
from r4_ros.core.model import Box, FloatArray

CELL = 0.05
RADIUS = 0.22
"""Radius of a robot."""
MARGIN = 0.05
BODY_HEIGHT = 1.3
STEP_HEIGHT = 0.03
"""What is lower than this (rugs) can be driven over."""

SPEED, TURN_RATE, ACCELERATION = 0.8, 1.2, 0.8
TICK = 0.02
"""Trajectories are sampled with this period, s."""


@dataclass(frozen=True)
class Stop:
    """A place to drive to, and the headings (degrees, 0: +x, 90: +y) to look at there, each for ``dwell`` seconds."""

    x: float
    y: float
    looks: tuple[float, ...] = ()
    dwell: float = 0.4


class Floor:
    """The free floor of the apartment and shortest comfortable ways over it."""

    def __init__(self, things: Sequence[Thing]) -> None:
        shape = (round((EXTENT[2] - EXTENT[0]) / CELL), round((EXTENT[3] - EXTENT[1]) / CELL))
        free = np.zeros(shape, np.uint8)
        for room in ROOMS:
            free[self._window(room.x0 + WALL, room.y0 + WALL, room.x1 - WALL, room.y1 - WALL)] = 1
        for door in DOORWAYS:
            low, high = (door.line - WALL, door.start), (door.line + WALL, door.end)
            if door.axis == "y":
                low, high = low[::-1], high[::-1]
            free[self._window(*low, *high)] = 1
        for thing in things:
            low3, high3 = bounds(thing.box())
            if low3[2] < BODY_HEIGHT and high3[2] > STEP_HEIGHT:
                free[self._window(low3[0], low3[1], high3[0], high3[1])] = 0
        padded = cv2.distanceTransform(np.pad(free, 1), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        self._clearance: FloatArray = padded[1:-1, 1:-1].astype(float) * CELL
        self._graph = self._connect()

    def clearance(self, points: npt.ArrayLike) -> FloatArray:
        """Distance from points [n, 2] to the nearest wall or furniture, accurate to a cell."""
        cells = self._cells(np.asarray(points, float))
        result: FloatArray = self._clearance[cells[:, 0], cells[:, 1]]
        return result

    def way_to_any(self, start: tuple[float, float], goals: FloatArray) -> FloatArray | None:
        """The way to the goal [n, 2] that is the nearest to drive to, as ``way``; None where none can be reached.

        A start closer to something than planned ways are is left first, for the nearest roomy place.
        """
        if not len(goals):
            return None
        roomy = self._roomy()
        free = roomy[np.argmin(np.hypot(*(roomy - np.array(start)).T))]
        (i, j), cells = self._cells(free[None])[0], self._cells(goals)
        columns = self._clearance.shape[1]
        costs = dijkstra(self._graph, indices=int(i * columns + j))[cells[:, 0] * columns + cells[:, 1]]
        best = int(np.argmin(costs))
        if not np.isfinite(costs[best]):
            return None
        way = self.way((float(free[0]), float(free[1])), (float(goals[best, 0]), float(goals[best, 1])))
        return way if self.clearance([start])[0] >= RADIUS + MARGIN else np.concatenate([[start], way])

    def standing_room(self, box: Box, reach: float) -> FloatArray:
        """Roomy places [n, 2] within ``reach`` of a box, in the box's room."""
        points, (low, high) = self._roomy(), bounds(box)
        gap = np.maximum(np.maximum(low[:2] - points, points - high[:2]), 0)
        near = points[np.hypot(gap[:, 0], gap[:, 1]) <= reach]
        room = room_at(*box.pose.position[:2])
        found: FloatArray = near[[room_at(float(x), float(y)) == room for x, y in near]]
        return found

    def _roomy(self) -> FloatArray:
        """Centres [n, 2] of the cells where a robot has some air around it."""
        centres: FloatArray = (np.argwhere(self._clearance >= RADIUS + MARGIN) + 0.5) * CELL + np.array(EXTENT[:2])
        return centres

    def way(self, start: tuple[float, float], goal: tuple[float, float]) -> FloatArray:
        """A smooth way [n, 2] with points a few cm apart. Raises InvalidArgument when there is none."""
        ends = self._cells(np.array([start, goal]))
        a, b = (int(i * self._clearance.shape[1] + j) for i, j in ends)
        _, before = dijkstra(self._graph, indices=b, return_predecessors=True)
        cells = [a]
        while cells[-1] != b:
            nearer = int(before[cells[-1]])
            if nearer < 0:
                raise InvalidArgument(f"no way from {start} to {goal}: furniture or a closed door stands between them")
            cells.append(nearer)
        rows, columns = np.divmod(np.array(cells), self._clearance.shape[1])
        path = np.stack([rows, columns], axis=1) * CELL + np.array(EXTENT[:2]) + CELL / 2
        path[0], path[-1] = start, goal
        return self._smooth(path)

    def _smooth(self, path: FloatArray) -> FloatArray:
        """As round as the clearance allows."""
        for sigma in (8, 6, 4, 2, 1):
            padded = np.concatenate([np.repeat(path[:1], 4 * sigma, 0), path, np.repeat(path[-1:], 4 * sigma, 0)])
            smooth: FloatArray = gaussian_filter1d(padded, sigma, axis=0)
            if (self.clearance(_resample(smooth, CELL / 10)) >= RADIUS).all():
                return _resample(smooth, CELL / 2)
        return path

    def _connect(self) -> csr_array:
        """Neighbouring free cells with the length of the step, longer where it is narrow."""
        rows, columns = self._clearance.shape
        index = np.arange(rows * columns).reshape(rows, columns)
        cost = np.where(self._clearance >= RADIUS + MARGIN, 1 + 3 * np.exp(-self._clearance / 0.2), np.inf)
        a, b, w = [], [], []
        for di, dj in ((0, 1), (1, 0), (1, 1), (1, -1)):
            i0, j0 = slice(0, rows - di), slice(max(0, -dj), columns - max(0, dj))
            i1, j1 = slice(di, rows), slice(max(0, dj), columns + min(0, dj))
            length = math.hypot(di, dj) * (cost[i0, j0] + cost[i1, j1]) / 2
            ok = np.isfinite(length)
            a.append(index[i0, j0][ok])
            b.append(index[i1, j1][ok])
            w.append(length[ok])
        source, target, weight = (np.concatenate(v) for v in (a, b, w))
        both = (np.concatenate([weight, weight]), (np.concatenate([source, target]), np.concatenate([target, source])))
        return csr_array(both, shape=(rows * columns, rows * columns))

    def _cells(self, points: FloatArray) -> npt.NDArray[np.int64]:
        cells = np.floor((points - np.array(EXTENT[:2])) / CELL).astype(np.int64)
        return np.asarray(np.clip(cells, 0, np.array(self._clearance.shape) - 1))

    @staticmethod
    def _window(x0: float, y0: float, x1: float, y1: float) -> tuple[slice, slice]:
        low = (max(0, math.floor((x0 - EXTENT[0]) / CELL + 1e-6)), max(0, math.floor((y0 - EXTENT[1]) / CELL + 1e-6)))
        high = (math.ceil((x1 - EXTENT[0]) / CELL - 1e-6), math.ceil((y1 - EXTENT[1]) / CELL - 1e-6))
        return slice(low[0], high[0]), slice(low[1], high[1])


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Planar poses over time, sampled every TICK seconds: x, y, yaw (continuous, not wrapped), [n, 3]."""

    poses: FloatArray

    @property
    def duration_s(self) -> float:
        """Length of the trajectory."""
        return (len(self.poses) - 1) * TICK

    def at(self, t: float) -> tuple[float, float, float]:
        """x, y, yaw at a time, interpolated; the last pose holds afterwards."""
        k = min(max(t / TICK, 0.0), len(self.poses) - 1.0)
        i = min(int(k), len(self.poses) - 2) if len(self.poses) > 1 else 0
        j = min(i + 1, len(self.poses) - 1)
        x, y, yaw = self.poses[i] + (k - i) * (self.poses[j] - self.poses[i])
        return float(x), float(y), float(yaw)


def drive(floor: Floor, tour: Sequence[Stop], duration_s: float) -> Trajectory:
    """Follow a tour, again and again, until the time is over: drive to a stop, look around, drive on."""
    first = tour[0]
    x, y, yaw = first.x, first.y, math.radians(first.looks[0]) if first.looks else 0.0
    pieces = [np.array([[x, y, yaw]])]
    length, k = 1, 0
    while (length - 1) * TICK < duration_s:
        stop = tour[k % len(tour)]
        if k:
            piece = _drive_along(floor.way((x, y), (stop.x, stop.y)), yaw)
            pieces.append(piece)
            length += len(piece)
            x, y, yaw = piece[-1]
        for look in stop.looks:
            piece = _turn(x, y, yaw, yaw + _wrap(math.radians(look) - yaw), stop.dwell)
            pieces.append(piece)
            length += len(piece)
            yaw = piece[-1, 2]
        k += 1
    return Trajectory(np.concatenate(pieces)[: math.ceil(duration_s / TICK) + 2])


def _drive_along(way: FloatArray, yaw: float) -> FloatArray:
    """Turn towards the way, then follow it: limited speed, turn rate and acceleration; poses [n, 3]."""
    step = np.diff(way, axis=0)
    length = np.linalg.norm(step, axis=1)
    heading = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    heading = gaussian_filter1d(heading, 2, mode="nearest") if len(heading) > 2 else heading
    start = yaw + _wrap(heading[0] - yaw)
    heading += start - heading[0]
    turn = _turn(way[0, 0], way[0, 1], yaw, start, 0.0)
    bend = np.abs(np.gradient(heading)) / np.maximum(length, 1e-6) if len(heading) > 1 else np.zeros(1)
    limit = np.minimum(SPEED, TURN_RATE / np.maximum(bend, 1e-6))
    speed = np.concatenate([[0.05], np.minimum(limit[:-1], limit[1:]), [0.05]])
    for order in (range(1, len(speed)), range(len(speed) - 2, -1, -1)):
        for i in order:
            j = i - 1 if order.step > 0 else i + 1
            speed[i] = min(speed[i], math.sqrt(speed[j] ** 2 + 2 * ACCELERATION * length[min(i, j)]))
    time = np.concatenate([[0], np.cumsum(2 * length / (speed[:-1] + speed[1:]))])
    ticks = np.arange(TICK, time[-1] + TICK, TICK)
    along = np.concatenate([heading[:1], (heading[:-1] + heading[1:]) / 2, heading[-1:]])
    moving = np.stack([np.interp(ticks, time, values) for values in (way[:, 0], way[:, 1], along)], axis=1)
    return np.concatenate([turn, moving])


def _turn(x: float, y: float, start: float, end: float, dwell: float) -> FloatArray:
    """Turn on the spot, starting and ending softly, then stand still for a while; poses [n, 3]."""
    period = 1.5 * abs(end - start) / TURN_RATE
    t = np.arange(TICK, period + dwell + TICK, TICK)
    share = np.clip(t / max(period, 1e-9), 0, 1)
    yaw = start + (end - start) * share * share * (3 - 2 * share)
    return np.stack([np.full_like(t, x), np.full_like(t, y), yaw], axis=1)


def _wrap(angle: float) -> float:
    """The same angle in [-pi, pi)."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


def _resample(path: FloatArray, spacing: float) -> FloatArray:
    """Points of equal spacing along a path, ends kept."""
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    keep = np.concatenate([[True], np.diff(length) > 1e-9])
    count = max(2, round(length[-1] / spacing) + 1)
    s = np.linspace(0, length[-1], count)
    return np.stack([np.interp(s, length[keep], path[keep, k]) for k in range(2)], axis=1)
