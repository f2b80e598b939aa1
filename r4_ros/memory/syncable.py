"""The part of a library that is told to a map server, and that hears what others know."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from r4_ros.core.errors import NotPermitted
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.episodes import EpisodeBook
from r4_ros.memory.heard import Heard, News
from r4_ros.memory.hearing import Hearing, Own
from r4_ros.memory.heeding import Heeding
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.sql_peers import PeerChange, PeerStore
from r4_ros.memory.sql_told import AGENT, DONE, HEARD, HIDDEN, LOST, NAME, PEERS, READ
from r4_ros.memory.store import AnchorRecord, SessionRecord, StoredView


class Syncable(Heeding):
    """What a library needs for that; it sets these fields itself."""

    _sessions: Sessions
    _coverage: Coverage
    _episodes: EpisodeBook
    _map_frames: dict[str, str]
    _next_frame: int
    heard_revision: int = 0
    """Revision of the last change that came from others."""

    @property
    def store(self) -> PeerStore:
        """Where it is stored."""
        return cast(PeerStore, self._store)

    @property
    def name(self) -> str:
        """What this memory is called by the servers that it is told to: a number of its own, made when first asked."""
        with self._writing, self._lock:
            name = self.store.told.get(NAME)
            if not name:
                self._refuse_if_read_only()
                name = secrets.token_hex(8)
                self.store.told.keep(NAME, name)
            return name

    def anybody_may_write(self, agent_id: str) -> None:
        """The next frame of an agent is taken from whatever writer: frames that were stored elsewhere come again."""
        with self._writing, self._lock:
            self._sessions.anybody_may_write(agent_id)

    def reading_to_tell(self, frame_id: int) -> None:
        """Frames up to this one are being told: what changes of them from now on is told again."""
        self._mark(READ, frame_id)

    def told(self, agent_id: str, frame_id: int) -> None:
        """Frames of an agent up to this one were told and worked in."""
        self._mark(AGENT, agent_id)
        self._mark(DONE, frame_id)

    def adopt_sessions(self, sessions: Sequence[SessionRecord]) -> int:
        """Count on after sessions of an agent that another memory knows beyond this one; gives how many these are."""
        with self._writing, self._lock:
            new = [s for s in sessions if s.session >= len(self._sessions.of(s.agent_id))]
            if new:
                self._refuse_if_read_only()
                self.store.write_sessions(new)
                for session in new:
                    self._sessions.take(session)
            return len(new)

    @property
    def untold_lost(self) -> int:
        """Observations that were dropped, for want of room, before the map server could be told of them."""
        with self._lock:
            return int(self.store.told.get(LOST) or 0)

    def _mark(self, name: str, said: object) -> None:
        with self._writing, self._lock:
            if self.store.told.get(name) != str(said):
                self.store.told.keep(name, str(said))

    def _begin_hearing(self) -> None:
        """At the start: whom it heard of, and what of that no answer names."""
        told = self.store.told
        self._sessions.others = told.others()
        self._said.hide_too(frozenset(json.loads(told.get(HIDDEN) or "[]")))

    def peers(self) -> list[str]:
        """Agents whose namespaces are a map server's, and only read here, sorted."""
        with self._lock:
            return sorted(self._sessions.others)

    def heard(self) -> Heard:
        """How far a map server was heard."""
        with self._lock:
            return Heard.of_text(self.store.told.get(HEARD))

    def _refuse_if_others(self, agent_id: str) -> None:
        if agent_id in self._sessions.others:
            raise NotPermitted(f"what '{agent_id}' saw comes from the map server; this memory only reads it")

    def hear(self, news: News) -> None:
        """Take over what others know; on return it survives kill -9. Raises StoreError; then nothing has changed."""
        with self._writing, self._lock:
            self._refuse_if_read_only()
            mine = frozenset(self._sessions.agents()) - self._sessions.others
            peers = self._sessions.others | {s.agent_id for s in news.sessions if s.agent_id not in mine}
            own = Own(self._next_frame, self._index.entries.rows, self._revision + 1, mine)
            kept = {HEARD: news.heard.to_text(), PEERS: json.dumps(sorted(peers))}
            if news.hidden is not None:
                kept[HIDDEN] = json.dumps(sorted(news.hidden))
            change = Hearing(news, own, self.store, self._anchors).change(kept)
            numbers = self.store.write_peers(change)
            self._sessions.others, self._revision = peers, change.revision
            self.heard_revision = change.revision
            self._take_ways(change)
            self._take_states(change)
            for (stored, embedding), number in zip(change.episodes, numbers, strict=True):
                if number:
                    self._episodes.take(replace(stored, number=number), embedding)
            if news.hidden is not None:
                self._said.hide_too(news.hidden)
            self._said.hide()

    def _take_ways(self, change: PeerChange) -> None:
        """Where others were, and what they looked at."""
        for session in change.sessions:
            self._sessions.take(session)
        for anchor in change.anchors:
            self._anchors.add(anchor)
        if change.moved:
            self._move_others(change.moved)
        for frame, until_ns, settled in change.frames:
            f = frame.frame
            self._next_frame += 1
            self._map_frames[f.map_id] = f.map_frame
            if f.view.depth.size:
                key = (f.frame_id, f.agent_id, f.camera, f.map_id, f.stamp_ns, until_ns)
                self._coverage.add(StoredView(*key, f.anchor_id, f.sensor_in_anchor, f.view, settled))
        for minute in change.cells:
            self._coverage.past.add(minute)

    def _move_others(self, moved: tuple[AnchorRecord, ...]) -> None:
        anchors = [record.anchor for record in moved]
        mask = np.zeros(len(self._anchors), np.bool_)
        mask[[anchor.anchor_id for anchor in anchors]] = True
        beside, _ = self._index.beside(self._anchors.moved(anchors), mask)
        self._anchors.take(beside.anchors)
        self._index.take_places(beside)

    def _take_states(self, change: PeerChange) -> None:
        """What others know of things."""
        index = self._index
        held = index.entries["agent"]

        def is_here(slot: int) -> bool:
            return slot < len(held) and bool(held[slot] >= 0)

        part = {slot for slot, kept in change.parts.items() if kept is not None}
        here = {c.after.slot: c.before for c in change.entries if c.before is not None and is_here(c.after.slot)}
        for stored in [*(s for slot, s in here.items() if slot in part), *(s for s in change.gone if is_here(s.slot))]:
            index.remove(stored)
        if change.parts or change.gone:
            index.rename_parts(self._store.merged())
        whole = [c for c in change.entries if c.after.slot not in part]
        shown = [c for c in whole if c.before is None or c.after.slot in here or c.after.slot in change.parts]
        index.apply([(here[c.after.slot].entry if c.after.slot in here else None, c.after) for c in shown])
        for c in shown:
            self._cache.put(c.after)
        index.absences.take(change.absences)
