"""A vision model on an OpenAI-compatible server."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from r4_ros.adapters.chat_server import ChatServer, as_error
from r4_ros.core.errors import R4Error
from r4_ros.core.ports import VisionRequest

AT_ONCE = 8  # requests in flight; servers batch what comes together


class ServerVision:
    """Implements core.ports.VisionModel by a ChatServer; a batch is sent as requests at the same time."""

    def __init__(self, server: ChatServer) -> None:
        self._server = server
        self._threads: ThreadPoolExecutor | None = None

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

    def _one(self, request: VisionRequest, deadline_s: float) -> str | R4Error:
        try:
            return self._server.complete(
                chat_messages(request), deadline_s, request.max_tokens, temperature=request.temperature
            )
        except Exception as error:
            return as_error(error)


def chat_messages(request: VisionRequest) -> list[dict[str, Any]]:
    """A request as chat messages; images stand before the text, as data URLs."""
    urls = [f"data:image/jpeg;base64,{base64.b64encode(image).decode('ascii')}" for image in request.images]
    content: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    content.append({"type": "text", "text": request.text})
    messages: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    return [*messages, {"role": "user", "content": content}]
