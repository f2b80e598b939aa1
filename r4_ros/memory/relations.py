"""Spatial relations as degrees 0..1 (held from 0.5 on), computed from boxes aligned with the map and a viewpoint.

- ``on``: its underside within 0.15 m of the other's top, at least half of the smaller footprint shared; or (a seat,
  a shelf) its underside inside the other's height, above the lowest sixth, and 80 % of its footprint over it (what
  sticks out further, as a chair at a table, isn't held by it).
- ``in``: at least half of its volume inside a larger box; of a region: its centre inside the polygon.
- ``under``: half its footprint below the other's top, its centre below the other's. ``above``, ``below``: beyond the
  other's top or underside (0.15 m of overlap allowed), a third of the smaller footprint shared.
- ``near``: gap between boxes at most 1 m. ``next_to``: at most 0.5 m, heights that meet within 0.3 m, and neither
  stands on the other (80 % of the smaller footprint).
- ``between``: its centre within the middle 80 % of the way between two things, and off the line by at most a quarter
  of it (0.5 m at least).
- ``left_of, right_of, in_front_of, behind``: within 60 degrees of that direction. Of the asker: in its own frame (left
  is +y). Of a thing: as seen from a viewpoint; in front is nearer to the viewer; what stands on it is on no side.
- ``within``: any place; only the distances count.

Distances are gaps between boxes; to an asker or a viewpoint they are horizontal (as to a column 1.5 m high).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import inside_polygon, yaw_of
from r4_ros.core.model import FloatArray, Pose, Region

HELD = 0.5
SEATED = 0.8
OBSERVER_HEIGHT_M = 1.5
DIRECTIONS = ("left_of", "right_of", "in_front_of", "behind")


@dataclass(frozen=True, slots=True)
class Boxes:
    """Lower and upper corners [n, 3], map frame."""

    low: FloatArray
    high: FloatArray

    @property
    def centre(self) -> FloatArray:
        """Centres [n, 3]."""
        return np.asarray((self.low + self.high) / 2)

    @property
    def size(self) -> FloatArray:
        """Full sizes [n, 3]."""
        return self.high - self.low

    def one(self, i: int) -> Boxes:
        """One of them, as boxes of length 1."""
        return Boxes(self.low[i : i + 1], self.high[i : i + 1])

    def repeated(self, count: int) -> Boxes:
        """One box, so many times."""
        return Boxes(np.repeat(self.low, count, axis=0), np.repeat(self.high, count, axis=0))


def observer_box(pose: Pose) -> Boxes:
    """The column that an observer takes up."""
    foot = np.asarray(pose.position, float)[None]
    return Boxes(foot, foot + np.array([0, 0, OBSERVER_HEIGHT_M]))


def point_box(pose: Pose) -> Boxes:
    """A point."""
    point = np.asarray(pose.position, float)[None]
    return Boxes(point, point)


def gaps(a: Boxes, b: Boxes) -> FloatArray:
    """Distances [n] between boxes and one box, 0 where they touch."""
    return np.asarray(np.linalg.norm(np.clip(np.maximum(a.low - b.high, b.low - a.high), 0, None), axis=1))


def _falling(x: FloatArray, full: float, half: float) -> FloatArray:
    """1 up to ``full``, 0.5 at ``half``, on down to 0."""
    return np.clip(1 - 0.5 * (x - full) / (half - full), 0, 1)


def _footprint_shared(a: Boxes, b: Boxes) -> tuple[FloatArray, FloatArray]:
    """Shared footprint as a share of a's own and of the smaller of both."""
    shared = np.clip(np.minimum(a.high, b.high) - np.maximum(a.low, b.low), 0, None)[:, :2].prod(axis=1)
    own, other = a.size[:, :2].prod(axis=1), b.size[:, :2].prod(axis=1)
    return shared / np.maximum(own, 1e-9), shared / np.maximum(np.minimum(own, other), 1e-9)


def _on(a: Boxes, b: Boxes) -> FloatArray:
    own, smaller = _footprint_shared(a, b)
    contact = np.minimum(_falling(np.abs(a.low[:, 2] - b.high[:, 2]), 0.05, 0.15), np.clip(smaller, 0, 1))
    height = b.size[:, 2]
    inside = (a.low[:, 2] > b.low[:, 2] + height / 6) & (a.low[:, 2] < b.high[:, 2])
    seat = inside & (own >= SEATED) & (a.size.prod(axis=1) < b.size.prod(axis=1))
    return np.maximum(contact, np.where(seat, 0.6, 0.0))


def _in(a: Boxes, b: Boxes) -> FloatArray:
    shared = np.clip(np.minimum(a.high, b.high) - np.maximum(a.low, b.low), 0, None).prod(axis=1)
    own = a.size.prod(axis=1)
    return np.where(own < b.size.prod(axis=1), shared / np.maximum(own, 1e-12), 0.0)


def _under(a: Boxes, b: Boxes) -> FloatArray:
    own, _ = _footprint_shared(a, b)
    lower = (a.high[:, 2] <= b.high[:, 2] - 0.05) & (a.centre[:, 2] < b.centre[:, 2])
    return np.where(lower, np.clip(own, 0, 1), 0.0)


def _above(a: Boxes, b: Boxes) -> FloatArray:
    return np.where(a.low[:, 2] >= b.high[:, 2] - 0.15, _third(a, b), 0.0)


def _below(a: Boxes, b: Boxes) -> FloatArray:
    return np.where(a.high[:, 2] <= b.low[:, 2] + 0.15, _third(a, b), 0.0)


def _third(a: Boxes, b: Boxes) -> FloatArray:
    """0.5 where a third of the smaller footprint is shared; a point or observer shares what it stands in."""
    return np.clip(1.5 * _footprint_shared(a, b)[1], 0, 1)


def _near(a: Boxes, b: Boxes) -> FloatArray:
    return _falling(gaps(a, b), 0.0, 1.0)


def _next_to(a: Boxes, b: Boxes) -> FloatArray:
    apart = np.maximum(a.low[:, 2] - b.high[:, 2], b.low[:, 2] - a.high[:, 2])
    beside = (apart <= 0.3) & (_footprint_shared(a, b)[1] < SEATED)
    return np.where(beside, _falling(gaps(a, b), 0.0, 0.5), 0.0)


def _within(a: Boxes, b: Boxes) -> FloatArray:
    return np.ones(len(a.low))


_PLAIN: dict[str, Callable[[Boxes, Boxes], FloatArray]] = {
    "on": _on,
    "in": _in,
    "inside": _in,
    "under": _under,
    "above": _above,
    "below": _below,
    "near": _near,
    "next_to": _next_to,
    "within": _within,
}
RELATIONS = (*_PLAIN, "between", *DIRECTIONS)


def check_relation(relation: str) -> None:
    """Raise InvalidArgument for a relation that isn't computed."""
    if relation not in RELATIONS:
        raise InvalidArgument(f"unknown spatial relation '{relation}'; known are {', '.join(RELATIONS)}")


def degrees(relation: str, candidates: Boxes, reference: Boxes) -> FloatArray:
    """Degrees [n] of a relation of two boxes; ``reference`` is one box."""
    return _PLAIN[relation](candidates, reference)


def between(candidates: Boxes, first: Boxes, second: Boxes) -> FloatArray:
    """Degrees [n] to which candidates stand between two boxes."""
    a, b = first.centre[0], second.centre[0]
    way = b - a
    length = float(np.linalg.norm(way))
    if length < 1e-6:
        return np.zeros(len(candidates.low))
    offset = candidates.centre - a
    share = offset @ way / length**2
    off = np.linalg.norm(offset - share[:, None] * way, axis=1)
    middle = (share > 0.1) & (share < 0.9)
    return np.where(middle, _falling(off, 0.0, max(0.5, 0.25 * length)), 0.0)


def around_observer(relation: str, candidates: Boxes, observer: Pose) -> FloatArray:
    """Degrees [n] of a direction in the observer's own frame (its yaw only): the cosine to that direction."""
    yaw = yaw_of(observer.orientation)
    forward = np.array([np.cos(yaw), np.sin(yaw)])
    offset = candidates.centre[:, :2] - np.asarray(observer.position[:2])
    axis = {"in_front_of": forward, "behind": -forward, "left_of": _left(forward), "right_of": -_left(forward)}[
        relation
    ]
    return _cosine(offset, axis)


def from_viewpoint(relation: str, candidates: Boxes, reference: Boxes, viewer: Pose) -> FloatArray:
    """Degrees [n] of a direction from a thing, as it is seen from the viewpoint."""
    centre = reference.centre[0, :2]
    sight = centre - np.asarray(viewer.position[:2])
    distance = float(np.linalg.norm(sight))
    if distance < 1e-6:
        yaw = yaw_of(viewer.orientation)
        sight, distance = np.array([np.cos(yaw), np.sin(yaw)]), 1.0
    away = sight / distance
    axis = _axis(relation, away, -away)
    offset = candidates.centre[:, :2] - centre
    half_width = float(np.abs(axis) @ reference.size[0, :2] / 2)
    beyond = (offset @ axis > half_width / 2) & (_footprint_shared(candidates, reference)[0] < SEATED)
    return np.where(beyond, _cosine(offset, axis), 0.0)


def _axis(relation: str, sight: FloatArray, front: FloatArray) -> FloatArray:
    """Unit direction [2] of a relation for somebody who looks along ``sight``."""
    return {"in_front_of": front, "behind": -front, "left_of": _left(sight), "right_of": -_left(sight)}[relation]


def _left(direction: FloatArray) -> FloatArray:
    return np.array([-direction[1], direction[0]])


def _cosine(offset: FloatArray, axis: FloatArray) -> FloatArray:
    length: FloatArray = np.maximum(np.linalg.norm(offset, axis=1), 1e-9)
    return np.clip(offset @ axis / length, 0, 1)


def sideways(boxes: Boxes, viewer: Pose) -> FloatArray:
    """How far left [n] things stand in the view of an observer: the bearing, rad, counter-clockwise."""
    offset = boxes.centre[:, :2] - np.asarray(viewer.position[:2])
    bearing = np.arctan2(offset[:, 1], offset[:, 0]) - yaw_of(viewer.orientation)
    return np.asarray((bearing + np.pi) % (2 * np.pi) - np.pi)


def in_region(region: Region, centres: FloatArray) -> npt.NDArray[np.bool_]:
    """Which points [n, 3] lie in a region."""
    if not len(centres):
        return np.zeros(0, bool)
    flat = inside_polygon(region.polygon, centres[:, :2])
    return np.asarray(flat & (centres[:, 2] >= region.z_min) & (centres[:, 2] <= region.z_max))


def region_box(region: Region) -> Boxes:
    """The box around a region."""
    corners = np.asarray(region.polygon, float)
    low, high = corners.min(axis=0), corners.max(axis=0)
    return Boxes(np.array([[*low, region.z_min]]), np.array([[*high, region.z_max]]))


def distance_to_region(region: Region, points: FloatArray) -> FloatArray:
    """Horizontal distances [n] of points to a region's polygon; 0 inside."""
    if not len(points):
        return np.zeros(0)
    corners = np.asarray(region.polygon, float)
    start, way = corners, np.roll(corners, -1, axis=0) - corners
    offset = points[:, None, :2] - start[None]
    share = np.clip((offset * way).sum(axis=2) / np.maximum((way**2).sum(axis=1), 1e-12), 0, 1)
    nearest = np.linalg.norm(offset - share[..., None] * way, axis=2).min(axis=1)
    return np.where(inside_polygon(corners, points[:, :2]), 0.0, nearest)
