"""A vision model that looks before the gate opens, over real HTTP."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest
from chat_double import chat_double, fails, says
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.adapters.chat_server import ChatServer
from r4_ros.adapters.eyes import ModelEyes, make_eyes
from r4_ros.adapters.vision_server import ServerVision, affirmed_by
from r4_ros.core.config import ReasonerConfig
from r4_ros.core.errors import InvalidArgument, NotPermitted, R4Error
from r4_ros.core.ports import Affirmed

NOW = 1_700_000_000_000_000_000


def looked(*answers: Any, looks: int = 3, picture: bytes | None = b"jpeg", thing: str = "cup") -> tuple[Any, Any]:
    """The agreement, and the requests that the server got."""
    with chat_double(*answers) as server:
        model = ServerVision(ChatServer(server.url, "m"))
        model.load()
        share = ModelEyes(model, lambda _: picture, looks).agreement(thing, NOW, 50.0)
        model.close()
    return (None if share is None else share.share), server.requests


@pytest.mark.parametrize(
    ("answers", "share"),
    [
        (["yes", "Yes.", " YES, on the table"], 1.0),
        (["yes", "no", "yes"], 2 / 3),
        (["no", "No", "maybe"], 0.0),
        (["yesterday", "", "I can't tell"], 0.0),
    ],
)
def test_the_share_of_looks_that_say_yes(answers: list[str], share: float) -> None:
    found, requests = looked(*map(says, answers))
    assert found == pytest.approx(share) and len(requests) == 3
    assert all(request["temperature"] > 0 for request in requests)
    image = requests[0]["messages"][1]["content"][0]["image_url"]["url"]
    assert base64.b64decode(image.split(",")[1]) == b"jpeg"


def test_one_look_is_not_drawn() -> None:
    found, requests = looked(says("yes"), looks=1)
    assert found == 1.0 and requests[0]["temperature"] == 0


def test_a_look_that_fails_does_not_count_and_all_that_fail_say_nothing() -> None:
    assert looked(says("yes"), fails(400), says("yes"))[0] == 1.0
    assert looked(fails(400))[0] is None


def test_without_a_picture_nobody_is_asked() -> None:
    assert looked(says("yes"), picture=None) == (None, [])


@given(st.text(max_size=200))
def test_names_are_quoted_data(name: str) -> None:
    """Whatever a label says, it stands in quotes and on one line."""
    from r4_ros.adapters import eyes

    text = eyes.TEXT.format(name=json.dumps(name[: eyes.MAX_NAME]))
    assert "\n" not in text and json.loads(text[text.index('"') :]) == name[: eyes.MAX_NAME]


def test_the_configuration_says_who_looks() -> None:
    def camera(_: int) -> None:
        return None

    assert make_eyes(ReasonerConfig(), camera) is None
    assert make_eyes(ReasonerConfig(gate=False, gate_looks=3, lm_model="m"), camera) is None
    with pytest.raises(InvalidArgument, match="lm_model"):
        make_eyes(ReasonerConfig(gate_looks=3), camera)
    with pytest.raises(NotPermitted, match="allow_remote"):
        make_eyes(ReasonerConfig(gate_looks=3, lm_model="m", lm_url="http://10.0.0.1/v1"), camera)
    made = make_eyes(ReasonerConfig(gate_looks=3, lm_model="m"), camera)
    assert made is not None
    made[1].close()


def with_chances(word: str, **chances: float) -> Any:
    """A reply with the log-probabilities of its first token, as OpenAI's servers send them."""

    def answer(handler: Any, _: dict[str, Any]) -> None:
        top = [{"token": token, "logprob": math.log(chance)} for token, chance in chances.items()]
        told = {"message": {"content": word}, "logprobs": {"content": [{"token": word, "top_logprobs": top}]}}
        body = json.dumps({"choices": [told]}).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def test_log_probabilities_weigh_a_look_where_the_server_gives_them() -> None:
    with chat_double(with_chances("Yes", Yes=0.6, no=0.15, maybe=0.2)) as server:
        model = ServerVision(ChatServer(server.url, "m"))
        model.load()
        seen = ModelEyes(model, lambda _: b"jpeg", 2).agreement("cup", NOW, 50.0)
        model.close()
    assert seen is not None and seen.share == pytest.approx(0.8) and seen.by_probability
    assert all(request["logprobs"] is True for request in server.requests)


def test_a_server_that_does_not_know_log_probabilities_is_asked_without_them() -> None:
    def picky(handler: Any, request: dict[str, Any]) -> None:
        (fails(400) if "logprobs" in request else says("yes"))(handler, request)

    with chat_double(picky) as server:
        model = ServerVision(ChatServer(server.url, "m"))
        model.load()
        eyes = ModelEyes(model, lambda _: b"jpeg", 1)
        first, second = eyes.agreement("cup", NOW, 50.0), eyes.agreement("cup", NOW, 50.0)
        model.close()
    assert first == second == Affirmed(1.0, False)
    assert ["logprobs" in request for request in server.requests] == [True, False, False]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda s: (
            st.lists(s)
            | st.dictionaries(
                st.sampled_from(["choices", "message", "content", "logprobs", "top_logprobs", "token", "logprob"]), s
            )
        ),
        max_leaves=12,
    )
)
def test_no_reply_of_a_server_breaks_it(sent: Any) -> None:
    found = affirmed_by(json.dumps(sent).encode())
    assert isinstance(found, R4Error) or 0 <= found.share <= 1
