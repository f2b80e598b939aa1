"""``r4 db role``: a database role for each robot of a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from r4_ros.cli.database import Db


def register(group: typer.Typer) -> None:
    """Add the command to ``r4 db``."""
    group.command("role")(role)


def role(
    name: Annotated[str, typer.Argument(help="name of the role: small letters, digits and '_'")],
    db: Db,
    agent: Annotated[str, typer.Option("--agent", help="agent that it writes for; default: its name")] = "",
    password_file: Annotated[
        Path | None, typer.Option("--password-file", help="file with its password; without: set none, or leave it")
    ] = None,
    sql: Annotated[bool, typer.Option("--sql", help="only print the statements, for an administrator")] = False,
) -> None:
    """Let a robot read the fleet's memory and write what is its own, and nothing else, with a role of the database.

    The user in the URL must own the memory and may create roles. A node may go on writing.
    """
    from r4_ros.core.errors import InvalidArgument, StoreEmpty
    from r4_ros.memory.database_name import is_url
    from r4_ros.memory.postgres_roles import role_statements

    if sql:
        print(";\n".join(role_statements(name, agent or name, "r4")) + ";")
        return
    if not is_url(db):
        raise InvalidArgument(f"{db} is a file; roles are of a database on a server: --db postgresql://USER@HOST/NAME")
    from r4_ros.memory.postgres_store import PostgresStore

    password = "" if password_file is None else password_file.read_text(encoding="utf-8").strip()
    try:
        store = PostgresStore(db, read_only=True)
    except StoreEmpty:  # a fleet begins with its roles
        PostgresStore(db).close()
        store = PostgresStore(db, read_only=True)
    try:
        store.make_role(name, agent or name, password)
    finally:
        store.close()
    typer.echo(f"{name} reads {store.path}, and writes what is of agent '{agent or name}' into its inbox")
