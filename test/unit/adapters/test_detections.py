"""What detectors put out, decoded into boxes of the image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from r4_ros.adapters.detections import Detection, Prepared, decode_centernet, decode_yolo, overlap, suppress
from r4_ros.adapters.onnx_detector import OnnxDetector, _prepare, read_classes
from r4_ros.core.errors import InvalidArgument, Unavailable

CLASSES = ["cup", "chair", "tv"]
STRETCHED = Prepared(0.8, 512 / 480, 0, 0, 512, 512, 640, 480)
BOXED = Prepared(1.0, 1.0, 0, 80, 640, 640, 640, 480)


def centernet(*peaks: tuple[int, int, int, float, tuple[float, ...]]) -> dict[str, Any]:
    heat, wh = np.zeros((1, 128, 128, 3), np.float32), np.zeros((1, 128, 128, 4), np.float32)
    for row, column, kind, score, distances in peaks:
        heat[0, row, column, kind] = score
        wh[0, row, column] = distances
    return {"heat": heat, "wh": wh}


def test_centernet_peaks_are_boxes_in_image_pixels() -> None:
    outputs = centernet(
        (64, 32, 1, 0.7, (40, 32, 80, 64)), (64, 33, 1, 0.5, (1, 1, 1, 1)), (2, 2, 0, 0.2, (9, 9, 9, 9))
    )
    [found] = decode_centernet(outputs, STRETCHED, CLASSES, 0.35)
    assert (found.label, round(found.confidence, 3)) == ("chair", 0.7)
    assert (found.left, found.right) == (round((128 - 40) / 0.8), round((128 + 80) / 0.8))
    assert (found.top, found.bottom) == (round((256 - 32) * 480 / 512), round((256 + 64) * 480 / 512))


def test_boxes_are_cut_at_the_image() -> None:
    [found] = decode_centernet(centernet((1, 1, 0, 0.9, (50, 50, 50, 5000))), STRETCHED, CLASSES, 0.35)
    assert (found.left, found.top, found.bottom) == (0, 0, 480)


def test_boxes_that_are_no_boxes_are_left_out() -> None:
    outputs = centernet(
        (5, 5, 0, 0.9, (np.nan, 1, 1, 1)), (50, 50, 0, 0.9, (-9, 1, 1, 1)), (90, 90, 0, 0.9, (0, 0, 0, 0))
    )
    assert decode_centernet(outputs, STRETCHED, CLASSES, 0.35) == []


@pytest.mark.parametrize("transposed", [True, False])
def test_yolo_tables_of_both_kinds(transposed: bool) -> None:
    """One chair at pixel (100, 120) of the image: 80 lower in the letterboxed input."""
    box = [100, 200, 60, 40]
    if transposed:
        table = np.zeros((4 + 3, 20), np.float32)
        table[:, 3] = [*box, 0.1, 0.8, 0.0]
    else:
        table = np.zeros((20, 5 + 3), np.float32)
        table[3] = [*box, 0.8, 0.1, 1.0, 0.0]
    [found] = decode_yolo({"out": table[None]}, BOXED, CLASSES, 0.35)
    assert found == Detection("chair", pytest.approx(0.8), 70, 100, 130, 140)  # type: ignore[arg-type]


@pytest.mark.parametrize("decode", [decode_centernet, decode_yolo])
def test_outputs_of_another_model_are_named(decode: Any) -> None:
    with pytest.raises(InvalidArgument):
        decode({"scores": np.zeros((1, 9, 9))}, STRETCHED, CLASSES, 0.35)
    with pytest.raises(InvalidArgument):
        decode(centernet(), STRETCHED, ["cup"], 0.35)


def test_near_duplicates_are_suppressed_and_neighbours_are_not() -> None:
    best = Detection("cup", 0.9, 0, 0, 100, 100)
    shifted = Detection("cup", 0.6, 20, 0, 120, 100)
    other_name = Detection("tv", 0.5, 2, 0, 102, 100)
    on_top = Detection("tv", 0.5, 20, 0, 120, 100)
    beside = Detection("cup", 0.4, 95, 0, 195, 100)
    assert suppress([beside, shifted, on_top, other_name, best]) == [best, on_top, beside]
    assert overlap(best, best) == 1.0
    assert overlap(best, Detection("cup", 1, 100, 0, 200, 100)) == 0.0


def test_the_letterbox_keeps_the_aspect() -> None:
    image = np.full((240, 640, 3), 200, np.uint8)
    prepared, tensor = _prepare(image, [1, 3, 320, 320], keep_aspect=True)
    assert tensor.shape == (1, 3, 320, 320)
    assert tensor.max() == pytest.approx(200 / 255)
    assert (prepared.scale_x, prepared.pad_x, prepared.pad_y) == (0.5, 0, 100)
    assert tensor[0, 0, 99, 5] == pytest.approx(114 / 255)
    _, stretched = _prepare(image, [1, 512, 512, 3], keep_aspect=False)
    assert stretched.shape == (1, 512, 512, 3)
    assert stretched.min() == stretched.max() == 200
    _, free = _prepare(image, ["batch", 3, "height", "width"], keep_aspect=True)
    assert free.shape == (1, 3, 640, 640)


def test_classes(tmp_path: Any) -> None:
    coco = read_classes("coco80")
    assert (len(coco), coco[0], coco[41], coco[62]) == (80, "person", "cup", "tv")
    (tmp_path / "names.txt").write_text("чашка\n\nmug\n", encoding="utf-8")
    assert read_classes(str(tmp_path / "names.txt")) == ["чашка", "mug"]
    with pytest.raises(InvalidArgument, match="coco80"):
        read_classes(str(tmp_path / "absent.txt"))


def test_a_missing_or_broken_model_says_what_to_do(tmp_path: Any) -> None:
    with pytest.raises(Unavailable, match="detector_model"):
        OnnxDetector(tmp_path / "absent.onnx", CLASSES, "centernet", 0.3).load()
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    with pytest.raises(Unavailable, match="broken"):
        OnnxDetector(tmp_path / "broken.onnx", CLASSES, "centernet", 0.3).load()
    with pytest.raises(InvalidArgument, match="centernet"):
        OnnxDetector(tmp_path / "x.onnx", CLASSES, "ssd", 0.3)
