"""What a sighting makes of an entry: place, label, attributes, intervals and events. Pure functions."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.core import intervals
from r4_ros.core.model import (
    FOREVER,
    AttributeValue,
    Embedding,
    Entry,
    EntryState,
    Interval,
    Motion,
    Observation,
    Presence,
    Stay,
)
from r4_ros.memory import happenings, presence
from r4_ros.memory.attributes import LATEST, AttributeChange, observe_attribute
from r4_ros.memory.codec import as_stored
from r4_ros.memory.stays import FrameContext, Seen, Sighted, new_stays
from r4_ros.memory.store import StoredEntry, StoredEvent

_STATIC_COUNT = 10
_DYNAMIC_STEPS = 3


def begin(
    seen: Seen, stay: Stay, observation_id: str, slot: int, looked_ns: int, context: FrameContext
) -> tuple[StoredEntry, list[StoredEvent]]:
    """A new entry, of the stay that the sighting begins.

    ``looked_ns``: when its place was last in view without it (0: never).
    """
    o, stamp = seen.observation, context.stamp_ns
    entry = Entry(
        entry_id=observation_id[:16],
        agent_id=context.agent_id,
        revision=context.revision,
        session=context.session,
        map_id=context.map_id,
        label=o.label,
        label_votes=((o.label, o.confidence),),
        stays=(stay,),
        sightings=(intervals.at(stamp),),
        presence=presence.seen((), stamp, looked_ns)[0],
        description=o.description,
        attributes=tuple(AttributeValue(name, value, stamp, stamp, 1) for name, value in dict(o.attributes).items()),
        label_embedding=_stored(o.label_embedding),
        description_embedding=_stored(o.description_embedding) if o.description else None,
        visibility=o.visibility,
        confidence=o.confidence,
        count=1,
        state=EntryState.PRESENT,
    )
    return StoredEntry(slot, entry), [happenings.appeared(entry, slot, looked_ns, context)]


def sight(
    stored: StoredEntry, seen: Seen, again: Sighted, context: FrameContext, looked_ns: int = 0
) -> tuple[StoredEntry, list[StoredEvent]]:
    """The entry after one more sighting, and what happened to it.

    ``again``: its last stay with this sighting of it. ``looked_ns``: when the place where it is seen now was last in
    view without it, for an entry that was gone (0: never).
    """
    entry, slot, stamp, o = stored.entry, stored.slot, context.stamp_ns, seen.observation
    present, reopened = presence.seen(entry.presence, stamp, looked_ns)
    stays, events = _stays_after(stored, seen, again, present[-1] if reopened else None, context)
    attributes, changes = _attributes_after(entry, o, stamp)
    votes, label, label_embedding = _label_after(entry, o)
    told = bool(o.description) and o.description != entry.description
    gap = intervals.nanoseconds(context.config.sighting_gap_s)
    count = entry.count + 1
    after = Entry(
        entry_id=entry.entry_id,
        agent_id=entry.agent_id,
        revision=context.revision,
        session=max(entry.session, context.session),
        map_id=entry.map_id,
        label=label,
        label_votes=votes,
        stays=stays,
        sightings=intervals.add(entry.sightings, stamp, gap),
        presence=present,
        description=o.description if told else entry.description,
        attributes=attributes,
        label_embedding=label_embedding,
        description_embedding=_stored(o.description_embedding) if told else entry.description_embedding,
        visibility=o.visibility if stamp >= entry.last_seen else entry.visibility,
        confidence=entry.confidence + (o.confidence - entry.confidence) / count,
        count=count,
        state=EntryState.PRESENT if present[-1].end == FOREVER else EntryState.GONE,
        motion=motion_of(stays, count, entry.motion, gap),
        moved_from=entry.moved_from,
        maybe_same_as=entry.maybe_same_as,
    )
    events += [happenings.attribute_changed(after, slot, change, context) for change in changes]
    if stored.absent_count and stamp < stored.absent_first:
        return StoredEntry(slot, after, stored.absent_first, stored.absent_count), events
    return StoredEntry(slot, after), events


def described(stored: StoredEntry, observation: Observation, stamp_ns: int, revision: int) -> StoredEntry:
    """The entry with a description that came late, for an observation that it was made of; nothing else changes.

    One of a later sighting stands, in whatever order they come.
    """
    entry = stored.entry
    if any(a.name in LATEST and a.last_seen > stamp_ns for a in entry.attributes):
        return stored
    words = dict(observation.attributes)
    attributes = entry.attributes
    for name in sorted(LATEST & words.keys()):
        attributes, _ = observe_attribute(attributes, name, words[name], stamp_ns)
    after = entry.evolve(
        description=observation.description,
        description_embedding=_stored(observation.description_embedding),
        attributes=attributes,
        revision=revision,
    )
    return replace(stored, entry=after)


def _stays_after(
    stored: StoredEntry, seen: Seen, again: Sighted, reopened: Presence | None, context: FrameContext
) -> tuple[tuple[Stay, ...], list[StoredEvent]]:
    entry, stamp = stored.entry, context.stamp_ns
    stays, stay, last_seen = entry.stays, entry.stays[-1], entry.last_seen
    merged, elsewhere = again.stay, again.elsewhere
    gone = entry.presence[-1].end != FOREVER and reopened is None
    late = stamp <= last_seen and (elsewhere or (len(stays) > 1 and stamp < stay.interval.start))
    if gone or late:
        return stays, []
    if reopened is None and not elsewhere:
        if stamp < stay.interval.start or stay.interval.end != FOREVER:
            merged = replace(merged, interval=Interval(min(stay.interval.start, stamp), FOREVER))
        return (*stays[:-1], merged), []
    ended = replace(stay, interval=Interval(stay.interval.start, last_seen + 1))
    extent = seen.extent if seen.whole or not stay.whole else stay.box.extent
    [new] = new_stays([replace(seen, extent=extent)], context)
    stays = (*stays[:-1], ended, new)
    if reopened is not None:
        return stays, [happenings.reappeared(entry, stored.slot, stays, reopened, context)]
    return stays, [happenings.moved(entry, stored.slot, stays, context)]


def motion_of(stays: tuple[Stay, ...], count: int, before: Motion, gap_ns: int) -> Motion:
    """What a thing's history says of how it moves."""
    if before == Motion.DYNAMIC or len(stays) - happenings.movement_start(stays, gap_ns) >= _DYNAMIC_STEPS:
        return Motion.DYNAMIC
    if len(stays) > 1 or before == Motion.MOVABLE:
        return Motion.MOVABLE
    return Motion.STATIC if count >= _STATIC_COUNT else Motion.UNKNOWN


def _label_after(entry: Entry, observation: Observation) -> tuple[tuple[tuple[str, float], ...], str, Embedding | None]:
    """Labels are votes weighted by confidence; gives these, the label that leads and what it means."""
    votes = dict(entry.label_votes)
    votes[observation.label] = votes.get(observation.label, 0.0) + observation.confidence
    label = max(votes, key=votes.__getitem__)
    embedding = entry.label_embedding
    if label != entry.label or (label == observation.label and embedding is None):
        embedding = _stored(observation.label_embedding)
    return tuple(votes.items()), label, embedding


def _attributes_after(
    entry: Entry, observation: Observation, stamp_ns: int
) -> tuple[tuple[AttributeValue, ...], list[AttributeChange]]:
    history, changes = entry.attributes, list[AttributeChange]()
    for name, value in dict(observation.attributes).items():
        history, change = observe_attribute(history, name, value, stamp_ns)
        if change is not None:
            changes.append(change)
    return history, changes


def _stored(embedding: Embedding | None) -> Embedding | None:
    return None if embedding is None else Embedding(embedding.model, as_stored(embedding.vector))
