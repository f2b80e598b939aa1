"""``r4 view``: times as people write them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.cli.view import parse_time
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import NS_PER_S

NEWEST = 1_000 * NS_PER_S


@pytest.mark.parametrize(
    ("text", "stamp_ns"),
    [
        ("1764459000123456789", 1764459000123456789),
        ("0", 0),
        ("75.5s", 75_500_000_000),
        ("75.000000001", 75_000_000_001),
        ("75 s", 75 * NS_PER_S),
        ("30s ago", 970 * NS_PER_S),
        ("1.5 minutes ago", 910 * NS_PER_S),
        ("2 min ago", 880 * NS_PER_S),
        ("1 Hour ago", -2600 * NS_PER_S),
        ("2025-11-29T23:30:00Z", 1764459000 * NS_PER_S),
        ("2025-11-29 23:30:00", 1764459000 * NS_PER_S),
        ("2025-11-30T00:30:00+01:00", 1764459000 * NS_PER_S),
    ],
)
def test_times_that_people_write(text: str, stamp_ns: int) -> None:
    assert parse_time(text, NEWEST) == stamp_ns


@pytest.mark.parametrize("text", ["yesterday", "5 moons ago", "ago", "-5", "12:00", "1e9"])
def test_a_time_that_cannot_be_read_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidArgument, match="30s ago"):
        parse_time(text, NEWEST)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)))
def test_iso_times_are_exact_to_the_microsecond(moment: datetime) -> None:
    seconds = int(moment.replace(microsecond=0, tzinfo=timezone.utc).timestamp())
    assert parse_time(moment.isoformat(), 0) == seconds * NS_PER_S + moment.microsecond * 1000
