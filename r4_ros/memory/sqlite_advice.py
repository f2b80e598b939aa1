"""What errors of SQLite and of the file system mean, and what a person can do."""

from __future__ import annotations

from pathlib import Path

from r4_ros.core.errors import SchemaError, StoreError, StoreFull

_DAMAGED = (
    "the database is damaged: `r4 db verify` says where; restore a backup, or if `r4 db export` reads it, import that "
    "into a new file, else save the rest with the sqlite3 command '.recover'"
)
_ADVICE = (
    ("disk is full", "the disk is full; free space, nothing was stored"),
    ("read-only file system", "the disk is read-only; mount it for writing, or give another path"),
    ("readonly", "the database is read-only; check the rights of the file and its folder"),
    ("locked", "the database is locked by another process; stop it or try again"),
    ("malformed", _DAMAGED),
    ("not a database", "this is not an r4 database; give another file"),
    ("disk i/o", "the disk failed to read or write; check the disk and free space"),
    ("unable to open", "the file can't be opened; check the path and the rights"),
    ("no space left", "the disk is full; free space, nothing was stored"),
    ("permission denied", "no permission; check the rights of the file and its folder"),
    ("closed database", "the database was closed already"),
)

_KINDS = {"not a database": SchemaError, "disk is full": StoreFull, "no space left": StoreFull}


def store_error(path: Path, error: BaseException) -> StoreError:
    """What went wrong with the file, and what to do."""
    text = str(error)
    for sign, advice in _ADVICE:
        if sign in text.lower():
            return _KINDS.get(sign, StoreError)(f"{path}: {advice} ({text})")
    return StoreError(f"{path}: the database refused this ({text})")
