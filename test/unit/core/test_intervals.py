"""Half-open intervals: what touches, what overlaps, and that sightings may come in any order."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core import intervals as iv
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import FOREVER, Interval

few = settings(max_examples=100, deadline=None, derandomize=True)
stamps = st.integers(-50, 200)
spans = st.builds(lambda start, length: Interval(start, start + length), stamps, st.integers(1, 40))
gaps = st.integers(0, 15)


def covered(intervals: tuple[Interval, ...] | list[Interval]) -> set[int]:
    return {t for i in intervals for t in range(i.start, i.end)}


@few
@given(st.lists(spans, max_size=12))
def test_merge_covers_the_same_instants_and_is_disjoint_and_sorted(spans: list[Interval]) -> None:
    merged = iv.merge(spans)
    assert covered(merged) == covered(spans)
    assert all(a.end < b.start for a, b in pairwise(merged))


@few
@given(st.lists(spans, max_size=12), gaps, st.randoms(use_true_random=False))
def test_merge_is_idempotent_and_ignores_order(spans: list[Interval], gap: int, random: object) -> None:
    merged = iv.merge(spans, gap)
    shuffled = list(spans)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert iv.merge(merged, gap) == merged
    assert iv.merge(shuffled, gap) == merged
    assert iv.merge([*spans, *spans], gap) == merged
    assert covered(spans) <= covered(merged)
    assert all(iv.gap(a, b) > gap for a, b in pairwise(merged))


@few
@given(st.lists(stamps, min_size=1, max_size=25), gaps, st.randoms(use_true_random=False))
def test_sightings_may_come_late_or_twice(seen: list[int], gap: int, random: object) -> None:
    def collect(order: list[int]) -> tuple[Interval, ...]:
        result: tuple[Interval, ...] = ()
        for stamp in order:
            result = iv.add(result, stamp, gap)
        return result

    late = list(seen)
    random.shuffle(late)  # type: ignore[attr-defined]
    in_order = collect(sorted(seen))
    assert collect(late) == in_order == collect([*late, *seen])
    assert in_order == iv.merge([iv.at(s) for s in seen], gap)
    assert in_order[0].start == min(seen)
    assert in_order[-1].end == max(seen) + 1
    assert all(any(iv.contains(i, s) for i in in_order) for s in seen)


@few
@given(spans, spans)
def test_overlap_gap_and_intersection_agree_with_the_instants(a: Interval, b: Interval) -> None:
    shared = covered([a]) & covered([b])
    assert iv.overlaps(a, b) == iv.overlaps(b, a) == bool(shared)
    both = iv.intersection(a, b)
    assert both == iv.intersection(b, a)
    assert (covered([both]) if both else set()) == shared
    assert iv.gap(a, b) == iv.gap(b, a)
    assert (iv.gap(a, b) == 0) == (len(iv.merge([a, b])) == 1)


@few
@given(st.lists(spans, max_size=8), stamps)
def test_total_counts_each_instant_before_the_cut(spans: list[Interval], until: int) -> None:
    disjoint = iv.merge(spans)
    assert iv.total_ns(disjoint, until) == len([t for t in covered(disjoint) if t < until])


def test_the_end_does_not_belong_to_an_interval() -> None:
    span = Interval(10, 20)
    assert iv.contains(span, 10)
    assert iv.contains(span, 19)
    assert not iv.contains(span, 20)
    assert not iv.overlaps(span, Interval(20, 30))
    assert iv.gap(span, Interval(20, 30)) == 0
    assert iv.intersection(span, Interval(20, 30)) is None


def test_a_single_sighting_is_not_empty_and_what_is_open_has_no_end() -> None:
    assert iv.at(7) == Interval(7, 8)
    assert iv.contains(iv.at(7), 7)
    still_there = Interval(100, FOREVER)
    assert iv.contains(still_there, 10**18)
    assert iv.merge([still_there, Interval(50, 120)]) == (Interval(50, FOREVER),)
    assert iv.total_ns([still_there], 130) == 30


@pytest.mark.parametrize(("start", "end"), [(5, 5), (6, 5)])
def test_an_empty_or_negative_interval_is_refused(start: int, end: int) -> None:
    with pytest.raises(InvalidArgument, match="end after it starts"):
        iv.checked(start, end)


@few
@given(st.integers(0, 10**15))
def test_durations_convert_both_ways(duration_ns: int) -> None:
    assert iv.nanoseconds(iv.seconds(duration_ns)) == pytest.approx(duration_ns, abs=1)
