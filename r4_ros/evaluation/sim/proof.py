"""All scenarios asked, all answers marked: the figures of ``r4 eval sim``."""

from __future__ import annotations

import itertools
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.config import MemoryConfig, ReasonerConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Question
from r4_ros.core.ports import Embedder, Memory
from r4_ros.evaluation.sim.ask import Wordings, questions
from r4_ros.evaluation.sim.captions import Captions
from r4_ros.evaluation.sim.cases import Case, Want
from r4_ros.evaluation.sim.figures import confidence_figures, gate_figures
from r4_ros.evaluation.sim.glances import glances
from r4_ros.evaluation.sim.keyed import KEYS, Keyed, Recent
from r4_ros.evaluation.sim.marks import Mark, mark
from r4_ros.evaluation.sim.runs import Made
from r4_ros.evaluation.sim.truth import Truth
from r4_ros.memory.library import open_library
from r4_ros.reasoner.answer import Reasoner, answer_to_dict
from r4_ros.reasoner.planner import Planner

RESAMPLES = 1000
RECENT_S = (30.0, 60.0, 120.0)
NO_GATE, GLANCES, NO_GATE_GLANCES = "gate:off", "glances:gate", "glances:gate off"
DEADLINE_S = 120.0
"""What is right is asked here, not how fast it is on a busy machine."""
Answered = dict[str, Any]


@dataclass(frozen=True)
class Marked:
    """A question, what came back, and its mark."""

    case: Case
    answer: Answered
    mark: Mark
    now_ns: int | None = None

    def as_row(self) -> dict[str, Any]:
        """JSON-ready: for another grader. ``now_ns``: what 'now' was (None: the memory's newest stamp)."""
        return {**self.case.as_row(), "now_ns": self.now_ns, "answer": self.answer, "mark": asdict(self.mark)}


@dataclass
class Tally:
    """All marks, by the variant of the memory that was asked: '' is the whole one."""

    marked: dict[str, list[Marked]]
    wall_s: float


def ask_all(
    runs: Iterable[Made],
    embedder: Embedder | None,
    keys: frozenset[str],
    variants: bool,
    times: float = 1.0,
    worded: Wordings | None = None,
    advance: Callable[[], None] = lambda: None,
    planner: Planner | None = None,
) -> Tally:
    """Ask each run its questions. ``keys``: the active ones; ``variants``: also the ablation and the baselines.

    ``planner``: who reads the questions, in all variants; by default the rules.
    """
    started = time.monotonic()
    marked: dict[str, list[Marked]] = defaultdict(list)
    for made in runs:
        truth = Truth(made.truth)
        cases = questions(truth, made.scenario.name, made.scenario.seed, times, worded)
        with open_library(made.db, MemoryConfig(), embedder, read_only=True) as library:
            marked[""] += _asked(library if keys == frozenset(KEYS) else Keyed(library, keys), cases, truth, planner)
            if variants:
                for name, memory in _variants(library, truth.now_ns, made.db, embedder):
                    marked[name] += _asked(memory, cases, truth, planner)
                marked[NO_GATE] += _asked(library, cases, truth, planner, gate=False)
                for then, seen in glances(truth, made.scenario.name, made.scenario.seed):
                    marked[GLANCES] += _asked(library, seen, then, planner)
                    marked[NO_GATE_GLANCES] += _asked(library, seen, then, planner, gate=False)
        advance()
    return Tally(dict(marked), time.monotonic() - started)


def _variants(memory: Memory, now_ns: int, db: Path, embedder: Embedder | None) -> Iterable[tuple[str, Memory]]:
    for length in range(len(KEYS) + 1):
        for some in itertools.combinations(KEYS, length):
            yield f"keys:{'+'.join(some) or 'none'}", Keyed(memory, frozenset(some))
    for seconds in RECENT_S:
        yield f"baseline:last {seconds:g} s", Recent(memory, now_ns, seconds)
    yield "baseline:captions", Captions(db, memory, embedder)


def ask_foreign(memory: Memory, cases: Sequence[Case], keys: frozenset[str], planner: Planner | None = None) -> Tally:
    """Ask somebody else's questions of a memory; 'now' is its newest stamp."""
    started = time.monotonic()
    marked = _asked(memory if keys == frozenset(KEYS) else Keyed(memory, keys), cases, None, planner)
    return Tally({"": marked}, time.monotonic() - started)


def _asked(
    memory: Memory, cases: Sequence[Case], truth: Truth | None, planner: Planner | None, gate: bool = True
) -> list[Marked]:
    reasoner = Reasoner(memory, ReasonerConfig(gate=gate), planner=planner)
    now_ns = truth.now_ns if truth is not None else None
    found = []
    for case in cases:
        question = Question(case.text, now_ns=now_ns, ego_agent=case.ego_agent, deadline_s=DEADLINE_S)
        answer = answer_to_dict(reasoner.answer(question))
        found.append(Marked(case, answer, mark(case, answer, truth), now_ns))
    return found


def read_tally(files: Iterable[Path]) -> Tally:
    """What ``as_row`` wrote in several runs, put together. Raises InvalidArgument."""
    marked: dict[str, list[Marked]] = defaultdict(list)
    for file in files:
        try:
            for line in file.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                marked[row["variant"]].append(_from_row(row))
        except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
            raise InvalidArgument(f"{file}: no answers as --out writes them: {error}") from error
    return Tally({"": [], **marked}, 0.0)


def _from_row(row: Mapping[str, Any]) -> Marked:
    want = {f.name: row["want"][f.name] for f in fields(Want)}
    case = {f.name: row[f.name] for f in fields(Case)} | {"want": Want(**want)}
    return Marked(Case(**case), row["answer"], Mark(**row["mark"]), row["now_ns"])


def figures(tally: Tally) -> dict[str, Any]:
    """The figures of a tally, JSON-ready."""
    whole = tally.marked[""]
    answerable = [m for m in whole if m.case.form != "unanswerable"]
    return {
        "questions": len(whole),
        "scenarios": len({m.case.scenario for m in whole}),
        **_shares(whole),
        "accuracy_ci95": interval(whole),
        "fabricated": sum(m.mark.fabricated for m in whole),
        "unanswerable": len(whole) - len(answerable),
        "unanswerable_answered": sum(m.answer["verdict"] == "ANSWERED" for m in whole if m.case.form == "unanswerable"),
        "per_form": _by(whole, lambda m: m.case.form),
        "per_operator": _by(whole, lambda m: m.case.operator),
        "per_relation": _by(whole, lambda m: m.case.relation or "none"),
        "keys": _named(tally.marked, "keys:"),
        "baselines": _named(tally.marked, "baseline:"),
        "gate": gate_figures(whole, tally.marked.get(NO_GATE, [])),
        "glances": gate_figures(tally.marked.get(GLANCES, []), tally.marked.get(NO_GATE_GLANCES, [])),
        "confidence": confidence_figures([(m.answer["confidence"], m.mark.right) for m in whole if _claims(m)]),
        "wall_s": round(tally.wall_s, 1),
    }


def _claims(m: Marked) -> bool:
    return bool(m.answer["verdict"] == "ANSWERED")


def interval(marked: Sequence[Marked]) -> list[float]:
    """95 % of the accuracies of resampled scenarios."""
    by_scenario: dict[str, list[bool]] = defaultdict(list)
    for m in marked:
        by_scenario[m.case.scenario].append(m.mark.right)
    right = np.array([sum(v) for v in by_scenario.values()], float)
    asked = np.array([len(v) for v in by_scenario.values()], float)
    if not len(asked):
        return [0.0, 0.0]
    drawn = np.random.default_rng(0).integers(len(asked), size=(RESAMPLES, len(asked)))
    shares = right[drawn].sum(axis=1) / asked[drawn].sum(axis=1)
    return [round(float(v), 4) for v in np.percentile(shares, [2.5, 97.5])]


def _shares(marked: Sequence[Marked]) -> dict[str, float]:
    count = max(1, len(marked))
    return {
        "accuracy": round(sum(m.mark.right for m in marked) / count, 4),
        "hedged": round(sum(m.mark.hedged for m in marked) / count, 4),
        "silent": round(sum(m.mark.silent for m in marked) / count, 4),
    }


def _by(marked: Sequence[Marked], key: Callable[[Marked], str]) -> dict[str, Any]:
    groups: dict[str, list[Marked]] = defaultdict(list)
    for m in marked:
        groups[key(m)].append(m)
    return {
        name: {
            "questions": len(group),
            **_shares(group),
            "ci95": interval(group),
            "fabricated": sum(m.mark.fabricated for m in group),
        }
        for name, group in sorted(groups.items())
    }


def _named(marked: Mapping[str, Sequence[Marked]], prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): {
            **_shares(found),
            "ci95": interval(found),
            "fabricated": sum(m.mark.fabricated for m in found),
        }
        for name, found in marked.items()
        if name.startswith(prefix)
    }
