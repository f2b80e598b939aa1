"""What questions compare: with what, by what, and whether the answer is a thing or a yes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from r4_ros.reasoner import lexicon, words
from r4_ros.reasoner.keys import By, Form
from r4_ros.reasoner.parse import EGO_WORDS
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import Place
from r4_ros.reasoner.sketch import Sketch
from r4_ros.reasoner.superlative import COMPARATIVES

LESS = frozenset("fewer less".split())
UP = frozenset("higher lower".split())
"""Where things are, not how tall they are."""


@dataclass(frozen=True)
class Compared:
    """The other things; ``places``: the target's own kind at these places; ``reference`` of a distance."""

    direction: Literal["same", "max", "min"]
    phrases: tuple[NounPhrase, ...] = ()
    places: tuple[Place, ...] = ()
    by: By | None = None
    reference: NounPhrase | None = None
    ego: bool = False
    which: bool = False


def find(sketch: Sketch) -> Compared | None:
    """The comparison of a question; None where nothing is compared."""
    ask, target, lowers = sketch.ask, sketch.target, sketch.reading.lowers
    if ask.form not in (Form.COMPARE, Form.ORDER) or target is None:
        return None
    said = lowers[ask.start : sketch.end]
    which = said[:1] in (("which",), ("what",), ("who",)) or ask.form is Form.ORDER
    if ask.form is Form.ORDER:
        return Compared("min", _others(sketch, target, None), which=True)
    at = next((i for i in range(ask.start, sketch.end) if lowers[i] in COMPARATIVES), -1)
    by: By | None = None
    direction: Literal["same", "max", "min"] = "same"
    if at >= 0:
        by, direction = COMPARATIVES[lowers[at]]
        by = By.TOP if lowers[at] in UP else by
    reference, ego, end = _reference(sketch, at) if by is By.DISTANCE else (None, False, at + 1)
    sketch.used.update(range(at, end) if at >= 0 else ())
    if at < 0 and "same" not in said:
        direction = "min" if LESS & set(said) else "max"
    others = _others(sketch, target, reference)
    if others and lowers[ask.start + 1 : ask.start + 2] == (
        "there",
    ):  # 'are there as many forks as knives on the table'
        shared = [p for p in sketch.places if p.subject is others[-1]]
        sketch.places += [replace(p, subject=target) for p in shared]
    places: tuple[Place, ...] = ()
    if not others and "than" in said:
        than = lowers.index("than", ask.start)
        places = tuple(p for p in sketch.places if p.start > than and p.subject in (None, target))
    return Compared(direction, others, places, by, reference, ego, which)


def _others(sketch: Sketch, target: NounPhrase, reference: NounPhrase | None) -> tuple[NounPhrase, ...]:
    """The noun phrases behind the target that no relation uses."""
    taken = {id(a) for p in sketch.places for a in (p.anchor, p.other)} | {id(reference)}
    found = []
    for phrase in sketch.reading.phrases:
        named = phrase.noun in words.PROPERTIES or phrase.noun in ("one", "time", "length")
        if not target.end <= phrase.start < sketch.end or phrase.start in sketch.masked:
            continue
        if id(phrase) in taken or named or lexicon.is_anything(phrase.noun):
            continue
        found.append(phrase)
    return tuple(found)


def _reference(sketch: Sketch, at: int) -> tuple[NounPhrase | None, bool, int]:
    """'closer to the sink', 'farther from me': what the distance is to."""
    lowers = sketch.reading.lowers
    near = sketch.reading.phrase_at(at + 1)
    if near is not None and near.start == at + 1:  # 'nearer the exit'
        return near, False, near.end
    if lowers[at + 1 : at + 2] not in (("to",), ("from",)) or at + 2 >= len(lowers):
        return None, True, at + 1
    if lowers[at + 2] in EGO_WORDS:
        return None, True, at + 3
    phrase = sketch.reading.phrase_at(at + 2)
    return phrase, phrase is None, phrase.end if phrase is not None else at + 2
