"""``r4 db`` and ``r4 ask`` on a memory that lies on a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import ask, db
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import NS_PER_S, Box, Frame, Observation, Pose, View
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.database_name import beside, exists, is_url
from r4_ros.memory.library import open_library


@pytest.fixture
def memory_file(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    view = View(1.2, 0.9, 0.1, 10.0)
    mugs = tuple(Observation(i, "mug", Box(Pose((2.0 * i, 0.0, 3.0)), (0.1, 0.1, 0.1))) for i in range(2))
    with open_library(path, MemoryConfig()) as library:
        for i in range(5):
            when = (i, 0, (i + 1) * NS_PER_S)
            library.ingest(Frame("r1", "front", "w", *when, "home", "map", "cam", Pose(), view, observations=mugs))
    return path


def test_urls_and_files_are_told_apart(tmp_path: Path) -> None:
    assert is_url("postgresql://r4@host/fleet") and is_url("postgres:///fleet")
    assert not is_url("memory.db") and not is_url(tmp_path / "postgresql:")
    assert exists("postgresql://r4@host/fleet") and not exists(tmp_path / "none.db")
    assert beside(tmp_path / "home.db", ".png") == tmp_path / "home.png"
    assert beside("postgresql://r4@host/fleet?sslmode=require", "_experience.db") == Path("fleet_experience.db")
    assert beside("postgresql://r4@host/", ".png") == Path("memory.png")


@pytest.mark.system
def test_a_memory_moves_to_a_server_and_is_looked_into_there(
    postgres_server: Server, tmp_path: Path, memory_file: Path
) -> None:
    url, lines, back = postgres_server.database(), tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    runner, app = CliRunner(), typer.Typer()
    for commands in (ask, db):
        commands.register(app)

    def r4(*words: object) -> str:
        done = runner.invoke(app, list(map(str, words)), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    r4("db", "export", "--db", memory_file, "--out", lines)
    r4("db", "import", lines, "--db", url)
    on_file, on_server = (json.loads(r4("db", "info", "--db", db, "--json")) for db in (memory_file, url))
    for name in ("rows", "agents", "maps"):
        assert on_server[name] == on_file[name]
    assert json.loads(r4("db", "verify", "--db", url, "--json"))["integrity"] == "ok"
    r4("db", "reindex", "--db", url)
    r4("db", "export", "--db", url, "--out", back)
    assert back.read_text() == lines.read_text()
    question = ("ask", "How many mugs are there?", "--json", "--deadline", "60", "--db")
    answers = [json.loads(r4(*question, db)) for db in (memory_file, url)]
    assert answers[0]["answer"] == answers[1]["answer"] == "2 mugs; seen just now."
    dump = tmp_path / "fleet.dump"
    r4("db", "backup", "--db", url, "--out", dump)
    assert dump.read_bytes().startswith(b"PGDMP")
    with open_library(url, MemoryConfig()) as library:  # what the map server wrote a moment ago stays, and it goes on
        assert "dropped 0 observations" in r4("db", "prune", "--db", url, "--observations-before", "0s")
        r4("db", "reindex", "--db", url)
        assert len(library.entries()) == 2
        library.set_live(not library.live)
    r4("db", "prune", "--db", url, "--observations-before", "0s")
    assert json.loads(r4("db", "info", "--db", url, "--json"))["rows"]["entry"] == on_file["rows"]["entry"]
