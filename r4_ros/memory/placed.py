"""Entries as perception and RViz need them: as they are now, in the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import rotate_covariance, rotate_covariances, transform_box
from r4_ros.core.model import FOREVER, IDENTITY, Entry, EntryState, PlacedEntry, TrailPoint
from r4_ros.memory.attributes import current_attributes
from r4_ros.memory.index import Index
from r4_ros.memory.presence import state_at
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.working import EntryCache


class Placer:
    """Places entries by the anchors of now."""

    def __init__(self, index: Index, sessions: Sessions, config: MemoryConfig) -> None:
        self._index, self._sessions, self._in_view_s = index, sessions, config.sighting_gap_s

    def placed(self, entries: Sequence[Entry], own: bool = False) -> list[PlacedEntry]:
        """The current state of each, in common coordinates; ``own``: in those of its own map."""
        if not entries:
            return []
        stays = [entry.stays[-1] for entry in entries]
        newest = {agent: self._sessions.newest(agent) for agent in {entry.agent_id for entry in entries}}
        now = {agent: session.newest_ns for agent, session in newest.items() if session is not None}
        anchors, numbers = self._index.anchors, [stay.anchor_id for stay in stays]
        turns = (anchors.rotations if own else anchors.common_rotations)[numbers]
        boxes = self._index.shown_boxes(entries, own)
        covariances = rotate_covariances(turns, [stay.position_covariance for stay in stays])
        return [
            PlacedEntry(
                entry_id=entry.entry_id,
                agent_id=entry.agent_id,
                revision=entry.revision,
                map_id=entry.map_id if own else anchors.common_map(stay.anchor_id),
                label=entry.label,
                box=box,
                position_covariance=covariance,
                state=state_at(
                    entry.presence, entry.last_seen, now.get(entry.agent_id, entry.last_seen), self._in_view_s
                ),
                motion=entry.motion,
                visibility=entry.visibility,
                confidence=entry.confidence,
                count=entry.count,
                first_seen=entry.first_seen,
                last_seen=entry.last_seen,
                description=entry.description,
                attributes=current_attributes(entry.attributes),
            )
            for entry, stay, box, covariance in zip(entries, stays, boxes, covariances, strict=True)
        ]

    def near(self, here: TrailPoint, limit: int, cache: EntryCache, common: bool = False) -> list[PlacedEntry]:
        """What is known on the map where an agent is, nearest first; other agents' things too: it may find them gone.

        What it found gone is so here. Its own things it should find gone itself, whatever others say. All is told in
        the coordinates of the agent's own map, as ``here`` is, or in ``common`` ones.
        """
        agent_id, alignments, columns = here.agent_id, self._index.anchors.alignments, self._index.entries
        where = alignments.in_common(agent_id, here.map_id, here.pose.position)
        map_code = self._index.maps.find(alignments.map_of(agent_id, here.map_id))
        slots = np.flatnonzero(columns["alive"] & (columns["common"] == map_code))
        distance = np.linalg.norm(self._index.centres(slots) - np.asarray(where), axis=1)
        others = columns["agent"][slots] != self._index.agents.find(agent_id)
        nearest = slots[np.lexsort((slots, distance, others))[:limit]]
        stored = cache.get_many(nearest.tolist())
        absences = self._index.absences
        with absences.within((agent_id,)):
            gone = [absences.end(s.slot, s.entry.last_seen, FOREVER) >= 0 for s in stored]
        placed = self.placed([s.entry for s in stored])
        found = [replace(p, state=EntryState.GONE) if g else p for p, g in zip(placed, gone, strict=True)]
        return found if common else self._on_own(agent_id, here.map_id, found)

    def _on_own(self, agent_id: str, own_map: str, found: list[PlacedEntry]) -> list[PlacedEntry]:
        """Entries in common coordinates, in those of an agent's own map."""
        alignments = self._index.anchors.alignments
        if alignments.of(agent_id, own_map) is None:
            return found
        to_own = alignments.in_own(agent_id, own_map, IDENTITY)
        return [
            replace(
                entry,
                map_id=own_map,
                box=transform_box(to_own, entry.box),
                position_covariance=rotate_covariance(to_own.orientation, entry.position_covariance),
            )
            for entry in found
        ]
