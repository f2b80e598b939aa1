"""``r4 eval collaboration``: a robot searches for things alone, and with what another robot has seen."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer


def collaboration(
    trials: Annotated[int, typer.Option(help="how many searches, in homes of five seeds", min=1, max=10_000)] = 60,
    seed: Annotated[int, typer.Option(help="decides things, rooms, starts", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Success, way and SPL of searches with and without another robot's memory, by how much of it overlaps."""
    from rich.console import Console
    from rich.progress import track

    from r4_ros.evaluation.collaboration.trials import figures, run, tasks

    made = track(run(tasks(trials, seed)), "searches", trials, console=Console(stderr=True))
    found = figures(list(made), seed)
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    """A table."""
    print(f"{found['trials']} searches  success  way (m)   SPL                    gain in SPL")
    for name, side in found.items():
        if isinstance(side, dict):
            gain = _interval(side["gain"], "+") if "gain" in side else ""
            print(f"{name:13}{side['success']:8.1%}{side['path_m']:9.1f}   {_interval(side['spl']):22} {gain}".rstrip())


def _interval(values: dict[str, Any], sign: str = "") -> str:
    low, high = values["ci95"]
    return f"{values['mean']:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"
