"""Places: an observation in the map, and what it makes of the place where a thing stays. Pure functions.

Boxes are kept aligned with the map's axes; a turned one is replaced by its bounds, and how it stands is kept beside
(``turns``). Within a stay, boxes add up: what is seen outside of the known box makes it grow, by half of it at a time
(all of it while little is known). Only views of the whole thing move its centre, by the covariances of both, and make
the box shrink, slowly, and only across the line of sight, since of a thing's depth no single view shows the end. So a
view that is cut off by the image border or by something in front neither shrinks nor pulls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, rotation_matrix, yaw_of
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
from r4_ros.core.quick import quick
from r4_ros.memory import shares
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.codec import single, single_pose
from r4_ros.memory.covariances import possible, singles, squares, transposed, usable
from r4_ros.memory.shares import Hung, Places
from r4_ros.memory.turns import Turn, around, averaged, kept, normal, turns_of

_LEAST_GAIN = 0.05
_GROWTH = 0.5
_SAME_SIZE = 0.25
_TOLERANCE_M = 0.02
_EYE = np.eye(3)

Numbers = npt.NDArray[np.int64]


@quick
@dataclass(frozen=True, slots=True)
class Seen:
    """An observation placed in the map: its aligned box and covariance there."""

    observation: Observation
    centre: Vec3
    extent: Vec3
    covariance: FloatArray = field(compare=False)  # [3, 3]
    turned: Turn | None = None  # how its box stands in the map

    @property
    def whole(self) -> bool:
        """Whether the whole silhouette was in view."""
        return self.observation.visibility == Visibility.VISIBLE


@quick
@dataclass(frozen=True, slots=True)
class Views:
    """The same of all observations of a frame: centres and extents [n, 3], covariances [n, 3, 3]."""

    centre: FloatArray
    extent: FloatArray
    covariance: FloatArray

    @staticmethod
    def stacked(seen: Sequence[Seen]) -> Views:
        """Of observations that were placed one by one."""
        centres, extents = np.array([s.centre for s in seen]), np.array([s.extent for s in seen])
        return Views(centres, extents, np.array([s.covariance for s in seen]))

    def of(self, rows: Iterable[int]) -> Views:
        """Those of some observations."""
        some = list(rows)
        return Views(self.centre[some], self.extent[some], self.covariance[some])


@quick
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

    def frames(self, anchor_ids: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Rotations [n, 3, 3] and positions [n, 3] of anchors."""
        numbers = list(anchor_ids)
        if max(numbers) < len(self.anchors):
            return self.anchors.rotations[numbers], self.anchors.translations[numbers]
        poses = [self.numbered(number).pose_in_map for number in numbers]
        return rotation_matrices(np.array([p.orientation for p in poses])), np.array([p.position for p in poses])

    def centre(self, stay: Stay) -> Vec3:
        """Where the centre of a stay is in the map."""
        return shares.centre(stay, lambda number: self.numbered(number).pose_in_map)

    def box(self, stay: Stay) -> Box:
        """A stay's box in the map."""
        return shares.box(stay, lambda number: self.numbered(number).pose_in_map)


def place(observations: Sequence[Observation], sensor_in_map: Pose) -> tuple[list[Seen], Views]:
    """Observations' boxes, aligned with the map's axes, and their covariances in the map."""
    if not observations:
        return [], Views(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    turn = rotation_matrix(sensor_in_map.orientation)
    boxes = [o.box for o in observations]
    centres = np.array([box.pose.position for box in boxes]) @ turn.T + sensor_in_map.position
    axes = turn @ rotation_matrices(np.array([box.pose.orientation for box in boxes]))
    extents = (np.abs(axes) @ np.array([box.extent for box in boxes])[..., None])[..., 0]
    covariances = usable(turn @ squares([o.position_covariance for o in observations]) @ turn.T)
    turned = turns_of(axes, [box.extent for box in boxes])
    rows = zip(observations, centres.tolist(), extents.tolist(), covariances, turned, strict=True)
    seen = [Seen(o, tuple(centre), tuple(extent), covariance, turn) for o, centre, extent, covariance, turn in rows]
    return seen, Views(centres, extents, covariances)


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
    covariances = singles(turn @ np.array([s.covariance for s in seen]) @ turn.T)
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


@quick
@dataclass(frozen=True, slots=True)
class Sighted:
    """A stay with one more sighting of it; and whether that is too far off for the thing to be where it stayed."""

    stay: Stay
    elsewhere: bool


def merged(stays: Sequence[Stay], seen: Sequence[Seen], views: Views, context: FrameContext) -> list[Sighted]:
    """Stays, each with one more sighting of it; ``views``: the numbers of these."""
    if not stays:
        return []
    frames = context.frames([stay.anchor_id for stay in stays])
    centre, size, old = _known(stays, frames)
    spread = _spread(stays, seen, context)
    some: Numbers | slice = slice(None) if len(spread) == len(stays) else np.array(spread, np.int64)
    places = context.places([stays[i] for i in spread]) if spread else None
    if places:
        centre[some] = places.centre
    counts = np.array([(s.whole, stay.whole) for s, stay in zip(seen, stays, strict=True)], float)
    whole, known = counts[:, :1] > 0, counts[:, 1:]
    gain = old @ np.linalg.inv(old + views.covariance)
    share = np.maximum(1 / (known + 1), _LEAST_GAIN)
    across = share * _across(views.centre, context.sensor)
    like = same_size(size, views.extent) & (whole & (known > 0))
    pulled = (gain @ (views.centre - centre)[..., None])[..., 0]
    if places:
        part = _parts(stays, seen, spread, gain[some])
        both = old[some], views.covariance[some]
        pulled[some] = places.see(context.anchor, views.centre[some], like[some], both, part)
    more = views.extent - size
    middle = centre + pulled * like
    size = size + more * np.where(more < 0, across, share) * like
    if not like.all():
        growing = np.where(like, 0.0, np.where(known > 0, _GROWTH, 1.0))
        middle, size = _fitted(middle, size, views, np.where(whole & ~like, across, 0.0), growing)
    covariance = np.where(whole[..., None], possible((_EYE - gain) @ old), old)
    if places:
        places.move(middle[some])
    hung = _hung(stays, middle, frames, (places, spread), context)
    boxes, covariances = _in_anchors(hung, size, covariance, context)
    rows = zip(stays, seen, centre.tolist(), hung, boxes, covariances, strict=True)
    return [_sighted(stay, s, where, h, box, known, context) for stay, s, where, h, box, known in rows]


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


def _spread(stays: Sequence[Stay], seen: Sequence[Seen], context: FrameContext) -> list[int]:
    """Which stays hang on several stretches of the way, or will."""
    along = {number: context.along(number) for number in {stay.anchor_id for stay in stays}}
    return [
        i
        for i, (stay, s) in enumerate(zip(stays, seen, strict=True))
        if stay.shares or (not along[stay.anchor_id] and _tells(stay, s))
    ]


def _tells(stay: Stay, seen: Seen) -> bool:
    """Whether a sighting says where the thing's middle is: of parts, only where nothing else does."""
    return seen.whole or not stay.whole


def _parts(stays: Sequence[Stay], seen: Sequence[Seen], some: Sequence[int], gains: FloatArray) -> FloatArray:
    """For how much of the places of some stays sightings count; ``gains`` [m, 3, 3]: by what whole ones pull each."""
    parts = gains.trace(axis1=1, axis2=2) / 3
    for k, (stay, s) in enumerate((stays[i], seen[i]) for i in some):
        if not s.whole:
            parts[k] = max(1 / (stay.count + 1), _LEAST_GAIN) if _tells(stay, s) else 0.0
    return np.asarray(parts)


def _hung(
    stays: Sequence[Stay],
    middles: FloatArray,
    frames: tuple[FloatArray, FloatArray],
    spread: tuple[Places | None, Sequence[int]],
    context: FrameContext,
) -> list[Hung]:
    """Where the middles [n, 3] of stays hang; ``spread``: by their places, those that hang on several stretches."""
    places, some = spread
    if places and len(some) == len(stays):
        return places.hung()
    rotation, position = frames
    local = (transposed(rotation) @ (middles - position)[..., None])[..., 0]
    hung = [Hung(context.anchor_of(stay), tuple(p)) for stay, p in zip(stays, local.tolist(), strict=True)]
    for i, where in zip(some, places.hung() if places else (), strict=True):
        hung[i] = where
    return hung


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


def _known(stays: Sequence[Stay], frames: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centres and sizes [n, 3] of stays in the map, and covariances [n, 3, 3]; ``frames`` of their anchors."""
    rotation, position = frames
    numbers = np.array(
        [(*(p := s.box.pose).position, *p.orientation, *s.box.extent, *s.position_covariance) for s in stays]
    )
    local, extents, covariances = numbers[:, :3, None], numbers[:, 7:10, None], numbers[:, 10:].reshape(-1, 3, 3)
    axes = np.abs(rotation @ rotation_matrices(numbers[:, 3:7]))
    centre = (rotation @ local)[..., 0] + position
    return centre, (axes @ extents)[..., 0], rotation @ covariances @ transposed(rotation)


def same_size(size: FloatArray, seen_size: FloatArray) -> npt.NDArray[np.bool_]:
    """Along which axes the same of a thing was seen as is known of it."""
    return np.asarray(np.abs(seen_size - size) <= _SAME_SIZE * np.maximum(seen_size, size) + _TOLERANCE_M)


def _fitted(
    middle: FloatArray, size: FloatArray, seen: Views, shrinking: FloatArray, growing: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Middles and sizes [n, 3] of boxes whose ends went inwards and outwards to where they were seen, by shares."""
    low, high = middle - size / 2, middle + size / 2
    low, high = _shrunk(low, high, seen, shrinking)
    low, high = _grown(low, high, seen, growing)
    return (low + high) / 2, high - low


def _shrunk(low: FloatArray, high: FloatArray, seen: Views, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends moved inwards to where they were seen; never closer than the smaller of both sizes."""
    half, least = seen.extent / 2, np.minimum(high - low, seen.extent)
    inwards = np.maximum(seen.centre - half - low, 0), np.minimum(seen.centre + half - high, 0)
    low, high = low + share * inwards[0], high + share * inwards[1]
    lacking = np.maximum(least - (high - low), 0) / 2  # a thin thing, seen beside where it is
    return low - lacking, high + lacking


def _grown(low: FloatArray, high: FloatArray, seen: Views, share: FloatArray) -> tuple[FloatArray, FloatArray]:
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


def _in_anchors(
    hung: Sequence[Hung], extents: FloatArray, covariances: FloatArray, context: FrameContext
) -> tuple[list[Box], list[Matrix3]]:
    """Boxes along the map's axes, and covariances in the map, in the frames of anchors; numbers rounded likewise."""
    rotation, _ = context.frames([h.anchor.anchor_id for h in hung])
    on = {h.anchor.anchor_id: h.anchor for h in hung}
    back = {number: single_pose(inverse(anchor.pose_in_map)).orientation for number, anchor in on.items()}
    numbers = np.concatenate([[h.middle for h in hung], extents], axis=1).astype(np.float32).tolist()
    boxes = [
        Box(Pose(tuple(v[:3]), back[h.anchor.anchor_id]), tuple(v[3:])) for h, v in zip(hung, numbers, strict=True)
    ]
    return boxes, singles(transposed(rotation) @ covariances @ rotation)
