"""Any OpenAI-compatible server (vLLM, llama.cpp, Ollama, LM Studio, OpenAI itself): chat completions over plain HTTP.

What a server sends is untrusted: its size and its time are bounded, redirects are not followed, and proxies that the
environment names are not used, so that what is sent goes to the host that was named and to no other.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import math
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, ModelError, NotPermitted, R4Error

MAX_BYTES = 4 << 20
WAIT_S = (0.5, 1.0, 2.0, 4.0)  # before attempts after the first, where the server doesn't say how long
BUSY = (429, 500, 502, 503, 504)
QUOTED = 160  # characters of a server's complaint that are passed on


class RequestRefused(ModelError):
    """The server answered with an HTTP status that says that it won't do what was asked."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Interrupted(ModelError):
    """Nobody waits for the reply any more."""


class _Flight:
    """One request on its way: what must be cut to end it, and why it was cut."""

    def __init__(self) -> None:
        self.overdue, self.interrupted = threading.Event(), threading.Event()
        self._sockets: list[socket.socket] = []

    def hold(self, connected: socket.socket) -> None:
        """Have a socket at hand; a connection forgets its own once the headers came."""
        self._sockets.append(connected)
        if self.interrupted.is_set():
            self._cut()

    def stop(self, why: threading.Event) -> None:
        """End it, wherever it stands."""
        why.set()
        self._cut()

    def _cut(self) -> None:
        for held in list(self._sockets):
            with suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)


class ChatServer:
    """One model on one server. Thread-safe: every request has its own connection.

    url: of the API, such as http://127.0.0.1:8000/v1. key_variable: environment variable that holds the key; empty:
    none. allow_remote: other hosts than this one may be asked. Raises InvalidArgument for a URL that is none.
    """

    def __init__(self, url: str, model: str, key_variable: str = "", allow_remote: bool = False) -> None:
        advice = f"'{url}' is no URL of a model server: give http://HOST:PORT/v1"
        try:
            parts = urlsplit(url)
            self._port = parts.port
        except ValueError as error:
            raise InvalidArgument(f"{advice} ({error})") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgument(advice)
        self.model = model
        self._secure, self._host = parts.scheme == "https", parts.hostname
        self._path = parts.path.rstrip("/") + "/chat/completions"
        self._where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._key_variable, self._allow_remote = key_variable, allow_remote
        self._flights: set[_Flight] = set()

    def interrupt(self) -> None:
        """End the requests at work, whose callers get Interrupted; servers stop where the connection is cut."""
        for flight in list(self._flights):
            flight.stop(flight.interrupted)

    def check(self) -> None:
        """Raises NotPermitted where the server is another host and those aren't allowed, or the key is missing."""
        if not self._allow_remote and not is_this_host(self._host):
            raise NotPermitted(
                f"{self._where} is another host, and what the robot sees or is asked would leave this one: "
                "set allow_remote to true if that is wanted, or use a server on 127.0.0.1"
            )
        if self._key_variable and not os.environ.get(self._key_variable):
            raise NotPermitted(
                f"the environment variable {self._key_variable} is to hold the server's key, and is empty"
            )

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        deadline_s: float,
        max_tokens: int = 200,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
    ) -> str:
        """The model's reply to chat messages; constrained to a JSON schema where one is given and the server can.

        A busy server (429, 5xx) is asked again as long as the deadline allows. Raises DeadlineExceeded, ModelError
        (refused, interrupted, or what came is no completion) and NotPermitted.
        """
        form = {"name": "reply", "schema": dict(schema), "strict": True} if schema is not None else None
        more = {"response_format": {"type": "json_schema", "json_schema": form}} if form is not None else {}
        return reply_of(self.completion(messages, deadline_s, max_tokens, temperature, **more))

    def completion(
        self,
        messages: Sequence[Mapping[str, Any]],
        deadline_s: float,
        max_tokens: int,
        temperature: float,
        **more: object,
    ) -> bytes:
        """What the server sends for chat messages, as ``complete`` asks it; ``more`` fields of the request."""
        self.check()
        body: dict[str, Any] = {"model": self.model, "messages": list(messages), "max_tokens": max_tokens}
        payload = json.dumps({**body, "temperature": temperature, **more}).encode()
        flight = _Flight()
        self._flights.add(flight)
        try:
            return self._persist(payload, time.monotonic() + deadline_s, flight)
        finally:
            self._flights.discard(flight)

    def _persist(self, payload: bytes, end: float, flight: _Flight) -> bytes:
        """The body of a good answer; a busy server is asked again."""
        for attempt in range(len(WAIT_S) + 1):
            status, headers, data = self._post(payload, end, flight)
            if status == 200:
                return data
            wait = _retry_after(headers, WAIT_S[min(attempt, len(WAIT_S) - 1)])
            if status not in BUSY or attempt == len(WAIT_S):
                break
            if time.monotonic() + wait >= end:
                raise DeadlineExceeded(f"{self._where} is busy (HTTP {status}) and asks to wait {wait:.0f} s")
            if flight.interrupted.wait(wait):
                raise Interrupted(f"{self._where}: nobody waits for the reply any more")
        raise RequestRefused(status, f"{self._where} refused the request with HTTP {status}: {_quoted(data)}")

    def _post(self, payload: bytes, end: float, flight: _Flight) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer. Raises DeadlineExceeded, ModelError."""
        left = end - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded(f"{self._where} didn't answer in time")
        connection = self._connection(left)
        # a server that trickles bytes keeps no socket timeout from starting anew
        clock = threading.Timer(left, flight.stop, (flight.overdue,))
        clock.daemon = True
        clock.start()
        try:
            connection.connect()
            flight.hold(connection.sock)
            connection.request("POST", self._path, payload, self._headers())
            answer = connection.getresponse()
            data = answer.read(MAX_BYTES + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if flight.interrupted.is_set():
                raise Interrupted(f"{self._where}: nobody waits for the reply any more") from error
            if flight.overdue.is_set() or isinstance(error, TimeoutError):
                raise DeadlineExceeded(f"{self._where} didn't answer in time") from error
            raise ModelError(f"{self._where} can't be asked: {error or type(error).__name__}") from error
        finally:
            clock.cancel()
            connection.close()
        if flight.interrupted.is_set():
            raise Interrupted(f"{self._where}: nobody waits for the reply any more")
        if flight.overdue.is_set():
            raise DeadlineExceeded(f"{self._where} didn't answer in time")
        if len(data) > MAX_BYTES:
            raise ModelError(f"{self._where} answered with more than {MAX_BYTES >> 20} MB")
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, data

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self._key_variable:
            headers["Authorization"] = f"Bearer {os.environ[self._key_variable]}"
        return headers


def reply_of(data: bytes) -> str:
    """The text of a completion. Raises ModelError for anything else."""
    try:
        content = json.loads(data)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise ModelError(f"the server's answer is no chat completion: {_quoted(data)}") from error
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    if content is None:
        return ""
    if not isinstance(content, str):
        raise ModelError(f"the server's completion has no text: {_quoted(data)}")
    return content


def is_this_host(host: str) -> bool:
    """Whether a host's name or address surely means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def as_error(error: Exception) -> R4Error:
    """An error of ours as it is, any other as a ModelError."""
    return error if isinstance(error, R4Error) else ModelError(f"the model failed: {type(error).__name__}: {error}")


def _retry_after(headers: Mapping[str, str], otherwise_s: float) -> float:
    """Seconds that a busy server asks to wait, at most an hour."""
    try:
        asked_s = float(headers.get("retry-after", ""))
    except ValueError:
        return otherwise_s
    return min(max(asked_s, 0.0), 3600.0) if math.isfinite(asked_s) else otherwise_s


def _quoted(data: bytes) -> str:
    text = "".join(c if c.isprintable() else " " for c in data[: 4 * QUOTED].decode("utf-8", "replace"))
    return f"'{text[:QUOTED]}'"
