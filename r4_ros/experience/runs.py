"""A finished run as its trace tells it: in what situation it was, what it tried, and whose advice it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.lessons import Relax, Situation
from r4_ros.core.model import TraceStep


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was dropped in one query, one condition or two, and whether it found anything."""

    relax: tuple[Relax, ...]
    found: int


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a trace says about how evidence was sought; nothing of what was found."""

    situation: Situation | None  # None: no anomaly
    attempts: tuple[Attempt, ...]
    told: tuple[Relax, ...]  # what was dropped to find the evidence that was told; empty: none was
    stopped: bool  # the rounds ended before all was tried
    lessons: tuple[str, ...]  # ids of the lessons that were given

    @property
    def began_with(self) -> tuple[Relax, ...]:
        """What the run dropped first: by itself, as it is advised only after that. Empty: nothing."""
        return self.attempts[0].relax if self.attempts else ()

    @property
    def ended_with(self) -> tuple[Relax, ...]:
        """What the query dropped that decided how it ended: the one that was told, or the last in the rounds."""
        return self.told or (self.attempts[-1].relax if self.stopped and self.attempts else ())


def report(trace: Sequence[TraceStep]) -> RunReport:
    """Read a trace. Steps of other actions, and of newer versions, are passed over."""
    situation: Situation | None = None
    attempts: list[Attempt] = []
    lessons: list[str] = []
    told: tuple[Relax, ...] = ()
    stopped = False
    for step in trace:
        if step.action == "reflect":
            situation = _situation(step.detail) or situation
        elif step.action == "tried" and (dropped := _dropped(step.detail)):
            attempts.append(Attempt(dropped, step.found))
        elif step.action == "told":
            told = _dropped(step.detail)
        elif step.action == "stop":
            stopped = True
        elif step.action == "experience":
            lessons += step.detail.partition(": ")[0].split()
    return RunReport(situation, tuple(attempts), told, stopped, tuple(dict.fromkeys(lessons)))


def _dropped(text: str) -> tuple[Relax, ...]:
    """'attribute+place' as what was dropped; empty for anything else."""
    names = text.split("+")
    return tuple(Relax(n) for n in names) if all(n in Relax._value2member_map_ for n in names) else ()


def _situation(text: str) -> Situation | None:
    try:
        return Situation.parse(text)
    except InvalidArgument:
        return None
