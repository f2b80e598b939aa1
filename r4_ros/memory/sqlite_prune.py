"""Dropping old history from the SQLite store: what the entries were made of, never what they are.

Dropped are observations, and frames that keep no depth of their own, down to one a second for each camera (the trail).
Entries with all their intervals, events, episodes, anchors and kept views stay.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from r4_ros.core.model import FOREVER, NS_PER_S
from r4_ros.memory.sqlite_file import SqliteFile

_PRUNED = "pruned/"
_STEPS = 40
_THINNED = f"""DELETE FROM frame WHERE frame_id IN (SELECT frame_id FROM old) AND depth IS NULL
    AND frame_id NOT IN (SELECT min(frame_id) FROM frame GROUP BY session_no, stream_id, stamp_ns / {NS_PER_S})
    AND frame_id NOT IN (SELECT max(frame_id) FROM frame GROUP BY session_no, stream_id)"""


@dataclass(frozen=True)
class Pruned:
    """What was dropped, or would be. ``before_ns``: the newest stamp of it, and 1 ns (0: nothing)."""

    observations: int
    frames: int
    before_ns: int
    bytes_before: int
    bytes_after: int


class _Undo(Exception):
    """Ends a dry run."""


def prune(file: SqliteFile, before_ns: int = FOREVER, max_bytes: int | None = None, dry_run: bool = False) -> Pruned:
    """Drop what is older than ``before_ns``, oldest first, and only until ``max_bytes`` are left. Raises StoreError."""
    found = Pruned(0, 0, 0, _used(file), _used(file))
    with suppress(_Undo), file.transaction():
        found = _pruned(file, before_ns, max_bytes)
        if dry_run:
            raise _Undo
    if not dry_run and found.observations + found.frames:
        file.vacuum()
    return found


def pruned_before(file: SqliteFile) -> dict[tuple[str, int], int]:
    """For each (agent, session) the stamp before which frames aren't taken again, since they were dropped."""
    rows = file.execute(
        f"SELECT agent_id, session, value FROM meta JOIN session ON name = '{_PRUNED}' || session_no ORDER BY 1, 2"
    )
    return {(agent, session): value for agent, session, value in rows}


def _pruned(file: SqliteFile, before_ns: int, max_bytes: int | None) -> Pruned:
    used = _used(file)
    before = _counts(file)
    rows = file.execute("SELECT frame_id FROM frame WHERE stamp_ns < ? ORDER BY frame_id", (before_ns,))
    old = [row[0] for row in rows]
    file.execute("CREATE TEMP TABLE IF NOT EXISTS old(frame_id INTEGER PRIMARY KEY)")
    dropped: list[int] = []
    step = len(old) if max_bytes is None else max(1, -(-len(old) // _STEPS))
    for first in range(0, len(old), step or 1):
        if max_bytes is not None and _used(file) <= max_bytes:
            break
        portion = old[first : first + step]
        _drop(file, portion)
        dropped += portion
    after = _counts(file)
    newest = max(pruned_before(file).values(), default=0)
    return Pruned(before[0] - after[0], before[1] - after[1], newest if dropped else 0, used, _used(file))


def _drop(file: SqliteFile, frame_ids: list[int]) -> None:
    file.execute("DELETE FROM old")
    file.execute_many("INSERT INTO old VALUES (?)", [(frame_id,) for frame_id in frame_ids])
    for name, newest in file.execute(
        f"SELECT '{_PRUNED}' || session_no, max(stamp_ns) FROM frame JOIN old USING(frame_id) GROUP BY session_no"
    ):
        known = file.execute("SELECT value FROM meta WHERE name = ?", (name,))
        file.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, max(newest + 1, *(row[0] for row in known), 0))
        )
    file.execute("DELETE FROM observation WHERE frame_id IN (SELECT frame_id FROM old)")
    file.execute(_THINNED)


def _counts(file: SqliteFile) -> tuple[int, int]:
    [(observations,)] = file.execute("SELECT count(*) FROM observation")
    [(frames,)] = file.execute("SELECT count(*) FROM frame")
    return observations, frames


def _used(file: SqliteFile) -> int:
    """Bytes in use, without free pages."""
    pages, free, size = (file.execute(f"PRAGMA {name}")[0][0] for name in ("page_count", "freelist_count", "page_size"))
    return int((pages - free) * size)
