"""Small configurations with random weights, saved once and loaded as real ones are: by from_pretrained or a checkpoint.

Random weights give junk masks, so tests assert shapes, bookkeeping, and equality with the libraries' own way.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
SIZE = 128  # of the models' input
HIDDEN = 128

META_OVERRIDES = [
    f"++model.image_size={SIZE}",
    "++model.image_encoder.trunk.embed_dim=16",
    "++model.image_encoder.trunk.stages=[1,1,2,1]",
    "++model.image_encoder.trunk.global_att_blocks=[3]",
    "++model.image_encoder.trunk.window_spec=[8,4,4,4]",
    "++model.image_encoder.neck.backbone_channel_list=[128,64,32,16]",
    "++model.memory_attention.num_layers=1",
    "++model.memory_attention.layer.dim_feedforward=64",
    f"++model.memory_attention.layer.self_attention.feat_sizes=[{SIZE // 16},{SIZE // 16}]",
    f"++model.memory_attention.layer.cross_attention.feat_sizes=[{SIZE // 16},{SIZE // 16}]",
    "++model.memory_encoder.fuser.num_layers=1",
]


@pytest.fixture(scope="session")
def torch() -> Any:
    """The module, with one thread, since more wait for each other on a busy machine; skips where it isn't installed."""
    module = pytest.importorskip("torch", reason="needs torch: make setup-vision")
    module.set_num_threads(1)
    return module


@pytest.fixture(scope="session")
def seeded(torch: Any) -> Callable[[], None]:
    """Call it before making random weights: then they don't depend on which tests ran before."""
    return lambda: torch.manual_seed(0)


@pytest.fixture(scope="session")
def transformers(torch: Any) -> Any:
    """The module; skips where it isn't installed."""
    pytest.importorskip("torchvision", reason="needs torchvision: make setup-vision")
    return pytest.importorskip("transformers", reason="needs transformers: make setup-vision")


@pytest.fixture(scope="session")
def sam2(torch: Any) -> Any:
    """Meta's package; skips where it isn't installed."""
    return pytest.importorskip("sam2", reason="needs Meta's package sam2: make setup-vision")


@pytest.fixture(scope="session")
def meta_overrides() -> list[str]:
    """Hydra overrides that make Meta's smallest configuration a tiny one."""
    return META_OVERRIDES


@pytest.fixture(scope="session")
def sam2_folder(transformers: Any, seeded: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sam2Model and Sam2Processor."""
    folder = tmp_path_factory.mktemp("sam2")
    seeded()
    config = transformers.Sam2Config(**_parts(transformers))
    transformers.Sam2Model(config).save_pretrained(folder)
    transformers.Sam2Processor(_image_processor(transformers)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def sam2_video_folder(transformers: Any, seeded: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sam2VideoModel and Sam2VideoProcessor."""
    folder = tmp_path_factory.mktemp("sam2_video")
    seeded()
    config = transformers.Sam2VideoConfig(
        **_parts(transformers),
        image_size=SIZE,
        memory_attention_hidden_size=HIDDEN,
        memory_attention_feed_forward_hidden_size=64,
        memory_attention_num_layers=1,
        memory_attention_rope_feat_sizes=[SIZE // 16] * 2,
        memory_encoder_hidden_size=HIDDEN,
        mask_downsampler_embed_dim=HIDDEN,
        memory_fuser_embed_dim=HIDDEN,
        memory_fuser_intermediate_dim=64,
    )
    transformers.Sam2VideoModel(config).save_pretrained(folder)
    frames = transformers.Sam2VideoVideoProcessor(size={"height": SIZE, "width": SIZE})
    transformers.Sam2VideoProcessor(_image_processor(transformers), frames).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def meta_checkpoint(
    sam2: Any, torch: Any, seeded: Callable[[], None], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A checkpoint file as Meta's are, under a name as Meta's are."""
    from sam2.build_sam import build_sam2

    seeded()
    model = build_sam2("configs/sam2.1/sam2.1_hiera_t.yaml", device="cpu", hydra_overrides_extra=META_OVERRIDES)
    file = tmp_path_factory.mktemp("meta") / "sam2.1_hiera_tiny.pt"
    torch.save({"model": model.state_dict()}, file)
    return file


@pytest.fixture(scope="session")
def picture() -> Callable[..., np.ndarray]:
    """``picture(i)``: frame i of a stream, uint8 [height, width, 3]: noise with a bright square that moves."""

    def make(number: int = 0, height: int = 48, width: int = 64) -> np.ndarray:
        color = np.random.default_rng(number).integers(0, 120, (height, width, 3), dtype=np.uint8)
        left = 4 + number % (width // 2)
        color[height // 4 : height // 2, left : left + width // 4] = (250, 200, 40)
        return color

    return make


def _parts(transformers: Any) -> dict[str, Any]:
    backbone = transformers.Sam2HieraDetConfig(
        hidden_size=16,
        embed_dim_per_stage=[16, 32, 64, 128],
        num_attention_heads_per_stage=[1, 1, 2, 2],
        blocks_per_stage=[1, 1, 2, 1],
        global_attention_blocks=[3],
        image_size=[SIZE, SIZE],
        window_size_per_stage=[8, 4, 4, 4],
        window_positional_embedding_background_size=[4, 4],
    )
    vision = transformers.Sam2VisionConfig(
        backbone_config=backbone,
        backbone_channel_list=[128, 64, 32, 16],
        backbone_feature_sizes=[[SIZE // n] * 2 for n in (4, 8, 16)],
        fpn_hidden_size=HIDDEN,
    )
    return {
        "vision_config": vision,
        "prompt_encoder_config": {"hidden_size": HIDDEN, "image_size": SIZE},
        "mask_decoder_config": {
            "hidden_size": HIDDEN,
            "mlp_dim": 64,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 32,
        },
    }


def _image_processor(transformers: Any) -> Any:
    size = {"height": SIZE, "width": SIZE}
    return transformers.Sam2ImageProcessor(size=size, mask_size={"height": SIZE // 4, "width": SIZE // 4})
