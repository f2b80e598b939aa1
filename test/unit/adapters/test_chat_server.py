"""The client of OpenAI-compatible servers against a real HTTP server that follows a script."""

from __future__ import annotations

import base64
import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from chat_double import chat_double, fails, says
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.adapters import chat_server
from r4_ros.adapters.chat_server import ChatServer, Interrupted, is_this_host, reply_of
from r4_ros.adapters.vision_server import ServerVision
from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, ModelError, NotPermitted
from r4_ros.core.ports import VisionRequest

ASK = [{"role": "user", "content": "what is it?"}]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_server, "WAIT_S", (0.01, 0.01))


def test_a_completion_comes_back_and_the_request_is_as_servers_expect_it() -> None:
    with chat_double(says("a red mug")) as server:
        client = ChatServer(server.url, "tiny-vlm")
        assert client.complete(ASK, 50.0, max_tokens=7, schema={"type": "object"}) == "a red mug"
    [body] = server.requests
    assert body["model"] == "tiny-vlm" and body["messages"] == ASK and body["max_tokens"] == 7
    assert body["temperature"] == 0 and body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert "authorization" not in server.headers[0]


def test_a_busy_server_is_asked_again_after_as_long_as_it_says() -> None:
    with chat_double(fails(429, Retry_After="0.3"), fails(503), says("a mug")) as server:
        start = time.monotonic()
        assert ChatServer(server.url, "m").complete(ASK, 50.0) == "a mug"
        assert time.monotonic() - start >= 0.3 and len(server.requests) == 3


def test_a_server_that_stays_busy_is_given_up() -> None:
    with chat_double(fails(429, b"slow down", Retry_After="60")) as server:
        with pytest.raises(DeadlineExceeded, match="asks to wait 60 s"):
            ChatServer(server.url, "m").complete(ASK, 20.0)
        assert len(server.requests) == 1
    with chat_double(fails(500, b"out of memory")) as server:
        with pytest.raises(ModelError, match="HTTP 500: 'out of memory'"):
            ChatServer(server.url, "m").complete(ASK, 50.0)
        assert len(server.requests) == 3


def test_what_can_t_get_better_is_not_asked_again() -> None:
    with chat_double(fails(404, b"no such \x1b[31mmodel")) as server:
        with pytest.raises(ModelError, match=r"HTTP 404: 'no such  \[31mmodel'"):
            ChatServer(server.url, "m").complete(ASK, 50.0)
        assert len(server.requests) == 1


def test_a_server_that_hangs_or_trickles_is_cut_off_at_the_deadline() -> None:
    stop = threading.Event()

    def trickle(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        try:
            while not stop.wait(0.05):
                handler.wfile.write(b"H")
        except OSError:
            pass

    for answer in (lambda *_: stop.wait(100.0) and None, trickle):
        with chat_double(answer) as server:
            with pytest.raises(DeadlineExceeded, match="didn't answer in time"):
                ChatServer(server.url, "m").complete(ASK, 0.4)
            assert not stop.is_set()
            stop.set()
        stop.clear()


def test_no_redirect_is_followed() -> None:
    with chat_double(says("stolen")) as other, chat_double(fails(307, b"", Location=other.url)) as server:
        with pytest.raises(ModelError, match="HTTP 307"):
            ChatServer(server.url, "m").complete(ASK, 50.0)
        assert not other.requests


def test_proxies_of_the_environment_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_double(says("stolen")) as proxy, chat_double(says("a mug")) as server:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert ChatServer(server.url, "m").complete(ASK, 50.0) == "a mug"
        assert not proxy.requests


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b'{"choices": []}', b"<html>", b"\xff\x00", b"[" * 5000])
def test_garbage_is_a_model_error(body: bytes) -> None:
    with chat_double(fails(200, body)) as server, pytest.raises(ModelError, match="no chat completion"):
        ChatServer(server.url, "m").complete(ASK, 50.0)


def test_too_much_is_a_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_server, "MAX_BYTES", 1 << 20)
    with chat_double(fails(200, b"x" * (2 << 20))) as server, pytest.raises(ModelError, match="more than 1 MB"):
        ChatServer(server.url, "m").complete(ASK, 50.0)


def test_an_answer_that_is_cut_off_is_a_model_error() -> None:
    def cut(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"choices"')

    with chat_double(cut) as server, pytest.raises(ModelError, match="no chat completion"):
        ChatServer(server.url, "m").complete(ASK, 50.0)


@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps).map(str.encode)
)
@settings(max_examples=60)
def test_whatever_a_server_sends_is_text_or_a_model_error(data: bytes) -> None:
    with suppress(ModelError):
        assert isinstance(reply_of(data), str)


def test_content_in_parts_and_no_content() -> None:
    parts = [{"type": "text", "text": "a "}, {"type": "text", "text": "mug"}, "?"]
    assert reply_of(json.dumps({"choices": [{"message": {"content": parts}}]}).encode()) == "a mug"
    assert reply_of(b'{"choices": [{"message": {"content": null}}]}') == ""
    with pytest.raises(ModelError, match="has no text"):
        reply_of(b'{"choices": [{"message": {"content": 3}}]}')


def test_nobody_there() -> None:
    with chat_double(says("")) as server:
        url = server.url
    with pytest.raises(ModelError, match="can't be asked"):
        ChatServer(url, "m").complete(ASK, 50.0)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8000", "ftp://127.0.0.1/v1", "http://", "http://[::1", "http://h:99999/v1"]
)
def test_what_is_no_url_is_said(url: str) -> None:
    with pytest.raises(InvalidArgument, match="is no URL of a model server"):
        ChatServer(url, "m")


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("LOCALHOST", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("192.168.1.7", False),
        ("api.example.com", False),
        ("localhost.example.com", False),
        ("127.0.0.1.example.com", False),
    ],
)
def test_which_hosts_are_this_one(host: str, here: bool) -> None:
    assert is_this_host(host) is here


def test_images_stay_on_this_host_unless_another_is_allowed() -> None:
    vision = ServerVision(ChatServer("https://user:secret@api.example.com/v1", "m"))
    with pytest.raises(NotPermitted, match="set allow_remote to true") as refused:
        vision.load()
    assert "secret" not in str(refused.value)
    ServerVision(ChatServer("https://api.example.com/v1", "m", allow_remote=True)).load()


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_double(says("ok")) as server:
        client = ChatServer(server.url, "m", key_variable="R4_TEST_KEY")
        monkeypatch.delenv("R4_TEST_KEY", raising=False)
        with pytest.raises(NotPermitted, match="R4_TEST_KEY"):
            client.complete(ASK, 50.0)
        monkeypatch.setenv("R4_TEST_KEY", "k123")
        client.complete(ASK, 50.0)
        assert server.headers[0]["authorization"] == "Bearer k123"


def test_a_batch_of_images_is_asked_at_once_and_each_has_its_own_outcome() -> None:
    together = threading.Barrier(3, timeout=50.0)

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        together.wait()
        url = body["messages"][1]["content"][0]["image_url"]["url"]
        image = base64.b64decode(url.removeprefix("data:image/jpeg;base64,"))
        if image == b"bad":
            fails(400, b"bad image")(handler, body)
        else:
            says(f"a {image.decode()}")(handler, body)

    with chat_double(answer) as server:
        vision = ServerVision(ChatServer(server.url, "m"))
        vision.load()
        requests = [VisionRequest("system", "what?", (image,)) for image in (b"mug", b"bad", b"book")]
        first, second, third = vision.reply(requests, 50.0)
        vision.close()
    assert (first, third) == ("a mug", "a book") and isinstance(second, ModelError)
    assert server.requests[0]["messages"][0] == {"role": "system", "content": "system"}
    assert server.requests[0]["messages"][1]["content"][1] == {"type": "text", "text": "what?"}
    assert vision.name == "m"


def interrupted(ask: Any, interrupt: Any, begun: threading.Event) -> BaseException:
    """What a call at work raises when another thread interrupts it once it has begun."""
    met: list[BaseException] = []

    def call() -> None:
        try:
            ask()
        except BaseException as error:
            met.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    assert begun.wait(30)
    while thread.is_alive():  # a request that only just begins is caught by the next one
        interrupt()
        thread.join(0.05)
    return met[0]


def test_a_call_at_work_is_interrupted_from_another_thread() -> None:
    begun, release = threading.Event(), threading.Event()

    def silent(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        begun.set()
        release.wait(60)

    with chat_double(silent) as server:
        client = ChatServer(server.url, "m")
        error = interrupted(lambda: client.complete(ASK, 60.0), client.interrupt, begun)
        release.set()
    assert isinstance(error, Interrupted) and isinstance(error, ModelError)


def test_a_wait_for_a_busy_server_is_interrupted_and_later_calls_go_through() -> None:
    begun = threading.Event()

    def busy(handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        fails(429, Retry_After="50")(handler, request)
        begun.set()

    with chat_double(busy, says("a mug")) as server:
        client = ChatServer(server.url, "m")
        assert isinstance(interrupted(lambda: client.complete(ASK, 60.0), client.interrupt, begun), Interrupted)
        client.interrupt()  # nothing is at work
        assert client.complete(ASK, 50.0) == "a mug"
