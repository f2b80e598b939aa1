"""Vision language models in this process: tiny ones with random weights, saved and loaded as real ones are.

Random weights say junk: asserted are batching, equality with single requests, lengths, deadlines and freeing.
"""

from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from r4_ros.adapters.language_transformers import TransformersLanguage
from r4_ros.adapters.vision_transformers import TransformersVision
from r4_ros.core.errors import ModelError, Unavailable
from r4_ros.core.ports import VisionRequest

pytestmark = pytest.mark.vision
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{% for c in m.content %}"
    "{% if c.type == 'image' %}<|image|>{% else %}{{ c.text }}{% endif %}"
    "{% endfor %}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def jpeg(number: int) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 255, (40, 56, 3), np.uint8)
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "JPEG")
    return target.getvalue()


@pytest.fixture(scope="session")
def tokenizer(transformers: Any) -> Callable[..., Any]:
    """``tokenizer(*special)``: a byte-level BPE with these special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    def make(*special: str, **names: str) -> Any:
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=list(special), initial_alphabet=alphabet)
        made.train_from_iterator(["one short sentence about this one object, a red mug"], trainer)
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", **names
        )

    return make


@pytest.fixture(scope="session")
def gemma_folder(
    transformers: Any,
    seeded: Callable[[], None],
    tokenizer: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Gemma3ForConditionalGeneration and Gemma3Processor."""
    folder = tmp_path_factory.mktemp("tiny-gemma")
    seeded()
    special = ("<pad>", "<eos>", "<bos>", "<|image|>", "<soft>", "<end>")
    words = tokenizer(*special, bos_token="<bos>", boi_token="<|image|>", image_token="<soft>", eoi_token="<end>")
    for name, token in (("boi_token", "<|image|>"), ("image_token", "<soft>"), ("eoi_token", "<end>")):
        setattr(words, name, token)
    words.image_token_id = words.convert_tokens_to_ids("<soft>")
    text = transformers.Gemma3TextConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        sliding_window=64,
    )
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
    }
    config = transformers.Gemma3Config(
        text_config=text,
        vision_config=vision,
        mm_tokens_per_image=4,
        boi_token_index=words.convert_tokens_to_ids("<|image|>"),
        image_token_index=words.image_token_id,
        eoi_token_index=words.convert_tokens_to_ids("<end>"),
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=2,
    )
    transformers.Gemma3ForConditionalGeneration(config).save_pretrained(folder)
    pictures = transformers.Gemma3ImageProcessor(size={"height": 32, "width": 32})
    transformers.Gemma3Processor(
        image_processor=pictures, tokenizer=words, chat_template=TEMPLATE, image_seq_length=4
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def qwen_folder(
    transformers: Any,
    seeded: Callable[[], None],
    tokenizer: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Qwen2_5_VLForConditionalGeneration and its processor."""
    folder = tmp_path_factory.mktemp("tiny-qwen")
    seeded()
    special = ("<pad>", "<eos>", "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")
    words = tokenizer(*special)
    ids = {name: words.convert_tokens_to_ids(name) for name in special}
    config = transformers.Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(words),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
            "pad_token_id": 0,
            "eos_token_id": 1,
            "bos_token_id": None,
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    transformers.Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    pictures = transformers.Qwen2VLImageProcessor(min_pixels=28 * 28 * 4, max_pixels=28 * 28 * 8)
    template = TEMPLATE.replace("<|image|>", "<|vision_start|><|image_pad|><|vision_end|>")
    transformers.Qwen2_5_VLProcessor(
        image_processor=pictures,
        tokenizer=words,
        video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=template,
    ).save_pretrained(folder)
    return folder


@pytest.fixture(params=["gemma_folder", "qwen_folder"])
def folder(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


def requests(*numbers: int, tokens: int = 12) -> list[VisionRequest]:
    texts = ["what is it?", "a longer question about what this one object is made of", "?"]
    return [VisionRequest("Reply briefly.", texts[n % 3], (jpeg(n),), tokens) for n in numbers]


def test_a_batch_says_what_each_request_alone_does(folder: Path) -> None:
    model = TransformersVision(str(folder), "cpu")
    model.load()
    together = model.reply(requests(0, 1, 2), 60.0)
    alone = [model.reply(requests(n), 60.0)[0] for n in range(3)]
    assert all(isinstance(text, str) for text in together)
    assert together == alone
    assert model.reply([], 1.0) == [] and model.name == folder.name
    model.close()


def test_two_images_in_one_request(folder: Path) -> None:
    model = TransformersVision(str(folder), "cpu")
    model.load()
    [reply] = model.reply([VisionRequest("", "what happened?", (jpeg(1), jpeg(2)), 8)], 60.0)
    assert isinstance(reply, str)
    model.close()


def test_a_deadline_ends_generation(folder: Path) -> None:
    model = TransformersVision(str(folder), "cpu")
    model.load()
    [long] = model.reply(requests(0, tokens=200), 60.0)
    [short] = model.reply(requests(0, tokens=200), 0.0)
    assert isinstance(long, str) and isinstance(short, str) and len(short) < len(long)
    model.close()


def test_a_broken_image_is_an_error_of_its_batch_and_the_model_lives_on(folder: Path) -> None:
    model = TransformersVision(str(folder), "cpu")
    model.load()
    [reply] = model.reply([VisionRequest("", "what?", (b"no jpeg",), 4)], 60.0)
    assert isinstance(reply, ModelError) and "model failed" in str(reply)
    assert isinstance(model.reply(requests(0), 60.0)[0], str)
    model.close()


def test_close_frees_the_model(folder: Path, torch: Any) -> None:
    model = TransformersVision(str(folder), "cpu")
    model.load()
    parameter = weakref.ref(next(model._model.parameters()))
    model.close()
    gc.collect()
    assert parameter() is None


def test_what_can_t_be_loaded_is_told(transformers: Any, sam2_folder: Path, tmp_path: Path) -> None:
    for name in (tmp_path / "nowhere", sam2_folder):
        with pytest.raises(Unavailable, match="set vision_model to"):
            TransformersVision(str(name), "cpu").load()


@pytest.mark.parametrize("kind", ["gemma_folder", "qwen_folder"])
def test_a_vision_model_reads_text_alone_too(kind: str, request: pytest.FixtureRequest) -> None:
    model = TransformersLanguage(str(request.getfixturevalue(kind)), "cpu", max_tokens=8)
    model.load()
    reply = model.complete("be brief", "where is the mug", None, 60.0)
    assert isinstance(reply, str) and reply == model.complete("be brief", "where is the mug", None, 60.0)
    model.close()
