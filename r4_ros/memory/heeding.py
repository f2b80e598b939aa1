"""What people corrected at a map server of a robot's things holds on the robot too, and the newer word on both.

A correction that came down is the robot's own from then on, under the name of the map server: on record, told to nobody
again, and taken back when it is taken back there; somebody here who takes it back takes it back there.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.model import CorrectionKind, CorrectionRecord, EntryCorrection
from r4_ros.memory import shares
from r4_ros.memory.alignable import MAP_SERVER
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.correctable import Correctable
from r4_ros.memory.heard import ServerWords

FROM_SERVER = f"{MAP_SERVER}: "
"""What the source begins with of corrections that came down."""
_REPLACED = (CorrectionKind.RENAME, CorrectionKind.PIN)
"""Of these the newest word of a thing holds."""


class Heeding(Correctable):
    """What a library needs for it; it sets these fields itself."""

    _anchors: AnchorBook

    def hear_corrections(self, words: ServerWords) -> int:
        """Do what others said at a map server of this robot's things; gives how many were done or taken back.

        What was said here later of the same holds on. What can't be done here is let be.
        """
        with self._writing, self._lock:
            made = self.correction_count
            hidden = self._said.elsewhere
            self._said.hide_too(frozenset())  # so that what is only hidden by now can be spoken of
            try:
                holding = {self.mark(record) for record, undone_ns in words.said if not undone_ns}
                copies = self._copies()
                for record, undone_ns in reversed(words.said):
                    mark = self.mark(record)
                    for number, source in copies.get(mark, ()) if undone_ns and mark not in holding else ():
                        if self._take_back(number, undone_ns, source):
                            copies = self._copies()
                for number in sorted(words.unsaid, reverse=True):
                    self._take_back(number, words.unsaid[number], MAP_SERVER)
                copies = self._copies()
                for record, undone_ns in words.said:
                    if not undone_ns and self.mark(record) not in copies and not self._is_older(record):
                        self._copy(record)
                        copies = self._copies()
            finally:
                self._said.hide_too(hidden)
            return self.correction_count - made

    @property
    def correction_count(self) -> int:
        """How many corrections are on record."""
        return len(self._corrector.records)

    def mark(self, record: CorrectionRecord) -> str:
        """What tells a correction from others, here and elsewhere, as text. Entries go by the ids of now."""
        said, index = record.correction, self._index
        ids = [index.ids[index.slots[i]] if i in index.slots else i for i in (said.entry_id, said.other_id)]
        return json.dumps([record.stamp_ns, int(said.kind), *ids, said.label, said.at_ns])

    def _copies(self) -> dict[str, list[tuple[int, str]]]:
        """Number and source of what came down, by its mark as of now: it changes with what is merged and parted."""
        found: dict[str, list[tuple[int, str]]] = {}
        for r in filter(is_from_server, self._corrector.records):
            found.setdefault(self.mark(r), []).append((r.correction_id, r.correction.source))
        return found

    def _copy(self, record: CorrectionRecord) -> None:
        said = record.correction
        slot = self._index.slots.get(said.entry_id)
        if said.position is not None and slot is not None:
            entry, aligned = self._cache.get(slot).entry, self._anchors.alignments
            said = replace(said, position=aligned.in_common(entry.agent_id, entry.map_id, said.position))
        with suppress(UnknownEntry, InvalidArgument):
            self.correct(replace(said, source=f"{FROM_SERVER}{said.source}"), record.stamp_ns)

    def _is_older(self, record: CorrectionRecord) -> bool:
        """Whether somebody here said the like of the same later, and that holds."""
        kind, ids = record.correction.kind, set(record.entries)
        same = (r for r in self._corrector.records if r.correction.kind is kind and not r.undone_by)
        return any(r.stamp_ns > record.stamp_ns and not is_from_server(r) and ids & set(r.entries) for r in same)

    def _take_back(self, number: int, stamp_ns: int, source: str) -> bool:
        made = self.correction_count
        if 0 < number <= made and not self._corrector.records[number - 1].undone_by:
            with suppress(InvalidArgument):  # somebody here built on it
                self.correct(EntryCorrection(CorrectionKind.UNDO, correction_id=number, source=source), stamp_ns)
        return self.correction_count > made

    def correct_beneath(self, said: EntryCorrection, stamp_ns: int) -> int:
        """Take a person's word that was said earlier than what may hold already; gives its number.

        A newer name or place stays on top: it is taken back, and said again. Raises UnknownEntry, InvalidArgument.
        """
        with self._writing, self._lock:
            again = self._later(said, stamp_ns)
            source = f"{said.source}, said earlier"
            for record in reversed(again):
                undo = EntryCorrection(CorrectionKind.UNDO, correction_id=record.correction_id, source=source)
                again[again.index(record)] = replace(record, correction=self._as_it_is(record))
                self.correct(undo, stamp_ns)
            number = self.correct(said, stamp_ns).correction_id
            for record in again:
                self.correct(record.correction, record.stamp_ns)
            return number

    def _later(self, said: EntryCorrection, stamp_ns: int) -> list[CorrectionRecord]:
        if said.kind not in _REPLACED:
            return []
        of_it = [r for r in self._corrector.records if said.entry_id in r.entries and not r.undone_by]
        of_it = [r for r in of_it if r.correction.kind is not CorrectionKind.UNDO]
        later = [r for r in of_it if r.correction.kind is said.kind and r.stamp_ns > stamp_ns]
        if later and of_it[-len(later) :] != later:
            raise InvalidArgument(f"'{said.entry_id}' was corrected later here, and more was built on that")
        return later

    def _as_it_is(self, record: CorrectionRecord) -> EntryCorrection:
        """A correction to be said again: a pin where the thing is pinned now."""
        if record.correction.kind is not CorrectionKind.PIN:
            return record.correction
        stay = self._cache.get(self._index.slots[record.correction.entry_id]).entry.stays[-1]
        return replace(record.correction, position=shares.box(stay, self._anchors.common_pose).pose.position)


def is_from_server(record: CorrectionRecord) -> bool:
    """Whether a map server said it."""
    return record.correction.source.startswith(MAP_SERVER)
