"""Rows of a store as records, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from r4_ros.core.geometry import compose
from r4_ros.core.model import (
    IDENTITY,
    NO_COVARIANCE,
    CorrectionKind,
    CorrectionRecord,
    Embedding,
    EntryCorrection,
    Episode,
    EpisodeSource,
    Event,
    EventKind,
    Interval,
    Observation,
    Visibility,
)
from r4_ros.memory.anchor_records import Passed, TrailRecord
from r4_ros.memory.codec import (
    dump,
    load_list,
    pack_box,
    pack_matrix3,
    pack_pose,
    pack_vec3,
    unpack_box,
    unpack_matrix3,
    unpack_pose,
    unpack_poses,
    unpack_vec3,
)
from r4_ros.memory.sql import Row
from r4_ros.memory.store import StoredEpisode, StoredEvent

EVENT = """INSERT INTO event(event_id, kind, slot, label, stamp_ns, earliest_ns, latest_ns, anchor_id, place,
    from_anchor, from_place, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(event_id) DO UPDATE SET stamp_ns = excluded.stamp_ns, latest_ns = excluded.latest_ns,
    anchor_id = excluded.anchor_id, place = excluded.place, voided = 0"""
VOID = "UPDATE event SET voided = ? WHERE event_id = ?"


def observation_row(frame_id: int, o: Observation, slot: int | None) -> tuple[Any, ...]:
    """The row of an observation."""
    covariance = pack_matrix3(o.position_covariance) if any(o.position_covariance) else None
    return (
        frame_id,
        o.index,
        slot,
        o.label,
        pack_box(o.box, small=True),
        covariance,
        int(o.visibility),
        o.confidence,
        o.track_id,
        o.description,
        dump(o.attributes) if o.attributes else "[]",
        o.image,
    )


def observation_of(row: Row, vector: Callable[[str], Embedding | None]) -> Observation:
    """What ``observation_row`` made a row of, from its index on; ``vector``: what is kept of what a text means."""
    return Observation(
        index=row[0],
        label=row[1],
        box=unpack_box(row[2]),
        position_covariance=NO_COVARIANCE if row[3] is None else unpack_matrix3(row[3]),
        description=row[7],
        attributes=tuple((name, value) for name, value in json.loads(row[8])),
        label_embedding=vector(row[1]),
        description_embedding=vector(row[7]),
        visibility=Visibility(row[4]),
        confidence=row[5],
        track_id=row[6],
        image=row[9],
    )


def event_row(stored: StoredEvent) -> tuple[Any, ...]:
    """The row of an event."""
    e = stored.event
    return (
        e.event_id,
        int(e.kind),
        stored.slot,
        e.label,
        e.stamp_ns,
        e.earliest_ns,
        e.latest_ns,
        stored.anchor_id,
        pack_vec3(stored.place),
        stored.from_anchor,
        None if stored.from_place is None else pack_vec3(stored.from_place),
        e.detail,
    )


def stored_event(row: Row) -> StoredEvent:
    """The event of a row, placed as it was stored."""
    place = unpack_vec3(row[9])
    from_place = None if row[10] is None else unpack_vec3(row[10])
    event = Event(
        event_id=row[0],
        kind=EventKind(row[1]),
        entry_id=row[2],
        agent_id=row[3],
        label=row[4],
        stamp_ns=row[5],
        earliest_ns=row[6],
        latest_ns=row[7],
        map_id=row[8],
        place=place,
        from_place=from_place,
        detail=row[11],
    )
    return StoredEvent(event, row[12], row[13], place, row[14], from_place)


def trail_record(row: Row) -> TrailRecord:
    """The base pose of a row."""
    return TrailRecord(row[0], row[1], row[2], row[3], compose(unpack_pose(row[4]), unpack_pose(row[5])))


_NOWHERE = (0, -1, pack_pose(IDENTITY, small=True), pack_pose(IDENTITY, small=True))


def passed(rows: Sequence[Row]) -> Passed:
    """The base poses of many rows (stamp, anchor, sensor on it, base in sensor; nulls: not known)."""
    stamps, anchors, sensors, bases = zip(*(_NOWHERE if row[1] is None else row for row in rows), strict=True)
    on_anchors = unpack_poses(sensors).compose(unpack_poses(bases))
    return Passed(np.array(stamps, np.int64), np.array(anchors, np.int64), on_anchors)


def stored_episode(row: Row) -> StoredEpisode:
    """The episode of a row."""
    place = None if row[9] is None else unpack_vec3(row[9])
    participants = tuple(load_list(row[10]))
    episode = Episode(
        row[1], row[2], row[3], Interval(row[4], row[5]), EpisodeSource(row[6]), row[7], place, participants
    )
    return StoredEpisode(episode, row[8], place, row[0])


def correction_record(row: Row) -> CorrectionRecord:
    """A correction of number, stamp, kind, source, entry id, request, entries and what took it back."""
    label, other_id, at_ns, position, correction_id = json.loads(row[5])
    place: Any = None if position is None else tuple(position)
    said = EntryCorrection(CorrectionKind(row[2]), row[4], label, other_id, at_ns, place, correction_id, row[3])
    return CorrectionRecord(row[0], row[1], said, tuple(json.loads(row[6])), row[7])
