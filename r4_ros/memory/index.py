"""What queries run over: entries as numpy columns. Derived from the store, rebuilt at start, updated in place.

One slot number names an entry in the store, in every column and in the grid. Rows of intervals (stays, sightings,
presence) lie in tables of their own. Results are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FOREVER, Box, Entry, FloatArray, Interval, Pose, Presence, Stay
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.attributes import current_attributes
from r4_ros.memory.store import StoredEntry
from r4_ros.memory.tables import Codes, PartTable, Table
from r4_ros.memory.vectors import TextVectors

Mask = npt.NDArray[np.bool_]
Slots = npt.NDArray[np.int64]


class Index:
    """Columns over all entries; see the constructor for their names."""

    def __init__(self, anchors: AnchorBook, cell_m: float) -> None:
        self.anchors = anchors
        self.entries = Table(
            alive=(np.bool_, 0),
            agent=(np.int32, 0),
            map=(np.int32, 0),
            session=(np.int32, 0),
            label=(np.int32, 0),
            description=(np.int32, 0),
            visibility=(np.int8, 0),
            motion=(np.int8, 0),
            gone=(np.bool_, 0),
            first_seen=(np.int64, 0),
            last_seen=(np.int64, 0),
            centre=(np.float64, 3),
            low=(np.float64, 3),
            high=(np.float64, 3),
        )
        self.stays = PartTable(
            start=(np.int64, 0),
            end=(np.int64, 0),
            anchor=(np.int32, 0),
            local=(np.float64, 3),
            spread=(np.float64, 9),
            centre=(np.float64, 3),
            half=(np.float64, 3),
        )
        self.sightings = PartTable(start=(np.int64, 0), end=(np.int64, 0))
        self.presence = PartTable(start=(np.int64, 0), end=(np.int64, 0))
        self.agents, self.maps = Codes(), Codes()
        self.labels, self.descriptions = TextVectors(), TextVectors()
        self.ids: list[str] = []
        self.slots: dict[str, int] = {}
        self.attributes: dict[tuple[str, str], set[int]] = {}
        self.successors: dict[str, int] = {}
        self.gone: dict[int, set[int]] = {}
        self._entry_attributes: dict[int, tuple[tuple[str, str], ...]] = {}
        self.grid = Grid(cell_m)

    def __len__(self) -> int:
        return len(self.slots)

    def apply(self, changes: Iterable[tuple[Entry | None, StoredEntry]]) -> None:
        """Take over entries as they are now; each with what was applied before (None: new)."""
        rows: list[int] = []
        slots: list[int] = []
        for before, after in changes:
            rows += self._apply_one(before, after)
            slots.append(after.slot)
        self._place(np.array(rows, np.int64))
        self._take_current(np.array(slots, np.int64))

    def _apply_one(self, before: Entry | None, stored: StoredEntry) -> list[int]:
        slot, entry = stored.slot, stored.entry
        if before is None:
            assert slot == self.entries.rows
            self.entries.extend(1)
            self.ids.append(entry.entry_id)
            self.slots[entry.entry_id] = slot
        values: dict[str, int] = {
            "alive": True,
            "agent": self.agents.code(entry.agent_id),
            "map": self.maps.code(entry.map_id),
            "session": entry.session,
            "label": self.labels.code(entry.label, entry.label_embedding),
            "description": self.descriptions.code(entry.description, entry.description_embedding),
            "visibility": entry.visibility,
            "motion": entry.motion,
            "gone": entry.presence[-1].end != FOREVER,
            "first_seen": entry.first_seen,
            "last_seen": entry.last_seen,
        }
        for name, value in values.items():
            self.entries[name][slot] = value
        self._index_attributes(slot, entry)
        if before is not None:
            self.gone.get(self.labels.find(before.label), set()).discard(slot)
        if values["gone"]:
            self.gone.setdefault(values["label"], set()).add(slot)
        if before is not None and before.moved_from != entry.moved_from:
            self.successors.pop(before.moved_from, None)
        if entry.moved_from:
            self.successors[entry.moved_from] = slot
        old_sightings = before.sightings if before else ()
        self._write_intervals(self.sightings, slot, old_sightings, entry.sightings)
        self._write_intervals(self.presence, slot, before.presence if before else (), entry.presence)
        changed = _first_difference(before.stays if before else (), entry.stays)
        rows = self.stays.assign(slot, len(entry.stays), changed)
        for stay, row in zip(entry.stays[changed:], rows, strict=True):
            self._write_stay(row, stay)
        return rows

    def _write_intervals(
        self,
        table: PartTable,
        slot: int,
        old: tuple[Interval, ...] | tuple[Presence, ...],
        new: tuple[Interval, ...] | tuple[Presence, ...],
    ) -> None:
        changed = _first_difference(old, new)
        for i, row in enumerate(table.assign(slot, len(new), changed), start=changed):
            table["start"][row], table["end"][row] = new[i].start, new[i].end

    def _write_stay(self, row: int, stay: Stay) -> None:
        stays = self.stays
        stays["start"][row], stays["end"][row] = stay.interval.start, stay.interval.end
        stays["anchor"][row] = stay.anchor_id
        stays["local"][row] = stay.box.pose.position
        stays["spread"][row] = _half_axes(stay.box)

    def _index_attributes(self, slot: int, entry: Entry) -> None:
        now = tuple((name.casefold(), value.casefold()) for name, value in current_attributes(entry.attributes))
        old = self._entry_attributes.get(slot, ())
        if now == old:
            return
        for key in old:
            self.attributes[key].discard(slot)
        for key in now:
            self.attributes.setdefault(key, set()).add(slot)
        self._entry_attributes[slot] = now

    def _place(self, rows: Slots) -> None:
        """Map places of stays, from their anchors."""
        stays = self.stays
        anchor = stays["anchor"][rows]
        stays["centre"][rows] = self.anchors.place(anchor, stays["local"][rows])
        axes = stays["spread"][rows].reshape(-1, 3, 3)
        stays["half"][rows] = np.abs(self.anchors.rotations[anchor] @ axes).sum(axis=2)

    def _take_current(self, slots: Slots) -> None:
        entries, rows = self.entries, self.stays.last[slots]
        centre, half = self.stays["centre"][rows], self.stays["half"][rows]
        entries["centre"][slots] = centre
        entries["low"][slots], entries["high"][slots] = centre - half, centre + half
        self.grid.put(slots, entries["agent"][slots], entries["map"][slots], centre)

    def box(self, stay: Stay) -> Box:
        """A stay's box in the map."""
        return Box(self.anchors.in_map(stay.anchor_id, stay.box.pose), stay.box.extent)

    def pose_of(self, slot: int) -> Pose:
        """Position of an entry's centre, as a pose without rotation."""
        x, y, z = self.entries["centre"][slot]
        return Pose((float(x), float(y), float(z)))

    def nbytes(self) -> int:
        """Memory taken by columns and vectors."""
        tables: Sequence[Table] = (self.entries, self.stays, self.sightings, self.presence)
        return sum(t.nbytes() for t in tables) + self.labels.nbytes() + self.descriptions.nbytes()


class Grid:
    """Which slots have their centre in which cell, so that what is near is found without looking at all."""

    def __init__(self, cell_m: float) -> None:
        self._cell_m = cell_m
        self._cells: dict[tuple[int, ...], set[int]] = {}
        self._cell_of: dict[int, tuple[int, ...]] = {}

    def put(
        self, slots: Slots, agents: npt.NDArray[np.int32], maps: npt.NDArray[np.int32], centres: FloatArray
    ) -> None:
        """(Re)place slots."""
        cells = np.floor(centres / self._cell_m).astype(np.int64)
        keys = np.column_stack([agents, maps, cells]).tolist()
        for slot, key in zip(slots.tolist(), map(tuple, keys), strict=True):
            old = self._cell_of.get(slot)
            if old == key:
                continue
            if old is not None:
                self._cells[old].discard(slot)
            self._cells.setdefault(key, set()).add(slot)
            self._cell_of[slot] = key

    def near(self, agent: int, map_code: int, centres: FloatArray) -> Slots:
        """All slots within one cell's width of any of the centres [n, 3] (and some farther ones), ascending."""
        cells = np.floor(centres / self._cell_m).astype(np.int64)
        wanted = {tuple(row) for row in (cells[:, None, :] + _NEIGHBOURS).reshape(-1, 3).tolist()}
        found: set[int] = set()
        for cell in wanted:
            found |= self._cells.get((agent, map_code, *cell), _NOTHING)
        return np.array(sorted(found), np.int64)


_NEIGHBOURS = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)])
_NOTHING: frozenset[int] = frozenset()


def _half_axes(box: Box) -> tuple[Any, ...]:
    """The box's three half axes as the columns of a matrix [9], in its parent frame."""
    x, y, z, w = box.pose.orientation
    a, b, c = (e / 2 for e in box.extent)
    return (
        (1 - 2 * (y * y + z * z)) * a,
        2 * (x * y - z * w) * b,
        2 * (x * z + y * w) * c,
        2 * (x * y + z * w) * a,
        (1 - 2 * (x * x + z * z)) * b,
        2 * (y * z - x * w) * c,
        2 * (x * z - y * w) * a,
        2 * (y * z + x * w) * b,
        (1 - 2 * (x * x + y * y)) * c,
    )


def _first_difference(old: tuple[object, ...], new: tuple[object, ...]) -> int:
    """How many leading parts are equal."""
    shared = min(len(old), len(new))
    if old[:shared] == new[:shared]:
        return shared
    return next(i for i in range(shared) if old[i] != new[i])
