"""``r4 eval``: how right the answers are, measured against labels and truth."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from r4_ros.cli import language
from r4_ros.cli.evaluate_collaboration import collaboration
from r4_ros.cli.evaluate_confidence import confidence
from r4_ros.cli.evaluate_experience import experience
from r4_ros.cli.evaluate_sim import sim

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document")]


def register(app: typer.Typer) -> None:
    """Add the command group to the command line."""
    group = typer.Typer(help="Measure how right the answers are.", no_args_is_help=True)
    group.callback()(lambda: None)  # a group of one command is still a group
    group.command("decompose")(decompose)
    group.command("memory")(memory)
    group.command("sim")(sim)
    group.command("confidence")(confidence)
    group.command("collaboration")(collaboration)
    group.command("experience")(experience)
    app.add_typer(group, name="eval")


def decompose(
    file: Annotated[Path, typer.Argument(help="JSONL: dataset, id, question, context, and optionally labels")],
    planner: language.PlannerName = "rules",
    lm_backend: language.Backend = "server",
    lm_model: language.Model = "",
    lm_url: language.Url = language.URL,
    lm_key_variable: language.KeyVariable = "",
    allow_remote: language.Remote = False,
    lm_timeout: language.Timeout = 60.0,
    lm_fallback: language.Fallback = "unsupported",
    out: Annotated[Path | None, typer.Option(help="write the signature of each question here, as JSONL")] = None,
    as_json: AsJson = False,
) -> None:
    """Read questions, write what was understood of them, and score it against labels."""
    from r4_ros.adapters.language_models import make_language
    from r4_ros.evaluation import decompose as evaluation
    from r4_ros.reasoner.planner import make_planner

    config = language.reasoner_config(
        planner, lm_backend, lm_model, lm_url, lm_key_variable, allow_remote, lm_timeout, lm_fallback
    )
    made = make_planner(config, make_language(config))
    questions = _shown(evaluation.read_questions(file))
    predictions = evaluation.predict(questions, lambda text: made.plan(text, lm_timeout).plan)
    if out is not None:
        lines = [json.dumps(evaluation.row(p), ensure_ascii=False) for p in predictions]
        _write(out, "".join(f"{line}\n" for line in lines))
    found = evaluation.score(predictions)
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)


def memory(
    seed: Annotated[int, typer.Option(help="of the apartment", min=0)] = 0,
    duration: Annotated[float, typer.Option(help="simulated seconds", min=0.2, max=86400)] = 120.0,
    rate: Annotated[float, typer.Option(help="frames a second of each robot", min=0.1, max=60)] = 5.0,
    size: Annotated[str, typer.Option(help="image size, WIDTHxHEIGHT")] = "320x240",
    robots: Annotated[int, typer.Option(help="how many robots drive", min=1, max=4)] = 2,
    noise: Annotated[bool, typer.Option("--noise", help="depth with a depth camera's noise and holes")] = False,
    min_pixels: Annotated[int, typer.Option(help="a thing counts as seen from so many pixels in one frame on")] = 200,
    db: Annotated[
        Path | None, typer.Option(help="keep the memory in this new file; default: a temporary", metavar="FILE")
    ] = None,
    embedder: Annotated[str, typer.Option(help="minilm, multilingual, st:NAME or none")] = "minilm",
    as_json: AsJson = False,
) -> None:
    """Drive robots through the simulated apartment and hold what the memory makes of it against the truth."""
    from r4_ros.adapters.embedders import make_embedder
    from r4_ros.bridges.apartment.simulation import Simulation
    from r4_ros.cli.frames import progress
    from r4_ros.cli.sim import image_size
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.evaluation.simulated import evaluate

    if db is not None and db.exists():
        raise InvalidArgument(f"{db} is there already; name a new file")
    names = [f"robot{k + 1}" for k in range(robots)]
    simulation = Simulation(seed, duration, rate, image_size(size), names, noise)
    with progress(simulation.frame_count) as advance:
        found = evaluate(simulation, make_embedder(embedder), db, min_pixels, advance)
    if as_json:
        print(json.dumps(found))
    else:
        _print_memory(found)


def _print_memory(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("measure", "value", box=None)
    for name, value in found.items():
        if isinstance(value, (int, float)):
            table.add_row(name.replace("_", " "), f"{value:.4g}" if isinstance(value, float) else str(value))
        elif value:
            table.add_row(name.replace("_", " "), ", ".join(value))
    Console().print(table)


def _shown(questions: list[Any]) -> Iterable[Any]:
    from rich.console import Console
    from rich.progress import track

    return track(questions, "reading", console=Console(stderr=True), transient=True)


def _write(path: Path, text: str) -> None:
    from r4_ros.core.errors import InvalidArgument

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(f"{path} can't be written: {error}") from error


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("score", "value", "95 %", box=None)
    for name, (low, high) in found.get("ci95", {}).items():
        table.add_row(name, f"{found[name]:.3f}", f"{low:.3f} to {high:.3f}")
    console = Console()
    if found["labelled"]:
        console.print(table)
    console.print(
        f"{found['n']} questions, {found['labelled']} labelled, {found['failed']} without a plan, "
        f"{found['unsupported']} not answerable; p50 {found['ms_p50']} ms, p99 {found['ms_p99']} ms"
    )
