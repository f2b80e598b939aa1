"""A vision language model in this process by transformers: Gemma 3, Qwen-VL, SmolVLM and others of its auto classes."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from typing import Any

from r4_ros.adapters.chat_server import as_error
from r4_ros.adapters.torch_runtime import INSTALL, Runtime, inference, pick_runtime, release
from r4_ros.adapters.vision_server import says_yes
from r4_ros.core.errors import ModelError, R4Error, Unavailable
from r4_ros.core.ports import Affirmed, VisionRequest

AT_ONCE = 8  # requests in one batch


class TransformersVision:
    """Implements core.ports.VisionModel. model: a name on the hub, or a folder written by save_pretrained."""

    def __init__(self, model: str, device: str = "auto") -> None:
        self._name, self._device = model, device
        self._runtime = Runtime()
        self._model: Any = None
        self._processor: Any = None
        self._interrupted = threading.Event()

    @property
    def name(self) -> str:
        """The model's name, or its folder's."""
        return self._name.rstrip("/").rpartition("/")[2]

    def load(self) -> None:
        """Load the model. Raises Unavailable."""
        self._runtime = pick_runtime("the vision model", self._device)
        try:
            import torch
            from transformers import AutoModelForImageTextToText, AutoProcessor
        except ImportError as error:
            raise Unavailable(f"the vision model needs transformers: {INSTALL} transformers ({error})") from error
        kind = torch.bfloat16 if self._runtime.bfloat16 else torch.float32
        try:
            processor = AutoProcessor.from_pretrained(self._name)
            model = AutoModelForImageTextToText.from_pretrained(self._name, dtype=kind)
        except Exception as error:
            raise Unavailable(
                f"the vision model '{self._name}' can't be loaded: set vision_model to a model for image and text on "
                f"the hub, or a folder written by save_pretrained ({error})"
            ) from error
        if getattr(processor, "tokenizer", None) is None or getattr(processor, "image_processor", None) is None:
            raise Unavailable(f"'{self._name}' takes no images with text: set vision_model to a vision language model")
        processor.tokenizer.padding_side = "left"  # replies begin where the prompts end
        self._model, self._processor = model.to(self._runtime.device).eval(), processor

    def close(self) -> None:
        """Free the model."""
        self._model = self._processor = None
        release(self._runtime)

    def reply(self, requests: Sequence[VisionRequest], deadline_s: float) -> list[str | R4Error]:
        """The replies, several requests at a time; a batch that fails gives its error for each of them."""
        found: list[str | R4Error] = []
        self._interrupted.clear()
        for start in range(0, len(requests), AT_ONCE):
            batch = requests[start : start + AT_ONCE]
            try:
                found += self._generate(batch, deadline_s)
            except Exception as error:
                found += [as_error(error)] * len(batch)
        return found

    def affirm(self, requests: Sequence[VisionRequest], deadline_s: float) -> list[Affirmed | R4Error]:
        """Whether the replies say yes, by their words."""
        replies = self.reply(requests, deadline_s)
        return [Affirmed(float(says_yes(r))) if isinstance(r, str) else r for r in replies]

    def interrupt(self) -> None:
        """Have generation at work stop after its next token."""
        self._interrupted.set()

    def _stop(self, ids: Any, scores: Any, **_: Any) -> Any:
        import torch

        return torch.full((len(ids),), self._interrupted.is_set(), device=ids.device, dtype=torch.bool)

    def _generate(self, requests: Sequence[VisionRequest], deadline_s: float) -> list[str]:
        from transformers import StoppingCriteriaList

        processor = self._processor
        texts = [processor.apply_chat_template(_conversation(r), add_generation_prompt=True) for r in requests]
        begun = bool(processor.tokenizer.bos_token) and texts[0].startswith(processor.tokenizer.bos_token)
        images = [[_picture(image) for image in request.images] for request in requests]
        inputs = processor(
            text=texts, images=images, padding=True, add_special_tokens=not begun, return_tensors="pt"
        ).to(self._model.device)
        most = max(request.max_tokens for request in requests)
        warmth = max(request.temperature for request in requests)
        drawn = {"do_sample": True, "temperature": warmth} if warmth > 0 else {"do_sample": False}
        with inference(self._runtime):
            tokens = self._model.generate(
                **inputs,
                max_new_tokens=most,
                max_time=deadline_s,
                stopping_criteria=StoppingCriteriaList([self._stop]),
                **drawn,
            )
        if self._interrupted.is_set():
            raise ModelError(f"{self.name} was interrupted")
        replies = tokens[:, inputs["input_ids"].shape[1] :]
        return [str(text) for text in self._processor.batch_decode(replies, skip_special_tokens=True)]


def _conversation(request: VisionRequest) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = [{"type": "image"} for _ in request.images]
    content.append({"type": "text", "text": request.text})
    system = [{"role": "system", "content": [{"type": "text", "text": request.system}]}] if request.system else []
    return [*system, {"role": "user", "content": content}]


def _picture(jpeg: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(jpeg)).convert("RGB")
