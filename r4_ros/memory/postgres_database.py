"""One PostgreSQL database of ours: connecting, migrating, transactions, check, with errors a person can act on.

The only module that imports psycopg. What a finished transaction wrote survives a crash of the server and power loss.
A lost connection is made again, with growing pauses; whether a transaction that was being committed when it broke was
committed is asked of the server afterwards: nothing is written twice, nothing that was acknowledged is lost.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

from r4_ros.core.errors import InvalidArgument, StoreError, StoreInUse, StoreOutdated
from r4_ros.memory.postgres_dump import dump
from r4_ros.memory.postgres_errors import NO_PASSWORD, advice
from r4_ros.memory.postgres_roles import role_statements
from r4_ros.memory.postgres_schema import BOOK, KIND, STEPS, missing
from r4_ros.memory.postgres_sql import (
    AT_START,
    COLUMNS,
    PREPARED,
    Types,
    for_rows,
    has_rows,
    portions,
    translated,
    without_secrets,
)
from r4_ros.memory.postgres_upkeep import PostgresUpkeep
from r4_ros.memory.postgres_writers import MEMORY, Writer
from r4_ros.memory.sql import Row

Result = TypeVar("Result")

OLDEST_SERVER = 150000
CONNECT_S = 5
"""How long to wait for a server that doesn't answer."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
"""Between attempts to connect again; each pause is twice the last one."""
LOCK_S = 5.0  # a session that broke off may hold the writer's lock as long
IN_DOUBT_S = 30.0
"""How long a transaction whose end wasn't heard of waits for the server to come back."""
_PORTION = 4096


class PostgresDatabase(PostgresUpkeep):
    """An open database; made by ``open_postgres``. Safe to use from several threads: they take turns."""

    numbers = (
        "(SELECT ordinality AS key, CAST(item AS bigint) AS value "
        "FROM json_array_elements_text(CAST(:numbers AS json)) WITH ORDINALITY AS given(item, ordinality)) node"
    )

    def __init__(self, url: str, read_only: bool, writer: Writer) -> None:
        self.path = without_secrets(url)
        self.read_only = read_only
        self._url, self._writer = url, writer
        self._lock = threading.RLock()
        self._depth = 0
        self._inside = False  # a transaction for reading
        self._names = itertools.count()
        self._pause, self._not_before = FIRST_PAUSE_S, 0.0
        self._epoch = 0  # how often the database was opened for writing, as of our own opening
        self._in_doubt: str | None = None
        self._outdated = ""
        self._closed = False
        self._columns: Types = ()
        self._connection = self._connect()

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Run one statement and return all its rows; in a transaction, what has none isn't waited for."""
        query = translated(sql)
        with self._lock, self._errors():
            if self._depth:
                cursor = self._connection.execute(query, parameters, binary=True)
                return cursor.fetchall() if has_rows(sql) else []
            return self._again(lambda: self._fetch(query, parameters))

    def _fetch(self, query: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[Row]:
        cursor = self._connection.execute(query, parameters, binary=True)
        return cursor.fetchall() if cursor.description is not None else []

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row, several in one where that is the same; inside a transaction."""
        with self._lock, self._errors():
            if rows and not for_rows(sql, rows, self._types()):
                self._connection.cursor().executemany(translated(sql), rows)
                return
            for portion in portions(rows):
                statement = for_rows(sql, portion, self._types())
                psycopg.RawCursor(self._connection).execute(statement, list(itertools.chain.from_iterable(portion)))

    def _types(self) -> Types:
        if not self._columns:
            columns = self._connection.execute(COLUMNS).fetchall()
            tables = dict.fromkeys(row[0] for row in columns)
            self._columns = tuple((t, tuple((c, kind) for of, c, kind in columns if of == t)) for t in tables)
        return self._columns

    def iterate(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of one statement in portions, for tables that are too large for a list."""
        if self._depth:
            yield from self.execute(sql, parameters)
            return
        with self._lock, self._errors():
            cursor = self._again(lambda: self._declare(sql, parameters))
        try:
            while True:
                with self._lock, self._errors():
                    rows = cursor.fetchmany(_PORTION)
                if not rows:
                    return
                yield from rows
        finally:
            with self._lock, suppress(psycopg.Error):
                cursor.close()

    def _declare(self, sql: str, parameters: Sequence[Any]) -> psycopg.ServerCursor[Row]:
        hold = not self._inside
        cursor = self._connection.cursor(f"r4_{next(self._names)}", binary=True, withhold=hold, scrollable=False)
        return cursor.execute(translated(sql), parameters)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; on return the content is on disk. Nested ones belong to the outermost. Raises StoreError."""
        with self._lock, self._errors():
            if self._depth:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            self._again(lambda: self._connection.execute("BEGIN"))
            self._depth = 1
            try:
                with self._connection.pipeline():
                    number = self._connection.execute("SELECT pg_current_xact_id()::text")
                    yield
                self._commit(number.fetchall()[0][0])
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._depth = 0

    def _commit(self, number: str) -> None:
        try:
            self._connection.execute("COMMIT")
        except psycopg.OperationalError:
            if not self._connection.closed or not self._was_committed(number):
                raise

    def _was_committed(self, number: str) -> bool:
        """Wait for the server, and ask it what became of the transaction that nobody heard the end of."""
        until = time.monotonic() + IN_DOUBT_S
        while True:
            try:
                self._connect_again()
                return _committed(self._connection, number)
            except (psycopg.Error, StoreError):
                if self._outdated or time.monotonic() > until:
                    self._in_doubt = number
                    raise
                time.sleep(max(0.0, self._not_before - time.monotonic()))

    def _roll_back(self) -> None:
        with suppress(psycopg.Error):
            if not self._connection.closed:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is read in it is of one moment, whoever writes meanwhile. Raises StoreError."""
        with self._lock, self._errors():
            self._again(lambda: self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
            self._inside = True
            try:
                yield
            finally:
                self._inside = False
                self._roll_back()

    @contextmanager
    def overwriting(self) -> Iterator[None]:
        """What is deleted in it doesn't stay behind in the tables; the server's log and its archive are its own."""
        yield
        self.vacuum()

    def backup(self, target: str | Path) -> int:
        """A consistent copy by the server's own pg_dump while writing goes on; back with pg_restore.

        Returns its size in bytes. Raises StoreError, also where pg_dump isn't installed here.
        """
        return dump(self._url, self.path, Path(target))

    def make_role(self, role: str, agent: str, password: str = "") -> None:
        """Make a robot's role (see ``postgres_roles``), also while somebody writes. Raises StoreError, NotPermitted."""
        with self._lock, self._errors():
            encrypt = self._connection.pgconn.encrypt_password
            scram = encrypt(password.encode(), role.encode(), b"scram-sha-256").decode() if password else ""
            with self._connection.transaction():
                self._connection.execute("SET TRANSACTION READ WRITE")
                for statement in role_statements(role, agent, self._connection.info.dbname, scram):
                    self._connection.execute(statement.encode())

    def heard(self, listen: bytes, seconds: float) -> bool:
        """Wait until somebody notifies what LISTEN statements ask for; False: nobody did. Raises StoreError."""
        with self._lock, self._errors():
            self._again(lambda: self._connection.execute(listen, prepare=False))
            return any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))

    def close(self) -> None:
        """Release it. Calling it again does nothing."""
        with self._lock:
            self._closed = True
            self._connection.close()

    # Connections.

    def _connect(self) -> psycopg.Connection[Row]:
        options = "-c default_transaction_read_only=on" if self.read_only else ""
        ours: dict[str, Any] = {"application_name": "r4_ros", "connect_timeout": CONNECT_S, "keepalives_idle": 10}
        given = {name: value for name, value in ours.items() if name not in conninfo_to_dict(self._url)}
        connection = psycopg.connect(self._url, autocommit=True, options=options, **given)
        for dumper in (Int8Dumper, Int8BinaryDumper):  # one type, so one prepared statement
            connection.adapters.register_dumper(int, dumper)
        connection.prepare_threshold, connection.prepared_max = 2, PREPARED
        for statement in AT_START:
            connection.execute(statement)
        return connection

    def _again(self, action: Callable[[], Result]) -> Result:
        """Run what changes nothing; where the connection was lost, once more on a new one."""
        if self._closed:
            raise StoreError(f"{self.path}: the database was closed already")
        if self._outdated:
            raise StoreOutdated(self._outdated)
        if not self._connection.closed:
            try:
                return action()
            except psycopg.OperationalError:
                if self._inside or not self._connection.closed:
                    raise
        self._connect_again()
        if self._outdated:
            raise StoreOutdated(self._outdated)
        return action()

    def _connect_again(self) -> None:
        if time.monotonic() < self._not_before:
            raise StoreError(f"{self.path}: the connection to the server was lost, it is tried again soon")
        try:
            self._connection = self._connect()
            if not self.read_only:
                self._resume()
        except (psycopg.Error, StoreError):
            self._connection.close()
            self._not_before = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
            raise
        self._pause, self._not_before = FIRST_PAUSE_S, 0.0

    def _resume(self) -> None:
        """Be the one who writes again, unless somebody else was since; tell what became of the open transaction."""
        self._take_lock()
        rows = self._fetch(self._writer.opened, self._writer.parameters)
        if rows != [(self._epoch,)]:
            self._outdated = f"{self.path}: another process wrote to this database meanwhile; open it anew"
            raise StoreOutdated(self._outdated)
        if self._in_doubt is not None:
            if _committed(self._connection, self._in_doubt):
                self._outdated = f"{self.path}: more was written than was heard of; open it anew"
            self._in_doubt = None

    def _take_lock(self) -> None:
        """Be the one who writes; a session that broke off may hold the lock a moment longer. Raises StoreError."""
        until = time.monotonic() + LOCK_S
        while self._fetch("SELECT pg_try_advisory_lock(%s)", (self._writer.lock,)) != [(True,)]:
            if time.monotonic() >= until:
                raise StoreInUse(
                    f"{self.path}: another process is writing to this database; stop it, use another one, or open it "
                    "read-only"
                )
            time.sleep(FIRST_PAUSE_S)

    def open(self) -> None:
        """Bring it to the newest schema and become the one who writes, or check that it can be read."""
        with self._errors():
            if self._connection.info.server_version < OLDEST_SERVER:
                raise StoreError(f"{self.path}: PostgreSQL {OLDEST_SERVER // 10000} or newer is needed")
            if not self.read_only:
                self._take_lock()
            self._migrate()
            if not self.read_only:
                rows = self._fetch(self._writer.count, self._writer.parameters)
                self._epoch = rows[0][0]

    def _migrate(self) -> None:
        tables = {row[0] for row in self._fetch("SELECT tablename::text FROM pg_tables WHERE schemaname='public'", ())}
        done = self._fetch("SELECT kind, step FROM r4_schema ORDER BY step_no", ()) if "r4_schema" in tables else []
        for name in missing(self.path, tables, done, self.read_only or not self._writer.migrates):
            with self._connection.transaction():
                self._connection.execute(BOOK.encode())
                for statement in STEPS[name]:
                    self._connection.execute(statement.encode())
                self._connection.execute("INSERT INTO r4_schema(kind, step) VALUES (%s, %s)", (KIND, name))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise advice(self.path, error.sqlstate, str(error)) from error


def open_postgres(url: str, read_only: bool = False, writer: Writer = MEMORY) -> PostgresDatabase:
    """Open a database of ours by its URL, make its tables where there are none, and bring it to the newest schema.

    One process writes; others read (``read_only``), also meanwhile. The password comes from PGPASSWORD, PGPASSFILE or
    ~/.pgpass, never from the URL; TLS as libpq does it (``?sslmode=verify-full&sslrootcert=FILE``).

    Raises SchemaError where its schema is newer or not ours, InvalidArgument for a URL that can't be, StoreError.
    """
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise InvalidArgument(f"'{without_secrets(url)}' is no PostgreSQL URL: {error}") from None
    if given.get("password"):
        raise InvalidArgument(NO_PASSWORD)
    try:
        opened = PostgresDatabase(url, read_only, writer)
    except psycopg.Error as error:
        raise advice(without_secrets(url), error.sqlstate, str(error)) from error
    try:
        opened.open()
    except BaseException:
        opened.close()
        raise
    return opened


def _committed(connection: psycopg.Connection[Row], number: str) -> bool:
    """What became of a transaction; one that the server knows nothing of never was."""
    try:
        row = connection.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
    except psycopg.DataError:
        return False
    return row is not None and row[0] == "committed"
