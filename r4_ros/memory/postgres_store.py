"""The store of the memory in a PostgreSQL database: a map server's. See ``store.py`` for what it promises."""

from __future__ import annotations

from r4_ros.memory.postgres_database import open_postgres
from r4_ros.memory.postgres_writers import BESIDE, MEMORY
from r4_ros.memory.sql_peers import PeerStore


class PostgresStore(PeerStore):
    """A ``MemoryStore``. Opening it makes or migrates the tables; raises StoreError, SchemaError, InvalidArgument."""

    def __init__(self, url: str, read_only: bool = False, beside: bool = False) -> None:
        self._server = open_postgres(url, read_only, BESIDE if beside else MEMORY)
        super().__init__(self._server)

    def make_role(self, role: str, agent: str, password: str = "") -> None:
        """Make a database role for a robot: it reads all, and writes only what is its own into the inbox."""
        self._server.make_role(role, agent, password)
