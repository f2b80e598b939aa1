"""``r4 db align``: where agents' maps lie in common ones, while no node runs; a running node has the service for it."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli.database import DEFAULT, Db
from r4_ros.core.errors import InvalidArgument, StoreError

if TYPE_CHECKING:
    from r4_ros.core.alignments import AlignmentRecord
    from r4_ros.memory.library import Library

Triple = tuple[float, float, float]


def register(group: typer.Typer) -> None:
    """Add the command to ``r4 db``."""
    group.command("align")(align)


def align(
    db: Db = DEFAULT,
    agent: Annotated[str, typer.Option("--agent", help="whose map; without it: list all that was said")] = "",
    map_id: Annotated[str, typer.Option("--map", help="id of its map, as `r4 db info` tells it")] = "",
    into: Annotated[str, typer.Option(help="id of the common map; default: the only other one there is")] = "",
    xyz: Annotated[Triple, typer.Option(help="the map's origin in the common map, m")] = (0.0, 0.0, 0.0),
    yaw: Annotated[float, typer.Option(help="its turn about z there, degrees, counter-clockwise")] = 0.0,
    rpy: Annotated[
        Triple | None, typer.Option(help="instead of --yaw: about the fixed axes x, y, z in this order, degrees")
    ] = None,
    frame: Annotated[str, typer.Option(help="name of the common map's fixed frame; default: as recorded on it")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="instead: take back what was said of this map last")] = False,
    source: Annotated[str, typer.Option("--source", help="who says so")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Say where a robot's map lies in a common one: all that it saw is then told there; nothing stored is rewritten."""
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.database_name import exists
    from r4_ros.memory.library import open_library

    if not exists(db):
        raise StoreError(f"{db}: there is no such database; check the path")
    if bool(agent) != bool(map_id):
        raise InvalidArgument("say whose map with --agent, and which one with --map")
    with open_library(db, MemoryConfig(), read_only=not agent) as library:
        if not agent:
            _list(library, as_json)
            return
        if undo:
            record = library.take_back_alignment(agent, map_id, time.time_ns(), source)
        else:
            record = _said(library, agent, map_id, into, (xyz, rpy or (0.0, 0.0, yaw)), frame, source)
        holds = library.own_maps().get((agent, map_id), map_id)
    if as_json:
        print(json.dumps({"alignment": None if record is None else _plain(record), "told_on": holds}))
    elif record is None:
        print(f"it was so already: map '{map_id}' of '{agent}' is told on '{holds}'")
    else:
        print(f"{record.number}: map '{map_id}' of '{agent}' is told on '{holds}'")


def _said(
    library: Library, agent: str, map_id: str, into: str, place: tuple[Triple, Triple], frame: str, source: str
) -> AlignmentRecord | None:
    from r4_ros.core.alignments import Alignment
    from r4_ros.core.geometry import quat_from_rpy
    from r4_ros.core.model import Pose

    common = library.common_map(agent, map_id, into)
    roll, pitch, turn = (math.radians(angle) for angle in place[1])
    pose = Pose(place[0], quat_from_rpy(roll, pitch, turn))
    return library.align(Alignment(agent, map_id, common, pose, frame), time.time_ns(), source)


def _list(library: Library, as_json: bool) -> None:
    from r4_ros.cli.db import time_text

    rows = [_plain(record) for record in library.alignments()]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        what = f"lies on '{row['common_id']}' at {row['position']} {row['quaternion']}" if row["common_id"] else "undo"
        undone = f"; taken back by {row['undone_by']}" if row["undone_by"] else ""
        by = f", {row['source']}" if row["source"] else ""
        print(
            f"{row['number']}: map '{row['map_id']}' of '{row['agent']}' {what} ({time_text(row['stamp'])}{by}{undone})"
        )
    for (agent, own), common in sorted(library.own_maps().items()):
        print(f"map '{own}' of '{agent}' is told on '{common}'")


def _plain(r: AlignmentRecord) -> dict[str, Any]:
    a = r.alignment
    return {
        "number": r.number,
        "stamp": r.stamp_ns,
        "agent": r.agent_id,
        "map_id": r.map_id,
        "common_id": "" if a is None else a.common_id,
        "position": None if a is None else list(a.pose.position),
        "quaternion": None if a is None else list(a.pose.orientation),
        "frame": "" if a is None else a.frame,
        "source": r.source,
        "undone_by": r.undone_by,
    }
