"""What a stored frame's receipt tells of."""

from __future__ import annotations

from collections.abc import Callable

from r4_ros.core.model import Entry, Event
from r4_ros.memory.store import FrameChange


def told(change: FrameChange, is_hidden: Callable[[int], bool]) -> tuple[list[Entry], tuple[str, ...], list[Event]]:
    """Entries that a frame changed, as it left them, ids of those that it merged into others, and what happened."""
    merged = {merge.merged.slot: merge.merged.entry.entry_id for merge in change.merges}
    after = {c.after.slot: c.after.entry for c in change.entries}
    after |= {merge.kept.after.slot: merge.kept.after.entry for merge in change.merges}
    shown = [entry for slot, entry in after.items() if slot not in merged and not is_hidden(slot)]
    void = {event_id for merge in change.merges for event_id in merge.voided}
    events = [e.event for e in change.events if e.event.event_id not in void and not is_hidden(e.slot)]
    return shown, tuple(merged.values()), events
