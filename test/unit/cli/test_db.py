from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import db
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import StoreError
from r4_ros.core.model import Box, Frame, Observation, Pose, View
from r4_ros.memory.library import open_library

S = 1_000_000_000


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    db.register(made)
    return made


@pytest.fixture
def memory_file(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with open_library(path, MemoryConfig()) as library:
        view = View(1.2, 0.9, 0.1, 10.0)
        for i in range(3):
            library.ingest(Frame("r1", "front", "w", i, 0, (i + 1) * S, "home", "map", "cam", Pose(), view))
    return path


def test_info_as_json_and_for_a_person(app: typer.Typer, memory_file: Path) -> None:
    found = json.loads(CliRunner().invoke(app, ["db", "info", "--db", str(memory_file), "--json"]).stdout)
    assert found["rows"]["frame"] == 3 and found["agents"]["r1"]["newest_ns"] == 3 * S
    shown = CliRunner().invoke(app, ["db", "info", "--db", str(memory_file)])
    assert shown.exit_code == 0 and "agent r1" in shown.stdout and "1.0 s to 3.0 s" in shown.stdout


def test_info_works_while_a_node_writes(app: typer.Typer, memory_file: Path) -> None:
    with open_library(memory_file, MemoryConfig()):
        assert CliRunner().invoke(app, ["db", "info", "--db", str(memory_file)]).exit_code == 0


def test_reindex_mends_an_index_that_lacks_rows(app: typer.Typer, memory_file: Path) -> None:
    with open_library(memory_file, MemoryConfig()) as library:
        view, seen = View(1.2, 0.9, 0.1, 10.0), (Observation(0, "cup", Box(Pose((0.0, 0.0, 2.0)), (0.1, 0.1, 0.1))),)
        library.ingest(Frame("r1", "front", "w", 3, 0, 4 * S, "home", "map", "cam", Pose(), view, observations=seen))
    with sqlite3.connect(memory_file) as file:
        sql = "SELECT name, tbl_name, rootpage, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'event'"
        indexes = file.execute(sql + " AND sql IS NOT NULL").fetchall()
        file.execute("PRAGMA writable_schema = ON")
        file.execute("DELETE FROM sqlite_master WHERE type = 'index' AND tbl_name = 'event' AND sql IS NOT NULL")
    file.close()
    with sqlite3.connect(memory_file) as file:  # rows that the indexes don't hear of
        assert file.execute("UPDATE event SET stamp_ns = stamp_ns + 1").rowcount > 0
        file.execute("PRAGMA writable_schema = ON")
        for row in indexes:
            file.execute("INSERT INTO sqlite_master VALUES ('index', ?, ?, ?, ?)", row)
    file.close()
    assert CliRunner().invoke(app, ["db", "verify", "--db", str(memory_file)]).exit_code == 1
    mended = CliRunner().invoke(app, ["db", "reindex", "--db", str(memory_file), "--json"])
    assert mended.exit_code == 0 and json.loads(mended.stdout)["integrity"] == "ok"
    assert CliRunner().invoke(app, ["db", "verify", "--db", str(memory_file)]).exit_code == 0


def test_reindex_needs_a_database_and_goes_on_beside_a_node(
    app: typer.Typer, memory_file: Path, tmp_path: Path
) -> None:
    missing = CliRunner().invoke(app, ["db", "reindex", "--db", str(tmp_path / "none.db")])
    assert isinstance(missing.exception, StoreError) and not (tmp_path / "none.db").exists()
    with open_library(memory_file, MemoryConfig()) as library:
        assert CliRunner().invoke(app, ["db", "reindex", "--db", str(memory_file)]).exit_code == 0
        view = View(1.2, 0.9, 0.1, 10.0)
        library.ingest(Frame("r1", "front", "w", 3, 0, 4 * S, "home", "map", "cam", Pose(), view))
    found = json.loads(CliRunner().invoke(app, ["db", "verify", "--db", str(memory_file), "--json"]).stdout)
    assert found["integrity"] == "ok"


def test_verify_tells_sound_from_damaged(app: typer.Typer, memory_file: Path) -> None:
    sound = CliRunner().invoke(app, ["db", "verify", "--db", str(memory_file), "--json"])
    assert sound.exit_code == 0 and json.loads(sound.stdout)["integrity"] == "ok"
    content = bytearray(memory_file.read_bytes())
    for page in range(3 * 4096, len(content), 4096):
        content[page : page + 200] = b"\x5a" * 200
    memory_file.write_bytes(bytes(content))
    damaged = CliRunner().invoke(app, ["db", "verify", "--db", str(memory_file), "--json"])
    assert damaged.exit_code == 1
    report = json.loads(damaged.stdout)
    assert report["integrity"] == "damaged" and report["problems"]


def test_a_missing_file_is_told(app: typer.Typer, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["db", "info", "--db", str(tmp_path / "none.db")])
    assert isinstance(result.exception, StoreError) and "no such database" in str(result.exception)
    assert not (tmp_path / "none.db").exists()


def test_an_empty_file_holds_no_memory_yet(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    for command in ("info", "verify"):
        result = CliRunner().invoke(app, ["db", command, "--db", str(tmp_path / "empty.db")])
        said = result.stdout + str(result.exception)
        assert result.exit_code == 1 and "no memory in this file yet" in said
