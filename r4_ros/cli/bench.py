"""``r4 bench``: how quick memory and perception are on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]


def register(app: typer.Typer) -> None:
    """Add the command group to the command line."""
    group = typer.Typer(help="Measure memory and perception on this machine.", no_args_is_help=True)
    group.command("retrieval")(retrieval)
    group.command("ingest")(ingest)
    group.command("history")(history)
    group.command("perception")(perception)
    group.command("correction")(correction)
    group.command("reasoner")(reasoner)
    group.command("fleet")(fleet)
    group.command("sync")(sync)
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


def perception(
    recording: Annotated[
        Path | None, typer.Option(help="rosbag2 recording to measure besides the simulated apartment")
    ] = None,
    detector: Annotated[Path | None, typer.Option(help="ONNX detector to measure on the recording")] = None,
    frames: Annotated[int, typer.Option(help="frames of each source", min=5)] = 80,
    masks: Annotated[int, typer.Option(help="masks in each of the recording's frames", min=1, max=500)] = 30,
    as_json: AsJson = False,
) -> None:
    """Each stage from messages to a published frame record, on one core, at 640 x 480."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded
    import cv2

    from r4_ros.evaluation.bench_perception import bench_perception

    cv2.setNumThreads(1)
    found = bench_perception(recording, _detector(detector), frames, masks, _serializer(), _say)
    if as_json:
        print(json.dumps(found))
    else:
        _print_perception(found)


def _detector(model: Path | None) -> Any:
    from r4_ros.adapters.segmenters import model_segmenter
    from r4_ros.core.config import PerceptionConfig

    if model is None:
        return None
    return lambda: model_segmenter(PerceptionConfig(detector_model=str(model)))


def _serializer() -> Any:
    """Frame records as bytes on the wire; None where there is no ROS."""
    try:
        from r4_ros.bridges.frame_bytes import frame_bytes
    except ImportError:
        return None
    return frame_bytes


def correction(
    entries: Annotated[int, typer.Option(help="how many things the memory holds", min=400)] = 100_000,
    anchors: Annotated[int, typer.Option(help="on how many anchors, all of which move", min=10)] = 10_000,
    rounds: Annotated[int, typer.Option(help="how often the way is corrected and laid aside again", min=1)] = 5,
    as_json: AsJson = False,
) -> None:
    """A loop closure under many things while others ask: how long it takes, and whether any answer was wrong."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded
    from r4_ros.evaluation.bench_correction import bench_correction

    found = bench_correction(entries, anchors, rounds, _say)
    if as_json:
        print(json.dumps(found))
    else:
        _print_correction(found)


def history(
    days: Annotated[int, typer.Option(help="simulated days", min=1)] = 30,
    minutes: Annotated[
        int, typer.Option(help="minutes driven of each day; the budget is for as much less", min=1, max=5)
    ] = 1,
    mb: Annotated[int, typer.Option(help="history_mb for whole days", min=1)] = 4000,
    whole: Annotated[
        bool, typer.Option("--whole-days", help="drive all of each day, with a 25th of the observations, within --mb")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Whether a robot's database stays within history_mb, day after day at 50 observations a second."""
    from r4_ros.evaluation.bench_history import bench_history

    found = bench_history(days, minutes, mb, whole, _say)
    if as_json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name.replace('_', ' ')}: {value}")


def reasoner(
    entries: Annotated[int, typer.Option(help="how many things the memory holds", min=100)] = 100_000,
    questions: Annotated[int, typer.Option(help="how many questions are asked", min=10)] = 400,
    as_json: AsJson = False,
) -> None:
    """Questions by rules against a large memory: the reasoner's own time for each, and the memory's beside it."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded
    from r4_ros.evaluation.bench_reasoner import bench_reasoner

    found = bench_reasoner(entries, questions, _say)
    if as_json:
        print(json.dumps(found))
    else:
        _print_reasoner(found)


def _print_reasoner(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("part", "p50 ms", "p99 ms", box=None)
    for part in ("overhead", "plan", "memory", "total", "wall"):
        table.add_row(part, f"{found[f'{part}_ms_p50']:.2f}", f"{found[f'{part}_ms_p99']:.2f}")
    console = Console()
    console.print(table)
    console.print(
        f"{found['questions']} questions, {found['entries']:,} entries, {found['retrievals']:.1f} retrievals each"
    )


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


def _print_perception(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for run in found["runs"]:
        width, height = run["size"]
        console.print(
            f"{run['source']}, {run['segmenter']}: {run['frames']} frames of {width} x {height}, "
            f"{run['masks']['median']:g} masks (at most {run['masks']['most']}), "
            f"memory {run['memory_mb']['before']:g} to {run['memory_mb']['after']:g} MB"
        )
        table = Table("stage", "min ms", "p50 ms", "p99 ms", box=None)
        for name, times in run["stages_ms"].items():
            table.add_row(name, *(f"{times[key]:.2f}" for key in ("min", "p50", "p99")))
        console.print(table)


def _print_correction(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("part", "median s", "longest s", box=None)
    for name, figures in {"in memory": found["in_memory"], **found["parts"]}.items():
        table.add_row(name.replace("_", " "), f"{figures['median_s']:.3f}", f"{figures['longest_s']:.3f}")
    console, queries = Console(), found["queries"]
    console.print(table)
    console.print(
        f"{found['times_numpy']:g} times as long as plain numpy takes to place all; {found['merged']} merged; "
        f"{found['written_bytes_per_anchor']:,} bytes written an anchor"
    )
    console.print(
        f"{queries['answered']:,} queries meanwhile, {queries['wrong']} wrong: {queries['p50_ms']:.1f} ms, "
        f"at most {queries['longest_ms']:.0f} ms ({queries['alone_p50_ms']:.1f} ms alone)"
    )


def fleet(
    robots: Annotated[int, typer.Option(help="simulated robots", min=1)] = 50,
    rate: Annotated[float, typer.Option(help="observations of each robot a second", min=0.1)] = 50.0,
    seconds: Annotated[float, typer.Option(help="how long they drive", min=1.0)] = 60.0,
    frame: Annotated[int, typer.Option(help="observations in a frame", min=1, max=100)] = 10,
    processes: Annotated[int, typer.Option(help="processes that the robots share", min=1, max=8)] = 8,
    offline: Annotated[
        float, typer.Option(help="share of the robots that are offline for half of the time", min=0.0, max=1.0)
    ] = 0.0,
    kill_server: Annotated[int, typer.Option(help="kill -9 the map server so often", min=0)] = 0,
    restart_database: Annotated[int, typer.Option(help="restart PostgreSQL so often", min=0)] = 0,
    drain: Annotated[float, typer.Option(help="seconds to wait for acknowledgements after the drive", min=0.0)] = 60.0,
    db: Annotated[str, typer.Option(help="URL of an empty database; default: a server of its own")] = "",
    as_json: AsJson = False,
) -> None:
    """Many robots stream to one map server over ROS 2: is all that was acknowledged stored, once, and how late?

    Exit status 1 where anything is missing, stored twice, or wasn't acknowledged in the end.
    """
    from r4_ros.evaluation.bench_fleet import Fleet, bench_fleet

    simulated = Fleet(robots, rate, seconds, frame, offline, kill_server, restart_database, drain)
    found = bench_fleet(simulated, processes, db, _say)
    if as_json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:>32}  {value}")
    if found["missing"] or found["duplicated"] or found["unacknowledged"] or found["given_up"] or found["problems"]:
        raise typer.Exit(1)


def sync(
    observations: Annotated[
        int, typer.Option(help="observations of the day that the robot was away", min=100)
    ] = 20_000,
    things: Annotated[int, typer.Option(help="things that it drives among", min=100)] = 4_000,
    live: Annotated[int, typer.Option(help="frames that are timed with and without syncing", min=100)] = 1_000,
    robots: Annotated[
        int, typer.Option(help="so many robots then hear of it all, and report while one of them floods", max=100)
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """A robot that was away for a day catches up with a map server: how quickly, how large, and at what cost?

    Exit status 1 where the server lacks an observation, or has one twice.
    """
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded
    from r4_ros.evaluation.bench_sync import bench_sync

    found = bench_sync(observations, things, live, robots, _say)
    if as_json:
        print(json.dumps(found))
    else:
        crowd = found.get("crowd", {})
        parts = {part: found[part] for part in ("up", "down", "live")}
        parts |= {f"{robots} {part}": crowd[part] for part in ("down", "up") if crowd}
        for part, figures in parts.items():
            for name, value in figures.items():
                print(f"{part:>8} {name:>32}  {value}")
    lost = [found, found["crowd"]["up"]] if robots else [found]
    if any(part["missing"] or part["duplicated"] for part in lost):
        raise typer.Exit(1)
