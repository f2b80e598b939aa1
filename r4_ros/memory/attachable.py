"""The part of the library for what observations bring along: pictures, and descriptions that come late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from r4_ros.core.errors import UnknownEntry
from r4_ros.core.model import Frame, Receipt
from r4_ros.memory.attachments import late_descriptions
from r4_ros.memory.correctable import Correctable
from r4_ros.memory.stored_words import StoredCrop


class Attachable(Correctable):
    """What a library needs for them; it sets these fields itself."""

    def _described(self, frame: Frame, frame_id: int, known: Mapping[int, str]) -> Receipt:
        """A known frame came again: take over the descriptions that it lacked, if it has any. ``known``: by index."""
        receipt = Receipt(frame.agent_id, frame.writer, frame.sequence, self._revision, 0)
        if all(o.description in ("", known.get(o.index, o.description)) for o in frame.observations):
            return receipt
        change = late_descriptions(frame, frame_id, self._store, self._index, self._cache, self._revision + 1)
        if change is None:
            return receipt
        self._store.write_descriptions(change)
        self._revision = change.revision
        self._index.apply([(c.before.entry if c.before else None, c.after) for c in change.entries])
        for c in change.entries:
            self._cache.put(c.after)
        self._said.hide()
        shown = [c.after.entry for c in change.entries if not self._said.is_hidden(c.after.slot)]
        return replace(receipt, revision=change.revision, changed=tuple(self._placed(shown)))

    def crop(self, entry_id: str) -> StoredCrop | None:
        """The newest picture of an entry that is still kept; None: there is none. Raises UnknownEntry."""
        with self._lock:
            slot = self._index.slots.get(entry_id)
            if slot is None or self._said.is_hidden(slot):
                raise UnknownEntry(f"there is no entry '{entry_id}'; r4 ask --json gives the ids of what it found")
            kept = (self._store.crop(part) for part in self._said.parts(slot))
            return max((crop for crop in kept if crop is not None), key=lambda crop: crop.stamp_ns, default=None)
