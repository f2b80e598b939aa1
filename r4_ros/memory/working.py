"""Entries while a frame is worked in: read through a bounded cache, changed aside, applied after the commit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable

from r4_ros.core.model import Entry
from r4_ros.memory.store import EntryChange, MemoryStore, StoredEntry

CACHE_ENTRIES = 50_000
COLLECTOR = (50_000, 20, 50)
"""Thresholds of the garbage collector in a process that keeps a memory: entries stay, so it rarely looks at them."""


class EntryCache:
    """The entries used last; others come from the store."""

    def __init__(self, store: MemoryStore, limit: int = CACHE_ENTRIES) -> None:
        self._store = store
        self._limit = limit
        self._entries: OrderedDict[int, StoredEntry] = OrderedDict()

    def get(self, slot: int) -> StoredEntry:
        """The entry of a slot, which must exist."""
        return self.get_many((slot,))[0]

    def get_many(self, slots: Collection[int]) -> list[StoredEntry]:
        """The entries of existing slots, in the given order; from the store at once where they aren't here."""
        missing = [slot for slot in slots if slot not in self._entries]
        read = {stored.slot: stored for stored in self._store.entries(missing)} if missing else {}
        found = [self._entries.get(slot) or read[slot] for slot in slots]
        for stored in found:
            self.put(stored)
        return found

    def put(self, stored: StoredEntry) -> None:
        """Take over an entry as it is now."""
        self._entries[stored.slot] = stored
        self._entries.move_to_end(stored.slot)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)


class Working:
    """The entries that a frame changes, before they are stored."""

    def __init__(self, cache: EntryCache, next_slot: int) -> None:
        self._cache = cache
        self._next_slot = next_slot
        self._before: dict[int, StoredEntry | None] = {}  # None: new
        self._after: dict[int, StoredEntry] = {}
        self.voided: list[str] = []
        """Ids of events that, as it turns out, never happened."""

    def load(self, slots: Collection[int]) -> None:
        """Have these entries at hand, which this frame hasn't changed yet."""
        self._before.update(zip(slots, self._cache.get_many(slots), strict=True))

    def get(self, slot: int) -> StoredEntry:
        """An entry as this frame has left it so far."""
        stored = self._after.get(slot) or self._before.get(slot)
        if stored is None:
            stored = self._before[slot] = self._cache.get(slot)
        return stored

    def new_slot(self) -> int:
        """The slot of a new entry."""
        slot = self._next_slot
        self._next_slot += 1
        self._before[slot] = None
        return slot

    def put(self, stored: StoredEntry) -> None:
        """Change an entry, or add one in a new slot."""
        if stored.slot not in self._before:
            self.load((stored.slot,))
        self._after[stored.slot] = stored

    def added(self) -> list[StoredEntry]:
        """The entries that are new with this frame."""
        return [self._after[slot] for slot, before in self._before.items() if before is None]

    def changed(self) -> Iterable[Entry]:
        """The entries that this frame changed or made so far, as they are now."""
        return (stored.entry for stored in self._after.values())

    def changes(self) -> tuple[EntryChange, ...]:
        """What to store, by slot."""
        return tuple(EntryChange(self._before[slot], self._after[slot]) for slot in sorted(self._after))
