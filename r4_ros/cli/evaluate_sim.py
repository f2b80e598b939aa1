"""``r4 eval sim``: questions about the simulated apartment, answered from memory, held against its truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli import language

if TYPE_CHECKING:
    from r4_ros.core.ports import Embedder
    from r4_ros.evaluation.sim.proof import Tally
    from r4_ros.evaluation.sim.runs import Made
    from r4_ros.reasoner.planner import Planner


def sim(
    scenarios: Annotated[int, typer.Option(help="how many scenarios", min=1, max=100)] = 12,
    first: Annotated[int, typer.Option(help="number of the first one, to split long runs", min=0, max=1000)] = 0,
    answers: Annotated[
        list[Path] | None,
        typer.Option(help="ask nothing: put together what earlier runs wrote with --out", metavar="FILE"),
    ] = None,
    planner: language.PlannerName = "rules",
    lm_backend: language.Backend = "server",
    lm_model: language.Model = "",
    lm_url: language.Url = language.URL,
    lm_key_variable: language.KeyVariable = "",
    allow_remote: language.Remote = False,
    lm_timeout: language.Timeout = 60.0,
    lm_fallback: language.Fallback = "unsupported",
    keys: Annotated[str, typer.Option(help="active keys; an inactive one drops its constraints")] = "sem,spa,tem",
    variants: Annotated[bool, typer.Option("--variants", help="also each combination of keys, and baselines")] = False,
    times: Annotated[float, typer.Option(help="so many times the usual number of questions", min=0.1, max=20)] = 1.0,
    log: Annotated[
        Path | None, typer.Option(help="ask this memory (a database) instead, with --questions", metavar="FILE")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="questions and right answers for --log, as JSONL", metavar="FILE")
    ] = None,
    wordings: Annotated[
        Path | None, typer.Option(help="ask in these words (YAML, see docs/evaluation.md)", metavar="FILE")
    ] = None,
    degrade: Annotated[str, typer.Option(help="worse sensing: any of noise, labels, drift, closure")] = "",
    out: Annotated[Path | None, typer.Option(help="write every answer and mark here, as JSONL")] = None,
    render: Annotated[bool, typer.Option(help="--no-render: memories from the simulator's state and rays")] = True,
    cache: Annotated[Path | None, typer.Option(help="folder for pictures and memories; default: the user's")] = None,
    embedder: Annotated[str, typer.Option(help="minilm, multilingual, st:NAME or none")] = "minilm",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Ask hundreds of questions about simulated days in an apartment, and mark the answers against the truth."""
    from r4_ros.adapters.embedders import make_embedder
    from r4_ros.adapters.language_models import make_language
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.evaluation.sim.ask import read_wordings
    from r4_ros.evaluation.sim.degraded import KINDS
    from r4_ros.evaluation.sim.keyed import KEYS
    from r4_ros.evaluation.sim.proof import ask_all, figures, read_tally
    from r4_ros.reasoner.planner import make_planner

    active, worse = (frozenset(k.strip() for k in names.split(",") if k.strip()) for names in (keys, degrade))
    if answers:
        _show(figures(read_tally(answers)), as_json)
        return
    config = language.reasoner_config(
        planner, lm_backend, lm_model, lm_url, lm_key_variable, allow_remote, lm_timeout, lm_fallback
    )
    reader = make_planner(config, make_language(config))
    if not active <= frozenset(KEYS):
        raise InvalidArgument(f"--keys {keys}: any of {', '.join(KEYS)} are needed")
    if not worse <= frozenset(KINDS) or (worse and not render):
        raise InvalidArgument(f"--degrade {degrade}: any of {', '.join(KINDS)}, and not with --no-render")
    if (log is None) != (questions is None):
        raise InvalidArgument("--log and --questions go together: a memory, and what is asked of it")
    model = make_embedder(embedder)
    if log is not None and questions is not None:
        tally = _foreign(log, questions, model, active, reader)
    else:
        runs = _runs(first, scenarios, model, cache, render, worse)
        worded = None if wordings is None else read_wordings(wordings)
        tally = ask_all(runs, model, active, variants, times, worded, planner=reader)
    if out is not None:
        rows = [json.dumps({"variant": name, **m.as_row()}) for name, found in tally.marked.items() for m in found]
        _write(out, "".join(f"{row}\n" for row in rows))
    _show(figures(tally), as_json)


def _show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)


def _runs(
    first: int, count: int, embedder: Embedder | None, cache: Path | None, render: bool, worse: frozenset[str]
) -> list[Made]:
    from r4_ros.cli.frames import progress
    from r4_ros.evaluation.sim.runs import cache_folder, frame_count, make, make_unrendered
    from r4_ros.evaluation.sim.scenarios import scenarios

    wanted, folder = scenarios(first + count)[first:], cache_folder(cache)
    done, runs = 0, []
    with progress(sum(frame_count(s) for s in wanted)) as advance:
        for scenario in wanted:

            def tell(fed: int, before: int = done) -> None:
                advance(before + fed)

            made = (
                make(scenario, folder, embedder, tell, worse)
                if render
                else make_unrendered(scenario, folder, embedder, tell)
            )
            runs.append(made)
            done += frame_count(scenario)
            advance(done)
    return runs


def _foreign(log: Path, questions: Path, embedder: Embedder | None, keys: frozenset[str], planner: Planner) -> Tally:
    from r4_ros.core.config import MemoryConfig
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.evaluation.sim.cases import read_cases
    from r4_ros.evaluation.sim.proof import ask_foreign
    from r4_ros.memory.library import open_library

    if not log.exists():
        raise InvalidArgument(f"{log} isn't there")
    cases = read_cases(questions)
    with open_library(log, MemoryConfig(), embedder, read_only=True) as library:
        return ask_foreign(library, cases, keys, planner)


def _write(path: Path, text: str) -> None:
    from r4_ros.core.errors import InvalidArgument

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(f"{path} can't be written: {error}") from error


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for title, name in (("form", "per_form"), ("time", "per_operator"), ("keys", "keys"), ("baseline", "baselines")):
        if not found[name]:
            continue
        table = Table(title, "questions", "right", "95 %", "hedged", "silent", "fabricated", box=None)
        for group, f in found[name].items():
            low, high = f["ci95"]
            shares = [f"{f[s]:.3f}" for s in ("hedged", "silent")]
            asked = str(f.get("questions", found["questions"]))
            table.add_row(
                group, asked, f"{f['accuracy']:.3f}", f"{low:.3f} to {high:.3f}", *shares, str(f["fabricated"])
            )
        console.print(table)
    low, high = found["accuracy_ci95"]
    console.print(
        f"{found['questions']} questions of {found['scenarios']} scenarios: {found['accuracy']:.1%} right "
        f"({low:.1%} to {high:.1%}), {found['fabricated']} fabricated, {found['unanswerable_answered']} of "
        f"{found['unanswerable']} unanswerable ones answered; {found['wall_s']} s"
    )
