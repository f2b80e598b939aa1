"""``r4 view``: a memory from above, as it is or as it was at some time, drawn into a PNG."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from r4_ros.cli.database import DEFAULT, Db
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import NS_PER_S, Query

if TYPE_CHECKING:
    from r4_ros.cli.scene import Scene
    from r4_ros.memory.library import Library

UNITS_S = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
}
ALL = 10**6
DEADLINE_S = 60.0
AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s+ago")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("view")(view)


def view(
    db: Db = DEFAULT,
    out: Annotated[
        Path | None, typer.Option(help="picture to write; default: beside the database", metavar="PNG")
    ] = None,
    at: Annotated[
        str, typer.Option(help="as it was then: ns, '75.5s', ISO 8601, or '30s ago' (of the newest stamp)")
    ] = "",
    size: Annotated[int, typer.Option(help="width in pixels", min=400, max=8000)] = 1600,
    agents: Annotated[str, typer.Option(help="only these agents, separated by commas")] = "",
    thing: Annotated[
        str, typer.Option(help="instead: the newest picture of this thing, by its label or entry id", metavar="NAME")
    ] = "",
) -> None:
    """Look at a memory from above: rooms, the robots' ways, things, and what was moved or is gone."""
    if thing:
        from r4_ros.cli.pictures import save_picture

        typer.echo(save_picture(db, thing, out))
        return
    from r4_ros.cli.picture import draw
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.database_name import beside
    from r4_ros.memory.library import open_library

    with open_library(db, MemoryConfig(), read_only=True) as library:
        scene = scene_of(library, at, {name.strip() for name in agents.split(",") if name.strip()})
    typer.echo(draw(scene, out or beside(db, ".png"), size))


def scene_of(library: Library, at: str = "", agents: Collection[str] = ()) -> Scene:
    """What the memory holds, or held at a time (see ``parse_time``), of all agents or of these.

    Raises InvalidArgument for a time that can't be read or agents that the memory doesn't know.
    """
    from r4_ros.cli.scene import make_scene

    known = list(library.agents())
    unknown = sorted(set(agents) - set(known))
    if unknown:
        raise InvalidArgument(f"the memory knows no agent {', '.join(unknown)}; it knows {', '.join(known) or 'none'}")
    chosen = [agent for agent in known if not agents or agent in agents]
    newest_ns = library.newest_stamp()
    at_ns = parse_time(at, newest_ns) if at else newest_ns
    known_then = library.retrieve(Query(agents=tuple(chosen), now_ns=at_ns, limit=ALL), deadline_s=DEADLINE_S)
    return make_scene(
        known_then.entries,
        [library.trail(agent, 0, at_ns + 1) for agent in chosen],
        library.regions(),
        (event for event in library.events() if event.stamp_ns <= at_ns),
        at_ns,
    )


def parse_time(text: str, newest_ns: int) -> int:
    """Stamp in ns of an integer (ns), a number of seconds ('75.5s'), ISO 8601 (UTC unless said) or 'N units ago'.

    Raises InvalidArgument for anything else.
    """
    words = text.strip()
    ago = AGO.fullmatch(words.lower())
    if ago and ago[2] in UNITS_S:
        return newest_ns - round(float(ago[1]) * UNITS_S[ago[2]] * NS_PER_S)
    if re.fullmatch(r"\d+", words):
        return int(words)
    in_seconds = re.fullmatch(r"(\d+)(?:\.(\d{1,9}))?\s*s?", words)
    if in_seconds:
        return int(in_seconds[1]) * NS_PER_S + int((in_seconds[2] or "").ljust(9, "0"))
    try:
        moment = datetime.fromisoformat(words.replace("Z", "+00:00"))
    except ValueError:
        raise InvalidArgument(
            f"can't read the time '{text}'; give nanoseconds, seconds like 75.5s, 2026-05-01T12:00:00 or '30s ago'"
        ) from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp() * 1e6) * 1000
