"""``r4 db export|import|backup|prune``: a memory as JSON Lines, copies of it, and less of it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Annotated

import typer

from r4_ros.cli.database import DEFAULT, Db

if TYPE_CHECKING:
    from r4_ros.memory.sql_peers import PeerStore
    from r4_ros.memory.transfer import Imported

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]
_SHOWN_PROBLEMS = 10
_UNITS_S = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def register(group: typer.Typer) -> None:
    """Add the commands to ``r4 db``."""
    group.command("export")(export)
    group.command("import")(import_)
    group.command("backup")(backup)
    group.command("prune")(prune)


def export(
    out: Annotated[Path, typer.Option("--out", help="file to write, JSON Lines; '-': standard output")],
    db: Db = DEFAULT,
) -> None:
    """Write the whole memory as JSON Lines (docs/interchange.md); a node may go on writing to it."""
    from r4_ros.memory.stores import open_store
    from r4_ros.memory.transfer import export_lines

    store = open_store(db, read_only=True)
    try:
        lines = _with_progress(export_lines(store), "exporting")
        if str(out) == "-":
            _write(lines, sys.stdout)
            return
        with _replacing(out) as file:
            _write(lines, file)
    finally:
        store.close()


def _write(lines: Iterable[str], file: IO[str]) -> None:
    for line in lines:
        file.write(line + "\n")


@contextmanager
def _replacing(path: Path) -> Iterator[IO[str]]:
    """A file that takes its name only once it is whole."""
    from r4_ros.core.errors import StoreError

    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: can't be written: free space, or give another place ({error.strerror})") from error
    finally:
        part.unlink(missing_ok=True)


def import_(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="JSON Lines; '-': standard input")],
    db: Annotated[str, typer.Option("--db", metavar="FILE|URL", help="the memory to build, or to add to")],
    strict: Annotated[bool, typer.Option("--strict", help="stop at the first bad line")] = False,
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            help="who gives labels without a vector theirs: auto (the memory's own unless r4 exported them), "
            "minilm, multilingual, st:NAME, none",
        ),
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Build a memory from JSON Lines as its node would; a bad line is refused and counted, the rest goes on.

    Where a node runs on this file, it works the lines in itself, between what it is told.
    """
    from r4_ros.core.errors import InvalidArgument, StoreInUse
    from r4_ros.memory.database_name import is_url

    try:
        done = _imported(source, db, strict, embedder)
    except StoreInUse:
        if is_url(db):
            raise
        if embedder != "auto":
            raise InvalidArgument(
                "the node that runs on this file has its own embedder: leave --embedder out"
            ) from None
        done = _handed_over(source, Path(db), strict)
    _tell(done, db, as_json)
    if done.refused and not done.frames + done.episodes + done.regions:
        raise typer.Exit(1)


def _imported(source: Path, db: str, strict: bool, embedder: str) -> Imported:
    from r4_ros.cli.embedding import embedder_for
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.library import open_library
    from r4_ros.memory.transfer import Importer

    named = embedder_for(db, embedder)
    with _reading(source) as lines, open_library(db, MemoryConfig()) as library:
        importer = Importer(library, lambda: named, exported_too=embedder not in ("auto", "none"))
        return importer.read(_with_progress(lines, "importing"), strict)


def _handed_over(source: Path, db: Path, strict: bool) -> Imported:
    """Have the node that runs on the file work the stream in. Raises StoreInUse where it is no node."""
    from r4_ros.core.errors import StoreInUse
    from r4_ros.memory.handover import Handover
    from r4_ros.memory.stores import open_store

    def is_owned() -> bool:
        try:
            open_store(db).close()
        except StoreInUse:
            return True
        return False

    handover = Handover(db)
    with _reading(source) as lines:
        handover.give(lines, strict)
    return handover.result(is_owned)


@contextmanager
def _reading(source: Path) -> Iterator[IO[str]]:
    from r4_ros.core.errors import InvalidArgument

    if str(source) == "-":
        yield sys.stdin
        return
    try:
        file = source.open(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise InvalidArgument(f"{source}: can't be read ({error.strerror})") from error
    with file:
        yield file


def _tell(done: Imported, db: str, as_json: bool) -> None:
    for problem in done.problems[:_SHOWN_PROBLEMS]:
        print(f"r4: {problem}", file=sys.stderr)
    if done.refused > _SHOWN_PROBLEMS:
        print(f"r4: ... and {done.refused - _SHOWN_PROBLEMS} more", file=sys.stderr)
    if done.pruned:
        print(
            "r4: the exported memory had dropped old history; entries known from that alone are missing",
            file=sys.stderr,
        )
    if as_json:
        print(json.dumps({"db": str(db), **asdict(done)}, ensure_ascii=False))
        return
    print(
        f"{db}: {done.frames} frames ({done.known} known already) with {done.observations} observations, "
        f"{done.episodes} episodes, {done.regions} regions; {done.refused} lines refused"
    )


def backup(
    out: Annotated[Path, typer.Option("--out", help="file to write")],
    db: Db = DEFAULT,
    force: Annotated[bool, typer.Option("--force", help="replace a file that is there")] = False,
    as_json: AsJson = False,
) -> None:
    """A consistent copy of the whole memory, also while a node writes to it."""
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.memory.database_name import is_url
    from r4_ros.memory.stores import open_store

    if out.exists() and (not force or (not is_url(db) and out.samefile(db))):
        raise InvalidArgument(f"{out} exists already; give another name" + ("" if force else ", or --force"))
    store = open_store(db, read_only=True)
    try:
        size = store.backup(out)
    finally:
        store.close()
    print(json.dumps({"path": str(out), "bytes": size}) if as_json else f"{out}: {size / 1e6:.1f} MB")


def prune(
    db: Db = DEFAULT,
    before: Annotated[
        str,
        typer.Option(
            "--observations-before",
            help="a date (2026-01-31, 2026-01-31T12:00+01:00), nanoseconds, or an age such as 30d or 12h",
        ),
    ] = "",
    max_mb: Annotated[float | None, typer.Option("--max-mb", min=0, help="drop the oldest until it fits")] = None,
    forgotten: Annotated[
        str, typer.Option("--forgotten-before", help="erase for good what people forgot before: a date, or an age")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would be dropped")] = False,
    as_json: AsJson = False,
) -> None:
    """Drop old observations and thin old frames; entries keep all they know.

    A node may go on writing meanwhile; then the newest minute stays, and the file keeps its size. Erasing needs the
    memory for itself.
    """
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.core.model import FOREVER
    from r4_ros.memory.database_name import is_url
    from r4_ros.memory.stores import open_for_upkeep

    if not before and max_mb is None and not forgotten:
        raise InvalidArgument("say what may go: --observations-before, --max-mb or --forgotten-before")
    if forgotten and (before or max_mb is not None or dry_run):
        raise InvalidArgument("--forgotten-before erases for good; give it alone")
    if forgotten:
        _erase(db, stamp_of(forgotten, time.time_ns()), as_json)
        return
    store, beside = open_for_upkeep(db)
    with ExitStack() as stack:
        stack.callback(store.close)
        newest = max((session.newest_ns for session in store.sessions()), default=0)
        before_ns = stamp_of(before, newest) if before else FOREVER
        tried = _copy_of(store, stack) if dry_run and beside and not is_url(db) else store
        found = tried.prune(before_ns, None if max_mb is None else int(max_mb * 1e6), dry_run, beside)
    if as_json:
        print(json.dumps({"db": str(db), "dry_run": dry_run, **asdict(found)}))
        return
    verb = "would drop" if dry_run else "dropped"
    print(
        f"{db}: {verb} {found.observations:,} observations and {found.frames:,} frames; "
        f"{found.bytes_before / 1e6:.1f} MB -> {found.bytes_after / 1e6:.1f} MB"
    )
    if found.room_stays:
        print(f"r4: the file keeps its size: {found.room_stays}", file=sys.stderr)
    if max_mb is not None and found.bytes_after > max_mb * 1e6:
        print(
            f"r4: more than {max_mb:g} MB remain: entries, events, views and anchors are never dropped", file=sys.stderr
        )


def _copy_of(store: PeerStore, stack: ExitStack) -> PeerStore:
    """A copy to try things on while somebody writes, whom a long transaction would keep from it."""
    from r4_ros.memory.sqlite_store import SqliteStore

    folder = stack.enter_context(TemporaryDirectory(prefix="r4-prune-", dir=Path(store.path).parent))
    store.backup(Path(folder) / "copy.db")
    copy = SqliteStore(Path(folder) / "copy.db")
    stack.callback(copy.close)
    return copy


def _erase(db: str, before_ns: int, as_json: bool) -> None:
    from r4_ros.core.errors import StoreError
    from r4_ros.memory.database_name import exists
    from r4_ros.memory.stores import open_store

    if not exists(db):
        raise StoreError(f"{db}: there is no such database; check the path")
    store = open_store(db)
    try:
        erased = store.erase(before_ns)
    finally:
        store.close()
    told = f"{db}: erased {erased.entries:,} entries with {erased.observations:,} observations"
    print(json.dumps({"db": str(db), **asdict(erased)}) if as_json else told)


def stamp_of(text: str, newest_ns: int) -> int:
    """Nanoseconds; an age counts back from the newest stamp. Raises InvalidArgument."""
    from r4_ros.core.errors import InvalidArgument

    if text.isdecimal():
        return int(text)
    if text[:-1].isdecimal() and text[-1] in _UNITS_S:
        return newest_ns - int(text[:-1]) * _UNITS_S[text[-1]] * 10**9
    try:
        date = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidArgument(f"'{text}' is no date, no stamp in ns and no age such as 30d or 12h") from error
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return round(date.timestamp()) * 10**9


def _with_progress(lines: Iterable[str], text: str) -> Iterator[str]:
    """The lines, counted on stderr where somebody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=None)
        for number, line in enumerate(lines, start=1):
            yield line
            if number % 100 == 0:
                progress.update(task, completed=number)
