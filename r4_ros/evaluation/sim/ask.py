"""Questions about a run: kinds, wordings and right answers put together, by a seed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from string import Formatter

import numpy as np
import yaml

from r4_ros.core.errors import InvalidArgument
from r4_ros.evaluation.sim.candidates import Asked
from r4_ros.evaluation.sim.cases import Case
from r4_ros.evaluation.sim.kinds import SOURCES
from r4_ros.evaluation.sim.truth import Truth

PLURAL = ("keys", "shoes")


Wordings = Mapping[str, Sequence[str]]


@cache
def wordings() -> dict[str, list[str]]:
    """The wordings of each kind of question."""
    text = resources.files("r4_ros.evaluation.sim").joinpath("wordings.yaml").read_text(encoding="utf-8")
    found: dict[str, list[str]] = yaml.safe_load(text)
    return found


def read_wordings(path: Path) -> Wordings:
    """Somebody else's wordings, as in docs/evaluation.md: YAML, kind -> texts with the gaps that the kind has.

    Kinds that it leaves out aren't asked. Raises InvalidArgument.
    """
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidArgument(f"{path} can't be read: {error}") from error
    if not isinstance(read, dict) or not read:
        raise InvalidArgument(f"{path}: a mapping of kinds of questions to lists of wordings is needed")
    for kind, texts in read.items():
        if kind not in wordings():
            raise InvalidArgument(f"{path}: '{kind}' is none of the kinds: {', '.join(wordings())}")
        if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
            raise InvalidArgument(f"{path}: {kind} needs a list of texts")
        known = set().union(*(_gaps(t, path) for t in wordings()[kind]))
        for text in texts:
            if not _gaps(text, path) <= known:
                raise InvalidArgument(f"{path}: {kind}: '{text}' has gaps other than {', '.join(sorted(known))}")
    return {str(kind): [str(t) for t in texts] for kind, texts in read.items()}


def _gaps(text: str, path: Path) -> set[str]:
    try:
        return {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise InvalidArgument(f"{path}: '{text}': {error}") from error


def questions(truth: Truth, scenario: str, seed: int, times: float = 1.0, worded: Wordings | None = None) -> list[Case]:
    """The questions of one scenario. ``times``: so many times the usual number of each kind; ``worded``: otherwise."""
    cases: list[Case] = []
    used = wordings() if worded is None else worded
    for kind, (form, operator, source, quota) in SOURCES.items():
        if kind not in used:
            continue
        rng = np.random.default_rng([seed, sum(kind.encode())])
        ego = truth.robots[int(rng.integers(len(truth.robots)))]
        possible = _balanced(list(source(truth, ego)), rng)
        texts = [str(t) for t in rng.permutation(list(used[kind]))]
        for n, asked in enumerate(possible[: round(quota * times)]):
            text = fill(texts[n % len(texts)], asked.slots)
            names = tuple(t.name for t in asked.things)
            number = f"{scenario}-{kind}-{n}"
            cases.append(Case(number, scenario, text, kind, form, asked.relation, operator, asked.want, ego, names))
    return cases


def fill(wording: str, slots: dict[str, str]) -> str:
    """A wording with its gaps filled, in grammatical English."""
    text = wording.format(**slots)
    for word in PLURAL:
        noun = rf"((?:\w+ )?{word})\b"
        text = re.sub(rf"\bis the {noun}", r"are the \1", text)
        text = re.sub(rf"\b([Ww]here|[Ww]hat)'s the {noun}", r"\1 are the \2", text)
        text = re.sub(rf"\b(I|i)s the {noun}", r"Are the \2", text)
        text = re.sub(rf"\b(W|w)as the {noun}", r"\1ere the \2", text)
        text = re.sub(rf"\b(H|h)as the {noun}", r"\1ave the \2", text)
        text = re.sub(rf"\b(D|d)oes the {noun}", r"\1o the \2", text)
        text = re.sub(rf"\bthe {noun} (is|was)\b", lambda m: f"the {m[1]} {'are' if m[2] == 'is' else 'were'}", text)
        text = re.sub(rf"\ba ((?:\w+ )?{word})\b", r"any \1", text)
    return re.sub(r"\ba ([aeio])", r"an \1", text)


def _balanced(possible: list[Asked], rng: np.random.Generator) -> list[Asked]:
    """In random order, yes and no in turns, and what happened to things before what never changed."""
    mixed = [possible[int(k)] for k in rng.permutation(len(possible))]
    mixed.sort(key=lambda a: not any(len(t.stays) > 1 for t in a.things))
    yes, no = ([a for a in mixed if a.want.value is v] for v in (True, False))
    if not yes or not no:
        return _shared(mixed)
    turns = [a for pair in zip(yes, no, strict=False) for a in pair]
    return turns + [a for a in mixed if not any(a is b for b in turns)]


def _shared(asked: list[Asked]) -> list[Asked]:
    """Half of what changed and half of what didn't, in turns."""
    moved = [a for a in asked if any(len(t.stays) > 1 for t in a.things)]
    still = [a for a in asked if not any(len(t.stays) > 1 for t in a.things)]
    turns = [a for pair in zip(moved, still, strict=False) for a in pair]
    return turns + moved[len(still) :] + still[len(moved) :]
