"""Half-open intervals [start, end) in int64 nanoseconds; ``FOREVER`` ends what is still open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import FOREVER, NS_PER_S, Interval
from r4_ros.core.series import LONG, Series


def at(stamp_ns: int) -> Interval:
    """The interval of a single sighting: 1 ns long, so that it isn't empty."""
    return Interval(stamp_ns, stamp_ns + 1)


def checked(start: int, end: int) -> Interval:
    """An interval that isn't empty. Raises InvalidArgument where end <= start."""
    if end <= start:
        raise InvalidArgument(f"an interval must end after it starts: [{start}, {end})")
    return Interval(start, end)


def contains(interval: Interval, stamp_ns: int) -> bool:
    """Whether the stamp lies in it; its end doesn't."""
    return interval.start <= stamp_ns < interval.end


def overlaps(a: Interval, b: Interval) -> bool:
    """Whether they share a nanosecond; intervals that touch don't."""
    return a.start < b.end and b.start < a.end


def intersection(a: Interval, b: Interval) -> Interval | None:
    """What they share; None where that is nothing."""
    start, end = max(a.start, b.start), min(a.end, b.end)
    return Interval(start, end) if start < end else None


def gap(a: Interval, b: Interval) -> int:
    """Nanoseconds between two intervals; 0 where they touch or overlap."""
    return max(0, max(a.start, b.start) - min(a.end, b.end))


def merge(intervals: Iterable[Interval], max_gap_ns: int = 0) -> tuple[Interval, ...]:
    """Sorted, disjoint intervals that cover the same; those at most ``max_gap_ns`` apart become one."""
    merged: list[Interval] = []
    for interval in sorted(intervals, key=lambda i: (i.start, i.end)):
        if merged and interval.start - merged[-1].end <= max_gap_ns:
            last = merged[-1]
            merged[-1] = Interval(last.start, max(last.end, interval.end))
        else:
            merged.append(interval)
    return tuple(merged)


def add(intervals: Sequence[Interval], stamp_ns: int, max_gap_ns: int) -> Sequence[Interval]:
    """Add one sighting to sorted disjoint intervals; also a late one (out of order)."""
    if len(intervals) >= LONG:
        intervals = Series.of(intervals)
    if not intervals or stamp_ns - intervals[-1].end > max_gap_ns:
        return intervals.with_more(at(stamp_ns)) if isinstance(intervals, Series) else (*intervals, at(stamp_ns))
    last = intervals[-1]
    if stamp_ns >= last.start:
        longer = Interval(last.start, max(last.end, stamp_ns + 1))
        return intervals.with_last(longer) if isinstance(intervals, Series) else (*intervals[:-1], longer)
    return merge((*intervals, at(stamp_ns)), max_gap_ns)


def total_ns(intervals: Iterable[Interval], until: int = FOREVER) -> int:
    """Length of disjoint intervals, each cut at ``until``."""
    return sum(max(0, min(i.end, until) - i.start) for i in intervals)


def seconds(duration_ns: int) -> float:
    """A duration in seconds."""
    return duration_ns / NS_PER_S


def nanoseconds(duration_s: float) -> int:
    """A duration in nanoseconds, rounded; not for stamps, which a float can't hold."""
    return round(duration_s * NS_PER_S)
