"""The history of an entry's attributes: runs of equal values; a run counts as established once seen three times.

A value seen once or twice between two equal ones is a slip of the detector and leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from r4_ros.core.model import AttributeValue

ESTABLISHED = 3


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """An attribute that got another established value; it changed in [earliest, latest]."""

    name: str
    old: str
    new: str
    earliest: int
    latest: int


def observe_attribute(
    history: Sequence[AttributeValue], name: str, value: str, stamp_ns: int
) -> tuple[tuple[AttributeValue, ...], AttributeChange | None]:
    """The history with one more observed value, and the change that this establishes, if any."""
    others = [a for a in history if a.name != name]
    runs = [a for a in history if a.name == name]
    new = AttributeValue(name, value, stamp_ns, stamp_ns, 1)
    if not runs:
        runs = [new]
    elif runs[-1].value == value:
        runs[-1] = _extended(runs[-1], stamp_ns)
    elif len(runs) > 1 and runs[-1].count < ESTABLISHED:
        runs.pop()
        if runs[-1].value == value:
            runs[-1] = _extended(runs[-1], stamp_ns)
        else:
            runs.append(new)
    else:
        runs.append(new)
    return (*others, *runs), _change(runs, stamp_ns)


def _change(runs: Sequence[AttributeValue], stamp_ns: int) -> AttributeChange | None:
    last = runs[-1]
    if last.count != ESTABLISHED or last.last_seen != stamp_ns:
        return None
    before = next((a for a in reversed(runs[:-1]) if a.count >= ESTABLISHED), None)
    if before is None or before.value == last.value:
        return None
    return AttributeChange(last.name, before.value, last.value, min(before.last_seen, last.first_seen), last.first_seen)


def _extended(run: AttributeValue, stamp_ns: int) -> AttributeValue:
    return replace(
        run,
        first_seen=min(run.first_seen, stamp_ns),
        last_seen=max(run.last_seen, stamp_ns),
        count=run.count + 1,
    )


def current_attributes(history: Sequence[AttributeValue]) -> tuple[tuple[str, str], ...]:
    """Name and value of each attribute as it is now, sorted by name: the last established run, else the longest."""
    best: dict[str, AttributeValue] = {}
    for run in history:
        known = best.get(run.name)
        if known is None or run.count >= min(known.count, ESTABLISHED):
            best[run.name] = run
    return tuple((name, best[name].value) for name in sorted(best))
