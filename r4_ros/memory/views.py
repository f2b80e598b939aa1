"""Directions, sight and sides as somebody sees them who stands somewhere; degrees 0..1, held from 0.5 on.

- ``left_of, right_of, in_front_of, behind``: within 60 degrees of that direction (the cosine is the degree). Of the
  observer: in its own frame (REP 103: x forward, y left; its yaw only). Of a thing: as seen from the viewpoint; in
  front is nearer to the viewer; what stands on it is on no side. These are the egocentric and the deictic frame of
  Retz-Schmidt, 'Various views on spatial prepositions' (AI Magazine, 1988); the angle is this project's.
- ``facing``: of the observer only: within 30 degrees of straight ahead (half at 45).
- ``across_from`` of the observer: within 30 degrees of straight ahead (half at 45), and 0.7 to 8 m away.
- ``through`` an opening: the straight line from the viewer to its centre passes through the opening's box, and it
  lies beyond.
- ``in_view``: its centre in the pyramid of the fields of view around the x axis of a pose. ``in_cone``: in the cone
  with the horizontal field of view as its opening angle. ``beyond``: on the far side of the plane through a pose,
  across its x axis.
"""

from __future__ import annotations

import numpy as np

from r4_ros.core.geometry import inverse, transform_points, yaw_of
from r4_ros.core.model import FloatArray, Pose
from r4_ros.memory.boxes import OBSERVER_HEIGHT_M, Boxes, falling, footprint_shared

DIRECTIONS = ("left_of", "right_of", "in_front_of", "behind")
AHEAD = ("facing", "across_from")
FROM_A_POSE = ("in_view", "in_cone", "beyond")
SEATED = 0.8
PASSAGE_M, OPPOSITE_M = 0.7, 8.0
OPENING_M = 0.1


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
    beyond = (offset @ axis > half_width / 2) & (footprint_shared(candidates, reference)[0] < SEATED)
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


def ahead(relation: str, candidates: Boxes, observer: Pose) -> FloatArray:
    """Degrees [n] to which an observer faces things; ``across_from``: with room between."""
    yaw = yaw_of(observer.orientation)
    offset = candidates.centre[:, :2] - np.asarray(observer.position[:2])
    cosine = _cosine(offset, np.array([np.cos(yaw), np.sin(yaw)]))
    degree = falling(np.degrees(np.arccos(np.clip(cosine, -1, 1))), 30.0, 45.0)
    if relation == "facing":
        return degree
    distance = np.linalg.norm(offset, axis=1)
    return np.where((distance >= PASSAGE_M) & (distance <= OPPOSITE_M), degree, 0.0)


def from_pose(relation: str, candidates: Boxes, pose: Pose, fov: tuple[float, float]) -> FloatArray:
    """Degrees [n], 0 or 1: what a pose sees within its fields of view (horizontal, vertical, rad), or has before it."""
    x, y, z = transform_points(inverse(pose), candidates.centre).T
    if relation == "beyond":
        return np.asarray(x > 0, float)
    if relation == "in_cone":
        return np.asarray(np.arctan2(np.hypot(y, z), x) <= fov[0] / 2, float)
    inside = (np.abs(np.arctan2(y, x)) <= fov[0] / 2) & (np.abs(np.arctan2(z, x)) <= fov[1] / 2)
    return np.asarray(inside, float)


def through(candidates: Boxes, opening: Boxes, viewer: Pose) -> FloatArray:
    """Degrees [n], 0 or 1: whether things are seen through an opening (slab test of the line of sight)."""
    eye = np.asarray(viewer.position, float) + np.array([0, 0, OBSERVER_HEIGHT_M])
    sight = candidates.centre - eye
    with np.errstate(divide="ignore", invalid="ignore"):
        near = (opening.low[0] - OPENING_M - eye) / sight
        far = (opening.high[0] + OPENING_M - eye) / sight
    enters = np.nan_to_num(np.fmin(near, far), nan=-np.inf).max(axis=1)
    leaves = np.nan_to_num(np.fmax(near, far), nan=np.inf).min(axis=1)
    return np.where((enters <= leaves) & (enters > 0) & (leaves < 1), 1.0, 0.0)
