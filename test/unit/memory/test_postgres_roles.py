"""A robot's role reads the fleet's memory and writes what is its own: all else is tried, and refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import db
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, NotPermitted, StoreError
from r4_ros.core.model import NS_PER_S, Box, Frame, Observation, Pose, View
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.library import open_library
from r4_ros.memory.postgres_experience import EXPERIENCE_TABLES
from r4_ros.memory.postgres_roles import role_statements
from r4_ros.memory.postgres_schema import TABLES

psycopg = pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")
OWN = "INSERT INTO inbox(agent_id, writer, sequence, kind, sent_ns, content) VALUES ('{}', 'w', {}, 'frame', 1, 'x')"


@pytest.fixture(scope="module")
def fleet(postgres_server: Server) -> str:
    """A memory of two robots, each with a role of its own."""
    url = postgres_server.database()
    seen = (Observation(0, "mug", Box(Pose((0.0, 0.0, 3.0)), (0.1, 0.1, 0.1))),)
    with open_library(url, MemoryConfig()) as library:
        for name in ("robot1", "robot2"):
            place = ("home", "map", "cam", Pose(), View(1.2, 0.9, 0.1, 10.0))
            library.ingest(Frame(name, "front", "w", 1, 0, NS_PER_S, *place, observations=seen))
        app = typer.Typer()
        db.register(app)
        for name in ("robot1", "robot2"):  # while the server writes
            done = CliRunner().invoke(app, ["db", "role", name, "--db", url], catch_exceptions=False)
            assert done.exit_code == 0, done.output
    return url


@pytest.fixture
def robot1(fleet: str) -> Iterator[Any]:
    with psycopg.connect(fleet.replace("//r4@", "//robot1@"), autocommit=True) as connection:
        yield connection


def test_it_reads_what_all_robots_saw(fleet: str, robot1: Any) -> None:
    agents = robot1.execute("SELECT agent_id FROM entry ORDER BY agent_id").fetchall()
    assert agents == [("robot1",), ("robot2",)]
    with open_library(fleet.replace("//r4@", "//robot1@"), MemoryConfig(), read_only=True) as library:
        assert library.agents() == ["robot1", "robot2"] and len(library.entries()) == 2


@pytest.mark.parametrize("table", [*(t for t in TABLES if t not in EXPERIENCE_TABLES), "r4_schema"])
def test_it_can_alter_no_table_of_the_memory(robot1: Any, table: str) -> None:
    names = "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position DESC"
    column = robot1.execute(names, (table,)).fetchone()[0]
    statements = [f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE"]
    statements += [f"DROP TABLE {table} CASCADE", f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"]
    if table != "inbox":
        statements.append(f"INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM {table}")
    for statement in statements:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            robot1.execute(statement)


def test_it_speaks_for_itself_only(fleet: str, robot1: Any) -> None:
    robot1.execute(OWN.format("robot1", 1))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        robot1.execute(OWN.format("robot2", 1))
    with pytest.raises(psycopg.errors.UniqueViolation):
        robot1.execute(OWN.format("robot1", 1))
    with psycopg.connect(fleet.replace("//r4@", "//robot2@"), autocommit=True) as other:
        other.execute(OWN.format("robot2", 1))
        assert other.execute("SELECT agent_id FROM inbox").fetchall() == [("robot2",)]
    assert robot1.execute("SELECT agent_id FROM inbox").fetchall() == [("robot1",)]


@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE r4",
        "SET SESSION AUTHORIZATION r4",
        "CREATE ROLE robot3 SUPERUSER",
        "ALTER ROLE robot1 BYPASSRLS",
        "CREATE TABLE own(n INT)",
        "INSERT INTO robot_role VALUES ('robot1', 'robot2')",
        "UPDATE robot_role SET agent_id = 'robot2'",
    ],
)
def test_it_gets_no_more_rights(robot1: Any, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        robot1.execute(statement)


def test_a_memory_opened_by_a_robot_is_for_reading(fleet: str) -> None:
    with pytest.raises((StoreError, NotPermitted)):
        open_library(fleet.replace("//r4@", "//robot1@"), MemoryConfig())
    with pytest.raises(NotPermitted, match="this role may not"):
        open_store_as_robot(fleet).make_role("robot9", "robot9")


def open_store_as_robot(url: str) -> Any:
    from r4_ros.memory.postgres_store import PostgresStore

    return PostgresStore(url.replace("//r4@", "//robot1@"), read_only=True)


def test_its_password_comes_from_a_file(
    fleet: str, postgres_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, secret = typer.Typer(), tmp_path / "secret"
    db.register(app)
    secret.write_text("it's one\n")
    words = ["db", "role", "robot1", "--db", fleet, "--password-file", str(secret)]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    for password, works in (("it's one", True), ("wrong", False)):
        monkeypatch.setenv("PGPASSWORD", password)
        try:
            psycopg.connect(postgres_server.over_tcp(fleet, user="robot1")).close()
        except psycopg.OperationalError:
            assert not works
        else:
            assert works


def test_names_are_checked_and_the_sql_can_be_printed(tmp_path: Path) -> None:
    for role, agent in (("Robot", "a"), ("a;b", "a"), ("", "a"), ("robot", "")):
        with pytest.raises(InvalidArgument):
            role_statements(role, agent, "r4")
    assert "'o''hara'" in role_statements("robot", "o'hara", "r4")[-1]
    app = typer.Typer()
    db.register(app)
    shown = CliRunner().invoke(app, ["db", "role", "robot1", "--db", "x", "--sql"], catch_exceptions=False)
    assert "CREATE ROLE robot1 LOGIN" in shown.output and shown.output.endswith(";\n")
    with pytest.raises(InvalidArgument, match="on a server"):
        CliRunner().invoke(app, ["db", "role", "robot1", "--db", "x.db"], catch_exceptions=False)
