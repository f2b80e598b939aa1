"""``r4 db correct``: what a person says of an entry, while no node runs; a running node has the service for it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

Db = Annotated[Path, typer.Option("--db", help="the memory's SQLite file")]
Source = Annotated[str, typer.Option("--source", help="who says so")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]
Id = Annotated[str, typer.Argument(metavar="ENTRY", help="entry id, as r4 ask --json tells it, or its beginning")]


def register(group: typer.Typer) -> None:
    """Add the commands to ``r4 db``."""
    correct = typer.Typer(
        help="Rename, merge, split, pin or forget an entry; written down, and undone by undo.", no_args_is_help=True
    )
    for command in (rename, merge, split, pin, forget, undo):
        correct.command()(command)
    correct.command("list")(list_)
    group.add_typer(correct, name="correct")


def rename(entry: Id, label: str, db: Db = Path("r4.db"), source: Source = "", as_json: AsJson = False) -> None:
    """It is a LABEL, whatever the detector says."""
    _correct(db, source, as_json, "RENAME", entry, label=label)


def merge(entry: Id, other: str, db: Db = Path("r4.db"), source: Source = "", as_json: AsJson = False) -> None:
    """OTHER is the same thing: it becomes part of ENTRY."""
    _correct(db, source, as_json, "MERGE", entry, other)


def split(
    entry: Id,
    at: Annotated[str, typer.Option("--at", help="a date, or ns: what was seen from then on is another thing")],
    db: Db = Path("r4.db"),
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """It is two things, one after the other."""
    from r4_ros.cli.db_transfer import stamp_of

    _correct(db, source, as_json, "SPLIT", entry, at_ns=stamp_of(at, time.time_ns()))


def pin(
    entry: Id,
    at: Annotated[
        tuple[float, float, float] | None, typer.Option("--at", help="its centre x y z in the map, m; else where it is")
    ] = None,
    db: Db = Path("r4.db"),
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """It stays where it is, whatever the camera says."""
    _correct(db, source, as_json, "PIN", entry, position=at)


def forget(entry: Id, db: Db = Path("r4.db"), source: Source = "", as_json: AsJson = False) -> None:
    """Take it out of all answers, with its events."""
    _correct(db, source, as_json, "FORGET", entry)


def undo(
    number: Annotated[int, typer.Argument(min=0, help="of the correction; 0: the last one")] = 0,
    db: Db = Path("r4.db"),
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """Take a correction back; what was seen since stays."""
    _correct(db, source, as_json, "UNDO", correction_id=number)


def list_(db: Db = Path("r4.db"), as_json: AsJson = False) -> None:
    """All corrections: who said what, and when; also while a node runs."""
    from r4_ros.memory.interchange import correction_to_json
    from r4_ros.memory.sqlite_store import SqliteStore

    store = SqliteStore(db, read_only=True)
    try:
        records = store.corrections()
    finally:
        store.close()
    rows = [{"number": r.correction_id, **correction_to_json(r), "undone_by": r.undone_by} for r in records]
    for row in rows:
        del row["type"]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        said = " ".join(f"{name}={value}" for name, value in row.items() if value and name not in ("number", "kind"))
        print(f"{row['number']}: {row['kind'].lower()} {said}")


def _correct(db: Path, source: str, as_json: bool, kind: str, *entries: str, **more: Any) -> None:
    from r4_ros.core.config import MemoryConfig
    from r4_ros.core.errors import StoreError
    from r4_ros.core.model import CorrectionKind, EntryCorrection
    from r4_ros.memory.library import open_library

    if not db.is_file():
        raise StoreError(f"{db}: there is no such database; check the path")
    with open_library(db, MemoryConfig(), _embedder(kind)) as library:
        known = [entry.entry_id for entry in library.entries()]
        ids = dict(zip(("entry_id", "other_id"), (_whole(known, entry) for entry in entries), strict=False))
        said = EntryCorrection(CorrectionKind[kind], **ids, **more, source=source)
        receipt = library.correct(said, time.time_ns())
    changed = [{"entry_id": p.entry_id, "label": p.label, "position": p.box.pose.position} for p in receipt.changed]
    if as_json:
        found = {"correction_id": receipt.correction_id, "revision": receipt.revision}
        print(json.dumps({**found, "changed": changed, "removed": receipt.removed}, ensure_ascii=False))
        return
    print(f"correction {receipt.correction_id}")
    for one in changed:
        print(f"  {one['entry_id']}  {one['label']}  at ({', '.join(f'{v:.2f}' for v in one['position'])})")
    for entry_id in receipt.removed:
        print(f"  {entry_id}  is shown no more")


def _embedder(kind: str) -> Any:
    from r4_ros.adapters.embedders import make_embedder

    return make_embedder("minilm") if kind == "RENAME" else None


def _whole(known: list[str], text: str) -> str:
    """The only id that begins like this, else the text itself."""
    found = [entry_id for entry_id in known if entry_id.startswith(text)]
    return found[0] if len(found) == 1 else text
