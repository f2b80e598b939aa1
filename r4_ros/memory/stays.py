"""Places: an observation in the map, and what it makes of the place where a thing stays. Pure functions.

Boxes are kept aligned with the map's axes; a turned one is replaced by its bounds. Within a stay, places are averaged
by their covariances. A box that is cut off by the image border or by something in front says only where part of the
thing is: it never pulls or shrinks one that was seen whole, and before that, partial boxes add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import bounds, compose, inverse, rotate, rotate_covariance, vec3
from r4_ros.core.model import (
    FOREVER,
    Anchor,
    Box,
    FloatArray,
    Interval,
    Matrix3,
    Observation,
    Pose,
    Stay,
    Vec3,
    Visibility,
)
from r4_ros.memory.anchoring import AnchorBook

_UNKNOWN_VARIANCE = 0.05**2
_LEAST_VARIANCE = 0.01**2
_LEAST_GAIN = 0.05


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation placed in the map: its aligned box and covariance there."""

    observation: Observation
    observation_id: str
    centre: Vec3
    extent: Vec3
    covariance: Matrix3

    @property
    def whole(self) -> bool:
        """Whether the whole silhouette was in view."""
        return self.observation.visibility == Visibility.VISIBLE


@dataclass(frozen=True, slots=True)
class FrameContext:
    """What all observations of a frame share.

    ``era_start``: first session since time was last set back; ``anchor``: the frame's own, perhaps not in the book yet.
    """

    agent_id: str
    session: int
    era_start: int
    map_id: str
    stamp_ns: int
    revision: int
    anchor: Anchor
    anchors: AnchorBook
    config: MemoryConfig

    def anchor_of(self, stay: Stay) -> Anchor:
        """The anchor that a stay hangs on."""
        return self.anchor if stay.anchor_id == self.anchor.anchor_id else self.anchors[stay.anchor_id]

    def box(self, stay: Stay) -> Box:
        """A stay's box in the map."""
        return Box(compose(self.anchor_of(stay).pose_in_map, stay.box.pose), stay.box.extent)


def place(observation: Observation, observation_id: str, sensor_in_map: Pose) -> Seen:
    """An observation's box, aligned with the map's axes, and its covariance in the map."""
    pose = compose(sensor_in_map, observation.box.pose)
    low, high = bounds(Box(pose, observation.box.extent))
    covariance = rotate_covariance(sensor_in_map.orientation, observation.position_covariance)
    return Seen(observation, observation_id, pose.position, vec3(high - low), covariance)


def reach(config: MemoryConfig, extent: float) -> float:
    """How far from its place a thing of that largest extent may be seen: epsilon_c, metres."""
    return min(max(config.epsilon_extent * extent, config.epsilon_min_m), config.epsilon_max_m)


def has_moved(stay: Stay, seen: Seen, context: FrameContext) -> bool:
    """Whether a sighting is too far off for the thing to be where it stayed."""
    box = context.box(stay)
    limit = max(context.config.moved_m, reach(context.config, max(*box.extent, *seen.extent)))
    if math.dist(box.pose.position, seen.centre) <= limit:
        return False
    offset = np.abs(np.subtract(box.pose.position, seen.centre))
    slack = context.config.epsilon_min_m  # parts of one flat thing (windows, pictures) rarely overlap to the centimetre
    touching = bool((offset <= np.add(box.extent, seen.extent) / 2 + slack).all())
    return seen.whole or not touching


def new_stay(seen: Seen, extent: Vec3, context: FrameContext) -> Stay:
    """A stay that begins with this sighting, on the frame's anchor."""
    back = inverse(context.anchor.pose_in_map)
    return Stay(
        interval=Interval(context.stamp_ns, FOREVER),
        anchor_id=context.anchor.anchor_id,
        box=Box(compose(back, Pose(seen.centre)), extent),
        position_covariance=rotate_covariance(back.orientation, _usable(seen.covariance)),
        count=1,
        whole=int(seen.whole),
        revision=context.revision,
    )


def merged(stay: Stay, seen: Seen, context: FrameContext) -> Stay:
    """The stay with one more sighting of it."""
    counted = replace(stay, count=stay.count + 1, whole=stay.whole + int(seen.whole))
    if not seen.whole and stay.whole:
        return counted
    back = inverse(context.anchor_of(stay).pose_in_map)
    if not seen.whole:
        centre, extent = _union(context.box(stay), seen)
        return replace(counted, box=Box(Pose(_at(back, centre), stay.box.pose.orientation), extent))
    centre, extent = _at(back, seen.centre), seen.extent
    covariance = rotate_covariance(back.orientation, _usable(seen.covariance))
    if stay.whole:
        centre, covariance = _weighted(stay.box.pose.position, stay.position_covariance, centre, covariance)
        extent = _blended(stay.box.extent, seen.extent, max(1 / counted.whole, _LEAST_GAIN))
    return replace(counted, box=Box(Pose(centre, stay.box.pose.orientation), extent), position_covariance=covariance)


def _at(pose: Pose, point: Vec3) -> Vec3:
    """A point of the pose's own frame in its parent frame."""
    x, y, z = rotate(pose.orientation, point)
    return pose.position[0] + x, pose.position[1] + y, pose.position[2] + z


def _union(box: Box, seen: Seen) -> tuple[Vec3, Vec3]:
    a, b = np.asarray(box.pose.position), np.asarray(seen.centre)
    half_a, half_b = np.asarray(box.extent) / 2, np.asarray(seen.extent) / 2
    low, high = np.minimum(a - half_a, b - half_b), np.maximum(a + half_a, b + half_b)
    return vec3((low + high) / 2), vec3(high - low)


def _weighted(a: Vec3, a_covariance: Matrix3, b: Vec3, b_covariance: Matrix3) -> tuple[Vec3, Matrix3]:
    """Mean of two positions weighted by the inverses of their covariances, and its covariance."""
    p, r = _square(a_covariance), _square(b_covariance)
    gain = p @ np.linalg.inv(p + r)
    mean = np.asarray(a) + gain @ (np.asarray(b) - np.asarray(a))
    return vec3(mean), _flat((np.eye(3) - gain) @ p)


def _blended(old: Vec3, new: Vec3, gain: float) -> Vec3:
    """Running mean of extents; no single observation counts as more than half or one and a half times the old."""
    x, y, z = (o + gain * min(max(n - o, -o / 2), o / 2) for o, n in zip(old, new, strict=True))
    return x, y, z


def _square(covariance: Matrix3) -> FloatArray:
    return np.asarray(covariance, float).reshape(3, 3)


def _flat(covariance: FloatArray) -> Matrix3:
    """Symmetric, and no variance below a square centimetre: a place is never known better."""
    symmetric = (covariance + covariance.T) / 2
    lacking = np.clip(_LEAST_VARIANCE - np.diag(symmetric), 0, None)
    return cast(Matrix3, tuple((symmetric + np.diag(lacking)).ravel().tolist()))


def _usable(covariance: Matrix3) -> Matrix3:
    square = _square(covariance)
    return _flat(square if square.any() else np.eye(3) * _UNKNOWN_VARIANCE)
