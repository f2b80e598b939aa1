"""A finished run as its trace tells it: in what situation it was, what it tried, and whose advice it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.lessons import Relax, Situation
from r4_ros.core.model import TraceStep


@dataclass(frozen=True, slots=True)
class Attempt:
    """One relaxation that was tried, and whether it found anything."""

    relax: Relax
    found: int


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a trace says about how evidence was sought; nothing of what was found."""

    situation: Situation | None  # None: no anomaly
    attempts: tuple[Attempt, ...]
    lessons: tuple[str, ...]  # ids of the lessons that were given


def report(trace: Sequence[TraceStep]) -> RunReport:
    """Read a trace. Steps of other actions, and of newer versions, are passed over."""
    situation: Situation | None = None
    attempts: list[Attempt] = []
    lessons: list[str] = []
    for step in trace:
        if step.action == "reflect":
            situation = _situation(step.detail) or situation
        elif step.action == "tried" and step.detail in Relax._value2member_map_:
            attempts.append(Attempt(Relax(step.detail), step.found))
        elif step.action == "experience":
            lessons += step.detail.partition(": ")[0].split()
    return RunReport(situation, tuple(attempts), tuple(dict.fromkeys(lessons)))


def _situation(text: str) -> Situation | None:
    try:
        return Situation.parse(text)
    except InvalidArgument:
        return None
