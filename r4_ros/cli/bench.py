"""``r4 bench``: how quick the memory is on this machine, next to plain numpy and other engines in the same run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]


def register(app: typer.Typer) -> None:
    """Add the command group to the command line."""
    group = typer.Typer(help="Measure the memory on this machine.", no_args_is_help=True)
    group.command("retrieval")(retrieval)
    group.command("ingest")(ingest)
    app.add_typer(group, name="bench")


def retrieval(
    entries: Annotated[int, typer.Option(help="how many things the memory holds", min=100)] = 100_000,
    repeats: Annotated[int, typer.Option(help="queries for each selectivity", min=3)] = 50,
    peers: Annotated[bool, typer.Option(help="also measure other engines where they are installed")] = True,
    library: Annotated[bool, typer.Option(help="also time whole retrievals on a file of as many entries")] = False,
    as_json: AsJson = False,
) -> None:
    """Top 10 by meaning within a box, a time and some agents, where the filters pass 100 % down to 0.01 %."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded
    from r4_ros.evaluation.bench_peers import installed_peers
    from r4_ros.evaluation.bench_retrieval import bench_retrieval

    found = bench_retrieval(entries, repeats, installed_peers() if peers else (), _say, library)
    if as_json:
        print(json.dumps(found))
    else:
        _print_retrieval(found)


def ingest(
    entries: Annotated[int, typer.Option(help="how many things the memory holds", min=100)] = 100_000,
    observations: Annotated[int, typer.Option(help="observations to take in", min=30)] = 30_000,
    db: Annotated[
        Path | None, typer.Option(help="the memory's file, filled if it is new; default: a temporary")
    ] = None,
    acks: Annotated[Path | None, typer.Option(help="append the id of each acknowledged observation here")] = None,
    as_json: AsJson = False,
) -> None:
    """Association alone, and frames of 1, 10 and 100 observations through match, update and durable commit."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded
    from r4_ros.evaluation.bench_ingest import bench_ingest

    found = bench_ingest(entries, observations, db, acks, _say)
    if as_json:
        print(json.dumps(found))
    else:
        _print_ingest(found)


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _print_retrieval(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("engine", "passing %", "p50 ms", "p99 ms", "recall", box=None)
    for r in found["results"]:
        table.add_row(
            r["engine"], f"{r['selectivity']:g}", f"{r['p50_ms']:.3f}", f"{r['p99_ms']:.3f}", f"{r['recall']:.3f}"
        )
    for r in found.get("library", {}).get("results", ()):
        table.add_row("retrieve", f"{r['selectivity']:g}", f"{r['p50_ms']:.3f}", f"{r['p99_ms']:.3f}", "")
    console = Console()
    console.print(table)
    console.print(f"{found['bytes_per_entry']:,} bytes an entry, index built in {found['rebuild_s']:.1f} s")


def _print_ingest(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("observations a frame", "observations/s", "p50 ms", "p99 ms", box=None)
    for r in found["frames"]:
        table.add_row(str(r["batch"]), f"{r['observations_per_s']:,}", f"{r['p50_ms']:.3f}", f"{r['p99_ms']:.3f}")
    console = Console()
    console.print(table)
    console.print(
        f"association: {found['association_per_s']:,}/s; {found['entries']:,} entries read in "
        f"{found['start_s']:.1f} s, {found['disk_bytes_per_entry']:,} bytes each on disk"
    )
