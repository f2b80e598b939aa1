"""When a thing is believed to be at its place: opened by sightings, closed by measured absence only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from r4_ros.core.config import MemoryConfig
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import FOREVER, EntryState, Presence
from r4_ros.core.quick import quick
from r4_ros.memory.store import StoredEntry


def seen(presence: Sequence[Presence], stamp_ns: int, earliest_ns: int = 0) -> tuple[tuple[Presence, ...], bool]:
    """Presence with one more sighting, also a late one, and whether it reopened a closed one.

    ``earliest_ns``: when the place was last seen without the thing (0: never looked at before); for one that begins.
    """
    if presence and presence[-1].start <= stamp_ns < presence[-1].end:
        last = presence[-1]
        newest = Presence(last.start_earliest, last.start, max(last.last_seen, stamp_ns), last.end)
        return (*presence[:-1], newest), False
    intervals = list(presence)
    i = len(intervals) - 1
    while i >= 0 and intervals[i].start > stamp_ns:
        i -= 1
    if i >= 0 and stamp_ns < intervals[i].end:
        intervals[i] = replace(intervals[i], last_seen=max(intervals[i].last_seen, stamp_ns))
        return tuple(intervals), False
    if i + 1 < len(intervals):
        later = intervals[i + 1]
        intervals[i + 1] = replace(later, start=stamp_ns, start_earliest=min(later.start_earliest, stamp_ns))
        return tuple(intervals), False
    earliest = max(intervals[i].end, earliest_ns) if intervals else earliest_ns
    return (*intervals, Presence(min(earliest, stamp_ns), stamp_ns, stamp_ns)), bool(intervals)


@quick
@dataclass(frozen=True, slots=True)
class Absence:
    """What evidence of absence made of an entry; ``closed``: its presence ended at ``absent_first``."""

    stored: StoredEntry
    closed: bool


def absent(stored: StoredEntry, stamp_ns: int, expected_revision: int, config: MemoryConfig) -> Absence | None:
    """One frame saw the entry's place empty. None where this says nothing.

    That is so where the entry is gone already, was seen at or after that stamp, or began its present stay after the
    revision that the observer knew (it looked at an old place). Presence closes once ``absent_frames`` frames over
    ``absent_span_s`` agree with no sighting in between.
    """
    entry = stored.entry
    last = entry.presence[-1]
    outdated = 0 < expected_revision < entry.stays[-1].revision
    if last.end != FOREVER or stamp_ns <= entry.last_seen or outdated:
        return None
    first = min(stored.absent_first, stamp_ns) if stored.absent_count else stamp_ns
    count = stored.absent_count + 1
    enough = count >= config.absent_frames and stamp_ns - first >= nanoseconds(config.absent_span_s)
    if not enough:
        return Absence(replace(stored, absent_first=first, absent_count=count), False)
    stay = entry.stays[-1]
    ended = replace(stay, interval=replace(stay.interval, end=entry.last_seen + 1))
    closed = entry.evolve(
        presence=(*entry.presence[:-1], replace(last, end=first)),
        stays=(*entry.stays[:-1], ended),
        state=EntryState.GONE,
    )
    return Absence(StoredEntry(stored.slot, closed), True)


def present_at(presence: Sequence[Presence], stamp_ns: int) -> Presence | None:
    """The presence that holds at a time."""
    for p in reversed(presence):
        if p.start <= stamp_ns < p.end:
            return p
    return None


def state_at(presence: Sequence[Presence], last_seen_ns: int, now_ns: int, in_view_s: float) -> EntryState:
    """PRESENT: in view within ``in_view_s``; GONE: its place was found empty; UNKNOWN: not looked at since."""
    if present_at(presence, now_ns) is None and presence[0].start <= now_ns:
        return EntryState.GONE
    return EntryState.PRESENT if now_ns - last_seen_ns <= nanoseconds(in_view_s) else EntryState.UNKNOWN
