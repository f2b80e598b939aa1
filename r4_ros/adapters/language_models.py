"""Language models by the configuration, behind core.ports.LanguageModel."""

from __future__ import annotations

import time
from typing import Any

from r4_ros.adapters.chat_server import ChatServer, RequestRefused
from r4_ros.adapters.language_transformers import TransformersLanguage
from r4_ros.adapters.vision_server import NOT_UNDERSTOOD
from r4_ros.core.config import ExperienceConfig, ReasonerConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.ports import LanguageModel


class ServerLanguage:
    """Implements core.ports.LanguageModel by a ChatServer.

    A server that refuses a JSON schema is asked without it, then and from then on.
    """

    def __init__(self, server: ChatServer, max_tokens: int = 1000) -> None:
        self._server, self._max_tokens = server, max_tokens
        self._takes_schema = True

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._server.model

    def complete(self, system: str, user: str, schema: dict[str, object] | None, deadline_s: float) -> str:
        """The completion as text. Raises ModelError, DeadlineExceeded and NotPermitted."""
        end = time.monotonic() + deadline_s
        messages: list[dict[str, Any]] = [{"role": "user", "content": user}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        if schema is not None and self._takes_schema:
            try:
                return self._server.complete(messages, deadline_s, self._max_tokens, schema)
            except RequestRefused as refused:
                if refused.status not in NOT_UNDERSTOOD:
                    raise
            reply = self._server.complete(messages, end - time.monotonic(), self._max_tokens)
            self._takes_schema = False  # it was the schema: without it the same was answered
            return reply
        return self._server.complete(messages, end - time.monotonic(), self._max_tokens)

    def interrupt(self) -> None:
        """End the request at work."""
        self._server.interrupt()

    def close(self) -> None:
        """Nothing is held between requests."""


def make_language(config: ReasonerConfig) -> LanguageModel | None:
    """The model that makes plans; None: none is wanted. A server needn't be up yet; a model in this process is loaded.

    Raises InvalidArgument without a model's name and for a wrong URL, NotPermitted for another host that isn't allowed
    and for a key that isn't there, Unavailable where a model can't be loaded.
    """
    if config.planner != "lm":
        return None
    if not config.lm_model:
        raise InvalidArgument("the planner 'lm' needs lm_model (--lm-model): the model's name on its server")
    if config.lm_backend == "transformers":
        loaded = TransformersLanguage(config.lm_model, config.device, config.lm_max_tokens)
        loaded.load()
        return loaded
    return _server(config)


def make_reflecting(config: ExperienceConfig) -> LanguageModel | None:
    """The model that looks over lessons; None: the rules alone. Raises as ``make_language`` does."""
    return _server(config) if config.reflection == "lm" else None


def _server(config: ReasonerConfig | ExperienceConfig) -> ServerLanguage:
    server = ChatServer(config.lm_url, config.lm_model, config.lm_key_variable, config.allow_remote)
    server.check()
    return ServerLanguage(server, config.lm_max_tokens)
