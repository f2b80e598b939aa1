"""A real HTTP server that plays an OpenAI-compatible one by a script of answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@dataclass
class ChatDouble:
    """``answers`` in turn, the last one again and again; ``requests`` are the bodies that came."""

    answers: list[Answer]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Note a request and answer it by the script."""
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self.lock:
            self.requests.append(body)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        answer(handler, body)


def says(text: Any) -> Answer:
    """A completion with this content, or with what a function makes of the request."""

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        content = text(body) if callable(text) else text
        send(handler, 200, json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode())

    return answer


def fails(status: int, body: bytes = b"no", **headers: str) -> Answer:
    """An HTTP status with a body."""
    return lambda handler, _: send(handler, status, body, **headers)


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    """A whole answer; underscores in names of headers stand for dashes."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def chat_double(*answers: Answer) -> Iterator[ChatDouble]:
    """Serve the script on a free port of this host."""
    double = ChatDouble(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            double.handle(self)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    double.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        server.server_close()
