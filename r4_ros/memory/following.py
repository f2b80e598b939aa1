"""Things that walk: what is new in a frame, and alike what was seen elsewhere a moment ago, is that one moved on.

Association goes by where things have been on an average, which who walks soon leaves behind. So a sighting that is like
no place known is held against the last sightings, up to a second old, of alike entries that this frame doesn't see:

- it takes up much of the space that one did then: two things can't fill one space; or
- a walk away from there (2 m/s at most), while that place is in view now and empty, measured behind all of it.

Views of a whole thing only, since a part says little of where the thing is; and one for one: where two may have come,
or one may have come from two places, nothing is said. What leaves the view, is hidden, or was missed by the detector
isn't followed, since its place isn't seen empty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import inverse, transform_points
from r4_ros.core.model import NS_PER_S, FloatArray, Frame, Interval, Pose, View
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.index import Index
from r4_ros.memory.said import Said
from r4_ros.memory.stays import FrameContext, Seen, place
from r4_ros.memory.store import MemoryStore

_LATEST_NS = NS_PER_S
_FASTEST_M_S, _NOISE_M = 2.0, 0.2
_SHARED = 0.3
"""Of the space that both boxes take up together."""
_BEHIND_M = 0.3
_SIZE = 2.0
"""Sides may differ by so much: a view may be cut off."""


class Follower:
    """Finds who walked on; changes nothing."""

    def __init__(self, store: MemoryStore, index: Index, anchors: AnchorBook, said: Said, config: MemoryConfig) -> None:
        self._store, self._index, self._anchors, self._said, self._config = store, index, anchors, said, config

    def followed(
        self, seen: Sequence[Seen], matched: Sequence[int | None], frame: Frame, sensor: Pose, context: FrameContext
    ) -> list[int | None]:
        """The matches, and who walked on where nothing was matched; ``sensor``: its pose in the map."""
        result = list(matched)
        new = [i for i, slot in enumerate(matched) if slot is None and seen[i].whole]
        pairs = list[tuple[int, int]]()
        for slot in self._recent([seen[i] for i in new], matched, context) if new else ():
            some = [i for i in new if self._may_be(seen[i], slot)]
            before = self._last_seen(slot, context) if some else None
            if before is not None:
                went = (i for i in some if _went(before, seen[i], frame.view, sensor, context.stamp_ns))
                pairs += [(i, slot) for i in went]
        for i, slot in pairs:
            if sum(a == i for a, _ in pairs) == 1 and sum(b == slot for _, b in pairs) == 1:
                result[i] = slot
        return result

    @property
    def _reach_m(self) -> float:
        """From a place on an average to where who left it is a second later."""
        return self._config.epsilon_max_m + _FASTEST_M_S + _NOISE_M

    def _recent(self, new: Sequence[Seen], matched: Sequence[int | None], context: FrameContext) -> list[int]:
        """Slots seen within the last second around there, and not in this frame."""
        index, reach = self._index, self._reach_m
        centres = np.array([s.centre for s in new])
        where = centres.min(axis=0) - reach, centres.max(axis=0) + reach
        owner = index.agents.find(context.agent_id), index.maps.find(context.map_id)
        slots = index.touching(*owner, *where, since_ns=context.stamp_ns - _LATEST_NS)
        age = context.stamp_ns - index.entries["last_seen"][slots]
        slots = slots[(age > 0) & (age <= _LATEST_NS) & (index.entries["session"][slots] == context.session)]
        taken = {slot for slot in matched if slot is not None} | self._said.never(context)
        return [slot for slot in slots.tolist() if slot not in taken and not self._said.is_pinned(slot)]

    def _last_seen(self, slot: int, context: FrameContext) -> tuple[int, Seen] | None:
        """When and where it was seen last, if as a whole."""
        stamp = int(self._index.entries["last_seen"][slot])
        rows = self._store.sightings(context.agent_id, Interval(stamp, stamp + 1), self._said.parts(slot), 1)
        if not rows:
            return None
        sensor = self._anchors.in_map(rows[0].anchor_id, rows[0].sensor_in_anchor)
        [seen] = place([rows[0].observation], sensor)
        return (stamp, seen) if seen.whole else None

    def _may_be(self, seen: Seen, slot: int) -> bool:
        """Whether it has an alike label, and isn't too far off."""
        labels, entries = self._index.labels, self._index.entries
        code, own = labels.find(seen.observation.label), int(entries["label"][slot])
        if code < 0 or not labels.alike(code, own, self._config.label_similarity):
            return False
        return math.dist(self._index.own_places(np.array([slot]))[2][0], seen.centre) <= self._reach_m


def _went(before: tuple[int, Seen], now: Seen, view: View, sensor: Pose, stamp_ns: int) -> bool:
    """Whether who was seen then may be who is seen now."""
    stamp, then = before
    larger, smaller = np.maximum(then.extent, now.extent), np.minimum(then.extent, now.extent)
    if (larger > _SIZE * smaller + _NOISE_M).any():
        return False
    offset = np.subtract(now.centre, then.centre)
    shared = np.maximum(0, (np.add(then.extent, now.extent)) / 2 - np.abs(offset)).clip(max=smaller).prod()
    if shared > _SHARED * (np.prod(then.extent) + np.prod(now.extent) - shared):
        return True
    fast = float(np.linalg.norm(offset)) > _NOISE_M + _FASTEST_M_S * (stamp_ns - stamp) / NS_PER_S
    return not fast and _is_empty(then, view, sensor)


def _is_empty(then: Seen, view: View, sensor: Pose) -> bool:
    """Whether a frame sees behind all of where a thing was: by its middle, and half of the way to its sides."""
    if not view.depth.size:
        return False
    steps = np.array([(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]) / 4
    points = transform_points(inverse(sensor), then.centre + steps * np.asarray(then.extent))
    depth = _depth_at(points, view)
    return bool((depth > points[:, 2] + _BEHIND_M + max(then.extent[:2]) / 2).all())


def _depth_at(points: FloatArray, view: View) -> FloatArray:
    """The depth [n] measured where points [n, 3] in the sensor's frame are seen; 0: out of view, or not measured."""
    rows, columns = view.depth.shape
    z = np.maximum(points[:, 2], 1e-6)
    u = points[:, 0] / z / math.tan(view.horizontal_fov / 2) / 2 + 0.5
    v = points[:, 1] / z / math.tan(view.vertical_fov / 2) / 2 + 0.5
    inside = (points[:, 2] > view.min_depth) & (u >= 0) & (u < 1) & (v >= 0) & (v < 1)
    row, column = (np.where(inside, x * n, 0).astype(int) for x, n in ((v, rows), (u, columns)))
    return np.where(inside, view.depth[row, column], 0.0)
