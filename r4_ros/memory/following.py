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
from dataclasses import dataclass

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import inverse, transform_points
from r4_ros.core.model import NS_PER_S, FloatArray, Frame, Interval, Pose, View
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.said import Said
from r4_ros.memory.stays import FrameContext, Seen, Views, place
from r4_ros.memory.store import FrameChange, MemoryStore

_LATEST_NS = NS_PER_S
_FASTEST_M_S, _NOISE_M = 2.0, 0.2
_SHARED = 0.3
"""Of the space that both boxes take up together."""
_BEHIND_M = 0.3
_SIZE = 2.0
"""Sides may differ by so much: a view may be cut off."""


@dataclass
class _Recent:
    """What of an agent's was seen since a stamp, and more."""

    since_ns: int
    stamps: dict[int, int]  # by slot, of the frames


class Follower:
    """Finds who walked on; changes nothing."""

    def __init__(self, store: MemoryStore, index: Index, anchors: AnchorBook, said: Said, config: MemoryConfig) -> None:
        self._store, self._index, self._anchors, self._said, self._config = store, index, anchors, said, config
        self._agents: dict[str, _Recent] = {}
        self._revision = 0  # up to which these tell all

    def took(self, change: FrameChange) -> None:
        """A frame was stored."""
        self._go_on_from(change.revision - 1)
        self._revision = change.revision
        if change.merges:  # what goes on may not have been seen in this frame
            self._agents.clear()
        recent, stamp = self._agents.get(change.frame.agent_id), change.frame.stamp_ns
        if recent is not None:
            recent.stamps.update((slot, stamp) for _, slot in change.observations if slot is not None)
            if stamp - recent.since_ns > 2 * _LATEST_NS:
                recent.since_ns = stamp - _LATEST_NS
                kept = (item for item in recent.stamps.items() if item[1] >= recent.since_ns)
                recent.stamps = dict(kept)

    def _go_on_from(self, revision: int) -> None:
        """Forget what is known, where something else than a frame came since."""
        if revision != self._revision:
            self._agents.clear()
            self._revision = revision

    def followed(
        self,
        seen: Sequence[Seen],
        views: Views,
        matched: Sequence[int | None],
        frame: Frame,
        sensor: Pose,
        context: FrameContext,
    ) -> list[int | None]:
        """The matches, and who walked on where nothing was matched; ``sensor``: its pose in the map."""
        result = list(matched)
        new = [i for i, slot in enumerate(matched) if slot is None and seen[i].whole]
        pairs = list[tuple[int, int]]()
        for slot, some in self._may_be(new, seen, views, matched, context) if new else ():
            before = self._last_seen(slot, context)
            if before is not None:
                went = (i for i in some if _went(before, seen[i], frame.view, sensor, context.stamp_ns))
                pairs += [(i, slot) for i in went]
        for i, slot in pairs:
            if sum(a == i for a, _ in pairs) == 1 and sum(b == slot for _, b in pairs) == 1:
                result[i] = slot
        return result

    def _recent(self, matched: Sequence[int | None], context: FrameContext) -> Slots:
        """Slots seen within the last second, and not in this frame."""
        index, since = self._index, context.stamp_ns - _LATEST_NS
        agent, map_code = index.agents.find(context.agent_id), index.maps.find(context.map_id)
        entries = index.entries
        self._go_on_from(context.revision - 1)
        recent = self._agents.get(context.agent_id)
        if recent is None or since < recent.since_ns:
            slots = np.flatnonzero((entries["agent"] == agent) & (entries["last_seen"] >= since))
            recent = _Recent(since, dict(zip(slots.tolist(), entries["last_seen"][slots].tolist(), strict=True)))
            self._agents[context.agent_id] = recent
        taken = {slot for slot in matched if slot is not None} | self._said.never(context)
        some = [slot for slot in recent.stamps if slot not in taken and not self._said.is_pinned(slot)]
        slots = np.array(sorted(some), np.int64)
        age = context.stamp_ns - entries["last_seen"][slots]
        here = (entries["map"][slots] == map_code) & (entries["session"][slots] == context.session)
        return np.asarray(slots[here & (age > 0) & (age <= _LATEST_NS) & (entries["agent"][slots] == agent)])

    def _may_be(
        self,
        new: Sequence[int],
        seen: Sequence[Seen],
        views: Views,
        matched: Sequence[int | None],
        context: FrameContext,
    ) -> list[tuple[int, list[int]]]:
        """Slots seen a moment ago, and which of the new ones have an alike label and aren't too far off from each."""
        slots, labels = self._recent(matched, context), self._index.labels
        if not slots.size:
            return []
        reach = self._config.epsilon_max_m + _FASTEST_M_S + _NOISE_M  # from a place on an average, a second later
        offsets = self._index.own_places(slots)[2][:, None] - views.centre[new]
        codes = [labels.find(seen[i].observation.label) for i in new]
        found: dict[int, list[int]] = {}
        for k, j in np.argwhere((offsets**2).sum(axis=2) <= reach**2).tolist():
            slot = int(slots[k])
            own = int(self._index.entries["label"][slot])
            if codes[j] >= 0 and labels.alike(codes[j], own, self._config.label_similarity):
                found.setdefault(slot, []).append(new[j])
        return list(found.items())

    def _last_seen(self, slot: int, context: FrameContext) -> tuple[int, Seen] | None:
        """When and where it was seen last, if as a whole."""
        stamp = int(self._index.entries["last_seen"][slot])
        rows = self._store.sightings(context.agent_id, Interval(stamp, stamp + 1), self._said.parts(slot), 1)
        if not rows:
            return None
        sensor = self._anchors.in_map(rows[0].anchor_id, rows[0].sensor_in_anchor)
        [seen], _ = place([rows[0].observation], sensor)
        return (stamp, seen) if seen.whole else None


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
