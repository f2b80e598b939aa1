"""A robot's connection to the map server's database, by its own role: what it puts into the inbox and hears."""

from __future__ import annotations

import time
from collections.abc import Callable

from r4_ros.core.errors import InvalidArgument, NotPermitted
from r4_ros.memory import envelope
from r4_ros.memory.codec import text_key
from r4_ros.memory.envelope import Told
from r4_ros.memory.feed import Feed
from r4_ros.memory.postgres_database import PostgresDatabase, open_postgres
from r4_ros.memory.postgres_sync import CHANNEL_DONE, CHANNEL_DOWN, CHANNEL_UP
from r4_ros.memory.server_state import ClockOffset, ServerState
from r4_ros.memory.sql_frames import SESSIONS
from r4_ros.memory.store import SessionRecord

ROUNDS = 5
"""Round trips in which the clocks are compared; the shortest counts."""
_LISTEN = f"LISTEN {CHANNEL_DOWN}; LISTEN {CHANNEL_DONE}".encode()
_WRITABLE = "SET default_transaction_read_only = off"
_AGENT = "SELECT agent_id FROM robot_role WHERE role_name = current_user"
_CLOCK = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS BIGINT)"
_STATE = "SELECT sequence, told, frames, observations, refused, problem FROM synced WHERE agent_id = ? AND writer = ?"
_SESSIONS = f"{SESSIONS} WHERE agent_id = ? ORDER BY session"
_WAITING = f"""SELECT sequence, substring(content FROM 1 FOR {envelope.HEAD_BYTES}) FROM inbox
    WHERE agent_id = ? AND writer = ? ORDER BY sequence"""
_PUT = """INSERT INTO inbox(agent_id, writer, sequence, kind, sent_ns, content) VALUES (?, ?, ?, 'batch', ?, ?)
    ON CONFLICT (agent_id, writer, sequence) DO NOTHING"""


class MapLink:
    """Open for as long as the robot runs; a lost connection is made again. Every method raises StoreError.

    ``agent_id``: whose role it must be (empty: whosever it is).
    """

    def __init__(self, url: str, agent_id: str = "", wall_ns: Callable[[], int] = time.time_ns) -> None:
        self.database: PostgresDatabase = open_postgres(url, read_only=True)
        self._wall_ns = wall_ns
        try:
            self.agent_id = self._agent(agent_id)
            self.feed = Feed(self.database, self.agent_id)
        except BaseException:
            self.close()
            raise

    def _agent(self, wanted: str) -> str:
        rows = self.database.execute(_AGENT)
        if rows and wanted and rows[0][0] != wanted:
            raise NotPermitted(
                f"{self.database.path}: this role is of robot '{rows[0][0]}', not of '{wanted}'; use that one's role"
            )
        if not rows:
            raise InvalidArgument(
                f"{self.database.path}: this role belongs to no robot; make one: r4 db role ROBOT --db URL"
            )
        return str(rows[0][0])

    def close(self) -> None:
        """Let go of the server."""
        self.database.close()

    def clock(self) -> ClockOffset:
        """Compare the clocks."""
        found = []
        for _ in range(ROUNDS):
            before = self._wall_ns()
            [(theirs,)] = self.database.execute(_CLOCK)
            after = self._wall_ns()
            found.append(ClockOffset(theirs - (before + after) // 2, after - before))
        return min(found, key=lambda one: one.round_ns)

    def state(self, writer: str) -> ServerState:
        """How much of a memory the server has."""
        with self.database.reading():
            rows = self.database.execute(_STATE, (self.agent_id, writer))
            waiting = self.database.execute(_WAITING, (self.agent_id, writer))
        heads = tuple((row[0], envelope.head_of(bytes(row[1]))[0]) for row in waiting)
        if not rows:
            return ServerState(0, Told(), heads)
        sequence, told, *counts = rows[0]
        return ServerState(sequence, Told.of_text(told), heads, *counts)

    def sessions(self) -> list[SessionRecord]:
        """The sessions of this robot that the server knows, oldest first."""
        return [SessionRecord(*row) for row in self.database.execute(_SESSIONS, (self.agent_id,))]

    def known(self, model: str, texts: list[str]) -> set[str]:
        """Those of the texts whose vector by this model the server has."""
        keys = {text_key(model, text): text for text in texts}
        rows = self.database.execute("SELECT key FROM vector WHERE key = ANY(?)", (list(keys),))
        return {keys[bytes(row[0])] for row in rows}

    def put(self, writer: str, sequence: int, content: bytes) -> None:
        """Put a batch into the inbox; the same number again changes nothing."""
        self.database.execute(_WRITABLE)
        with self.database.transaction():
            self.database.execute(_PUT, (self.agent_id, writer, sequence, self._wall_ns(), content))
            self.database.execute("SELECT pg_notify(?, '')", (CHANNEL_UP,))

    def wait(self, seconds: float) -> bool:
        """Wait until the server has something to say; False: it hadn't in that time."""
        return self.database.heard(_LISTEN, seconds)
