"""PostgreSQL as an engine of the store: lost connections, refused ones, and what each error says to do."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core.errors import InvalidArgument, SchemaError, StoreEmpty, StoreError, StoreOutdated
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.codec import text_key
from r4_ros.memory.migrations import MIGRATIONS
from r4_ros.memory.stores import open_store

psycopg = pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from r4_ros.memory import postgres_database  # noqa: E402
from r4_ros.memory.postgres_database import PostgresDatabase, open_postgres  # noqa: E402
from r4_ros.memory.postgres_schema import STEPS, in_postgres  # noqa: E402
from r4_ros.memory.postgres_sql import for_rows, portions, translated, without_secrets  # noqa: E402

Open = Callable[..., PostgresDatabase]


@pytest.fixture
def opened() -> Iterator[Open]:
    made: list[PostgresDatabase] = []

    def make(url: str, **more: Any) -> PostgresDatabase:
        made.append(open_postgres(url, **more))
        return made[-1]

    yield make
    for database in made:
        database.close()


def put(database: PostgresDatabase, name: str, value: int = 1) -> None:
    with database.transaction():
        database.execute("INSERT INTO meta VALUES (?, ?)", (name, value))


def names(database: PostgresDatabase) -> set[str]:
    return {row[0] for row in database.execute("SELECT name FROM meta WHERE name <> 'opened'")}


def sql(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


@pytest.mark.system
@pytest.mark.parametrize("kill", [False, True], ids=["restarted", "killed"])
def test_what_was_committed_survives_the_server_and_writing_goes_on(
    own_postgres_server: Server, opened: Open, kill: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "LONGEST_PAUSE_S", 0.2)
    database = opened(own_postgres_server.database())
    for number in range(20):
        put(database, f"{number}")
    own_postgres_server.stop(kill)
    with pytest.raises(StoreError, match=r"is PostgreSQL running|tried again"):
        put(database, "lost")
    with pytest.raises(StoreError):
        database.execute("SELECT 1")
    own_postgres_server.restart()
    for attempt in range(1000):
        try:
            put(database, "after")
            break
        except StoreError:
            assert attempt < 999
            postgres_database.time.sleep(0.1)
    assert names(database) == {*map(str, range(20)), "after"}
    assert database.problems() == []


def test_a_transaction_cut_off_before_its_commit_never_was(postgres_server: Server, opened: Open) -> None:
    database = opened(postgres_server.database())
    with pytest.raises(StoreError), database.transaction():
        database.execute("INSERT INTO meta VALUES ('half', 1)")
        database._connection.close()
    put(database, "whole")
    assert names(database) == {"whole"}


class Cut:
    """A connection that breaks when it should commit, before or after the server did."""

    def __init__(self, connection: Any, committed: bool) -> None:
        self._connection, self._committed = connection, committed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *more: Any, **options: Any) -> Any:
        if statement != "COMMIT":
            return self._connection.execute(statement, *more, **options)
        if self._committed:
            self._connection.execute(statement)
        self._connection.close()
        raise psycopg.OperationalError("the connection is lost")


def test_a_commit_that_nobody_heard_of_is_asked_for(postgres_server: Server, opened: Open) -> None:
    database = opened(postgres_server.database())
    database._connection = Cut(database._connection, committed=True)  # type: ignore[assignment]
    put(database, "kept")  # no error: it is there
    database._connection = Cut(database._connection, committed=False)  # type: ignore[assignment]
    with pytest.raises(StoreError):
        put(database, "lost")
    assert names(database) == {"kept"}


def test_where_it_can_only_be_asked_later_the_database_must_be_opened_anew(
    postgres_server: Server, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.database()
    monkeypatch.setattr(postgres_database, "IN_DOUBT_S", 0.0)
    for committed in (False, True):
        database = opened(url)
        database._connection = Cut(database._connection, committed)  # type: ignore[assignment]
        monkeypatch.setattr(PostgresDatabase, "_connect", lambda self: (_ for _ in ()).throw(psycopg.OperationalError))
        with pytest.raises(StoreError):
            put(database, f"{committed}")
        monkeypatch.undo()
        monkeypatch.setattr(postgres_database, "IN_DOUBT_S", 0.0)
        database._not_before = 0.0
        if not committed:
            assert names(database) == set()
        else:
            for _ in range(2):
                with pytest.raises(StoreOutdated, match="open it anew"):
                    put(database, "later")
        database.close()
    assert names(opened(url)) == {"True"}


def test_one_process_writes_and_a_second_one_that_took_over_is_noticed(postgres_server: Server, opened: Open) -> None:
    url = postgres_server.database()
    first = opened(url)
    with pytest.raises(StoreError, match="another process is writing"):
        opened(url)
    reader = opened(url, read_only=True)
    put(first, "seen")
    assert names(reader) == {"seen"}
    with pytest.raises(StoreError, match="read-only"):
        put(reader, "refused")
    sql(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'r4_ros'")
    opened(url).close()
    with pytest.raises(StoreOutdated, match="another process wrote"):
        put(first, "late")
    assert names(reader) == {"seen"}


def test_what_is_read_together_is_of_one_moment(postgres_server: Server, opened: Open) -> None:
    url = postgres_server.database()
    writer, reader = opened(url), opened(url, read_only=True)
    put(writer, "first")
    with reader.reading():
        assert names(reader) == {"first"}
        put(writer, "second")
        assert names(reader) == {"first"}
        assert [row[0] for row in reader.iterate("SELECT name FROM meta WHERE name <> 'opened'")] == ["first"]
    assert names(reader) == {"first", "second"}


def test_long_tables_come_in_portions_while_others_are_read(postgres_server: Server, opened: Open) -> None:
    database = opened(postgres_server.database())
    with database.transaction():
        database.execute_many("INSERT INTO meta VALUES (?, ?)", [(f"{n:05}", n) for n in range(10_000)])
    rows = database.iterate("SELECT value FROM meta WHERE name <> ? ORDER BY name", ("opened",))
    first = next(rows)
    assert len(names(database)) == 10_000
    assert [first, *rows] == [(n,) for n in range(10_000)]


def test_a_statement_that_fails_is_named_and_takes_the_transaction_along(postgres_server: Server, opened: Open) -> None:
    database = opened(postgres_server.database())
    put(database, "a")
    with pytest.raises(StoreError, match=r"duplicate key|meta_pkey"), database.transaction():
        database.execute("INSERT INTO meta VALUES ('b', 1)")
        database.execute("INSERT INTO meta VALUES ('a', 1)")
        database.execute("INSERT INTO meta VALUES ('c', 1)")
    with pytest.raises(StoreError, match="zero character"):
        put(database, "\0")
    put(database, "d")
    assert names(database) == {"a", "d"}


def test_refusals_say_what_to_do(postgres_server: Server, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres_server.database()
    tcp = postgres_server.over_tcp(url)
    sql(url, "ALTER ROLE r4 PASSWORD 'right'")
    for password, said in (("", "PGPASSWORD or PGPASSFILE"), ("wrong", "PGPASSWORD or PGPASSFILE")):
        monkeypatch.setenv("PGPASSWORD", password)
        with pytest.raises(StoreError, match=said):
            opened(tcp)
    monkeypatch.setenv("PGPASSWORD", "right")
    opened(tcp).close()
    with pytest.raises(StoreError, match="createdb"):
        opened(tcp.rsplit("/", 1)[0] + "/nowhere")
    with pytest.raises(StoreError, match="is PostgreSQL running"):
        opened("postgresql://r4@127.0.0.1:1/r4")
    with pytest.raises(InvalidArgument, match="PGPASSFILE") as refused:
        opened("postgresql://r4:secret@127.0.0.1/r4")
    assert "secret" not in str(refused.value)
    with pytest.raises(InvalidArgument, match="no PostgreSQL URL"):
        opened("postgresql://r4@127.0.0.1/r4?nonsense=1")


def test_the_password_may_stand_in_a_file(
    postgres_server: Server, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.database()
    sql(url, "ALTER ROLE r4 PASSWORD 'from a file'")
    passfile = tmp_path / "pgpass"
    passfile.write_text("127.0.0.1:*:*:r4:from a file\n")
    passfile.chmod(0o600)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    assert names(opened(postgres_server.over_tcp(url))) == set()


def test_other_schemas_are_refused(postgres_server: Server, opened: Open) -> None:
    newer, foreign, empty = (postgres_server.database() for _ in range(3))
    opened(newer).close()
    sql(newer, "INSERT INTO r4_schema(kind, step) VALUES ('memory', 'shared/999')")
    sql(foreign, "CREATE TABLE entry(name TEXT)")
    for url, said in ((newer, "shared/999.*update r4_ros"), (foreign, "another program")):
        for read_only in (False, True):
            with pytest.raises(SchemaError, match=said):
                opened(url, read_only=read_only)
    with pytest.raises(StoreEmpty, match="open it once for writing"):
        opened(empty, read_only=True)


def test_a_migration_that_fails_leaves_the_step_before_it(
    postgres_server: Server, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.database()
    last = list(STEPS)[-1]
    monkeypatch.setitem(STEPS, last, ("CREATE TABLE half(n BIGINT)", "nonsense"))
    with pytest.raises(StoreError, match="nonsense"):
        opened(url)
    monkeypatch.undo()
    database = opened(url)
    steps = [row[0] for row in database.execute("SELECT step FROM r4_schema ORDER BY step_no")]
    assert steps == list(STEPS)
    assert database.execute("SELECT to_regclass('half')") == [(None,)]


def test_an_older_database_gets_the_keys_that_the_program_looks_for(
    postgres_server: Server, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.database()
    with monkeypatch.context() as older:
        for number in range(18, len(MIGRATIONS) + 1):
            older.delitem(STEPS, f"shared/{number}")
        database = opened(url)
        texts = [("model", "a mug"), ("model", "eine Tasse für Käse"), ("other", "a mug")]
        with database.transaction():
            database.execute_many(
                "INSERT INTO vector(model, text, data) VALUES (?, ?, ?)", [(*t, b"..") for t in texts]
            )
        database.close()
    rows = opened(url).execute("SELECT name, key, data FROM vector JOIN model USING(model_no) ORDER BY vector_no")
    assert [(name, bytes(key), bytes(data)) for name, key, data in rows] == [(t[0], text_key(*t), b"..") for t in texts]


def test_room_is_counted_and_given_back(postgres_server: Server, opened: Open) -> None:
    database = opened(postgres_server.database())
    with database.transaction():
        before = database.used_bytes()
        database.execute_many("INSERT INTO meta VALUES (?, ?)", [(f"{n}", n) for n in range(10_000)])
        assert database.used_bytes() > before + 10_000 * 16
        database.execute("DELETE FROM meta WHERE name <> 'opened'")
        assert database.used_bytes() == before
    database.vacuum()
    database.reindex()
    assert database.size_bytes() > 0 and database.problems() == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_tls_is_asked_for_by_the_url_and_certificates_are_checked(
    own_postgres_server: Server, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, url = own_postgres_server, own_postgres_server.database()
    sql(url, "ALTER ROLE r4 PASSWORD 'x'")
    monkeypatch.setenv("PGPASSWORD", "x")
    with pytest.raises(StoreError, match="speaks no TLS"):
        opened(server.over_tcp(url, sslmode="require"))
    certificate, other = server.certify(), certified(tmp_path)
    opened(server.over_tcp(url, sslmode="verify-full", sslrootcert=str(certificate)), read_only=False).close()
    with pytest.raises(StoreError, match="sslrootcert vouches"):
        opened(server.over_tcp(url, sslmode="verify-full", sslrootcert=str(other)))
    with pytest.raises(StoreError, match="another host's"):
        wrong = server.over_tcp(url, sslmode="verify-full", sslrootcert=str(certificate))
        opened(wrong.replace("127.0.0.1", "localhost"))


def certified(folder: Path) -> Path:
    """A certificate of somebody else."""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout other.key -out other.crt"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder / "other.crt"


def test_a_dump_needs_the_servers_own_tool(
    postgres_server: Server, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = opened(postgres_server.database())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match="pg_dump"):
        database.backup(tmp_path / "dump")
    assert list(tmp_path.iterdir()) == []


def test_statements_of_the_store_are_put_in_psycopgs_and_postgresqls_words() -> None:
    assert translated("SELECT a FROM t WHERE b = ? AND c LIKE '5%'") == "SELECT a FROM t WHERE b = %s AND c LIKE '5%%'"
    assert translated("WHERE a = :name AND b::text = ''") == "WHERE a = %(name)s AND b::text = ''"
    assert in_postgres("CREATE TABLE t(a INTEGER PRIMARY KEY, b REAL, c BLOB) WITHOUT ROWID") == (
        "CREATE TABLE t(a BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, b DOUBLE PRECISION, c BYTEA)"
    )
    assert without_secrets("postgresql://me:secret@host/db?password=x") == "postgresql://me@host/db"


def test_what_is_done_to_many_rows_alike_is_one_statement() -> None:
    types, rows = (("t", (("a", "bigint"), ("b", "bytea"))),), [(b"", 1), (b"", 2)]
    assert for_rows("INSERT INTO t VALUES (?, ?)", rows, types) == "INSERT INTO t VALUES ($1, $2), ($3, $4)"
    assert for_rows("UPDATE t SET b = ? WHERE a = ?", rows, types) == (
        "UPDATE t SET b = v0 FROM (VALUES (CAST($1 AS bytea), CAST($2 AS bigint)), ($3, $4)) AS r(v0, v1) WHERE a = v1"
    )
    more = for_rows("UPDATE t SET b = ? WHERE a = ? AND b < ?", [(b"", 1, b"")], types)
    assert more.endswith("CAST($3 AS bytea))) AS r(v0, v1, v2) WHERE a = v1 AND b < v2")
    assert for_rows("UPDATE t SET b = ? WHERE a = ?", [(b"", 1), (b"", 1)], types) == ""  # the later one must hold
    for other in ("INSERT INTO t VALUES (?, ?) ON CONFLICT(a) DO UPDATE SET b = 1", "DELETE FROM t WHERE a = ?"):
        assert for_rows(other, rows, types) == ""


@given(count=st.integers(0, 1000))
def test_rows_come_in_portions_of_few_sizes(count: int) -> None:
    some = list(portions([(n,) for n in range(count)]))
    assert [row for portion in some for row in portion] == [(n,) for n in range(count)]
    assert {len(portion) for portion in some} <= {1, 2, 4, 8, 16, 32, 64, 128} and len(some) <= count // 128 + 8


def test_many_rows_at_once_are_as_row_after_row(postgres_server: Server, opened: Open) -> None:
    database = opened(postgres_server.database())
    with database.transaction():
        database.execute_many("INSERT INTO meta VALUES (?, ?)", [(f"{n}", n) for n in range(5)])
        database.execute_many("UPDATE meta SET value = ? WHERE name = ?", [(None, "0"), (7, "1")])
        database.execute_many("UPDATE meta SET value = ? WHERE name = ?", [(8, "2"), (9, "2")])  # the later one holds
        database.execute_many("DELETE FROM meta WHERE name = ?", [("3",), ("4",)])
        database.execute_many("UPDATE meta SET value = ? WHERE name = ? AND value < ?", [(6, "1", 6), (10, "2", 10)])
        database.execute_many("DELETE FROM meta WHERE name = ?", [])
    rows = database.execute("SELECT name, value FROM meta WHERE name <> 'opened' ORDER BY name")
    assert rows == [("0", None), ("1", 7), ("2", 10)]


def test_a_memory_is_the_same_on_both(postgres_server: Server, tmp_path: Path) -> None:
    for database in (tmp_path / "memory.db", postgres_server.database()):
        store = open_store(database)
        assert store.counts()["entry"] == 0
        store.close()
