"""Which session and map a frame belongs to, and which writer may write.

A *session* is a stretch of an agent's time in which stamps don't go back; order is (session, stamp). A frame of a
writer seen before stays in that writer's session, so that resent frames are recognised, unless its stamps jump: back
by more than ``reorder_s`` or forward by more than an hour while its sequence numbers go on. A new writer, a jump or
a raised count of time resets continues the agent's newest session if the stamp follows that session's newest one
within ``session_gap_s`` (or is late by at most ``reorder_s``); otherwise a new session begins. Where time went back,
it also begins a new *era*.

Each camera of an agent has one writer at a time. An empty map id means the session's own map, "<agent>/<session>".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import WriterRefused
from r4_ros.core.intervals import nanoseconds
from r4_ros.core.model import NS_PER_S, Frame
from r4_ros.memory.store import SessionRecord, WriterRecord

_FORWARD_JUMP_NS = 3600 * NS_PER_S

_WriterKey = tuple[str, str, str, int]


def own_map(agent_id: str, session: int) -> str:
    """Map id of a session whose frames name none."""
    return f"{agent_id}/{session}"


@dataclass(frozen=True, slots=True)
class Admission:
    """Where a frame belongs; what is known of its session and writer once it is stored.

    ``era_start``: number of the first session of the same era. ``newest``: later than all that is known of its session.
    """

    session: SessionRecord
    writer: WriterRecord
    map_id: str
    era_start: int
    newest: bool


class Sessions:
    """The sessions and writers of all agents. ``admit`` decides, ``commit`` remembers after the frame is stored."""

    def __init__(
        self,
        config: MemoryConfig,
        sessions: Iterable[SessionRecord],
        writers: Iterable[WriterRecord],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reorder_ns = nanoseconds(config.reorder_s)
        self._gap_ns = nanoseconds(config.session_gap_s)
        self._silence_s = config.writer_silence_s
        self._monotonic = monotonic
        self.others = frozenset[str]()
        """Agents that write elsewhere, and are only read here."""
        self._sessions: dict[str, list[SessionRecord]] = {}
        self._writers: dict[_WriterKey, list[WriterRecord]] = {}
        self._alive: dict[tuple[str, str], tuple[str, float]] = {}
        for session in sessions:
            self._sessions.setdefault(session.agent_id, []).append(session)
        for writer in writers:
            self._writers.setdefault(_key(writer), []).append(writer)

    def admit(self, frame: Frame) -> Admission:
        """Session, writer and map of a frame. Raises WriterRefused while another writer serves this camera."""
        alive = self._alive.get((frame.agent_id, frame.camera))
        if alive and alive[0] != frame.writer and self._monotonic() - alive[1] < self._silence_s:
            raise WriterRefused(
                f"agent '{frame.agent_id}', camera '{frame.camera}' is served by writer '{alive[0]}'; stop one of the "
                f"two, or give this one its own agent_id or camera (it may take over after {self._silence_s:g} s "
                "of silence)"
            )
        writer = self._writer_of(frame)
        session = self._sessions[frame.agent_id][writer.session] if writer else self._session_for(frame)
        newest = frame.stamp_ns > session.newest_ns
        session = replace(
            session,
            first_ns=min(session.first_ns, frame.stamp_ns),
            newest_ns=max(session.newest_ns, frame.stamp_ns),
        )
        if writer is None:
            key = (frame.agent_id, frame.camera, frame.writer, frame.session)
            writer = WriterRecord(*key, frame.sequence, session.session, frame.sequence, frame.stamp_ns)
        elif frame.sequence >= writer.newest_sequence:
            writer = replace(writer, newest_sequence=frame.sequence, newest_ns=frame.stamp_ns)
        known = self._sessions.get(frame.agent_id, ())
        era_start = next((s.session for s in known if s.era == session.era), session.session)
        map_id = frame.map_id or own_map(frame.agent_id, session.session)
        return Admission(session, writer, map_id, era_start, newest)

    def _writer_of(self, frame: Frame) -> WriterRecord | None:
        """The record that this frame falls under; None: it begins a new one."""
        known = self._writers.get((frame.agent_id, frame.camera, frame.writer, frame.session))
        if not known:
            return None
        record = next((w for w in reversed(known) if w.first_sequence <= frame.sequence), known[0])
        if frame.sequence > record.newest_sequence:
            ahead = frame.stamp_ns - record.newest_ns
            if ahead < -self._reorder_ns or ahead > _FORWARD_JUMP_NS:
                return None
        return record

    def _session_for(self, frame: Frame) -> SessionRecord:
        known = self._sessions.get(frame.agent_id)
        if not known:
            return SessionRecord(frame.agent_id, 0, 0, frame.stamp_ns, frame.stamp_ns)
        newest = known[-1]
        ahead = frame.stamp_ns - newest.newest_ns
        if -self._reorder_ns <= ahead <= self._gap_ns:
            return newest
        era = newest.era + (1 if ahead < 0 else 0)
        return SessionRecord(frame.agent_id, newest.session + 1, era, frame.stamp_ns, frame.stamp_ns)

    def commit(self, admission: Admission) -> None:
        """Remember a frame that was stored."""
        session, writer = admission.session, admission.writer
        known = self._sessions.setdefault(session.agent_id, [])
        if session.session == len(known):
            known.append(session)
        else:
            known[session.session] = session
        records = self._writers.setdefault(_key(writer), [])
        same = [i for i, record in enumerate(records) if record.first_sequence == writer.first_sequence]
        if same:
            records[same[0]] = writer
        else:
            records.append(writer)
        self._alive[writer.agent_id, writer.camera] = (writer.writer, self._monotonic())

    def take(self, session: SessionRecord) -> None:
        """Take over a session of an agent that writes elsewhere, the next one of it or one that is known."""
        known = self._sessions.setdefault(session.agent_id, [])
        known[session.session : session.session + 1] = [session]

    def anybody_may_write(self, agent_id: str) -> None:
        """Forget who serves the cameras of an agent now: whoever comes next does."""
        self._alive = {key: held for key, held in self._alive.items() if key[0] != agent_id}

    def writer_ended(self, agent_id: str, camera: str, writer: str) -> None:
        """If this one serves the camera now, whoever comes next does."""
        if self._alive.get((agent_id, camera), ("", 0.0))[0] == writer:
            del self._alive[agent_id, camera]

    def agents(self) -> list[str]:
        """All agents that ever wrote, sorted."""
        return sorted(self._sessions)

    def newest(self, agent_id: str) -> SessionRecord | None:
        """The newest session of an agent."""
        known = self._sessions.get(agent_id)
        return known[-1] if known else None

    def of(self, agent_id: str) -> list[SessionRecord]:
        """All sessions of an agent, oldest first."""
        return list(self._sessions.get(agent_id, ()))

    def era(self, agent_id: str, session: int) -> int:
        """The era of a session."""
        return self._sessions[agent_id][session].era


def _key(writer: WriterRecord) -> _WriterKey:
    return writer.agent_id, writer.camera, writer.writer, writer.writer_session
