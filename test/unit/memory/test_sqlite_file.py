from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, SchemaError, StoreError, StoreInUse
from r4_ros.core.model import Frame, Pose, View
from r4_ros.memory import checkpoints, sqlite_file
from r4_ros.memory.library import open_library
from r4_ros.memory.sqlite_file import open_sqlite

APP = 0x52345454
FIRST = ("CREATE TABLE item(name TEXT PRIMARY KEY, owner TEXT REFERENCES item(name))",)
SECOND = ("ALTER TABLE item ADD COLUMN size INTEGER DEFAULT 7", "CREATE INDEX item_size ON item(size)")


def test_content_stays_and_old_files_are_migrated(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "x.db"
    with_one = open_sqlite(path, APP, [FIRST])
    with_one.execute("INSERT INTO item(name) VALUES (?)", ("mug",))
    with_one.close()
    with_one.close()
    with_two = open_sqlite(path, APP, [FIRST, SECOND])
    assert with_two.execute("SELECT name, size FROM item") == [("mug", 7)]
    with_two.close()


def test_a_failed_migration_changes_nothing(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "x.db", APP, [FIRST]).close()
    broken = ("ALTER TABLE item ADD COLUMN weight REAL", "CREATE TABLE item(name)")
    with pytest.raises(StoreError):
        open_sqlite(tmp_path / "x.db", APP, [FIRST, broken])
    again = open_sqlite(tmp_path / "x.db", APP, [FIRST])
    assert [row[1] for row in again.execute("PRAGMA table_info(item)")] == ["name", "owner"]
    again.close()


def test_a_transaction_is_all_or_nothing_also_when_nested(tmp_path: Path) -> None:
    opened = open_sqlite(tmp_path / "x.db", APP, [FIRST])
    with pytest.raises(RuntimeError), opened.transaction():
        opened.execute("INSERT INTO item(name) VALUES ('a')")
        with opened.transaction():
            opened.execute("INSERT INTO item(name) VALUES ('b')")
        raise RuntimeError
    assert opened.execute("SELECT * FROM item") == []
    with opened.transaction():
        opened.execute_many("INSERT INTO item(name) VALUES (?)", [("a",), ("b",)])
    assert list(opened.iterate("SELECT name FROM item ORDER BY name")) == [("a",), ("b",)]
    opened.close()


def test_files_that_are_not_ours_are_refused_by_name(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE t(x)")
    with pytest.raises(SchemaError, match="another program"):
        open_sqlite(foreign, APP, [FIRST])
    open_sqlite(tmp_path / "other.db", APP + 1, [FIRST]).close()
    with pytest.raises(SchemaError, match="another program"):
        open_sqlite(tmp_path / "other.db", APP, [FIRST])
    text = tmp_path / "text.db"
    text.write_text("this is a text and no database " * 100)
    with pytest.raises(SchemaError, match="not an r4 database"):
        open_sqlite(text, APP, [FIRST])
    assert text.read_text().startswith("this is a text")
    open_sqlite(tmp_path / "new.db", APP, [FIRST, SECOND]).close()
    with pytest.raises(SchemaError, match="newer"):
        open_sqlite(tmp_path / "new.db", APP, [FIRST])


def test_a_damaged_file_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    opened = open_sqlite(path, APP, [FIRST])
    with opened.transaction():
        opened.execute_many("INSERT INTO item(name) VALUES (?)", [(f"item {i}" * 20,) for i in range(500)])
    assert opened.problems() == []
    opened.close()
    content = bytearray(path.read_bytes())
    content[8192:40000] = b"\xff" * (40000 - 8192)
    path.write_bytes(bytes(content))
    damaged = open_sqlite(path, APP, [FIRST], read_only=True)
    assert damaged.problems()
    with pytest.raises(StoreError, match="damaged"):
        damaged.execute("SELECT count(*), max(name) FROM item NOT INDEXED")
    damaged.close()


def test_one_process_writes_while_others_read(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    writer = open_sqlite(path, APP, [FIRST], durability="full")
    writer.execute("INSERT INTO item(name) VALUES ('mug')")
    with pytest.raises(StoreError, match="another process"):
        open_sqlite(path, APP, [FIRST])
    reader = open_sqlite(path, APP, [FIRST], read_only=True)
    assert reader.execute("SELECT name FROM item") == [("mug",)]
    with pytest.raises(StoreError, match="read-only"):
        reader.execute("INSERT INTO item(name) VALUES ('x')")
    with pytest.raises(SchemaError, match="older"):
        open_sqlite(path, APP, [FIRST, SECOND], read_only=True)
    reader.close()
    writer.close()
    open_sqlite(path, APP, [FIRST]).close()


def test_backup_is_a_whole_database(tmp_path: Path) -> None:
    opened = open_sqlite(tmp_path / "x.db", APP, [FIRST])
    opened.execute("INSERT INTO item(name) VALUES ('mug')")
    size = opened.backup(tmp_path / "copy.db")
    assert size == (tmp_path / "copy.db").stat().st_size and opened.size_bytes() > 0
    opened.close()
    copy = open_sqlite(tmp_path / "copy.db", APP, [FIRST], read_only=True)
    assert copy.execute("SELECT name FROM item") == [("mug",)]
    copy.close()


def test_wrong_use_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="durability"):
        open_sqlite(tmp_path / "x.db", APP, [FIRST], durability="some")
    with pytest.raises(StoreError, match="no such database"):
        open_sqlite(tmp_path / "none.db", APP, [FIRST], read_only=True)
    with pytest.raises(StoreError):
        open_sqlite("/proc/none/x.db", APP, [FIRST])
    opened = open_sqlite(tmp_path / "x.db", APP, [FIRST])
    with pytest.raises(StoreError):
        opened.execute("INSERT INTO item(name, owner) VALUES ('a', 'nobody')")
    opened.close()
    with pytest.raises(StoreError, match="closed"):
        opened.execute("SELECT 1")


def test_the_log_is_folded_into_the_file_while_writing_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_COMMITS", 5)
    monkeypatch.setattr(checkpoints, "WAL_LIMIT_BYTES", 200_000)
    path = tmp_path / "log.db"
    with closing(open_sqlite(path, 7, (("CREATE TABLE t(x BLOB)",),))) as opened:
        log = path.with_name("log.db-wal")
        deadline = time.monotonic() + 120
        written, folded = 0, 0
        while time.monotonic() < deadline and (written < 50 or folded <= 10 or log.stat().st_size > 200_000):
            with opened.transaction():
                opened.execute("INSERT INTO t VALUES (?)", (bytes(20_000),))
            written += 1
            folded = path.stat().st_size // 20_000
            time.sleep(0.002)
        assert folded > 10 and log.stat().st_size <= 200_000
        assert opened.execute("SELECT count(*) FROM t") == [(written,)]


@pytest.mark.parametrize(
    ("lengths", "passes"), [((9, 9, 9), 3), ((9, 9, 12, 12, 12), 5), ((9, 12, 3), 3), (range(99), 20)]
)
def test_the_log_is_folded_until_nothing_came_in_meanwhile(lengths: Iterable[int], passes: int) -> None:
    done = list[str]()
    ahead = iter(lengths)

    class Connection:
        def execute(self, sql: str) -> list[tuple[int, int, int]]:
            done.append(sql)
            return [(0, length := next(ahead), length)]

        def close(self) -> None: ...

    checkpoints.fold(Connection())
    assert done == ["PRAGMA wal_checkpoint(PASSIVE)"] * passes


def test_a_log_that_was_folded_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with closing(open_sqlite(path, 7, (("CREATE TABLE t(x BLOB)",),))) as opened:

        def write() -> None:
            for _ in range(10):
                with opened.transaction():
                    opened.execute("INSERT INTO t VALUES (?)", (bytes(20_000),))

        write()
        length = path.with_name("log.db-wal").stat().st_size
        with closing(sqlite_file._for_checkpoints(path)) as other:
            checkpoints.fold(other)
        write()
        assert path.with_name("log.db-wal").stat().st_size == length
        assert opened.execute("SELECT count(*) FROM t") == [(20,)] and opened.problems() == []


def test_a_file_that_is_reached_by_a_link_is_the_same_file(tmp_path: Path) -> None:
    real, linked = tmp_path / "disk" / "a.db", tmp_path / "link.db"
    real.parent.mkdir()
    open_library(real, MemoryConfig()).close()
    linked.symlink_to(real)
    view = View(1.2, 0.9, 0.1, 10.0)
    with open_library(linked, MemoryConfig()) as library:
        library.ingest(Frame("r1", "front", "w", 1, 0, 10**9, "home", "map", "cam", Pose(), view))
        with pytest.raises(StoreInUse):
            open_library(real, MemoryConfig())
        assert library.snapshot(tmp_path / "copy.db") > 0
    assert [path.name for path in tmp_path.glob("link.db*")] == ["link.db"], "logs and locks lie beside the file"
    with open_library(real, MemoryConfig(), read_only=True) as library:
        assert library.newest_stamp() == 10**9
