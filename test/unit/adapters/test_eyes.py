"""A vision model that looks before the gate opens, over real HTTP."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from chat_double import chat_double, fails, says
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.adapters.chat_server import ChatServer
from r4_ros.adapters.eyes import ModelEyes, make_eyes
from r4_ros.adapters.vision_server import ServerVision
from r4_ros.core.config import ReasonerConfig
from r4_ros.core.errors import InvalidArgument, NotPermitted

NOW = 1_700_000_000_000_000_000


def looked(*answers: Any, looks: int = 3, picture: bytes | None = b"jpeg", thing: str = "cup") -> tuple[Any, Any]:
    """The agreement, and the requests that the server got."""
    with chat_double(*answers) as server:
        model = ServerVision(ChatServer(server.url, "m"))
        model.load()
        share = ModelEyes(model, lambda _: picture, looks).agreement(thing, NOW, 5.0)
        model.close()
    return share, server.requests


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
