"""A thing that moved while nobody looked: a gone entry and a new one that may be the same.

They are linked when exactly one gone entry and exactly one new one agree in label, size and attributes, and no
look-alike is unaccounted for (all others were seen since). Otherwise the new one says which gone ones it may be.
A link is withdrawn when the gone entry is seen at its old place again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import FOREVER, Entry, Motion
from r4_ros.memory import happenings
from r4_ros.memory.attributes import agree
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
        labels = self._index.labels.all_alike(asked.entry.label, asked.entry.label_embedding, self._similarity)
        if not any(map(self._index.gone.get, labels)) and not any(map(_is_gone, working.changed())):
            return []
        similar = self._lookalikes(working, asked.entry, labels)
        gone = [s for s in similar if _is_gone(s.entry) and s.entry.entry_id not in self._index.successors]
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
        if len(gone) == 1 and len(new) == 1 and not unaccounted:
            return self._joined(working, gone[0], new[0], context)
        for s in concerned:
            candidates = tuple(g.entry.entry_id for g in gone if g.entry.last_seen < s.entry.first_seen)
            if candidates != s.entry.maybe_same_as:
                working.put(replace(s, entry=s.entry.evolve(maybe_same_as=candidates, revision=context.revision)))
        return []

    def may_link(self, entry: Entry) -> bool:
        """Whether a gone entry with this label is there that this one might be, judged at a glance."""
        gone = self._index.gone.get(self._index.labels.find(entry.label), ())
        last_seen = self._index.entries["last_seen"]
        return not entry.moved_from and any(last_seen[slot] < entry.first_seen for slot in gone)

    def unlink(self, working: Working, returned: Entry, context: FrameContext) -> None:
        """A gone entry is back: what was taken for it is something else."""
        slot = self._index.successors.get(returned.entry_id)
        if slot is not None:
            other = working.get(slot)
            entry = other.entry.evolve(moved_from="", maybe_same_as=(), revision=context.revision)
            working.put(replace(other, entry=entry))

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
