"""The control without experience: the best fixed order of relaxations, tuned on the first half of a stream."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.core.config import ReasonerConfig
from r4_ros.core.lessons import Relax
from r4_ros.evaluation.experience.stream import Stream
from r4_ros.evaluation.experience.tasks import Task

RESTARTS = 12
NAMES = tuple(r.value for r in Relax)


@dataclass(frozen=True)
class Options:
    """What dropping each condition alone, and each two, leads to, (found, right); ``otherwise``: silence is right."""

    otherwise: bool
    alone: dict[str, tuple[bool, bool]]
    pairs: dict[frozenset[str], tuple[bool, bool]]

    def is_right(self, order: Sequence[str], rounds: int) -> bool:
        """How a task ends with an order: the first that finds anything counts."""
        singles = [n for n in order if n in self.alone]
        pairs = dict.fromkeys(frozenset((a, b)) for a in singles for b in order if a != b)
        outcomes = [self.alone[n] for n in singles] + [self.pairs[p] for p in pairs if p in self.pairs]
        return next((right for found, right in outcomes[: rounds - 1] if found), self.otherwise)


def tuned_order(stream: Stream, tasks: Sequence[Task], seed: int) -> list[str]:
    """The order, with or without each relaxation, that gets most of the tasks right: hill climbing from many starts."""
    rounds = ReasonerConfig().max_rounds
    known = [o for o in (_options(stream, task) for task in tasks) if o.alone]
    rng = np.random.default_rng([seed, 53])
    best: tuple[int, list[str]] = (-1, [])
    for start in range(RESTARTS):
        order = list(NAMES) if start == 0 else [str(n) for n in rng.permutation(NAMES)]
        found = _climbed(order, known, rounds)
        best = max(best, found, key=lambda f: f[0])
    return best[1]


def _climbed(order: list[str], known: Sequence[Options], rounds: int) -> tuple[int, list[str]]:
    score = _score(order, known, rounds)
    while True:
        moves = [_moved(order, name, to) for name in NAMES for to in range(len(NAMES))]
        moves += [[n for n in order if n != name] for name in order if len(order) > 1]
        gain, better = max(((_score(m, known, rounds), m) for m in moves), key=lambda f: f[0])
        if gain <= score:
            return score, order
        score, order = gain, better


def _moved(order: list[str], name: str, to: int) -> list[str]:
    rest = [n for n in order if n != name]
    return [*rest[:to], name, *rest[to:]]


def _score(order: Sequence[str], known: Sequence[Options], rounds: int) -> int:
    return sum(options.is_right(order, rounds) for options in known)


def _options(stream: Stream, task: Task) -> Options:
    otherwise = stream.outcome(task, (), rounds=1).right
    alone: dict[str, tuple[bool, bool]] = {}
    for name in NAMES:
        outcome = stream.outcome(task, (name,), rounds=2)
        if outcome.tried:
            alone[name] = bool(outcome.tried[0][1]), outcome.right
    empty = [name for name, (found, _) in alone.items() if not found]
    pairs: dict[frozenset[str], tuple[bool, bool]] = {}
    for a, b in itertools.product(empty, NAMES):
        outcome = stream.outcome(task, (a, b), rounds=4)
        dropped = [(frozenset(name.split("+")), found) for name, found in outcome.tried if "+" in name]
        pairs |= {pair: (bool(found), outcome.right) for pair, found in dropped}
    return Options(otherwise, alone, pairs)
