"""What several agents know of one physical thing, as one: done on read, nothing is merged in the store.

Entries of different agents (or of one agent before and after time was set back) on one map are one thing by the rule
of association: near each other and alike in label, nearest pairs first, at most one entry of each owner. The entry
with the newest evidence speaks for it; among sightings within 30 s of each other, the less occluded one does. Where
that one knows only a part of what another knows whole, the other speaks.

What one agent knows to have moved, others may only have seen where it was before. Their entries are that thing too, and
don't speak for it, as long as they were last seen there before it was seen elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import NS_PER_S, FloatArray, Visibility
from r4_ros.memory.index import Index, Mask, Slots
from r4_ros.memory.moments import TemporalKey
from r4_ros.memory.sessions import Sessions

Times = npt.NDArray[np.int64]

_SAME_TIME_NS = 30 * NS_PER_S
_PART, _LARGER = 0.7, 1.3
_RANK = {Visibility.VISIBLE: 3, Visibility.TRUNCATED: 2, Visibility.OCCLUDED: 1}


@dataclass(frozen=True, slots=True)
class Fused:
    """Slots of which each stands for one thing, their rows in what was given, and all sources of those with several.

    ``moved``: slots of entries whose thing another agent saw elsewhere, and since when.
    """

    slots: Slots
    rows: Slots
    sources: dict[int, tuple[int, ...]]
    moved: dict[int, int] = field(default_factory=dict)

    def unless_moved(self, holds: Callable[[Slots], Mask], stamp_ns: int) -> Callable[[Slots], Mask]:
        """What holds for slots, but for those whose thing had been seen elsewhere by a stamp."""
        left = [slot for slot, since in self.moved.items() if since <= stamp_ns]
        return (lambda slots: holds(slots) & ~np.isin(slots, left)) if left else holds


class Fuser:
    """Groups entries that are one thing."""

    def __init__(self, index: Index, temporal: TemporalKey, sessions: Sessions, config: MemoryConfig) -> None:
        self._index, self._temporal, self._sessions, self._config = index, temporal, sessions, config

    def fuse(self, slots: Slots, now_ns: int) -> Fused:
        """One slot a thing, ascending."""
        owners = self._owners(slots)
        rows = np.arange(len(slots))
        if (owners == owners[:1]).all():
            return Fused(slots, rows, {})
        seen = self._temporal.last_seen(slots, now_ns)
        former = self._former_pairs(slots, owners, seen)
        groups = self._groups(self._pairs(slots, owners) + [pair for pair, _ in former], owners)
        sources: dict[int, tuple[int, ...]] = {}
        moved: dict[int, int] = {}
        dropped: set[int] = set()
        for group in groups:
            members = slots[group].tolist()
            moved |= {int(slots[row]): since for (row, mover), since in former if row in group and mover in group}
            moved |= self._carried(members, seen[group].tolist())
            speaker = self._speaker([slot for slot in members if slot not in moved] or members, now_ns)
            sources[speaker] = tuple(sorted(members))
            dropped.update(slot for slot in members if slot != speaker)
        kept = ~np.isin(slots, list(dropped))
        return Fused(slots[kept], rows[kept], sources, moved)

    def _carried(self, members: Sequence[int], seen: Sequence[int]) -> dict[int, int]:
        """Members last seen before one that is linked with a moved one was seen elsewhere, and when that was."""
        index = self._index
        since = [
            int(index.entries["first_seen"][index.successors[index.ids[slot]]])
            for slot in members
            if index.ids[slot] in index.successors
        ]
        if not since:
            return {}
        left = zip(members, seen, strict=True)
        return {slot: min(since) for slot, t in left if t <= min(since) and index.ids[slot] not in index.successors}

    def _former_pairs(
        self, slots: Slots, owners: npt.NDArray[np.int64], seen: Times
    ) -> list[tuple[tuple[int, int], int]]:
        """Pairs of a row and one that once stayed where that is and has moved since, and when; nearest first."""
        columns, stays, config = self._index.entries, self._index.stays, self._config
        found: list[tuple[float, tuple[int, int], int]] = []
        for row in np.flatnonzero(stays["prev"][stays.last[slots]] >= 0).tolist():
            later = int(stays.last[slots[row]])
            while (stay := int(stays["prev"][later])) >= 0:
                since = int(stays["start"][later])
                distance = np.linalg.norm(columns["centre"][slots] - stays["centre"][stay], axis=1)
                size = np.maximum(2 * stays["half"][stay].max(), (columns["high"] - columns["low"])[slots].max(axis=1))
                fits = distance < np.clip(config.epsilon_extent * size, config.epsilon_min_m, config.epsilon_max_m)
                fits &= (owners != owners[row]) & (seen < since) & ~columns["gone"][slots]
                fits &= columns["map"][slots] == columns["map"][slots[row]]
                others = np.flatnonzero(fits)
                label = columns["label"][slots]
                alike = self._alike(label[others], np.full(len(others), label[row], np.int32))
                found += [(float(distance[n]), (n, row), since) for n in others[alike].tolist()]
                later = stay
        return [(pair, since) for _, pair, since in sorted(found)]

    def linked(self, slots: Slots, others: Slots) -> npt.NDArray[np.bool_]:
        """Which of the others may be one thing with any of the slots."""
        every = np.concatenate([slots, others])
        pairs = np.array(self._pairs(every, self._owners(every)), np.int64).reshape(-1, 2)
        linked = np.zeros(len(every), np.bool_)
        linked[pairs[pairs[:, 0] < len(slots), 1]] = True
        linked[pairs[pairs[:, 1] < len(slots), 0]] = True
        return linked[len(slots) :]

    def _owners(self, slots: Slots) -> npt.NDArray[np.int64]:
        """A number for each agent and era."""
        columns = self._index.entries
        pairs = columns["agent"][slots].astype(np.int64) << 32 | columns["session"][slots]
        if (pairs == pairs[:1]).all():
            return np.zeros(len(slots), np.int64)
        distinct, inverse = np.unique(pairs, return_inverse=True)
        names = [
            (pair >> 32, self._sessions.era(self._index.agents.texts[pair >> 32], pair & 0xFFFFFFFF))
            for pair in distinct.tolist()
        ]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return np.array([numbers[name] for name in names], np.int64)[inverse]

    def _groups(self, pairs: Sequence[tuple[int, int]], owners: npt.NDArray[np.int64]) -> list[list[int]]:
        """Rows of things with several sources: the pairs joined in their order."""
        group_of = {row: [row] for row in range(len(owners))}
        for a, b in pairs:
            first, second = group_of[a], group_of[b]
            if first is second or {owners[r] for r in first} & {owners[r] for r in second}:
                continue
            first.extend(second)
            for row in second:
                group_of[row] = first
        distinct = {id(group): group for group in group_of.values() if len(group) > 1}
        return [sorted(group) for group in distinct.values()]

    def _pairs(self, slots: Slots, owners: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
        """Pairs of rows that may be one thing, nearest first."""
        from scipy.spatial import cKDTree

        columns, config = self._index.entries, self._config
        centre = columns["centre"][slots]
        pairs = cKDTree(centre).query_pairs(config.epsilon_max_m, output_type="ndarray")
        a, b = pairs[:, 0], pairs[:, 1]
        size: FloatArray = (columns["high"][slots] - columns["low"][slots]).max(axis=1)
        largest = np.maximum(size[a], size[b])
        epsilon = np.clip(config.epsilon_extent * largest, config.epsilon_min_m, config.epsilon_max_m)
        distance = np.linalg.norm(centre[a] - centre[b], axis=1)
        fits = (owners[a] != owners[b]) & (distance < epsilon)
        fits &= columns["map"][slots[a]] == columns["map"][slots[b]]
        fits[fits] = self._alike(columns["label"][slots[a[fits]]], columns["label"][slots[b[fits]]])
        order = np.lexsort((b[fits], a[fits], distance[fits]))
        return [(int(x), int(y)) for x, y in pairs[fits][order]]

    def _alike(self, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        labels = self._index.labels
        known: dict[tuple[int, int], bool] = {}
        for pair in set(zip(a.tolist(), b.tolist(), strict=True)):
            known[pair] = labels.alike(*pair, self._config.label_similarity)
        return np.array([known[pair] for pair in zip(a.tolist(), b.tolist(), strict=True)], bool)

    def _speaker(self, slots: list[int], now_ns: int) -> int:
        """The source whose place and state count."""
        members = np.array(slots)
        seen = self._temporal.last_seen(members, now_ns)
        evidence = np.maximum(seen, self._temporal.known_gone(members, now_ns))
        newest = int(np.argmax(evidence))
        if evidence[newest] > seen[newest]:
            return slots[newest]
        visibility = self._index.entries["visibility"][members]
        rank = np.array([_RANK.get(Visibility(v), 0) for v in visibility])
        late = evidence < evidence[newest] - _SAME_TIME_NS
        best = int(np.lexsort((members, -evidence, -rank, late))[0])
        return slots[self._whole(members, best, evidence > seen)]

    def _whole(self, members: Slots, best: int, gone: npt.NDArray[np.bool_]) -> int:
        """The one whose box is much larger than the best one's and holds it (places agree, sizes don't), else that."""
        low, high = self._index.entries["low"][members], self._index.entries["high"][members]
        volume = (high - low).prod(axis=1)
        shared = np.clip(np.minimum(high, high[best]) - np.maximum(low, low[best]), 0, None).prod(axis=1)
        holds = (shared >= _PART * volume[best]) & (volume > _LARGER * volume[best]) & ~gone
        return int(np.argmax(np.where(holds, volume, -1.0))) if holds.any() else best
