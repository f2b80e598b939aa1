"""Which segmenter a configuration gives, and what is said where a library, a file or a device is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from r4_ros.adapters.clusters import Clusters
from r4_ros.adapters.grounded import Grounded, class_of
from r4_ros.adapters.onnx_detector import OnnxDetector
from r4_ros.adapters.sam2_meta import MetaImages, MetaVideo
from r4_ros.adapters.sam2_segmenter import Sam2Segmenter
from r4_ros.adapters.sam2_tracker import Sam2Tracker
from r4_ros.adapters.sam2_transformers import TransformersImages, TransformersVideo, hub_name
from r4_ros.adapters.segmenters import model_segmenter, set_confidence
from r4_ros.core.config import PerceptionConfig, build
from r4_ros.core.errors import InvalidArgument, Unavailable


def made(**values: object) -> object:
    return model_segmenter(build(PerceptionConfig, values))


def test_each_name_gives_its_segmenter() -> None:
    assert isinstance(made(segmenter="clusters"), Clusters)
    assert isinstance(made(segmenter="detector", detector_model="m.onnx"), OnnxDetector)
    automatic = made(segmenter="sam2")
    assert isinstance(automatic, Sam2Segmenter) and automatic.prompter is None
    assert isinstance(automatic._images, TransformersImages)
    boxed = made(segmenter="sam2", detector_model="m.onnx", sam2_package="meta")
    assert isinstance(boxed.prompter, OnnxDetector) and isinstance(boxed._images, MetaImages)
    grounded = made(segmenter="grounded")
    assert isinstance(grounded, Sam2Segmenter) and isinstance(grounded.prompter, Grounded)
    assert isinstance(made(segmenter="grounded", sam2_model=""), Grounded)


@pytest.mark.parametrize(("package", "video"), [("meta", MetaVideo), ("transformers", TransformersVideo)])
def test_tracking_wraps_any_prompter(package: str, video: type) -> None:
    tracker = made(segmenter="grounded", sam2_track=True, sam2_package=package)
    assert isinstance(tracker, Sam2Tracker) and isinstance(tracker.prompter, Grounded)
    assert isinstance(tracker._video, video)
    alone = made(segmenter="sam2", sam2_track=True, sam2_package=package)
    assert isinstance(alone.prompter, Sam2Segmenter)


def test_confidence_reaches_the_detector_wherever_it_is() -> None:
    tracker = made(segmenter="grounded", sam2_track=True)
    set_confidence(tracker, 0.7)
    assert tracker.prompter.confidence == 0.7
    detector = made(segmenter="detector", detector_model="m.onnx")
    set_confidence(detector, 0.6)
    assert detector.confidence == 0.6
    for without in (None, made(segmenter="clusters"), made(segmenter="sam2")):
        set_confidence(without, 0.5)


def test_what_is_missing_is_named_with_advice() -> None:
    with pytest.raises(Unavailable, match="set detector_model"):
        made(segmenter="detector")
    with pytest.raises(Unavailable, match="set sam2_model"):
        made(segmenter="sam2", sam2_model="")
    with pytest.raises(InvalidArgument, match="has no model"):
        made(segmenter="label_image")
    with pytest.raises(InvalidArgument, match="set detector_classes"):
        Grounded([])


@pytest.mark.parametrize(
    "values",
    [
        {"segmenter": "sam2"},
        {"segmenter": "sam2", "sam2_package": "meta"},
        {"segmenter": "sam2", "sam2_track": True},
        {"segmenter": "sam2", "sam2_track": True, "sam2_package": "meta"},
        {"segmenter": "grounded"},
        {"segmenter": "clusters"},
    ],
)
def test_without_the_libraries_load_says_how_to_get_them(
    values: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("torch", "open3d"):
        monkeypatch.setitem(sys.modules, library, None)
    segmenter = made(**values)
    with pytest.raises(Unavailable, match="make setup-vision"):
        segmenter.load()
    segmenter.close()


def test_sizes_are_names_on_the_hub_and_other_names_stay() -> None:
    assert hub_name("base_plus") == "facebook/sam2.1-hiera-base-plus"
    assert hub_name("some/model") == "some/model"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("red mug", "red mug"),
        ("Mug", "red mug"),
        ("office chair tv", "office chair"),
        ("tv", "tv"),
        ("lamp", ""),
        ("", ""),
    ],
)
def test_a_detectors_words_become_the_class_they_mean(text: str, label: str) -> None:
    assert class_of(text, ["red mug", "office chair", "tv"]) == label


def test_meta_checkpoints_say_by_their_name_what_they_are(tmp_path: Path) -> None:
    from r4_ros.adapters.sam2_meta import _source

    for name, config in [
        ("sam2.1_hiera_base_plus.pt", "configs/sam2.1/sam2.1_hiera_b+.yaml"),
        ("sam2_hiera_tiny.pt", "configs/sam2/sam2_hiera_t.yaml"),
    ]:
        (tmp_path / name).touch()
        assert _source(str(tmp_path / name)) == (config, str(tmp_path / name))
    (tmp_path / "mine.pt").touch()
    with pytest.raises(Unavailable, match=r"sam2\.1_hiera_large\.pt"):
        _source(str(tmp_path / "mine.pt"))
    with pytest.raises(Unavailable, match="there is no SAM 2 checkpoint"):
        _source(str(tmp_path / "sam2_hiera_small.pt"))
