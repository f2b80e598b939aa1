"""Coverage of the past, coarse: which cells of 0.5 m were looked at, minute by minute.

A *minute* is what one agent looked at on one map in one minute of its clock: the cells whose centres were in view, and
those whose centres sight reached in free space. It hangs on an anchor and moves with it. Minutes lie packed (a few
hundred bytes). Up to 64 that follow each other have their union at hand, so that a query unpacks only those in which
it may find something.
"""

from __future__ import annotations

import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import bounds, compose, inverse, transform_box, transform_points, vec3
from r4_ros.core.model import NS_PER_S, Box, FloatArray, Pose
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.store import StoredCells

CELL_M = 0.5
MINUTE_NS = 60 * NS_PER_S
_TOGETHER = 64
_MOST_CELLS = 1 << 20
"""A union's box has no more cells than this, unless it is that of one minute."""
_MOST_UNPACKED = 256
_SHAPE = struct.Struct("<6i")

Cells = npt.NDArray[np.int64]
"""Cells [n, 3] by their numbers along x, y, z."""
Stamps = npt.NDArray[np.int64]


def cells_of(points: FloatArray) -> Cells:
    """The cells that hold points [n, 3]."""
    return np.asarray(np.floor(np.asarray(points) / CELL_M).astype(np.int64))


def centres_of(cells: Cells) -> FloatArray:
    """The centres [n, 3] of cells."""
    return np.asarray((cells + 0.5) * CELL_M)


@dataclass(frozen=True, slots=True)
class Block:
    """Two sets of cells as bits [2, x, y, z] of a box, whose first cell is ``low``: looked at, and reached by sight."""

    low: Cells
    bits: npt.NDArray[np.bool_]

    def has(self, cells: Cells, plane: int) -> npt.NDArray[np.bool_]:
        """Which of the cells [n, 3] are in a set."""
        at = cells - self.low
        size = self.bits.shape[1:]
        inside = np.asarray(((at >= 0) & (at < size)).all(axis=1))
        inside[inside] = self.bits[plane][tuple(at[inside].T)]
        return inside

    def cells(self, plane: int) -> Cells:
        """The cells of a set."""
        return np.asarray(np.argwhere(self.bits[plane]) + self.low)


NOTHING = Block(np.zeros(3, np.int64), np.zeros((2, 0, 0, 0), bool))


def block_of(looked: Cells, reached: Cells) -> Block:
    """Two sets of cells."""
    both = np.concatenate([looked, reached])
    if not len(both):
        return NOTHING
    low = both.min(axis=0)
    bits = np.zeros((2, *(both.max(axis=0) - low + 1)), bool)
    for plane, cells in enumerate((looked, reached)):
        bits[plane][tuple((cells - low).T)] = True
    return Block(low, bits)


def union(blocks: Sequence[Block]) -> Block:
    """All cells of several blocks."""
    blocks = [block for block in blocks if block.bits.size]
    if not blocks:
        return NOTHING
    low = np.min([block.low for block in blocks], axis=0)
    high = np.max([block.low + block.bits.shape[1:] for block in blocks], axis=0)
    bits = np.zeros((2, *(high - low)), bool)
    for block in blocks:
        (x, y, z), (nx, ny, nz) = block.low - low, block.bits.shape[1:]
        bits[:, x : x + nx, y : y + ny, z : z + nz] |= block.bits
    return Block(low, bits)


def pack(block: Block) -> bytes:
    """A block, small."""
    return _SHAPE.pack(*block.low, *block.bits.shape[1:]) + zlib.compress(np.packbits(block.bits).tobytes(), 6)


def unpack(blob: bytes) -> Block:
    """What ``pack`` made."""
    *low, x, y, z = _SHAPE.unpack(blob[: _SHAPE.size])
    packed = np.frombuffer(zlib.decompress(blob[_SHAPE.size :]), np.uint8)
    bits = np.unpackbits(packed, count=2 * x * y * z).reshape(2, x, y, z)
    return Block(np.array(low, np.int64), bits.astype(bool))


def placed(minute: StoredCells, anchor_pose: Pose) -> Block:
    """A minute's cells, with its anchor where it is now: those whose centres lie in one of them."""
    block = unpack(minute.cells)
    if anchor_pose == minute.anchor_pose or not block.bits.size:
        return block
    moved = compose(anchor_pose, inverse(minute.anchor_pose))
    size = np.array(block.bits.shape[1:]) * CELL_M
    low, high = bounds(transform_box(moved, Box(Pose(vec3(block.low * CELL_M + size / 2)), vec3(size))))
    axes = [np.arange(a, b + 1) for a, b in zip(*cells_of(np.stack([low, high])).tolist(), strict=True)]
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    before = cells_of(transform_points(inverse(moved), centres_of(cells)))
    looked, reached = (cells[block.has(before, plane)] for plane in (0, 1))
    return block_of(looked, reached)


def _box(blobs: Iterable[bytes]) -> int:
    """How many cells the box around packed blocks has."""
    shapes = np.array([_SHAPE.unpack(blob[: _SHAPE.size]) for blob in blobs])
    return int((np.max(shapes[:, :3] + shapes[:, 3:], axis=0) - shapes[:, :3].min(axis=0)).prod())


@dataclass(slots=True)
class _Group:
    """Minutes that follow each other, and what they saw together (None: to be added up anew)."""

    minutes: list[int]
    union: Block | None = None


class CoarseCoverage:
    """All minutes, by their own map."""

    def __init__(self, anchors: AnchorBook) -> None:
        self._anchors = anchors
        self._moves = anchors.moves
        self._minutes: list[StoredCells] = []
        self._placed: list[Pose] = []
        self._groups: dict[str, list[_Group]] = {}
        self._unpacked: OrderedDict[int, Block] = OrderedDict()

    def __len__(self) -> int:
        return len(self._minutes)

    def add(self, stored: StoredCells) -> None:
        """Take over a minute that was stored."""
        number = len(self._minutes)
        self._minutes.append(stored)
        self._placed.append(self._anchors.common_pose(stored.anchor_id))
        groups = self._groups.setdefault(stored.map_id, [])
        if not groups or not self._fits(groups[-1], stored):
            groups.append(_Group([]))
        groups[-1].minutes.append(number)
        groups[-1].union = None

    def _fits(self, group: _Group, stored: StoredCells) -> bool:
        if len(group.minutes) == _TOGETHER:
            return False
        return _box([stored.cells, *(self._minutes[n].cells for n in group.minutes)]) <= _MOST_CELLS

    def maps(self) -> set[str]:
        """The common maps that anything is known of."""
        return {self._anchors.common_map(m.anchor_id) for m in self._minutes}

    def last_looks(
        self, map_id: str, points: FloatArray, start_ns: int, end_ns: int, agents: Sequence[str], reached: bool
    ) -> Stamps:
        """When the cells of points [n, 3] were last looked at in [start, end), to the minute; -1 where they weren't.

        ``reached``: only what sight reached in free space counts.
        """
        self._follow_anchors()
        looked = np.full(len(points), -1, np.int64)
        for own in self._groups if self._anchors.alignments else (map_id,):
            looked = np.maximum(looked, self._looks_on(own, map_id, points, (start_ns, end_ns), agents, int(reached)))
        return looked

    def _looks_on(
        self, own: str, map_id: str, points: FloatArray, window: tuple[int, int], agents: Sequence[str], plane: int
    ) -> Stamps:
        """The same, for what was looked at on one agents' own map."""
        looked, cells = np.full(len(points), -1, np.int64), cells_of(points)
        start_ns, end_ns = window
        for group in reversed(self._groups.get(own, ())):
            if (looked >= 0).all():
                break
            if not self._in_time(group, start_ns, end_ns) or not self._union(group).has(cells[looked < 0], plane).any():
                continue
            for number in reversed(group.minutes):
                m, missing = self._minutes[number], np.flatnonzero(looked < 0)
                if m.until_ns < start_ns or m.start_ns >= end_ns or (agents and m.agent_id not in agents):
                    continue
                if self._anchors.common_map(m.anchor_id) != map_id:
                    continue
                seen = missing[self._block(number).has(cells[missing], plane)]
                looked[seen] = min(m.until_ns, end_ns - 1)
        return looked

    def _in_time(self, group: _Group, start_ns: int, end_ns: int) -> bool:
        return any(self._minutes[n].until_ns >= start_ns and self._minutes[n].start_ns < end_ns for n in group.minutes)

    def any_view(self, start_ns: int, end_ns: int, agents: Sequence[str]) -> bool:
        """Whether anything was looked at in [start, end)."""
        return any(
            m.until_ns >= start_ns and m.start_ns < end_ns and (not agents or m.agent_id in agents)
            for m in self._minutes
        )

    def _union(self, group: _Group) -> Block:
        if group.union is None:
            group.union = union([self._placed_block(n) for n in group.minutes])
        return group.union

    def _block(self, number: int) -> Block:
        """A minute, where it is by the anchors of now."""
        if number not in self._unpacked:
            self._unpacked[number] = self._placed_block(number)
            if len(self._unpacked) > _MOST_UNPACKED:
                self._unpacked.popitem(last=False)
        return self._unpacked[number]

    def _placed_block(self, number: int) -> Block:
        return placed(self._minutes[number], self._placed[number])

    def has(self, stored: StoredCells) -> bool:
        """Whether that minute of that agent is known."""
        key = (stored.agent_id, stored.map_id, stored.start_ns)
        return any((m.agent_id, m.map_id, m.start_ns) == key for m in self._minutes)

    def _follow_anchors(self) -> None:
        """Place anew the minutes whose anchors stand elsewhere now."""
        if self._moves == self._anchors.moves:
            return
        self._moves = self._anchors.moves
        for group in (group for groups in self._groups.values() for group in groups):
            for n in group.minutes:
                pose = self._anchors.common_pose(self._minutes[n].anchor_id)
                if pose != self._placed[n]:
                    self._placed[n], group.union = pose, None
                    self._unpacked.pop(n, None)

    def nbytes(self) -> int:
        """Memory taken."""
        unions = (group.union for groups in self._groups.values() for group in groups)
        blocks = [*self._unpacked.values(), *(block for block in unions if block is not None)]
        return sum(block.bits.nbytes for block in blocks) + sum(len(m.cells) + 200 for m in self._minutes)
