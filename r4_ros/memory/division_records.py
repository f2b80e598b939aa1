"""Records of sightings that proved to be other entries', as a store gives and takes them; see ``store.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from r4_ros.core.model import Observation, Pose

if TYPE_CHECKING:
    from r4_ros.memory.absences import FoundAbsent
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
    camera: str = ""

    @property
    def key(self) -> tuple[int, int]:
        """Frame and index: what tells it from all others."""
        return self.frame_id, self.observation.index


@dataclass(frozen=True, slots=True)
class Division:
    """Which sightings are other entries' than was thought, and what follows from that.

    ``to``: slot of the entry that was mixed up with another one (-1: many were made anew). ``sightings``: frame id,
    index, slot until now and slot from now on of each. ``parts``: slots of entries that are parts of others from now
    on, with the slots of these, or that are parts no more (None). ``voided``: ids of events that never happened;
    ``events``: what did; ``restored``: ids of void ones that did after all. ``absences``: of what agents found gone of
    each other's, what counts no more, or again.
    """

    to: int
    sightings: tuple[tuple[int, int, int, int], ...]
    parts: tuple[tuple[int, int | None], ...] = ()
    voided: tuple[str, ...] = ()
    events: tuple[StoredEvent, ...] = ()
    restored: tuple[str, ...] = ()
    absences: tuple[FoundAbsent, ...] = ()
