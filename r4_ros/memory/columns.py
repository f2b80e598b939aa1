"""Entries as numpy columns: derived from the store, loaded at start, updated in place. ``index.py`` asks them.

One slot number names an entry in the store, in every column and in the zones. Rows of intervals (stays, sightings,
presence) lie in tables of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import FOREVER, Entry, FloatArray, Interval, Presence
from r4_ros.memory.absences import Absences
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.attributes import current_attributes
from r4_ros.memory.boxes import half_axes
from r4_ros.memory.bulk import EntryBatch, VectorBatch
from r4_ros.memory.column_values import differs, presence_of, says_other, seen_values, sightings_of, stays_of
from r4_ros.memory.shares import ShareColumns
from r4_ros.memory.store import StoredEntry
from r4_ros.memory.tables import Codes, Column, Holders, PartTable, Table
from r4_ros.memory.vectors import TextVectors
from r4_ros.memory.zones import Spans, Zones

Mask = npt.NDArray[np.bool_]
Slots = npt.NDArray[np.int64]


class Columns:
    """Columns over all entries; see the constructor for their names."""

    def __init__(self, anchors: AnchorBook) -> None:
        self.anchors = anchors
        self.entries = Table(
            alive=(np.bool_, 0),
            agent=(np.int32, 0),
            map=(np.int32, 0),
            common=(np.int32, 0),
            session=(np.int32, 0),
            label=(np.int32, 0),
            description=(np.int32, 0),
            visibility=(np.int8, 0),
            motion=(np.int8, 0),
            gone=(np.bool_, 0),
            first_seen=(np.int64, 0),
            last_seen=(np.int64, 0),
        )
        self.stays = PartTable(
            start=(np.int64, 0),
            anchor=(np.int32, 0),
            local=(np.float64, 3),
            spread=(np.float32, 9),
            centre=(np.float64, 3),
            half=(np.float32, 3),
            shares=(np.int32, 0),
        )
        self.shares = ShareColumns()
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
        self.absences = Absences()
        self._entry_attributes: dict[int, tuple[tuple[str, str], ...]] = {}
        self.zones = Zones()
        self._hidden: frozenset[int] = frozenset()
        self._moved: tuple[Slots, Slots] | None = None

    def __len__(self) -> int:
        return len(self.slots) - self._aliases

    def load(self, batch: EntryBatch) -> None:
        """Take over entries from a store, in new slots; their vectors follow by ``load_vectors``."""
        labels = self.labels.code_all(batch.labels)
        descriptions = self.descriptions.code_all(batch.descriptions)
        if batch.label_vectors is not None and batch.description_vectors is not None:
            self.labels.expect(batch.label_vectors, labels)
            self.descriptions.expect(batch.description_vectors, descriptions)
        self._place(self._append(batch, labels, descriptions))

    def load_vectors(self, batch: VectorBatch) -> None:
        """Take over the vectors that entries were loaded with; others are left."""
        self.labels.take(batch)
        self.descriptions.take(batch)

    def loaded(self) -> None:
        """All entries and vectors were loaded."""
        self.labels.all_taken()
        self.descriptions.all_taken()
        slots = np.flatnonzero(self.entries["agent"] >= 0)
        if slots.size:
            self.zones.fill(slots, self._spans(slots, np.arange(self.stays.rows)))

    def apply(self, changes: Iterable[tuple[Entry | None, StoredEntry]]) -> None:
        """Take over entries as they are now; each with what was applied before (None: new, or was removed)."""
        changes = sorted(changes, key=lambda change: change[1].slot)
        if not changes:
            return
        self._admit([after for before, after in changes if before is None])
        slots = np.array([after.slot for _, after in changes], np.int64)
        rows = self._change(slots, changes)
        self._place(rows)
        self.zones.put(slots, self._spans(slots, rows))

    def _admit(self, new: Sequence[StoredEntry]) -> None:
        """Make room for new entries, of which nothing is known yet."""
        if not new:
            return
        self._make_rows(max(stored.slot for stored in new) + 1)
        for slot, entry in ((stored.slot, stored.entry) for stored in new):
            assert self.entries["agent"][slot] < 0
            self.ids[slot] = entry.entry_id
            self.slots[entry.entry_id] = slot
            self.entries["alive"][slot] = True
            self.entries["agent"][slot] = self.agents.code(entry.agent_id)
            self.entries["map"][slot] = self.maps.code(entry.map_id)
        self._tell_in_common(np.array([stored.slot for stored in new], np.int64))
        self._moved = None

    def _tell_in_common(self, slots: Slots) -> None:
        """In which map's coordinates entries of known agents and maps are told."""
        columns = self.entries
        columns["common"][slots] = columns["map"][slots]
        for a in self.anchors.alignments:
            owner = self.agents.find(a.agent_id), self.maps.find(a.map_id)
            some = slots[(columns["agent"][slots] == owner[0]) & (columns["map"][slots] == owner[1])]
            columns["common"][some] = self.maps.code(a.common_id)

    def _append(self, batch: EntryBatch, labels: Slots, descriptions: Slots) -> Slots:
        """Add entries; gives the rows of their stays."""
        slots, entries = batch.slots, self.entries
        assert (np.diff(slots) > 0).all() and (entries["agent"][slots[slots < entries.rows]] < 0).all()
        self._make_rows(int(slots[-1]) + 1)
        numbers = slots.tolist()
        self.slots.update(zip(batch.ids, numbers, strict=True))
        for slot, entry_id in zip(numbers, batch.ids, strict=True):
            self.ids[slot] = entry_id
        entries["alive"][slots] = True
        entries["agent"][slots] = self.agents.code_all(batch.agents)
        entries["map"][slots] = self.maps.code_all(batch.maps)
        self._tell_in_common(slots)
        entries["session"][slots], entries["label"][slots] = batch.sessions, labels
        entries["description"][slots] = descriptions
        entries["visibility"][slots], entries["motion"][slots] = batch.visibility, batch.motion
        entries["gone"][slots] = gone = batch.gone
        entries["first_seen"][slots], entries["last_seen"][slots] = batch.first_seen, batch.last_seen
        self._hold(slots, 1)
        for i, known in batch.attributes.items():
            self._index_attributes(int(slots[i]), known)
        for i, moved_from in batch.moved_from.items():
            self.successors[moved_from] = int(slots[i])
        self._moved = None
        for i in np.flatnonzero(gone).tolist():
            self.gone.setdefault(int(labels[i]), set()).add(int(slots[i]))
        for table, spans in ((self.sightings, batch.sightings), (self.presence, batch.presence)):
            begin = table.assign_new(slots, spans.counts)
            table["start"][begin:], table["end"][begin:] = spans.start, spans.end
        begin = self.stays.assign_new(slots, batch.stays.counts)
        self._write_stays(slice(begin, None), batch.stays.start, batch.stays.anchor, batch.stays.boxes)
        self.shares.put(self.stays["shares"], ((begin + i, shares) for i, shares in batch.stays.shares.items()))
        return np.arange(begin, self.stays.rows)

    def _make_rows(self, count: int) -> None:
        """Rows for slots, of which no entry has some."""
        missing = count - self.entries.rows
        if missing > 0:
            first = self.entries.extend(missing)
            self.entries["agent"][first:] = self.entries["map"][first:] = self.entries["common"][first:] = -1
            self.ids += [""] * missing

    def _change(self, slots: Slots, changes: Sequence[tuple[Entry | None, StoredEntry]]) -> Slots:
        """Take over entries that have rows; gives the rows of the stays that differ."""
        before, after = [entry for entry, _ in changes], [stored.entry for _, stored in changes]
        self._say(slots, before, after)
        self.entries["last_seen"][slots] = [entry.last_seen for entry in after]
        other = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a is None or differs(a, b)]
        if other:
            for name, values in seen_values([after[i] for i in other]).items():
                self.entries[name][slots[other]] = values
        for old, stored in changes:
            self._link(stored.slot, old, stored.entry)
        _write_spans(self.sightings, slots, map(sightings_of, before), map(sightings_of, after))
        some = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a is None or not _same_spans(a, b)]
        if some:
            parts = ([presence_of(entries[i]) for i in some] for entries in (before, after))
            _write_spans(self.presence, slots[some], *parts)
        rows, stays = self.stays.changed(slots, map(stays_of, before), map(stays_of, after))
        if stays:
            boxes = [(*s.box.pose.position, *s.box.pose.orientation, *s.box.extent) for s in stays]
            anchors = [stay.anchor_id for stay in stays]
            self._write_stays(rows, [stay.interval.start for stay in stays], anchors, np.array(boxes))
            self.shares.put(self.stays["shares"], zip(rows.tolist(), (stay.shares for stay in stays), strict=True))
        return rows

    def _say(self, slots: Slots, before: Sequence[Entry | None], after: Sequence[Entry]) -> None:
        """Labels and descriptions, where they or their vectors changed."""
        some = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a is None or says_other(a, b)]
        if not some:
            return
        entries = [after[i] for i in some]
        known = slots[[i for i in some if before[i] is not None]]
        self._hold(known[self.entries["alive"][known]], -1)
        slots = slots[some]
        for name, texts in (("label", self.labels), ("description", self.descriptions)):
            vectors = [getattr(e, f"{name}_embedding") for e in entries]
            self.entries[name][slots] = texts.code_all([getattr(e, name) for e in entries], vectors)
        self._hold(slots[self.entries["alive"][slots]], 1)

    def _hold(self, slots: Slots, sign: int) -> None:
        if not len(slots):
            return
        self.label_holders.add(self.entries["label"][slots], slots, sign)
        self.description_holders.add(self.entries["description"][slots], slots, sign)

    def _link(self, slot: int, before: Entry | None, entry: Entry) -> None:
        """What is looked up by attribute, by what is gone and by what a thing was before it moved."""
        if before is None or before.attributes is not entry.attributes:
            self._index_attributes(slot, current_attributes(entry.attributes))
        if before is not None and before.presence[-1].end != FOREVER:
            self.gone.get(self.labels.find(before.label), set()).discard(slot)
        if entry.presence[-1].end != FOREVER:
            self.gone.setdefault(self.labels.find(entry.label), set()).add(slot)
        moved_from = "" if before is None else before.moved_from
        if moved_from != entry.moved_from:
            self.successors.pop(moved_from, None)
        if entry.moved_from:
            self.successors[entry.moved_from] = slot
        if entry.moved_from or moved_from:
            self._moved = None

    def hide(self, slots: Collection[int]) -> None:
        """These entries, and no others, are in no answer; they are still there for association."""
        now = frozenset(slots)
        if now == self._hidden:
            return
        for changed, shown in ((now - self._hidden, False), (self._hidden - now, True)):
            some = np.array(sorted(changed), np.int64)
            some = some[(self.entries["agent"][some] >= 0) & (self.entries["alive"][some] != shown)]
            self._hold(some, 1 if shown else -1)
            self.entries["alive"][some] = shown
        self._hidden = now

    def _write_stays(
        self, rows: Slots | slice, start: Sequence[int] | Slots, anchor: Sequence[int] | Slots, boxes: FloatArray
    ) -> None:
        table = self.stays
        table["start"][rows], table["anchor"][rows] = start, anchor
        table["local"][rows], table["spread"][rows] = boxes[:, :3], half_axes(boxes)

    def _index_attributes(self, slot: int, known: tuple[tuple[str, str], ...]) -> None:
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
        """Where stays are in common coordinates, by their anchors."""
        where = span(rows)
        self.stays["centre"][where], self.stays["half"][where] = self.placed_stays(rows)

    def placed_stays(self, rows: Slots, own: bool = False) -> tuple[FloatArray, FloatArray]:
        """Centres [n, 3] and half the sizes [n, 3] of stays in common coordinates; ``own``: in their own maps."""
        stays, where = self.stays, span(rows)
        columns = stays["anchor"][where], stays["local"][where], stays["spread"][where]
        centre, half = self.anchors.place_boxes(*columns, own=own)
        blocks = stays["shares"][where]
        some = np.flatnonzero(blocks)
        if some.size:
            centre[some] = self.shares.placed(blocks[some], centre[some], partial(self.anchors.place, own=own))
        return centre, half

    def _spans(self, slots: Slots, placed: Slots) -> Spans:
        """Where entries (ascending) are now, and all that ``placed``, the changed rows of their stays, touch."""
        low, high = self._bounds(slots, placed)
        entries = self.entries
        times = entries["first_seen"][slots], entries["last_seen"][slots]
        return Spans(low, high, *times, entries["agent"][slots], entries["map"][slots])

    def centres(self, slots: Slots) -> FloatArray:
        """Where entries are now, [n, 3]."""
        return np.take(self.stays["centre"], np.take(self.stays.last, slots), axis=0)  # quicker than by brackets

    def corners(self, slots: Slots) -> tuple[FloatArray, FloatArray]:
        """Low and high corners [n, 3] of the boxes of entries, where they are now."""
        rows = self.stays.last[slots]
        centre, half = self.stays["centre"][rows], self.stays["half"][rows]
        return centre - half, centre + half

    def _bounds(self, slots: Slots, placed: Slots) -> tuple[FloatArray, FloatArray]:
        """The corners of the boxes around entries (ascending) where they are now, and around the placed rows."""
        stays = self.stays
        rows = span(stays.last[slots])
        centre, half = stays["centre"][rows], stays["half"][rows]
        low, high = centre - half, centre + half
        older = placed[stays.last[stays["slot"][placed]] != placed]
        if older.size:
            which = np.searchsorted(slots, stays["slot"][older])
            np.minimum.at(low, which, stays["centre"][older] - stays["half"][older])
            np.maximum.at(high, which, stays["centre"][older] + stays["half"][older])
        return low, high

    def remove(self, stored: StoredEntry) -> None:
        """Forget an entry; its slot stays empty."""
        slot, entry = stored.slot, stored.entry
        if self.entries["alive"][slot]:
            self._hold(np.array([slot]), -1)
        self.entries["alive"][slot] = False
        self.entries["agent"][slot] = self.entries["map"][slot] = self.entries["common"][slot] = -1
        self.zones.remove(np.array([slot]))
        for table in (self.stays, self.sightings, self.presence):
            table.assign(slot, 0, 0)
        del self.slots[entry.entry_id]
        self._index_attributes(slot, ())
        self.gone.get(self.labels.find(entry.label), set()).discard(slot)
        self.successors.pop(entry.moved_from, None)
        self._moved = None

    def alias(self, slot: int, entry_id: str, kept: int) -> None:
        """The id of an entry that isn't here names the one that it is a part of."""
        self._make_rows(slot + 1)
        names = [entry_id, *self._parts.pop(slot, ())]
        self._parts.setdefault(kept, []).extend(names)
        self.slots.update(dict.fromkeys(names, kept))
        self.absences.rename(slot, kept)
        self._aliases += 1
        self._moved = None

    def parts_of(self, slot: int) -> list[str]:
        """Ids of the entries that are parts of it."""
        return self._parts.get(slot, [])

    def moved(self) -> tuple[Slots, Slots]:
        """Slots of things that were seen elsewhere later, as other entries, and the slots of these."""
        if self._moved is None:
            known = [(self.slots[old], new) for old, new in self.successors.items() if old in self.slots]
            pairs = np.array(known, np.int64).reshape(-1, 2)
            self._moved = pairs[:, 0], pairs[:, 1]
        return self._moved

    def rename_parts(self, merged: Iterable[tuple[int, str, int]]) -> None:
        """The ids of all entries that are parts of others, with the slots of these, are these ones now."""
        for names in self._parts.values():
            for name in names:
                del self.slots[name]
        self._parts.clear()
        self._aliases = 0
        for slot, entry_id, kept in merged:
            self.alias(slot, entry_id, kept)

    def nbytes(self) -> int:
        """Memory taken by columns and vectors."""
        tables: Sequence[Table] = (self.entries, self.stays, self.shares, self.sightings, self.presence)
        texts = self.labels.nbytes() + self.descriptions.nbytes()
        held = self.label_holders.nbytes() + self.description_holders.nbytes()
        return sum(table.nbytes() for table in tables) + texts + held + self.zones.nbytes()


def span(numbers: Column) -> Column | slice:
    """Numbers, as a slice where they ascend and none is left out."""
    if len(numbers) and numbers[-1] - numbers[0] + 1 == len(numbers) and (np.diff(numbers) == 1).all():
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers


def _same_spans(before: Entry, after: Entry) -> bool:
    """Whether presence begins and ends as before, though the thing may have been seen since."""
    old, new = before.presence[-1], after.presence[-1]
    same = old.start == new.start and old.end == new.end
    return same and before.presence[:-1] == after.presence[:-1]


def _write_spans(
    table: PartTable,
    slots: Slots,
    before: Iterable[Sequence[Interval | Presence]],
    after: Iterable[Sequence[Interval | Presence]],
) -> None:
    rows, parts = table.changed(slots, before, after)
    table["start"][rows], table["end"][rows] = [p.start for p in parts], [p.end for p in parts]
