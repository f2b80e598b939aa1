"""Which entries a correction concerns that were seen while their robot was astray, and in which portions.

With those go what is like them and near, since it may be the same thing, and what they are linked with. What a person
spoke of and what was told apart stays out of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.memory.index import Index, Slots
from r4_ros.memory.said import Said
from r4_ros.memory.working import EntryCache

AT_ONCE, MOST_TOGETHER, MOST_SIGHTINGS = 5_000, 15_000, 200_000
"""So many sightings are worked in at once, while frames wait; so many, if they can't be parted; and for one correction
in all, what was seen last first. A robot keeps 200 frames for a memory that takes its time."""


class Concerned:
    """Finds them; changes nothing."""

    def __init__(self, index: Index, cache: EntryCache, said: Said, config: MemoryConfig) -> None:
        self._index, self._cache, self._said, self._config = index, cache, said, config

    def slots(self, astray: Slots, pairs: Sequence[tuple[int, int]]) -> set[int]:
        """Slots of entries to be made anew: those ``astray``, what is like them and near, what they are linked with.

        ``pairs``: slots of what came near to each other; likewise those that are alike and weren't merged.
        """
        slots = {self._now(slot) for slot in astray.tolist()} - {-1}
        slots |= {slot for pair in pairs for slot in self._still_two(*pair)}
        never = self._said.spoken_of() | self._said.told_apart()
        new = slots = slots - never
        while new:
            more = self._like(new) | {slot for s in new for slot in self._linked(s)}
            new = more - slots - never
            slots = slots | new
        return slots

    def _still_two(self, a: int, b: int) -> set[int]:
        a, b = self._now(a), self._now(b)
        return {a, b} if a != b and min(a, b) >= 0 and self._alike(a, b) else set()

    def _alike(self, a: int, b: int) -> bool:
        label = self._index.entries["label"]
        return self._index.labels.alike(int(label[a]), int(label[b]), self._config.label_similarity)

    def _like(self, slots: set[int]) -> set[int]:
        """What is like one of them, and within reach of where that one is or was."""
        from scipy.spatial import cKDTree

        index = self._index
        some = np.array(sorted(slots), np.int64)
        around = index.around(some, tuple(np.unique(index.entries["agent"][some]).tolist()))
        around = around[~np.isin(around, some)]
        if not len(around):
            return set()
        (mine, here), (theirs, there) = index.ever(some), index.ever(around)
        reach = self._config.epsilon_max_m
        near = cKDTree(there).query_ball_tree(cKDTree(here), reach)
        pairs = {(int(theirs[i]), int(mine[j])) for i, found in enumerate(near) for j in found}
        return {a for a, b in pairs if self._alike(a, b)}

    def batches(self, slots: Collection[int]) -> list[list[int]]:
        """The slots, map by map, in portions that don't concern each other."""
        return list(self._batches(slots))

    def _batches(self, slots: Collection[int]) -> Iterator[list[int]]:
        columns, counts = self._index.entries, {slot: self._cache.get(slot).entry.count for slot in slots}
        batch, size, left = list[int](), 0, MOST_SIGHTINGS
        for some in sorted(
            self._groups(sorted(slots)), key=lambda g: (columns["map"][g[0]], -columns["last_seen"][g].max())
        ):
            count = sum(counts[slot] for slot in some)
            if count > min(left, MOST_TOGETHER):
                continue
            if batch and (size + count > AT_ONCE or columns["map"][some[0]] != columns["map"][batch[0]]):
                yield batch
                batch, size = [], 0
            batch, size, left = [*batch, *some], size + count, left - count
        if batch:
            yield batch

    def _groups(self, slots: Sequence[int]) -> list[list[int]]:
        """Those that are alike and near, or linked, together."""
        from scipy.spatial import cKDTree

        if not slots:
            return []
        owner, places = self._index.ever(np.array(slots, np.int64))
        near = cKDTree(places).query_pairs(self._config.epsilon_max_m, output_type="ndarray")
        pairs = {(int(a), int(b)) for a, b in owner[near].tolist() if a != b}
        joined = [pair for pair in pairs if self._alike(*pair)]
        joined += [(slot, other) for slot in slots for other in self._linked(slot) if other in set(slots)]
        group = {slot: [slot] for slot in slots}
        for a, b in joined:
            if group[a] is not group[b]:
                group[a] += group[b]
                group |= dict.fromkeys(group[b], group[a])
        return list({id(some): sorted(some) for some in group.values()}.values())

    def _linked(self, slot: int) -> Iterator[int]:
        index, entry = self._index, self._cache.get(slot).entry
        for name in (entry.moved_from, *entry.maybe_same_as):
            if name in index.slots:
                yield index.slots[name]
        if entry.entry_id in index.successors:
            yield index.successors[entry.entry_id]

    def _now(self, slot: int) -> int:
        """The slot of the entry that one is a part of by now; -1: of none."""
        return self._index.slots.get(self._index.ids[slot], -1)
