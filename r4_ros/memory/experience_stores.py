"""Where tasks and lessons are kept: in a robot's own SQLite file, or in the fleet's PostgreSQL by its URL."""

from __future__ import annotations

from pathlib import Path

from r4_ros.core.errors import Unavailable
from r4_ros.memory.database_name import is_url
from r4_ros.memory.sql_experience import SqlTaskStore
from r4_ros.memory.sqlite_experience import SqliteTaskStore


def open_tasks(database: str | Path, owner: str, read_only: bool = False) -> SqlTaskStore:
    """Open it. ``owner``: the agent whose tasks and lessons these are, where others have theirs there too.

    Raises StoreError, SchemaError, StoreEmpty where a map server didn't make its tables yet, InvalidArgument for a URL
    that can't be, and Unavailable without psycopg.
    """
    if not is_url(database):
        return SqliteTaskStore(database, read_only)
    try:
        from r4_ros.memory.postgres_database import open_postgres
    except ImportError as error:
        raise Unavailable(f"lessons on PostgreSQL need psycopg: pip install 'psycopg[binary]' ({error})") from None
    from r4_ros.memory.postgres_writers import experience_of

    return SqlTaskStore(open_postgres(str(database), read_only, experience_of(owner)), owner)
