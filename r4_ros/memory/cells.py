"""Coverage of the past, coarse: which cells of 0.5 m were looked at, minute by minute.

A *minute* is what one agent looked at on one map in one minute of its clock: the cells whose centres were in view, and
those whose centres sight reached in free space. It hangs on an anchor and moves with it. Minutes lie packed (about
200 bytes); every 64 of them have their union unpacked, so that a query unpacks only those in which it may find
something.
"""

from __future__ import annotations

import struct
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import compose, inverse, transform_points
from r4_ros.core.model import NS_PER_S, FloatArray, Pose
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.store import StoredCells

CELL_M = 0.5
MINUTE_NS = 60 * NS_PER_S
_TOGETHER = 64
_MOST_UNPACKED = 1024
_HALF = 1 << 20
_SHAPE = struct.Struct("<6i")

Codes64 = npt.NDArray[np.int64]
Cells = tuple[Codes64, Codes64]
"""Codes of the cells that were looked at, and of those whose centres sight reached; ascending."""


def codes_of(points: FloatArray) -> Codes64:
    """The codes of the cells that hold points [n, 3]; as far as 500 km from the origin."""
    cells = np.clip(np.floor(np.asarray(points) / CELL_M), -_HALF, _HALF - 1).astype(np.int64) + _HALF
    return np.asarray(cells[:, 0] << 42 | cells[:, 1] << 21 | cells[:, 2])


def centres_of(codes: Codes64) -> FloatArray:
    """The centres [n, 3] of cells."""
    mask = (1 << 21) - 1
    cells = np.stack([codes >> 42, (codes >> 21) & mask, codes & mask], axis=1) - _HALF
    return np.asarray((cells + 0.5) * CELL_M)


def pack(cells: Cells) -> bytes:
    """Two sets of cells as bits of the box around them."""
    both = np.union1d(*cells)
    if not len(both):
        return b""
    index = np.round(centres_of(both) / CELL_M - 0.5).astype(np.int64)
    low, size = index.min(axis=0), np.ptp(index, axis=0) + 1
    bits = np.zeros((2, *size), np.uint8)
    for plane, codes in enumerate(cells):
        i = np.round(centres_of(codes) / CELL_M - 0.5).astype(np.int64) - low
        bits[plane][tuple(i.T)] = 1
    return _SHAPE.pack(*low, *size) + zlib.compress(np.packbits(bits).tobytes(), 6)


def unpack(blob: bytes) -> Cells:
    """What ``pack`` made."""
    if not blob:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    *low, x, y, z = _SHAPE.unpack(blob[: _SHAPE.size])
    packed = np.frombuffer(zlib.decompress(blob[_SHAPE.size :]), np.uint8)
    bits = np.unpackbits(packed, count=2 * x * y * z).reshape(2, x, y, z)
    looked, reached = (codes_of((np.argwhere(plane) + low + 0.5) * CELL_M) for plane in bits)
    return looked, reached


@dataclass(slots=True)
class _Group:
    """Minutes that follow each other, and what they saw together."""

    minutes: list[int]
    union: Cells


class CoarseCoverage:
    """All minutes, by map."""

    def __init__(self, anchors: AnchorBook) -> None:
        self._anchors = anchors
        self._moves = anchors.moves
        self._minutes: list[StoredCells] = []
        self._placed: list[Pose] = []
        self._groups: dict[str, list[_Group]] = {}
        self._unpacked: OrderedDict[int, Cells] = OrderedDict()

    def __len__(self) -> int:
        return len(self._minutes)

    def add(self, stored: StoredCells) -> None:
        """Take over a minute that was stored."""
        number = len(self._minutes)
        self._minutes.append(stored)
        self._placed.append(self._anchors[stored.anchor_id].pose_in_map)
        groups = self._groups.setdefault(stored.map_id, [])
        if not groups or len(groups[-1].minutes) == _TOGETHER:
            groups.append(_Group([], (np.zeros(0, np.int64), np.zeros(0, np.int64))))
        groups[-1].minutes.append(number)
        looked, reached = self._cells(number)
        groups[-1].union = np.union1d(groups[-1].union[0], looked), np.union1d(groups[-1].union[1], reached)

    def maps(self) -> list[str]:
        """The maps that anything is known of."""
        return list(self._groups)

    def last_looks(
        self, map_id: str, points: FloatArray, start_ns: int, end_ns: int, agents: Sequence[str], reached: bool
    ) -> Codes64:
        """When the cells of points [n, 3] were last looked at in [start, end), to the minute; -1 where they weren't.

        ``reached``: only what sight reached in free space counts.
        """
        looked = np.full(len(points), -1, np.int64)
        codes, plane = codes_of(points), int(reached)
        self._follow_anchors()
        for group in reversed(self._groups.get(map_id, ())):
            missing = np.flatnonzero(looked < 0)
            if not missing.size:
                break
            if not np.isin(codes[missing], group.union[plane]).any():
                continue
            for number in reversed(group.minutes):
                m = self._minutes[number]
                if m.until_ns < start_ns or m.start_ns >= end_ns or (agents and m.agent_id not in agents):
                    continue
                seen = missing[np.isin(codes[missing], self._cells(number)[plane])]
                looked[seen] = np.maximum(looked[seen], min(m.until_ns, end_ns - 1))
        return looked

    def any_view(self, start_ns: int, end_ns: int, agents: Sequence[str]) -> bool:
        """Whether anything was looked at in [start, end)."""
        return any(
            m.until_ns >= start_ns and m.start_ns < end_ns and (not agents or m.agent_id in agents)
            for m in self._minutes
        )

    def _cells(self, number: int) -> Cells:
        """The cells of a minute, where they are by the anchors of now."""
        if number not in self._unpacked:
            m, cells = self._minutes[number], unpack(self._minutes[number].cells)
            if self._placed[number] != m.anchor_pose:
                moved = compose(self._placed[number], inverse(m.anchor_pose))
                looked, reached = (np.unique(codes_of(transform_points(moved, centres_of(c)))) for c in cells)
                cells = looked, reached
            self._unpacked[number] = cells
            if len(self._unpacked) > _MOST_UNPACKED:
                self._unpacked.popitem(last=False)
        return self._unpacked[number]

    def _follow_anchors(self) -> None:
        """Place anew the minutes whose anchors stand elsewhere now."""
        if self._moves == self._anchors.moves:
            return
        self._moves = self._anchors.moves
        for group in (group for groups in self._groups.values() for group in groups):
            poses = {n: self._anchors[self._minutes[n].anchor_id].pose_in_map for n in group.minutes}
            moved = [n for n, pose in poses.items() if pose != self._placed[n]]
            for n in moved:
                self._placed[n] = poses[n]
                self._unpacked.pop(n, None)
            if moved:
                cells = [self._cells(n) for n in group.minutes]
                looked, reached = (np.unique(np.concatenate([c[plane] for c in cells])) for plane in (0, 1))
                group.union = looked, reached

    def nbytes(self) -> int:
        """Memory taken."""
        unions = sum(c.nbytes for groups in self._groups.values() for group in groups for c in group.union)
        unpacked = sum(c.nbytes for cells in self._unpacked.values() for c in cells)
        return unions + unpacked + sum(len(m.cells) + 200 for m in self._minutes)
