"""A question on its way to a plan: what has been found in its words so far, and what it asks about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from r4_ros.reasoner import asking, lexicon, superlative, temporal
from r4_ros.reasoner.asking import Ask
from r4_ros.reasoner.keys import Form, Reference, Step
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import Place
from r4_ros.reasoner.quantity import NOTHING, Quantity

ROBOT = re.compile(r"^(?:robot|agent|r)[ _-]?\d+$")
IMAGINING = frozenset("if when say suppose while imagine position picture assume".split())
STANCES = frozenset("sit stand lie be face look position kneel lean wait stay perch 'm".split())
IMAGINED_TO = frozenset(", ? what where which who how".split())
OTHER_ROBOT = "the other robot"
TOWARDS = frozenset("to at for".split())
STANDING = frozenset("is are was were am 's 're 'm be been in at now exactly located standing right then".split())


@dataclass
class Sketch:
    """A plan being built."""

    reading: Reading
    ask: Ask
    begin: int
    end: int
    masked: frozenset[int]
    mentions: list[temporal.Mention]
    places: list[Place]
    extremes: list[superlative.Extreme]
    agents: tuple[str, ...] = ()
    agent_phrases: tuple[NounPhrase, ...] = ()
    target: NounPhrase | None = None
    steps: list[Step] = field(default_factory=list)
    made: dict[int, Reference] = field(default_factory=dict)
    claimed: Place | None = None
    alternatives: list[Place] = field(default_factory=list)
    about: Literal["thing", "robot", "robots", "rooms"] = "thing"
    used: set[int] = field(default_factory=set)  # words that went into the plan
    quantity: Quantity = NOTHING  # of how many of the target, where words of their own say so


def find_agents(sketch: Sketch) -> None:
    """Robots that are named as who saw it ('what did robot2 see')."""
    apart = tuple(w for w in sketch.reading.words if ROBOT.match(w.lower) and sketch.reading.phrase_at(w.i) is None)
    sees = any(w.lemma in asking.SEE_LEMMAS | {"know", "say", "accord", "according"} for w in sketch.reading.words)
    found = tuple(p for p in sketch.reading.phrases if _is_agent(sketch, p) and p.start not in sketch.masked)
    if sees and found:
        sketch.agents = tuple(OTHER_ROBOT if _is_other(p) else p.noun for p in found)
        sketch.agent_phrases = found
    elif sees and apart:
        sketch.agents = tuple(w.lower for w in apart)
        sketch.used.update(w.i for w in apart)


def _is_other(phrase: NounPhrase) -> bool:
    """'the other robot', 'another robot': not the one that is asked."""
    return phrase.noun == "robot" and (phrase.determiner == "another" or "other" in phrase.modifiers)


def _is_agent(sketch: Sketch, phrase: NounPhrase) -> bool:
    """A robot by its number, or whoever does the seeing ('what did rex see')."""
    head = sketch.reading.words[phrase.head]
    verb = sketch.reading.words[head.head]
    sees = head.dep == "nsubj" and verb.lemma in asking.SEE_LEMMAS and phrase.head < verb.i
    asked = sketch.ask.start <= phrase.head < sketch.ask.end
    known = lexicon.exact_kind(phrase.noun) is not None
    named = bool(ROBOT.match(phrase.noun)) or _is_other(phrase)
    return named or (sees and not asked and not known and not phrase.plural)


def subject(sketch: Sketch) -> Literal["thing", "robot", "robots", "rooms"]:
    """What is asked about: a remembered thing, or a robot's own place, the robots, the rooms of the map."""
    ask, target, lowers = sketch.ask, sketch.target, sketch.reading.lowers
    if ask.form is Form.LOCATE:
        rest = [i for i in range(ask.end, sketch.end) if i not in sketch.masked and lowers[i] not in STANDING]
        robots = tuple(lowers[i] for i in rest if ROBOT.match(lowers[i]))
        named = sketch.reading.phrase_at(rest[0]) if rest else None
        robot = named is not None and (ROBOT.match(named.noun) or _is_other(named))
        if named is not None and robot and rest == list(range(named.start, named.end)):
            robots, rest = (OTHER_ROBOT if _is_other(named) else named.noun,), []
            sketch.used.update(range(named.start, named.end))
            sketch.agents = robots
            return "robot"
        if rest and all(lowers[i] in EGO_WORDS or ROBOT.match(lowers[i]) for i in rest):
            sketch.agents = sketch.agents or robots
            sketch.used.update(rest)
            return "robot"
    own_rooms = (Form.VERIFY, Form.LOCATE, Form.NAVIGATE, Form.DIRECTION, Form.DISTANCE)
    if target is not None and ask.form in own_rooms and lexicon.is_room(target.noun):
        return "rooms"
    if target is None or target.modifiers or sketch.places or _says_more(sketch, target):
        return "thing"
    if ask.form in (Form.COUNT, Form.IDENTIFY, Form.EXISTS) and target.noun == "robot" and not sketch.mentions:
        return "robots"
    return "rooms" if lexicon.is_room(target.noun) else "thing"


def _says_more(sketch: Sketch, target: NounPhrase) -> bool:
    """Whether other things or places are named beside the target."""
    rest = [i for i in range(sketch.ask.start, sketch.end) if not target.start <= i < target.end]
    if "next" in sketch.reading.lowers[sketch.ask.start : sketch.end]:
        return True
    others = any(sketch.reading.phrase_at(i) is not None and i >= sketch.ask.end for i in rest)
    return others or any(sketch.reading.words[i].tag == "IN" and sketch.reading.lowers[i] not in TOWARDS for i in rest)


def _stands(reading: Reading, i: int) -> bool:
    """'standing at the counter, ...'."""
    return reading.words[i].tag == "VBG" and reading.words[i].lemma in ("stand", "sit", "lie", "face", "look", "wait")


def imagined_spans(reading: Reading) -> list[tuple[int, int]]:
    """Clauses that say where the asker imagines to be: words [start, end) of 'if I sit on the sofa'."""
    spans: list[tuple[int, int]] = []
    for i, word in enumerate(reading.lowers):
        opens = word in IMAGINING and reading.lowers[i + 1 : i + 2] in (("i",), ("you",), ("that",), ("yourself",))
        opens = opens and not any(w.lemma in ("want", "wish", "need") for w in reading.words[i : i + 4])
        would = bool({"would", "could", "'d", "might"} & set(reading.lowers))  # 'would it be there if I faced the door'
        opens = opens and any(w.lemma in STANCES and (would or w.tag != "VBD") for w in reading.words[i : i + 6])
        opens = opens or (i == 0 and "," in reading.lowers and (word == "from" or _stands(reading, i)))
        if opens and not any(a <= i < b for a, b in spans):
            end = next(
                (k for k in range(i, len(reading.lowers)) if reading.lowers[k] in IMAGINED_TO), len(reading.lowers)
            )
            spans.append((i, end))
    return spans


def is_past(sketch: Sketch) -> bool:
    """Whether a question is asked in the past tense."""
    first = next(
        (w for w in sketch.reading.words[sketch.begin : sketch.end] if w.tag in ("VBD", "VBZ", "VBP", "MD")), None
    )
    went = sketch.ask.form is Form.LOCATE and any(w.lemma == "go" for w in sketch.reading.words[sketch.ask.end :])
    return first is not None and first.tag == "VBD" and not (went and not sketch.mentions)  # 'where did it go'
