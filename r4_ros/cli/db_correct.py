"""``r4 db correct``: what a person says of an entry, while no node runs; a running node has the service for it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli.database import DEFAULT, Db

if TYPE_CHECKING:
    from r4_ros.memory.library import Library

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
    correct.command()(merges)
    group.add_typer(correct, name="correct")


def rename(entry: Id, label: str, db: Db = DEFAULT, source: Source = "", as_json: AsJson = False) -> None:
    """It is a LABEL, whatever the detector says."""
    _correct(db, source, as_json, "RENAME", entry, label=label)


def merge(entry: Id, other: str, db: Db = DEFAULT, source: Source = "", as_json: AsJson = False) -> None:
    """OTHER is the same thing: it becomes part of ENTRY."""
    _correct(db, source, as_json, "MERGE", entry, other)


def split(
    entry: Id,
    at: Annotated[str, typer.Option("--at", help="a date, or ns: what was seen from then on is another thing")] = "",
    part: Annotated[
        str, typer.Option("--part", help="id of what was merged into it and is a thing of its own; see merges")
    ] = "",
    db: Db = DEFAULT,
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """It is two things: one after the other, or two that the memory took for one."""
    from r4_ros.cli.db_transfer import stamp_of
    from r4_ros.core.errors import InvalidArgument

    if bool(at) == bool(part):
        raise InvalidArgument("say where to split: --at a time, or --part an entry that was merged into it")
    more: dict[str, Any] = {"other_id": part} if part else {"at_ns": stamp_of(at, time.time_ns())}
    _correct(db, source, as_json, "SPLIT", entry, **more)


def pin(
    entry: Id,
    at: Annotated[
        tuple[float, float, float] | None, typer.Option("--at", help="its centre x y z in the map, m; else where it is")
    ] = None,
    db: Db = DEFAULT,
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """It stays where it is, whatever the camera says."""
    _correct(db, source, as_json, "PIN", entry, position=at)


def forget(
    entry: Id,
    erase: Annotated[
        bool, typer.Option("--erase", help="also from the file: sightings, pictures, words; can't be undone")
    ] = False,
    db: Db = DEFAULT,
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """Take it out of all answers, with its events."""
    from r4_ros.core.model import FOREVER
    from r4_ros.memory.stores import open_store

    removed = _correct(db, source, as_json, "FORGET", entry)
    if erase:
        store = open_store(db)
        try:
            erased = store.erase(FOREVER, removed)
        finally:
            store.close()
        if not as_json:
            print(f"  erased, with {erased.observations:,} observations")


def undo(
    number: Annotated[int, typer.Argument(min=0, help="of the correction; 0: the last one")] = 0,
    db: Db = DEFAULT,
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """Take a correction back; what was seen since stays."""
    _correct(db, source, as_json, "UNDO", correction_id=number)


def list_(db: Db = DEFAULT, as_json: AsJson = False) -> None:
    """All corrections: who said what, and when; also while a node runs."""
    from r4_ros.memory.interchange import correction_to_json
    from r4_ros.memory.stores import open_store

    store = open_store(db, read_only=True)
    try:
        records = store.corrections()
    finally:
        store.close()
    rows = [{"number": r.correction_id, **correction_to_json(r), "undone_by": r.undone_by} for r in records]
    for row, record in zip(rows, records, strict=True):
        del row["type"]
        if record.correction.remakes:
            row["entries"] = list(record.entries)
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        print(_told(row))


def _told(row: dict[str, Any]) -> str:
    """A correction in one line."""
    from r4_ros.cli.db import time_text

    undone = {0: "", -1: "; erased since"}.get(row["undone_by"], f"; taken back by {row['undone_by']}")
    said = [str(row[name]) for name in ("entry_id", "other_id", "label", "correction_id") if row.get(name)]
    said += [f"from {time_text(row['at'])} on"] if row.get("at") else []
    said += [f"at {tuple(row['position'])}"] if row["position"] else []
    by = f", {row['source']}" if row["source"] else ""
    what = "made anew of their sightings:" if "entries" in row else row["kind"].lower()
    said = row.get("entries", said)
    return f"{row['number']}: {what} {' '.join(said)} ({time_text(row['stamp'])}{by}{undone})"


def merges(db: Db = DEFAULT, as_json: AsJson = False) -> None:
    """What the memory itself found to be one thing, and when; also while a node runs."""
    from r4_ros.cli.db import time_text
    from r4_ros.memory.stores import open_store

    store = open_store(db, read_only=True)
    try:
        records = store.merges()
    finally:
        store.close()
    rows = [
        {
            "entry_id": m.kept_id,
            "part": m.merged_id,
            "label": m.merged.entry.label,
            "stamp": m.stamp_ns,
            "reason": m.reason,
            "undone_by": m.undone_by,
        }
        for m in records
    ]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        undone = f", taken apart by correction {row['undone_by']}" if row["undone_by"] else ""
        when = time_text(row["stamp"])
        print(f"{row['part']} ({row['label']}) is {row['entry_id']}: {row['reason']}, at {when}{undone}")


def _correct(db: str, source: str, as_json: bool, kind: str, *entries: str, **more: Any) -> tuple[str, ...]:
    """Say it, and what became of it; gives the ids of what is shown no more."""
    from r4_ros.cli.embedding import embedder_for
    from r4_ros.core.config import MemoryConfig
    from r4_ros.core.errors import StoreError
    from r4_ros.core.model import CorrectionKind, EntryCorrection
    from r4_ros.memory.database_name import exists
    from r4_ros.memory.library import open_library

    if not exists(db):
        raise StoreError(f"{db}: there is no such database; check the path")
    with open_library(db, MemoryConfig(), embedder_for(db) if kind == "RENAME" else None) as library:
        ids = dict(zip(("entry_id", "other_id"), (_whole(library, entry) for entry in entries), strict=False))
        if "other_id" in more:
            more["other_id"] = _whole(library, more["other_id"])
        said = EntryCorrection(CorrectionKind[kind], **ids, **more, source=source)
        receipt = library.correct(said, time.time_ns())
        undone = library.corrections()[-1].correction.correction_id
    changed = [{"entry_id": p.entry_id, "label": p.label, "position": p.box.pose.position} for p in receipt.changed]
    if as_json:
        found = {"correction_id": receipt.correction_id, "revision": receipt.revision}
        print(json.dumps({**found, "changed": changed, "removed": receipt.removed}, ensure_ascii=False))
        return receipt.removed
    print(f"correction {receipt.correction_id}" + (f" takes back {undone}" if undone else ""))
    for one in changed:
        print(f"  {one['entry_id']}  {one['label']}  at ({', '.join(f'{v:.2f}' for v in one['position'])})")
    for entry_id in receipt.removed:
        print(f"  {entry_id}  is shown no more")
    return receipt.removed


def _whole(library: Library, text: str) -> str:
    """The only id that begins like this, else the text itself. Raises InvalidArgument where several do."""
    from r4_ros.core.errors import InvalidArgument

    found = library.ids_beginning(text) if text else []
    if len(found) > 1 and text not in found:
        raise InvalidArgument(f"'{text}' begins the ids of {len(found)} entries: {', '.join(found[:5])}")
    return found[0] if len(found) == 1 else text
