"""Which entries were seen while their robot was astray: a correction moves its sightings apart from each other.

What a thing was seen to do meanwhile may never have happened: it seemed to move as the belief drifted, to be gone where
it never was, to be another one of its kind; and its box grew by the drift.
"""

from __future__ import annotations

import math

import numpy as np

from r4_ros.core.model import NS_PER_S, FloatArray
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.index import Index, Slots

APART_M = 0.1
"""Sightings that a correction moves apart by less than this told the truth, but for their noise."""
_SHORT_NS = NS_PER_S
_REACH_M = 10.0
"""From the robot to what it sees, at most, as far as a turn of the map counts."""
_SAMPLES = 33


def astray(agent_id: str, was: AnchorBook, now: AnchorBook, index: Index) -> Slots:
    """Slots of an agent's entries whose sightings a move of anchors moves apart; ``index``: as it was before."""
    columns, presence = index.entries, index.presence
    mine = (columns["agent"] == index.agents.find(agent_id)) & columns["alive"]
    since, until = columns["first_seen"], columns["last_seen"].copy()
    gone = np.flatnonzero(mine & columns["gone"])
    until[gone] = np.maximum(until[gone], presence["end"][presence.last[gone]])
    some = np.flatnonzero(mine & (until - since > _SHORT_NS))
    found = [np.zeros(0, np.int64)]
    for map_code in np.unique(columns["map"][some]).tolist():
        slots = some[columns["map"][some] == map_code]
        numbers = now.numbers_of(agent_id, index.maps.texts[map_code])
        numbers = numbers[np.argsort(now.stamps(numbers), kind="stable")]
        moves = _Moves.of(was, now, numbers)
        if moves.spread() < APART_M:
            continue
        stamps = now.stamps(numbers)
        first, last = (np.searchsorted(stamps, at[slots], side="right") - 1 for at in (since, until))
        first, last = np.maximum(first, 0), np.maximum(last, 0)
        may = np.flatnonzero(moves.most_between(first, last) >= APART_M)
        middles = index.own_places(slots[may])[2]
        rows = zip(may.tolist(), middles, strict=True)
        found.append(slots[[i for i, middle in rows if moves.apart(middle, int(first[i]), int(last[i])) >= APART_M]])
    return np.sort(np.concatenate(found))


class _Moves:
    """What anchors, by stamp, do to places of the map: rotations [n, 3, 3] and translations [n, 3]."""

    def __init__(self, rotation: FloatArray, translation: FloatArray, middle: FloatArray) -> None:
        self._rotation, self._translation = rotation, translation
        turn = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
        tilt = np.hypot(rotation[:, 2, 0], rotation[:, 2, 1])
        around = rotation @ middle + translation - middle
        self._signs = np.column_stack([around, _REACH_M * np.unwrap(turn), _REACH_M * tilt])

    @staticmethod
    def of(was: AnchorBook, now: AnchorBook, numbers: Slots) -> _Moves:
        """Of these anchors."""
        rotation = now.rotations[numbers] @ was.rotations[numbers].transpose(0, 2, 1)
        translation = now.translations[numbers] - np.einsum("nij,nj->ni", rotation, was.translations[numbers])
        return _Moves(rotation, translation, was.translations[numbers].mean(axis=0))

    def spread(self) -> float:
        """How differently they move, at most, metres."""
        return float(np.linalg.norm(np.ptp(self._signs, axis=0)))

    def most_between(self, first: Slots, last: Slots) -> FloatArray:
        """The same for those from ``first`` to ``last`` [m]: a bound from above, as if all were far from the way."""
        levels = [(self._signs, self._signs)]
        while 2 ** len(levels) <= len(self._signs):
            low, high = levels[-1]
            half = 2 ** (len(levels) - 1)
            levels.append((np.minimum(low[:-half], low[half:]), np.maximum(high[:-half], high[half:])))
        spread = np.zeros(len(first))
        level = np.log2(last - first + 1).astype(np.int64)
        for k in np.unique(level).tolist():
            rows = np.flatnonzero(level == k)
            low, high = levels[k]
            a, b = first[rows], last[rows] - 2**k + 1
            spread[rows] = np.linalg.norm(np.maximum(high[a], high[b]) - np.minimum(low[a], low[b]), axis=1)
        return spread

    def apart(self, place: FloatArray, first: int, last: int) -> float:
        """How far apart anchors from ``first`` to ``last`` move one place, metres; of many, some are looked at."""
        step = max(1, math.ceil((last - first) / (_SAMPLES - 1)))
        some = np.r_[first : last + 1 : step, last]
        there = self._rotation[some] @ place + self._translation[some]
        return float(np.linalg.norm(np.ptp(there, axis=0)))
