"""Open-vocabulary detection by transformers: boxes of things named in words (Grounding DINO, OWLv2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.adapters.depth_mask import segments_in_boxes
from r4_ros.adapters.detections import Detection, suppress
from r4_ros.adapters.torch_runtime import INSTALL, Runtime, inference, pick_runtime, release
from r4_ros.core.errors import InvalidArgument, Unavailable
from r4_ros.core.ports import RgbdImage, Segment

DEFAULT_MODEL = "IDEA-Research/grounding-dino-tiny"
CLASSES_AT_ONCE = {"grounding-dino": 40, "mm-grounding-dino": 40, "owlv2": 200, "owlvit": 200}  # by model type
DINO = ("grounding-dino", "mm-grounding-dino")
TEXT_THRESHOLD = 0.25  # from which a word belongs to a box
MIN_SIDE = 2  # pixels


class Grounded:
    """Boxes of the named classes, each turned into a mask by its depth. Implements core.ports.Segmenter.

    model: a name on the hub, or a folder written by save_pretrained (model and processor). classes: what to look for,
    in words; long lists are asked in several passes. Detections below ``confidence`` are dropped.
    """

    def __init__(
        self,
        classes: Sequence[str],
        model: str = DEFAULT_MODEL,
        confidence: float = 0.35,
        device: str = "auto",
    ) -> None:
        if not classes:
            raise InvalidArgument("grounded needs names of what to look for: set detector_classes")
        self.confidence = confidence
        self._classes, self._name, self._device = list(classes), model, device
        self._runtime = Runtime()
        self._model: Any = None
        self._processor: Any = None

    def load(self) -> None:
        """Load the model. Raises Unavailable."""
        self._runtime = pick_runtime("grounded", self._device)
        try:
            from transformers import AutoModelForZeroShotObjectDetection, AutoProcessor
        except ImportError as error:
            raise Unavailable(f"grounded needs transformers: {INSTALL} transformers ({error})") from error
        try:
            model = AutoModelForZeroShotObjectDetection.from_pretrained(self._name)
            processor = AutoProcessor.from_pretrained(self._name)
        except Exception as error:
            raise Unavailable(
                f"the open-vocabulary detector '{self._name}' can't be loaded: set grounded_model to a Grounding DINO "
                f"or OWLv2 on the hub, or a folder written by save_pretrained ({error})"
            ) from error
        if model.config.model_type not in CLASSES_AT_ONCE:
            known = ", ".join(CLASSES_AT_ONCE)
            raise Unavailable(f"grounded_model '{self._name}' is a {model.config.model_type}, needed is one of {known}")
        self._model, self._processor = model.to(self._runtime.device).eval(), processor

    def close(self) -> None:
        """Free the model."""
        self._model = self._processor = None
        release(self._runtime)

    def detect(self, color: npt.NDArray[np.uint8]) -> list[Detection]:
        """Boxes in an RGB image uint8 [H, W, 3], best first, without near-duplicates."""
        step = CLASSES_AT_ONCE[self._model.config.model_type]
        found: list[Detection] = []
        for start in range(0, len(self._classes), step):
            found += self._ask(color, self._classes[start : start + step])
        return suppress(found)

    def segment(self, image: RgbdImage) -> list[Segment]:
        """One segment for each detection with depth in its box."""
        return segments_in_boxes(self.detect(image.color), image)

    def _ask(self, color: npt.NDArray[np.uint8], classes: list[str]) -> list[Detection]:
        dino = self._model.config.model_type in DINO
        words = classes if dino else [f"a photo of a {name}" for name in classes]
        inputs = self._processor(images=color, text=[words], truncation=True, return_tensors="pt")
        inputs = inputs.to(self._model.device)
        options: dict[str, Any] = {"threshold": self.confidence, "target_sizes": [color.shape[:2]]}
        options.update(
            {"input_ids": inputs["input_ids"], "text_threshold": TEXT_THRESHOLD} if dino else {"text_labels": [classes]}
        )
        with inference(self._runtime):
            outputs = self._model(**inputs)
            outputs.logits, outputs.pred_boxes = outputs.logits.float(), outputs.pred_boxes.float()
            (found,) = self._processor.post_process_grounded_object_detection(outputs, **options)
        boxes, scores = found["boxes"].cpu().numpy(), found["scores"].cpu().numpy()
        detections = []
        for box, score, text in zip(boxes, scores, found["text_labels"], strict=True):
            label, corners = class_of(text, classes), _in_image(box, color.shape)
            if label and corners:
                detections.append(Detection(label, float(score), *corners))
        return detections


def class_of(text: str, classes: Sequence[str]) -> str:
    """The class that a detector's words mean: the same words, else the class that shares most of them; '': none.

    Grounding DINO answers with those tokens of the prompt that fit a box: a part of a name, or parts of two.
    """
    said = text.lower().split()
    best, best_share = "", 0.0
    for name in classes:
        words = name.lower().split()
        shared = len(set(words) & set(said))
        share = shared / (len(words) + len(said) - shared) if shared else 0.0
        if share > best_share:
            best, best_share = name, share
    return best


def _in_image(box: npt.NDArray[Any], shape: tuple[int, ...]) -> tuple[int, int, int, int] | None:
    """left, top, right, bottom in whole pixels of the image; None where nothing of the box is left."""
    if not np.isfinite(box).all():
        return None
    left, right = np.clip(np.rint(box[[0, 2]]), 0, shape[1]).astype(int).tolist()
    top, bottom = np.clip(np.rint(box[[1, 3]]), 0, shape[0]).astype(int).tolist()
    return (left, top, right, bottom) if right - left >= MIN_SIDE and bottom - top >= MIN_SIDE else None
