"""Events as they are derived from what was seen. Their places hang on the anchors of the stays they speak of."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from r4_ros.core.geometry import compose, inverse
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import Box, Entry, Event, EventKind, Presence, Stay, Vec3
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.attributes import AttributeChange
from r4_ros.memory.stays import FrameContext
from r4_ros.memory.store import StoredEvent


def appeared(entry: Entry, slot: int, looked_ns: int, context: FrameContext) -> StoredEvent:
    """First seen; ``looked_ns``: when its place was last in view without it (0: never)."""
    stamp = entry.first_seen
    return _event(EventKind.APPEARED, entry, slot, (looked_ns, stamp), stamp, entry.stays[-1], context)


def moved(entry: Entry, slot: int, stays: tuple[Stay, ...], context: FrameContext) -> StoredEvent:
    """Seen elsewhere. One movement is one event: while the thing goes on moving, the same event gets a new end."""
    first = movement_start(stays, nanoseconds(context.config.sighting_gap_s))
    origin, began = stays[first - 1], stays[first].interval.start
    span = (origin.interval.end - 1, stays[-1].interval.start)
    return _event(EventKind.MOVED, entry, slot, span, began, stays[-1], context, origin)


def linked_as_moved(old: Entry, new: Entry, slot: int, context: FrameContext) -> StoredEvent:
    """A new entry that is a gone one, moved while nobody looked."""
    span = (old.last_seen, max(new.first_seen, old.last_seen))
    return _event(EventKind.MOVED, new, slot, span, new.first_seen, new.stays[-1], context, old.stays[-1])


def disappeared(entry: Entry, slot: int, context: FrameContext) -> StoredEvent:
    """Its place was found empty."""
    last = entry.presence[-1]
    return _event(EventKind.DISAPPEARED, entry, slot, (last.last_seen, last.end), last.end, entry.stays[-1], context)


def found_gone(entry: Entry, found: FoundAbsent, context: FrameContext) -> StoredEvent:
    """Another agent's place was found empty: told by who found it, and hung on its anchor."""
    stay, anchor = entry.stays[-1], context.anchor
    there = context.anchors.alignments.in_own(context.agent_id, context.map_id, context.anchors.box(stay).pose)
    pose = compose(inverse(anchor.pose_in_map), there)
    stay = replace(stay, anchor_id=anchor.anchor_id, box=Box(pose, stay.box.extent), shares=())
    span = (entry.last_seen, found.first_ns)
    event = _event(EventKind.DISAPPEARED, entry, found.slot, span, found.first_ns, stay, context)
    number = found_gone_id(entry.entry_id, found)
    told = replace(event.event, agent_id=found.observer, map_id=context.map_id, event_id=number)
    return replace(event, event=told)


def found_gone_id(entry_id: str, found: FoundAbsent) -> str:
    """The id of the event that another agent's thing was found gone."""
    return _digest(f"{_event_id(EventKind.DISAPPEARED, entry_id, found.first_ns, '')}\0{found.observer}")


def reappeared(
    entry: Entry, slot: int, stays: tuple[Stay, ...], presence: Presence, context: FrameContext
) -> StoredEvent:
    """Seen again after its place had been found empty; ``presence``: the one that this begins."""
    span = (presence.start_earliest, presence.start)
    return _event(EventKind.REAPPEARED, entry, slot, span, presence.start, stays[-1], context, stays[-2])


def attribute_changed(entry: Entry, slot: int, change: AttributeChange, context: FrameContext) -> StoredEvent:
    """An attribute got another value."""
    detail = f"{change.name}: {change.old} -> {change.new}"
    span = (change.earliest, change.latest)
    kind = EventKind.ATTRIBUTE_CHANGED
    return _event(kind, entry, slot, span, change.latest, entry.stays[-1], context, detail=detail)


def movement_start(stays: tuple[Stay, ...], gap_ns: int) -> int:
    """Number of the first stay of the movement that led to the last one: those in between were all short."""
    first = len(stays) - 1
    while first > 1 and stays[first].interval.start - stays[first - 1].interval.start <= gap_ns:
        first -= 1
    return first


def _event(
    kind: EventKind,
    entry: Entry,
    slot: int,
    span_ns: tuple[int, int],
    stamp_ns: int,
    stay: Stay,
    context: FrameContext,
    origin: Stay | None = None,
    detail: str = "",
) -> StoredEvent:
    event = Event(
        event_id=_event_id(kind, entry.entry_id, stamp_ns, detail),
        kind=kind,
        entry_id=entry.entry_id,
        agent_id=entry.agent_id,
        label=entry.label,
        stamp_ns=stamp_ns,
        earliest_ns=span_ns[0],
        latest_ns=span_ns[1],
        map_id=entry.map_id,
        place=_place(stay, context),
        from_place=None if origin is None else _place(origin, context),
        detail=detail,
    )
    return StoredEvent(
        event,
        slot,
        stay.anchor_id,
        stay.box.pose.position,
        None if origin is None else origin.anchor_id,
        None if origin is None else origin.box.pose.position,
    )


def of_another(stored: StoredEvent, entry_id: str, slot: int) -> StoredEvent:
    """An event of an entry, as one of another entry."""
    event = stored.event
    number = _event_id(event.kind, entry_id, event.stamp_ns, event.detail)
    return replace(stored, event=replace(event, event_id=number, entry_id=entry_id), slot=slot)


def _event_id(kind: EventKind, entry_id: str, stamp_ns: int, detail: str) -> str:
    return _digest(f"{int(kind)}\0{entry_id}\0{stamp_ns}\0{detail}")


def _place(stay: Stay, context: FrameContext) -> Vec3:
    """Where its anchor says that a stay was: what its stretch of the way alone says."""
    return compose(context.anchor_of(stay).pose_in_map, stay.box.pose).position


def _digest(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
