"""The store of the memory in one SQLite file. See ``store.py`` for what it promises."""

from __future__ import annotations

from pathlib import Path

from r4_ros.memory.migrations import APPLICATION_ID, MIGRATIONS
from r4_ros.memory.sql_peers import PeerStore
from r4_ros.memory.sqlite_file import open_sqlite


class SqliteStore(PeerStore):
    """A ``MemoryStore``. Opening it makes or migrates the file; raises StoreError, SchemaError."""

    def __init__(
        self, path: str | Path, durability: str = "normal", read_only: bool = False, beside: bool = False
    ) -> None:
        super().__init__(open_sqlite(path, APPLICATION_ID, MIGRATIONS, durability, read_only, beside=beside))
