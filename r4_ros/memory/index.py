"""What queries run over: entries as numpy columns. Derived from the store, rebuilt at start, updated in place.

One slot number names an entry in the store, in every column and in the grid. Rows of intervals (stays, sightings,
presence) lie in tables of their own. Results are exact.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import vec3
from r4_ros.core.model import FOREVER, Box, Entry, Float32Array, FloatArray, Interval, Presence, Stay
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.attributes import current_attributes
from r4_ros.memory.cosines import best
from r4_ros.memory.store import StoredEntry
from r4_ros.memory.tables import Codes, Holders, PartTable, Table
from r4_ros.memory.vectors import TextVectors
from r4_ros.memory.zones import Narrow, Spans, Zones

_SHARE_TO_SCAN = 6
"""From this share of all entries on (one in ...), all vectors are scanned in bytes; below, the candidates' are read."""

_MOST_CELLS = 1_000_000

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
        self.label_holders, self.description_holders = Holders(), Holders()
        self.ids: list[str] = []
        self.slots: dict[str, int] = {}
        self.attributes: dict[tuple[str, str], set[int]] = {}
        self.successors: dict[str, int] = {}
        self.gone: dict[int, set[int]] = {}
        self._parts: dict[int, list[str]] = {}
        self._aliases = 0
        self._entry_attributes: dict[int, tuple[tuple[str, str], ...]] = {}
        self.zones = Zones()
        self._cell_m = cell_m

    def __len__(self) -> int:
        return len(self.slots) - self._aliases

    def apply(self, changes: Iterable[tuple[Entry | None, StoredEntry]]) -> None:
        """Take over entries as they are now; each with what was applied before (None: new, in the next slot)."""
        changes = list(changes)
        new = [after for before, after in changes if before is None]
        rows = self._append(new) if new else []
        known = [(before, after) for before, after in changes if before is not None]
        rows += self._change(known) if known else []
        placed = np.array(rows, np.int64)
        self._place(placed)
        self._take_current(np.array(sorted(after.slot for _, after in changes), np.int64), placed)

    def _append(self, new: Sequence[StoredEntry]) -> list[int]:
        """Add entries; gives the rows of their stays."""
        entries = [stored.entry for stored in new]
        slots = np.array([stored.slot for stored in new], np.int64)
        assert slots[0] >= self.entries.rows and (np.diff(slots) > 0).all()
        self._make_rows(int(slots[-1]) + 1)
        for stored in new:
            self.ids[stored.slot] = stored.entry.entry_id
            self.slots[stored.entry.entry_id] = stored.slot
        for name, values in self._columns(entries).items():
            self.entries[name][slots] = values
        self._hold(slots, 1)
        for stored in new:
            self._link(stored.slot, None, stored.entry)
        for table, parts in (
            (self.sightings, [entry.sightings for entry in entries]),
            (self.presence, [entry.presence for entry in entries]),
        ):
            begin = table.assign_new(slots, np.array([len(p) for p in parts], np.int64))
            table["start"][begin:] = [i.start for part in parts for i in part]
            table["end"][begin:] = [i.end for part in parts for i in part]
        begin = self.stays.assign_new(slots, np.array([len(entry.stays) for entry in entries], np.int64))
        self._write_stays(slice(begin, None), [stay for entry in entries for stay in entry.stays])
        return list(range(begin, self.stays.rows))

    def _make_rows(self, count: int) -> None:
        """Rows for slots, of which no entry has some."""
        missing = count - self.entries.rows
        if missing > 0:
            first = self.entries.extend(missing)
            self.entries["agent"][first:] = self.entries["map"][first:] = -1
            self.ids += [""] * missing

    def _columns(self, entries: Sequence[Entry]) -> dict[str, list[Any]]:
        """What the columns say of entries, but for their places."""
        labels = self.labels.code_all([e.label for e in entries], [e.label_embedding for e in entries])
        descriptions = self.descriptions.code_all(
            [e.description for e in entries], [e.description_embedding for e in entries]
        )
        return {
            "alive": [True] * len(entries),
            "agent": [self.agents.code(e.agent_id) for e in entries],
            "map": [self.maps.code(e.map_id) for e in entries],
            "session": [e.session for e in entries],
            "label": labels,
            "description": descriptions,
            "visibility": [int(e.visibility) for e in entries],
            "motion": [int(e.motion) for e in entries],
            "gone": [e.presence[-1].end != FOREVER for e in entries],
            "first_seen": [e.first_seen for e in entries],
            "last_seen": [e.last_seen for e in entries],
        }

    def _change(self, changes: Sequence[tuple[Entry, StoredEntry]]) -> list[int]:
        """Take over entries that were known; gives the rows of the stays that differ."""
        slots = np.array([after.slot for _, after in changes], np.int64)
        self._hold(slots, -1)
        for name, values in self._columns([after.entry for _, after in changes]).items():
            self.entries[name][slots] = values
        self._hold(slots, 1)
        rows, stays = list[int](), list[Stay]()
        for before, after in changes:
            slot, entry = after.slot, after.entry
            self._link(slot, before, entry)
            self._write_intervals(self.sightings, slot, before.sightings, entry.sightings)
            self._write_intervals(self.presence, slot, before.presence, entry.presence)
            changed = _first_difference(before.stays, entry.stays)
            rows += self.stays.assign(slot, len(entry.stays), changed)
            stays += entry.stays[changed:]
        self._write_stays(rows, stays)
        return rows

    def _hold(self, slots: Slots, sign: int) -> None:
        self.label_holders.add(self.entries["label"][slots], slots, sign)
        self.description_holders.add(self.entries["description"][slots], slots, sign)

    def _link(self, slot: int, before: Entry | None, entry: Entry) -> None:
        """What is looked up by attribute, by what is gone and by what a thing was before it moved."""
        self._index_attributes(slot, entry)
        if before is not None and before.presence[-1].end != FOREVER:
            self.gone.get(self.labels.find(before.label), set()).discard(slot)
        if entry.presence[-1].end != FOREVER:
            self.gone.setdefault(self.labels.find(entry.label), set()).add(slot)
        if before is not None and before.moved_from != entry.moved_from:
            self.successors.pop(before.moved_from, None)
        if entry.moved_from:
            self.successors[entry.moved_from] = slot

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

    def _write_stays(self, rows: list[int] | slice, stays: Sequence[Stay]) -> None:
        if stays:
            table = self.stays
            table["start"][rows] = [stay.interval.start for stay in stays]
            table["end"][rows] = [stay.interval.end for stay in stays]
            table["anchor"][rows] = [stay.anchor_id for stay in stays]
            table["local"][rows] = [stay.box.pose.position for stay in stays]
            table["spread"][rows] = [_half_axes(stay.box) for stay in stays]

    def _index_attributes(self, slot: int, entry: Entry | None) -> None:
        known = () if entry is None else current_attributes(entry.attributes)
        now = tuple((name.casefold(), value.casefold()) for name, value in known)
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
        where = slice(None) if len(rows) == stays.rows else rows
        stays["centre"][where], stays["half"][where] = self.anchors.place_boxes(
            stays["anchor"][where], stays["local"][where], stays["spread"][where]
        )

    def _take_current(self, slots: Slots, placed: Slots) -> None:
        """Where entries (ascending) are now, and all that ``placed``, the changed rows of their stays, touch."""
        low, high = self._bounds(slots, placed)
        entries = self.entries
        times = entries["first_seen"][slots], entries["last_seen"][slots]
        self.zones.put(slots, Spans(low, high, *times, entries["agent"][slots], entries["map"][slots]))

    def _bounds(self, slots: Slots, placed: Slots) -> tuple[FloatArray, FloatArray]:
        """Put entries where their last stays are; gives the corners of the boxes around these and the placed ones."""
        entries, stays = self.entries, self.stays
        rows = stays.last[slots]
        centre, half = stays["centre"][rows], stays["half"][rows]
        low, high = centre - half, centre + half
        where = slice(None) if len(slots) == entries.rows else slots
        entries["centre"][where], entries["low"][where], entries["high"][where] = centre, low, high
        older = placed[stays.last[stays["slot"][placed]] != placed]
        if older.size:
            which = np.searchsorted(slots, stays["slot"][older])
            np.minimum.at(low, which, stays["centre"][older] - stays["half"][older])
            np.maximum.at(high, which, stays["centre"][older] + stays["half"][older])
        return low, high

    def near(self, agent: int, map_code: int, centres: FloatArray) -> Slots:
        """All slots within one cell's width of any of the centres [n, 3] (and some farther ones), ascending."""
        low, high = centres.min(axis=0) - 2 * self._cell_m, centres.max(axis=0) + 2 * self._cell_m
        slots, _ = self.zones.find(Narrow(vec3(low), vec3(high), agents=(agent,)))
        slots = np.sort(slots[self.entries["map"][slots] == map_code])
        cells = np.floor(self.entries["centre"][slots] / self._cell_m)
        return slots[_beside(cells, np.floor(centres / self._cell_m))]

    def beside(self, anchors: AnchorBook, moved: Mask) -> tuple[Index, Slots]:
        """The index as it is with these anchors, and the slots of what hangs on those ``moved`` (a mask by anchor id).

        This one stays as it is, for queries, until it takes the other one's places; nothing may be changed meanwhile.
        """
        other = copy.copy(self)
        other.anchors = anchors
        other.stays = self.stays.with_own("centre", "half")
        other.entries = self.entries.with_own("centre", "low", "high")
        owner = self.stays["slot"]
        rows = np.flatnonzero(moved[self.stays["anchor"]] & (owner >= 0))
        other._place(rows)
        concerned = np.zeros(self.entries.rows + 1, np.bool_)  # dead stays, of slot -1, ask for the last one
        concerned[owner[rows]] = True
        slots = np.flatnonzero(concerned)
        other.zones = self.zones.moved(slots, *other._bounds(slots, np.flatnonzero(concerned[owner])))
        return other, slots

    def take_places(self, other: Index) -> None:
        """Take over where everything stands from what ``beside`` made of this one."""
        self.stays, self.entries, self.zones = other.stays, other.entries, other.zones

    def box(self, stay: Stay) -> Box:
        """A stay's box in the map."""
        return Box(self.anchors.in_map(stay.anchor_id, stay.box.pose), stay.box.extent)

    def nearest(self, model: str, vector: Float32Array, limit: int, narrow: Narrow) -> tuple[Slots, Float32Array]:
        """The entries whose label or description is nearest in meaning, best first (ties by slot), with their cosines.

        Among those that are now inside the box (by their centres), were seen in the time and belong to the agents.
        """
        slots = None if narrow.is_open else self._inside(narrow)
        if slots is None or len(slots) > len(self) // _SHARE_TO_SCAN:
            slots = self._holding_nearest(model, vector, limit, slots)
        cosines = self.cosines(model, vector[None], slots)
        slots, cosines = best(slots, cosines, limit)
        return slots[cosines > -1], cosines[cosines > -1]

    def _inside(self, narrow: Narrow) -> Slots:
        slots, sure = self.zones.find(narrow)
        if narrow.low is not None:
            centre = self.entries["centre"][slots[sure:]]
            inside = ((centre >= narrow.low) & (centre <= narrow.high)).all(axis=1)
            slots = np.concatenate([slots[:sure], slots[sure:][inside]]) if sure else slots[inside]
        return np.sort(slots)

    def _holding_nearest(self, model: str, vector: Float32Array, limit: int, slots: Slots | None) -> Slots:
        """All slots (of the given ones, else of all) that hold one of the nearest labels or descriptions."""
        held: list[Slots] = []
        for texts, holders, column in (
            (self.labels, self.label_holders, "label"),
            (self.descriptions, self.description_holders, "description"),
        ):
            allowed: Mask = holders.counts > 0
            if slots is not None:
                allowed = np.zeros(len(texts.texts), bool)
                allowed[self.entries[column][slots]] = True
            codes = texts.nearest(model, vector, limit, None if allowed.all() else allowed)
            one_each = holders.only(codes) if slots is None else None
            held.append(self._holding(column, codes, len(texts.texts), slots) if one_each is None else one_each)
        return np.union1d(*held)

    def _holding(self, column: str, codes: Slots, count: int, slots: Slots | None) -> Slots:
        if not len(codes):
            return codes
        chosen = np.zeros(count, bool)
        chosen[codes] = True
        if slots is not None:
            return np.asarray(slots[chosen[self.entries[column][slots]]])
        return np.flatnonzero(chosen[self.entries[column]] & self.entries["alive"])

    def cosines(self, model: str, vectors: Float32Array, slots: Slots) -> Float32Array:
        """Best cosine of each slot's label or description with any of the vectors [n, d]; -1 where there is none."""
        columns = self.entries
        by_label = self.labels.similarities(model, vectors, columns["label"][slots])
        by_description = self.descriptions.similarities(model, vectors, columns["description"][slots])
        return np.maximum(by_label, by_description)

    def remove(self, stored: StoredEntry) -> None:
        """Forget an entry; its slot stays empty."""
        slot, entry = stored.slot, stored.entry
        self.entries["alive"][slot] = False
        self._hold(np.array([slot]), -1)
        self.entries["agent"][slot] = self.entries["map"][slot] = -1
        self.zones.remove(np.array([slot]))
        for table in (self.stays, self.sightings, self.presence):
            table.assign(slot, 0, 0)
        del self.slots[entry.entry_id]
        self._index_attributes(slot, None)
        self.gone.get(self.labels.find(entry.label), set()).discard(slot)
        self.successors.pop(entry.moved_from, None)

    def alias(self, slot: int, entry_id: str, kept: int) -> None:
        """The id of an entry that isn't here names the one that it is a part of."""
        self._make_rows(slot + 1)
        names = [entry_id, *self._parts.pop(slot, ())]
        self._parts.setdefault(kept, []).extend(names)
        self.slots.update(dict.fromkeys(names, kept))
        self._aliases += 1

    def nbytes(self) -> int:
        """Memory taken by columns and vectors."""
        tables: Sequence[Table] = (self.entries, self.stays, self.sightings, self.presence)
        texts = self.labels.nbytes() + self.descriptions.nbytes()
        held = self.label_holders.nbytes() + self.description_holders.nbytes()
        return sum(table.nbytes() for table in tables) + texts + held + self.zones.nbytes()


def _beside(cells: FloatArray, others: FloatArray) -> Mask:
    """Which cells [n, 3] are one of the others [m, 3] or touch one."""
    first = others.min(axis=0) - 1
    shape = (others.max(axis=0) - first + 2).astype(np.int64)
    if shape.prod(dtype=float) > _MOST_CELLS:
        return np.asarray((np.abs(cells[:, None] - others).max(axis=2) <= 1).any(axis=1))
    taken = np.zeros(shape, bool)
    taken[tuple((others - first).astype(np.int64).T)] = True
    for axis in range(3):
        ahead, behind = np.roll(taken, 1, axis), np.roll(taken, -1, axis)  # the outermost cells are free
        taken = taken | ahead | behind
    inside: Mask = ((cells >= first) & (cells < first + shape)).all(axis=1)
    inside[inside] = taken[tuple((cells[inside] - first).astype(np.int64).T)]
    return inside


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
