"""The store of the memory in a PostgreSQL database: a map server's. See ``store.py`` for what it promises."""

from __future__ import annotations

from r4_ros.memory.postgres_database import open_postgres
from r4_ros.memory.sql_store import SqlStore


class PostgresStore(SqlStore):
    """A ``MemoryStore``. Opening it makes or migrates the tables; raises StoreError, SchemaError, InvalidArgument."""

    def __init__(self, url: str, read_only: bool = False) -> None:
        super().__init__(open_postgres(url, read_only))
