"""What the columns take from entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from r4_ros.core.model import FOREVER, Entry, Interval, Presence, Stay


def stays_of(entry: Entry | None) -> tuple[Stay, ...]:
    """Its stays; of what isn't there yet none."""
    return () if entry is None else entry.stays


def sightings_of(entry: Entry | None) -> Sequence[Interval]:
    """Its sightings; of what isn't there yet none."""
    return () if entry is None else entry.sightings


def presence_of(entry: Entry | None) -> tuple[Presence, ...]:
    """Its presence; of what isn't there yet none."""
    return () if entry is None else entry.presence


def seen_values(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    """What the columns say of known entries, but for words, places and when they were seen last."""
    return {
        "session": [e.session for e in entries],
        "visibility": [int(e.visibility) for e in entries],
        "motion": [int(e.motion) for e in entries],
        "gone": [e.presence[-1].end != FOREVER for e in entries],
        "first_seen": [e.first_seen for e in entries],
    }


def differs(before: Entry, after: Entry) -> bool:
    """Whether any of these ``seen_values`` do."""
    return (
        before.session != after.session
        or before.visibility is not after.visibility
        or before.motion is not after.motion
        or (before.presence[-1].end == FOREVER) != (after.presence[-1].end == FOREVER)
        or before.sightings[0].start != after.sightings[0].start
    )


def says_other(before: Entry, after: Entry) -> bool:
    """Whether labels or descriptions differ, or what they mean."""
    return (
        before.label != after.label
        or before.description != after.description
        or before.label_embedding is not after.label_embedding
        or before.description_embedding is not after.description_embedding
    )
