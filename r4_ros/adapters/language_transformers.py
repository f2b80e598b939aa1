"""A language model in this process by transformers: text models, and the text side of Gemma 3, Qwen-VL and others."""

from __future__ import annotations

import threading
import time
from typing import Any

from r4_ros.adapters.chat_server import as_error
from r4_ros.adapters.torch_runtime import INSTALL, Runtime, inference, pick_runtime, release
from r4_ros.core.errors import DeadlineExceeded, ModelError, NotReady, R4Error, Unavailable


class _Work:
    """A completion at work: whether anybody still waits for it, and what came of it."""

    def __init__(self) -> None:
        self.given_up, self.over = threading.Event(), threading.Event()
        self.interrupted = False
        self.reply: str | R4Error | None = None


class TransformersLanguage:
    """Implements core.ports.LanguageModel. model: a name on the hub, or a folder written by save_pretrained.

    Nothing constrains what it writes to a schema. Generation that outlasts its deadline is abandoned and stops after
    its next token.
    """

    def __init__(self, model: str, device: str = "auto", max_tokens: int = 1000) -> None:
        self._name, self._device, self._max_tokens = model, device, max_tokens
        self._runtime = Runtime()
        self._model: Any = None
        self._tokenizer: Any = None
        self._busy = threading.Lock()
        self._at_work: _Work | None = None

    @property
    def name(self) -> str:
        """The model's name, or its folder's."""
        return self._name.rstrip("/").rpartition("/")[2]

    def load(self) -> None:
        """Load the model. Raises Unavailable."""
        self._runtime = pick_runtime("the language model", self._device)
        try:
            import torch
            from transformers import AutoTokenizer
        except ImportError as error:
            raise Unavailable(f"the language model needs transformers: {INSTALL} transformers ({error})") from error
        kind = torch.bfloat16 if self._runtime.bfloat16 else torch.float32
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._name)
            model = _pretrained(self._name, kind)
        except Exception as error:
            raise Unavailable(
                f"the language model '{self._name}' can't be loaded: set lm_model to a model on the hub, or a folder "
                f"written by save_pretrained ({error})"
            ) from error
        if not tokenizer.chat_template:
            raise Unavailable(f"'{self._name}' has no chat template: set lm_model to an instruct model")
        self._model, self._tokenizer = model.to(self._runtime.device).eval(), tokenizer

    def close(self) -> None:
        """Free the model; generation at work ends first."""
        with self._busy:
            self._model = self._tokenizer = None
        release(self._runtime)

    def complete(self, system: str, user: str, schema: dict[str, object] | None, deadline_s: float) -> str:
        """The completion as text. Raises DeadlineExceeded, ModelError."""
        end = time.monotonic() + deadline_s
        if not self._busy.acquire(timeout=max(0.0, deadline_s)):
            raise DeadlineExceeded(f"{self.name} is still at work at a question before")
        if self._model is None:
            self._busy.release()
            raise NotReady("load() comes first")
        work = self._at_work = _Work()
        threading.Thread(target=self._generated, args=(system, user, work), daemon=True).start()
        work.over.wait(max(0.0, end - time.monotonic()))  # the thread releases the lock, now or after its next token
        work.given_up.set()
        if work.reply is None:
            why = "was interrupted" if work.interrupted else "didn't finish in time"
            raise (ModelError if work.interrupted else DeadlineExceeded)(f"{self.name} {why}")
        if isinstance(work.reply, R4Error):
            raise work.reply
        return work.reply

    def interrupt(self) -> None:
        """End the completion at work: its caller goes on at once, generation stops after its next token."""
        work = self._at_work
        if work is not None:
            work.interrupted = True
            work.given_up.set()
            work.over.set()

    def _generated(self, system: str, user: str, work: _Work) -> None:
        try:
            reply: str | R4Error = self._generate(system, user, work.given_up)
        except Exception as error:
            reply = as_error(error)
        finally:
            self._busy.release()
        if not work.given_up.is_set():
            work.reply = reply
        work.over.set()

    def _generate(self, system: str, user: str, given_up: threading.Event) -> str:
        import torch
        from transformers import StoppingCriteriaList

        def stop(ids: Any, scores: Any, **_: Any) -> Any:
            return torch.full((len(ids),), given_up.is_set(), device=ids.device, dtype=torch.bool)

        text = chat_text(self._tokenizer, system, user)
        begun = bool(self._tokenizer.bos_token) and text.startswith(self._tokenizer.bos_token)
        inputs = self._tokenizer(text, add_special_tokens=not begun, return_tensors="pt").to(self._model.device)
        with inference(self._runtime):
            tokens = self._model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=self._max_tokens,
                do_sample=False,
                stopping_criteria=StoppingCriteriaList([stop]),
            )
        reply = tokens[0, inputs["input_ids"].shape[1] :]
        return str(self._tokenizer.decode(reply, skip_special_tokens=True))


def chat_text(tokenizer: Any, system: str, user: str) -> str:
    """The prompt by the tokenizer's chat template; some want content in parts, some know no system's role.

    Raises ModelError where the template takes it in no way.
    """
    plain = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    parts = [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in plain]
    merged = [{"role": "user", "content": f"{system}\n\n{user}"}]
    why: object = "the text is lost in it"
    for messages in (plain, parts, merged):
        try:
            text = str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except Exception as error:
            why = error
            continue
        if system.strip() in text and user.strip() in text:
            return text
    raise ModelError(f"the model's chat template doesn't take a prompt: {why}")


def _pretrained(name: str, kind: Any) -> Any:
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    try:
        return AutoModelForCausalLM.from_pretrained(name, dtype=kind)
    except ValueError:  # not among the text models
        return AutoModelForImageTextToText.from_pretrained(name, dtype=kind)
