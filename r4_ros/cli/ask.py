"""``r4 ask``: a question to a memory in plain language, answered with evidence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli import language
from r4_ros.cli.database import DEFAULT, Db
from r4_ros.cli.embedding import AUTO, embedder_for
from r4_ros.cli.embedding import HELP as EMBEDDER_HELP
from r4_ros.core.errors import InvalidArgument, R4Error, Unavailable
from r4_ros.core.model import NS_PER_S, Answer, Question
from r4_ros.core.template import DESCRIBED_BY

if TYPE_CHECKING:
    from rich.console import Console

    from r4_ros.core.config import ReasonerConfig
    from r4_ros.memory.library import Library
    from r4_ros.nodes.asking import Asker

VERDICT_STYLES = {"ANSWERED": "green", "STALE": "yellow", "AMBIGUOUS": "yellow", "NOT_SEEN": "cyan"}
SHOWN = 10
STATES = {"PRESENT": "in view", "UNKNOWN": "seen before", "GONE": "found gone"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ask")(ask)


def ask(
    question: Annotated[str | None, typer.Argument(help="the question; without it: ask one after the other")] = None,
    db: Db = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON document on stdout")] = False,
    now: Annotated[str, typer.Option(help="what 'now' is: ns, '75.5s', ISO 8601 or '30s ago'; default: newest")] = "",
    ego: Annotated[str, typer.Option(help="the agent that 'me' is", metavar="AGENT")] = "",
    agents: Annotated[str, typer.Option(help="only what these saw, separated by commas")] = "",
    timezone: Annotated[str, typer.Option(help="of clock times, like Europe/Berlin; default: UTC")] = "",
    embedder: Annotated[str, typer.Option(help=EMBEDDER_HELP)] = AUTO,
    deadline: Annotated[float, typer.Option(help="seconds for an answer", min=0.1, max=600.0)] = 10.0,
    trace: Annotated[bool, typer.Option(help="show how the answer was found")] = False,
    planner: language.PlannerName = "rules",
    lm_backend: language.Backend = "server",
    lm_model: language.Model = "",
    lm_url: language.Url = language.URL,
    lm_key_variable: language.KeyVariable = "",
    allow_remote: language.Remote = False,
    lm_timeout: language.Timeout = 6.0,
    lm_fallback: language.Fallback = "rules",
    ros: Annotated[bool, typer.Option("--ros", help="ask the running reasoner node instead of a file")] = False,
    namespace: Annotated[str, typer.Option(help="of the running reasoner, with --ros")] = "",
    go: Annotated[bool, typer.Option("--go", help="with --ros: Nav2 drives the robot to the place answered")] = False,
) -> None:
    """Ask what was seen, where, when and by whom: "where is the mug", "what was moved", "what is on the table"."""
    asked = Question(
        question or "",
        ego_agent=ego,
        timezone=timezone,
        agents=tuple(name.strip() for name in agents.split(",") if name.strip()),
        deadline_s=deadline,
    )
    config = language.reasoner_config(
        planner, lm_backend, lm_model, lm_url, lm_key_variable, allow_remote, lm_timeout, lm_fallback
    )
    if ros:
        if planner != "rules":
            raise InvalidArgument("with --ros the running node's parameter `planner` says who reads questions")
        _session(asked, _over_ros(namespace, now, go), as_json, trace)
        return
    if go:
        raise InvalidArgument("--go drives a running robot: it needs --ros")
    with _open(db, embedder) as library:
        _session(asked, _from_file(library, now, config, embedder), as_json, trace)


def _open(db: str, embedder: str) -> Library:
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.database_name import exists
    from r4_ros.memory.library import open_library

    if not exists(db):
        raise InvalidArgument(f"{db} isn't there: make it with `r4 replay` or `r4 sim`, or name another with --db")
    return open_library(db, MemoryConfig(), embedder_for(db, embedder), read_only=True)


def _from_file(library: Library, now: str, config: ReasonerConfig, embedder: str) -> Callable[[Question], Answer]:
    from dataclasses import replace

    from r4_ros.adapters.embedders import make_embedder
    from r4_ros.adapters.language_models import make_language
    from r4_ros.cli.view import parse_time
    from r4_ros.reasoner.answer import Reasoner
    from r4_ros.reasoner.planner import make_planner

    likeness = make_embedder("none" if embedder == "none" else "minilm")
    reasoner = Reasoner(library, config, planner=make_planner(config, make_language(config)), embedder=likeness)
    now_ns = parse_time(now, library.newest_stamp()) if now else None
    return lambda question: reasoner.answer(replace(question, now_ns=now_ns))


def _over_ros(namespace: str, now: str, go: bool) -> Callable[[Question], Answer]:
    from dataclasses import replace

    try:
        from r4_ros.nodes.asking import Asker
    except ImportError as error:
        raise Unavailable("--ros needs ROS 2: run `make setup`, or source your ROS and build the package") from error
    from r4_ros.cli.view import parse_time

    if now.strip().endswith("ago"):
        raise InvalidArgument("--ros doesn't know the newest stamp: give --now as ns, seconds or ISO 8601")
    now_ns = parse_time(now, 0) if now else None

    def ask(question: Question) -> Answer:
        with Asker(namespace) as asker:
            answer = asker.ask(replace(question, now_ns=now_ns))
            if go:
                _drive(asker, question, answer)
            return answer

    return ask


def _drive(asker: Asker, question: Question, answer: Answer) -> None:
    """Send the robot there, and say whether the thing was found; the experience node is told, too."""
    from r4_ros.core.model import Feedback
    from r4_ros.nodes.asking import ARRIVED

    ended = asker.drive(answer, question.ego_agent)
    print(ended, file=sys.stderr)
    if ended == ARRIVED:
        said = {Feedback.RIGHT: "It is there.", Feedback.WRONG: "It isn't there."}
        print(said.get(asker.look(question, answer), "Whether it is there isn't seen."), file=sys.stderr)


def _session(asked: Question, answer: Callable[[Question], Answer], as_json: bool, trace: bool) -> None:
    """Answer the one question, or all that are typed until an empty line or the end of input."""
    from dataclasses import replace

    if asked.text or as_json:
        _show(answer(asked), as_json, trace)
        return
    while True:
        try:
            text = input("? ")
        except EOFError:
            return
        if not text.strip():
            return
        try:
            _show(answer(replace(asked, text=text)), as_json, trace)
        except R4Error as error:
            print(f"r4: {error}", file=sys.stderr)


def _show(answer: Answer, as_json: bool, trace: bool) -> None:
    if as_json:
        from r4_ros.reasoner.answer import answer_to_dict

        print(json.dumps(answer_to_dict(answer), ensure_ascii=False))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console()
    style = VERDICT_STYLES.get(answer.verdict.value, "red")
    console.print(Text(answer.text, style="bold"))
    console.print(Text(answer.verdict.value, style=style), Text(f"{answer.form}  confidence {answer.confidence:.2f}"))
    if answer.evidence:
        console.print(_table(answer))
    if trace:
        _show_trace(console, answer)


def _table(answer: Answer) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, pad_edge=False)
    maps = len({e.map_id for e in answer.evidence}) > 1
    titles = ("entry", "thing", "x", "y", "z", *(("map",) if maps else ()), "last seen", "by", "state", "n")
    for title in titles:
        table.add_column(title, justify="right" if title in ("x", "y", "z", "n") else "left")
    for e in answer.evidence[:SHOWN]:
        attributes = " ".join(value for name, value in e.attributes if name != DESCRIBED_BY)
        thing = f"{e.label} ({attributes})" if attributes else e.label
        place = [f"{v:.2f}" if e.place_known else "?" for v in e.box.pose.position]
        cells = [
            e.entry_id[:8],
            thing,
            *place,
            *((e.map_id,) if maps else ()),
            _stamp(e.last_seen),
            e.agent_id,
            STATES[e.state.name],
            str(e.count),
        ]
        table.add_row(*(Text(cell) for cell in cells))
    if len(answer.evidence) > SHOWN:
        table.caption = f"and {len(answer.evidence) - SHOWN} more"
    return table


def _stamp(stamp_ns: int) -> str:
    from datetime import timezone

    from r4_ros.reasoner.wording import clock

    return clock(stamp_ns, stamp_ns, timezone.utc) or f"{stamp_ns / NS_PER_S:.1f} s"


def _show_trace(console: Console, answer: Answer) -> None:
    from rich.text import Text

    for step in answer.trace:
        line = f"{step.round}  {step.action}: {step.detail}  ({step.found} found, {step.duration_s * 1e3:.0f} ms)"
        console.print(Text(line, style="dim"))
