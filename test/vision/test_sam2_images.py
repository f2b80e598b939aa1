"""SAM 2 on images, by transformers and by Meta's package: from disk, batched, equal to the libraries' own way."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r4_ros.adapters import sam2_segmenter, torch_runtime
from r4_ros.adapters.sam2_meta import MetaImages
from r4_ros.adapters.sam2_segmenter import Sam2Images, Sam2Segmenter
from r4_ros.adapters.sam2_transformers import TransformersImages, TransformersVideo
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage, Segment

pytestmark = pytest.mark.vision
BOXES = np.array([[2, 3, 40, 30], [10, 10, 40, 40], [5, 5, 60, 45], [0, 0, 64, 48], [20, 8, 50, 30]], np.float32)


@pytest.fixture(params=["transformers", "meta"])
def images(request: pytest.FixtureRequest) -> Sam2Images:
    if request.param == "meta":
        checkpoint = request.getfixturevalue("meta_checkpoint")
        return MetaImages(str(checkpoint), "cpu", overrides=request.getfixturevalue("meta_overrides"))
    return TransformersImages(str(request.getfixturevalue("sam2_folder")), "cpu")


@pytest.fixture
def loaded(images: Sam2Images) -> Any:
    images.load()
    yield images
    images.close()


class Prompts:
    """Any segmenter will do as a prompter: this one has fixed boxes."""

    def load(self) -> None: ...

    def close(self) -> None: ...

    def segment(self, image: RgbdImage) -> list[Segment]:
        del image
        corners = BOXES.astype(int).tolist()
        return [
            Segment(f"thing{i}", 0.5, x, y, np.ones((b - y, r - x), bool)) for i, (x, y, r, b) in enumerate(corners)
        ]


def rgbd(color: np.ndarray) -> RgbdImage:
    height, width = color.shape[:2]
    return RgbdImage(color, np.ones((height, width), np.float32), Intrinsics(width, height, 60, 60, 32, 24))


def test_many_prompts_at_once_give_what_each_alone_gives(
    loaded: Sam2Images, picture: Callable[..., np.ndarray]
) -> None:
    loaded.look(picture())
    logits, scores = loaded.from_boxes(BOXES)
    assert logits.shape == (5, 1, 48, 64) and scores.shape == (5, 1)
    assert logits.dtype == scores.dtype == np.float32
    assert not np.allclose(logits[0], logits[3], atol=1e-5)  # prompts do matter
    for i in range(5):
        alone, score = loaded.from_boxes(BOXES[i : i + 1])
        assert alone == pytest.approx(logits[i : i + 1], abs=1e-4)
        assert score == pytest.approx(scores[i : i + 1], abs=1e-4)
    logits, scores = loaded.from_points(np.array([[10, 10], [50, 30]], np.float32))
    assert logits.shape == (2, 3, 48, 64) and scores.shape == (2, 3)


def test_another_image_of_another_size_replaces_the_last(
    loaded: Sam2Images, picture: Callable[..., np.ndarray]
) -> None:
    loaded.look(picture(0))
    first, _ = loaded.from_boxes(BOXES)
    loaded.look(picture(5, 60, 100))
    second, _ = loaded.from_boxes(BOXES)
    assert second.shape == (5, 1, 60, 100)
    loaded.look(picture(0))
    assert loaded.from_boxes(BOXES)[0] == pytest.approx(first, abs=1e-5)


def test_transformers_gives_what_its_model_called_directly_gives(
    sam2_folder: Path, transformers: Any, torch: Any, picture: Callable[..., np.ndarray]
) -> None:
    ours = TransformersImages(str(sam2_folder), "cpu")
    ours.load()
    ours.look(picture())
    logits, scores = ours.from_boxes(BOXES)
    model = transformers.Sam2Model.from_pretrained(sam2_folder).eval()
    processor = transformers.Sam2Processor.from_pretrained(sam2_folder)
    inputs = processor(images=picture(), input_boxes=[BOXES.tolist()], return_tensors="pt")
    with torch.no_grad():
        found = model(**inputs, multimask_output=False)
    (masks,) = processor.post_process_masks(found.pred_masks, inputs["original_sizes"])
    assert scores == pytest.approx(found.iou_scores[0].numpy(), abs=1e-5)
    assert np.mean((logits > 0) == masks.numpy()) > 0.999


def test_the_published_checkpoints_are_the_video_models_and_serve_images_too(
    sam2_video_folder: Path, torch: Any, picture: Callable[..., np.ndarray]
) -> None:
    ours, video = TransformersImages(str(sam2_video_folder), "cpu"), TransformersVideo(str(sam2_video_folder), "cpu")
    ours.load()
    video.load()
    theirs = dict(video._model.named_parameters())
    shared = [name for name, _ in ours._model.named_parameters() if name in theirs]
    assert len(shared) == len(list(ours._model.parameters()))
    assert all(torch.equal(p, theirs[name]) for name, p in ours._model.named_parameters())
    ours.look(picture())
    video.look(picture())
    logits, _ = ours.from_boxes(BOXES[:1])
    assert np.mean((logits[0, 0] > 0) == video.start(1, BOXES[0])) > 0.99  # a track begins with that mask


def test_as_a_segmenter_with_another_ones_boxes(images: Sam2Images, picture: Callable[..., np.ndarray]) -> None:
    segmenter = Sam2Segmenter(images, Prompts())
    segmenter.load()
    found = segmenter.segment(rgbd(picture()))
    assert [(s.label, s.confidence) for s in found] == [(f"thing{i}", 0.5) for i in range(5)]
    for s in found:
        height, width = s.mask.shape
        assert s.mask.dtype == np.bool_ and s.mask.any()
        assert s.left >= 0 and s.top >= 0 and s.left + width <= 64 and s.top + height <= 48
    again = segmenter.segment(rgbd(picture()))
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(found, again, strict=True))
    segmenter.close()


def test_automatic_masks_don_t_overlap_and_are_scored(
    images: Sam2Images, picture: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sam2_segmenter, "MAX_SHARE", 1.0)
    monkeypatch.setattr(sam2_segmenter, "NUMBERS_AT_ONCE", 5 * 3 * 48 * 64)  # batches of five points
    segmenter = Sam2Segmenter(images, None, points_per_side=4, min_score=0.0, min_stability=0.0)
    segmenter.load()
    found = segmenter.segment(rgbd(picture()))
    segmenter.close()
    assert found and all(s.label == "object" and 0 < s.confidence <= 1 for s in found)
    assert [s.confidence for s in found] == sorted((s.confidence for s in found), reverse=True)
    whole = np.zeros((len(found), 48, 64), bool)
    for i, s in enumerate(found):
        whole[i, s.top : s.top + s.mask.shape[0], s.left : s.left + s.mask.shape[1]] = s.mask
    flat = whole.reshape(len(found), -1).astype(int)
    shared = flat @ flat.T
    union = flat.sum(1)[:, None] + flat.sum(1)[None] - shared
    overlap = shared / union - np.eye(len(found))
    assert overlap.max() <= sam2_segmenter.MAX_OVERLAP


def test_bfloat16_keeps_shapes_and_nearly_the_masks(loaded: Any, picture: Callable[..., np.ndarray]) -> None:
    loaded.look(picture())
    exact, _ = loaded.from_boxes(BOXES)
    loaded._runtime = torch_runtime.Runtime("cpu", bfloat16=True)
    loaded.look(picture())
    logits, scores = loaded.from_boxes(BOXES)
    assert logits.dtype == scores.dtype == np.float32 and logits.shape == exact.shape
    assert np.abs(logits - exact).max() < 0.1 * np.abs(exact).max() + 0.01
    assert not np.array_equal(logits, exact)  # it did run in bfloat16


def test_close_frees_the_model(images: Any, torch: Any) -> None:
    images.load()
    inner = getattr(images, "_model", None) or images._predictor.model
    parameters = weakref.ref(next(inner.parameters()))
    del inner
    images.close()
    gc.collect()
    assert parameters() is None
    images.load()  # and it can come back
    images.close()


def test_missing_weights_are_told_with_advice(transformers: Any, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="set sam2_model to large, base_plus, small, tiny"):
        TransformersImages(str(tmp_path / "nowhere"), "cpu").load()
    with pytest.raises(Unavailable, match="set sam2_model to large, base_plus, small, tiny"):
        TransformersImages("tiny", "cpu").load()  # offline here


def test_meta_weights_that_are_missing_or_of_another_model_are_told(
    meta_checkpoint: Path, meta_overrides: list[str]
) -> None:
    with pytest.raises(Unavailable, match="can't be had from the hub"):
        MetaImages("large", "cpu").load()
    with pytest.raises(Unavailable, match=r"doesn't fit the configuration configs/sam2\.1/sam2\.1_hiera_t\.yaml"):
        MetaImages(
            str(meta_checkpoint), "cpu", overrides=[*meta_overrides, "++model.image_encoder.trunk.embed_dim=32"]
        ).load()


def test_devices(torch: Any) -> None:
    assert torch_runtime.pick_runtime("it", "cpu", compiled=True) == torch_runtime.Runtime("cpu")
    auto = torch_runtime.pick_runtime("it")
    assert auto.device == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(Unavailable, match="set device to"):
        torch_runtime.pick_runtime("it", "cuda:99")
    with pytest.raises(Unavailable, match="set device to auto, cuda or cpu"):
        torch_runtime.pick_runtime("it", "toaster")


@pytest.mark.slow
def test_a_compiled_encoder_gives_the_same_masks(
    request: pytest.FixtureRequest, picture: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On CUDA with Triton this is what compile_models does; here it is compiled for the CPU."""
    folder = request.getfixturevalue("sam2_folder")
    exact = TransformersImages(str(folder), "cpu")
    exact.load()
    exact.look(picture())
    compiled_runtime = torch_runtime.Runtime("cpu", compiled=True)
    monkeypatch.setattr("r4_ros.adapters.sam2_transformers.pick_runtime", lambda *_: compiled_runtime)
    compiled = TransformersImages(str(folder), "cpu", compiled=True)
    compiled.load()
    assert type(compiled._model.vision_encoder).__name__ == "OptimizedModule"
    compiled.look(picture())
    for one, other in zip(exact.from_boxes(BOXES), compiled.from_boxes(BOXES), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-2 * np.abs(one).max())
    exact.close()
    compiled.close()
