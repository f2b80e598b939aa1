"""From a person's word to what it changes. Nothing is stored here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.geometry import compose, inverse
from r4_ros.core.model import (
    MEMORY,
    CorrectionKind,
    CorrectionRecord,
    Embedding,
    Entry,
    EntryCorrection,
    Pose,
    Vec3,
)
from r4_ros.core.ports import Embedder
from r4_ros.memory import revise
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.codec import as_stored
from r4_ros.memory.index import Index
from r4_ros.memory.merge_records import MergeRecord
from r4_ros.memory.said import Said
from r4_ros.memory.store import CorrectionChange, EntryChange, MemoryStore, StoredEntry
from r4_ros.memory.working import EntryCache


class Corrector:
    """Works corrections out. ``records``: all that were made, oldest first."""

    def __init__(
        self,
        store: MemoryStore,
        index: Index,
        cache: EntryCache,
        anchors: AnchorBook,
        said: Said,
        embedder: Embedder | None,
    ) -> None:
        self._store, self._index, self._cache, self._anchors = store, index, cache, anchors
        self._said, self._embedder = said, embedder
        self.records: list[CorrectionRecord] = list(store.corrections())
        said.take(self.records)

    def prepare(
        self, said: EntryCorrection, stamp_ns: int, revision: int, merges: Sequence[MergeRecord] | None = None
    ) -> CorrectionChange:
        """What a correction changes. ``merges``: all there are, where known. Raises UnknownEntry, InvalidArgument."""
        parted = joined = rejoined = 0
        if said.kind is CorrectionKind.UNDO:
            record = self._to_undo(said)
            if record.correction.divides:
                said, changes, rejoined = self._rejoined(said, record)
            else:
                said, changes, joined = self._undo(said, record)
        elif _is_part(said):
            said, changes, parted = self._part(said, self._store.merges() if merges is None else merges)
        else:
            said = self._named(said)
            changes = {
                CorrectionKind.RENAME: self._rename,
                CorrectionKind.MERGE: self._merge,
                CorrectionKind.SPLIT: self._split,
                CorrectionKind.PIN: self._pin,
                CorrectionKind.FORGET: self._forget,
            }[said.kind](said)
        dated = tuple(EntryChange(c.before, _dated(c.after, revision)) for c in changes)
        ids = tuple(c.after.entry.entry_id for c in dated)
        record = CorrectionRecord(self.next_number, stamp_ns, said, ids)
        return CorrectionChange(revision, record, dated, parted, joined, rejoined=rejoined)

    @property
    def next_number(self) -> int:
        """Of the correction that comes next."""
        return len(self.records) + 1

    def applied(self, change: CorrectionChange) -> None:
        """Remember a correction that was stored, once the index has its entries."""
        record = change.record
        if record.correction.kind is CorrectionKind.UNDO:
            undone = record.correction.correction_id - 1
            self.records[undone] = replace(self.records[undone], undone_by=record.correction_id)
        self.records.append(record)
        self._said.take(self.records)

    def agents_of(self, said: EntryCorrection) -> set[str]:
        """Whose entries it is about. Raises UnknownEntry and InvalidArgument."""
        if said.kind is CorrectionKind.UNDO:
            slots = [self._index.slots[entry_id] for entry_id in self._to_undo(said).entries]
            return {self._cache.get(slot).entry.agent_id for slot in slots}
        ids = (said.entry_id, said.other_id) if said.kind is CorrectionKind.MERGE else (said.entry_id,)
        if _is_part(said):
            ids = (self._index.ids[self._index.slots[said.other_id]] if said.other_id in self._index.slots else "",)
        return {self._entry(entry_id).entry.agent_id for entry_id in ids}

    def _named(self, said: EntryCorrection) -> EntryCorrection:
        """With the ids of now: an entry that proved to be a part of another one goes by that one's."""
        index = self._index
        ids = [index.ids[index.slots[i]] if i in index.slots else i for i in (said.entry_id, said.other_id)]
        return replace(said, entry_id=ids[0], other_id=ids[1])

    def _entry(self, entry_id: str) -> StoredEntry:
        slot = self._index.slots.get(entry_id)
        if slot is None or self._said.is_hidden(slot):
            raise UnknownEntry(f"there is no entry '{entry_id}'")
        return self._cache.get(slot)

    def _rename(self, said: EntryCorrection) -> list[EntryChange]:
        if not said.label.strip():
            raise InvalidArgument("a new name must not be empty")
        before = self._entry(said.entry_id)
        return [
            EntryChange(
                before, replace(before, entry=revise.renamed(before.entry, said.label, self._vector(said.label)))
            )
        ]

    def _vector(self, label: str) -> Embedding | None:
        if self._embedder is None:
            return None
        return Embedding(self._embedder.name, as_stored(self._embedder.embed([label])[0]))

    def _pin(self, said: EntryCorrection) -> list[EntryChange]:
        before = self._entry(said.entry_id)
        local = None if said.position is None else self._in_anchor(before.entry, said.position)
        return [EntryChange(before, replace(before, entry=revise.pinned(before.entry, local)))]

    def _in_anchor(self, entry: Entry, position: Vec3) -> Vec3:
        return compose(inverse(self._anchors.common_pose(entry.stays[-1].anchor_id)), Pose(position)).position

    def _forget(self, said: EntryCorrection) -> list[EntryChange]:
        before = self._entry(said.entry_id)
        return [EntryChange(before, before)]

    def _merge(self, said: EntryCorrection) -> list[EntryChange]:
        kept, other = self._entry(said.entry_id), self._entry(said.other_id)
        if kept.slot == other.slot:
            raise InvalidArgument(f"'{said.entry_id}' can't be merged with itself")
        if (kept.entry.agent_id, kept.entry.map_id) != (other.entry.agent_id, other.entry.map_id):
            raise InvalidArgument(
                "only entries of one agent on one map can be merged; others are joined when they are read"
            )
        after = replace(kept, entry=revise.merged(kept.entry, other.entry))
        return [EntryChange(kept, after), EntryChange(other, other)]

    def _split(self, said: EntryCorrection) -> list[EntryChange]:
        before = self._entry(said.entry_id)
        first, second = revise.split(before.entry, said.at_ns)
        known = self._index.slots.get(second.entry_id)
        slot = self._index.entries.rows if known is None else known
        return [
            EntryChange(before, StoredEntry(before.slot, first)),
            EntryChange(None if known is None else self._cache.get(known), StoredEntry(slot, second)),
        ]

    def _part(
        self, said: EntryCorrection, merges: Sequence[MergeRecord]
    ) -> tuple[EntryCorrection, list[EntryChange], int]:
        """What was merged because it proved to be one, and wasn't: two again. What was seen since stays with the one.

        Gives also the number of the merge.
        """
        merges = [m for m in merges if not m.undone_by]
        found = next((m for m in merges if m.merged_id == said.other_id), None)
        if found is None:
            raise InvalidArgument(f"'{said.other_id}' isn't a part of another entry; see r4 db correct merges")
        later = [m for m in merges if m.merge_no > found.merge_no and found.kept_id in (m.kept_id, m.merged_id)]
        if later:
            raise InvalidArgument(f"part '{later[-1].merged_id}' first: it was merged after '{found.merged_id}'")
        divided = [r for r in self.records if r.correction.divides and not r.undone_by and found.kept_id in r.entries]
        if divided:
            raise InvalidArgument(f"take back correction {divided[-1].correction_id} first: it divided this entry")
        now = self._entry(found.kept_id)
        if found.kept_after is None:
            raise InvalidArgument("an older version merged these and didn't keep what it would take")
        kept = revise.taken_back(found.kept_before, found.kept_after, now)
        said = replace(said, entry_id=found.kept_id)
        return said, [EntryChange(now, kept), EntryChange(found.merged, found.merged)], found.merge_no

    def _rejoined(
        self, said: EntryCorrection, record: CorrectionRecord
    ) -> tuple[EntryCorrection, list[EntryChange], int]:
        """What the memory divided, as it was before. Gives also the number of the correction that did it."""
        since = self._store.corrected(record.correction_id)
        revision, ids = since[0].after.entry.revision, set(record.entries)
        merged = [m for m in self._store.merges() if not m.undone_by and m.revision > revision]
        if later := [m for m in merged if ids & {m.kept_id, m.merged_id}]:
            raise InvalidArgument(f"part '{later[-1].merged_id}' first: it was merged after this")
        said = replace(said, correction_id=record.correction_id, entry_id=record.correction.entry_id)
        return said, [self._taken_back(change) for change in since], record.correction_id

    def _undo(self, said: EntryCorrection, record: CorrectionRecord) -> tuple[EntryCorrection, list[EntryChange], int]:
        """Gives also the number of the merge that is made again by it; 0: none."""
        changes = self._store.corrected(record.correction_id)
        kind, joined = record.correction.kind, 0
        if kind is CorrectionKind.SPLIT and _is_part(record.correction):
            undone = [m.merge_no for m in self._store.merges() if m.undone_by == record.correction_id]
            made, joined = self._unsplit(changes, rejoined=True), undone[0]
        elif kind is CorrectionKind.SPLIT:
            made = self._unsplit(changes)
        elif kind is CorrectionKind.FORGET:
            made = [self._same(changes[0])]
        else:
            made = [self._taken_back(changes[0]), *map(self._same, changes[1:])]
        said = replace(said, correction_id=record.correction_id, entry_id=record.correction.entry_id)
        return said, made, joined

    def _to_undo(self, said: EntryCorrection) -> CorrectionRecord:
        """What is to be taken back: of this number, or the memory's own of these entries, or what was said last."""
        correction_id = said.correction_id
        if not correction_id and said.other_id:
            ids = (said.entry_id, said.other_id)
            own = [r for r in self.records if (r.correction.entry_id, r.correction.other_id) == ids]
            correction_id = next((r.correction_id for r in reversed(own) if r.correction.source == MEMORY), -1)
        words = (r for r in self.records if not r.correction.remakes)
        open_ones = [r for r in words if not r.undone_by and r.correction.kind is not CorrectionKind.UNDO]
        found = [r for r in open_ones if correction_id in (0, r.correction_id)]
        if not found:
            raise InvalidArgument(
                f"there is no correction {correction_id or ''} that could be taken back".replace("  ", " ")
            )
        record = found[-1]
        later = [
            r for r in open_ones if r.correction_id > record.correction_id and set(r.entries) & set(record.entries)
        ]
        if later:
            first = later[-1].correction_id
            raise InvalidArgument(f"take back correction {first} first: it builds on {record.correction_id}")
        return record

    def _now(self, change: EntryChange) -> StoredEntry:
        return self._cache.get(self._index.slots[change.after.entry.entry_id])

    def _same(self, change: EntryChange) -> EntryChange:
        now = self._now(change)
        return EntryChange(now, now)

    def _taken_back(self, change: EntryChange) -> EntryChange:
        now = self._now(change)
        assert change.before is not None
        return EntryChange(now, revise.taken_back(change.before, change.after, now))

    def _unsplit(self, changes: Sequence[EntryChange], rejoined: bool = False) -> list[EntryChange]:
        """As before, where nothing was seen since; else the two as one. ``rejoined``: the second was a part before."""
        first, second = (self._now(change) for change in changes)
        before = changes[0].before
        assert before is not None
        untouched = all(now.entry == change.after.entry for now, change in zip((first, second), changes, strict=True))
        entry = (
            before.entry
            if untouched
            else revise.merged(first.entry, second.entry)
            if rejoined
            else revise.merged(second.entry, first.entry).evolve(
                entry_id=first.entry.entry_id, moved_from=before.entry.moved_from
            )
        )
        return [EntryChange(first, replace(first, entry=entry)), EntryChange(second, second)]


def _is_part(said: EntryCorrection) -> bool:
    """Whether it takes a merge apart."""
    return said.kind is CorrectionKind.SPLIT and bool(said.other_id) and not said.divides


def _dated(stored: StoredEntry, revision: int) -> StoredEntry:
    return replace(stored, entry=stored.entry.evolve(revision=revision))
