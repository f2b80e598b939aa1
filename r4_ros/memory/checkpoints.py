"""Folding a database's write-ahead log into its file, beside the writer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from r4_ros.core.errors import StoreError
from r4_ros.memory.sql import Row

WAL_LIMIT_BYTES = 64 << 20
"""A longer write-ahead log is cut to nothing."""
CHECKPOINT_COMMITS = 200
"""After so many commits the log is folded into the file, by a thread of its own."""
PAUSE_S = 0.02
"""Between long transactions, for others that wait to write: SQLite has them try again every few milliseconds."""
_PASSES = 20
"""In which the log is folded, at most; one over a few commits takes some milliseconds."""
_LOOK_COMMITS = 8
"""After so many the length of the log is looked at."""


class Connection(Protocol):
    """An open database, of which both raise StoreError."""

    def execute(self, sql: str, /) -> list[Row]:
        """Run one statement and return all its rows."""

    def close(self) -> None:
        """Close it."""


class Checkpoints:
    """Folds the write-ahead log into the file while writing goes on, so that no commit waits for it."""

    def __init__(self, path: Path, connect: Callable[[], Connection]) -> None:
        """Of the file there; ``connect`` opens it once more, for the thread."""
        self._log, self._connect = path.with_name(path.name + "-wal"), connect
        self._commits = 0
        self._due, self._stopped = threading.Event(), False
        self._thread: threading.Thread | None = None

    def committed(self) -> None:
        """Count a commit, and wake the thread when it is time."""
        self._commits += 1
        looks = self._commits % _LOOK_COMMITS == 0
        if self._commits < CHECKPOINT_COMMITS and not (looks and self._log_bytes() > WAL_LIMIT_BYTES):
            return
        self._commits = 0
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sqlite-checkpoints", daemon=True)
            self._thread.start()
        self._due.set()

    def stop(self) -> None:
        """End the thread; a checkpoint that runs is finished first."""
        self._stopped = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        connection: Connection | None = None
        while self._due.wait() and not self._stopped:
            self._due.clear()
            with suppress(StoreError):  # the log only grows; the next commit says what is wrong
                connection = connection or self._connect()
                fold(connection)
                if self._log_bytes() > WAL_LIMIT_BYTES:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if connection is not None:
            connection.close()

    def _log_bytes(self) -> int:
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0


def fold(connection: Connection) -> None:
    """Fold the log into the file, again while commits come in meanwhile.

    Who begins to write when all of it is folded begins the log anew: written over what lies there, a page takes half
    the time that it takes to make the log longer.
    """
    folded, same = -1, 0
    for _ in range(_PASSES):
        [(_, length, _)] = connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        same = same + 1 if length == folded else 0
        if length < folded or same > 1:
            return
        if same:
            time.sleep(PAUSE_S)  # somebody may have begun before the last of it was folded
        folded = length
