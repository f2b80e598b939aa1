"""Segmenters by name, from the configuration; nothing heavy is imported before ``load``."""

from __future__ import annotations

from r4_ros.adapters.clusters import Clusters
from r4_ros.adapters.grounded import Grounded
from r4_ros.adapters.onnx_detector import OnnxDetector, read_classes
from r4_ros.adapters.sam2_meta import MetaImages, MetaVideo
from r4_ros.adapters.sam2_segmenter import Sam2Images, Sam2Segmenter
from r4_ros.adapters.sam2_tracker import Sam2Tracker, Sam2Video
from r4_ros.adapters.sam2_transformers import TransformersImages, TransformersVideo
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import InvalidArgument, Unavailable
from r4_ros.core.ports import Segmenter


def model_segmenter(config: PerceptionConfig) -> Segmenter:
    """The segmenter that the configuration names, not loaded yet: every one but label_image, which needs no model.

    Raises Unavailable where a file that it needs isn't named, InvalidArgument for a name that isn't known here.
    """
    if config.segmenter == "detector":
        return _detector(config)
    if config.segmenter == "clusters":
        return Clusters(max_depth_m=min(config.max_depth_m, 4.0))
    if config.segmenter == "sam2":
        return _with_masks(config, _detector(config) if config.detector_model else None)
    if config.segmenter == "grounded":
        classes = read_classes(config.detector_classes)
        boxes = Grounded(classes, config.grounded_model, config.detector_confidence, config.device)
        return _with_masks(config, boxes) if config.sam2_model else boxes
    raise InvalidArgument(f"segmenter '{config.segmenter}' has no model: use detector, sam2, grounded or clusters")


def set_confidence(segmenter: Segmenter | None, confidence: float) -> None:
    """Change the least confidence of detections, also of a detector that prompts SAM 2; others have none."""
    if isinstance(segmenter, OnnxDetector | Grounded):
        segmenter.confidence = confidence
    elif isinstance(segmenter, Sam2Segmenter | Sam2Tracker):
        set_confidence(segmenter.prompter, confidence)


def _detector(config: PerceptionConfig) -> OnnxDetector:
    if not config.detector_model:
        raise Unavailable("no detector: set detector_model to an ONNX file, or segmenter to label_image or clusters")
    classes = read_classes(config.detector_classes)
    return OnnxDetector(config.detector_model, classes, config.detector_decoding, config.detector_confidence)


def _with_masks(config: PerceptionConfig, prompter: Segmenter | None) -> Segmenter:
    """SAM 2, prompted by boxes, or by points where there is no prompter."""
    if not config.sam2_model:
        raise Unavailable("no SAM 2: set sam2_model to large, base_plus, small or tiny")
    if config.sam2_track:
        return Sam2Tracker(_video(config), prompter or Sam2Segmenter(_images(config), None, config.sam2_points))
    return Sam2Segmenter(_images(config), prompter, config.sam2_points)


def _images(config: PerceptionConfig) -> Sam2Images:
    images = MetaImages if config.sam2_package == "meta" else TransformersImages
    return images(config.sam2_model, config.device, config.compile_models)


def _video(config: PerceptionConfig) -> Sam2Video:
    video = MetaVideo if config.sam2_package == "meta" else TransformersVideo
    return video(config.sam2_model, config.device, config.compile_models, config.sam2_window)
