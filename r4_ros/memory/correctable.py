"""The part of the library that people correct."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.core.limits import check_place, check_words
from r4_ros.core.model import MEMORY, CorrectionReceipt, CorrectionRecord, Entry, EntryCorrection, PlacedEntry, Receipt
from r4_ros.memory.corrector import Corrector
from r4_ros.memory.divide import Divider
from r4_ros.memory.index import Index
from r4_ros.memory.said import Said
from r4_ros.memory.store import CorrectionChange, EntryChange, FrameChange, MemoryStore
from r4_ros.memory.working import EntryCache


class Correctable:
    """What a library needs to take corrections; it sets these fields itself."""

    _writing: threading.RLock
    """Held by whoever changes something, before ``_lock``; queries need that one only."""
    _lock: threading.RLock
    _store: MemoryStore
    _index: Index
    _cache: EntryCache
    _said: Said
    _corrector: Corrector
    _divider: Divider
    _revision: int

    def correct(self, said: EntryCorrection, stamp_ns: int) -> CorrectionReceipt:
        """Take a person's word, said at a stamp (ns): what was seen and will be seen doesn't overwrite it.

        Raises UnknownEntry, InvalidArgument for what can't be, and StoreError where nothing could be stored.
        """
        if said.source == MEMORY:
            raise InvalidArgument(f"'{MEMORY}' is the source of what the memory finds out itself; give another one")
        check_place(said.position, "the position")
        check_words(said.label, "a name")
        check_words(said.source, "a source")
        with self._writing, self._lock:
            self._refuse_if_read_only()
            return self._carry_out(self._corrector.prepare(said, stamp_ns, self._revision + 1))

    def _carry_out(self, change: CorrectionChange) -> CorrectionReceipt:
        """Store a correction and let queries see it. Raises StoreError; then nothing has changed."""
        hidden = self._said.hidden()
        self._store.write_correction(change)
        self._revision = change.revision
        self._apply(change)
        for c in change.entries:
            self._cache.put(c.after)
        self._corrector.applied(change)
        entries = change.entries[:1] if change.joined else change.entries
        shown = [c.after.entry for c in entries if not self._said.is_hidden(c.after.slot)]
        gone = [self._index.ids[slot] for slot in sorted(self._said.hidden() - hidden)]
        gone += [c.after.entry.entry_id for c in change.entries[1:] if change.joined]
        number = change.record.correction_id
        return CorrectionReceipt(number, change.revision, tuple(self._placed(shown)), tuple(gone))

    def _divide(self, change: FrameChange, receipt: Receipt) -> Receipt:
        """After a frame is stored: part what it proves to be two. Where that can't be stored, a later frame does."""
        for pair in self._divider.due(change):
            stamp = change.frame.stamp_ns
            planned = self._divider.plan(pair, stamp, self._revision + 1, self._corrector.next_number)
            if planned is None or planned.divided is None:
                continue
            try:
                done = self._carry_out(planned)
            except StoreError:
                self._divider.not_done(pair)
                continue
            changed = {e.entry_id: e for e in (*receipt.changed, *done.changed)}
            events = (*receipt.events, *(e.event for e in planned.divided.events))
            receipt = replace(receipt, revision=done.revision, changed=tuple(changed.values()), events=events)
        return receipt

    def _apply(self, change: CorrectionChange) -> None:
        """Let queries see the entries of a correction that is stored."""
        if change.record.correction.remakes and change.divided is not None:
            merged = {slot: kept for slot, _, kept in self._store.merged()} if change.divided.absences else {}
            for absence in change.divided.absences:
                self._index.absences.change(absence, merged.get(absence.slot, absence.slot))
            self._apply_remade(change.entries, [slot for slot, into in change.divided.parts if into is not None])
            return
        if change.rejoined or change.divided is not None:
            self._index.rename_parts(self._store.merged())
        if not (change.parted or change.joined):
            self._index.apply([(c.before.entry if c.before else None, c.after) for c in change.entries])
            return
        kept, part = change.entries
        assert kept.before is not None and part.before is not None
        if change.joined:
            self._index.remove(part.before)
            self._index.rename_parts(self._store.merged())
        else:
            self._index.rename_parts(self._store.merged())
            self._index.apply([(None, part.after)])
        self._index.apply([(kept.before.entry, kept.after)])

    def _apply_remade(self, changes: Sequence[EntryChange], parts: Sequence[int]) -> None:
        """The same of entries that were made anew; ``parts``: slots of those that are parts of others now."""
        agents = self._index.entries["agent"]
        for slot in parts:
            if agents[slot] >= 0:
                self._index.remove(self._cache.get(slot))
        self._index.rename_parts(self._store.merged())
        known = [c.after.slot < len(agents) and agents[c.after.slot] >= 0 for c in changes]
        pairs = zip(changes, known, strict=True)
        self._index.apply([(c.before.entry if c.before and here else None, c.after) for c, here in pairs])

    def corrections(self) -> list[CorrectionRecord]:
        """All that was corrected, oldest first, also what was taken back."""
        with self._lock:
            return list(self._corrector.records)

    def ids_beginning(self, text: str) -> list[str]:
        """Ids that begin like this, of entries and of what became part of one."""
        with self._lock:
            slots = self._index.slots
            return [i for i, slot in slots.items() if i.startswith(text) and not self._said.is_hidden(slot)]

    def agents_of(self, said: EntryCorrection) -> set[str]:
        """Whose entries a correction is about. Raises UnknownEntry, and InvalidArgument where nothing can be undone."""
        with self._lock:
            return self._corrector.agents_of(said)

    def _placed(self, entries: Sequence[Entry]) -> list[PlacedEntry]:
        raise NotImplementedError

    def _refuse_if_read_only(self) -> None:
        if self._store.read_only:
            raise StoreError(f"{self._store.path}: opened read-only; nothing was stored")
