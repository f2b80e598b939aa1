"""Records of moved anchors and merged entries, as a store gives and takes them; see ``store.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from r4_ros.core.model import Anchor, Pose

if TYPE_CHECKING:
    from r4_ros.memory.store import EntryChange, StoredEntry


@dataclass(frozen=True, slots=True)
class MergeChange:
    """An entry becomes a part of another one. ``voided``: ids of void events, ``moved``: of those the other's now."""

    kept: EntryChange
    merged: StoredEntry
    stamp_ns: int
    reason: str
    voided: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnchorChange:
    """All that a move of an agent's anchors changes: these as they stand now, where they stood, merges in their order.

    ``reason``: "correction", or what the memory derives from frames itself.
    """

    agent_id: str
    reason: str
    revision: int
    anchors: tuple[Anchor, ...]
    before: tuple[Pose, ...]
    merges: tuple[MergeChange, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """A merge as it is kept: the entry that took the other one in, before and after, and the other as it was.

    ``kept_after`` None: made by a version that didn't keep it. ``undone_by``: the correction that took it apart (0: it
    holds).
    """

    merge_no: int
    kept_id: str
    merged_id: str
    stamp_ns: int
    revision: int
    reason: str
    kept_before: StoredEntry
    kept_after: StoredEntry | None
    merged: StoredEntry
    undone_by: int
    voided: tuple[str, ...]
    moved: tuple[str, ...]
