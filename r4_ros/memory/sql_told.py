"""What of a memory was told to a map server, in a store: marks by name, and frames that changed after that."""

from __future__ import annotations

import json

from r4_ros.memory.sql import Database

NAME, READ, DONE = "name", "read", "done"
"""Names of what is kept: what the memory is called, the newest frame that was read to be told, and that was told."""
LOST, AGENT = "lost", "agent"
"""How many observations were dropped before they could be told, and whose memory is told."""
HEARD, PEERS, HIDDEN = "heard", "peers", "hidden"
"""How far a map server was heard, of whom, and what of that no answer names."""
_LATE = """INSERT INTO late(frame_id) SELECT CAST(? AS BIGINT)
    WHERE EXISTS (SELECT 1 FROM sync WHERE name = ? AND CAST(said AS BIGINT) >= ?)"""

_FIRST = """SELECT agent_id, session, stamp_ns FROM frame JOIN session USING(session_no)
    WHERE frame_id > ? AND ? IN ('', agent_id) ORDER BY frame_id LIMIT 1"""


class ToldTable:
    """Reads and writes what is remembered of it."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def late(self, frame_id: int) -> None:
        """A frame changed; where it was told already it is told again. Inside the caller's transaction."""
        self._file.execute(_LATE, (frame_id, READ, frame_id))

    def first_untold(self) -> tuple[str, int, int] | None:
        """Agent, session and stamp of the first frame that wasn't told, as far as is known whose are."""
        rows = self._file.execute(_FIRST, (int(self.get(DONE) or 0), self.get(AGENT)))
        return rows[0] if rows else None

    def others(self) -> frozenset[str]:
        """Agents of whom a map server was heard."""
        return frozenset(json.loads(self.get(PEERS) or "[]"))

    def get(self, name: str) -> str:
        """What was kept under a name; empty: nothing."""
        rows = self._file.execute("SELECT said FROM sync WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    def keep(self, name: str, said: str) -> None:
        """Keep it; durable on return."""
        with self._file.transaction():
            self._file.execute(
                "INSERT INTO sync VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET said = excluded.said", (name, said)
            )
