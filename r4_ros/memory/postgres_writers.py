"""Who writes to what of a PostgreSQL database: one process at a time, known by a lock and a count of openings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Writer:
    """``lock``: key of an advisory lock. ``count`` counts an opening and gives the number, ``opened`` gives it.

    ``migrates``: whether it makes the tables where they lack.
    """

    lock: int
    count: str
    opened: str
    parameters: tuple[Any, ...] = ()
    migrates: bool = True


MEMORY = Writer(
    0x52344D45,  # 'R4ME'
    "INSERT INTO meta VALUES ('opened', 1) ON CONFLICT(name) DO UPDATE SET value = meta.value + 1 RETURNING value",
    "SELECT value FROM meta WHERE name = 'opened'",
)
"""The map server."""

BESIDE = Writer(0x52344D42, "SELECT 0", "SELECT 0", migrates=False)  # 'R4MB'
"""Who drops old history or makes indexes anew beside it."""


def experience_of(owner: str) -> Writer:
    """The experience node of an agent; the tables are the map server's to make."""
    digest = hashlib.blake2b(f"experience of {owner}".encode(), digest_size=8).digest()
    return Writer(
        int.from_bytes(digest, "little", signed=True),
        "INSERT INTO experience_writer VALUES (%s, 1) ON CONFLICT(owner) DO UPDATE SET "
        "opened = experience_writer.opened + 1 RETURNING opened",
        "SELECT opened FROM experience_writer WHERE owner = %s",
        (owner,),
        migrates=False,
    )
