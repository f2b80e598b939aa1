"""Entries as perception and RViz need them: as they are now, in the map."""

from __future__ import annotations

from collections.abc import Sequence

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import rotate_covariances
from r4_ros.core.model import Entry, PlacedEntry
from r4_ros.memory.attributes import current_attributes
from r4_ros.memory.index import Index
from r4_ros.memory.presence import state_at
from r4_ros.memory.sessions import Sessions


class Placer:
    """Places entries by the anchors of now."""

    def __init__(self, index: Index, sessions: Sessions, config: MemoryConfig) -> None:
        self._index, self._sessions, self._in_view_s = index, sessions, config.sighting_gap_s

    def placed(self, entries: Sequence[Entry]) -> list[PlacedEntry]:
        """The current state of each."""
        if not entries:
            return []
        stays = [entry.stays[-1] for entry in entries]
        turns = self._index.anchors.rotations[[stay.anchor_id for stay in stays]]
        covariances = rotate_covariances(turns, [stay.position_covariance for stay in stays])
        return [
            PlacedEntry(
                entry_id=entry.entry_id,
                agent_id=entry.agent_id,
                revision=entry.revision,
                map_id=entry.map_id,
                label=entry.label,
                box=self._index.box(stay),
                position_covariance=covariance,
                state=state_at(entry.presence, entry.last_seen, self._now(entry), self._in_view_s),
                motion=entry.motion,
                visibility=entry.visibility,
                confidence=entry.confidence,
                count=entry.count,
                first_seen=entry.first_seen,
                last_seen=entry.last_seen,
                description=entry.description,
                attributes=current_attributes(entry.attributes),
            )
            for entry, stay, covariance in zip(entries, stays, covariances, strict=True)
        ]

    def _now(self, entry: Entry) -> int:
        newest = self._sessions.newest(entry.agent_id)
        return entry.last_seen if newest is None else newest.newest_ns
