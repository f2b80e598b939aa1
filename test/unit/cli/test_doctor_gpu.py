"""What ``r4 doctor`` says of a model and its device."""

from __future__ import annotations

from typing import Any

import pytest

from r4_ros.adapters import torch_runtime
from r4_ros.adapters.torch_runtime import Runtime
from r4_ros.bridges import examination
from r4_ros.bridges.examination import Level
from r4_ros.cli import doctor
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import Unavailable
from r4_ros.perception.label_segmenter import LabelSegmenter

SAM2 = PerceptionConfig(segmenter="sam2")


@pytest.mark.parametrize(
    ("device", "level", "words"),
    [("cpu", Level.WARNING, "runs on the CPU: torch sees no CUDA device"), ("cuda:1", Level.OK, "runs on cuda:1")],
)
def test_the_device_of_a_torch_model(monkeypatch: pytest.MonkeyPatch, device: str, level: Level, words: str) -> None:
    monkeypatch.setattr(examination, "load_segmenter", lambda make: (LabelSegmenter(), []))
    monkeypatch.setattr(torch_runtime, "pick_runtime", lambda user, wanted: Runtime(device))
    finder, [found] = doctor._segmenter(SAM2)
    assert finder is not None
    assert (found.level, found.about) == (level, "GPU")
    assert words in found.message


def test_a_model_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any) -> None:
        raise Unavailable("SAM 2 needs torch: run `make setup-vision`")

    monkeypatch.setattr("r4_ros.adapters.sam2_segmenter.Sam2Segmenter.load", fail)
    finder, [found] = doctor._segmenter(SAM2)
    assert finder is None
    assert (found.level, found.message) == (Level.ERROR, "SAM 2 needs torch: run `make setup-vision`")
