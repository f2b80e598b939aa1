"""``r4 eval experience``: whether what was learnt about asking helps, on the simulator, against controls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def experience(
    seeds: Annotated[int, typer.Option(help="how many streams, each of its own rooms and things", min=1, max=100)] = 10,
    first: Annotated[int, typer.Option(help="number of the first stream", min=0, max=10_000)] = 0,
    modes: Annotated[str, typer.Option(help="comma-separated; empty: all", metavar="NAMES")] = "",
    day_tasks: Annotated[int, typer.Option(help="tasks of each of a stream's four days", min=4, max=512)] = 128,
    duration: Annotated[float, typer.Option(help="simulated seconds of a day", min=150, max=3600)] = 300.0,
    cache: Annotated[Path | None, typer.Option(help="folder for memories; default: the user's")] = None,
    embedder: Annotated[str, typer.Option(help="minilm, multilingual, st:NAME or none")] = "minilm",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Answer streams of awkward questions with degraded perception, with and without lessons, and compare."""
    from r4_ros.adapters.embedders import make_embedder
    from r4_ros.cli.frames import progress
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.evaluation.experience.modes import MODES
    from r4_ros.evaluation.experience.proof import prove
    from r4_ros.evaluation.sim.runs import cache_folder

    wanted = [name.strip() for name in modes.split(",") if name.strip()] or list(MODES)
    unknown = [name for name in wanted if name not in MODES]
    if unknown:
        raise InvalidArgument(f"--modes {unknown[0]}: any of {', '.join(MODES)}")
    done = 0
    with progress(seeds) as advance:

        def one_more() -> None:
            nonlocal done
            done += 1
            advance(done)

        streams, language = range(first, first + seeds), make_embedder(embedder)
        found = prove(streams, cache_folder(cache), language, wanted, day_tasks, duration, one_more)
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("mode", "second half", "95 %", "by quarter", "rounds", "queries", "bank", box=None)
    for name, f in found["modes"].items():
        low, high = f["ci95"]
        quarters = " ".join(f"{v:.3f}" for v in f["accuracy_by_quarter"])
        effort = [f"{f['rounds']:.2f}", f"{f['queries']:.2f}", f"{f['bank']:g}"]
        table.add_row(name, f"{f['accuracy_second_half']:.3f}", f"{low:.3f} to {high:.3f}", quarters, *effort)
    console.print(table)
    for d in found["differences"]:
        low, high = (100 * v for v in d["ci95"])
        console.print(f"{d['mode']} - {d['against']}: {100 * d['difference']:+.1f} points ({low:+.1f} to {high:+.1f})")
    console.print(f"{found['tasks']} tasks, {found['seeds']} seeds, {found['wall_s']} s")
