"""Object detection by an ONNX model through onnxruntime; depth inside each box gives the mask."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from r4_ros.adapters.depth_mask import segments_in_boxes
from r4_ros.adapters.detections import DECODINGS, Detection, Prepared, suppress
from r4_ros.core.errors import InvalidArgument, Unavailable
from r4_ros.core.ports import RgbdImage, Segment

INPUT_SIZE = 640  # where the model leaves its input size open


class OnnxDetector:
    """Boxes of an ONNX detector, each turned into a mask by its depth. Implements core.ports.Segmenter.

    model: ONNX file with one image input, [1, H, W, 3] of 0..255 or [1, 3, H, W] of 0..1. classes: their names in the
    model's order (see read_classes). decoding: 'centernet' (heat, wh) or 'yolo' (v5 and v8 tables). Detections
    below ``confidence`` are dropped. Deterministic on one machine.
    """

    def __init__(
        self, model: str | Path, classes: Sequence[str], decoding: str, confidence: float, threads: int = 1
    ) -> None:
        if decoding not in DECODINGS:
            raise InvalidArgument(f"detector decoding '{decoding}' is unknown: use one of {', '.join(DECODINGS)}")
        self.confidence = confidence
        self._model, self._classes, self._threads = Path(model), list(classes), threads
        self._decode = DECODINGS[decoding]
        self._keep_aspect = decoding == "yolo"
        self._session: Any = None

    def load(self) -> None:
        """Load the model. Raises Unavailable when there is none, or onnxruntime can't run it."""
        try:
            import onnxruntime
        except ImportError as error:
            raise Unavailable("the detector needs onnxruntime: pip install onnxruntime") from error
        if not self._model.is_file():
            raise Unavailable(f"detector model '{self._model}' doesn't exist: set detector_model to an ONNX file")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(self._model), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Unavailable(f"detector model '{self._model}' can't be loaded: {error}") from error

    def close(self) -> None:
        """Free the model."""
        self._session = None

    def detect(self, color: npt.NDArray[np.uint8]) -> list[Detection]:
        """Boxes in an RGB image uint8 [H, W, 3], best first, without near-duplicates."""
        if self._session is None:
            self.load()
        info = self._session.get_inputs()[0]
        prepared, tensor = _prepare(color, info.shape, self._keep_aspect)
        outputs = dict(
            zip(
                (o.name for o in self._session.get_outputs()), self._session.run(None, {info.name: tensor}), strict=True
            )
        )
        return suppress(self._decode(outputs, prepared, self._classes, self.confidence))

    def segment(self, image: RgbdImage) -> list[Segment]:
        """One segment for each detection with depth in its box."""
        return segments_in_boxes(self.detect(image.color), image)


def read_classes(source: str) -> list[str]:
    """Class names: 'coco80', or a text file with one name a line. Raises InvalidArgument."""
    if source == "coco80":
        text = resources.files("r4_ros.adapters").joinpath("coco80.txt").read_text(encoding="utf-8")
    else:
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgument(f"detector classes '{source}': use coco80 or a text file ({error})") from error
    return [line.strip() for line in text.splitlines() if line.strip()]


def _prepare(
    color: npt.NDArray[np.uint8], shape: Sequence[Any], keep_aspect: bool
) -> tuple[Prepared, npt.NDArray[np.float32]]:
    """The model's input tensor of an image, and how its pixels relate to the image's."""
    channels_last = shape[-1] == 3
    sizes = shape[1:3] if channels_last else shape[2:4]
    rows, columns = (size if isinstance(size, int) and size > 0 else INPUT_SIZE for size in sizes)
    height, width = color.shape[:2]
    scale_x, scale_y = columns / width, rows / height
    if keep_aspect:
        scale_x = scale_y = min(scale_x, scale_y)
    new_width, new_height = round(width * scale_x), round(height * scale_y)
    pad_x, pad_y = (columns - new_width) // 2, (rows - new_height) // 2
    resized = cv2.resize(color, (new_width, new_height), interpolation=cv2.INTER_LINEAR)
    canvas = np.full((rows, columns, 3), 114, np.float32)
    canvas[pad_y : pad_y + new_height, pad_x : pad_x + new_width] = resized
    tensor = canvas[None] if channels_last else np.ascontiguousarray(canvas.transpose(2, 0, 1)[None]) / np.float32(255)
    return Prepared(scale_x, scale_y, pad_x, pad_y, columns, rows, width, height), tensor
