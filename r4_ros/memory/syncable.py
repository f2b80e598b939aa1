"""The part of a library that is told to others, and that others tell."""

from __future__ import annotations

import secrets
from typing import cast

from r4_ros.memory.correctable import Correctable
from r4_ros.memory.sessions import Sessions
from r4_ros.memory.sql_store import SqlStore
from r4_ros.memory.sql_told import DONE, READ

_NAME = "name"


class Syncable(Correctable):
    """What a library needs for that; it sets these fields itself."""

    _sessions: Sessions

    @property
    def store(self) -> SqlStore:
        """Where it is stored."""
        return cast(SqlStore, self._store)

    @property
    def name(self) -> str:
        """What this memory is called by the servers that it is told to: a number of its own, made when first asked."""
        with self._writing, self._lock:
            name = self.store.told.get(_NAME)
            if not name:
                self._refuse_if_read_only()
                name = secrets.token_hex(8)
                self.store.told.keep(_NAME, name)
            return name

    def anybody_may_write(self, agent_id: str) -> None:
        """The next frame of an agent is taken from whatever writer: frames that were stored elsewhere come again."""
        with self._writing, self._lock:
            self._sessions.anybody_may_write(agent_id)

    def reading_to_tell(self, frame_id: int) -> None:
        """Frames up to this one are being told: what changes of them from now on is told again."""
        self._mark(READ, frame_id)

    def told(self, frame_id: int) -> None:
        """Frames up to this one were told and worked in."""
        self._mark(DONE, frame_id)

    def _mark(self, name: str, frame_id: int) -> None:
        with self._writing, self._lock:
            if self.store.told.get(name) != str(frame_id):
                self.store.told.keep(name, str(frame_id))
