"""A query against the index: scope, then the semantic, spatial and temporal key, order, and evidence for the best."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, UnknownEntry
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
    Vec3,
)
from r4_ros.core.ports import Embedder
from r4_ros.memory import views
from r4_ros.memory.boxes import Boxes
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.episodes import EpisodeBook
from r4_ros.memory.evidence import EvidenceMaker
from r4_ros.memory.facts import FactMaker
from r4_ros.memory.fuse import Fused, Fuser
from r4_ros.memory.index import Index, Mask, Slots
from r4_ros.memory.looked import Looked, look_at
from r4_ros.memory.moments import TemporalKey, asked_window
from r4_ros.memory.semantic import SemanticKey
from r4_ros.memory.sessions import Sessions, own_map
from r4_ros.memory.spatial import Scene, SpatialKey
from r4_ros.memory.store import MemoryStore, StoredEvent
from r4_ros.memory.stretches import Things
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
        self._evidence = EvidenceMaker(index, cache, self._in_view_ns)
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
        agents = self._agents(query)
        now = self._now(query, agents)
        ego_candidates = agents if not query.ego_agent and len(agents) > 1 else []
        ego_agent = query.ego_agent or (agents[0] if len(agents) == 1 else "")
        scene = Scene(now, query.at_ns, ego_agent, regions)
        scope = self._scope(query, now)
        told = self._episode_book.ties.told(self._index.slots, now)
        slots, semantic = self._semantic.filter(query, scope, told)
        fused = Fused(slots, np.arange(len(slots)), {}) if query.entry_ids else self._fuser.fuse(slots, now)
        slots, semantic = fused.slots, semantic[fused.rows]
        after_semantic = len(slots)
        _check_deadline(deadline)
        found = self._placed(slots, semantic, scene, fused)
        for constraint in query.spatial:
            mask, degree = self._spatial.filter(constraint, found.slots, found.boxes, scene)
            found = replace(found, spatial=np.minimum(found.spatial, degree)).keep(mask)
            _check_deadline(deadline)
        after_spatial = len(found.slots)
        for moment in query.temporal:
            found = found.keep(_any_source(self._temporal.holds(moment, now), fused)[found.slots])
        found = self._in_state(query, found, now)
        _check_deadline(deadline)
        best = self._ordered(query, found, scene)
        entries = self._evidence.make(best, scene, map_frames, fused.sources, told)
        looked = self._looked(query, scene)
        ego = self._spatial.ego(scene) if ego_agent else None
        return Retrieval(
            revision=revision,
            now_ns=now,
            entries=entries,
            events=self._events(entries, fused, now) + self._ways(query, agents, scene) if query.with_events else (),
            episodes=self._episodes(query, agents, scene) if query.with_episodes else (),
            facts=self._facts_of(query, entries, fused, scene, revision) if query.with_facts else (),
            ego=ego,
            ego_frame="" if ego is None else map_frames.get(ego.map_id, ""),
            ego_candidates=tuple(ego_candidates),
            after_semantic=after_semantic,
            after_spatial=after_spatial,
            after_temporal=len(found.slots),
            coverage=looked.coverage,
            visited=looked.visited,
            last_looked=looked.last,
            regions=tuple(dict.fromkeys(r.name for r in regions)),
            labels_known=self._semantic.hints(query, scope),
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

    def _scope(self, query: Query, now_ns: int) -> Slots:
        """Entries that are known at ``now``, of the asked agents, on maps that still mean something.

        A session's own map means nothing after time was set back: what was there is reached by its entry id only.
        """
        columns = self._index.entries
        mask = columns["alive"] & (columns["first_seen"] <= now_ns)
        if query.agents:
            mask &= np.isin(columns["agent"], self._index.agents.find_all(query.agents))
        if query.entry_ids:
            named = np.zeros(len(mask), bool)
            named[[self._index.slots[i] for i in query.entry_ids if i in self._index.slots]] = True
            return np.flatnonzero(mask & named)
        outdated = [
            own_map(agent, session.session)
            for agent in self._sessions.agents()
            for session in self._sessions.of(agent)
            if session.era < self._sessions.of(agent)[-1].era
        ]
        if outdated:
            mask &= ~np.isin(columns["map"], self._index.maps.find_all(outdated))
        return np.flatnonzero(mask)

    def _placed(self, slots: Slots, semantic: FloatArray, scene: Scene, fused: Fused) -> Candidates:
        """Where candidates were at the time asked about; those that weren't present then drop out."""
        if scene.at_ns is not None:
            there = _any_source(self._temporal.present(scene.at_ns), fused)[slots]
            slots, semantic = slots[there], semantic[there]
        return Candidates(slots, self._spatial.boxes(slots, scene), semantic, np.ones(len(slots)))

    def _in_state(self, query: Query, found: Candidates, now_ns: int) -> Candidates:
        if query.states:
            states = self._temporal.states(now_ns, self._in_view_ns)[found.slots]
            found = found.keep(np.isin(states, [int(s) for s in query.states]))
        if query.visibilities:
            visibility = self._index.entries["visibility"][found.slots]
            found = found.keep(np.isin(visibility, [int(v) for v in query.visibilities]))
        return found

    def _ordered(self, query: Query, found: Candidates, scene: Scene) -> Candidates:
        """The best ``limit`` in the asked order; ties by score, then last seen, then slot."""
        if query.limit < 1:
            raise InvalidArgument(f"limit must be at least 1, not {query.limit}")
        keys = [found.slots, -self._temporal.last_seen(scene.now_ns)[found.slots], -(found.semantic * found.spatial)]
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
            Order.LAST_SEEN: -self._temporal.last_seen(scene.now_ns)[slots].astype(float),
            Order.FIRST_SEEN: columns["first_seen"][slots],
            Order.LARGEST: -boxes.size.prod(axis=1),
            Order.SMALLEST: boxes.size.prod(axis=1),
            Order.HIGHEST: -boxes.centre[:, 2],
            Order.LOWEST: boxes.centre[:, 2],
        }
        return [values[order]] if order in values else []

    def _order_from(self, query: Query, found: Candidates, scene: Scene) -> list[FloatArray]:
        reference = query.order_from or SpatialConstraint("within", Reference.EGO)
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
            return look_at(self._coverage, places, window, query.agents)
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
        known = (s for s in self._store.events(slots=list(speaker_of)) if s.event.latest_ns <= now_ns)
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
        place = self._in_map(stored.anchor_id, stored.place)
        if stored.from_anchor is None or stored.from_place is None:
            return replace(stored.event, place=place)
        return replace(stored.event, place=place, from_place=self._in_map(stored.from_anchor, stored.from_place))

    def _in_map(self, anchor_id: int, point: Vec3) -> Vec3:
        return vec3(transform_points(self._index.anchors[anchor_id].pose_in_map, [point])[0])

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


def _any_source(holds: Mask, fused: Fused) -> Mask:
    """A mask over slots in which a slot that speaks for several counts if any of them does."""
    result: Mask = holds.copy()
    for speaker, sources in fused.sources.items():
        result[speaker] = holds[list(sources)].any()
    return result


def _check_deadline(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise DeadlineExceeded("the memory's time for this query is up; ask for less or allow more time")
