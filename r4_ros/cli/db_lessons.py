"""``r4 db lessons``: what finished questions have taught about asking; shown, exported and shared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from r4_ros.core.lessons import Lesson
    from r4_ros.memory.sql_experience import SqlTaskStore
    from r4_ros.memory.sql_lessons import SqlLessonStore


def register(group: typer.Typer) -> None:
    """Add the command to ``r4 db``."""
    group.command("lessons")(lessons)


def lessons(
    db: Annotated[
        str, typer.Option("--db", help="the experience node's SQLite file, or a fleet's database by URL")
    ] = "r4_experience.db",
    agent: Annotated[str, typer.Option(help="in a fleet's database: whose lessons; empty: everybody's")] = "",
    audit: Annotated[int, typer.Option(min=0, help="also show so many of the latest changes")] = 0,
    take: Annotated[Path | None, typer.Option("--import", help="take over lessons that another robot printed")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document; --import reads it")] = False,
) -> None:
    """What finished questions have taught about asking; no facts, so robots may share it."""
    from r4_ros.memory.database_name import is_url
    from r4_ros.memory.sql_lessons import SqlLessonStore, lesson_to_dict

    taken = _read(take) if take is not None else ()
    with open_tasks(db, agent, read_only=take is None) as tasks:
        store = SqlLessonStore(tasks)
        adopted = _adopted(store, taken) if take is not None else None
        alone = agent or (as_json and not is_url(db))  # a robot gives away its own only
        others = () if alone else tuple(lesson for _, lesson in store.others())
        kept, changes = (*store.lessons().values(), *others), store.audit(audit)
        count = store.task_count()
    if as_json:
        told: dict[str, Any] = {"tasks": count, "lessons": [lesson_to_dict(k) for k in kept]}
        told |= {"audit": [list(change) for change in changes]} if audit else {}
        print(json.dumps(told if adopted is None else {**told, "adopted": adopted}))
        return
    _print(kept, changes, count, adopted)


@contextmanager
def open_tasks(db: str, agent: str, read_only: bool) -> Iterator[SqlTaskStore]:
    """The experience node's file, or an agent's part of a fleet's database, closed afterwards.

    Raises InvalidArgument where it isn't there.
    """
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.memory import experience_stores
    from r4_ros.memory.database_name import exists, is_url

    if not exists(db) and read_only:
        raise InvalidArgument(f"{db} isn't there: the experience node makes it, name its file with --db")
    if is_url(db) and not agent and not read_only:
        raise InvalidArgument("what is in a fleet's database is an agent's: say whose this becomes with --agent")
    tasks = experience_stores.open_tasks(db, agent if is_url(db) else "", read_only)
    try:
        yield tasks
    finally:
        tasks.close()


def _read(path: Path) -> tuple[Lesson, ...]:
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.memory.sql_lessons import lesson_from_dict

    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return tuple(lesson_from_dict(fields) for fields in told["lessons"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidArgument(f"{path}: not what `r4 db lessons --json` prints ({error})") from None


def _adopted(store: SqlLessonStore, taken: Sequence[Lesson]) -> int:
    from r4_ros.core.config import ExperienceConfig
    from r4_ros.experience.learner import Learner

    return Learner(store, ExperienceConfig()).adopt(taken)


def _print(kept: Sequence[Lesson], changes: Sequence[tuple[str, str, str]], count: int, adopted: int | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if adopted is not None:
        console.print(f"{adopted} lessons taken over")
    table = Table(show_edge=False, pad_edge=False)
    for title in ("lesson", "kind", "when", "advice", "taught by", "used", "helped", "hurt"):
        table.add_column(title, overflow="fold")
    for k in sorted(kept, key=lambda k: (k.polarity.value, -k.support, k.lesson_id)):
        numbers = (str(k.support), str(k.uses), f"{k.helped:g}", f"{k.hurt:g}")
        table.add_row(k.lesson_id[:8], k.polarity.value, str(k.when_to_use), str(k.correction), *numbers)
    console.print(table if kept else f"no lessons yet, from {count} tasks whose outcome was told")
    for lesson_id, what, why in changes:
        console.print(f"{lesson_id[:8]}  {what}: {why}", style="dim", highlight=False)
