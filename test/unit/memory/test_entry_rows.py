"""What an entry's row leaves out because it is usual is what is read back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core.model import FOREVER, IDENTITY, NO_COVARIANCE, Box, Entry, Interval, Presence, Stay
from r4_ros.memory.sql_parts import last_parts, parts_row

moments = st.integers(0, 3)  # few, so that many are the same


@given(times=st.tuples(*[moments] * 6), end=st.sampled_from([4, FOREVER]))
def test_last_parts_are_what_was_written(times: tuple[int, ...], end: int) -> None:
    began, seen, until, earliest, start, last = times
    stay = Stay(Interval(began, end), 7, Box(IDENTITY, (0.5, 0.5, 0.5)), NO_COVARIANCE, 1)
    sighting, presence = Interval(seen, seen + until), Presence(earliest, start, last, end)
    entry = Entry("0" * 16, "r1", 1, 0, "m", "mug", (), (stay,), (sighting,), (presence,))
    row = parts_row(entry)
    assert last_parts(row) == (stay, sighting, presence)
    shifted: Any = replace(presence, start_earliest=start, last_seen=sighting.end - 1)
    usual = entry.evolve(presence=(shifted,), stays=(replace(stay, interval=Interval(start, end)),))
    assert sum(value is None for value in parts_row(usual)) >= sum(value is None for value in row)
