"""The detector with the test model, on a picture that is drawn here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from r4_ros.adapters.onnx_detector import OnnxDetector, read_classes
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage


@pytest.fixture(scope="module")
def model(shared_data: Path) -> Path:
    file = shared_data / "models" / "centernet_coco.onnx"
    if not file.is_file():
        pytest.skip("the test model (../shared/data/models) is not here")
    return file


def test_it_runs_twice_alike_and_finds_nothing_in_a_grey_image(model: Path) -> None:
    detector = OnnxDetector(model, read_classes("coco80"), "centernet", 0.05)
    image = np.random.default_rng(3).integers(0, 255, (240, 320, 3), dtype=np.uint8)
    assert detector.detect(image) == detector.detect(image)
    detector.confidence = 0.35
    grey = RgbdImage(
        np.full((240, 320, 3), 127, np.uint8),
        np.ones((240, 320), np.float32),
        Intrinsics(320, 240, 300.0, 300.0, 160.0, 120.0),
    )
    assert detector.segment(grey) == []
    detector.close()
    assert detector.segment(grey) == []  # loads again by itself


def test_another_number_of_classes_is_named(model: Path) -> None:
    detector = OnnxDetector(model, ["cup", "chair"], "centernet", 0.3)
    with pytest.raises(InvalidArgument, match="80 classes"):
        detector.detect(np.zeros((240, 320, 3), np.uint8))
