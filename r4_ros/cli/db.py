"""``r4 db``: look into a memory's database and check it, also while a node writes to it. More: db_transfer.py."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import typer

from r4_ros.cli.database import DEFAULT, Db

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]


def register(app: typer.Typer) -> None:
    """Add the command group to the command line."""
    from r4_ros.cli import (
        db_align,
        db_correct,
        db_lessons,
        db_outcomes,
        db_role,
        db_rooms,
        db_sync,
        db_told,
        db_transfer,
    )

    group = typer.Typer(help="Look into a memory's database, check, copy, prune and move it.", no_args_is_help=True)
    group.command("info")(info)
    group.command("verify")(verify)
    group.command("reindex")(reindex)
    db_role.register(group)
    db_sync.register(group)
    db_transfer.register(group)
    db_correct.register(group)
    db_align.register(group)
    db_told.register(group)
    db_lessons.register(group)
    db_outcomes.register(group)
    db_rooms.register(group)
    app.add_typer(group, name="db")


def info(db: Db = DEFAULT, as_json: AsJson = False) -> None:
    """What the database holds: rows, agents, time span, size."""
    from r4_ros.memory.stores import open_store
    from r4_ros.memory.summary import summary_of

    store = open_store(db, read_only=True)
    try:
        with store.reading():
            found = summary_of(store)
    finally:
        store.close()
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    _print_info(found)


def verify(
    db: Db = DEFAULT,
    acks: Annotated[Path | None, typer.Option(help="a file of acknowledged observation ids, one a line")] = None,
    as_json: AsJson = False,
) -> None:
    """Check the file and whether its content fits together; exit status 1 where it doesn't.

    With --acks also whether every acknowledged observation is there.
    """
    problems, missing = _checked(db, acks)
    if as_json:
        found = {"path": str(db), "integrity": "damaged" if problems else "ok", "problems": problems}
        print(json.dumps(found if missing is None else {**found, "missing": missing}))
    else:
        print("\n".join(problems) if problems else f"{db}: sound")
        if missing is not None:
            print(f"{missing} acknowledged observations are missing")
    if problems or missing:
        raise typer.Exit(1)


def reindex(db: Db = DEFAULT, as_json: AsJson = False) -> None:
    """Make the file's indexes anew from its tables, and check it; exit status 1 where it stays damaged.

    What queries run over lies in RAM and is made anew at every start. A node may go on writing meanwhile.
    """
    from r4_ros.memory.stores import open_for_upkeep

    store, _ = open_for_upkeep(db)
    try:
        store.reindex()
        problems = store.problems()
    finally:
        store.close()
    if as_json:
        print(json.dumps({"path": str(db), "integrity": "damaged" if problems else "ok", "problems": problems}))
    else:
        print("\n".join(problems) if problems else f"{db}: indexes made anew, sound")
    if problems:
        raise typer.Exit(1)


def _checked(db: str, acks: Path | None) -> tuple[list[str], int | None]:
    """What is wrong with the file, not reading it all as a library would, and how many acknowledged ids it lacks."""
    from r4_ros.core.errors import SchemaError, StoreError
    from r4_ros.memory.database_name import exists
    from r4_ros.memory.stores import open_store

    acknowledged = None if acks is None else _acknowledged(acks)
    try:
        store = open_store(db, read_only=True)
    except SchemaError:
        raise
    except StoreError as error:
        if not exists(db):
            raise
        return [str(error)], None if acknowledged is None else len(acknowledged)
    try:
        problems = store.problems()
        if acknowledged is None:
            return problems, None
        return problems, len(acknowledged.difference(store.observation_ids()))
    except StoreError as error:
        return [str(error)], None if acknowledged is None else len(acknowledged)
    finally:
        store.close()


def _acknowledged(acks: Path) -> set[str]:
    """The ids in a file; a last line without its end was being written when its writer was killed and is none."""
    from r4_ros.core.errors import InvalidArgument

    try:
        text = acks.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{acks}: the acknowledgements can't be read ({error})") from None
    return {line.strip() for line in text[: text.rfind("\n") + 1].splitlines() if line.strip()}


def _print_info(found: dict[str, Any]) -> None:
    lines = [("file", f"{found['path']} ({found['bytes'] / 1e6:.1f} MB, {found['used_bytes'] / 1e6:.1f} in use)")]
    lines += [(kind, f"{count:,}") for kind, count in found["rows"].items()]
    if dropped := found["dropped"]["observations"]:
        newest = time_text(found["dropped"]["before_ns"])
        lines.append(("dropped", f"{dropped:,} observations, the newest of {newest}"))
    if pictures := found["crops"]["bytes"]:
        gone = found["crops"]["dropped"]
        lines.append(("pictures", f"{pictures / 1e6:.1f} MB" + (f", {gone:,} dropped" if gone else "")))
    for agent, known in found["agents"].items():
        span = f"{time_text(known['first_ns'])} to {time_text(known['newest_ns'])}"
        count = known["sessions"]
        lines.append((f"agent {agent}", f"{span}, {count} session{'s' * (count > 1)}"))
    lines += [(f"map {map_id}", f"frame {frame}") for map_id, frame in found["maps"].items()]
    width = max(len(name) for name, _ in lines) + 2
    for name, text in lines:
        print(f"{name:{width}}{text}")


def time_text(stamp_ns: int) -> str:
    """A date where the stamp can be one, else seconds since the clock's start."""
    if stamp_ns < 10**17:
        return f"{stamp_ns / 1e9:.1f} s"
    return datetime.fromtimestamp(stamp_ns / 1e9, tz=timezone.utc).isoformat(sep=" ", timespec="seconds")
