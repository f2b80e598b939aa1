"""Absence is checked for entries of the map that the frame is in, also where that map has no given name."""

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


def entry(map_id: str) -> PlacedEntry:
    box = Box(Pose((0.0, 0.0, 2.0)), (0.4, 0.4, 0.4))
    return PlacedEntry(
        "e", "robot", 1, map_id, "box", box, NO_COVARIANCE, EntryState.PRESENT, Motion.STATIC, Visibility.VISIBLE,
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
    pipeline = Pipeline(PerceptionConfig(agent_id="robot", map_id=configured), LabelSegmenter(), None)
    image = RgbdImage(np.zeros((120, 160, 3), np.uint8), np.full((120, 160), 5.0, np.float32), CAMERA)
    frame = pipeline.observe(image, Placement(100, "camera", Pose()), [entry(of_entry)])
    assert [o.visibility for o in frame.observations] == [Visibility.ABSENT] * expected
