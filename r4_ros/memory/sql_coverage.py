"""What was looked at, in a store: frames that kept their depth, and the cells of past minutes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from r4_ros.core.model import View
from r4_ros.memory.codec import pack_pose, unpack_depth, unpack_pose
from r4_ros.memory.sql import Database
from r4_ros.memory.store import StoredCells, StoredView

_VIEWS = """SELECT frame_id, agent_id, camera, map_id, stamp_ns, until_ns, anchor_id, sensor_in_anchor, horizontal_fov,
    vertical_fov, min_depth, max_depth, rows, depth, settled
    FROM frame JOIN stream USING(stream_id) WHERE depth IS NOT NULL ORDER BY frame_id"""
_CELLS = "SELECT agent_id, map_id, start_ns, until_ns, anchor_id, anchor_pose, cells FROM coverage"
_ADD = """INSERT INTO coverage(agent_id, map_id, start_ns, until_ns, anchor_id, anchor_pose, cells)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""


class CoverageTable:
    """Reads and writes coverage; writing happens inside the caller's transaction."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def views(self) -> Iterator[StoredView]:
        """All frames that kept their depth, oldest first."""
        for row in self._file.iterate(_VIEWS):
            view = View(row[8], row[9], row[10], row[11], unpack_depth(row[13], row[12]))
            where = (row[0], row[1], row[2], row[3], row[4], row[5], row[6])
            yield StoredView(*where, unpack_pose(row[7]), view, bool(row[14]))

    def settle(self, cells: StoredCells, settled: Collection[int], dropped: Collection[int]) -> None:
        """Add a minute; mark the frames that it tells of, and drop the depth of others."""
        c = cells
        where = (c.agent_id, c.map_id, c.start_ns, c.until_ns, c.anchor_id)
        self._file.execute(_ADD, (*where, pack_pose(c.anchor_pose), c.cells))
        self._file.execute_many("UPDATE frame SET settled = 1 WHERE frame_id = ?", [(i,) for i in sorted(settled)])
        self._file.execute_many("UPDATE frame SET depth = NULL WHERE frame_id = ?", [(i,) for i in sorted(dropped)])

    def cells(self, numbers: Collection[int] | None = None) -> Iterator[StoredCells]:
        """All minutes, or those of some numbers, in the order in which they were stored."""
        among = "" if numbers is None else f" WHERE coverage_no IN ({', '.join(str(int(n)) for n in numbers)})"
        for row in self._file.iterate(f"{_CELLS}{among} ORDER BY coverage_no"):
            yield StoredCells(row[0], row[1], row[2], row[3], row[4], unpack_pose(row[5]), row[6])
