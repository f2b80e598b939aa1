"""Places: an observation in the map, and what it makes of the place where a thing stays. Pure functions.

Boxes are kept aligned with the map's axes; a turned one is replaced by its bounds. Within a stay, boxes add up: what is
seen outside of the known box makes it grow, by half of it at a time (all of it while little is known). Only views of
the whole thing move its centre, by the covariances of both, and make the box shrink, slowly, and only across the line
of sight, since of a thing's depth no single view shows the end. So a view that is cut off by the image border or by
something in front neither shrinks nor pulls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt

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
_GROWTH = 0.5
_SAME_SIZE = 0.25
_TOLERANCE_M = 0.02


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

    ``era_start``: first session since time was last set back; ``anchor``: the frame's own, perhaps not in the book yet;
    ``sensor``: its position in the map; ``absence_from``: earlier evidence of absence can't be trusted.
    """

    agent_id: str
    session: int
    era_start: int
    map_id: str
    stamp_ns: int
    revision: int
    anchor: Anchor
    sensor: Vec3
    anchors: AnchorBook
    config: MemoryConfig
    absence_from: int = 0

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
    return not touching or (seen.whole and stay.whole > 0)  # of parts, the middle isn't the thing's


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
    anchor = context.anchor_of(stay)
    back = inverse(anchor.pose_in_map)
    low, high = bounds(context.box(stay))
    covariance = stay.position_covariance
    like = np.zeros(3, bool)
    if seen.whole:
        gain, fused = _fused(rotate_covariance(anchor.pose_in_map.orientation, covariance), _usable(seen.covariance))
        covariance = rotate_covariance(back.orientation, fused)
        share = max(1 / (stay.whole + 1), _LEAST_GAIN)
        across = share * _across(seen, context.sensor)
        like = _same_size(high - low, seen) & (stay.whole > 0)
        low, high = _averaged(low, high, seen, like, gain, (across, share))
        low, high = _shrunk(low, high, seen, np.where(like, 0.0, across))
    low, high = _grown(low, high, seen, np.where(like, 0.0, _GROWTH if stay.whole else 1.0))
    centre = _at(back, vec3((low + high) / 2))
    return replace(
        stay,
        count=stay.count + 1,
        whole=stay.whole + int(seen.whole),
        box=Box(Pose(centre, back.orientation), vec3(high - low)),
        position_covariance=covariance,
    )


def _same_size(size: FloatArray, seen: Seen) -> npt.NDArray[np.bool_]:
    """Along which axes the same of the thing was seen as is known of it."""
    seen_size = np.asarray(seen.extent)
    return np.asarray(np.abs(seen_size - size) <= _SAME_SIZE * np.maximum(seen_size, size) + _TOLERANCE_M)


def _averaged(
    low: FloatArray,
    high: FloatArray,
    seen: Seen,
    like: npt.NDArray[np.bool_],
    gain: FloatArray,
    shares: tuple[FloatArray, float],
) -> tuple[FloatArray, FloatArray]:
    """Centre and size averaged along the axes ``like``; ``shares`` with which a smaller and a larger size count."""
    centre, size = (low + high) / 2, high - low
    more = np.asarray(seen.extent) - size
    centre = centre + np.where(like, gain @ (np.asarray(seen.centre) - centre), 0.0)
    size = size + np.where(like, more * np.where(more < 0, *shares), 0.0)
    return centre - size / 2, centre + size / 2


def _shrunk(low: FloatArray, high: FloatArray, seen: Seen, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends moved inwards to where they were seen."""
    centre, half = np.asarray(seen.centre), np.asarray(seen.extent) / 2
    return low + share * np.clip(centre - half - low, 0, None), high + share * np.clip(centre + half - high, None, 0)


def _grown(low: FloatArray, high: FloatArray, seen: Seen, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends moved outwards to where they were seen, if that is more than noise."""
    centre, half = np.asarray(seen.centre), np.asarray(seen.extent) / 2
    below, above = np.clip(low - (centre - half), 0, None), np.clip(centre + half - high, 0, None)
    noise = _TOLERANCE_M + np.sqrt(np.diag(_square(_usable(seen.covariance))))
    return low - share * below * (below > noise), high + share * above * (above > noise)


def _across(seen: Seen, sensor: Vec3) -> FloatArray:
    """How well a view shows where a thing ends along each map axis: 1 across the line of sight, 0 from 45 degrees on.

    Along the line of sight only the near side is seen.
    """
    sight = np.subtract(seen.centre, sensor)
    along = sight / max(float(np.linalg.norm(sight)), 1e-9)
    return np.asarray(np.clip(1 - 2 * along**2, 0, 1))


def _at(pose: Pose, point: Vec3) -> Vec3:
    """A point of the pose's own frame in its parent frame."""
    x, y, z = rotate(pose.orientation, point)
    return pose.position[0] + x, pose.position[1] + y, pose.position[2] + z


def _fused(old: Matrix3, new: Matrix3) -> tuple[FloatArray, Matrix3]:
    """Gain with which a new position corrects an old one, by their covariances, and the covariance after it."""
    p, r = _square(old), _square(new)
    gain = p @ np.linalg.inv(p + r)
    return gain, _flat((np.eye(3) - gain) @ p)


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
