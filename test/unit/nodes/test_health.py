"""Rates, ages and refusals against thresholds."""

from __future__ import annotations

import pytest

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import RefusalReason
from r4_ros.nodes.health import CameraHealth

TOPICS = {"color": "/camera/color", "depth": "/camera/depth"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run(health: CameraHealth, clock: Clock, rate_hz: float, seconds: float, age_s: float = 0.1) -> None:
    for _ in range(int(rate_hz * seconds)):
        clock.now += 1 / rate_hz
        for role in TOPICS:
            health.received(role)
        health.done(age_s, 0.02)


def test_a_camera_that_does_well(clock: Clock) -> None:
    health = CameraHealth(clock)
    run(health, clock, 10.0, 20.0)
    told = health.report(PerceptionConfig(), TOPICS)
    assert (told.errors, told.warnings) == ([], [])
    assert told.values["rate_hz.color"] == pytest.approx(10.0, abs=0.2)
    assert told.values["rate_hz.frames"] == pytest.approx(10.0, abs=0.2)
    assert (told.values["age_s"], told.values["model_s.mean"]) == (pytest.approx(0.1), pytest.approx(0.02))


def test_slow_frames_warn_and_are_an_error_below_another_limit(clock: Clock) -> None:
    health = CameraHealth(clock)
    run(health, clock, 0.25, 40.0)
    assert "frames a second (limit 0.5)" in health.report(PerceptionConfig(), TOPICS).warnings[0]
    strict = PerceptionConfig(warn_rate_hz=2.0, error_rate_hz=1.0)
    assert "(limit 1)" in health.report(strict, TOPICS).errors[0]


def test_old_images(clock: Clock) -> None:
    health = CameraHealth(clock)
    run(health, clock, 5.0, 10.0, age_s=3.0)
    assert "(limit 2)" in health.report(PerceptionConfig(), TOPICS).warnings[0]
    run(health, clock, 5.0, 10.0, age_s=30.0)
    assert "(limit 10)" in health.report(PerceptionConfig(), TOPICS).errors[0]


def test_stamps_of_another_clock_are_named_as_such(clock: Clock) -> None:
    health = CameraHealth(clock)
    run(health, clock, 5.0, 10.0, age_s=8e8)
    told = health.report(PerceptionConfig(), TOPICS)
    assert told.errors == [] and "use_sim_time" in told.warnings[0]


def test_refusals_count_by_their_share_and_not_keyframes(clock: Clock) -> None:
    health = CameraHealth(clock)
    run(health, clock, 2.0, 5.0)
    for _ in range(100):
        health.refused(RefusalReason.NOT_KEYFRAME)
    assert health.report(PerceptionConfig(), TOPICS).warnings == []
    for _ in range(15):
        health.refused(RefusalReason.NO_POSE)
    told = health.report(PerceptionConfig(), TOPICS).warnings[0]
    assert told == "60 % of the frames of the last 5 s were refused (limit 50)"


def test_a_topic_that_falls_silent(clock: Clock) -> None:
    health = CameraHealth(clock)
    run(health, clock, 5.0, 5.0)
    clock.now += 7
    assert "nothing received on /camera/color for 7 s" in health.report(PerceptionConfig(), TOPICS).warnings
