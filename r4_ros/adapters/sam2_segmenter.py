"""SAM 2 on single images: masks for another segmenter's boxes, or automatic masks from a grid of points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from r4_ros.adapters.masks import Cutout, boxes_of, cut_out, refined, suppress_masks
from r4_ros.core.model import Float32Array
from r4_ros.core.ports import RgbdImage, Segment, Segmenter

LABEL = "object"  # of automatic masks: SAM 2 knows no names
MIN_PIXELS = 30
NUMBERS_AT_ONCE = 1 << 26  # logits in one batch of prompts: 256 MiB
MASKS_A_PROMPT = 3
MIN_SCORE = 0.8  # predicted overlap with the true mask
MIN_STABILITY = 0.92
STABILITY_OFFSET = 1.0  # logits; a stable mask hardly changes when its threshold moves by this
MAX_OVERLAP = 0.7  # of two automatic masks
MAX_SHARE = 0.4  # of the image; larger masks are floor, wall or sky


class Sam2Images(Protocol):
    """SAM 2 for one image at a time: Meta's package or transformers."""

    def load(self) -> None:
        """Make ready; raises Unavailable where the model or its library is missing."""

    def look(self, color: npt.NDArray[np.uint8]) -> None:
        """Encode an RGB image uint8 [H, W, 3]; the next prompts are about it."""

    def from_boxes(self, boxes: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Logits float32 [n, 1, H, W] and scores [n, 1] of the masks in boxes [n, 4] (left, top, right, bottom)."""

    def from_points(self, points: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Logits float32 [n, 3, H, W] and scores [n, 3] of three masks a point [n, 2] (x, y): part to whole."""

    def close(self) -> None:
        """Free the model."""


class Sam2Segmenter:
    """Masks by SAM 2. Implements core.ports.Segmenter.

    With a ``prompter``, its segments' windows are the boxes that prompt SAM 2; label, confidence and known depth stay
    its own, and so does the mask where SAM 2 finds none. Without one, a grid of points_per_side x points_per_side
    points gives automatic masks, labelled 'object', each scored by the overlap that SAM 2 predicts for it.
    """

    def __init__(
        self,
        images: Sam2Images,
        prompter: Segmenter | None = None,
        points_per_side: int = 16,
        min_score: float = MIN_SCORE,
        min_stability: float = MIN_STABILITY,
    ) -> None:
        self.prompter = prompter
        self._images = images
        self._points_per_side = points_per_side
        self._min_score, self._min_stability = min_score, min_stability

    def load(self) -> None:
        """Load SAM 2 and the prompter. Raises Unavailable, with nothing left loaded."""
        try:
            if self.prompter is not None:
                self.prompter.load()
            self._images.load()
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        """Free both."""
        self._images.close()
        if self.prompter is not None:
            self.prompter.close()

    def segment(self, image: RgbdImage) -> list[Segment]:
        """One segment for each of the prompter's, in its order; or the automatic ones, best first."""
        if self.prompter is None:
            return [Segment(LABEL, min(1.0, c.score), c.left, c.top, c.mask) for c in self._automatic(image.color)]
        prompts = self.prompter.segment(image)
        if not prompts:
            return []
        self._images.look(image.color)
        masks: list[Cutout | None] = []
        for boxes in batches(boxes_of(prompts), image.color.shape[:2], masks_each=1):
            logits, scores = self._images.from_boxes(boxes)
            masks += [cut_out(z[0] > 0, float(s[0]), MIN_PIXELS) for z, s in zip(logits, scores, strict=True)]
        return [p if m is None else refined(p, m, image) for p, m in zip(prompts, masks, strict=True)]

    def _automatic(self, color: npt.NDArray[np.uint8]) -> list[Cutout]:
        height, width = color.shape[:2]
        self._images.look(color)
        found: list[Cutout] = []
        for points in batches(grid(width, height, self._points_per_side), (height, width), MASKS_A_PROMPT):
            logits, scores = self._images.from_points(points)
            for i, k in np.argwhere(scores >= self._min_score):
                if stability(logits[i, k]) >= self._min_stability:
                    mask = cut_out(logits[i, k] > 0, float(scores[i, k]), MIN_PIXELS)
                    if mask is not None and mask.area <= MAX_SHARE * height * width:
                        found.append(mask)
        return suppress_masks(found, MAX_OVERLAP)


def grid(width: int, height: int, per_side: int) -> Float32Array:
    """The centres of per_side x per_side equal cells of the image, float32 [n, 2] (x, y), row by row."""
    x, y = ((np.arange(per_side) + 0.5) / per_side * size for size in (width, height))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)


def stability(logits: Float32Array) -> float:
    """Overlap of the masks at a threshold moved up and down: 1 where the border is sharp; 0 for no mask."""
    wide = int(np.count_nonzero(logits > -STABILITY_OFFSET))
    return int(np.count_nonzero(logits > STABILITY_OFFSET)) / wide if wide else 0.0


def batches(prompts: Float32Array, shape: tuple[int, ...], masks_each: int) -> Iterator[Float32Array]:
    """The prompts in batches whose logits at the image's size fit NUMBERS_AT_ONCE."""
    size = max(1, NUMBERS_AT_ONCE // (masks_each * shape[0] * shape[1]))
    for start in range(0, len(prompts), size):
        yield prompts[start : start + size]
