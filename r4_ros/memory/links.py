"""Which entries of several agents may be one thing: pairs of them by the rule of association, and groups of pairs.

All numbers here are rows: places in an array of slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import FloatArray
from r4_ros.memory.index import Index, Mask, Slots

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Former:
    """Rows ``there`` of what stands where ``moved`` once stayed and had left by ``since``; nearest first."""

    there: Numbers
    moved: Numbers
    since: Numbers


class Linker:
    """Finds pairs. ``owners``: a number for each agent and era; a thing has at most one entry of each."""

    def __init__(self, index: Index, config: MemoryConfig) -> None:
        self._index, self._config = index, config

    def pairs(self, slots: Slots, owners: Numbers) -> Numbers:
        """Pairs [n, 2] of rows that may be one thing now, nearest first."""
        from scipy.spatial import cKDTree

        columns = self._index.entries
        if not len(slots):
            return np.zeros((0, 2), np.int64)
        centre, size = self._index.centres(slots), self._sizes(slots)
        tree = cKDTree(centre, compact_nodes=False, balanced_tree=False)
        a, b = tree.query_pairs(float(self._epsilon(size).max()), output_type="ndarray").T
        distance = np.linalg.norm(centre[a] - centre[b], axis=1)
        fits = (owners[a] != owners[b]) & (distance < self._epsilon(np.maximum(size[a], size[b])))
        fits &= columns["common"][slots[a]] == columns["common"][slots[b]]
        fits[fits] = self._alike(slots[a[fits]], slots[b[fits]])
        a, b, distance = a[fits], b[fits], distance[fits]
        order = np.lexsort((b, a, distance))
        return np.stack([a[order], b[order]], axis=1)

    def former(self, slots: Slots, owners: Numbers, seen: Numbers) -> Former:
        """What stands, last ``seen`` before, where another one stayed that has moved since."""
        from scipy.spatial import cKDTree

        columns, stays = self._index.entries, self._index.stays
        moved, stay, since = self._earlier(slots)
        candidates = np.flatnonzero(~columns["gone"][slots]) if len(stay) else moved
        if not len(candidates):
            return Former(candidates, candidates, candidates)
        centre, size = self._index.centres(slots), self._sizes(slots)
        tree = cKDTree(centre[candidates], compact_nodes=False, balanced_tree=False)
        near = tree.query_ball_point(stays["centre"][stay], self._config.epsilon_max_m)
        which = np.repeat(np.arange(len(stay)), [len(some) for some in near])
        there = candidates[np.array([row for some in near for row in some], np.int64)]
        moved, stay, since = moved[which], stay[which], since[which]
        distance = np.linalg.norm(centre[there] - stays["centre"][stay], axis=1)
        fits = distance < self._epsilon(np.maximum(2 * stays["half"][stay].max(axis=1, initial=0.0), size[there]))
        fits &= (owners[there] != owners[moved]) & (seen[there] < since)
        fits &= columns["common"][slots[there]] == columns["common"][slots[moved]]
        fits[fits] = self._alike(slots[there[fits]], slots[moved[fits]])
        there, moved, since, distance = there[fits], moved[fits], since[fits], distance[fits]
        order = np.lexsort((since, moved, there, distance))
        return Former(there[order], moved[order], since[order])

    def _earlier(self, slots: Slots) -> tuple[Numbers, Numbers, Numbers]:
        """All earlier stays of slots: whose row, which stay, and when it was over."""
        stays = self._index.stays
        rows, later = np.arange(len(slots)), stays.last[slots].astype(np.int64)
        found: list[Numbers] = [np.zeros((3, 0), np.int64)]
        while len(rows):
            before = stays["prev"][later].astype(np.int64)
            some = before >= 0
            rows, before, later = rows[some], before[some], later[some]
            found.append(np.stack([rows, before, stays["start"][later]]))
            later = before
        whose, stay, since = np.concatenate(found, axis=1)
        return whose, stay, since

    def _sizes(self, slots: Slots) -> FloatArray:
        low, high = self._index.corners(slots)
        return np.asarray((high - low).max(axis=1))

    def _epsilon(self, sizes: FloatArray) -> FloatArray:
        """How far apart things whose larger one has this size may be."""
        config = self._config
        return np.clip(config.epsilon_extent * sizes, config.epsilon_min_m, config.epsilon_max_m)

    def _alike(self, slots: Slots, others: Slots) -> Mask:
        """Which have labels that are alike; each two labels are compared once."""
        labels, column = self._index.labels, self._index.entries["label"]
        keys = column[slots].astype(np.int64) << 32 | column[others]
        distinct, inverse = np.unique(keys, return_inverse=True)
        pairs = [(key >> 32, key & 0xFFFFFFFF) for key in distinct.tolist()]
        alike = [a == b or labels.alike(a, b, self._config.label_similarity) for a, b in pairs]
        return np.array(alike, np.bool_)[inverse]


def joined(pairs: Numbers, owners: Numbers) -> tuple[Numbers, Numbers]:
    """Rows of things with several sources, and the number of the thing of each: the pairs joined in their order.

    The rows of a thing ascend. What would join two rows of one owner isn't joined.
    """
    often = np.bincount(pairs.ravel(), minlength=len(owners))
    single = (often[pairs] == 1).all(axis=1)
    groups = pairs[single].tolist() + _joined(pairs[~single].tolist(), owners)
    rows = np.array([row for group in groups for row in sorted(group)], np.int64)
    return rows, np.repeat(np.arange(len(groups)), [len(group) for group in groups])


def _joined(pairs: Sequence[Sequence[int]], owners: Numbers) -> list[list[int]]:
    owner_of = {row: int(owners[row]) for pair in pairs for row in pair}
    group_of = {row: ([row], {owner}) for row, owner in owner_of.items()}
    for a, b in pairs:
        first, second = group_of[a], group_of[b]
        if first is second or not first[1].isdisjoint(second[1]):
            continue
        first[0].extend(second[0])
        first[1].update(second[1])
        for row in second[0]:
            group_of[row] = first
    distinct = {id(group): group for group in group_of.values()}
    return [rows for rows, _ in distinct.values() if len(rows) > 1]
