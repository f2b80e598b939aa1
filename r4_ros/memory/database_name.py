"""How a memory's database is named: a SQLite file by its path, one in PostgreSQL by its URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

_SCHEMES = ("postgresql://", "postgres://")


def is_url(database: str | Path) -> bool:
    """Whether it names a database on a server."""
    return isinstance(database, str) and database.startswith(_SCHEMES)


def exists(database: str | Path) -> bool:
    """Whether there is such a file; of a server that is known when it is opened."""
    return is_url(database) or Path(database).is_file()


def beside(database: str | Path, ending: str) -> Path:
    """A file beside the database, of its name with another ending; of one on a server, in the current folder."""
    if is_url(database):
        return Path((urlsplit(str(database)).path.strip("/") or "memory") + ending)
    path = Path(database)
    return path.with_name(path.stem + ending)
