"""Of things that look alike, the one that an answer about the past speaks of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from r4_ros.core.model import Answer

Ask = Callable[..., Answer]


def test_what_was_seen_first_is_told_first(home: Any, ask: Ask, make: Any) -> None:
    home.entries.append(make("old", "cup", (3.0, 3.0, 0.8), (0.1, 0.1, 0.1), color="red", first=1, last=40))
    answer = ask("where did you first see the red cup")
    assert answer.value == (3.0, 3.0, 0.8)
