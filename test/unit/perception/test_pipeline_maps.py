"""Absence is checked for what memory believes to be there, in the map that the frame is in."""

from __future__ import annotations

import numpy as np
import pytest

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.model import (
    NO_COVARIANCE,
    Box,
    EntryState,
    Intrinsics,
    Motion,
    PlacedEntry,
    Pose,
    Visibility,
)
from r4_ros.core.ports import RgbdImage
from r4_ros.perception.capture import Placement
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline

CAMERA = Intrinsics(160, 120, 120.0, 120.0, 80.0, 60.0)


def entry(map_id: str, state: EntryState = EntryState.PRESENT) -> PlacedEntry:
    box = Box(Pose((0.0, 0.0, 2.0)), (0.4, 0.4, 0.4))
    return PlacedEntry(
        "e", "robot", 1, map_id, "box", box, NO_COVARIANCE, state, Motion.STATIC, Visibility.VISIBLE,
        1.0, 5, 1, 2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("configured", "of_entry", "expected"),
    [
        ("home", "home", 1),
        ("home", "shop", 0),
        ("home", "robot/0", 0),
        ("", "robot/0", 1),
        ("", "robot2/0", 0),
        ("", "home", 0),
    ],
)
def test_an_empty_place_is_reported_for_the_same_map_only(configured: str, of_entry: str, expected: int) -> None:
    assert absent(configured, entry(of_entry)) == expected


@pytest.mark.parametrize(
    ("state", "expected"), [(EntryState.PRESENT, 1), (EntryState.UNKNOWN, 1), (EntryState.GONE, 0)]
)
def test_what_is_believed_there_is_checked_also_long_after_it_was_seen(state: EntryState, expected: int) -> None:
    assert absent("home", entry("home", state)) == expected


def absent(map_id: str, expected: PlacedEntry) -> int:
    """How many absences a frame reports that looks through an entry's place at a wall behind it."""
    pipeline = Pipeline(PerceptionConfig(agent_id="robot", map_id=map_id), LabelSegmenter(), None)
    image = RgbdImage(np.zeros((120, 160, 3), np.uint8), np.full((120, 160), 5.0, np.float32), CAMERA)
    frame = pipeline.observe(image, Placement(100, "camera", Pose()), [expected])
    return [o.visibility for o in frame.observations].count(Visibility.ABSENT)
