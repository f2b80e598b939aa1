"""Open-vocabulary boxes by Grounding DINO and OWLv2, from folders as save_pretrained writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r4_ros.adapters import grounded as module
from r4_ros.adapters import torch_runtime
from r4_ros.adapters.grounded import Grounded
from r4_ros.adapters.sam2_segmenter import Sam2Segmenter
from r4_ros.adapters.sam2_transformers import TransformersImages
from r4_ros.adapters.segmenters import model_segmenter, set_confidence
from r4_ros.core.config import PerceptionConfig, build
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage

pytestmark = pytest.mark.vision
CLASSES = ["red mug", "office chair", "tv"]


@pytest.fixture(scope="session")
def dino_folder(transformers: Any, seeded: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dino")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "red", "mug", "office", "chair", "tv"]
    tokenizer = transformers.BertTokenizer(vocab={word: i for i, word in enumerate(words)})
    backbone = transformers.SwinConfig(
        image_size=64, embed_dim=8, depths=[1] * 4, num_heads=[1, 1, 2, 2], window_size=4, out_indices=[2, 3, 4]
    )
    text = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    config = transformers.GroundingDinoConfig(
        backbone_config=backbone,
        text_config=text,
        num_queries=20,
        encoder_layers=1,
        encoder_ffn_dim=16,
        encoder_attention_heads=2,
        decoder_layers=2,
        decoder_ffn_dim=16,
        decoder_attention_heads=2,
        d_model=32,
    )
    seeded()
    transformers.GroundingDinoForObjectDetection(config).save_pretrained(folder)
    images = transformers.GroundingDinoImageProcessor(size={"shortest_edge": 64, "longest_edge": 100})
    transformers.GroundingDinoProcessor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def owl_folder(transformers: Any, seeded: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import pre_tokenizers

    folder = tmp_path_factory.mktemp("owl")
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<pad>", *letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = transformers.CLIPTokenizer(vocab=vocabulary, merges=[], pad_token="<pad>", model_max_length=32)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {
        **small,
        "vocab_size": len(tokens),
        "max_position_embeddings": 32,
        "bos_token_id": len(tokens) - 2,
        "eos_token_id": len(tokens) - 1,
    }
    config = transformers.Owlv2Config(
        text_config=text, vision_config={**small, "image_size": 64, "patch_size": 16}, projection_dim=16
    )
    seeded()
    transformers.Owlv2ForObjectDetection(config).save_pretrained(folder)
    images = transformers.Owlv2ImageProcessor(size={"height": 64, "width": 64})
    transformers.Owlv2Processor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(params=["dino", "owl"])
def folder(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(f"{request.param}_folder")


def test_boxes_are_in_the_image_named_and_best_first(folder: Path, picture: Callable[..., np.ndarray]) -> None:
    detector = Grounded(CLASSES, str(folder), confidence=0.001, device="cpu")
    detector.load()
    color = picture(0, 48, 80)
    found = detector.detect(color)
    assert found
    assert {d.label for d in found} <= set(CLASSES)
    assert [d.confidence for d in found] == sorted((d.confidence for d in found), reverse=True)
    for d in found:
        assert 0 <= d.left < d.right <= 80 and 0 <= d.top < d.bottom <= 48
    assert detector.detect(color) == found
    detector.confidence = 1.0
    assert detector.detect(color) == []
    detector.close()


def test_long_lists_are_asked_in_passes(
    folder: Path, picture: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLASSES_AT_ONCE", dict.fromkeys(module.CLASSES_AT_ONCE, 2))
    detector = Grounded(CLASSES, str(folder), confidence=0.001, device="cpu")
    detector.load()
    passes: list[list[str]] = []
    ask = detector._ask
    monkeypatch.setattr(detector, "_ask", lambda color, classes: passes.append(classes) or ask(color, classes))
    assert detector.detect(picture())
    assert passes == [["red mug", "office chair"], ["tv"]]


def test_bfloat16_finds_nearly_the_same(folder: Path, picture: Callable[..., np.ndarray]) -> None:
    detector = Grounded(CLASSES, str(folder), confidence=0.001, device="cpu")
    detector.load()
    exact = detector.detect(picture())
    detector._runtime = torch_runtime.Runtime("cpu", bfloat16=True)
    rough = detector.detect(picture())
    assert exact[0].label == rough[0].label
    assert exact[0].confidence == pytest.approx(rough[0].confidence, abs=0.05)


def test_boxes_prompt_sam2(folder: Path, sam2_folder: Path, picture: Callable[..., np.ndarray]) -> None:
    boxes = Grounded(CLASSES, str(folder), confidence=0.001, device="cpu")
    segmenter = Sam2Segmenter(TransformersImages(str(sam2_folder), "cpu"), boxes)
    segmenter.load()
    color = picture()
    image = RgbdImage(color, np.full(color.shape[:2], 2.0, np.float32), Intrinsics(64, 48, 60, 60, 32, 24))
    plain = boxes.segment(image)
    found = segmenter.segment(image)
    assert found and [(s.label, s.confidence) for s in found] == [(s.label, s.confidence) for s in plain]
    segmenter.close()
    assert boxes._model is None


def test_what_can_t_be_loaded_is_told_with_advice(transformers: Any, sam2_folder: Path) -> None:
    with pytest.raises(Unavailable, match="set grounded_model to a Grounding DINO or OWLv2"):
        Grounded(CLASSES, device="cpu").load()  # offline here
    with pytest.raises(Unavailable, match="set grounded_model"):
        Grounded(CLASSES, str(sam2_folder), device="cpu").load()


def test_the_configuration_alone_gives_the_whole_chain(
    folder: Path, sam2_folder: Path, sam2_video_folder: Path, picture: Callable[..., np.ndarray], tmp_path: Path
) -> None:
    names = tmp_path / "things.txt"
    names.write_text("\n".join(CLASSES))
    color = picture()
    image = RgbdImage(color, np.full(color.shape[:2], 2.0, np.float32), Intrinsics(64, 48, 60, 60, 32, 24))
    for track, sam2_model in ((False, sam2_folder), (True, sam2_video_folder)):
        values = {
            "segmenter": "grounded",
            "grounded_model": str(folder),
            "detector_classes": str(names),
            "detector_confidence": 0.001,
            "sam2_model": str(sam2_model),
            "sam2_track": track,
            "device": "cpu",
        }
        segmenter = model_segmenter(build(PerceptionConfig, values))
        segmenter.load()
        found = segmenter.segment(image)
        assert found and {s.label for s in found} <= set(CLASSES)
        assert all(bool(s.track_id) == track for s in found)
        set_confidence(segmenter, 1.0)
        assert track or segmenter.segment(image) == []
        segmenter.close()
