"""Pictures of entries in a store, within a budget: the oldest go first."""

from __future__ import annotations

from collections.abc import Sequence

from r4_ros.memory.sql import SET_META, Database
from r4_ros.memory.stored_words import StoredCrop

_DROPPED = "crops_dropped"


class CropTable:
    """Reads and writes pictures; writing happens inside the caller's transaction."""

    def __init__(self, file: Database) -> None:
        self._file = file
        self._bytes: int | None = None  # of all pictures; None: not counted yet

    def add(self, crops: Sequence[tuple[str, StoredCrop]], budget: int) -> None:
        """Keep pictures by their names, then drop the oldest down to so many bytes; a known name changes nothing."""
        if not crops:
            return
        total = self.total()
        for name, crop in crops:
            kept = self._file.execute(
                "INSERT INTO crop(name, slot, stamp_ns, jpeg) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING "
                "RETURNING length(jpeg)",
                (name, crop.slot, crop.stamp_ns, crop.jpeg),
            )
            total += kept[0][0] if kept else 0
        dropped = 0
        while total > budget:
            [(number, size)] = self._file.execute(
                "SELECT crop_no, length(jpeg) FROM crop ORDER BY stamp_ns, crop_no LIMIT 1"
            )
            self._file.execute("DELETE FROM crop WHERE crop_no = ?", (number,))
            total, dropped = total - size, dropped + 1
        if dropped:
            self._file.execute(SET_META, (_DROPPED, self.dropped() + dropped))
        self._bytes = total

    def newest(self, slot: int) -> StoredCrop | None:
        """The newest picture of an entry, or of one that became a part of it."""
        rows = self._file.execute(
            "SELECT crop.slot, stamp_ns, jpeg FROM crop JOIN entry USING(slot) WHERE crop.slot = ? OR merged_into = ? "
            "ORDER BY stamp_ns DESC, crop_no DESC LIMIT 1",
            (slot, slot),
        )
        return StoredCrop(*rows[0]) if rows else None

    def total(self) -> int:
        """Bytes of all pictures."""
        if self._bytes is None:
            [(self._bytes,)] = self._file.execute("SELECT coalesce(sum(length(jpeg)), 0) FROM crop")
        assert self._bytes is not None
        return self._bytes

    def dropped(self) -> int:
        """How many pictures had to go."""
        rows = self._file.execute("SELECT value FROM meta WHERE name = ?", (_DROPPED,))
        return int(rows[0][0]) if rows else 0

    def forget_unwritten(self) -> None:
        """A transaction failed: count again."""
        self._bytes = None
