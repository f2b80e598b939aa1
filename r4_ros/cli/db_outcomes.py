"""``r4 db outcomes``: say what became of many answers at once, also days later; or list those of which nobody said."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from r4_ros.cli import language

if TYPE_CHECKING:
    from r4_ros.core.model import Feedback, TaskRecord
    from r4_ros.core.ports import TaskStore
    from r4_ros.experience.outcome import LanguageJudge

FIELDS = {"task_id", "feedback", "expected", "correction", "source", "question", "answer"}


class Label(NamedTuple):
    """A line of a file of labels. ``feedback``: None where it is to be judged by what was ``expected``."""

    task_id: str
    feedback: Feedback | None
    expected: Any
    correction: str
    source: str


class _Clock:
    """The time of day, for when it was said."""

    def now_ns(self) -> int:
        return time.time_ns()


def register(group: typer.Typer) -> None:
    """Add the command to ``r4 db``."""
    group.command("outcomes")(outcomes)


def outcomes(
    file: Annotated[Path | None, typer.Argument(help="JSONL of task_id and feedback or expected; none: list")] = None,
    db: Annotated[
        str, typer.Option("--db", help="the experience node's SQLite file, or a fleet's database by URL")
    ] = "r4_experience.db",
    agent: Annotated[str, typer.Option(help="in a fleet's database: whose tasks")] = "",
    limit: Annotated[int, typer.Option(min=1, help="without a file: list so many tasks at most")] = 100,
    judge_model: Annotated[str, typer.Option(help="a language model judges what the rules can't; its name")] = "",
    lm_url: language.Url = language.URL,
    lm_key_variable: language.KeyVariable = "",
    allow_remote: language.Remote = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Say what became of answers: right, partly, wrong, or what was expected, by which they are judged.

    Without a file, prints a line for each task of which nobody has said anything, to be filled in.
    """
    from r4_ros.cli.db_lessons import open_tasks

    labels = [] if file is None else read_labels(file)
    judge = _judge(judge_model, lm_url, lm_key_variable, allow_remote) if judge_model else None
    with open_tasks(db, agent, read_only=file is None) as store:
        if file is None:
            waiting = [_asked(task) for task in store.tasks(limit) if not store.feedback(task.task_id)]
            print(json.dumps({"waiting": waiting}) if as_json else "\n".join(json.dumps(row) for row in waiting))
            return
        counted = _told(store, labels, judge)
    told = {name: counted[name] for name in ("right", "partly", "wrong", "said before", "undecided", "unknown")}
    print(json.dumps(told) if as_json else ", ".join(f"{number} {name}" for name, number in told.items() if number))


def read_labels(path: Path) -> list[Label]:
    """The labels of a file, one JSON object a line. Raises InvalidArgument that names the first line that is none."""
    from r4_ros.core.errors import InvalidArgument

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path} can't be read: {error}") from None
    found: list[Label] = []
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                found.append(_label(json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise InvalidArgument(f"{path}, line {number}: {error}") from None
    return found


def _label(row: Any) -> Label:
    """Raises ValueError, with what is wrong."""
    from r4_ros.experience.outcome import NAMES

    if not isinstance(row, dict) or not isinstance(row.get("task_id"), str):
        raise ValueError('not an object with a "task_id"')
    strange = sorted(set(row) - FIELDS)
    texts = [row.get(name, "") for name in ("correction", "source")]
    if strange or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"'{strange[0]}' isn't known" if strange else "correction and source are texts")
    said = row.get("feedback")
    if ("feedback" in row) is ("expected" in row) or ("feedback" in row and said not in list(NAMES)):
        raise ValueError(f'it needs "feedback", one of {", ".join(NAMES)}, or "expected", and not both')
    correction, source = texts
    judged = "expected" in row and not source
    feedback = NAMES[str(said)] if "feedback" in row else None
    return Label(row["task_id"], feedback, row.get("expected"), correction, "judge" if judged else source)


def _told(store: TaskStore, labels: list[Label], judge: LanguageJudge | None) -> Counter[str]:
    """Record what was said; what was said before isn't said again, so a file may come twice."""
    from r4_ros.experience.outcome import of_label
    from r4_ros.experience.recorder import Recorder

    recorder, counted = Recorder(store, _Clock()), Counter[str]()
    for label in labels:
        task = store.task(label.task_id)
        if task is None:
            counted["unknown"] += 1
            continue
        feedback = label.feedback
        if feedback is None:
            feedback = of_label(task, label.expected) if judge is None else judge.judged(task, label.expected)
        before = [(f.feedback, f.source) for f in store.feedback(label.task_id)[-1:]]
        if feedback is None or (feedback, label.source) in before:
            counted["undecided" if feedback is None else "said before"] += 1
            continue
        recorder.record_feedback(label.task_id, feedback, label.correction, label.source)
        counted[feedback.name.casefold()] += 1
    return counted


def _judge(model: str, url: str, key_variable: str, allow_remote: bool) -> LanguageJudge:
    from r4_ros.adapters.language_models import make_reflecting
    from r4_ros.core.config import ExperienceConfig, build
    from r4_ros.experience.outcome import LanguageJudge

    given = {"reflection": "lm", "lm_model": model, "lm_url": url, "lm_key_variable": key_variable}
    config = build(ExperienceConfig, {**given, "allow_remote": allow_remote})
    made = make_reflecting(config)
    assert made is not None
    return LanguageJudge(made, config.lm_timeout_s)


def _asked(task: TaskRecord) -> dict[str, str]:
    """A task as a line to be filled in."""
    return {"task_id": task.task_id, "question": task.question.text, "answer": task.text}
