"""What a correction makes of entries, and what taking it back does. Pure functions.

A person's label is a vote that no number of sightings outweighs; a pinned place is a stay whose box isn't changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core import intervals
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import (
    FOREVER,
    AttributeValue,
    Embedding,
    Entry,
    EntryState,
    Interval,
    Pose,
    Presence,
    Stay,
    Vec3,
)
from r4_ros.memory.store import StoredEntry

PERSON = 1e9
"""Weight of a person's vote for a label; a sighting's is at most 1."""
_SURE = (1e-4, 0.0, 0.0, 0.0, 1e-4, 0.0, 0.0, 0.0, 1e-4)


def renamed(entry: Entry, label: str, embedding: Embedding | None) -> Entry:
    """The entry with a label that stays."""
    votes = {name: weight % PERSON if weight >= PERSON else weight for name, weight in entry.label_votes}
    votes[label] = votes.get(label, 0.0) + PERSON
    return entry.evolve(label=label, label_embedding=embedding, label_votes=tuple(votes.items()))


def pinned(entry: Entry, position: Vec3 | None) -> Entry:
    """The entry with its last stay's centre at a position (in its anchor's frame); None: where it is."""
    stay = entry.stays[-1]
    if position is None:
        return entry
    pose = Pose(position, stay.box.pose.orientation)
    stay = replace(stay, box=replace(stay.box, pose=pose), position_covariance=_SURE, shares=())
    return entry.evolve(stays=(*entry.stays[:-1], stay))


def held(before: Entry, after: Entry) -> Entry:
    """A pinned entry after a sighting: seen and counted, but where it was."""
    pin, first = before.stays[-1], len(before.stays) - 1
    kept = (
        replace(
            stay,
            anchor_id=pin.anchor_id,
            box=pin.box,
            position_covariance=pin.position_covariance,
            turned=pin.turned,
            shares=pin.shares,
        )
        for stay in after.stays[first:]
    )
    return after.evolve(stays=(*after.stays[:first], *kept))


def merged(kept: Entry, other: Entry) -> Entry:
    """Two entries that are one thing: all that both know. Where both have a place, ``kept`` has the word."""
    presence = _merged_presence((*kept.presence, *other.presence))
    newest = kept if kept.last_seen >= other.last_seen else other
    count = kept.count + other.count
    return kept.evolve(
        session=max(kept.session, other.session),
        **_voted(kept, other.label_votes),
        stays=_merged_stays(kept, other),
        sightings=intervals.merge((*kept.sightings, *other.sightings)),
        presence=presence,
        description=kept.description or other.description,
        description_embedding=kept.description_embedding if kept.description else other.description_embedding,
        attributes=_merged_attributes((*kept.attributes, *other.attributes)),
        visibility=newest.visibility,
        confidence=(kept.confidence * kept.count + other.confidence * other.count) / count,
        count=count,
        state=_state(presence),
        motion=max(kept.motion, other.motion),
        maybe_same_as=tuple(i for i in kept.maybe_same_as if i != other.entry_id),
        moved_from="" if kept.moved_from == other.entry_id else kept.moved_from,
    )


def _voted(entry: Entry, more: Sequence[tuple[str, float]], sign: int = 1) -> dict[str, object]:
    """Label and votes with more votes, or without some."""
    votes = dict(entry.label_votes)
    for name, weight in more:
        votes[name] = votes.get(name, 0.0) + sign * weight
    return {"label_votes": tuple((name, weight) for name, weight in votes.items() if weight > 1e-6)}


def _merged_stays(kept: Entry, other: Entry) -> tuple[Stay, ...]:
    first, last = kept.stays[0], kept.stays[-1]
    earlier = [
        replace(s, interval=Interval(s.interval.start, min(s.interval.end, first.interval.start)))
        for s in other.stays
        if s.interval.start < first.interval.start
    ]
    later = [s for s in other.stays if s.interval.start > kept.last_seen]
    if later:
        end = min(last.interval.end, max(kept.last_seen + 1, last.interval.start + 1))
        last = replace(last, interval=Interval(last.interval.start, end))
    return (*earlier, *kept.stays[:-1], last, *later)


def _merged_presence(presence: Sequence[Presence]) -> tuple[Presence, ...]:
    result: list[Presence] = []
    for p in sorted(presence, key=lambda p: (p.start, p.end)):
        if result and p.start <= result[-1].end:
            last = result[-1]
            result[-1] = replace(last, last_seen=max(last.last_seen, p.last_seen), end=max(last.end, p.end))
        else:
            result.append(p)
    return tuple(result)


def _merged_attributes(attributes: Sequence[AttributeValue]) -> tuple[AttributeValue, ...]:
    result: dict[tuple[str, str], AttributeValue] = {}
    for a in sorted(attributes, key=lambda a: a.first_seen):
        known = result.get((a.name, a.value))
        if known is not None:
            a = replace(known, last_seen=max(known.last_seen, a.last_seen), count=known.count + a.count)
        result[a.name, a.value] = a
    return tuple(result.values())


def split(entry: Entry, at_ns: int) -> tuple[Entry, Entry]:
    """What was seen before a time, and the other thing that was seen from then on.

    Raises InvalidArgument where it was seen only before or only after.
    """
    early = tuple(Interval(s.start, min(s.end, at_ns)) for s in entry.sightings if s.start < at_ns)
    late = tuple(Interval(max(s.start, at_ns), s.end) for s in entry.sightings if s.end > at_ns)
    if not early or not late:
        raise InvalidArgument(
            f"'{entry.entry_id}' was seen only on one side of {at_ns} ns; split it within its time, from "
            f"{entry.first_seen} to {entry.last_seen} ns"
        )
    share = intervals.total_ns(early) / (intervals.total_ns(early) + intervals.total_ns(late))
    count = min(max(1, round(entry.count * share)), max(1, entry.count - 1))
    last_seen = early[-1].end - 1
    before = entry.evolve(
        stays=tuple(_cut(s, s.interval.start, at_ns, share) for s in entry.stays if s.interval.start < at_ns),
        sightings=early,
        presence=tuple(
            replace(p, last_seen=min(p.last_seen, last_seen), end=min(p.end, at_ns))
            for p in entry.presence
            if p.start < at_ns
        ),
        attributes=tuple(a for a in entry.attributes if a.first_seen < at_ns),
        count=count,
        state=EntryState.GONE,
        maybe_same_as=(),
    )
    stays = tuple(
        _cut(s, max(s.interval.start, at_ns), s.interval.end, 1 - share) for s in entry.stays if s.interval.end > at_ns
    )
    after = entry.evolve(
        entry_id=split_id(entry.entry_id, at_ns),
        stays=stays or (_cut(entry.stays[-1], at_ns, FOREVER, 1 - share),),
        sightings=late,
        presence=_presence_from(entry, at_ns, late[0].start, last_seen),
        attributes=tuple(a for a in entry.attributes if a.last_seen >= at_ns),
        count=max(1, entry.count - count),
        moved_from="",
        maybe_same_as=(),
    )
    return before, after


def split_id(entry_id: str, at_ns: int) -> str:
    """The id of the other thing."""
    return hashlib.blake2b(f"{entry_id}\0split\0{at_ns}".encode(), digest_size=8).hexdigest()


def _presence_from(entry: Entry, at_ns: int, first_ns: int, earliest_ns: int) -> tuple[Presence, ...]:
    found = [p for p in entry.presence if p.end > at_ns and p.last_seen >= first_ns]
    cut = [replace(found[0], start=first_ns, start_earliest=earliest_ns)] if found[0].start < first_ns else [found[0]]
    return (*cut, *found[1:])


def _cut(stay: Stay, start: int, end: int, share: float) -> Stay:
    whole = (start, end) == (stay.interval.start, stay.interval.end)
    interval = Interval(start, min(end, stay.interval.end) if end != FOREVER else stay.interval.end)
    if interval.end <= start:
        interval = Interval(start, end)
    count = stay.count if whole else max(1, round(stay.count * share))
    return replace(stay, interval=interval, count=count, whole=min(stay.whole, count))


def taken_back(before: StoredEntry, after: StoredEntry, now: StoredEntry) -> StoredEntry:
    """An entry as it would be without a correction that made ``after`` of ``before``: what was seen since stays."""
    b, a, n = before.entry, after.entry, now.entry
    if n.evolve(revision=a.revision) == a:
        return replace(before, absent_first=now.absent_first, absent_count=now.absent_count)
    since = tuple(Interval(max(s.start, a.last_seen + 1), s.end) for s in n.sightings if s.end > a.last_seen + 1)
    votes = _voted(n.evolve(**_voted(n, a.label_votes, -1)), b.label_votes)["label_votes"]
    assert isinstance(votes, tuple)
    label = max(dict(votes), key=dict(votes).__getitem__)
    presence = b.presence if n.presence == a.presence else _presence_since(b, a, n)
    fields = {
        name: getattr(n if getattr(n, name) != getattr(a, name) else b, name)
        for name in ("description", "description_embedding", "attributes", "visibility", "motion", "moved_from")
    }
    entry = n.evolve(
        **fields,
        label_votes=votes,
        label=label,
        label_embedding=b.label_embedding if label == b.label else n.label_embedding,
        stays=_stays_since(b, a, n),
        sightings=intervals.merge((*b.sightings, *since)),
        presence=presence,
        count=b.count + n.count - a.count,
        state=_state(presence),
    )
    return replace(now, entry=entry)


def _stays_since(b: Entry, a: Entry, n: Entry) -> tuple[Stay, ...]:
    if n.stays == a.stays or b.stays == a.stays:
        return b.stays if n.stays == a.stays else n.stays
    later = tuple(s for s in n.stays if s.interval.start > a.last_seen)
    last = b.stays[-1]
    seen = sum(s.count for s in n.stays) - sum(s.count for s in (*a.stays, *later))
    last = replace(last, count=last.count + max(0, seen))
    if later:
        end = min(last.interval.end, max(last.interval.start, a.last_seen) + 1)
        last = replace(last, interval=Interval(last.interval.start, end))
    return (*b.stays[:-1], last, *later)


def _presence_since(b: Entry, a: Entry, n: Entry) -> tuple[Presence, ...]:
    if b.presence == a.presence:
        return n.presence
    last, newest = b.presence[-1], n.presence[-1]
    if last.end == FOREVER:
        last = replace(last, last_seen=max(last.last_seen, newest.last_seen), end=newest.end)
        return (*b.presence[:-1], last)
    return (*b.presence, *(p for p in n.presence if p.start > a.last_seen))


def _state(presence: Sequence[Presence]) -> EntryState:
    return EntryState.PRESENT if presence[-1].end == FOREVER else EntryState.GONE
