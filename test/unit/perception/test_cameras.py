"""CameraInfo (CASES 4)."""

from __future__ import annotations

from types import SimpleNamespace as Message
from typing import Any

import pytest

from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.perception.cameras import intrinsics_of, same_camera


def test_k_is_used(messages: Any) -> None:
    camera = intrinsics_of(messages.info(640, 480, 525.0))
    assert (camera.width, camera.height, camera.fx, camera.cy, camera.distortion) == (640, 480, 525.0, 240.0, ())


def test_p_stands_in_for_an_empty_k_and_means_a_rectified_image(messages: Any) -> None:
    camera = intrinsics_of(messages.info(k=[0.0] * 9, d=[0.1, 0, 0, 0, 0]))
    assert (camera.fx, camera.cx, camera.distortion) == (50.0, 32.0, ())


@pytest.mark.parametrize("fx", [0.0, -5.0, float("nan"), float("inf")])
def test_without_focal_lengths_it_is_refused(messages: Any, fx: float) -> None:
    k = [fx, 0, 32.0, 0, fx, 24.0, 0, 0, 1]
    with pytest.raises(FrameRefused) as refused:
        intrinsics_of(messages.info(k=k, p=[0.0] * 12))
    assert refused.value.reason == RefusalReason.NO_INTRINSICS


def test_distortion_is_kept_or_named(messages: Any) -> None:
    d = [0.1, -0.05, 0.001, 0.0, 0.0]
    assert intrinsics_of(messages.info(d=d)).distortion == tuple(d)
    fisheye = intrinsics_of(messages.info(d=[0.1, 0, 0, 0], distortion_model="equidistant"))
    assert (fisheye.distortion, fisheye.distortion_model) == ((0.1, 0, 0, 0), "equidistant")
    for model, values in (("equidistant", [0.1] * 5), ("plumb_bob", [0.1] * 3), ("unheard_of", [0.1] * 4)):
        with pytest.raises(FrameRefused, match=model):
            intrinsics_of(messages.info(d=values, distortion_model=model))


def test_binning_and_region(messages: Any) -> None:
    roi = Message(x_offset=8, y_offset=4, width=40, height=32)
    camera = intrinsics_of(messages.info(64, 48, 50.0, binning_x=2, binning_y=2, roi=roi))
    assert (camera.width, camera.height) == (20, 16)
    assert (camera.fx, camera.cx, camera.cy) == (25.0, (32 - 8) / 2, (24 - 4) / 2)


def test_same_camera(messages: Any) -> None:
    camera = intrinsics_of(messages.info(640, 480, 525.0))
    assert same_camera(camera, intrinsics_of(messages.info(640, 480, 525.05)))
    assert not same_camera(camera, intrinsics_of(messages.info(640, 480, 526.0)))
    assert not same_camera(camera, intrinsics_of(messages.info(320, 240, 525.0)))
