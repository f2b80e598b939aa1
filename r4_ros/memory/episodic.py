"""The part of the library that knows what happened: episodes, facts, where agents were and what they looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from r4_ros.core.errors import InvalidArgument, UnknownEntry
from r4_ros.core.geometry import compose, inverse
from r4_ros.core.limits import check_place, check_words
from r4_ros.core.model import (
    FOREVER,
    NS_PER_S,
    Embedding,
    Episode,
    EpisodeSource,
    Fact,
    Interval,
    Pose,
    Region,
    TrailPoint,
    Vec3,
)
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.cells import Block, pack
from r4_ros.memory.correctable import Correctable
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.episodes import EpisodeBook, id_of
from r4_ros.memory.retrieve import Retriever
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.store import StoredCells, StoredEpisode
from r4_ros.memory.ties import Tie, check_ties
from r4_ros.memory.trails import Trails

_THEN_NS = 10 * NS_PER_S


class Episodic(Correctable):
    """What a library needs for that; it sets these fields itself."""

    _anchors: AnchorBook
    _episodes: EpisodeBook
    _sessions: Sessions
    _trails: Trails
    _coverage: Coverage
    _retriever: Retriever
    _regions: list[Region]

    def add_episode(self, episode: Episode, embedding: Embedding | None = None) -> str:
        """Store an episode and give its id; an empty id is made from its content. The same one again does nothing.

        Without a place it happened where its agent was. ``embedding``: what its text means, where that is known.
        Raises InvalidArgument for an empty text or interval, and for a participant that states who somebody is or owns
        (see ``ties``) in a caption or of an unknown entry.
        """
        if not episode.text.strip() or episode.interval.end <= episode.interval.start:
            raise InvalidArgument("an episode needs a text and an interval that ends after it starts")
        check_place(episode.place, "the episode's place")
        check_words(" ".join((episode.text, *episode.participants)), "an episode")
        with self._writing, self._lock:
            self._refuse_if_read_only()
            check_ties(episode, self._index.slots)
            if not episode.episode_id:
                episode = replace(episode, episode_id=id_of(episode))
            stored, embedding = self._hung(episode), embedding or self._episodes.meaning(episode.text)
            number = self._store.add_episode(stored, self._revision + 1, embedding)
            if number:
                self._revision += 1
                self._episodes.take(replace(stored, number=number), embedding)
            return episode.episode_id

    def facts(
        self,
        entry_ids: Sequence[str] = (),
        labels: Sequence[str] = (),
        agents: Sequence[str] = (),
        timezone: str = "",
        now_ns: int | None = None,
    ) -> list[Fact]:
        """What is usual, or was said, of entries (by id or label; none given: of all), as known at a time.

        Where they usually are and at what times of day, what goes with them, what is usually on or in them, and whose
        and who they are as somebody said. By kind, the weightiest first, each with its sources. ``timezone``: of times
        of day, an IANA name; empty: UTC. Raises InvalidArgument for an unknown one, UnknownEntry for an unknown id.
        """
        with self._lock:
            unknown = [i for i in entry_ids if i not in self._index.slots]
            if unknown:
                raise UnknownEntry(f"no entry has the id '{unknown[0]}'")
            wanted = {label.casefold() for label in labels}
            codes = [c for c, text in enumerate(self._index.labels.texts) if text.casefold() in wanted]
            columns = self._index.entries
            slots = {self._index.slots[i] for i in entry_ids}
            if labels or not entry_ids:
                mask = columns["alive"] & (np.isin(columns["label"], codes) if labels else True)
                slots.update(np.flatnonzero(mask).tolist())
            now = self.newest_stamp() if now_ns is None else now_ns
            return self._retriever.facts.of(slots, agents, timezone, now, self._regions, self._revision)

    def trail(self, agent_id: str, start_ns: int = 0, end_ns: int = FOREVER) -> list[TrailPoint]:
        """Base poses of an agent in [start, end), oldest first."""
        with self._lock:
            return self._trails.between(agent_id, start_ns, end_ns)

    def trail_at(self, agent_id: str, stamp_ns: int) -> TrailPoint | None:
        """Where an agent's base was at a time, interpolated; None before its first frame. See ``Trails.at``."""
        with self._lock:
            return self._trails.at(agent_id, stamp_ns)

    def _settle_views(self) -> None:
        """Make one past minute of what was looked at coarse, if there is enough of it."""
        due = self._coverage.due()
        if due is not None:
            self._store.settle_views(due.cells, due.frames, due.dropped)
            self._coverage.settled(due)

    def add_coverage(self, agent_id: str, map_id: str, span: Interval, block: Block) -> None:
        """Take over cells of a map that an agent looked at in a minute of the past; a known minute changes nothing.

        Raises InvalidArgument where the agent has no frames on that map.
        """
        with self._writing, self._lock:
            self._refuse_if_read_only()
            newest = self._sessions.newest(agent_id)
            anchor = self._anchors.latest(agent_id, map_id, span.start)
            if anchor is None and newest is not None:
                anchor = self._anchors.latest(agent_id, map_id, newest.newest_ns)
            if anchor is None:
                raise InvalidArgument(f"coverage: nothing else is known of agent '{agent_id}' on the map '{map_id}'")
            where = (agent_id, map_id, span.start, span.end, anchor.anchor_id, anchor.pose_in_map)
            minute = StoredCells(*where, pack(block))
            if not self._coverage.past.has(minute):
                self._store.settle_views(minute, (), ())
                self._coverage.past.add(minute)

    def newest_stamp(self, agent_id: str = "") -> int:
        """Newest stamp of an agent's newest session; 0 where there is none."""
        raise NotImplementedError

    def said_of(self, now_ns: int | None = None) -> list[Tie]:
        """Who entries are and whose they are, as it was last said by a time (None: ever)."""
        with self._lock:
            return self._episodes.ties.holding(FOREVER if now_ns is None else now_ns)

    def _hung(self, episode: Episode) -> StoredEpisode:
        then = self._trails.at(episode.agent_id, episode.interval.start, own=True)
        map_id = episode.map_id or (then.map_id if then else "")
        place = episode.place
        if place is None and then is not None and then.map_id == map_id and _is_witness(episode, then.stamp_ns):
            place = then.pose.position
        episode = replace(episode, map_id=map_id, place=place)
        anchor = self._anchors.latest(episode.agent_id, map_id, episode.interval.start)
        if place is None or anchor is None:
            return StoredEpisode(episode, None, place)
        local: Vec3 = compose(inverse(anchor.pose_in_map), Pose(place)).position
        return StoredEpisode(episode, anchor.anchor_id, local)


def _is_witness(episode: Episode, known_ns: int) -> bool:
    """Whether where its agent was then is where it happened: the agent's own camera or microphone took it."""
    return episode.source is not EpisodeSource.OPERATOR and episode.interval.start - known_ns <= _THEN_NS
