"""``r4 policy``: SROS2 policies for a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from r4_ros.nodes.security import policy


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("policy")(print_policy)


def print_policy(
    robot: Annotated[list[str], typer.Option(help="namespace of a robot (repeatable)")],
    server: Annotated[
        str, typer.Option(help="namespace of the shared memory; / for none; empty: each robot has a memory of its own")
    ] = "",
    camera: Annotated[
        list[str] | None, typer.Option(help="name of a camera, where robots have several (repeatable)")
    ] = None,
    hears: Annotated[
        list[str] | None,
        typer.Option(help="further topic that perception and memory subscribe to: of a camera, of a SLAM (repeatable)"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="write it there", metavar="FILE")] = None,
) -> None:
    """The SROS2 policy of a fleet: each robot's nodes may publish in the robot's own namespace only."""
    text = policy(robot, server, camera or (), hears or ())
    if out is None:
        print(text, end="")
    else:
        out.write_text(text, encoding="utf-8")
