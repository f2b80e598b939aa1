"""Turns of phrase become the plain question of the same meaning; plain questions stay as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.evaluation.sim.ask import wordings
from r4_ros.reasoner import decompose, parse
from r4_ros.reasoner.decompose import plan
from r4_ros.reasoner.keys import Form
from r4_ros.reasoner.plainer import plainer, turns

EXAMPLES = [
    tuple(line.split(" | ")) for line in Path(__file__).with_name("turns.txt").read_text(encoding="utf-8").splitlines()
]
GAPS = {"n": "two minutes", "k": "chairs", "c": "green", "r": "kitchen", "s": "table"}


@pytest.mark.parametrize(("said", "plain"), EXAMPLES)
def test_a_turn_is_said_plainly(said: str, plain: str) -> None:
    assert plainer(parse.clean(said)) == plain
    assert plainer(plain).rstrip("?. ").casefold() == plain.rstrip("?. ").casefold(), "and plainer it can't be said"


def test_each_turn_has_an_example() -> None:
    left = dict(enumerate(turns()))
    for said, _ in EXAMPLES:
        text = parse.clean(said)
        for i, (pattern, plain) in enumerate(turns()):
            after = re.sub(r"\s+", " ", pattern.sub(plain, text)).strip()
            if after != text:
                left.pop(i, None)
            text = after
    assert not [pattern.pattern for pattern, _ in left.values()]


def test_plain_wordings_keep_their_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wordings of `r4 eval sim` were read before there were turns."""
    for kind, texts in wordings().items():
        for text in texts:
            said = re.sub(r"\{(\w+)\}", lambda gap: GAPS.get(gap[1], "mug"), text)
            with_turns = plan(said).form
            with monkeypatch.context() as without:
                without.setattr(decompose, "plainer", str)
                alone = decompose.plan(said).form
            assert alone in (with_turns, Form.VERIFY), (kind, said, plainer(said))  # 'do we have a mug here': exists


@given(st.text(max_size=200))
def test_any_text_may_come(text: str) -> None:
    assert len(plainer(text)) <= 2 * len(text) + 40
