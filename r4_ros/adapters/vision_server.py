"""A vision model on an OpenAI-compatible server."""

from __future__ import annotations

import base64
import json
import math
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from r4_ros.adapters.chat_server import ChatServer, RequestRefused, as_error, reply_of
from r4_ros.core.errors import R4Error
from r4_ros.core.ports import Affirmed, VisionRequest

ANSWER = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
TOP = 10  # tokens of which log-probabilities are asked
NOT_UNDERSTOOD = (400, 404, 415, 422, 501)  # what servers answer that don't know a field
AT_ONCE = 8  # requests in flight; servers batch what comes together


class ServerVision:
    """Implements core.ports.VisionModel by a ChatServer; a batch is sent as requests at the same time."""

    def __init__(self, server: ChatServer) -> None:
        self._server = server
        self._threads: ThreadPoolExecutor | None = None
        self._gives_logprobs = True

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._server.model

    def load(self) -> None:
        """Check that the server may be asked. It needn't be up yet. Raises NotPermitted."""
        self._server.check()
        self._threads = ThreadPoolExecutor(AT_ONCE, "r4-vision-server")

    def close(self) -> None:
        """Wait for no request any more."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def reply(self, requests: Sequence[VisionRequest], deadline_s: float) -> list[str | R4Error]:
        """The replies, or what went wrong with each."""
        if self._threads is None:
            raise RuntimeError("load() comes first")
        return list(self._threads.map(lambda request: self._one(request, deadline_s), requests))

    def affirm(self, requests: Sequence[VisionRequest], deadline_s: float) -> list[Affirmed | R4Error]:
        """How far the replies say yes: by the log-probabilities of the first token where the server gives them."""
        if self._threads is None:
            raise RuntimeError("load() comes first")
        return list(self._threads.map(lambda request: self._affirmed(request, deadline_s), requests))

    def interrupt(self) -> None:
        """End the requests at work."""
        self._server.interrupt()

    def _affirmed(self, request: VisionRequest, deadline_s: float) -> Affirmed | R4Error:
        more = {"logprobs": True, "top_logprobs": TOP} if self._gives_logprobs else {}
        messages, end = chat_messages(request), time.monotonic() + deadline_s
        try:
            data = self._server.completion(messages, deadline_s, request.max_tokens, request.temperature, **more)
        except RequestRefused as error:
            if not more or error.status not in NOT_UNDERSTOOD:
                return error
            reply = self._one(request, end - time.monotonic())
            self._gives_logprobs &= isinstance(reply, R4Error)  # it was the field: without it the same was answered
            return reply if isinstance(reply, R4Error) else Affirmed(float(says_yes(reply)))
        except Exception as error:
            return as_error(error)
        return affirmed_by(data)

    def _one(self, request: VisionRequest, deadline_s: float) -> str | R4Error:
        try:
            return self._server.complete(
                chat_messages(request), deadline_s, request.max_tokens, temperature=request.temperature
            )
        except Exception as error:
            return as_error(error)


def affirmed_by(data: bytes) -> Affirmed | R4Error:
    """How far a completion says yes: P(yes) / (P(yes) + P(no)) of its first word where it has them, else its words."""
    try:
        reply = reply_of(data)
    except R4Error as error:
        return error
    by_word = Affirmed(float(says_yes(reply)))
    try:
        first = json.loads(data)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        chances = dict.fromkeys(("yes", "no"), 0.0)
        for token in first:
            word = str(token["token"]).strip().casefold()
            if word in chances:
                chances[word] += math.exp(min(0.0, float(token["logprob"])))
    except (ValueError, KeyError, IndexError, TypeError):
        return by_word
    both = sum(chances.values())
    return Affirmed(chances["yes"] / both, True) if both > 0 else by_word


def says_yes(reply: str) -> bool:
    """Whether a reply begins with yes."""
    found = ANSWER.match(reply)
    return found is not None and found[1].casefold() == "yes"


def chat_messages(request: VisionRequest) -> list[dict[str, Any]]:
    """A request as chat messages; images stand before the text, as data URLs."""
    urls = [f"data:image/jpeg;base64,{base64.b64encode(image).decode('ascii')}" for image in request.images]
    content: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    content.append({"type": "text", "text": request.text})
    messages: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    return [*messages, {"role": "user", "content": content}]
