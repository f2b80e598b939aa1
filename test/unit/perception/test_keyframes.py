"""The keyframe policy: time, motion, and what the image shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import NS_PER_S, Pose
from r4_ros.perception.capture import Placement
from r4_ros.perception.keyframes import Keyframes

CONFIG = PerceptionConfig(keyframe_period_s=2.0)
AT = Placement(10 * NS_PER_S, "camera", Pose())
EMPTY = np.full((240, 320, 3), 100, np.uint8)


@pytest.fixture
def keyframes() -> Keyframes:
    made = Keyframes()
    assert made.is_due(AT, CONFIG)
    made.keep(AT, EMPTY, CONFIG)
    return made


@pytest.mark.parametrize(
    ("changes", "due"),
    [
        ({"stamp_ns": 11 * NS_PER_S}, False),
        ({"stamp_ns": 12 * NS_PER_S}, True),
        ({"sensor_in_map": Pose((0.05, 0, 0))}, False),
        ({"sensor_in_map": Pose((0.15, 0, 0))}, True),
        ({"sensor_in_map": Pose(orientation=quat_from_yaw(0.02))}, False),
        ({"sensor_in_map": Pose(orientation=quat_from_yaw(-0.2))}, True),
        ({"session": 1}, True),
    ],
)
def test_time_motion_and_a_new_session_make_a_frame_due(
    keyframes: Keyframes, changes: dict[str, object], due: bool
) -> None:
    assert keyframes.is_due(replace(AT, **changes), CONFIG) is due  # type: ignore[arg-type]


def test_without_a_period_every_frame_is(keyframes: Keyframes) -> None:
    assert keyframes.is_due(AT, PerceptionConfig())


def test_somebody_who_comes_into_view_is_news_and_noise_is_not(keyframes: Keyframes) -> None:
    noisy = (EMPTY + np.random.default_rng(1).integers(-8, 9, EMPTY.shape)).astype(np.uint8)
    assert not keyframes.shows_change(noisy, CONFIG)
    person = EMPTY.copy()
    person[60:200, 100:160] = 20
    assert keyframes.shows_change(person, CONFIG)
