"""Places: an observation in the map, and what it makes of the place where a thing stays. Pure functions.

Boxes are kept aligned with the map's axes; a turned one is replaced by its bounds, and how it stands is kept beside
(``turns``). Within a stay, boxes add up: what is seen outside of the known box makes it grow, by half of it at a time
(all of it while little is known). Only views of the whole thing move its centre, by the covariances of both, and make
the box shrink, slowly, and only across the line of sight, since of a thing's depth no single view shows the end. So a
view that is cut off by the image border or by something in front neither shrinks nor pulls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, rotate_covariances, rotation_matrix, yaw_of
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
from r4_ros.core.pose_array import rotation_matrices
from r4_ros.memory import shares
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.codec import single
from r4_ros.memory.covariances import possible, singles, squares, transposed, usable
from r4_ros.memory.shares import Hung, Places
from r4_ros.memory.turns import Turn, around, averaged, kept, normal, turns_of

_LEAST_GAIN = 0.05
_GROWTH = 0.5
_SAME_SIZE = 0.25
_TOLERANCE_M = 0.02
_EYE = np.eye(3)

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation placed in the map: its aligned box and covariance there."""

    observation: Observation
    centre: Vec3
    extent: Vec3
    covariance: Matrix3
    turned: Turn | None = None  # how its box stands in the map

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
        return self.numbered(stay.anchor_id)

    def numbered(self, anchor_id: int) -> Anchor:
        """An anchor by its id, be it the frame's own."""
        return self.anchor if anchor_id == self.anchor.anchor_id else self.anchors[anchor_id]

    def along(self, anchor_id: int) -> bool:
        """Whether the frame lies on the stretch of the way of an anchor."""
        return anchor_id == self.anchor.anchor_id or shares.alike(self.numbered(anchor_id), self.anchor)

    def places(self, stays: Sequence[Stay]) -> Places:
        """What each stretch of the robot's way says of where stays are."""
        anchors = shares.hung_on(stays, self.numbered)
        own = any(anchor.anchor_id == self.anchor.anchor_id for anchor in anchors)
        return Places(stays, anchors if own else [*anchors, self.anchor])

    def anchors_of(self, stays: Sequence[Stay]) -> tuple[FloatArray, FloatArray]:
        """Rotations [n, 3, 3] and positions [n, 3] of the anchors of stays."""
        numbers = [stay.anchor_id for stay in stays]
        if max(numbers) < len(self.anchors):
            return self.anchors.rotations[numbers], self.anchors.translations[numbers]
        poses = [self.anchor_of(stay).pose_in_map for stay in stays]
        return rotation_matrices(np.array([p.orientation for p in poses])), np.array([p.position for p in poses])

    def centre(self, stay: Stay) -> Vec3:
        """Where the centre of a stay is in the map."""
        return shares.centre(stay, lambda number: self.numbered(number).pose_in_map)

    def box(self, stay: Stay) -> Box:
        """A stay's box in the map."""
        return shares.box(stay, lambda number: self.numbered(number).pose_in_map)


def place(observations: Sequence[Observation], sensor_in_map: Pose) -> list[Seen]:
    """Observations' boxes, aligned with the map's axes, and their covariances in the map."""
    if not observations:
        return []
    turn = rotation_matrix(sensor_in_map.orientation)
    boxes = [o.box for o in observations]
    centres = np.array([box.pose.position for box in boxes]) @ turn.T + sensor_in_map.position
    axes = turn @ rotation_matrices(np.array([box.pose.orientation for box in boxes]))
    extents = (np.abs(axes) @ np.array([box.extent for box in boxes])[..., None])[..., 0]
    covariances = rotate_covariances(turn, [o.position_covariance for o in observations])
    turned = turns_of(axes, [box.extent for box in boxes])
    rows = zip(observations, centres.tolist(), extents.tolist(), covariances, turned, strict=True)
    return [Seen(o, tuple(centre), tuple(extent), covariance, turn) for o, centre, extent, covariance, turn in rows]


def reach(config: MemoryConfig, extent: float) -> float:
    """How far from its place a thing of that largest extent may be seen: epsilon_c, metres."""
    return min(max(config.epsilon_extent * extent, config.epsilon_min_m), config.epsilon_max_m)


def has_moved(stay: Stay, seen: Seen, context: FrameContext) -> bool:
    """Whether a sighting is too far off for the thing to be where it stayed."""
    return _is_elsewhere(stay, seen, context.centre(stay), context.config)


def _is_elsewhere(stay: Stay, seen: Seen, centre: Vec3, config: MemoryConfig) -> bool:
    """The same of a stay that is there in the map."""
    box = stay.box
    limit = max(config.moved_m, reach(config, max(*box.extent, *seen.extent)))
    if math.dist(centre, seen.centre) <= limit:
        return False
    offset = np.abs(np.subtract(centre, seen.centre))
    slack = config.epsilon_min_m  # parts of one flat thing (windows, pictures) rarely overlap to the centimetre
    touching = bool((offset <= np.add(box.extent, seen.extent) / 2 + slack).all())
    return not touching or (seen.whole and stay.whole > 0)  # of parts, the middle isn't the thing's


def new_stays(seen: Sequence[Seen], context: FrameContext) -> list[Stay]:
    """Stays that begin with sightings, on the frame's anchor, of things of the size that is seen."""
    if not seen:
        return []
    back = inverse(context.anchor.pose_in_map)
    turn = rotation_matrix(back.orientation)
    covariances = singles(turn @ usable(squares([s.covariance for s in seen])) @ turn.T)
    return [
        Stay(
            interval=Interval(context.stamp_ns, FOREVER),
            anchor_id=context.anchor.anchor_id,
            box=single(Box(compose(back, Pose(s.centre)), s.extent)),
            position_covariance=covariance,
            count=1,
            whole=int(s.whole),
            revision=context.revision,
            turned=kept(s.turned, s.extent) if s.whole else None,
        )
        for s, covariance in zip(seen, covariances, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Sighted:
    """A stay with one more sighting of it; and whether that is too far off for the thing to be where it stayed."""

    stay: Stay
    elsewhere: bool


def merged(stays: Sequence[Stay], seen: Sequence[Seen], context: FrameContext) -> list[Sighted]:
    """Stays, each with one more sighting of it."""
    if not stays:
        return []
    frames = context.anchors_of(stays)
    spread = _spread(stays, seen, context)
    places = context.places([stays[i] for i in spread.tolist()]) if spread.size else None
    centre, half = _boxes(stays, frames)
    if places:
        centre[spread] = places.centre
    low, high = centre - half, centre + half
    whole = np.array([s.whole for s in seen])[:, None]
    known = np.array([stay.whole for stay in stays], float)[:, None]
    new = _Views.of(seen)
    old = frames[0] @ squares([stay.position_covariance for stay in stays]) @ transposed(frames[0])
    gain = old @ np.linalg.inv(old + new.covariance)
    share = np.maximum(1 / (known + 1), _LEAST_GAIN)
    across = share * _across(new.centre, context.sensor)
    like = same_size(high - low, new.extent) & (known > 0) & whole
    pulled = (gain @ (new.centre - (low + high) / 2)[..., None])[..., 0]
    if places:
        part = _parts(stays, seen, spread, gain)
        both = old[spread], new.covariance[spread]
        pulled[spread] = places.see(context.anchor, new.centre[spread], like[spread], both, part)
    averaged = _averaged(low, high, new, like, pulled, (across, share))
    low, high = np.where(like, averaged[0], low), np.where(like, averaged[1], high)
    if not like.all():
        low, high = _shrunk(low, high, new, np.where(whole & ~like, across, 0.0))
        low, high = _grown(low, high, new, np.where(like, 0.0, np.where(known > 0, _GROWTH, 1.0)))
    covariance = np.where(whole[..., None], possible((_EYE - gain) @ old), old)
    hung = _hung(stays, (low + high) / 2, frames, context)
    if places:
        places.move((low + high)[spread] / 2)
        for i, where in zip(spread.tolist(), places.hung(), strict=True):
            hung[i] = where
    boxes, covariances = _in_anchors(hung, high - low, covariance)
    rows = zip(stays, seen, centre.tolist(), hung, boxes, covariances, strict=True)
    return [_sighted(stay, s, middle, h, box, known, context) for stay, s, middle, h, box, known in rows]


def _sighted(
    stay: Stay, seen: Seen, centre: Vec3, hung: Hung, box: Box, covariance: Matrix3, context: FrameContext
) -> Sighted:
    """A stay that was there in the map, with one more sighting, after which it hangs there with that box."""
    after = Stay(
        stay.interval,
        hung.anchor.anchor_id,
        box,
        covariance,
        stay.count + 1,
        stay.whole + int(seen.whole),
        stay.revision,
        _turned(stay, seen, box, context),
        hung.shares,
    )
    return Sighted(after, _is_elsewhere(stay, seen, centre, context.config))


def _spread(stays: Sequence[Stay], seen: Sequence[Seen], context: FrameContext) -> Numbers:
    """Which stays hang on several stretches of the way, or will."""
    along = {number: context.along(number) for number in {stay.anchor_id for stay in stays}}
    some = (
        i
        for i, (stay, s) in enumerate(zip(stays, seen, strict=True))
        if stay.shares or (not along[stay.anchor_id] and _tells(stay, s))
    )
    return np.fromiter(some, np.int64)


def _tells(stay: Stay, seen: Seen) -> bool:
    """Whether a sighting says where the thing's middle is: of parts, only where nothing else does."""
    return seen.whole or not stay.whole


def _parts(stays: Sequence[Stay], seen: Sequence[Seen], some: Numbers, gains: FloatArray) -> FloatArray:
    """For how much of the places of some stays sightings count; ``gains`` [n, 3, 3]: by what whole ones pull each."""
    parts = np.einsum("nii->n", gains)[some] / 3
    for k, (stay, s) in enumerate((stays[i], seen[i]) for i in some.tolist()):
        if not s.whole:
            parts[k] = max(1 / (stay.count + 1), _LEAST_GAIN) if _tells(stay, s) else 0.0
    return np.asarray(parts)


def _hung(
    stays: Sequence[Stay], centres: FloatArray, frames: tuple[FloatArray, FloatArray], context: FrameContext
) -> list[Hung]:
    """Where the middles of stays hang that are at these places [n, 3] in the map; ``frames`` of their anchors."""
    rotation, position = frames
    middles = (transposed(rotation) @ (centres - position)[..., None])[..., 0]
    return [Hung(context.anchor_of(stay), middle) for stay, middle in zip(stays, middles.tolist(), strict=True)]


def _turned(stay: Stay, seen: Seen, box: Box, context: FrameContext) -> Turn | None:
    """How the thing stands after a sighting; None where that doesn't go with the aligned ``box`` that it has now."""
    view, known = seen.turned if seen.whole else None, stay.turned
    if known is None and view is None:
        return None
    if known is not None:
        known = normal((known[0] + yaw_of(context.box(stay).pose.orientation), *known[1:]))
        if view is None and seen.whole:
            view = around(known[0], seen.extent)
    x, y = seen.centre[0] - context.sensor[0], seen.centre[1] - context.sensor[1]
    far = max(math.hypot(x, y), 1e-9)
    share = max(1 / (stay.whole + 1), _LEAST_GAIN)
    return kept(averaged(known, view, share, (x / far, y / far)), box.extent)


@dataclass(frozen=True, slots=True)
class _Views:
    """What was seen: centres and extents [n, 3], covariances [n, 3, 3]."""

    centre: FloatArray
    extent: FloatArray
    covariance: FloatArray

    @staticmethod
    def of(seen: Sequence[Seen]) -> _Views:
        covariances = usable(squares([s.covariance for s in seen]))
        return _Views(np.array([s.centre for s in seen]), np.array([s.extent for s in seen]), covariances)


def _boxes(stays: Sequence[Stay], frames: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Centres and half sizes [n, 3] of stays in the map; ``frames``: rotations and positions of their anchors."""
    rotation, position = frames
    axes = rotation @ rotation_matrices(np.array([stay.box.pose.orientation for stay in stays]))
    half = (np.abs(axes) @ (np.array([stay.box.extent for stay in stays]) / 2)[..., None])[..., 0]
    local = np.array([stay.box.pose.position for stay in stays])
    return (rotation @ local[..., None])[..., 0] + position, half


def same_size(size: FloatArray, seen_size: FloatArray) -> npt.NDArray[np.bool_]:
    """Along which axes the same of a thing was seen as is known of it."""
    return np.asarray(np.abs(seen_size - size) <= _SAME_SIZE * np.maximum(seen_size, size) + _TOLERANCE_M)


def _averaged(
    low: FloatArray,
    high: FloatArray,
    seen: _Views,
    like: npt.NDArray[np.bool_],
    pulled: FloatArray,
    shares: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Centre (which is ``pulled`` so far) and size averaged along the axes ``like``.

    ``shares``: with which a smaller and a larger size count.
    """
    centre, size = (low + high) / 2, high - low
    more = seen.extent - size
    centre = centre + np.where(like, pulled, 0.0)
    size = size + np.where(like, more * np.where(more < 0, *shares), 0.0)
    return centre - size / 2, centre + size / 2


def _shrunk(low: FloatArray, high: FloatArray, seen: _Views, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends moved inwards to where they were seen; never closer than the smaller of both sizes."""
    half, least = seen.extent / 2, np.minimum(high - low, seen.extent)
    inwards = np.maximum(seen.centre - half - low, 0), np.minimum(seen.centre + half - high, 0)
    low, high = low + share * inwards[0], high + share * inwards[1]
    lacking = np.maximum(least - (high - low), 0) / 2  # a thin thing, seen beside where it is
    return low - lacking, high + lacking


def _grown(low: FloatArray, high: FloatArray, seen: _Views, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends moved outwards to where they were seen, if that is more than noise."""
    half = seen.extent / 2
    below, above = np.maximum(low - (seen.centre - half), 0), np.maximum(seen.centre + half - high, 0)
    noise = _TOLERANCE_M + np.sqrt(np.einsum("nii->ni", seen.covariance))
    return low - share * below * (below > noise), high + share * above * (above > noise)


def _across(centres: FloatArray, sensor: Vec3) -> FloatArray:
    """How well views show where things end along each map axis: 1 across the line of sight, 0 from 45 degrees on.

    Along the line of sight only the near side is seen.
    """
    sight = centres - np.asarray(sensor)
    squares = sight * sight
    along2 = squares / np.maximum(squares.sum(axis=1, keepdims=True), 1e-18)
    return np.asarray(np.maximum(1 - 2 * along2, 0))


def _in_anchors(hung: Sequence[Hung], extents: FloatArray, covariances: FloatArray) -> tuple[list[Box], list[Matrix3]]:
    """Boxes along the map's axes, and covariances in the map, in the frames of anchors; numbers rounded likewise."""
    quaternions = np.array([h.anchor.pose_in_map.orientation for h in hung]) * (-1.0, -1.0, -1.0, 1.0)
    back = rotation_matrices(quaternions)
    numbers = np.concatenate([[h.middle for h in hung], quaternions, extents], axis=1).astype(np.float32)
    boxes = [Box(Pose(tuple(v[:3]), tuple(v[3:7])), tuple(v[7:])) for v in numbers.tolist()]
    return boxes, singles(back @ covariances @ transposed(back))
