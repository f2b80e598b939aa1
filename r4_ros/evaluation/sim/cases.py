"""A question with its right answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Vec3

KINDS = ("bool", "int", "place", "labels", "words", "number", "time", "none")

SILENT = ("NOT_SEEN", "NEVER_VISITED", "UNSUPPORTED", "AMBIGUOUS", "STALE")
"""Verdicts that claim nothing."""


@dataclass(frozen=True)
class Want:
    """What counts as right.

    kind: bool, int, place, labels, words (any of them in the value), number, time, or none (no claim may be made).
    value: by kind; ``tolerance``: metres of places and distances, seconds of times; ``box``: a place lies in it.
    verdicts: right without a value ('none', and what can't be told apart); others: labels that may be named, too.
    """

    kind: str
    value: Any = None
    tolerance: float = 0.0
    centre: Vec3 | None = None
    extent: Vec3 | None = None
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One question of one scenario, and what it is about."""

    id: str
    scenario: str
    text: str
    kind: str
    form: str
    relation: str
    operator: str
    want: Want
    ego_agent: str = ""
    things: tuple[str, ...] = ()

    def as_row(self) -> dict[str, Any]:
        """JSON-ready, as in docs/evaluation.md."""
        return asdict(self)


def read_cases(path: Path) -> list[Case]:
    """Questions of a JSONL file, a ``Case`` a line: ``text`` and ``want`` are needed. Raises InvalidArgument."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{path} can't be read: {error}") from error
    return [_case(line, f"{path}, line {n}", n) for n, line in enumerate(lines, 1) if line.strip()]


def _case(line: str, where: str, number: int) -> Case:
    try:
        row = json.loads(line)
        want = _want(row["want"])
        scenario, kind, form, relation, ego = (
            str(row.get(name, "")) for name in ("scenario", "kind", "form", "relation", "ego_agent")
        )
        operator, name = str(row.get("operator", "none")), str(row.get("id", number))
        return Case(name, scenario, str(row["text"]), kind, form, relation, operator, want, ego)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"{where}: no question with 'text' and 'want': {error}") from error


def _want(row: Mapping[str, Any]) -> Want:
    if row["kind"] not in KINDS:
        raise ValueError(f"want.kind '{row['kind']}' must be one of {', '.join(KINDS)}")
    value = row.get("value")
    centre, extent = (tuple(row[name]) if row.get(name) else None for name in ("centre", "extent"))
    if row["kind"] == "place" and (centre is None or len(centre) != 3):
        raise ValueError("a place needs 'centre' [x, y, z]")
    return Want(
        row["kind"],
        tuple(value) if isinstance(value, list) else value,
        float(row.get("tolerance", 0.0)),
        centre,
        extent or (None if centre is None else (0.0, 0.0, 0.0)),
        tuple(row.get("verdicts", ())),
    )
