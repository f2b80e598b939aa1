"""A thing that moved while nobody looked: a gone entry and a new one that may be the same.

They are linked when exactly one gone entry and exactly one new one agree in label, size and what lasts (as voted, see
``attributes``), and no look-alike is unaccounted for (all others were seen since). Otherwise, and while votes are few
or divided, the new one says which gone ones it may be. Nothing is linked while the agent is unsettled.

A link is withdrawn, and the event void, when the gone entry is seen at its old place again, when labels or votes come
to say that they are two things, and when a look-alike comes to light that may have stood there all along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import FOREVER, Entry, Motion
from r4_ros.memory import happenings
from r4_ros.memory.attributes import agree, surely_agree
from r4_ros.memory.index import Index
from r4_ros.memory.stays import FrameContext
from r4_ros.memory.store import StoredEntry, StoredEvent
from r4_ros.memory.working import Working

_SIZE_FACTOR = 1.5
_MOST_LOOKALIKES = 64


class MoveFinder:
    """Links new entries with gone ones."""

    def __init__(self, index: Index, config: MemoryConfig) -> None:
        self._index, self._similarity = index, config.label_similarity

    def link(self, working: Working, slot: int, context: FrameContext) -> list[StoredEvent]:
        """After the entry in ``slot`` appeared or went: link it, or note what it may be."""
        asked = working.get(slot)
        if context.stamp_ns < context.absence_from:
            return []
        labels = self._index.labels.all_alike(asked.entry.label, asked.entry.label_embedding, self._similarity)
        if not any(map(self._index.gone.get, labels)) and not any(map(_is_gone, working.changed())):
            return []
        similar = self._lookalikes(working, asked.entry, labels)
        gone = [s for s in similar if _is_gone(s.entry) and s.entry.entry_id not in self._index.successors]
        self._reconsider(working, asked, similar, context)
        if not gone:
            return []
        earliest = min(s.entry.last_seen for s in gone)
        new = [s for s in similar if not _is_gone(s.entry) and not s.entry.moved_from and s.entry.first_seen > earliest]
        concerned = [s for s in new if _is_gone(asked.entry) or s.slot == slot]
        if not concerned:
            return []
        first = min(s.entry.first_seen for s in new)
        known = {s.slot for s in (*gone, *new)}
        unaccounted = [s for s in similar if s.slot not in known and s.entry.last_seen < first]
        if len(gone) == 1 and len(new) == 1 and not unaccounted and _same(gone[0], new[0]):
            return self._joined(working, gone[0], new[0], context)
        for s in concerned:
            candidates = tuple(g.entry.entry_id for g in gone if g.entry.last_seen < s.entry.first_seen)
            if candidates != s.entry.maybe_same_as:
                working.put(replace(s, entry=s.entry.evolve(maybe_same_as=candidates, revision=context.revision)))
        return []

    def may_link(self, entry: Entry) -> bool:
        """Whether a gone entry with this label is there that this one might be, judged at a glance."""
        gone = self._index.gone.get(self._index.labels.find(entry.label))
        if not gone or entry.moved_from:
            return False
        last_seen = self._index.entries["last_seen"]
        return any(last_seen[slot] < entry.first_seen for slot in gone)

    def unlink(self, working: Working, returned: Entry, context: FrameContext) -> None:
        """A gone entry is back: what was taken for it is something else."""
        slot = self._index.successors.get(returned.entry_id)
        if slot is not None:
            self._withdraw(working, working.get(slot), (), context)

    def check(self, working: Working, stored: StoredEntry, context: FrameContext) -> None:
        """After a sighting of an entry that is linked: withdraw the link if its votes speak against it by now."""
        slot = self._index.slots.get(stored.entry.moved_from)
        if slot is None:
            return
        old, labels = working.get(slot).entry, self._index.labels
        alike = labels.all_alike(old.label, old.label_embedding, self._similarity)
        same = stored.entry.label.casefold() == old.label.casefold() or labels.find(stored.entry.label) in alike
        if not same or not agree(old.attributes, stored.entry.attributes):
            self._withdraw(working, stored, (), context)

    def _reconsider(
        self, working: Working, new: StoredEntry, similar: Sequence[StoredEntry], context: FrameContext
    ) -> None:
        """A look-alike that wasn't known when a gone entry was linked, though it may have stood there: which is it?"""
        for other in similar:
            moved_from, entry = other.entry.moved_from, new.entry
            slot = self._index.slots.get(moved_from)
            if not moved_from or slot is None or other.slot == new.slot or _is_gone(entry) or entry.moved_from:
                continue
            began = entry.presence[0].start_earliest <= other.entry.first_seen < entry.first_seen
            if began and _resemble(old := working.get(slot).entry, entry) and old.last_seen < entry.first_seen:
                self._withdraw(working, other, (moved_from,), context)
                may_be = (*entry.maybe_same_as, moved_from)
                working.put(replace(new, entry=entry.evolve(maybe_same_as=may_be, revision=context.revision)))
                new = working.get(new.slot)

    def _withdraw(self, working: Working, stored: StoredEntry, may_be: tuple[str, ...], context: FrameContext) -> None:
        """Not linked any more; ``may_be``: the gone entries that it may be."""
        old = working.get(self._index.slots[stored.entry.moved_from]).entry
        event = happenings.linked_as_moved(old, stored.entry, stored.slot, context)
        working.voided.append(event.event.event_id)
        entry = stored.entry.evolve(moved_from="", maybe_same_as=may_be, revision=context.revision)
        working.put(replace(stored, entry=entry))

    def _joined(self, working: Working, old: StoredEntry, new: StoredEntry, context: FrameContext) -> list[StoredEvent]:
        entry = new.entry.evolve(
            moved_from=old.entry.entry_id,
            maybe_same_as=(),
            motion=max(Motion.MOVABLE, new.entry.motion),
            revision=context.revision,
        )
        working.put(replace(new, entry=entry))
        return [happenings.linked_as_moved(old.entry, entry, new.slot, context)]

    def _lookalikes(self, working: Working, entry: Entry, labels: Sequence[int]) -> list[StoredEntry]:
        """Entries of the same agent and map that look like this one, itself included; none where there are many."""
        index = self._index
        columns = index.entries
        mask = (columns["agent"] == index.agents.find(entry.agent_id)) & np.isin(columns["label"], labels)
        mask &= columns["alive"] & (columns["map"] == index.maps.find(entry.map_id))
        slots = set(np.flatnonzero(mask).tolist())
        slots |= {s.slot for s in working.added() if _same_kind(s.entry, entry)}
        if len(slots) > _MOST_LOOKALIKES:
            return []
        return [s for s in map(working.get, sorted(slots)) if _resemble(s.entry, entry)]


def _same(old: StoredEntry, new: StoredEntry) -> bool:
    """Whether the votes on what lasts speak for one thing."""
    return surely_agree(old.entry.attributes, new.entry.attributes)


def _is_gone(entry: Entry) -> bool:
    return entry.presence[-1].end != FOREVER


def _same_kind(a: Entry, b: Entry) -> bool:
    same_place = a.agent_id == b.agent_id and a.map_id == b.map_id
    return same_place and a.label.casefold() == b.label.casefold()


def _resemble(a: Entry, b: Entry) -> bool:
    """Sizes within a factor (what was seen in part may be larger), and no lasting attribute that says otherwise."""
    stays = sorted((a.stays[-1], b.stays[-1]), key=lambda stay: max(stay.box.extent))
    too_large = max(stays[1].box.extent) > _SIZE_FACTOR * max(stays[0].box.extent)
    if too_large and stays[0].whole:
        return False
    return agree(a.attributes, b.attributes)
