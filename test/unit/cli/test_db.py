from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import db
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import StoreError
from r4_ros.core.model import Frame, Pose, View
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
