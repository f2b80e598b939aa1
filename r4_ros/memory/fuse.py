"""What several agents know of one physical thing, as one: done on read, nothing is merged in the store.

Entries of different agents (or of one agent before and after time was set back, or on maps of its own that are aligned)
on one common map are one thing by the rule of association: near each other and alike in label, nearest pairs first, at
most one entry of each owner. The entry with the newest evidence speaks for it; among sightings within 30 s of each
other, the less occluded one does. Where that one knows only a part of what another knows whole, the other speaks.

What one agent knows to have moved, others may only have seen where it was before. Their entries are that thing too, and
don't speak for it, as long as they were last seen there before it was seen elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import FOREVER, NS_PER_S, Visibility
from r4_ros.memory.index import Index, Mask, Slots
from r4_ros.memory.links import Former, Linker, Numbers, joined
from r4_ros.memory.moments import TemporalKey
from r4_ros.memory.sessions import Sessions

_SAME_TIME_NS = 30 * NS_PER_S
_PART, _LARGER = 0.7, 1.3
_RANKS = np.zeros(max(Visibility) + 1, np.int64)
_RANKS[[Visibility.VISIBLE, Visibility.TRUNCATED, Visibility.OCCLUDED]] = 3, 2, 1


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


@dataclass(frozen=True, slots=True)
class _Members:
    """Entries of things with several sources, thing by thing, ascending; ``thing``: the number of each one's."""

    slots: Slots
    thing: Numbers
    seen: Numbers

    @property
    def starts(self) -> Numbers:
        """Where each thing begins."""
        return np.flatnonzero(np.diff(self.thing, prepend=-1))

    def first(self, *keys: npt.NDArray[np.generic]) -> Numbers:
        """Of each thing the one that comes first by these keys, the most important first; ties by slot."""
        return np.asarray(np.lexsort((*keys[::-1], self.thing))[self.starts])


class Fuser:
    """Groups entries that are one thing."""

    def __init__(self, index: Index, temporal: TemporalKey, sessions: Sessions, config: MemoryConfig) -> None:
        self._index, self._temporal, self._sessions = index, temporal, sessions
        self._linker = Linker(index, config)

    def fuse(self, slots: Slots, now_ns: int) -> Fused:
        """One slot a thing, ascending."""
        owners = self._owners(slots)
        rows = np.arange(len(slots))
        if (owners == owners[:1]).all():
            return Fused(slots, rows, {})
        seen = self._temporal.last_seen(slots, now_ns)
        former = self._linker.former(slots, owners, seen)
        pairs = np.concatenate([self._linker.pairs(slots, owners), np.stack([former.there, former.moved], axis=1)])
        if not len(pairs):
            return Fused(slots, rows, {})
        some, thing = joined(pairs, owners)
        members = _Members(slots[some], thing, seen[some])
        since = np.minimum(_since_former(some, thing, former), self._since_carried(members))
        speaks = self._speaking(members, since < FOREVER, now_ns)
        kept = np.ones(len(slots), np.bool_)
        kept[np.delete(some, speaks)] = False
        parts = np.split(members.slots, members.starts[1:])
        sources = {s: tuple(part.tolist()) for s, part in zip(members.slots[speaks].tolist(), parts, strict=True)}
        left = since < FOREVER
        moved = dict(zip(members.slots[left].tolist(), since[left].tolist(), strict=True))
        return Fused(slots[kept], rows[kept], sources, moved)

    def linked(self, slots: Slots, others: Slots, now_ns: int) -> Mask:
        """Which of the others may be one thing with any of the slots, also by where one stood before."""
        every = np.concatenate([slots, others])
        owners = self._owners(every)
        former = self._linker.former(every, owners, self._temporal.last_seen(every, now_ns))
        pairs = np.concatenate([self._linker.pairs(every, owners), np.stack([former.there, former.moved], axis=1)])
        linked = np.zeros(len(every), np.bool_)
        linked[pairs[pairs[:, 0] < len(slots), 1]] = True
        linked[pairs[pairs[:, 1] < len(slots), 0]] = True
        return linked[len(slots) :]

    def _owners(self, slots: Slots) -> Numbers:
        """A number for each agent and era; and, where maps are aligned, each map of its own."""
        columns = self._index.entries
        pairs = columns["agent"][slots].astype(np.int64) << 32 | columns["session"][slots]
        own = columns["map"][slots] if self._index.anchors.alignments else np.zeros(len(slots), np.int32)
        if (pairs == pairs[:1]).all() and (own == own[:1]).all():
            return np.zeros(len(slots), np.int64)
        distinct, inverse = np.unique(pairs, return_inverse=True)
        names = [
            (pair >> 32, self._sessions.era(self._index.agents.texts[pair >> 32], pair & 0xFFFFFFFF))
            for pair in distinct.tolist()
        ]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return np.array([numbers[name] for name in names], np.int64)[inverse] << 32 | own

    def _since_carried(self, members: _Members) -> Numbers:
        """When what was last seen before one linked with a moved one was seen elsewhere, was so seen; else FOREVER."""
        ids, successors = self._index.ids, self._index.successors
        later = np.array([successors.get(ids[slot], -1) for slot in members.slots.tolist()] if successors else [-1])
        since = np.where(later >= 0, self._index.entries["first_seen"][later], FOREVER)
        of_thing = np.minimum.reduceat(np.broadcast_to(since, members.slots.shape), members.starts)[members.thing]
        return np.where((later < 0) & (members.seen <= of_thing), of_thing, FOREVER)

    def _speaking(self, members: _Members, moved: Mask, now_ns: int) -> Numbers:
        """Which member of each thing is the source whose place and state count; moved ones where all are."""
        may = ~moved | np.logical_and.reduceat(moved, members.starts)[members.thing]
        evidence = np.maximum(members.seen, self._temporal.known_gone(members.slots, now_ns))
        newest = members.first(~may, -evidence)
        late = evidence < evidence[newest][members.thing] - _SAME_TIME_NS
        rank = _RANKS[self._index.entries["visibility"][members.slots]]
        best = members.first(~may, late, -rank, -evidence)
        whole = self._whole(members, best, may & (evidence == members.seen))
        return np.where(evidence[newest] > members.seen[newest], newest, whole)

    def _whole(self, members: _Members, best: Numbers, there: Mask) -> Numbers:
        """Of each thing the one whose box is much larger than the best one's and holds it, else the best one.

        ``there``: which may be it.
        """
        low, high = self._index.corners(members.slots)
        volume, its = (high - low).prod(axis=1), best[members.thing]
        shared = np.clip(np.minimum(high, high[its]) - np.maximum(low, low[its]), 0, None).prod(axis=1)
        holds = (shared >= _PART * volume[its]) & (volume > _LARGER * volume[its]) & there
        largest = members.first(~holds, -volume)
        return np.where(holds[largest], largest, best)


def _since_former(rows: Numbers, thing: Numbers, former: Former) -> Numbers:
    """When each row's thing was seen elsewhere, by one that stood where it does; FOREVER: it wasn't."""
    since = np.full(len(rows), FOREVER)
    at = {row: i for i, row in enumerate(rows.tolist())} if len(former.there) else {}
    for there, moved, stamp in zip(former.there.tolist(), former.moved.tolist(), former.since.tolist(), strict=True):
        i, j = at.get(there, -1), at.get(moved, -1)
        if i >= 0 and j >= 0 and thing[i] == thing[j]:
            since[i] = min(since[i], stamp)
    return since
