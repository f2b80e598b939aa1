"""What serves a purpose that the lexicon's verbs don't know, by likeness to what things are for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from r4_ros.adapters.minilm import MiniLm
from r4_ros.core.errors import UnsupportedQuestion
from r4_ros.core.model import Answer, Float32Array, Question, Verdict
from r4_ros.reasoner import lexicon, uses
from r4_ros.reasoner.answer import Reasoner
from r4_ros.reasoner.decompose import plan

# purpose | kinds that serve it; NONE: no such thing is known. None of them was used to fit the threshold.
UNSEEN = """
stretch out after a long day|couch,bed
doze off for an hour|bed,couch
warm up yesterday's soup|microwave,stove
chill a bottle of wine|refrigerator
chuck this banana peel|trash can
fix my make-up|mirror
put away my coat|coat rack,wardrobe
slice a loaf|knife
brighten up the corner|lamp
catch the evening news|tv,newspaper
mop up the puddle|mop,paper towel
do my homework|desk,table,laptop
fill a glass with water|sink
towel myself down|towel
climb up to the attic|ladder,stairs
extinguish the flames|fire extinguisher
send an email|laptop,cell phone,computer
wrap up against the cold|blanket,coat
brew a cup of tea|kettle
get the creases out of my trousers|iron
clean my teeth|toothbrush
blow my nose|tissue box
pack for the weekend|suitcase,backpack,bag
stay dry in a downpour|umbrella
get some fresh air|window
darken the room|curtain,blinds
stir my coffee|spoon
ring my mother|cell phone
hoover the rug|vacuum cleaner
get the dirty laundry clean|washing machine
draw a diagram for everyone|whiteboard
pick up crumbs from the floor|broom,vacuum cleaner
feed the crocodile|NONE
repair a tractor|NONE
get a divorce|NONE
milk a cow|NONE
dig a trench|NONE
learn Portuguese|NONE
win the lottery|NONE
take a blood sample|NONE
"""
ROWS = [tuple(line.split("|")) for line in UNSEEN.strip().splitlines()]


@pytest.fixture(scope="module")
def minilm() -> MiniLm:
    return MiniLm()


def test_most_unseen_purposes_find_what_serves_them(minilm: MiniLm) -> None:
    assert len(ROWS) == 40
    found = {purpose: uses.alike(purpose, minilm) for purpose, _ in ROWS}
    served = [p for p, kinds in ROWS if kinds != "NONE" and set(kinds.split(",")) & set(found[p][:3])]
    nothing = [p for p, kinds in ROWS if kinds == "NONE" and not found[p]]
    assert len(served) >= 26, {p for p, k in ROWS if k != "NONE"} - set(served)
    assert len(nothing) >= 7, {p: found[p] for p, k in ROWS if k == "NONE"}


def test_every_use_is_of_a_known_kind() -> None:
    assert {kind for kind, _ in uses.described()} <= set(lexicon.SYNONYMS) | set(lexicon.NARROWER)


def test_without_an_embedder_only_known_verbs_serve() -> None:
    assert uses.served(plan("where can I sit")).plan.target.semantic.labels
    with pytest.raises(UnsupportedQuestion):
        uses.served(plan("what can I use to charge up with caffeine"))


class Other:
    """An embedder that the threshold wasn't fitted for."""

    name = "other"

    def embed(self, texts: Sequence[str]) -> Float32Array:
        return np.ones((len(texts), 3), np.float32)


def test_likeness_of_another_model_is_not_trusted() -> None:
    assert uses.alike("sit down", Other()) == ()


def test_what_is_guessed_is_not_claimed(home: object, ask: Callable[..., Answer], minilm: MiniLm) -> None:
    question = "what can I use to catch the evening news"
    assert ask(question).verdict is Verdict.UNSUPPORTED
    told = Reasoner(home, embedder=minilm).answer(Question(question))  # type: ignore[arg-type]
    assert told.verdict in (Verdict.AMBIGUOUS, Verdict.STALE, Verdict.NOT_SEEN)
    assert told.verdict is not Verdict.AMBIGUOUS or "may serve" in told.text
