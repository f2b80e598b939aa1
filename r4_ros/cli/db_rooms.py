"""``r4 db rooms``: rooms grown from what robots saw on their way, as a regions file to be named."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli.database import DEFAULT, Db
from r4_ros.core.errors import InvalidArgument

if TYPE_CHECKING:
    from r4_ros.core.model import Region
    from r4_ros.memory.library import Library

TOLD = 6  # things that a room is told by


def register(group: typer.Typer) -> None:
    """Add the command to ``r4 db``."""
    group.command("rooms")(rooms)


def rooms(
    db: Db = DEFAULT,
    map_id: Annotated[str, typer.Option("--map", help="id of the map; default: the only one there is")] = "",
    out: Annotated[Path | None, typer.Option(help="write the regions file here", metavar="FILE")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="the memory is to know them, if it knows no regions")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Grow rooms from the free space that was seen, cut at doors. They are numbered; name them in the file."""
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.library import open_library

    with open_library(db, MemoryConfig(), read_only=not keep) as library:
        found = library.rooms(_map(library, map_id))
        told = [{**_row(r), "things": _things(library, r)} for r in found]
        if keep and found:
            if library.regions():
                raise InvalidArgument(f"{db} knows regions already; --keep is for a memory without any")
            library.set_regions(found)
    if out is not None:
        out.write_text(_yaml(told), encoding="utf-8")
    if as_json:
        print(json.dumps({"regions": told}))
    else:
        print(_yaml(told), end="")


def _map(library: Library, asked: str) -> str:
    known = sorted({entry.map_id for entry in library.placed()})
    if asked or len(known) == 1:
        return asked or known[0]
    raise InvalidArgument(f"which map? Name one with --map: {', '.join(known) or 'none is known yet'}")


def _row(region: Region) -> dict[str, Any]:
    return {"name": region.name, "polygon": [list(corner) for corner in region.polygon], "map_id": region.map_id}


def _things(library: Library, region: Region) -> list[str]:
    """What stands there, most frequent kinds first, to tell by which room it is."""
    from r4_ros.memory.evidence import containing

    placed = [e for e in library.placed() if containing([region], e.map_id, e.box.pose.position)]
    return [label for label, _ in Counter(e.label for e in placed).most_common(TOLD)]


def _yaml(told: list[dict[str, Any]]) -> str:
    import yaml

    lines = ["# rooms grown from what was seen; give them names"]
    for row in told:
        known = {name: row[name] for name in ("name", "polygon", "map_id")}
        lines.append(f"# {row['name']}: {', '.join(row['things']) or 'nothing known in it'}")
        lines.append(yaml.safe_dump([known], sort_keys=False, default_flow_style=None).rstrip())
    body = "\n".join(lines[1:]) or "[]"
    return f"{lines[0]}\nregions:\n{body}\n"
