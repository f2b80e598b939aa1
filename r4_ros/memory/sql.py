"""What the store's tables need of a database engine. Two are: ``sqlite_file`` and ``postgres_database``.

The SQL of the ``sql_*`` modules is what both understand: parameters are ``?`` or ``:name``, types those of SQLite's
migrations. What differs between engines has a name here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

Row = tuple[Any, ...]
Migration = tuple[str, ...]
"""The statements that lead from one version of the schema to the next; once released, never changed."""

SET_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value"


class Database(Protocol):
    """An open database of ours. Safe to use from several threads; every method raises StoreError."""

    numbers: str
    """SQL of a table ``node(key, value)``: the numbers of the JSON list that the parameter ``:numbers`` is."""

    @property
    def path(self) -> Path | str:
        """Where it lies; nothing in it is secret."""

    @property
    def read_only(self) -> bool:
        """Whether writing is refused."""

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Run one statement and return all its rows."""

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row; inside a transaction."""

    def iterate(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of one statement in portions, for tables that are too large for a list."""

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing; on return the content is on disk. Nested ones belong to the outermost."""

    def reading(self) -> AbstractContextManager[None]:
        """What is read in it is of one moment, whoever writes meanwhile."""

    def overwriting(self) -> AbstractContextManager[None]:
        """What is deleted in it doesn't stay behind in free space afterwards."""

    def vacuum(self) -> None:
        """Give free room back to the disk; needs room for a copy meanwhile."""

    def reindex(self) -> None:
        """Make all indexes anew from the tables, and what the query planner knows of them."""

    def backup(self, target: str | Path) -> int:
        """A consistent copy while writing goes on; returns its size in bytes."""

    def problems(self) -> list[str]:
        """What an integrity check finds; empty: sound."""

    def size_bytes(self) -> int:
        """Size on disk."""

    def used_bytes(self) -> int:
        """Size without room that is free again."""

    def close(self) -> None:
        """Release it. Calling it again does nothing."""


class GatheringDatabase:
    """A database some of whose writing is put off: ``catch_up`` is called whenever anything else is wanted of it."""

    def __init__(self, file: Database, catch_up: Callable[[], None]) -> None:
        self._file, self._catch_up = file, catch_up
        self.path, self.read_only, self.numbers = file.path, file.read_only, file.numbers  # nothing written says more

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Run one statement and return all its rows."""
        self._catch_up()
        return self._file.execute(sql, parameters)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row; inside a transaction."""
        self._catch_up()
        self._file.execute_many(sql, rows)

    def __getattr__(self, name: str) -> Any:
        self._catch_up()
        return getattr(self._file, name)
