"""Looking after a PostgreSQL database: room, indexes, checks; all of it by plain statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from r4_ros.core.errors import StoreError
from r4_ros.memory.postgres_schema import TABLES
from r4_ros.memory.postgres_sql import DOUBTFUL, USED, USED_INSIDE
from r4_ros.memory.sql import Row


class PostgresUpkeep:
    """What a database can do by its own ``execute``."""

    _depth: int

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Run one statement."""
        raise NotImplementedError

    def vacuum(self) -> None:
        """Give free room back to the disk; needs room for a copy meanwhile. Raises StoreError."""
        for table in TABLES:
            self.execute(f"VACUUM (FULL, ANALYZE) {table}")

    def reindex(self) -> None:
        """Make the indexes anew from the tables, and what the query planner knows of them; others go on meanwhile.

        Raises StoreError.
        """
        for table in TABLES:
            self.execute(f"REINDEX TABLE CONCURRENTLY {table}")
            self.execute(f"ANALYZE {table}")

    def problems(self) -> list[str]:
        """What a check finds: rows that can't be read, or that refer to nothing; empty: sound."""
        found = list[str]()
        for table in TABLES:
            try:
                self.execute(f"SELECT sum(length(CAST(t AS text))) FROM {table} t")
            except StoreError as error:
                found.append(str(error))
        try:
            found += [f"table {table}: {name} doesn't hold" for table, name in self.execute(DOUBTFUL)]
        except StoreError as error:
            found.append(str(error))
        return found

    def size_bytes(self) -> int:
        """Size on the server's disk, without its log."""
        return int(self.execute("SELECT pg_database_size(current_database())")[0][0])

    def used_bytes(self) -> int:
        """Size without room that is free again, estimated: rows, and what they took when they were last analysed."""
        return int(self.execute(USED if self._depth == 0 else USED_INSIDE)[0][0])
