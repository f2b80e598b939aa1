"""A language model in this process: a tiny one with random weights, saved and loaded as real ones are.

Random weights say junk: asserted are equality with the library's own greedy search, deadlines, and that the rules
step in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r4_ros.adapters.language_models import make_language
from r4_ros.adapters.language_transformers import TransformersLanguage, chat_text
from r4_ros.core.config import ReasonerConfig, build
from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, ModelError, NotReady, Unavailable
from r4_ros.reasoner.planner import make_planner

pytestmark = pytest.mark.vision
PLAIN = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
IN_PARTS = PLAIN.replace("{{ m.content }}", "{% for c in m.content %}{{ c.text }}{% endfor %}")
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + PLAIN


@pytest.fixture(scope="session")
def folder(transformers: Any, seeded: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LlamaForCausalLM with a byte-level BPE; it never ends by itself."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    path = tmp_path_factory.mktemp("lm") / "tiny-llama"
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<pad>", "<eos>"], initial_alphabet=alphabet)
    made.train_from_iterator(["where is the red mug"], trainer)
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>")
    words.chat_template = PLAIN
    seeded()
    config = transformers.LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=32768,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    words.save_pretrained(path)
    return path


@pytest.fixture
def model(folder: Path) -> Any:
    loaded = TransformersLanguage(str(folder), "cpu", max_tokens=12)
    loaded.load()
    yield loaded
    loaded.close()


def test_a_completion_is_the_librarys_own(model: TransformersLanguage, folder: Path, transformers: Any) -> None:
    words = transformers.AutoTokenizer.from_pretrained(folder)
    own = transformers.AutoModelForCausalLM.from_pretrained(folder)
    inputs = words("<system>be brief\n<user>where is the mug\n<assistant>", return_tensors="pt")
    tokens = own.generate(**inputs, max_new_tokens=12, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    reply = model.complete("be brief", "where is the mug", None, 60.0)
    assert reply == words.decode(tokens, skip_special_tokens=True) and reply
    assert model.complete("be brief", "where is the mug", None, 60.0) == reply and model.name == "tiny-llama"


def test_what_outlasts_its_deadline_is_abandoned_and_the_next_one_is_served(folder: Path) -> None:
    endless = TransformersLanguage(str(folder), "cpu", max_tokens=30_000)
    endless.load()
    with pytest.raises(DeadlineExceeded, match="didn't finish in time"):
        endless.complete("", "where is the mug", None, 0.3)
    with pytest.raises(DeadlineExceeded, match="didn't finish in time"):  # not 'still at work': it was let go
        endless.complete("", "where is the mug", None, 5.0)
    endless.close()
    with pytest.raises(NotReady):
        endless.complete("", "where is the mug", None, 5.0)


def test_a_completion_at_work_is_interrupted(folder: Path) -> None:
    endless = TransformersLanguage(str(folder), "cpu", max_tokens=30_000)
    endless.load()
    met: list[BaseException] = []

    def ask() -> None:
        try:
            endless.complete("", "where is the mug", None, 600.0)
        except BaseException as error:
            met.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    while thread.is_alive():
        endless.interrupt()
        thread.join(0.05)
    assert isinstance(met[0], ModelError) and "interrupted" in str(met[0])
    endless.interrupt()  # nothing is at work
    endless.close()  # it stopped: else this waited for 30,000 tokens


def test_junk_is_no_plan_and_the_rules_step_in(folder: Path) -> None:
    values = {"planner": "lm", "lm_backend": "transformers", "lm_model": str(folder), "device": "cpu"}
    config = build(ReasonerConfig, {**values, "lm_max_tokens": 50})
    loaded = make_language(config)
    planned = make_planner(config, loaded).plan("where is the mug", 60.0)
    assert planned.by == "rules" and planned.plan.target.semantic.text == "mug"
    assert "lm tiny-llama gave no plan" in planned.notes[0]
    assert loaded is not None
    loaded.close()


@pytest.mark.parametrize("template", [PLAIN, IN_PARTS, NO_SYSTEM])
def test_chat_templates_of_all_kinds_get_the_whole_prompt(folder: Path, transformers: Any, template: str) -> None:
    words = transformers.AutoTokenizer.from_pretrained(folder)
    words.chat_template = template
    text = chat_text(words, "the manual\n", "the question\n")
    assert text.index("the manual") < text.index("the question") < text.index("<assistant>")
    words.chat_template = "nothing"
    with pytest.raises(ModelError, match="chat template"):
        chat_text(words, "the manual", "the question")


def test_what_can_t_be_loaded_says_what_to_set(folder: Path, tmp_path: Path, transformers: Any) -> None:
    with pytest.raises(Unavailable, match="set lm_model"):
        TransformersLanguage(str(tmp_path / "none"), "cpu").load()
    base = tmp_path / "base"
    transformers.AutoModelForCausalLM.from_pretrained(folder).save_pretrained(base)
    words = transformers.AutoTokenizer.from_pretrained(folder)
    words.chat_template = None
    words.save_pretrained(base)
    with pytest.raises(Unavailable, match="instruct model"):
        TransformersLanguage(str(base), "cpu").load()
    with pytest.raises(InvalidArgument, match="lm_model"):
        make_language(build(ReasonerConfig, {"planner": "lm", "lm_backend": "transformers"}))
