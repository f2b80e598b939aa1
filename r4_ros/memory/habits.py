"""Habits: at which times of day, on which weekdays, something usually holds or happens. Pure functions.

A day is cut into quarters of an hour. A state (being at a place, being on) usually holds in a quarter where it was
known to hold on at least 3 days, and on most of the days on which anything was known of it then; nothing is taken from
times at which nobody looked. An event usually happens around a time, give or take half an hour, if it did on at least
3 days and on most of those on which the memory saw anything. Weekdays are told apart where that fits better.
``weight``: share of the days, times n / (n + 1) for the n days that it held.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

import numpy as np
import numpy.typing as npt

from r4_ros.core.model import NS_PER_S, Interval

CLOCK_EPOCH_NS = 315_576_000 * NS_PER_S
"""Stamps before 1980 aren't wall-clock time: no time of day can be told of them."""
QUARTERS, QUARTER_S = 96, 900
FEWEST_DAYS, USUAL = 3, 0.6
_AROUND = 2
_DAY_GROUPS: tuple[tuple[int, ...], ...] = ((), (0, 1, 2, 3, 4), (5, 6), *((d,) for d in range(7)))
_CLEARLY = 0.05

Bins = npt.NDArray[np.bool_]
Days = dict[date, Bins]


@dataclass(frozen=True, slots=True)
class Habit:
    """On these weekdays (empty: any), from ``day_from_s`` to ``day_to_s`` after midnight (less: past midnight)."""

    weekdays: tuple[int, ...]
    day_from_s: float
    day_to_s: float
    weight: float
    days: int
    of_days: int


def of_state(holds: Iterable[Interval], fails: Iterable[Interval], zone: tzinfo) -> list[Habit]:
    """When a state usually holds, by when it is known to have held and not to have held; none if it always did."""
    yes, no = by_day(holds, zone), by_day(fails, zone)
    if not no:
        return []
    for day, bins in no.items():
        bins &= ~yes.get(day, np.zeros(QUARTERS, bool))
    known = {day: yes.get(day, _NEVER) | no.get(day, _NEVER) for day in {*yes, *no}}
    return _best(yes, known)


def of_events(stamps_ns: Iterable[int], days_seen: Iterable[date], zone: tzinfo) -> list[Habit]:
    """When an event usually happens, of the days on which the memory saw anything."""
    yes: Days = {}
    times: dict[date, list[float]] = {}
    for stamp in stamps_ns:
        day, second = local(stamp, zone)
        times.setdefault(day, []).append(second)
        bins = yes.setdefault(day, np.zeros(QUARTERS, bool))
        at = int(second // QUARTER_S)
        bins[np.arange(at - _AROUND, at + _AROUND + 1) % QUARTERS] = True
    known = {day: np.ones(QUARTERS, bool) for day in {*days_seen, *yes}}
    return [_narrowed(habit, times) for habit in _best(yes, known)]


def by_day(spans: Iterable[Interval], zone: tzinfo) -> Days:
    """The quarters of each local day that the intervals touch."""
    days: Days = {}
    for span in spans:
        (first, start), (last, end) = local(span.start, zone), local(max(span.start, span.end - 1), zone)
        day = first
        while day <= last:
            bins = days.setdefault(day, np.zeros(QUARTERS, bool))
            begin = int(start // QUARTER_S) if day == first else 0
            stop = int(end // QUARTER_S) + 1 if day == last else QUARTERS
            bins[begin:stop] = True
            day += timedelta(days=1)
    return days


def local(stamp_ns: int, zone: tzinfo) -> tuple[date, float]:
    """The local day of a stamp, and the seconds since its midnight by the clock on the wall."""
    moment = datetime.fromtimestamp(stamp_ns // NS_PER_S, zone)
    second = moment.hour * 3600 + moment.minute * 60 + moment.second + stamp_ns % NS_PER_S / NS_PER_S
    return moment.date(), second


def _best(yes: Days, known: Days) -> list[Habit]:
    """The habits of the group of weekdays that fits best; a broader one unless another is clearly better."""
    best: list[Habit] = []
    weight = 0.0
    for group in _DAY_GROUPS:
        found = _windows(yes, known, group)
        heaviest = max((habit.weight for habit in found), default=0.0)
        if heaviest > weight + (_CLEARLY if best else 0.0):
            best, weight = found, heaviest
    return best


def _windows(yes: Days, known: Days, weekdays: Sequence[int]) -> list[Habit]:
    chosen = [day for day in sorted(known) if not weekdays or day.weekday() in weekdays]
    if not chosen:
        return []
    held = np.sum([yes.get(day, _NEVER) for day in chosen], axis=0)
    seen = np.sum([known[day] for day in chosen], axis=0)
    usual = (held >= FEWEST_DAYS) & (held >= USUAL * seen)
    return [_habit(run, held, seen, weekdays) for run in _runs(usual)]


def _habit(run: Sequence[int], held: npt.NDArray[np.int64], seen: npt.NDArray[np.int64], group: Sequence[int]) -> Habit:
    days, of_days = int(held[run].max()), int(seen[run].max())
    share = float((held[run] / seen[run]).mean())
    start, end = run[0] * QUARTER_S, (run[-1] + 1) * QUARTER_S
    return Habit(tuple(group), float(start), float(end), share * days / (days + 1), days, of_days)


def _runs(usual: Bins) -> list[list[int]]:
    """Quarters in a row, also across midnight."""
    runs: list[list[int]] = []
    for i in np.flatnonzero(usual).tolist():
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    if len(runs) > 1 and runs[0][0] == 0 and runs[-1][-1] == QUARTERS - 1:
        runs[0] = runs.pop() + runs[0]
    return runs


def _narrowed(habit: Habit, times: dict[date, list[float]]) -> Habit:
    """From the first to the last of the times of day at which it happened, on the days that count."""
    start, length = habit.day_from_s, (habit.day_to_s - habit.day_from_s) % 86400 or 86400.0
    days = (t for day, t in times.items() if not habit.weekdays or day.weekday() in habit.weekdays)
    after = sorted((t - start) % 86400 for day in days for t in day if (t - start) % 86400 <= length)
    begin, end = (start + after[0]) % 86400, (start + after[-1]) % 86400
    return Habit(habit.weekdays, begin, end, habit.weight, habit.days, habit.of_days)


_NEVER: Bins = np.zeros(QUARTERS, bool)
