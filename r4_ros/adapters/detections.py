"""What detectors put out, as boxes in the image."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.core.errors import InvalidArgument

Outputs = Mapping[str, npt.NDArray[Any]]
MAX_CANDIDATES = 300
OVERLAP = 0.5  # boxes of one class that overlap more are one detection
OVERLAP_ANY_CLASS = 0.85  # nearly the same box under two names: the likelier name stays


@dataclass(frozen=True, slots=True)
class Detection:
    """A box of whole pixels in the image: [left, right) x [top, bottom)."""

    label: str
    confidence: float
    left: int
    top: int
    right: int
    bottom: int

    @property
    def rows(self) -> slice:
        """The box's rows, to cut it out of an array."""
        return slice(self.top, self.bottom)

    @property
    def columns(self) -> slice:
        """The box's columns, to cut it out of an array."""
        return slice(self.left, self.right)


@dataclass(frozen=True, slots=True)
class Prepared:
    """How the model's input relates to the image: input pixel = image pixel x scale + pad."""

    scale_x: float
    scale_y: float
    pad_x: int
    pad_y: int
    columns: int
    rows: int
    width: int
    height: int


def decode_centernet(outputs: Outputs, prepared: Prepared, classes: Sequence[str], limit: float) -> list[Detection]:
    """Peaks of ``heat`` [1, h, w, n] with ``wh`` [1, h, w, 4]: distances left, top, right, bottom in input pixels."""
    try:
        heat, distances = outputs["heat"][0], outputs["wh"][0]
    except KeyError as error:
        raise InvalidArgument(f"a centernet model has outputs 'heat' and 'wh', this one {sorted(outputs)}") from error
    _check_classes(heat.shape[-1], classes)
    candidates = np.argwhere(heat >= limit)
    found = []
    for row, column, kind in candidates:
        score = heat[row, column, kind]
        if score >= heat[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2, kind].max():
            x, y = column * prepared.columns / heat.shape[1], row * prepared.rows / heat.shape[0]
            left, top, right, bottom = distances[row, column]
            found.append((classes[kind], float(score), x - left, y - top, x + right, y + bottom))
    return _in_image(found, prepared)


def decode_yolo(outputs: Outputs, prepared: Prepared, classes: Sequence[str], limit: float) -> list[Detection]:
    """One table of boxes (centre x, y, width, height in input pixels) with class scores.

    [1, 4 + n, boxes] as YOLOv8 and later give it, or [1, boxes, 5 + n] with an objectness as YOLOv5.
    """
    table = next(iter(outputs.values()))[0]
    if table.shape[0] == 4 + len(classes):
        boxes, scores = table[:4].T, table[4:].T
    elif table.shape[-1] == 5 + len(classes):
        boxes, scores = table[:, :4], table[:, 5:] * table[:, 4:5]
    else:
        raise InvalidArgument(f"a yolo table of shape {table.shape} doesn't fit {len(classes)} classes")
    kinds = scores.argmax(axis=1)
    best = scores[np.arange(len(kinds)), kinds]
    found = []
    for i in np.flatnonzero(best >= limit):
        x, y, w, h = boxes[i]
        found.append((classes[kinds[i]], float(best[i]), x - w / 2, y - h / 2, x + w / 2, y + h / 2))
    return _in_image(found, prepared)


DECODINGS: dict[str, Callable[[Outputs, Prepared, Sequence[str], float], list[Detection]]] = {
    "centernet": decode_centernet,
    "yolo": decode_yolo,
}


def suppress(detections: Sequence[Detection]) -> list[Detection]:
    """The detections best first, without those that overlap a better one (non-maximum suppression)."""
    kept: list[Detection] = []
    for candidate in sorted(detections, key=lambda d: (-d.confidence, d.label, d.left, d.top)):
        if all(overlap(candidate, other) <= _allowed(candidate, other) for other in kept):
            kept.append(candidate)
    return kept


def overlap(a: Detection, b: Detection) -> float:
    """Intersection over union of two boxes."""
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / ((a.right - a.left) * (a.bottom - a.top) + (b.right - b.left) * (b.bottom - b.top) - shared)


def _allowed(a: Detection, b: Detection) -> float:
    return OVERLAP if a.label == b.label else OVERLAP_ANY_CLASS


def _check_classes(count: int, classes: Sequence[str]) -> None:
    if count != len(classes):
        raise InvalidArgument(f"the detector has {count} classes but detector_classes names {len(classes)}")


def _in_image(found: list[tuple[str, float, float, float, float, float]], prepared: Prepared) -> list[Detection]:
    """Boxes of input pixels as boxes of whole image pixels, the best MAX_CANDIDATES of them."""
    found.sort(key=lambda item: -item[1])
    detections = []
    for label, confidence, *corners in found[:MAX_CANDIDATES]:
        if not np.isfinite(corners).all():
            continue
        x = (np.array([corners[0], corners[2]]) - prepared.pad_x) / prepared.scale_x
        y = (np.array([corners[1], corners[3]]) - prepared.pad_y) / prepared.scale_y
        left, right = np.clip(np.rint(x), 0, prepared.width).astype(int).tolist()
        top, bottom = np.clip(np.rint(y), 0, prepared.height).astype(int).tolist()
        if right - left >= 2 and bottom - top >= 2:
            detections.append(Detection(label, confidence, left, top, right, bottom))
    return detections
