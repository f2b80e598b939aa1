"""``r4 db sync`` and ``r4 db inbox``: a robot's file and a map server kept in step, without nodes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from r4_ros.cli.database import Db

if TYPE_CHECKING:
    from r4_ros.memory.inbox import Inbox
    from r4_ros.memory.library import Library
    from r4_ros.memory.synchronizer import Synchronizer, SyncState

Once = Annotated[bool, typer.Option("--once", help="stop when nothing is left to be done")]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document at the end")]
_PERIOD_S, _LESSONS_PERIOD_S = 1.0, 30.0


def register(group: typer.Typer) -> None:
    """Add the commands to ``r4 db``."""
    group.command("sync")(sync)
    group.command("inbox")(inbox)


def sync(
    db: Db,
    url: Annotated[str, typer.Option("--with", metavar="URL", help="database of the map server, by the robot's role")],
    once: Once = False,
    clock_s: Annotated[float, typer.Option("--clock", help="seconds that the clocks may be apart")] = 1.0,
    images: Annotated[bool, typer.Option("--images", help="pictures of things go along")] = False,
    patience_s: Annotated[float, typer.Option("--patience", help="with --once: give up after this, seconds")] = 60.0,
    experience: Annotated[
        str, typer.Option(help="the experience node's file, whose lessons are shared too, if there is one")
    ] = "r4_experience.db",
    as_json: AsJson = False,
) -> None:
    """Keep a robot's file in step with a map server: what it saw goes up, what others know comes down.

    No node may write to the file meanwhile; a node does this itself (its parameter sync).
    """
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.library import open_library
    from r4_ros.memory.synchronizer import SyncConfig, Synchronizer

    until = time.monotonic() + patience_s if once else math.inf
    with open_library(db, MemoryConfig()) as library, _lessons(experience, url) as share:
        synchronizer = Synchronizer(lambda: library, SyncConfig(url, "", clock_s, images))
        try:
            _keep_in_step(synchronizer, share, once, until)
        except KeyboardInterrupt:
            pass
        finally:
            synchronizer.close()
    state = synchronizer.state
    if as_json:
        print(json.dumps(asdict(state)))
    else:
        typer.echo(_told(state))


def _keep_in_step(sync: Synchronizer, share: Callable[[str], None], once: bool, until: float) -> None:
    """For ever, or ``once`` until nothing is left. Raises StoreError where that isn't so ``until`` then."""
    from r4_ros.core.errors import R4Error, StoreError

    next_lessons = 0.0
    while True:
        busy = sync.step()
        state = sync.state
        if once and not state.error and not (busy or state.waiting_frames or state.waiting_batches):
            share(state.agent_id)
            return
        if time.monotonic() > until:
            raise StoreError(state.error or _behind(state))
        if not once and not state.error and time.monotonic() >= next_lessons:
            next_lessons = time.monotonic() + _LESSONS_PERIOD_S
            try:
                share(state.agent_id)
            except R4Error as error:
                typer.echo(f"lessons aren't shared: {error}", err=True)
        if not busy:
            sync.wait(_PERIOD_S)


@contextmanager
def _lessons(experience: str, url: str) -> Iterator[Callable[[str], None]]:
    """What shares the lessons of an experience node's file, as the agent that it is told; nothing without a file."""
    from r4_ros.memory.experience_stores import open_tasks
    from r4_ros.memory.lesson_link import LessonLink

    if not experience or not Path(experience).is_file():
        yield lambda agent: None
        return
    tasks, links = open_tasks(experience, ""), dict[str, LessonLink]()

    def share(agent: str) -> None:
        links.setdefault(agent, LessonLink(tasks, url, agent)).step()

    try:
        yield share
    finally:
        for link in links.values():
            link.close()
        tasks.close()


def _behind(state: SyncState) -> str:
    return (
        f"{state.waiting_frames} frames aren't worked in yet: does the map server run (r4 up --only memory --db URL, "
        "or r4 db inbox --db URL)?"
    )


def _told(state: SyncState) -> str:
    refused = f", {state.refused} records refused ({state.problem})" if state.refused else ""
    return (
        f"{state.agent_id}: the server has {state.frames} frames with {state.observations} observations{refused}; "
        f"{state.heard} records of others came down" + (f"; {state.notice}" if state.notice else "")
    )


def inbox(db: Db, once: Once = False, as_json: AsJson = False) -> None:
    """Work in what robots sent to a map server's database, as its memory node does. No node may write meanwhile."""
    from r4_ros.core.config import MemoryConfig
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.memory.database_name import is_url
    from r4_ros.memory.inbox import Inbox
    from r4_ros.memory.library import open_library

    if not is_url(db):
        raise InvalidArgument(
            f"{db} is a file; robots send to a database on a server: --db postgresql://USER@HOST/NAME"
        )
    opened = [open_library(db, MemoryConfig())]

    def anew() -> Library:
        opened[-1].close()
        opened.append(open_library(db, MemoryConfig()))
        return opened[-1]

    counts = {"batches": 0, "frames": 0, "observations": 0, "refused": 0}
    worker = Inbox(lambda: opened[-1], anew)
    try:
        _work(worker, counts, once)
    except KeyboardInterrupt:
        pass
    finally:
        opened[-1].close()
    print(json.dumps(counts)) if as_json else typer.echo(", ".join(f"{n} {name}" for name, n in counts.items()))


def _work(worker: Inbox, counts: dict[str, int], once: bool) -> None:
    """Until nothing waits (``once``), or for ever; a server that is away is tried again."""
    from r4_ros.core.errors import StoreError

    while True:
        try:
            done = worker.work()
        except StoreError as error:
            if once:
                raise
            typer.echo(str(error), err=True)
            done = None
        if done is not None:
            counts["batches"] += 1
            counts["frames"] += done.frames
            counts["observations"] += done.observations
            counts["refused"] += done.refused
        elif once and not worker.held_s:
            return
        else:
            time.sleep(_PERIOD_S / 10)
