"""Which frames are worth the segmenter's time: those after a while, after a motion, or with a changed image."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.geometry import rotation_angle
from r4_ros.core.intervals import nanoseconds
from r4_ros.perception.capture import Placement

STRIDE = 8  # pixels; of the sample of an image that is compared
DIFFERENT = 24  # grey levels


class Keyframes:
    """Remembers the last frame that was worked on."""

    def __init__(self) -> None:
        self._last: Placement | None = None
        self._sample: npt.NDArray[np.int16] | None = None

    def is_due(self, placement: Placement, config: PerceptionConfig) -> bool:
        """Whether the frame is to be processed whatever it shows: by time, motion, or a new session."""
        last = self._last
        if not config.keyframe_period_s or last is None or last.session != placement.session:
            return True
        if abs(placement.stamp_ns - last.stamp_ns) >= nanoseconds(config.keyframe_period_s):
            return True
        here, there = placement.sensor_in_map, last.sensor_in_map
        moved = math.dist(here.position, there.position) > config.keyframe_distance_m
        return moved or rotation_angle(here.orientation, there.orientation) > config.keyframe_angle_rad

    def shows_change(self, color: npt.NDArray[np.uint8], config: PerceptionConfig) -> bool:
        """Whether the image differs from the last one in more than a share of its pixels."""
        sample = _sample(color)
        if self._sample is None or self._sample.shape != sample.shape:
            return True
        return float(np.mean(np.abs(sample - self._sample) > DIFFERENT)) > config.keyframe_change

    def keep(self, placement: Placement, color: npt.NDArray[np.uint8], config: PerceptionConfig) -> None:
        """This frame is processed."""
        self._last = placement
        self._sample = _sample(color) if config.keyframe_period_s else None


def _sample(color: npt.NDArray[np.uint8]) -> npt.NDArray[np.int16]:
    """Grey levels of every eighth pixel."""
    return np.asarray(color[::STRIDE, ::STRIDE].mean(axis=2), np.int16)
