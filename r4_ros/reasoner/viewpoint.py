"""Geometry of answers: what is extreme, in which direction, how far, and where an imagined asker stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from r4_ros.core.errors import UnsupportedQuestion
from r4_ros.core.geometry import inverse, quat_from_yaw, transform_points, volume, yaw_of
from r4_ros.core.model import Event, EventKind, Evidence, Pose, Vec3
from r4_ros.reasoner import wording
from r4_ros.reasoner.keys import By, Relation, SpatialKey, Step

RIVAL_M = 0.2  # DESIGN: 'nearest' within this of a rival is ambiguous
TURNS = {Relation.LEFT_OF: -1.0, Relation.RIGHT_OF: 1.0, Relation.BEHIND: 2.0}
"""Quarter turns from looking at a thing to having it on that side."""
Results = Sequence[tuple[Evidence, ...]]
WORDS = (
    (22.5, "ahead"),
    (67.5, "ahead and to the left"),
    (112.5, "left"),
    (157.5, "behind and to the left"),
    (180.0, "behind"),
)


def bearing(ego: Pose, position: Vec3) -> tuple[float, float]:
    """(angle, distance) of a place seen from a base pose in the horizontal plane: rad, left positive; m."""
    flat = Pose(ego.position, quat_from_yaw(yaw_of(ego.orientation)))
    x, y, _ = (float(v) for v in transform_points(inverse(flat), [position])[0])
    return math.atan2(y, x), math.hypot(x, y)


def direction_word(angle: float) -> str:
    """'ahead', 'left', 'behind and to the right' ... of an angle, left positive."""
    degrees = math.degrees(abs(angle))
    word = next(word for limit, word in WORDS if degrees <= limit + 1e-9)
    return word if angle >= 0 else word.replace("left", "right")


def o_clock(angle: float) -> int:
    """The hour on a clock face whose 12 is straight ahead."""
    return (round(-math.degrees(angle) / 30) - 1) % 12 + 1


def extreme(step: Step, found: Sequence[Evidence], steps: Results, ego: Pose | None) -> tuple[Evidence, ...]:
    """The one that a superlative picks, first, with its rivals behind it; unchanged without a superlative.

    Raises UnsupportedQuestion for what can't be compared.
    """
    picked = step.superlative
    if picked is None or not found:
        return tuple(found)
    values = measure(step, found, steps, ego)
    order = sorted(range(len(found)), key=lambda i: values[i] if picked.direction == "min" else -values[i])
    rank = min(picked.rank, len(order)) - 1
    best = order[rank]
    if picked.by is By.ORDER:
        return (found[best],)
    return tuple(found[i] for i in order if i == best or abs(values[i] - values[best]) < _margin(step, values[best]))


def measure(step: Step, found: Sequence[Evidence], steps: Results, ego: Pose | None) -> list[float]:
    """What a superlative compares, for each: metres, cubic metres."""
    picked = step.superlative
    assert picked is not None
    reference = picked.reference
    if picked.by is By.DISTANCE and reference is not None and reference.kind == "step":
        return wording.nearest_gaps(found, steps[reference.step])
    if picked.by is By.DISTANCE:
        return [_distance(e, step, ego) for e in found]
    if picked.by is By.SIZE and picked.own:  # the widest
        return [max(e.box.extent[:2]) for e in found]
    if picked.by is By.SIZE:
        return [volume(e.box) for e in found]
    if picked.by is By.HEIGHT and picked.own:
        return [e.box.extent[2] for e in found]
    if picked.by in (By.HEIGHT, By.TOP):
        return [e.box.pose.position[2] + e.box.extent[2] / 2 for e in found]
    if picked.by in (By.LEFT, By.RIGHT) or (picked.by is By.ORDER and picked.side in ("left", "right")):
        if ego is None:
            raise UnsupportedQuestion("left and right need to know where the asker stands")
        sideways = [_sideways(ego, e) for e in found]
        leftward = picked.by is By.LEFT or picked.side == "right"
        return sideways if leftward else [-v for v in sideways]
    if picked.by is By.ORDER:
        heights = [e.box.pose.position[2] for e in found]
        return heights if picked.side == "bottom" else [-v for v in heights]
    raise UnsupportedQuestion(f"things can't be compared by {picked.by.value} yet")


def _margin(step: Step, value: float) -> float:
    assert step.superlative is not None
    return 0.1 * abs(value) if step.superlative.by is By.SIZE else RIVAL_M


def _sideways(ego: Pose, evidence: Evidence) -> float:
    angle, distance = bearing(ego, evidence.box.pose.position)
    return distance * math.sin(angle)


def _distance(evidence: Evidence, step: Step, ego: Pose | None) -> float:
    assert step.superlative is not None
    reference = step.superlative.reference
    if reference is not None and reference.kind == "region":
        raise UnsupportedQuestion("distances to a region can't be computed yet")
    if ego is None:
        raise UnsupportedQuestion("nearest to whom isn't known: nobody's place is known then")
    return bearing(ego, evidence.box.pose.position)[1]


def imagined(keys: Sequence[SpatialKey], steps: Results, turned: bool = True) -> Pose:
    """Where an asker imagines to be: at one thing, facing another, or with something on a side.

    ``turned``: the direction matters. Raises UnsupportedQuestion if what matters isn't said.
    """
    place = facing = None
    quarter = 0.0
    for key in keys:
        named = key.subject if key.subject is not None else key.reference
        if named.kind != "step" or not steps[named.step : named.step + 1]:
            continue
        position = steps[named.step][0].box.pose.position
        if key.relation is Relation.FACING or key.subject is not None:
            facing, quarter = position, TURNS.get(key.relation, 0.0)
        else:
            place = position
    if place is None or (facing is None and turned):
        raise UnsupportedQuestion("an imagined viewpoint needs where you are and what you face")
    if facing is None:
        return Pose((place[0], place[1], 0.0))
    yaw = math.atan2(facing[1] - place[1], facing[0] - place[0]) + quarter * math.pi / 2
    return Pose((place[0], place[1], 0.0), quat_from_yaw(yaw))


def sighting(evidence: Evidence, which: Literal["", "first", "last"]) -> Event:
    """The first or last sighting of a thing, told as an event."""
    stamp = evidence.first_seen if which == "first" else evidence.last_seen
    return Event(
        event_id=f"{evidence.entry_id}:{which}",
        kind=EventKind.APPEARED,
        entry_id=evidence.entry_id,
        agent_id=evidence.agent_id,
        label=evidence.label,
        stamp_ns=stamp,
        earliest_ns=stamp,
        latest_ns=stamp,
        map_id=evidence.map_id,
        place=evidence.box.pose.position,
    )
