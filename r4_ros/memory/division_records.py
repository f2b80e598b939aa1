"""Records of entries that proved to be two, as a store gives and takes them; see ``store.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from r4_ros.core.model import Observation, Pose

if TYPE_CHECKING:
    from r4_ros.memory.store import StoredEvent


@dataclass(frozen=True, slots=True)
class KeptSighting:
    """A sighting that is kept: what was seen, in which frame, where from, and the slot that it was given to."""

    frame_id: int
    session: int
    stamp_ns: int
    anchor_id: int
    sensor_in_anchor: Pose
    slot: int
    observation: Observation

    @property
    def key(self) -> tuple[int, int]:
        """Frame and index: what tells it from all others."""
        return self.frame_id, self.observation.index


@dataclass(frozen=True, slots=True)
class Division:
    """What goes over to the entry in the slot ``to`` from the one that it was mixed up with.

    ``sightings``: frame id, index and slot until now of each. ``parts``: slots of merged entries, of which the merge is
    void and which are parts of the other one. ``voided``: ids of events that never happened; ``events``: what did.
    """

    to: int
    sightings: tuple[tuple[int, int, int], ...]
    parts: tuple[int, ...] = ()
    voided: tuple[str, ...] = ()
    events: tuple[StoredEvent, ...] = ()
