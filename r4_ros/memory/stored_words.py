"""What a store keeps of how things look: pictures, and descriptions that came late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from r4_ros.core.model import Observation

if TYPE_CHECKING:
    from r4_ros.memory.store import EntryChange


@dataclass(frozen=True, slots=True)
class StoredCrop:
    """A picture of an entry, as JPEG: cut out of the frame of that stamp."""

    slot: int
    stamp_ns: int
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class DescriptionChange:
    """Descriptions that came late, for observations of a known frame, and what they make of entries."""

    revision: int
    frame_id: int
    observations: tuple[Observation, ...]
    entries: tuple[EntryChange, ...]
