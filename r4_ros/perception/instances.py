"""Which observations of one camera are of one thing, from frame to frame: by track, else by label and place.

A cheap guess for what needn't be exact (when to send a picture, what to have described). What a thing is and whether
it is known, memory decides.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.core.geometry import transform_points
from r4_ros.core.model import FloatArray, Observation
from r4_ros.perception.capture import Placement

MOST = 4000
REACH_M = (0.3, 1.0)
REACH_EXTENT = 0.5  # of the largest extent


@dataclass(slots=True)
class _Known:
    label: str
    centre: FloatArray  # map


class Instances:
    """Numbers for things, oldest forgotten first. Not thread-safe."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._by_label: dict[str, dict[int, None]] = {}
        self._tracks: dict[str, int] = {}
        self._session = 0
        self._next = 1

    def numbers(self, observations: Sequence[Observation], placement: Placement) -> list[int]:
        """For each sighting of a frame the number of its thing, each at most once."""
        if placement.session != self._session:
            self._tracks.clear()  # their ids may begin anew
            self._session = placement.session
        if not observations:
            return []
        centres = transform_points(placement.sensor_in_map, [o.box.pose.position for o in observations])
        used: set[int] = set()
        return [self._number(o, centre, used) for o, centre in zip(observations, centres, strict=True)]

    def _number(self, seen: Observation, centre: FloatArray, used: set[int]) -> int:
        number = self._tracks.get(seen.track_id) if seen.track_id else None
        if number is None or number not in self._known or number in used:
            number = self._nearest(seen, centre, used)
        if number is None:
            number = self._next
            self._next += 1
        used.add(number)
        before = self._known.pop(number, None)
        if before is not None and before.label != seen.label:
            self._by_label[before.label].pop(number, None)
        self._known[number] = _Known(seen.label, centre)
        self._by_label.setdefault(seen.label, {})[number] = None
        if seen.track_id:
            self._tracks[seen.track_id] = number
        if len(self._known) > self._most:
            self._forget()
        return number

    def _nearest(self, seen: Observation, centre: FloatArray, used: set[int]) -> int | None:
        free = [number for number in self._by_label.get(seen.label, ()) if number not in used]
        if not free:
            return None
        distances = np.linalg.norm(np.array([self._known[number].centre for number in free]) - centre, axis=1)
        best = int(np.argmin(distances))
        reach = min(max(REACH_EXTENT * max(seen.box.extent), REACH_M[0]), REACH_M[1])
        return free[best] if distances[best] < reach else None

    def _forget(self) -> None:
        number, known = self._known.popitem(last=False)
        self._by_label[known.label].pop(number, None)
        if not self._by_label[known.label]:
            del self._by_label[known.label]
        self._tracks = {track: n for track, n in self._tracks.items() if n != number}
