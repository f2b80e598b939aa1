"""Two entries that prove to be one, as the older of them. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from r4_ros.core import intervals
from r4_ros.core.geometry import bounds, compose, inverse, rotate_covariance, vec3, yaw_of
from r4_ros.core.model import (
    FOREVER,
    Box,
    Entry,
    EntryState,
    EventKind,
    Interval,
    Matrix3,
    Motion,
    Pose,
    Presence,
    Stay,
    Vec3,
)
from r4_ros.memory import shares
from r4_ros.memory.attributes import merged_histories
from r4_ros.memory.observe import motion_of
from r4_ros.memory.shares import AnchorOf, Places
from r4_ros.memory.stays import same_size
from r4_ros.memory.store import StoredEvent
from r4_ros.memory.turns import Turn, kept, normal


@dataclass(frozen=True, slots=True)
class MergeContext:
    """What all merges of one moment share."""

    revision: int
    anchor_of: AnchorOf
    sighting_gap_ns: int


def may_merge(older: Entry, newer: Entry) -> bool:
    """Whether the newer entry, begun while the older one kept its last place and never moved, can continue it."""
    began_after = newer.first_seen >= older.stays[-1].interval.start
    return began_after and len(newer.stays) == 1 and len(newer.presence) == 1


def may_continue(older: Entry, newer: Entry) -> bool:
    """The same, also where the newer one moved, or went and came back, since: the older one wasn't seen after that."""
    if newer.first_seen < older.stays[-1].interval.start:
        return False
    left = [stay.interval.start for stay in newer.stays[1:2]] + [p.start for p in newer.presence[1:2]]
    return all(older.last_seen < stamp for stamp in left)


def combined(older: Entry, newer: Entry, gone: bool, context: MergeContext, pieces: bool = False) -> Entry:
    """The older entry with what is known of the newer one. ``gone``: the newer one's place was really found empty.

    ``pieces``: they stand where they are and each may be a piece of the thing, so that their boxes add up.
    """
    last = older if older.last_seen >= newer.last_seen else newer
    presence = (*older.presence[:-1], *_joined(older.presence[-1], newer.presence, gone))
    stay = _one_stay(older.stays[-1], newer.stays[0], context.anchor_of, pieces)
    end = FOREVER if presence[-1].end == FOREVER else presence[-1].last_seen + 1
    if len(newer.stays) > 1:
        end = newer.stays[0].interval.end
    stays = (*older.stays[:-1], replace(stay, interval=Interval(stay.interval.start, end)), *newer.stays[1:])
    count = older.count + newer.count
    votes = dict(older.label_votes)
    for name, weight in newer.label_votes:
        votes[name] = votes.get(name, 0.0) + weight
    label = max(votes, key=lambda name: votes[name])
    embeddings = {e.label: e.label_embedding for e in (newer, older)}
    described = next((e for e in (last, newer, older) if e.description), last)
    moved_from = older.moved_from or ("" if newer.moved_from == older.entry_id else newer.moved_from)
    motion = motion_of(stays, count, Motion.MOVABLE if moved_from else Motion.UNKNOWN, context.sighting_gap_ns)
    return older.evolve(
        revision=context.revision,
        session=max(older.session, newer.session),
        label=label,
        label_votes=tuple(votes.items()),
        label_embedding=embeddings.get(label, older.label_embedding),
        description=described.description,
        description_embedding=described.description_embedding,
        attributes=merged_histories(older.attributes, newer.attributes),
        stays=stays,
        sightings=intervals.merge((*older.sightings, *newer.sightings), context.sighting_gap_ns),
        presence=presence,
        visibility=last.visibility,
        confidence=(older.confidence * older.count + newer.confidence * newer.count) / count,
        count=count,
        state=EntryState.PRESENT if presence[-1].end == FOREVER else EntryState.GONE,
        motion=max(motion, Motion.DYNAMIC) if Motion.DYNAMIC in (older.motion, newer.motion) else motion,
        moved_from=moved_from,
        maybe_same_as=tuple(i for i in older.maybe_same_as if i != newer.entry_id),
    )


def void_events(older: Entry, newer: Entry, events: list[StoredEvent]) -> tuple[str, ...]:
    """Ids of the events, of both, that never happened: it didn't go, come, or move from the one place to the other."""
    ended = older.presence[-1].end
    void = []
    for e in (stored.event for stored in events):
        came = e.kind == EventKind.APPEARED and e.entry_id == newer.entry_id
        went = e.kind == EventKind.DISAPPEARED and e.entry_id == older.entry_id and e.stamp_ns == ended
        linked = e.kind == EventKind.MOVED and e.entry_id == newer.entry_id and newer.moved_from == older.entry_id
        if came or went or linked:
            void.append(e.event_id)
    return tuple(void)


def _joined(older: Presence, newer: tuple[Presence, ...], gone: bool) -> tuple[Presence, ...]:
    first, last = newer[0], newer[-1]
    if last.end != FOREVER and not gone:
        last = replace(last, end=FOREVER)
    seen = max(older.last_seen, first.last_seen)
    if len(newer) > 1:
        return (Presence(older.start_earliest, older.start, seen, first.end), *newer[1:-1], last)
    end = last.end if last.end > seen else FOREVER
    return (Presence(older.start_earliest, older.start, seen, end),)


def _one_stay(older: Stay, newer: Stay, anchor_of: AnchorOf, pieces: bool) -> Stay:
    """On the older one's anchor. Views of the whole thing count, where there are some; parts add up."""
    boxes = [shares.box(s, lambda number: anchor_of(number).pose_in_map) for s in (older, newer)]
    (a_low, a_high), (b_low, b_high) = (bounds(box) for box in boxes)
    share = newer.count / (older.count + newer.count)
    if pieces:
        alike = same_size(a_high - a_low, b_high - b_low)
        low = np.where(alike, a_low + share * (b_low - a_low), np.minimum(a_low, b_low))
        high = np.where(alike, a_high + share * (b_high - a_high), np.maximum(a_high, b_high))
    elif older.whole or newer.whole:
        share = newer.whole / (older.whole + newer.whole)
        low, high = a_low + share * (b_low - a_low), a_high + share * (b_high - a_high)
    else:
        low, high = np.minimum(a_low, b_low), np.maximum(a_high, b_high)
    places = Places([older], shares.hung_on([older, newer], anchor_of), free=1 + len(newer.shares))
    places.join(newer, share)
    places.move(((low + high) / 2)[None])
    [(_, middle, parts)] = places.hung()
    back = inverse(anchor_of(older.anchor_id).pose_in_map)
    return replace(
        older,
        interval=Interval(min(older.interval.start, newer.interval.start), FOREVER),
        box=Box(Pose(middle, back.orientation), vec3(high - low)),
        shares=parts,
        turned=_turn(older, newer, [yaw_of(box.pose.orientation) for box in boxes], vec3(high - low)),
        position_covariance=_smaller(older, newer, anchor_of),
        count=older.count + newer.count,
        whole=older.whole + newer.whole,
    )


def _turn(older: Stay, newer: Stay, yaws: Sequence[float], extent: Vec3) -> Turn | None:
    """How the thing stands, by the one seen whole more often; None where that doesn't go with the size of both."""
    stay, yaw = (older, yaws[0]) if older.whole >= newer.whole else (newer, yaws[1])
    if stay.turned is None:
        return None
    return kept(normal((stay.turned[0] + yaw, *stay.turned[1:])), extent)


def _smaller(older: Stay, newer: Stay, anchor_of: AnchorOf) -> Matrix3:
    """The covariance of the place known better, in the older one's anchor frame."""
    mine, theirs = (np.asarray(s.position_covariance).reshape(3, 3) for s in (older, newer))
    if np.trace(mine) <= np.trace(theirs):
        return older.position_covariance
    turn = compose(inverse(anchor_of(older.anchor_id).pose_in_map), anchor_of(newer.anchor_id).pose_in_map)
    return rotate_covariance(turn.orientation, newer.position_covariance)
