from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from r4_ros.memory.tables import first_difference

PARTS = st.lists(st.integers(0, 2), max_size=200).map(tuple)


@given(PARTS, PARTS, PARTS)
def test_it_is_where_two_tuples_first_differ(shared: tuple[int, ...], one: Any, other: Any) -> None:
    old, new = shared + one, shared + other
    expected = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    assert first_difference(old, new) == expected


def test_parts_are_not_compared_one_by_one() -> None:
    class Counted(int):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    old = tuple(map(Counted, range(10_000)))
    assert first_difference(old, (*old[:-1], Counted(-1))) == 9_999
    assert Counted.compared < 10, "those that are the same object are equal"
