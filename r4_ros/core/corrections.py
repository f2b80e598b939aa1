"""What a person says of an entry, and the record of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from r4_ros.core.records import PlacedEntry
from r4_ros.core.values import Vec3


class CorrectionKind(IntEnum):
    """What is said; values as in ``srv/CorrectEntry``."""

    RENAME = 1
    MERGE = 2
    SPLIT = 3
    PIN = 4
    FORGET = 5
    UNDO = 6


MEMORY = "memory"
"""Source of what the memory corrects itself; no person's name."""


@dataclass(frozen=True, slots=True)
class EntryCorrection:
    """One correction; which fields matter depends on ``kind``.

    RENAME: ``label``. MERGE: ``other_id`` becomes part of ``entry_id``. SPLIT: what was seen from ``at_ns`` on is
    another thing; or ``other_id``, which the memory merged into it, is one of its own. PIN: it is at ``position`` (map
    frame, metres; None: where it is) and stays there. UNDO: ``correction_id`` (0: the last one that wasn't taken back,
    or, of ``entry_id`` and ``other_id`` where both are given, the memory's own). By the memory itself, SPLIT with
    ``other_id`` and ``at_ns``: some of what was seen until then of the first was the other one; SPLIT without
    ``other_id``: entries made anew of their sightings, after a correction of the robot's way.
    """

    kind: CorrectionKind
    entry_id: str = ""
    label: str = ""
    other_id: str = ""
    at_ns: int = 0
    position: Vec3 | None = None
    correction_id: int = 0
    source: str = ""

    @property
    def divides(self) -> bool:
        """Whether it is the memory's own word that an entry was two, of which it knew the other one too."""
        return self.kind is CorrectionKind.SPLIT and self.source == MEMORY and bool(self.at_ns)

    @property
    def remakes(self) -> bool:
        """Whether it is the memory's own word that entries are other ones than it had thought while it was astray."""
        return self.kind is CorrectionKind.SPLIT and self.source == MEMORY and not self.other_id


@dataclass(frozen=True, slots=True)
class CorrectionRecord:
    """A correction as it is kept. ``entries``: ids of all that it touched; ``undone_by``: the UNDO (0: it holds).

    ``undone_by`` -1: what it was about is erased, and what was said with it.
    """

    correction_id: int
    stamp_ns: int
    correction: EntryCorrection
    entries: tuple[str, ...]
    undone_by: int = 0


@dataclass(frozen=True, slots=True)
class CorrectionReceipt:
    """What became of a correction, after COMMIT."""

    correction_id: int
    revision: int
    changed: tuple[PlacedEntry, ...] = ()
    removed: tuple[str, ...] = ()
