"""A query against the index: scope, then the semantic, spatial and temporal key, order, and evidence for the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.geometry import transform_points, vec3
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import (
    Episode,
    Event,
    Evidence,
    Fact,
    FloatArray,
    Order,
    Query,
    Reference,
    Region,
    Retrieval,
    SpatialConstraint,
    TemporalKind,
    Vec3,
)
from r4_ros.core.ports import Embedder
from r4_ros.memory import views
from r4_ros.memory.boxes import Boxes
from r4_ros.memory.constraints import check_numbers
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.episodes import EpisodeBook
from r4_ros.memory.evidence import EvidenceMaker
from r4_ros.memory.facts import FactMaker
from r4_ros.memory.fuse import Fused, Fuser
from r4_ros.memory.gather import Counted, Gathered, Gatherer
from r4_ros.memory.index import Index, Mask, Slots
from r4_ros.memory.looked import Looked, look_at
from r4_ros.memory.moments import TemporalKey, asked_window
from r4_ros.memory.semantic import Meant, SemanticKey
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.spatial import Scene, SpatialKey
from r4_ros.memory.store import MemoryStore, StoredEvent
from r4_ros.memory.stretches import Things
from r4_ros.memory.ties import Told
from r4_ros.memory.trails import Trails
from r4_ros.memory.usual import Neighbours
from r4_ros.memory.ways import ways
from r4_ros.memory.working import EntryCache


@dataclass(frozen=True, slots=True)
class Candidates:
    """Slots that passed so far, with their places and scores."""

    slots: Slots
    boxes: Boxes
    semantic: FloatArray
    spatial: FloatArray

    def keep(self, mask: Mask | Slots) -> Candidates:
        """Those of a mask, or these rows in this order."""
        boxes = Boxes(self.boxes.low[mask], self.boxes.high[mask])
        return Candidates(self.slots[mask], boxes, self.semantic[mask], self.spatial[mask])


@dataclass(frozen=True, slots=True)
class Passed:
    """What satisfies a query, what it was put together from, and how many passed each key (-1: not counted)."""

    found: Candidates
    fused: Fused
    after_semantic: int
    after_spatial: int
    after_temporal: int


class Retriever:
    """Answers queries. The caller holds the library's lock."""

    def __init__(
        self,
        store: MemoryStore,
        index: Index,
        cache: EntryCache,
        sessions: Sessions,
        trails: Trails,
        coverage: Coverage,
        config: MemoryConfig,
        embedder: Embedder | None,
        episodes: EpisodeBook,
    ) -> None:
        self._store, self._index, self._sessions, self._coverage = store, index, sessions, coverage
        self._episode_book = episodes
        self._semantic = SemanticKey(index, config, embedder)
        self._temporal = TemporalKey(index, store)
        self._spatial = SpatialKey(index, self._temporal, trails)
        self._fuser = Fuser(index, self._temporal, sessions, config)
        self._in_view_ns = nanoseconds(config.sighting_gap_s)
        self._gatherer = Gatherer(index, self._semantic, self._spatial, self._fuser, sessions, config)
        self._evidence = EvidenceMaker(index, cache, coverage, self._in_view_ns)
        things = Things(index, cache, self._fuser)
        self.facts = FactMaker(store, index, things, Neighbours(index, self._temporal), episodes)

    def retrieve(
        self,
        query: Query,
        revision: int,
        regions: Sequence[Region],
        map_frames: Mapping[str, str],
        deadline: float,
    ) -> Retrieval:
        """See ``Library.retrieve``; ``deadline`` on the monotonic clock."""
        with self._index.absences.within(query.agents):
            return self._retrieved(query, revision, regions, map_frames, deadline)

    def _retrieved(
        self,
        query: Query,
        revision: int,
        regions: Sequence[Region],
        map_frames: Mapping[str, str],
        deadline: float,
    ) -> Retrieval:
        agents = self._agents(query)
        now = self._now(query, agents)
        here = [agent for agent in agents if agent not in self._sessions.others] or agents
        ego_candidates = here if not query.ego_agent and len(here) > 1 else []
        ego_agent = query.ego_agent or (here[0] if len(here) == 1 else "")
        scene = Scene(now, query.at_ns, ego_agent, regions, deadline)
        if query.limit < 1:
            raise InvalidArgument(f"limit must be at least 1, not {query.limit}")
        told = self._episode_book.ties.told(self._index.slots, now)
        passed = self._passed(query, scene, told)
        best = self._ordered(query, passed.found, scene)
        entries = self._evidence.make(best, scene, map_frames, passed.fused.sources, told)
        looked = self._looked(query, scene)
        ego = self._spatial.ego(scene) if ego_agent else None
        if ego is not None:
            entries = tuple(e if e.map_id == ego.map_id else replace(e, place_known=False) for e in entries)
        return Retrieval(
            revision=revision,
            now_ns=now,
            entries=entries,
            events=self._events(entries, passed.fused, now) + self._ways(query, agents, scene)
            if query.with_events
            else (),
            episodes=self._episodes(query, agents, scene) if query.with_episodes else (),
            facts=self._facts_of(query, entries, passed.fused, scene, revision) if query.with_facts else (),
            ego=ego,
            ego_frame="" if ego is None else map_frames.get(ego.map_id, ""),
            ego_candidates=tuple(ego_candidates),
            after_semantic=passed.after_semantic,
            after_spatial=passed.after_spatial,
            after_temporal=passed.after_temporal,
            coverage=looked.coverage,
            visited=looked.visited,
            last_looked=looked.last,
            regions=tuple(dict.fromkeys(r.name for r in regions)),
            labels_known=() if entries else self._semantic.hints(query),
        )

    def _agents(self, query: Query) -> list[str]:
        """The agents in scope. Raises UnknownEntry."""
        known = self._sessions.agents()
        for agent in (*query.agents, *((query.ego_agent,) if query.ego_agent else ())):
            if agent not in known:
                raise UnknownEntry(f"no agent is named '{agent}'; known are: {', '.join(known) or 'none yet'}")
        return [a for a in known if a in query.agents] if query.agents else known

    def _now(self, query: Query, agents: Sequence[str]) -> int:
        if query.now_ns is not None:
            return query.now_ns
        return max((s.newest_ns for s in map(self._sessions.newest, agents) if s is not None), default=0)

    def _passed(self, query: Query, scene: Scene, told: Told) -> Passed:
        """What satisfies all keys: of the first candidates among which the best ones certainly are, else of all.

        Where nothing does, the counts say which key left nothing over.
        """
        scope = self._gatherer.scope(query, scene.now_ns)
        for gathered in self._gatherer.rounds(query, scene, scope, told):
            passed = self._sifted(query, gathered, scene)
            if self._certain(query, gathered, passed.found, scene.now_ns):
                break
        if len(passed.found.slots) or passed.after_semantic >= 0:
            return passed
        if not self._gatherer.any_fits(query, scope, told):
            return replace(passed, after_semantic=0, after_spatial=0)
        if passed.after_spatial < 0 and query.spatial and query.temporal:
            without_times = replace(query, temporal=(), states=(), visibilities=())
            return replace(passed, after_spatial=self._passed(without_times, scene, told).after_spatial)
        return passed

    def _certain(self, query: Query, gathered: Gathered, found: Candidates, now_ns: int) -> bool:
        """Whether what belongs to the result is found, whatever isn't among the candidates."""
        if gathered.oldest is not None:
            (last_ns, slot), last_seen = gathered.oldest, self._temporal.last_seen(found.slots, now_ns)
            sure = (last_seen > last_ns) | ((last_seen == last_ns) & (found.slots <= slot))
        else:
            sure = found.semantic * found.spatial > gathered.meant.bound
        return gathered.is_all or int(np.count_nonzero(sure)) >= query.limit

    def _sifted(self, query: Query, gathered: Gathered, scene: Scene) -> Passed:
        """Those of the candidates that satisfy all keys."""
        slots, now, counted = gathered.meant.slots, scene.now_ns, gathered.counted
        fused, scores = _fitting(self._fuser.fuse(slots, now), gathered.meant)
        named = self._gatherer.named(query)
        if named is not None:
            asked = np.flatnonzero(_any_source(lambda some: np.isin(some, named), fused.slots, fused))
            fused, scores = replace(fused, slots=fused.slots[asked], rows=fused.rows[asked]), scores[asked]
        after_semantic = len(fused.slots)
        scene.check_time()
        found = self._placed(fused, scores, scene)
        for constraint in query.spatial:
            mask, degree = self._spatial.filter(constraint, found.slots, found.boxes, scene)
            found = replace(found, spatial=np.minimum(found.spatial, degree)).keep(mask)
            scene.check_time()
        after_spatial = len(found.slots)
        for moment in query.temporal:
            holds: Callable[[Slots], Mask] = partial(self._temporal.holds, moment, now_ns=now)
            if moment.kind in (TemporalKind.PRESENT_AT, TemporalKind.PRESENT_IN):
                holds = fused.unless_moved(holds, moment.start_ns)
            found = found.keep(_any_source(holds, found.slots, fused))
        found = self._in_state(query, found, now)
        scene.check_time()
        return Passed(
            found,
            fused,
            after_semantic if counted >= Counted.SEMANTIC else -1,
            after_spatial if counted >= Counted.SPATIAL else -1,
            len(found.slots) if counted >= Counted.RESULT else -1,
        )

    def _placed(self, fused: Fused, semantic: FloatArray, scene: Scene) -> Candidates:
        """Where candidates were at the time asked about; those that weren't present then drop out."""
        slots = fused.slots
        if scene.at_ns is not None:
            present = fused.unless_moved(partial(self._temporal.present, stamp_ns=scene.at_ns), scene.at_ns)
            there = _any_source(present, slots, fused)
            slots, semantic = slots[there], semantic[there]
        return Candidates(slots, self._spatial.boxes(slots, scene), semantic, np.ones(len(slots)))

    def _in_state(self, query: Query, found: Candidates, now_ns: int) -> Candidates:
        if query.states:
            states = self._temporal.states(found.slots, now_ns, self._in_view_ns)
            found = found.keep(np.isin(states, [int(s) for s in query.states]))
        if query.visibilities:
            visibility = self._index.entries["visibility"][found.slots]
            found = found.keep(np.isin(visibility, [int(v) for v in query.visibilities]))
        return found

    def _ordered(self, query: Query, found: Candidates, scene: Scene) -> Candidates:
        """The best ``limit`` in the asked order; ties by score, then last seen, then slot."""
        keys = [found.slots, -self._temporal.last_seen(found.slots, scene.now_ns), -(found.semantic * found.spatial)]
        keys += self._order_keys(query, found, scene)
        order = np.lexsort(keys)[: query.limit]
        return found.keep(order)

    def _order_keys(self, query: Query, found: Candidates, scene: Scene) -> list[FloatArray]:
        """Sort keys, the most important last, ascending."""
        order, columns = query.order, self._index.entries
        boxes, slots = found.boxes, found.slots
        if order in (Order.NEAREST, Order.FARTHEST, Order.LEFTMOST, Order.RIGHTMOST):
            return self._order_from(query, found, scene)
        values: dict[Order, FloatArray] = {
            Order.LAST_SEEN: -self._temporal.last_seen(slots, scene.now_ns).astype(float),
            Order.FIRST_SEEN: columns["first_seen"][slots],
            Order.LARGEST: -boxes.size.prod(axis=1),
            Order.SMALLEST: boxes.size.prod(axis=1),
            Order.HIGHEST: -boxes.centre[:, 2],
            Order.LOWEST: boxes.centre[:, 2],
        }
        return [values[order]] if order in values else []

    def _order_from(self, query: Query, found: Candidates, scene: Scene) -> list[FloatArray]:
        reference = query.order_from or SpatialConstraint("within", Reference.EGO)
        check_numbers(reference)
        places = self._spatial.places(reference, scene)
        if not places:
            return []
        if query.order in (Order.LEFTMOST, Order.RIGHTMOST):
            viewer = places[0].observer or reference.pose
            left = views.sideways(found.boxes, viewer)
            return [-left if query.order is Order.LEFTMOST else left]
        gaps = np.min([self._spatial.distances(found.boxes, p) for p in places], axis=0)
        centres = np.min([np.linalg.norm(found.boxes.centre - p.box.centre, axis=1) for p in places], axis=0)
        sign = 1 if query.order is Order.NEAREST else -1
        return [sign * centres, sign * gaps]

    def _looked(self, query: Query, scene: Scene) -> Looked:
        window = asked_window(query.temporal, query.at_ns, scene.now_ns)
        places = [p for c in query.spatial if not c.negate for p in self._spatial.places(c, scene)]
        if places:
            return look_at(self._coverage, places, window, scene.now_ns, query.agents)
        if query.temporal or query.at_ns is not None:
            watched = self._coverage.any_view(*window, query.agents)
            return Looked(1.0 if watched else 0.0)
        return Looked()

    def _events(self, entries: Sequence[Evidence], fused: Fused, now_ns: int) -> tuple[Event, ...]:
        """Events of the things found, whoever of their sources noticed them: told of the entry that speaks for all."""
        speaker_of = {
            source: e.entry_id
            for e in entries
            for source in fused.sources.get(self._index.slots[e.entry_id], (self._index.slots[e.entry_id],))
        }
        if not speaker_of:
            return ()
        counts = self._index.absences.counts
        found = self._store.events(slots=list(speaker_of))
        known = (s for s in found if s.event.latest_ns <= now_ns and counts(s.event.agent_id))
        return tuple(replace(self.placed_event(s), entry_id=speaker_of[s.slot]) for s in known)

    def _facts_of(
        self, query: Query, entries: Sequence[Evidence], fused: Fused, scene: Scene, revision: int
    ) -> tuple[Fact, ...]:
        found = {self._index.slots[e.entry_id] for e in entries}
        sources = {slot for speaker in found for slot in fused.sources.get(speaker, (speaker,))}
        zone = query.timezone
        return tuple(self.facts.of(sources, query.agents, zone, scene.now_ns, scene.regions, revision))

    def _ways(self, query: Query, agents: Sequence[str], scene: Scene) -> tuple[Event, ...]:
        """When the asked agents (else the ego agent) entered and left the regions of the query's spatial key."""
        named = {c.region for c in query.spatial if c.reference is Reference.REGION and not c.negate}
        if not named:
            return ()
        who = agents if query.agents else [scene.ego_agent] if scene.ego_agent else agents
        regions = [r for r in scene.regions if r.name in named]
        return tuple(ways(self._spatial.trails, who, regions, scene.now_ns))

    def placed_event(self, stored: StoredEvent) -> Event:
        """An event where it happened, by the anchors of today."""
        where = self._in_common(stored.anchor_id, stored.place)
        event = replace(stored.event, place=where, map_id=self._index.anchors.common_map(stored.anchor_id))
        if stored.from_anchor is None or stored.from_place is None:
            return event
        return replace(event, from_place=self._in_common(stored.from_anchor, stored.from_place))

    def _in_common(self, anchor_id: int, point: Vec3) -> Vec3:
        return vec3(transform_points(self._index.anchors.common_pose(anchor_id), [point])[0])

    def _episodes(self, query: Query, agents: Sequence[str], scene: Scene) -> tuple[Episode, ...]:
        """The best episodes of the asked agents in the asked time and place whose text fits."""
        start, end = asked_window(query.temporal, query.at_ns, scene.now_ns)
        if query.at_ns is not None:
            start = max(start, query.at_ns)
        found = self._episode_book.find(query, agents, (start, end), self._index.slots, scene.now_ns)
        if query.spatial:
            found = found.keep(found.placed)
        for constraint in query.spatial:
            maps = self._episode_book.map_codes(self._index.maps.texts)[found.maps]
            boxes = Boxes(found.places, found.places)
            no_entries = np.full(len(found.rows), -1)
            found = found.keep(self._spatial.filter(constraint, no_entries, boxes, scene, maps)[0])
        return self._episode_book.best(found, query.order, query.limit)


def _fitting(fused: Fused, meant: Meant) -> tuple[Fused, FloatArray]:
    """Things of which any source fits what was asked, with the best one's score."""
    scores = meant.scores[fused.rows]
    rows = np.flatnonzero(np.isin(fused.slots, list(fused.sources))) if fused.sources else fused.rows[:0]
    if len(rows):
        sources = [fused.sources[slot] for slot in fused.slots[rows].tolist()]
        every = meant.scores[np.searchsorted(meant.slots, np.array([slot for some in sources for slot in some]))]
        scores[rows] = np.maximum.reduceat(every, np.cumsum([0, *(len(some) for some in sources[:-1])]))
    fits = scores > 0
    return (
        (fused, scores)
        if fits.all()
        else (replace(fused, slots=fused.slots[fits], rows=fused.rows[fits]), scores[fits])
    )


def _any_source(holds: Callable[[Slots], Mask], slots: Slots, fused: Fused) -> Mask:
    """Which slots it holds for; for one that speaks for several, if it does for any of them."""
    mask = holds(slots)
    rows = np.flatnonzero(np.isin(slots, list(fused.sources))) if fused.sources else slots[:0]
    if len(rows):
        sources = [fused.sources[slot] for slot in slots[rows].tolist()]
        every = holds(np.array([slot for some in sources for slot in some], np.int64))
        starts = np.cumsum([0, *(len(some) for some in sources[:-1])])
        mask[rows] = np.logical_or.reduceat(every, starts)
    return mask
