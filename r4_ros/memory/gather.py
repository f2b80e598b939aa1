"""Where a query looks: few candidates by place, time, agents or meaning, of which none is missing that may be found.

What several agents know of one thing counts as one, which stands where the entry that speaks for it does, and was seen
when any of them saw it. So whoever is near a candidate and may be the same thing is a candidate too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import vec3
from r4_ros.core.model import FOREVER, Order, Query, TemporalConstraint, TemporalKind
from r4_ros.memory.fuse import Fuser
from r4_ros.memory.index import Index, Mask, Slots
from r4_ros.memory.semantic import Meant, SemanticKey
from r4_ros.memory.sessions import Sessions, own_map
from r4_ros.memory.spatial import Bounds, Scene, SpatialKey
from r4_ros.memory.ties import Told
from r4_ros.memory.zones import Narrow

_FEW = 4096
"""With so few entries, all are looked at."""
_MANY = 16_384
"""Up to so many candidates are looked at at once; of more, the likeliest first."""
_LEAST_RATED, _MOST_RATED = 1024, 65_536
"""From so many candidates on to so many the likeliest are looked at first; of more, the likeliest of all are sought."""
_FIRST_PART, _PART_GROWTH, _SAMPLE = 32, 4, 256
_GROWTH = 8
_FEW_PLACES = 256
"""Around so many places, things are looked for place by place."""


class Counted(IntEnum):
    """From which key on all that pass are among the candidates, so that they are counted."""

    NOTHING = 0
    RESULT = 1
    SPATIAL = 2
    SEMANTIC = 3


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose entries are asked about, as known when; ``several``: more than one agent or era may know one thing."""

    now_ns: int
    agents: tuple[int, ...] | None
    outdated: npt.NDArray[np.int64]
    several: bool

    def of(self, index: Index, slots: Slots) -> Slots:
        """Those of the slots that it comprises."""
        columns = index.entries
        mask: Mask = columns["alive"][slots] & (columns["first_seen"][slots] <= self.now_ns)
        if self.agents is not None:
            mask &= np.isin(columns["agent"][slots], self.agents)
        if len(self.outdated):
            mask &= ~np.isin(columns["map"][slots], self.outdated)
        return slots[mask]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Candidates by their meaning, and what can be counted of them.

    ``oldest``: when the oldest of them was last seen, and the last slot of those seen then; whatever isn't among them
    was last seen before, or has a later slot. None: they aren't the newest.
    """

    meant: Meant
    counted: Counted
    oldest: tuple[int, int] | None = None

    @property
    def is_all(self) -> bool:
        """Whether nothing else can belong to the result."""
        return self.meant.bound == 0 and self.oldest is None


class Gatherer:
    """Finds candidates."""

    def __init__(
        self,
        index: Index,
        semantic: SemanticKey,
        spatial: SpatialKey,
        fuser: Fuser,
        sessions: Sessions,
        config: MemoryConfig,
    ) -> None:
        self._index, self._semantic, self._spatial, self._fuser = index, semantic, spatial, fuser
        self._sessions, self._similarity = sessions, config.label_similarity

    def scope(self, query: Query, now_ns: int) -> Scope:
        """Entries that are known at ``now``, of the asked agents, on maps that still mean something.

        A session's own map means nothing after time was set back: what was there is reached by its entry id only.
        """
        asked = query.agents or self._sessions.agents()
        outdated, eras = list[str](), 0
        for agent in self._sessions.agents():
            sessions = self._sessions.of(agent)
            eras += (sessions[-1].era - sessions[0].era + 1) * (agent in asked)
            if sessions[0].era < sessions[-1].era:
                old = [own_map(agent, s.session) for s in sessions if s.era < sessions[-1].era]
                outdated += [m for m in old if self._index.anchors.alignments.of(agent, m) is None]
        codes = self._index.maps.find_all(() if query.entry_ids else outdated)
        agents = tuple(self._index.agents.find_all(query.agents)) if query.agents else None
        several = eras > 1 or bool(self._index.anchors.alignments)
        return Scope(now_ns, agents, np.array(codes, np.int64), several)

    def rounds(self, query: Query, scene: Scene, scope: Scope, told: Told) -> Iterator[Gathered]:
        """Candidates, the likeliest first; each round has more than the one before, the last one has all."""
        named = self.named(query)
        if named is not None:
            yield Gathered(self._things_of(query, scope, told, named), Counted.SEMANTIC)
            return
        every = self._semantic.attributed(query, told)
        if every is not None or query.with_counts or len(self._index) <= _FEW:
            every = np.arange(self._index.entries.rows) if every is None else every
            meant = self._semantic.filter(query, scope.of(self._index, every), told)
            yield Gathered(self._closed(query, scope, told, meant), Counted.SEMANTIC)
            return
        narrowed, by_time = self._narrowed(query, scene, scope)
        ranks = query.order == Order.SCORE and self._semantic.ranks(query)
        if narrowed is None or len(narrowed) > _MANY:
            if self._semantic.asks(query):
                fitting = self._semantic.all_fitting(query, told)
                if fitting is not None:
                    yield from self._of_fitting(query, scope, told, fitting)
                    return
                many = narrowed is None or len(narrowed) > _MOST_RATED
                for meant in self._ranked(query, scope, told) if ranks and many else ():
                    yield Gathered(meant, Counted.SEMANTIC if meant.bound == 0 else Counted.NOTHING)
            elif query.order == Order.LAST_SEEN and not query.spatial:
                yield from self._newest(query, scope, told)
        if narrowed is None:
            slots = scope.of(self._index, np.arange(self._index.entries.rows))
            meant = self._semantic.filter(query, slots, told)
            yield Gathered(self._closed(query, scope, told, meant), Counted.SEMANTIC)
            return
        slots, counted = scope.of(self._index, np.sort(narrowed)), Counted.RESULT if by_time else Counted.SPATIAL
        if scope.several and self._semantic.asks(query):
            slots = self._with_describers(query, scope, told, self._semantic.wanted(query, slots))
        if ranks and len(slots) >= _LEAST_RATED:
            for meant in self._rated(query, scope, told, slots):
                yield Gathered(meant, counted if meant.bound == 0 else Counted.NOTHING)
            return
        meant = self._semantic.filter(query, slots, told)
        yield Gathered(self._with_others(query, scope, told, meant), counted)

    def _rated(self, query: Query, scope: Scope, told: Told, slots: Slots) -> Iterator[Meant]:
        """What fits best of some slots, in growing numbers; at last all that fits."""
        most = self._semantic.at_most(query, slots, told)
        slots, most = slots[most > 0], most[most > 0]
        order, size = np.argsort(-most, kind="stable"), _first_part(query)
        while _PART_GROWTH * size < len(order):
            part = self._semantic.filter(query, np.sort(slots[order[:size]]), told)
            yield self._with_others(query, scope, told, replace(part, bound=float(most[order[size]])))
            size *= _PART_GROWTH
        yield self._with_others(query, scope, told, self._semantic.filter(query, slots, told))

    def _of_fitting(self, query: Query, scope: Scope, told: Told, fitting: Meant) -> Iterator[Gathered]:
        """What fits in the scope, of all that fits: the best first where that is much."""
        meant = fitting.of(scope.of(self._index, fitting.slots))
        if query.order == Order.SCORE and len(meant.slots) > _PART_GROWTH * _first_part(query):
            for part in self._parts(query, scope, told, meant):
                yield Gathered(part, Counted.NOTHING)
        yield Gathered(self._closed(query, scope, told, meant), Counted.SEMANTIC)

    def _newest(self, query: Query, scope: Scope, told: Told) -> Iterator[Gathered]:
        """What was seen last in the scope, in growing numbers while that leaves some out."""
        last = self._index.entries["last_seen"]
        count = _first_part(query)
        while count < min(_MANY, len(last)):
            oldest = np.partition(last, len(last) - count)[len(last) - count]
            newer = np.flatnonzero(last > oldest)
            ties = np.flatnonzero(last == oldest)[: count - len(newer)]
            slots = scope.of(self._index, np.sort(np.concatenate([newer, ties])))
            meant = self._with_others(query, scope, told, self._semantic.filter(query, slots, told))
            yield Gathered(meant, Counted.NOTHING, (int(oldest), int(ties[-1])))
            count *= _GROWTH

    def named(self, query: Query) -> Slots | None:
        """The slots whose ids are asked for, ascending; None: no ids are."""
        if not query.entry_ids:
            return None
        slots = self._index.slots
        return np.array(sorted({slots[i] for i in query.entry_ids if i in slots}), np.int64)

    def _things_of(self, query: Query, scope: Scope, told: Told, named: Slots) -> Meant:
        """Entries and whatever may be one thing with them; with score 0 where their own words don't fit."""
        slots = self._semantic.wanted(query, scope.of(self._index, named))
        fits = self._semantic.filter(query, slots, told)
        scores = np.zeros(len(slots))
        scores[np.searchsorted(slots, fits.slots)] = fits.scores
        return self._with_others(query, scope, told, Meant(slots, scores))

    def _narrowed(self, query: Query, scene: Scene, scope: Scope) -> tuple[Slots | None, bool]:
        """The slots in the zones that the query concerns (None: all); and whether that leaves out what was seen then.

        Among several agents, the one that speaks need not be the one that saw it in the asked time: then places rule
        out, or one time, but not both.
        """
        bounds = [b for c in query.spatial if (b := self._spatial.bounds(c, scene)) is not None]
        best = min(bounds, key=lambda b: b.area, default=None)
        then = [(0, scene.at_ns + 1)] if scene.at_ns is not None else []
        asked = [span for c in query.temporal if (span := _span(c)) is not None]
        if scope.several:
            asked = [] if best is not None or then else asked[:1]
            then = [] if best is not None else then
        spans = then + asked
        start = max((span[0] for span in spans), default=0)
        end = min((span[1] for span in spans), default=FOREVER)
        narrow = Narrow(start_ns=start, end_ns=min(end, scope.now_ns + 1), agents=scope.agents)
        if best is not None:
            return self._within(best, narrow), bool(asked)
        if not spans and scope.agents is None:
            return None, False
        return self._index.zones.find(narrow)[0], bool(asked)

    def any_fits(self, query: Query, scope: Scope, told: Told) -> bool:
        """Whether any entry in the scope fits by its meaning, wherever and whenever."""
        if self._semantic.asks(query):
            fitting = self._semantic.all_fitting(query, told)
            if fitting is not None:
                return bool(len(scope.of(self._index, fitting.slots)))
        every = scope.of(self._index, np.arange(self._index.entries.rows))
        some = every[:: len(every) // _SAMPLE + 1]  # where much fits, some of these do
        return any(len(self._semantic.filter(query, slots, told).slots) for slots in (some, every))

    def _within(self, bounds: Bounds, narrow: Narrow) -> Slots:
        if len(bounds.low) == 1:
            low, high = vec3(bounds.low[0]), vec3(bounds.high[0])
            return self._index.zones.find(replace(narrow, low=low, high=high))[0]
        return self._index.touching_any(bounds.low, bounds.high, narrow)

    def _ranked(self, query: Query, scope: Scope, told: Told) -> Iterator[Meant]:
        """What fits best of all entries in the scope, in growing numbers while that leaves some out."""
        count = 2 * _first_part(query)
        while count < len(self._index.descriptions.texts):
            best = self._semantic.best(query, count, told)
            best = best.of(scope.of(self._index, best.slots))
            yield from self._parts(query, scope, told, best)
            yield self._with_others(query, scope, told, best)
            count *= _GROWTH

    def _parts(self, query: Query, scope: Scope, told: Told, meant: Meant) -> Iterator[Meant]:
        """Growing parts of what fits, the best of it."""
        order = np.argsort(-meant.scores, kind="stable")
        size = _first_part(query)
        while size < min(_MANY, len(order)):
            part = np.sort(order[:size])
            bound = max(meant.bound, float(meant.scores[order[size]]))
            yield self._with_others(query, scope, told, Meant(meant.slots[part], meant.scores[part], bound))
            size *= _PART_GROWTH

    def _closed(self, query: Query, scope: Scope, told: Told, meant: Meant) -> Meant:
        """All that fits, and whatever may be one thing with it though its own words don't fit."""
        if not scope.several or not len(meant.slots):
            return meant
        holding = self._index.holding("label", self._like(meant.slots))
        if len(holding) <= len(meant.slots) and np.isin(holding, meant.slots, assume_unique=True).all():
            return meant
        return self._with_others(query, scope, told, meant)

    def _like(self, slots: Slots) -> Slots:
        """Codes of the labels that may name the same things as those of some slots do."""
        return self._index.labels.all_like(np.unique(self._index.entries["label"][slots]), self._similarity)

    def _around(self, slots: Slots, scope: Scope) -> Slots:
        """What has a label that may name the same thing as one of some slots does, and is near it, or all of that."""
        like = self._like(slots)
        if len(slots) > _FEW_PLACES:
            holding = self._index.holding("label", like)
            if len(holding) <= _GROWTH * len(slots):
                return holding
        around = self._index.around(slots, scope.agents)
        return around[np.isin(self._index.entries["label"][around], like)]

    def _with_others(self, query: Query, scope: Scope, told: Told, meant: Meant) -> Meant:
        """Also whatever may be one thing with any of them, or with what is; with score 0 where its own words don't fit.

        For the newest of what several know of a thing decides, whoever's words it was found by.
        """
        if not scope.several:
            return meant
        slots = self._linked(query, scope, meant.slots)
        fits = self._semantic.filter(query, np.setdiff1d(slots, meant.slots, assume_unique=True), told)
        scores = np.zeros(len(slots))
        for known in (meant, fits):
            scores[np.searchsorted(slots, known.slots)] = known.scores
        return Meant(slots, scores, meant.bound)

    def _with_describers(self, query: Query, scope: Scope, told: Told, slots: Slots) -> Slots:
        """Also whatever may be one thing with any of the slots: who was seen need not be who was described like this.

        Of many, only those are looked at whose labels may name a thing of which some entry fits.
        """
        fitting = self._semantic.all_fitting(query, told) if len(slots) >= _LEAST_RATED else None
        some = slots
        if fitting is not None:
            labels, like = self._index.entries["label"], self._like(fitting.slots)
            while len(more := self._index.labels.all_like(like, self._similarity)) > len(like):
                like = more
            some = slots[np.isin(labels[slots], like)]
        return np.union1d(slots, self._linked(query, scope, some))

    def _linked(self, query: Query, scope: Scope, slots: Slots) -> Slots:
        """Slots (ascending), and whatever may be one thing with any of them or with what is, whatever the words."""
        new = slots
        while len(new):
            around = np.setdiff1d(self._around(new, scope), slots, assume_unique=True)
            others = self._semantic.wanted(query, scope.of(self._index, around))
            new = others[self._fuser.linked(new, others, scope.now_ns)]
            slots = np.union1d(slots, new)
        return slots


def _first_part(query: Query) -> int:
    """So many of the likeliest are looked at first."""
    return max(_FIRST_PART, 4 * query.limit)


def _span(constraint: TemporalConstraint) -> tuple[int, int] | None:
    """What satisfies a constraint was first seen before the end and last seen at or after the start; None: whenever."""
    start, end = constraint.start_ns, constraint.end_ns
    return {
        TemporalKind.SEEN_IN: (start, end),
        TemporalKind.ONLY_SEEN_IN: (start, end),
        TemporalKind.FIRST_SEEN_AFTER: (start, end),
        TemporalKind.LAST_SEEN_BEFORE: (0, start),
        TemporalKind.PRESENT_AT: (0, start + 1),
        TemporalKind.PRESENT_IN: (0, end),
    }.get(constraint.kind)
