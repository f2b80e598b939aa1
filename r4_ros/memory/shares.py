"""A stay's place where the robot saw the thing from several stretches of its way, between which it may have drifted.

What was seen within five seconds of an anchor is corrected as that anchor is, so most stays hang on one. Seen from
farther along the way too, the place is a weighted mean of what each stretch says by itself, in the frame of its own
anchor: a loop closure moves each with that anchor, and the mean is formed anew whenever it is asked for. The stay's own
anchor is that of the stretch from which it was seen last; ``Stay.shares`` has the others, three at most, 20 bytes each.
What counts little goes: its weight falls to the stretch nearest in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from r4_ros.core.geometry import compose, rotate
from r4_ros.core.model import NS_PER_S, Anchor, Box, FloatArray, Pose, Share, Stay, Vec3
from r4_ros.core.pose_array import rotation_matrices
from r4_ros.memory.tables import Table

STRETCH_NS = 5 * NS_PER_S
MOST = 3
LEAST = 0.02
"""A smaller weight goes."""
_FREE, _OTHER_WAY = -1, 1 << 62
_EYE = np.eye(3)

Numbers = npt.NDArray[np.int32]
Columns = npt.NDArray[np.int64]
AnchorOf = Callable[[int], Anchor]
PoseOf = Callable[[int], Pose]


def centre(stay: Stay, pose_of: PoseOf) -> Vec3:
    """Where the middle of a stay's box is, with its anchors at these poses."""
    own = _to_map(pose_of(stay.anchor_id), stay.box.pose.position)
    if not stay.shares:
        return own
    left = _own_weight(stay)
    x, y, z = (left * v for v in own)
    for share in stay.shares:
        a, b, c = _to_map(pose_of(share.anchor_id), share.position)
        x, y, z = x + share.weight * a, y + share.weight * b, z + share.weight * c
    return x, y, z


def box(stay: Stay, pose_of: PoseOf, middle: Vec3 | None = None) -> Box:
    """A stay's box, with its anchors at these poses; ``middle``: what is its ``centre`` then, where that is known."""
    placed = compose(pose_of(stay.anchor_id), stay.box.pose)
    if stay.shares:
        placed = Pose(middle or centre(stay, pose_of), placed.orientation)
    return Box(placed, stay.box.extent)


def hung_on(stays: Sequence[Stay], anchor_of: AnchorOf) -> list[Anchor]:
    """All anchors that stays hang on, once each."""
    numbers = {stay.anchor_id for stay in stays}
    numbers.update(share.anchor_id for stay in stays for share in stay.shares)
    return [anchor_of(number) for number in numbers]


class Hung(NamedTuple):
    """An anchor, what is the middle in its frame, and what other stretches of the way say."""

    anchor: Anchor
    middle: Vec3
    shares: tuple[Share, ...] = ()


class Places:
    """What each stretch says of where n things are, in the map: to be changed, and made shares of again.

    All things at once: a row for each, and in it a column for each of its stretches, and some free ones.
    """

    def __init__(self, stays: Sequence[Stay], anchors: Sequence[Anchor], free: int = 1) -> None:
        """Of one stay of each. ``anchors``: all that these, and what is added to them, hang on."""
        self._anchors = _numbered(tuple(anchors))
        width, number = max(len(stay.shares) for stay in stays) + 1 + free, self._anchors.number
        at, said = list[int](), list[float]()
        for stay in stays:
            spare = width - 1 - len(stay.shares)
            at += (number[stay.anchor_id], *[number[share.anchor_id] for share in stay.shares], *(_FREE,) * spare)
            said += (_own_weight(stay), *stay.box.pose.position)
            for share in stay.shares:
                said += (share.weight, *share.position)
            said += (0.0,) * 4 * spare
        self._at = np.array(at).reshape(len(stays), width)
        numbers = np.array(said).reshape(len(stays), width, 4)
        self._weights, self._means = numbers[..., 0], self._anchors.to_map(self._at, numbers[..., 1:])
        self._row, self._own = np.arange(len(stays)), np.zeros(len(stays), np.int64)
        self.centre = self._centre()
        """The weighted means [n, 3]."""

    def _centre(self) -> FloatArray:
        return np.asarray((self._weights[:, None] @ self._means)[:, 0])

    def see(
        self,
        anchor: Anchor,
        seen: FloatArray,
        axes: npt.NDArray[np.bool_],
        covariances: tuple[FloatArray, FloatArray],
        parts: FloatArray,
    ) -> FloatArray:
        """One more sighting of each from an anchor's stretch; gives how far each pulls the mean [n, 3].

        ``seen`` [n, 3]: where their middles are; only along the ``axes`` [n, 3] that says where those of the things
        are. ``covariances`` [n, 3, 3]: of the places until now, and of the sightings, which count for ``parts`` [n] of
        the mean (0: says nothing of where the middle is, or that is known for certain).
        """
        before, (old, new) = self.centre, covariances
        where = self._row, self._stretch(anchor)
        weight, mean = self._weights[where][:, None, None], self._means[where]
        gain = np.where(weight > 0, old @ np.linalg.inv(old + np.maximum(weight, 1e-9) * new), _EYE)
        said = np.where(weight[:, 0] > 0, mean, before)
        said = said + np.where(axes, (gain @ (seen - said)[..., None])[..., 0], 0.0)
        told = parts > 0
        self._means[where] = np.where(told[:, None], said, mean)
        self._hang(where, anchor, told)
        self._weights *= (1 - parts)[:, None]
        self._weights[where] += parts
        self._own = np.where(told, where[1], self._own)
        self._fold()
        self.centre = self._centre()
        return self.centre - before

    def join(self, stay: Stay, share: float) -> None:
        """Let another stay, of the only thing, count for so much of the mean."""
        self._weights *= 1 - share
        for said in (Share(stay.anchor_id, _own_weight(stay), stay.box.pose.position), *stay.shares):
            part = share * said.weight
            if part > 0:
                number = self._anchors.number[said.anchor_id]
                where = self._row, self._stretch(self._anchors.known[number])
                self._hang(where, self._anchors.known[number], np.ones(1, np.bool_))
                self._weights[where] += part
                place = self._anchors.to_map(np.array([[number]]), np.array([[said.position]]))[:, 0]
                self._means[where] += part / self._weights[where] * (place - self._means[where])
        self._fold()
        self.centre = self._centre()

    def _stretch(self, anchor: Anchor) -> Columns:
        """The columns [n] of an anchor's stretch; the first free ones where there are none."""
        return np.asarray(self._anchors.gaps(anchor)[self._at].argmin(axis=1))

    def _hang(self, where: tuple[Columns, Columns], anchor: Anchor, some: npt.NDArray[np.bool_]) -> None:
        """Take the free ones of some columns for a new stretch, that begins with an anchor."""
        at = self._at[where]
        self._at[where] = np.where(some & (at == _FREE), self._anchors.number[anchor.anchor_id], at)

    def _fold(self) -> None:
        """Let go what counts least, until what is left counts enough and isn't too much: to the nearest in time."""
        while True:
            others = np.where(self._at == _FREE, np.inf, self._weights)
            others[self._row, self._own] = np.inf
            goes = others.min(axis=1) < LEAST
            if others.shape[1] > MOST + 1:
                goes |= (others < np.inf).sum(axis=1) > MOST
            if not goes.any():
                return
            row = np.flatnonzero(goes)
            least = others[row].argmin(axis=1)
            stamps = self._anchors.stamps[self._at[row]]
            gaps = np.abs(stamps - self._anchors.stamps[self._at[row, least]][:, None])
            self._at[row, least] = _FREE
            gaps[self._at[row] == _FREE] = _OTHER_WAY
            self._weights[row, gaps.argmin(axis=1)] += self._weights[row, least]
            self._weights[row, least] = 0.0

    def move(self, to: FloatArray) -> None:
        """Let all of each thing stand elsewhere, so that the means are there [n, 3]."""
        self._means += (to - self.centre)[:, None]
        self.centre = to

    def hung(self) -> list[Hung]:
        """Of each thing, how it hangs on the stretch from which it was seen last, in numbers that float32 can say."""
        positions = self._anchors.to_anchors(self._at, self._means).astype(np.float32).tolist()
        weights, known = self._weights.astype(np.float32).tolist(), self._anchors.known
        found = []
        for at, own, weight, places in zip(self._at.tolist(), self._own.tolist(), weights, positions, strict=True):
            others = [
                Share(known[number].anchor_id, weight[k], tuple(places[k]))
                for k, number in enumerate(at)
                if number != _FREE and k != own
            ]
            if len(others) > 1:
                others.sort(key=lambda share: share.anchor_id)
            found.append(Hung(known[at[own]], tuple(places[own]), tuple(others)))
        return found


class _Anchors:
    """Some anchors, numbered as they are given."""

    def __init__(self, anchors: tuple[Anchor, ...]) -> None:
        self.known = anchors
        self.number = {anchor.anchor_id: i for i, anchor in enumerate(anchors)}
        self.stamps = np.array([anchor.stamp_ns for anchor in anchors])
        self._turns = rotation_matrices(np.array([anchor.pose_in_map.orientation for anchor in anchors]))
        self._positions = np.array([anchor.pose_in_map.position for anchor in anchors])

    def to_map(self, at: Columns, points: FloatArray) -> FloatArray:
        """Points [n, k, 3] in the frames of the anchors of these numbers, in the map."""
        return np.asarray((self._turns[at] @ points[..., None])[..., 0] + self._positions[at])

    def to_anchors(self, at: Columns, points: FloatArray) -> FloatArray:
        """Points [n, k, 3] in the map, in the frames of the anchors of these numbers."""
        return np.asarray(((points - self._positions[at])[..., None, :] @ self._turns[at])[..., 0, :])

    def gaps(self, anchor: Anchor) -> Columns:
        """How far in time each is from another one of its stretch. Then comes ``_FREE``, then those of other ones."""
        gaps = [abs(a.stamp_ns - anchor.stamp_ns) if alike(a, anchor) else _OTHER_WAY for a in self.known]
        return np.array([*gaps, _OTHER_WAY - 1])


_numbered = lru_cache(maxsize=8)(_Anchors)  # frame after frame sees what hangs on the same ones


def alike(a: Anchor, b: Anchor) -> bool:
    """Whether corrections move two anchors alike: they lie on one stretch of the way."""
    return abs(a.stamp_ns - b.stamp_ns) <= STRETCH_NS and (a.session, a.map_id) == (b.session, b.map_id)


def _own_weight(stay: Stay) -> float:
    return 1.0 - sum(share.weight for share in stay.shares)


def _to_map(pose: Pose, point: Vec3) -> Vec3:
    x, y, z = rotate(pose.orientation, point)
    return pose.position[0] + x, pose.position[1] + y, pose.position[2] + z


class ShareColumns(Table):
    """The shares of many stays: a block for each that has some; block 0 has none."""

    def __init__(self) -> None:
        super().__init__(anchor=(np.int32, MOST), weight=(np.float32, MOST), position=(np.float32, 3 * MOST))
        self.extend(1)
        self._free: list[int] = []

    def put(self, blocks: Numbers, stays: Iterable[tuple[int, Sequence[Share]]]) -> None:
        """Keep shares of stays in place of those that they had; ``blocks``: of all, which change."""
        taken, anchors, weights, positions = list[int](), list[int](), list[float](), list[float]()
        for row, shares in stays:
            block = int(blocks[row])
            if shares:
                if not block:
                    blocks[row] = block = self._free.pop() if self._free else self.extend(1)
                spare = MOST - len(shares)
                taken.append(block)
                anchors += (*[share.anchor_id for share in shares], *(0,) * spare)
                weights += (*[share.weight for share in shares], *(0.0,) * spare)
                for share in shares:
                    positions += share.position
                positions += (0.0,) * 3 * spare
            elif block:
                blocks[row] = self["weight"][block] = 0
                self._free.append(block)
        if taken:
            self["anchor"][taken] = np.array(anchors).reshape(-1, MOST)
            self["weight"][taken] = np.array(weights).reshape(-1, MOST)
            self["position"][taken] = np.array(positions).reshape(-1, 3 * MOST)

    def placed(
        self, blocks: Numbers, own: FloatArray, place: Callable[[Numbers, FloatArray], FloatArray]
    ) -> FloatArray:
        """The middles [n, 3] of stays in the map. ``own``: what their own anchors say; ``place``: of points on some."""
        weight = self["weight"][blocks]
        points = self["position"][blocks].reshape(-1, 3)
        places = place(self["anchor"][blocks].ravel(), points).reshape(-1, MOST, 3)
        left = 1 - weight.sum(axis=1, keepdims=True, dtype=float)
        return np.asarray(left * own + np.einsum("nk,nkj->nj", weight, places))

    def on(self, anchors: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which blocks have a share on some of the anchors, a mask by number."""
        if not anchors.any():  # there may be none at all
            return np.zeros(self.rows, np.bool_)
        return np.asarray((anchors[self["anchor"]] & (self["weight"] > 0)).any(axis=1))
