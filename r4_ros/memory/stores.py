"""Which store a memory's database is: a SQLite file by its path, PostgreSQL by its URL."""

from __future__ import annotations

from pathlib import Path

from r4_ros.core.errors import StoreError, StoreInUse, Unavailable
from r4_ros.memory.database_name import exists, is_url
from r4_ros.memory.sql_peers import PeerStore
from r4_ros.memory.sqlite_store import SqliteStore


def open_store(
    database: str | Path, durability: str = "normal", read_only: bool = False, beside: bool = False
) -> PeerStore:
    """Open the store of a memory. ``durability`` is a SQLite file's; PostgreSQL always flushes what it commits.

    ``beside``: another process may be the one who writes; only old history may be dropped and indexes be made anew,
    since it keeps nothing of these in RAM.

    Raises StoreError, SchemaError, InvalidArgument for a URL that can't be, and Unavailable without psycopg.
    """
    if not is_url(database):
        return SqliteStore(database, durability, read_only, beside)
    try:
        from r4_ros.memory.postgres_store import PostgresStore
    except ImportError as error:
        raise Unavailable(f"a memory on PostgreSQL needs psycopg: pip install 'psycopg[binary]' ({error})") from None
    return PostgresStore(str(database), read_only, beside)


def open_for_upkeep(database: str | Path) -> tuple[PeerStore, bool]:
    """Open a store that is there to look after it; and whether another process is the one who writes to it.

    Raises StoreError, SchemaError.
    """
    if not exists(database):
        raise StoreError(f"{database}: there is no such database; check the path")
    try:
        return open_store(database), False
    except StoreInUse:
        return open_store(database, beside=True), True
