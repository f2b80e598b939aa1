"""What people said of entries, while frames are worked in: it holds whatever the camera says.

A renamed entry is still found under the labels it was seen by. A pinned one isn't taken for what is seen elsewhere.
A forgotten one is out of all answers, yet sightings go on to be worked into it, so that it doesn't come back as another
one; once it wasn't seen for ``forget_gap_s``, what is seen there is new. Sightings of an entry that was merged into
another one go to that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import MEMORY, CorrectionKind, CorrectionRecord, Entry
from r4_ros.memory.index import Index
from r4_ros.memory.revise import PERSON, split_id
from r4_ros.memory.stays import FrameContext, Seen, has_moved, reach
from r4_ros.memory.working import EntryCache


class Said:
    """The corrections that hold, by slot."""

    def __init__(self, index: Index, cache: EntryCache, config: MemoryConfig) -> None:
        self._index, self._cache, self._config = index, cache, config
        self._forget_gap = nanoseconds(config.forget_gap_s)
        self._forgotten: set[int] = set()
        self._part_of: dict[int, int] = {}
        self._pinned: set[int] = set()
        self._renamed: set[int] = set()
        self._succeeded: dict[int, int] = {}
        self._spoken_of: set[int] = set()
        self._apart: set[frozenset[str]] = set()
        self._elsewhere: frozenset[str] = frozenset()

    def take(self, records: Iterable[CorrectionRecord]) -> None:
        """All corrections there are, oldest first."""
        for slots in (self._forgotten, self._part_of, self._pinned, self._renamed, self._succeeded, self._spoken_of):
            slots.clear()
        self._apart.clear()
        slot_of = self._index.slots
        for record in records:
            said = record.correction
            if said.remakes:
                continue
            if said.source == MEMORY:
                self._apart.add(frozenset((said.entry_id, said.other_id)))
                continue
            if said.kind is CorrectionKind.UNDO or record.undone_by < 0:
                continue
            slot = slot_of[said.entry_id]
            if not record.undone_by:
                self._spoken_of |= {slot_of[entry_id] for entry_id in record.entries}
            if said.kind is CorrectionKind.SPLIT and said.other_id:
                continue
            if said.kind is CorrectionKind.SPLIT:
                other = slot_of[split_id(said.entry_id, said.at_ns)]
                if record.undone_by:
                    self._part_of[other] = slot
                else:
                    self._part_of.pop(other, None)
                    self._succeeded[slot] = other
            elif record.undone_by:
                continue
            elif said.kind is CorrectionKind.MERGE:
                self._part_of[slot_of[said.other_id]] = slot
            else:
                {
                    CorrectionKind.RENAME: self._renamed,
                    CorrectionKind.PIN: self._pinned,
                    CorrectionKind.FORGET: self._forgotten,
                }[said.kind].add(slot)
        self.hide()

    def hide(self) -> None:
        """Take what is hidden out of the queries; anew after each change of the index."""
        self._index.hide(self.hidden())

    def hide_too(self, entry_ids: frozenset[str]) -> None:
        """Also these entries are in no answer: that was said to another memory."""
        self._elsewhere = entry_ids
        self.hide()

    @property
    def elsewhere(self) -> frozenset[str]:
        """Ids of entries that are hidden because of what was said to another memory."""
        return self._elsewhere

    def hidden(self) -> set[int]:
        """The slots of entries that no answer names."""
        slot_of = self._index.slots
        return self._forgotten | self._part_of.keys() | {slot_of[i] for i in self._elsewhere if i in slot_of}

    def is_hidden(self, slot: int) -> bool:
        """Whether no answer names it."""
        return (
            slot in self._forgotten
            or slot in self._part_of
            or (bool(self._elsewhere) and self._index.ids[slot] in self._elsewhere)
        )

    def spoken_of(self) -> set[int]:
        """The slots of entries that a correction holds for or that have hidden parts: only people merge these."""
        return self._spoken_of | self._forgotten | self._part_of.keys() | set(self._part_of.values())

    def divided(self, a: int, b: int) -> bool:
        """Whether the memory found out that these are two, be it taken back or not: it finds nothing else of them."""
        if not self._apart or max(a, b) >= len(self._index.ids):
            return False
        mine, theirs = ([self._index.ids[slot], *self._index.parts_of(slot)] for slot in (a, b))
        return any(frozenset((x, y)) in self._apart for x in mine for y in theirs)

    def told_apart(self) -> set[int]:
        """The slots of entries that the memory found out to be two, or took a merge of apart."""
        slots = self._index.slots
        return {slots[entry_id] for pair in self._apart for entry_id in pair if entry_id in slots}

    def parted(self, kept_id: str, merged_id: str) -> bool:
        """Whether the memory took a merge of the two apart once, be it taken back or not."""
        return frozenset((kept_id, merged_id)) in self._apart

    def is_pinned(self, slot: int) -> bool:
        """Whether it stays where it is."""
        return slot in self._pinned

    def never(self, context: FrameContext) -> set[int]:
        """Slots of the frame's agent that no sighting may be taken for."""
        never = {slot for slot in self._forgotten if self._is_over(slot, context)}
        never |= {old for old, new in self._succeeded.items() if self._near(old, new)}
        for part in self._part_of:
            whole = self._whole(part)
            if whole in never or not self._near(part, whole):
                never.add(part)
        return never

    def _is_over(self, slot: int, context: FrameContext) -> bool:
        entry = self._cache.get(slot).entry
        return entry.agent_id == context.agent_id and context.stamp_ns - entry.last_seen > self._forget_gap

    def _near(self, a: int, b: int) -> bool:
        low, high, centre = self._index.own_places(np.array([a, b]))
        return math.dist(*centre) < reach(self._config, float((high - low).max()))

    def _whole(self, slot: int) -> int:
        while slot in self._part_of:
            slot = self._part_of[slot]
        return slot

    def parts(self, slot: int) -> list[int]:
        """The slot and those of entries that people merged into it."""
        return [slot, *(part for part in sorted(self._part_of) if self._whole(part) == slot)]

    def tracked(self, seen: Sequence[Seen], tracked: Sequence[int | None], context: FrameContext) -> list[int | None]:
        """The slots of live tracks where they may be followed, and of renamed entries that are seen again."""
        result = self.resolved(seen, tracked, context)
        if not self._renamed:
            return result
        taken = {slot for slot in result if slot is not None} | self.never(context)
        map_code = self._index.maps.find(context.map_id)
        for slot in sorted(self._renamed - taken):
            if self._index.entries["map"][slot] != map_code:
                continue
            entry = self._cache.get(slot).entry
            free = [i for i, known in enumerate(result) if known is None and self._is(entry, seen[i], context)]
            if free and entry.agent_id == context.agent_id:
                _, _, [centre] = self._index.own_places(np.array([slot]))
                result[min(free, key=lambda i: math.dist(seen[i].centre, centre))] = slot
        return result

    def _is(self, entry: Entry, seen: Seen, context: FrameContext) -> bool:
        names = {name.casefold() for name, weight in entry.label_votes if weight != PERSON}
        if seen.observation.label.casefold() not in names:
            return False
        box = context.box(entry.stays[-1])
        limit = reach(self._config, max(*box.extent, *seen.extent))
        return math.dist(box.pose.position, seen.centre) < limit

    def resolved(self, seen: Sequence[Seen], matched: Sequence[int | None], context: FrameContext) -> list[int | None]:
        """Matches as people would have them: parts go to their whole, and nothing moves what is pinned."""
        if not (self._part_of or self._pinned or self._forgotten or self._succeeded):
            return list(matched)
        never = self.never(context)
        result: list[int | None] = []
        for one, slot in zip(seen, matched, strict=True):
            if slot is not None:
                slot = None if slot in never else self._whole(slot)
            if slot is not None and slot in self._pinned:
                slot = None if has_moved(self._cache.get(slot).entry.stays[-1], one, context) else slot
            result.append(slot)
        return result
