"""What a detector saw once and wasn't sure of is told as what it is; what was surely seen for a moment counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from r4_ros.core.model import IDENTITY, Box, EntryState, Evidence, Motion, Visibility
from r4_ros.reasoner.news import well_seen


@pytest.fixture
def evidence() -> Evidence:
    more: Any = {"visibility": Visibility.VISIBLE, "state": EntryState.UNKNOWN, "motion": Motion.UNKNOWN}
    box = Box(IDENTITY, (0.1, 0.1, 0.1))
    return Evidence("e", "r", "cup", box, "map", "m", 0, 0, None, (), count=1, confidence=0.4, score=1.0, **more)


@pytest.mark.parametrize(
    ("confidence", "count", "sure"),
    [
        (0.4, 1, False),
        (0.4, 2, False),
        (0.4, 3, True),
        (0.9, 1, True),
        (1.0, 1, True),
        (0.0, 50, False),
        (0.6, 2, True),
    ],
)
def test_how_often_depends_on_how_sure(evidence: Evidence, confidence: float, count: int, sure: bool) -> None:
    assert well_seen(replace(evidence, confidence=confidence, count=count)) is sure
