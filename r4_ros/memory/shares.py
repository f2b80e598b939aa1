"""A stay's place where the robot saw the thing from several stretches of its way, between which it may have drifted.

What was seen within five seconds of an anchor is corrected as that anchor is, so most stays hang on one. Seen from
farther along the way too, the place is a weighted mean of what each stretch says by itself, in the frame of its own
anchor: a loop closure moves each with that anchor, and the mean is formed anew whenever it is asked for. The stay's own
anchor is that of the stretch from which it was seen last; ``Stay.shares`` has the others, three at most, 20 bytes each.
What counts little goes: its weight falls to the stretch nearest in time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import compose, quat_conjugate, rotate
from r4_ros.core.model import NS_PER_S, Anchor, Box, FloatArray, Pose, Share, Stay, Vec3
from r4_ros.memory.tables import Table

STRETCH_NS = 5 * NS_PER_S
MOST = 3
LEAST = 0.02
"""A smaller weight goes."""
_FLOAT, _FLOATS = struct.Struct("<f"), struct.Struct("<3f")

Numbers = npt.NDArray[np.int32]
AnchorOf = Callable[[int], Anchor]
PoseOf = Callable[[int], Pose]


def centre(stay: Stay, pose_of: PoseOf) -> Vec3:
    """Where the middle of a stay's box is, with its anchors at these poses."""
    own = _to_map(pose_of(stay.anchor_id), stay.box.pose.position)
    if not stay.shares:
        return own
    left = 1.0 - sum(share.weight for share in stay.shares)
    x, y, z = (left * v for v in own)
    for share in stay.shares:
        a, b, c = _to_map(pose_of(share.anchor_id), share.position)
        x, y, z = x + share.weight * a, y + share.weight * b, z + share.weight * c
    return x, y, z


def box(stay: Stay, pose_of: PoseOf) -> Box:
    """A stay's box, with its anchors at these poses."""
    placed = compose(pose_of(stay.anchor_id), stay.box.pose)
    return Box(Pose(centre(stay, pose_of), placed.orientation) if stay.shares else placed, stay.box.extent)


class Places:
    """What each stretch says of where one thing is, in the map: to be changed, and made shares of again.

    Plain numbers: a frame shows a handful of things, and numpy would take longer for each.
    """

    def __init__(self, stays: Sequence[tuple[Stay, float]], anchor_of: AnchorOf) -> None:
        """Of stays of one thing, each with its weight."""
        self._anchors: list[Anchor] = []
        self._weights: list[float] = []
        self._means: list[Vec3] = []
        self._own = 0
        for stay, weight in stays:
            left = 1.0 - sum(share.weight for share in stay.shares)
            self._add(anchor_of(stay.anchor_id), weight * left, stay.box.pose.position)
            for share in stay.shares:
                self._add(anchor_of(share.anchor_id), weight * share.weight, share.position)

    def _add(self, anchor: Anchor, weight: float, position: Vec3) -> None:
        place, i = _to_map(anchor.pose_in_map, position), self.stretch(anchor)
        self._weights[i] += weight
        if weight > 0:
            self._means[i] = _between(self._means[i], place, weight / self._weights[i])

    @property
    def centre(self) -> Vec3:
        """The weighted mean."""
        x = y = z = 0.0
        for weight, (a, b, c) in zip(self._weights, self._means, strict=True):
            x, y, z = x + weight * a, y + weight * b, z + weight * c
        return x, y, z

    @property
    def anchor(self) -> Anchor:
        """That of the stretch which the last sighting belongs to."""
        return self._anchors[self._own]

    def stretch(self, anchor: Anchor) -> int:
        """The number of an anchor's stretch; a new one, of no weight, where there is none."""
        known = [(abs(a.stamp_ns - anchor.stamp_ns), i) for i, a in enumerate(self._anchors) if alike(a, anchor)]
        if not known:
            self._anchors.append(anchor)
            self._weights.append(0.0)
            self._means.append((0.0, 0.0, 0.0))
        return min(known)[1] if known else len(self._anchors) - 1

    def weight(self, stretch: int) -> float:
        """Of a stretch in the mean."""
        return self._weights[stretch]

    def see(self, stretch: int, seen: Vec3, axes: Sequence[bool], gain: Sequence[Vec3], share: float) -> None:
        """One more sighting from a stretch, that counts for ``share`` of the mean.

        ``seen``: where its middle is, in the map; only along the ``axes`` that says where the thing's is. ``gain``: the
        rows of the matrix by which it pulls what its stretch says; what a new one says is where it is seen.
        """
        mean = self._means[stretch] if self._weights[stretch] > 0 else self.centre
        a, b, c = seen[0] - mean[0], seen[1] - mean[1], seen[2] - mean[2]
        x, y, z = (
            m + (row[0] * a + row[1] * b + row[2] * c if along else 0.0)
            for m, row, along in zip(mean, gain, axes, strict=True)
        )
        self._means[stretch] = x, y, z
        self._weights = [weight * (1 - share) for weight in self._weights]
        self._weights[stretch] += share
        self._own = stretch

    def fold(self) -> None:
        """Let go what counts least, until what is left counts enough and isn't too much."""
        while len(self._weights) > 1:
            weight, i = min((weight, i) for i, weight in enumerate(self._weights) if i != self._own)
            if weight >= LEAST and len(self._weights) <= MOST + 1:
                return
            gaps = [(abs(a.stamp_ns - self._anchors[i].stamp_ns), k) for k, a in enumerate(self._anchors) if k != i]
            self._weights[min(gaps)[1]] += weight
            del self._anchors[i], self._weights[i], self._means[i]
            self._own -= i < self._own

    def move(self, to: Sequence[float]) -> None:
        """Let all stand elsewhere, so that the mean is there."""
        x, y, z = self.centre
        x, y, z = to[0] - x, to[1] - y, to[2] - z
        self._means = [(a + x, b + y, c + z) for a, b, c in self._means]

    def shares(self) -> tuple[Vec3, tuple[Share, ...]]:
        """The place in its own anchor's frame, and the shares of the others, in numbers that float32 can say."""
        local = [_to_anchor(a.pose_in_map, mean) for a, mean in zip(self._anchors, self._means, strict=True)]
        others = sorted((a.anchor_id, i) for i, a in enumerate(self._anchors) if i != self._own)
        return local[self._own], tuple(Share(n, _single(self._weights[i]), local[i]) for n, i in others)


def see(
    known: Sequence[Places],
    anchor: Anchor,
    seen: Sequence[Vec3],
    axes: npt.NDArray[np.bool_],
    covariances: tuple[FloatArray, FloatArray],
    parts: Sequence[float],
) -> FloatArray:
    """One more sighting of each of n things, from an anchor's stretch; gives how far each pulls the mean [n, 3].

    ``covariances`` [n, 3, 3]: of the places until now, and of the sightings, which count for ``parts`` of the mean (0:
    says nothing of where the middle is, or that is known for certain). ``axes`` [n, 3]: along which the thing was seen.
    """
    old, new = covariances
    stretches = [places.stretch(anchor) for places in known]
    weights = np.array([places.weight(i) for places, i in zip(known, stretches, strict=True)])[:, None, None]
    gains = np.where(weights > 0, old @ np.linalg.inv(old + np.maximum(weights, 1e-9) * new), np.eye(3))
    before = [places.centre for places in known]
    for places, stretch, *view, part in zip(known, stretches, seen, axes.tolist(), gains.tolist(), parts, strict=True):
        if part > 0:
            places.see(stretch, *view, part)
        places.fold()
    return np.subtract([places.centre for places in known], before)


def alike(a: Anchor, b: Anchor) -> bool:
    """Whether corrections move two anchors alike: they lie on one stretch of the way."""
    return abs(a.stamp_ns - b.stamp_ns) <= STRETCH_NS and (a.session, a.map_id) == (b.session, b.map_id)


def _to_map(pose: Pose, point: Vec3) -> Vec3:
    x, y, z = rotate(pose.orientation, point)
    return pose.position[0] + x, pose.position[1] + y, pose.position[2] + z


def _to_anchor(pose: Pose, point: Vec3) -> Vec3:
    """In numbers that float32 can say."""
    offset = point[0] - pose.position[0], point[1] - pose.position[1], point[2] - pose.position[2]
    return cast(Vec3, _FLOATS.unpack(_FLOATS.pack(*rotate(quat_conjugate(pose.orientation), offset))))


def _between(a: Vec3, b: Vec3, share: float) -> Vec3:
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])


def _single(number: float) -> float:
    return float(_FLOAT.unpack(_FLOAT.pack(number))[0])


class ShareColumns(Table):
    """The shares of many stays: a block for each that has some; block 0 has none."""

    def __init__(self) -> None:
        super().__init__(anchor=(np.int32, MOST), weight=(np.float32, MOST), position=(np.float32, 3 * MOST))
        self.extend(1)
        self._free: list[int] = []

    def put(self, blocks: Numbers, stays: Iterable[tuple[int, Sequence[Share]]]) -> None:
        """Keep shares of stays in place of those that they had; ``blocks``: of all, which change."""
        for row, shares in stays:
            if shares or blocks[row]:
                blocks[row] = self._put(int(blocks[row]), shares)

    def _put(self, block: int, shares: Sequence[Share]) -> int:
        if not shares:
            if block:
                self["weight"][block] = 0
                self._free.append(block)
            return 0
        block = block or (self._free.pop() if self._free else self.extend(1))
        none = (0,) * (MOST - len(shares))
        self["anchor"][block] = (*(share.anchor_id for share in shares), *none)
        self["weight"][block] = (*(share.weight for share in shares), *none)
        self["position"][block] = (*(v for share in shares for v in share.position), *none * 3)
        return block

    def placed(
        self, blocks: Numbers, own: FloatArray, place: Callable[[Numbers, FloatArray], FloatArray]
    ) -> FloatArray:
        """The middles [n, 3] of stays in the map. ``own``: what their own anchors say; ``place``: of points on some."""
        weight = self["weight"][blocks].astype(float)
        points = self["position"][blocks].astype(float).reshape(-1, 3)
        places = place(self["anchor"][blocks].ravel(), points).reshape(-1, MOST, 3)
        left = 1 - weight.sum(axis=1, keepdims=True)
        return np.asarray(left * own + np.einsum("nk,nkj->nj", weight, places))

    def on(self, anchors: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which blocks have a share on some of the anchors, a mask by number."""
        if not anchors.any():  # there may be none at all
            return np.zeros(self.rows, np.bool_)
        return np.asarray((anchors[self["anchor"]] & (self["weight"] > 0)).any(axis=1))
