"""From temporal keys to instants: what 'N ago', 'at', 'between' and 'before it was moved' mean in the robot's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from r4_ros.core.errors import UnsupportedQuestion
from r4_ros.core.model import FOREVER, NS_PER_S, Event, TemporalConstraint, TemporalKind
from r4_ros.reasoner.keys import ClockTime, EventKey, TemporalKey, TemporalOp
from r4_ros.reasoner.wording import has_clock

MINUTE_NS = 60 * NS_PER_S
IGNORED = (TemporalOp.NOW, TemporalOp.FIRST, TemporalOp.LAST, TemporalOp.CHANGE)
"""Operators that don't select a window here: the answer's form and order take them up."""


@dataclass(frozen=True)
class Window:
    """The time that a question is about: [start, end) and the instant at which places are meant."""

    start_ns: int = 0
    end_ns: int = FOREVER
    at_ns: int | None = None
    event: Event | None = None
    op: TemporalOp = TemporalOp.NONE
    instants: tuple[int, ...] = ()  # a span is looked at here and there: things may come and go in it

    @property
    def bounded(self) -> bool:
        """Whether a time was asked about at all."""
        return self.op is not TemporalOp.NONE

    def constraints(self) -> tuple[TemporalConstraint, ...]:
        """Things believed to be there at some time in the window (at the instant, where it is one)."""
        if not self.bounded:
            return ()
        if self.end_ns - self.start_ns <= 1:
            return (TemporalConstraint(TemporalKind.PRESENT_AT, self.start_ns, self.start_ns + 1),)
        return (TemporalConstraint(TemporalKind.PRESENT_IN, self.start_ns, self.end_ns),)

    def sightings(self) -> tuple[TemporalConstraint, ...]:
        """Things in view at some time in the window (give or take a second at an instant)."""
        if not self.bounded:
            return ()
        slack = NS_PER_S if self.end_ns - self.start_ns <= 1 else 0
        return (TemporalConstraint(TemporalKind.SEEN_IN, max(0, self.start_ns - slack), self.end_ns + slack),)


@dataclass(frozen=True)
class Times:
    """What is needed to resolve a key: now, the zone, and who knows of events."""

    now_ns: int
    zone: tzinfo
    events_of: Callable[[EventKey], Sequence[Event]]


def resolve(keys: Sequence[TemporalKey], times: Times) -> Window:
    """The window of all keys together. Raises UnsupportedQuestion for a time that isn't understood or known."""
    window = Window()
    for key in keys:
        if key.op in IGNORED:
            continue
        window = _meet(window, _one(key, times))
    return window


def _meet(a: Window, b: Window) -> Window:
    if not a.bounded:
        return b
    start, end = max(a.start_ns, b.start_ns), min(a.end_ns, b.end_ns)
    if start >= end:
        raise UnsupportedQuestion("the times asked about exclude each other")
    at = next((t for t in (a.at_ns, b.at_ns) if t is not None and start <= t < end), None)
    return Window(start, end, at, a.event or b.event, a.op, tuple(t for t in a.instants if start <= t < end))


def _one(key: TemporalKey, times: Times) -> Window:
    if key.op is TemporalOp.AGO and key.seconds is not None:
        at = max(0, times.now_ns - round(key.seconds * NS_PER_S))
        return Window(at, at + 1, at, op=key.op)
    if key.op is TemporalOp.SINCE and key.seconds is not None:
        return Window(max(0, times.now_ns - round(key.seconds * NS_PER_S)), FOREVER, op=key.op)
    if key.start is not None:
        return _clock_window(key, times)
    if key.event is not None:
        return _event_window(key, times)
    raise UnsupportedQuestion(_not_understood(key))


def _not_understood(key: TemporalKey) -> str:
    if key.op is TemporalOp.HABIT:
        return "habits can't be told from single sightings yet"
    if key.op is TemporalOp.NTH:
        return "which of several times is meant can't be told yet"
    said = f"{key.op.value} {key.arg}".strip()
    return f"it isn't known when '{said}' was"


def ranked(events: Sequence[Event], key: EventKey) -> Event:
    """The one of several events, oldest first, that is meant. Raises UnsupportedQuestion where there are too few."""
    if key.seen == "first":
        return events[0]
    if key.rank > len(events):
        raise UnsupportedQuestion(f"that happened {len(events)} times only, as far as I know")
    return events[key.rank - 1] if key.rank > 0 else events[key.rank or -1]


def _clock_window(key: TemporalKey, times: Times) -> Window:
    assert key.start is not None
    start = instant(key.start, times)
    if key.end is not None:
        end = instant(key.end, times)
        if end <= start:
            end += 86400 * NS_PER_S
        if end > times.now_ns and key.end.day == 0 and start > times.now_ns:
            start, end = start - 86400 * NS_PER_S, end - 86400 * NS_PER_S
        last = max(start, min(end - 1, times.now_ns))
        return Window(start, end, start, op=key.op, instants=(start, (start + last) // 2, last))
    if start > times.now_ns and key.start.day == 0:
        start -= 86400 * NS_PER_S
    if key.op is TemporalOp.BEFORE:
        return Window(0, start, start - 1, op=key.op)
    if key.op in (TemporalOp.AFTER, TemporalOp.SINCE):
        return Window(start, FOREVER, op=key.op)
    if key.start.second:
        return Window(start, start + 1, start, op=key.op)
    last = max(start, min(start + MINUTE_NS - 1, times.now_ns))
    return Window(start, start + MINUTE_NS, start, op=key.op, instants=(start, (start + last) // 2, last))


def instant(time: ClockTime, times: Times) -> int:
    """A time of day as ROS time. Raises UnsupportedQuestion where stamps aren't wall-clock time."""
    if not has_clock(times.now_ns):
        raise UnsupportedQuestion("the memory's stamps are no clock times; ask for example '10 seconds ago'")
    today = datetime.fromtimestamp(times.now_ns // NS_PER_S, times.zone)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=time.day)
    moment = midnight + timedelta(hours=time.hour, minutes=time.minute, seconds=time.second)
    return round(moment.timestamp()) * NS_PER_S


def _event_window(key: TemporalKey, times: Times) -> Window:
    assert key.event is not None
    events = sorted(times.events_of(key.event), key=lambda e: e.stamp_ns)
    if not events:
        raise UnsupportedQuestion(f"it isn't known that '{key.arg}' ever happened")
    event = ranked(events, key.event)
    if key.op in (TemporalOp.START, TemporalOp.END):
        at = event.earliest_ns if key.op is TemporalOp.START else event.latest_ns
        return Window(at, at + 1, at, event, key.op)
    if key.op is TemporalOp.WHILE and (key.event.own or key.event.text):
        start, end = event.earliest_ns, max(event.earliest_ns, min(event.latest_ns, times.now_ns))
        return Window(start, end + 1, start, event, key.op, instants=(start, (start + end) // 2, end))
    if key.op is TemporalOp.BEFORE:
        return Window(0, max(1, event.earliest_ns), max(0, event.earliest_ns - 1), event, key.op)
    if key.op in (TemporalOp.AFTER, TemporalOp.SINCE):
        return Window(event.latest_ns, FOREVER, event=event, op=key.op)
    return Window(event.earliest_ns, event.latest_ns + 1, event.stamp_ns, event, key.op)
