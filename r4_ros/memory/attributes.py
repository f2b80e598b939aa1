"""The history of an entry's attributes.

What lasts (colour, material, size ...) is voted for: one record a value, the one seen most often holds, since light and
viewpoint change what a camera calls it. What changes (open, on ...) is a history of runs of equal values: a run counts
as established once seen three times, and one or two slips of the detector in between leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from r4_ros.core.model import AttributeValue
from r4_ros.core.quick import quick
from r4_ros.core.template import DESCRIBED_BY

ESTABLISHED = 3
LASTING = frozenset({"color", "colour", "material", "size", "shape", "pattern", "type", "brand"})
LATEST = frozenset({DESCRIBED_BY})
"""Said of the newest description only: one record, replaced."""
_DIFFERENT, _SAME = 1 / 3, 0.5
_SPELLING = {"colour": "color", "grey": "gray"}


@quick
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
    if name.casefold() in LASTING:
        return _voted(history, name, value, stamp_ns), None
    if name.casefold() in LATEST:
        return (*others, AttributeValue(name, value, stamp_ns, stamp_ns, 1)), None
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


def _voted(history: Sequence[AttributeValue], name: str, value: str, stamp_ns: int) -> tuple[AttributeValue, ...]:
    if not any(a.name == name and a.value == value for a in history):
        return (*history, AttributeValue(name, value, stamp_ns, stamp_ns, 1))
    return tuple(_extended(a, stamp_ns) if a.name == name and a.value == value else a for a in history)


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
    """Name and value of each attribute as it is now, sorted by name; see ``current_values``."""
    best = current_values(history) if history else {}
    return tuple((name, best[name].value) for name in sorted(best))


def current_values(history: Sequence[AttributeValue]) -> dict[str, AttributeValue]:
    """What holds of each attribute, by its name.

    Of what lasts, the value seen most often; of what changes, the last established run, else the longest.
    """
    best: dict[str, AttributeValue] = {}
    for run in history:
        known = best.get(run.name)
        enough = 0 if known is None else known.count
        if run.name.casefold() not in LASTING:
            enough = min(enough, ESTABLISHED)
        if known is None or run.count >= enough:
            best[run.name] = run
    return best


def merged_histories(older: Sequence[AttributeValue], newer: Sequence[AttributeValue]) -> tuple[AttributeValue, ...]:
    """Both histories by time; equal values of one attribute become one."""
    runs = {(a.name, a.value): a for a in older}
    for a in newer:
        known = runs.get((a.name, a.value))
        if known is not None:
            seen = (min(known.first_seen, a.first_seen), max(known.last_seen, a.last_seen))
            a = AttributeValue(a.name, a.value, *seen, known.count + a.count)
        runs[a.name, a.value] = a
    return tuple(sorted(runs.values(), key=lambda a: a.last_seen))


def agree(a: Sequence[AttributeValue], b: Sequence[AttributeValue]) -> bool:
    """Whether two histories may be of one thing: a third at least of the votes on what lasts are the same.

    Of what doesn't differ for sure, ``surely_agree`` tells what is the same for sure.
    """
    return in_common(a, b)[0] >= _DIFFERENT


def surely_agree(a: Sequence[AttributeValue], b: Sequence[AttributeValue]) -> bool:
    """Whether what lasts speaks for one thing: half of the votes at least are the same, or all where there are few."""
    share, fewest = in_common(a, b)
    return share >= (_SAME if fewest >= ESTABLISHED else 1.0)


def in_common(a: Sequence[AttributeValue], b: Sequence[AttributeValue]) -> tuple[float, int]:
    """Share of votes for the same values, 0..1, of the lasting attribute where it is least, and the fewest votes.

    Of the attributes that both have; 1 where there are none. Of 7 yellow and 3 red, and 10 red: 0.3.
    """
    mine, theirs = _votes(a), _votes(b)
    share, fewest = 1.0, ESTABLISHED
    for name in mine.keys() & theirs.keys():
        x, y = mine[name], theirs[name]
        totals = sum(x.values()), sum(y.values())
        same = sum(min(x[value] / totals[0], y[value] / totals[1]) for value in x.keys() & y.keys())
        share, fewest = min(share, round(same, 9)), min(fewest, *totals)
    return share, fewest


def _votes(history: Sequence[AttributeValue]) -> dict[str, dict[str, int]]:
    votes: dict[str, dict[str, int]] = {}
    for a in history:
        name, value = a.name.casefold(), a.value.casefold()
        if name in LASTING:
            of = votes.setdefault(_SPELLING.get(name, name), {})
            value = _SPELLING.get(value, value)
            of[value] = of.get(value, 0) + a.count
    return votes
