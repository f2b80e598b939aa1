"""Whole entries as JSON, for the record of a correction."""

from __future__ import annotations

import base64
from typing import Any

from r4_ros.core.model import (
    AttributeValue,
    Box,
    Embedding,
    Entry,
    EntryState,
    Interval,
    Motion,
    Pose,
    Presence,
    Share,
    Stay,
    Visibility,
)
from r4_ros.memory.codec import pack_vector, unpack_vector
from r4_ros.memory.store import StoredEntry


def to_json(stored: StoredEntry) -> dict[str, Any]:
    """All of an entry, as plain values."""
    e = stored.entry
    return {
        "slot": stored.slot,
        "absent": [stored.absent_first, stored.absent_count],
        "text": [e.entry_id, e.agent_id, e.map_id, e.label, e.description, e.moved_from],
        "number": [e.revision, e.session, e.confidence, e.count, int(e.visibility), int(e.state), int(e.motion)],
        "votes": e.label_votes,
        "stays": [_stay_to_json(s) for s in e.stays],
        "sightings": [[s.start, s.end] for s in e.sightings],
        "presence": [[p.start_earliest, p.start, p.last_seen, p.end] for p in e.presence],
        "attributes": [[a.name, a.value, a.first_seen, a.last_seen, a.count] for a in e.attributes],
        "vectors": [_vector_to_json(e.label_embedding), _vector_to_json(e.description_embedding)],
        "maybe_same_as": e.maybe_same_as,
    }


def from_json(values: dict[str, Any]) -> StoredEntry:
    """What ``to_json`` made."""
    entry_id, agent_id, map_id, label, description, moved_from = values["text"]
    revision, session, confidence, count, visibility, state, motion = values["number"]
    entry = Entry(
        entry_id=entry_id,
        agent_id=agent_id,
        revision=revision,
        session=session,
        map_id=map_id,
        label=label,
        label_votes=tuple((name, weight) for name, weight in values["votes"]),
        stays=tuple(_stay_from_json(s) for s in values["stays"]),
        sightings=tuple(Interval(*s) for s in values["sightings"]),
        presence=tuple(Presence(*p) for p in values["presence"]),
        description=description,
        attributes=tuple(AttributeValue(*a) for a in values["attributes"]),
        label_embedding=_vector_from_json(values["vectors"][0]),
        description_embedding=_vector_from_json(values["vectors"][1]),
        visibility=Visibility(visibility),
        confidence=confidence,
        count=count,
        state=EntryState(state),
        motion=Motion(motion),
        moved_from=moved_from,
        maybe_same_as=tuple(values["maybe_same_as"]),
    )
    return StoredEntry(values["slot"], entry, *values["absent"])


def _stay_to_json(s: Stay) -> list[Any]:
    box = [*s.box.pose.position, *s.box.pose.orientation, *s.box.extent]
    where = [s.anchor_id, box, s.position_covariance]
    shares = [[share.anchor_id, share.weight, share.position] for share in s.shares]
    return [s.interval.start, s.interval.end, *where, s.count, s.whole, s.revision, s.turned, shares]


def _stay_from_json(values: list[Any]) -> Stay:
    start, end, anchor_id, box, covariance, count, whole, revision, *later = values
    turned, shares = [*later, None, []][: len(later)] + [None, []][len(later) :]
    turn = tuple(turned) if turned else None
    known = tuple(Share(number, weight, tuple(position)) for number, weight, position in shares)
    placed = Box(Pose(tuple(box[:3]), tuple(box[3:7])), tuple(box[7:]))
    return Stay(Interval(start, end), anchor_id, placed, tuple(covariance), count, whole, revision, turn, known)


def _vector_to_json(embedding: Embedding | None) -> list[str] | None:
    if embedding is None:
        return None
    return [embedding.model, base64.b64encode(pack_vector(embedding.vector)).decode("ascii")]


def _vector_from_json(values: list[str] | None) -> Embedding | None:
    return None if values is None else Embedding(values[0], unpack_vector(base64.b64decode(values[1])))
