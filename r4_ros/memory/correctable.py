"""The part of the library that people correct."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from r4_ros.core.errors import StoreError
from r4_ros.core.model import CorrectionReceipt, CorrectionRecord, Entry, EntryCorrection, PlacedEntry
from r4_ros.memory.corrector import Corrector
from r4_ros.memory.index import Index
from r4_ros.memory.said import Said
from r4_ros.memory.store import CorrectionChange, MemoryStore
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
    _revision: int

    def correct(self, said: EntryCorrection, stamp_ns: int) -> CorrectionReceipt:
        """Take a person's word, said at a stamp (ns): what was seen and will be seen doesn't overwrite it.

        Raises UnknownEntry, InvalidArgument for what can't be, and StoreError where nothing could be stored.
        """
        with self._writing, self._lock:
            self._refuse_if_read_only()
            hidden = self._said.hidden()
            change = self._corrector.prepare(said, stamp_ns, self._revision + 1)
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

    def _apply(self, change: CorrectionChange) -> None:
        """Let queries see the entries of a correction that is stored."""
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

    def corrections(self) -> list[CorrectionRecord]:
        """All that was corrected, oldest first, also what was taken back."""
        with self._lock:
            return list(self._corrector.records)

    def agents_of(self, said: EntryCorrection) -> set[str]:
        """Whose entries a correction is about. Raises UnknownEntry, and InvalidArgument where nothing can be undone."""
        with self._lock:
            return self._corrector.agents_of(said)

    def _placed(self, entries: Sequence[Entry]) -> list[PlacedEntry]:
        raise NotImplementedError

    def _refuse_if_read_only(self) -> None:
        if self._store.read_only:
            raise StoreError(f"{self._store.path}: opened read-only; nothing was stored")
