"""``r4 db facts`` and ``r4 db tell``: what a memory adds up to, and telling it what happened."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli.database import DEFAULT, Db

if TYPE_CHECKING:
    from r4_ros.core.model import Fact

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]
SHOWN_SOURCES = 3


def register(group: typer.Typer) -> None:
    """Add the commands to ``r4 db``."""
    group.command("facts")(facts)
    group.command("tell")(tell)


def facts(
    labels: Annotated[list[str] | None, typer.Argument(help="only of things called so")] = None,
    db: Db = DEFAULT,
    agents: Annotated[str, typer.Option(help="only from what these saw, separated by commas")] = "",
    zone: Annotated[str, typer.Option("--timezone", help="of times of day, like Europe/Berlin; default: UTC")] = "",
    as_json: AsJson = False,
) -> None:
    """What is usual: places, times of day, what goes with what, whose and who; with weights and sources."""
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.library import open_library

    scope = [name.strip() for name in agents.split(",") if name.strip()]
    with open_library(db, MemoryConfig(), read_only=True) as library:
        found = library.facts(labels=labels or (), agents=scope, timezone=zone)
    if as_json:
        print(json.dumps([{**asdict(fact), "kind": fact.kind.name} for fact in found], ensure_ascii=False))
        return
    _print(found)


def _print(found: list[Fact]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, pad_edge=False)
    for title in ("kind", "thing", "what", "weight", "occasions", "since", "sources"):
        table.add_column(title, justify="right" if title in ("weight", "occasions") else "left")
    for fact in found:
        rest = len(fact.sources) - SHOWN_SOURCES
        sources = ", ".join(fact.sources[-SHOWN_SOURCES:]) + (f" and {rest} more" if rest > 0 else "")
        count, since = f"{fact.count} of {fact.total}", _date(fact.first_ns)
        cells = (fact.kind.name, fact.label, _what(fact), f"{fact.weight:.2f}", count, since, sources)
        table.add_row(*(Text(cell) for cell in cells))
    Console().print(table if found else "nothing is known that is usual")


def _what(fact: Fact) -> str:
    """'on table in kitchen', 'power: on 20:00-21:15 Mon Tue'."""
    parts = [fact.object, f"in {fact.region}" if fact.region and f"in {fact.region}" != fact.object else ""]
    if fact.day_from_s is not None and fact.day_to_s is not None:
        parts.append(f"{_clock(fact.day_from_s)}-{_clock(fact.day_to_s)}")
        parts += [("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[day] for day in fact.weekdays]
    elif fact.place is not None:
        parts.append("(" + ", ".join(f"{v:.2f}" for v in fact.place) + ")")
    return " ".join(part for part in parts if part)


def _clock(second: float) -> str:
    return f"{int(second) // 3600 % 24:02d}:{int(second) // 60 % 60:02d}"


def _date(stamp_ns: int) -> str:
    if stamp_ns < 10**17:
        return f"{stamp_ns / 1e9:.1f} s"
    return f"{datetime.fromtimestamp(stamp_ns / 1e9, tz=timezone.utc):%Y-%m-%d}"


def tell(
    text: Annotated[str, typer.Argument(help="what happened, or what somebody said")],
    db: Db = DEFAULT,
    agent: Annotated[str, typer.Option(help="whose episode it is; default: the only agent there is")] = "",
    participants: Annotated[
        list[str] | None,
        typer.Option("--with", help="who or what took part: an entry id, a name, 'Anna is ID', 'Anna owns ID'"),
    ] = None,
    when: Annotated[str, typer.Option("--at", help="a date, ns, or an age such as 10m; default: the newest")] = "",
    place: Annotated[
        tuple[float, float, float] | None, typer.Option("--place", help="x y z in the map, m; else where the agent was")
    ] = None,
    said: Annotated[bool, typer.Option("--said", help="somebody said it; else you, the operator, write it")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell the memory an episode, while no node runs; a running node has the service memory/add_episode for it."""
    from r4_ros.adapters.embedders import make_embedder
    from r4_ros.cli.db_transfer import stamp_of
    from r4_ros.core.config import MemoryConfig
    from r4_ros.core.errors import InvalidArgument, StoreError
    from r4_ros.core.model import Episode, EpisodeSource, Interval
    from r4_ros.memory.database_name import exists
    from r4_ros.memory.library import open_library

    if not exists(db):
        raise StoreError(f"{db}: there is no such database; check the path")
    with open_library(db, MemoryConfig(), make_embedder("minilm")) as library:
        agents = library.agents()
        if not agent and len(agents) != 1:
            raise InvalidArgument(f"whose episode is it? --agent {' or '.join(agents)}" if agents else "give --agent")
        newest = library.newest_stamp()
        stamp = stamp_of(when, newest) if when else newest
        source = EpisodeSource.UTTERANCE if said else EpisodeSource.OPERATOR
        more: dict[str, Any] = {"place": place, "participants": tuple(participants or ())}
        episode = Episode("", agent or agents[0], text, Interval(stamp, stamp + 1), source, **more)
        episode_id = library.add_episode(episode)
    print(json.dumps({"episode_id": episode_id}) if as_json else f"episode {episode_id}")
