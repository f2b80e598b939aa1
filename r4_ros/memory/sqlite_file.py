"""One SQLite file of ours: opening, migrating, transactions, backup and check, with errors a person can act on.

The only module that imports sqlite3. WAL mode: readers go on while one writer writes; what a finished transaction
wrote survives kill -9 (``durability`` normal) and power loss (full).
"""

from __future__ import annotations

import fcntl
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from r4_ros.core.errors import InvalidArgument, SchemaError, StoreEmpty, StoreError, StoreInUse
from r4_ros.memory.checkpoints import PAUSE_S, Checkpoints
from r4_ros.memory.codec import text_key
from r4_ros.memory.sql import Migration, Row
from r4_ros.memory.sqlite_advice import store_error

BUSY_S = 1.0
"""How long a write waits for another process once the file is open; queries wait as long at most."""
_ANALYSED_ROWS = 1000

_SAME: tuple[tuple[type, Any], ...] = ((bytes, bytes), (bool, int), (type(None), {None: None}.get))
for _kind, _same in _SAME:
    # Without an adapter of their own, sqlite3 asks each of these whether it can adapt itself, and makes two errors of
    # the answers: 3 % of what storing a frame costs.
    sqlite3.register_adapter(_kind, _same)


class SqliteFile:
    """An open database; made by ``open_sqlite``. Safe to use from several threads."""

    numbers = "json_each(:numbers) node"

    def __init__(self, path: Path, connection: sqlite3.Connection, read_only: bool, lock_file: IO[str] | None) -> None:
        self.path = path
        self.read_only = read_only
        self._connection = connection
        self._lock_file = lock_file
        self._files = () if read_only else (path, path.with_name(path.name + "-wal"))
        self._inodes: list[int] = []
        self._lock = threading.RLock()
        self._depth = 0
        self._checkpoints = None if read_only else Checkpoints(path, lambda: _for_checkpoints(path))

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Run one statement and return all its rows. Raises StoreError."""
        try:
            with self._lock:
                return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row; inside a transaction. Raises StoreError."""
        if not rows:
            return
        try:
            with self._lock:
                self._connection.executemany(sql, rows)
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error

    def iterate(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of one statement in portions, for tables that are too large for a list."""
        with self._lock, translated(self.path):
            cursor = self._connection.execute(sql, parameters)
        while True:
            with self._lock, translated(self.path):
                rows = cursor.fetchmany(4096)
            if not rows:
                return
            yield from rows

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; on return the content is on disk. Nested ones belong to the outermost. Raises StoreError."""
        with self._lock, translated(self.path):
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                if self._depth == 1:
                    self._refuse_if_removed()
                yield
                if self._depth == 1:
                    self._connection.execute("COMMIT")
                    if self._checkpoints is not None:
                        self._checkpoints.committed()
            except BaseException:
                if self._depth == 1:
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    def _refuse_if_removed(self) -> None:
        """Raise StoreError where the file isn't there any more: SQLite would go on writing to what nobody can open."""
        with suppress(FileNotFoundError):
            inodes = [file.stat().st_ino for file in self._files]
            self._inodes = self._inodes or inodes
            if inodes == self._inodes:
                return
        raise StoreError(
            f"{self.path}: the file or its -wal was deleted, moved or replaced while it was open, so nothing more is "
            "stored; save what is still known by the service memory/snapshot, put a file back, and start again"
        )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is read in it is of one moment, whoever writes meanwhile. Raises StoreError."""
        with translated(self.path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.Error):
                    self._connection.execute("COMMIT")

    @contextmanager
    def overwriting(self) -> Iterator[None]:
        """What is deleted in it doesn't stay behind in free pages or in the log. Raises StoreError."""
        self.execute("PRAGMA secure_delete = ON")
        yield
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def vacuum(self) -> None:
        """Give free pages back to the disk; needs room for a copy meanwhile. Raises StoreError."""
        self.execute("VACUUM")
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def reindex(self) -> None:
        """Make the indexes of the file anew from its tables, and what the query planner knows of them.

        Each in a transaction of its own, so that others write between them. Raises StoreError.
        """
        for (name,) in self.execute("SELECT name FROM sqlite_master WHERE type = 'index'"):
            with self.transaction():
                self.execute(f'REINDEX "{name}"')
            time.sleep(PAUSE_S)
        self.execute(f"PRAGMA analysis_limit = {_ANALYSED_ROWS}")
        self.execute("ANALYZE")
        self.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def backup(self, target: str | Path) -> int:
        """A consistent copy while writing goes on; returns its size in bytes. Raises StoreError."""
        target = Path(target)
        part = target.with_name(target.name + ".part")
        with translated(part):
            part.unlink(missing_ok=True)
            copy = sqlite3.connect(part)
            try:
                with self._lock:
                    self._connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
                copy.close()
                part.replace(target)
            finally:
                copy.close()
                part.unlink(missing_ok=True)
            return target.stat().st_size

    def problems(self) -> list[str]:
        """What an integrity check finds, the damaged tables first; empty: the file is sound."""
        if found := self._checked(""):
            with suppress(StoreError):
                tables = [name for (name,) in self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                damaged = [name for name in tables if self._checked(name)]
                return [f"table {name} or an index of it is damaged" for name in damaged] + found
            return found
        rows = self.execute("PRAGMA foreign_key_check")
        return [f"table {row[0]} row {row[1]} refers to nothing" for row in rows]

    def _checked(self, table: str) -> list[str]:
        """What is wrong with a table and its indexes; without a name with the whole file."""
        found = list[str]()
        try:
            for (text,) in self.iterate(
                f'PRAGMA integrity_check("{table}")' if table else "PRAGMA integrity_check(20)"
            ):
                found.append(text)
        except StoreError as error:
            found.append(str(error))
        return [] if found == ["ok"] else found

    def size_bytes(self) -> int:
        """Size on disk with its write-ahead log."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(f.stat().st_size for f in files if f.exists())

    def used_bytes(self) -> int:
        """Size without free pages."""
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (self.execute(f"PRAGMA {name}")[0][0] for name in names)
        return int((pages - free) * size)

    def close(self) -> None:
        """Close; the write-ahead log is folded into the file. Calling it again does nothing."""
        with self._lock, translated(self.path):
            if self._checkpoints is not None:
                self._checkpoints.stop()
            self._connection.close()
            if self._lock_file is not None:
                self._lock_file.close()
                self._lock_file = None


def open_sqlite(
    path: str | Path,
    application_id: int,
    migrations: Sequence[Migration],
    durability: str = "normal",
    read_only: bool = False,
    busy_timeout_s: float = 5.0,
    beside: bool = False,
) -> SqliteFile:
    """Open a database of ours, make it where it doesn't exist, and bring it to the newest schema.

    ``application_id`` tells our kinds of files apart; version n of the schema is what ``migrations[:n]`` make.
    One process writes; others read (``read_only``), also meanwhile, or (``beside``) write what that one keeps none of
    in RAM: see ``stores.open_store``.

    Raises SchemaError for a file that is newer than this program or not ours, StoreInUse while another process writes,
    and StoreError where it can't be opened.
    """
    if durability not in ("normal", "full"):
        raise InvalidArgument(f"durability must be 'normal' or 'full', not '{durability}'")
    path = Path(path).expanduser().resolve()  # one lock, however the file is reached
    lock_file = None
    if read_only or beside:
        if not path.is_file():
            raise StoreError(f"{path}: there is no such database; check the path")
    else:
        lock_file = _lock_for_writing(path)
    try:
        connection = _connect(path, read_only, busy_timeout_s)
        opened = SqliteFile(path, connection, read_only, lock_file)
        try:
            with translated(path):
                _migrate(opened, application_id, migrations, may_migrate=lock_file is not None)
                if not read_only:
                    synchronous = "FULL" if durability == "full" else "NORMAL"
                    opened.execute(f"PRAGMA synchronous = {synchronous}")
                    opened.execute(f"PRAGMA busy_timeout = {round(1000 * min(busy_timeout_s, BUSY_S))}")
        except BaseException:
            connection.close()
            raise
    except BaseException:
        if lock_file is not None:
            lock_file.close()
        raise
    return opened


def _lock_for_writing(path: Path) -> IO[str]:
    """Only one process may write, since each keeps derived data in memory. Freed when the process ends."""
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock_file = path.with_name(path.name + "-lock").open("w")
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock_file.close()
        raise StoreInUse(
            f"{path}: another process is writing to this database; stop it, use another file, or open it read-only"
        ) from None
    return lock_file


def _connect(path: Path, read_only: bool, busy_timeout_s: float) -> sqlite3.Connection:
    uri = "file:" + quote(str(path.resolve()))
    wal = path.with_name(path.name + "-wal")
    options = ["?mode=ro"] if read_only else ["?mode=rwc"]
    if read_only and not (wal.exists() and wal.stat().st_size):
        options.append("?immutable=1")  # a file on read-only media, with no log to read
    error: sqlite3.Error | None = None
    for option in options:
        connection = None
        try:
            connection = sqlite3.connect(
                uri + option, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
            )
            connection.execute(f"PRAGMA busy_timeout = {int(busy_timeout_s * 1000)}")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.create_function("text_key", 2, text_key, deterministic=True)
            if not read_only:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA wal_autocheckpoint = 0")  # a thread does it, so that no commit waits for it
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return connection
        except sqlite3.Error as failure:
            if connection is not None:
                connection.close()
            error = failure
    assert error is not None
    raise store_error(path, error) from error


def _for_checkpoints(path: Path) -> SqliteFile:
    """Another connection to an open file, which doesn't wait for a lock."""
    with translated(path):
        connection = sqlite3.connect(path, timeout=0.05, isolation_level=None, check_same_thread=False)
    return SqliteFile(path, connection, read_only=True, lock_file=None)


def _migrate(opened: SqliteFile, application_id: int, migrations: Sequence[Migration], may_migrate: bool) -> None:
    [(found_id,)] = opened.execute("PRAGMA application_id")
    [(version,)] = opened.execute("PRAGMA user_version")
    [(tables,)] = opened.execute("SELECT count(*) FROM sqlite_master")
    if found_id != application_id and (found_id or version or tables):
        raise SchemaError(f"{opened.path}: this database was made by another program; give another file")
    if version > len(migrations):
        raise SchemaError(
            f"{opened.path}: schema version {version} is newer than this program's {len(migrations)}; update r4_ros"
        )
    if version == len(migrations):
        return
    if not may_migrate and not tables:
        raise StoreEmpty(
            f"{opened.path}: there is no memory in this file yet; a node, `r4 replay` or `r4 db import` makes one"
        )
    if not may_migrate:
        raise SchemaError(
            f"{opened.path}: schema version {version} is older than this program's {len(migrations)}; "
            "`r4 db reindex --db FILE` brings it up to date, and so does its node"
        )
    opened.execute("PRAGMA foreign_keys = OFF")  # a table made anew has the rows of the one that it replaces
    for number in range(version, len(migrations)):
        with opened.transaction():
            for statement in migrations[number]:
                opened.execute(statement)
            opened.execute(f"PRAGMA application_id = {application_id}")
            opened.execute(f"PRAGMA user_version = {number + 1}")
    opened.execute("PRAGMA foreign_keys = ON")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of sqlite3 and of the file system into StoreError with advice."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise store_error(path, error) from error
