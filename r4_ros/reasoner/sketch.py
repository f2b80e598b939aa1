"""A question on its way to a plan: what has been found in its words so far, and what it asks about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from r4_ros.reasoner import asking, lexicon, spatial, superlative, temporal, words
from r4_ros.reasoner.asking import Ask
from r4_ros.reasoner.keys import Form, Reference, Relation, Step
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NounPhrase

ROBOT = re.compile(r"^(?:robot|agent|r)[ _-]?\d+$")
EXCLUDING = tuple(
    tuple(said.split())
    for said in (
        "apart from|aside from|other than|not counting|not including|without counting|excluding|except for|except|"
        "besides|but for|leaving out"
    ).split("|")
)
LEADING = frozenset("take guide lead navigate escort drive walk show".split())
PRONOUNS = frozenset("it they them that those".split())
MEASURES = frozenset("sign trace kind type sort piece pair lot number amount bunch bit set variety".split())
AIMS = frozenset("get use find see grab reach open touch face take fetch".split())
"""Verbs of a purpose whose object is the target itself ('to get the box')."""
SERVING = frozenset("somewhere anywhere something anything somebody someone place thing".split())
IMAGINING = frozenset("if say suppose while imagine position picture assume".split())
STANCES = frozenset("sit stand lie be face look position kneel lean wait stay perch 'm".split())
IMAGINED_TO = frozenset(", ? what where which who how".split())
WANTING = frozenset("want need like wish have try".split())
PURPOSES = frozenset(words.PURPOSES)
TOWARDS = frozenset("to at for".split())
STANDING = frozenset("is are was were am 's 're 'm be been in at now exactly located standing right then".split())
ABSTRACT = frozenset(
    "record chance way time moment case front turn degree direction amount number position total location bit".split()
)


@dataclass
class Sketch:
    """A plan being built."""

    reading: Reading
    ask: Ask
    begin: int
    end: int
    masked: frozenset[int]
    mentions: list[temporal.Mention]
    places: list[spatial.Place]
    extremes: list[superlative.Extreme]
    agents: tuple[str, ...] = ()
    agent_phrases: tuple[NounPhrase, ...] = ()
    target: NounPhrase | None = None
    steps: list[Step] = field(default_factory=list)
    made: dict[int, Reference] = field(default_factory=dict)
    claimed: spatial.Place | None = None
    alternatives: list[spatial.Place] = field(default_factory=list)
    about: Literal["thing", "robot", "robots", "rooms"] = "thing"
    used: set[int] = field(default_factory=set)  # words that went into the plan


def find_agents(sketch: Sketch) -> None:
    """Robots that are named as who saw it ('what did robot2 see')."""
    apart = tuple(w for w in sketch.reading.words if ROBOT.match(w.lower) and sketch.reading.phrase_at(w.i) is None)
    sees = any(w.lemma in asking.SEE_LEMMAS | {"know", "say"} for w in sketch.reading.words)
    found = tuple(p for p in sketch.reading.phrases if _is_agent(sketch, p) and p.start not in sketch.masked)
    if sees and found:
        sketch.agents = tuple(p.noun for p in found)
        sketch.agent_phrases = found
    elif sees and apart:
        sketch.agents = tuple(w.lower for w in apart)
        sketch.used.update(w.i for w in apart)


def _is_agent(sketch: Sketch, phrase: NounPhrase) -> bool:
    """A robot by its number, or whoever does the seeing ('what did rex see')."""
    head = sketch.reading.words[phrase.head]
    verb = sketch.reading.words[head.head]
    sees = head.dep == "nsubj" and verb.lemma in asking.SEE_LEMMAS and phrase.head < verb.i
    asked = sketch.ask.start <= phrase.head < sketch.ask.end
    known = lexicon.exact_kind(phrase.noun) is not None
    return bool(ROBOT.match(phrase.noun)) or (sees and not asked and not known and not phrase.plural)


def find_target(sketch: Sketch) -> NounPhrase | None:
    """The noun phrase that is asked about: the first behind the asking words that isn't something else's anchor."""
    ask = sketch.ask
    if reading_of_whose(sketch):
        return _antecedent(sketch, set())
    if ask.bare and ask.form is Form.IDENTIFY and not _predicate_noun(sketch):
        return None
    if _wanted(sketch) >= 0:
        return None
    if ask.form in (Form.LOCATE, Form.NAVIGATE) and purpose_at(sketch) >= 0:
        return None
    if _serving(sketch) >= 0:
        return None
    if ask.form is Form.CHOOSE and reading_of_who(sketch):
        return None
    taken = {id(p) for p in sketch.reading.phrases if _is_excluded(sketch.reading, p)}
    taken |= {id(p.anchor) for p in sketch.places} | {id(p.other) for p in sketch.places}
    taken |= {id(p) for p in sketch.agent_phrases} | {id(e.reference) for e in sketch.extremes}
    candidates = [
        p
        for p in sketch.reading.phrases
        if ask.end <= p.head < sketch.end
        and p.start not in sketch.masked
        and id(p) not in taken
        and p.noun not in ABSTRACT
        and p.head not in sketch.masked
        and not _is_whole(sketch, p)
        and not _is_measured_to(sketch, p)
    ]
    if ask.form in (Form.EXISTS, Form.VERIFY, Form.CHOOSE, Form.LOCATE) and not candidates:
        candidates = [
            p
            for p in sketch.reading.phrases
            if p.end <= ask.start + 1 and id(p) not in taken and p.start not in sketch.masked
        ]
    if not candidates and ask.form in (Form.DISTANCE, Form.DIRECTION, Form.NAVIGATE):
        candidates = [p for p in sketch.reading.phrases if p.start >= ask.end and p.start not in sketch.masked]
    others = [p for p in candidates if p.noun != "robot" and not _is_other_end(sketch, p)] or candidates
    if not others:
        return _antecedent(sketch, taken)
    found = _of_kind(sketch, _goal(sketch, others) or _object(sketch, others) or others[0])
    open_one = found.noun in SERVING and (purpose_at(sketch) >= 0 or (ask.bare and "if" in sketch.reading.lowers))
    return None if open_one else found


def shown_on(sketch: Sketch) -> NounPhrase | None:
    """'what colours are in the painting': the property is the painting's own."""
    if sketch.ask.form is not Form.ATTRIBUTE:
        return None
    place = next((p for p in sketch.places if p.subject is None and p.anchor is not None and not p.ego), None)
    if place is None or place.relation not in (Relation.ON, Relation.IN) or place.anchor is None:
        return None
    sketch.places.remove(place)
    sketch.used.update(range(place.start, place.end))
    return place.anchor


def _is_excluded(reading: Reading, phrase: NounPhrase) -> bool:
    return any(reading.lowers[max(0, phrase.start - len(said)) : phrase.start] == said for said in EXCLUDING)


def _object(sketch: Sketch, candidates: list[NounPhrase]) -> NounPhrase | None:
    """'where did Anna put the ruler': what was put is sought, not who did it."""
    if sketch.ask.form is not Form.LOCATE:
        return None
    words = sketch.reading.words
    doers = {words[p.head].head for p in sketch.reading.phrases if words[p.head].dep == "nsubj"}
    doers |= {w.head for w in words if w.dep == "nsubj"}
    return next((p for p in candidates if words[p.head].dep == "dobj" and words[p.head].head in doers), None)


def _goal(sketch: Sketch, candidates: list[NounPhrase]) -> NounPhrase | None:
    """'guide the visitors to the painting': where to, not whom."""
    ask, lowers = sketch.ask, sketch.reading.lowers
    leads = sketch.reading.words[ask.start].lemma in LEADING if ask.start < len(lowers) else False
    if ask.form is not Form.NAVIGATE or not leads:
        return None
    return next((p for p in candidates if lowers[p.start - 1 : p.start] in (("to",), ("towards",))), None)


def _of_kind(sketch: Sketch, phrase: NounPhrase) -> NounPhrase:
    """'how many kinds of snacks', 'a piece of furniture': the thing, not its measure."""
    if phrase.noun not in MEASURES or sketch.reading.lowers[phrase.end : phrase.end + 1] != ("of",):
        return phrase
    thing = sketch.reading.phrase_at(phrase.end + 1)
    if thing is not None:
        sketch.used.update(range(phrase.start, phrase.end + 1))
    return thing or phrase


def _antecedent(sketch: Sketch, taken: set[int]) -> NounPhrase | None:
    """'there are two boards, which color are they': what a pronoun, or nothing, stands for was named before."""
    reading, ask = sketch.reading, sketch.ask
    pronouns = set(reading.lowers[ask.start : sketch.end]) & PRONOUNS
    whose = reading.lowers[ask.start : ask.start + 1] == ("whose",)
    if (ask.bare and not whose) or not (pronouns or ask.end >= sketch.end or ask.form is Form.NAVIGATE):
        return None
    before = (p for p in reading.phrases if p.head < ask.start and id(p) not in taken and p.start not in sketch.masked)
    found = next((p for p in before if p.noun not in ABSTRACT), None)
    if found is not None:
        sketch.used.update(i for i in range(ask.start, sketch.end) if reading.lowers[i] in PRONOUNS)
    return found


def reading_of_whose(sketch: Sketch) -> bool:
    """'the shoes under the bench, whose are they': asked of what was named before."""
    ask, lowers = sketch.ask, sketch.reading.lowers
    return ask.start > 0 and lowers[ask.start] == "whose" and bool(PRONOUNS & set(lowers[ask.start : sketch.end]))


def reading_of_who(sketch: Sketch) -> bool:
    """'was it the porter or the doctor who closed the blind': one of the choices is what is asked."""
    lowers = sketch.reading.lowers
    return lowers[sketch.ask.start + 1 : sketch.ask.start + 2] == ("it",) and bool(
        {"who", "that", "which"} & set(lowers[sketch.ask.start : sketch.end])
    )


def _is_measured_to(sketch: Sketch, phrase: NounPhrase) -> bool:
    """'which object is closer to the window, the bed or the bin': neither the window nor 'object' is compared."""
    if sketch.ask.form is not Form.COMPARE:
        return False
    before = sketch.reading.lowers[max(0, phrase.start - 2) : phrase.start]
    if before[-1:] and before[-1] in superlative.COMPARATIVES:
        return True
    to = before[-1:] in (("to",), ("from",)) and before[:1] and before[0] in superlative.COMPARATIVES
    return bool(to) or lexicon.is_anything(phrase.noun) or phrase.noun == "one"


def _is_whole(sketch: Sketch, phrase: NounPhrase) -> bool:
    """'which side of the bed is the lamp on', 'which shelf of the cabinet': what the asked part belongs to."""
    ask, lowers = sketch.ask, sketch.reading.lowers
    if ask.form not in (Form.DIRECTION, Form.LOCATE) or lowers[phrase.start - 1 : phrase.start] != ("of",):
        return False
    return phrase.start - 1 == ask.end and any(p.start > phrase.end for p in sketch.reading.phrases)


def _is_other_end(sketch: Sketch, phrase: NounPhrase) -> bool:
    """'how far from the dog was the child': where the distance is measured from."""
    measured = sketch.ask.form in (Form.DISTANCE, Form.DIRECTION)
    return measured and sketch.reading.lowers[phrase.start - 1 : phrase.start] == ("from",)


def _predicate_noun(sketch: Sketch) -> bool:
    """'what is the object on the table': a noun follows the verb and nothing stands between."""
    lowers = sketch.reading.lowers
    i = sketch.ask.end
    while i < sketch.end and (lowers[i] in asking.BE or i in sketch.masked):
        i += 1
    phrase = sketch.reading.phrase_at(i) if i < sketch.end else None
    return phrase is not None and phrase.start == i and lowers[i - 1 : i] != ("did",)


def subject(sketch: Sketch) -> Literal["thing", "robot", "robots", "rooms"]:
    """What is asked about: a remembered thing, or a robot's own place, the robots, the rooms of the map."""
    ask, target, lowers = sketch.ask, sketch.target, sketch.reading.lowers
    if ask.form is Form.LOCATE:
        rest = [i for i in range(ask.end, sketch.end) if i not in sketch.masked and lowers[i] not in STANDING]
        robots = tuple(lowers[i] for i in rest if ROBOT.match(lowers[i]))
        named = sketch.reading.phrase_at(rest[0]) if rest else None
        if named is not None and ROBOT.match(named.noun) and rest == list(range(named.start, named.end)):
            robots, rest = (named.noun,), []
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


def purpose_at(sketch: Sketch) -> int:
    """Where the verb of a purpose stands; -1: none is said."""
    lowers, tokens = sketch.reading.lowers, sketch.reading.words
    begin, end = sketch.ask.end, sketch.end
    serving = _serving(sketch)
    if serving >= 0:
        return serving
    used = next((k for k in range(begin, end - 2) if lowers[k] in ("use", "used") and lowers[k + 1] == "to"), -1)
    if used >= 0 and used not in sketch.masked and tokens[used + 2].tag == "VB":
        return used + 2
    serves = next((k for k in range(begin, end - 2) if lowers[k : k + 2] == ("use", "for")), -1)
    if serves >= 0:
        return serves + 2
    wanted = _wanted(sketch)
    if wanted >= 0:
        return wanted
    for k in range(begin, end - 3):  # 'behind me that I can sit on'
        relative = (
            lowers[k] in ("that", "which") and lowers[k + 1] in ("i", "you", "we", "one") and lowers[k + 2] == "can"
        )
        if relative and tokens[k + 3].lemma in PURPOSES:
            return k + 3
    modal = {"can", "could", "should", "need", "might", "would"} & set(lowers[begin - 1 : begin + 3])
    if not modal or not {"i", "we", "one"} & set(lowers[begin : begin + 4]):
        return -1
    to = next((k for k in range(begin, end - 1) if lowers[k] == "to" and tokens[k + 1].tag == "VB"), -1)
    if to >= 0:
        aims = tokens[to + 1].lemma in AIMS and sketch.reading.phrase_at(to + 2) is not None
        return -1 if aims else to + 1
    plain = ("use", "be", "find", "see", "get", "go", "grab", "head", "turn", "do", "look")
    for k in range(begin, end):
        perfect = tokens[k].lemma == "have" and k + 1 < end and tokens[k + 1].tag == "VBN"  # 'would I have found'
        if tokens[k].tag == "VB" and tokens[k].lemma not in plain and not perfect:
            return k
    return -1


def _wanted(sketch: Sketch) -> int:
    """'I want to leave the building. Which way?': where the verb stands that was said before; -1: none is."""
    lowers, tokens = sketch.reading.lowers, sketch.reading.words
    named = any(sketch.ask.end <= p.head < sketch.end for p in sketch.reading.phrases)
    if sketch.ask.form is not Form.NAVIGATE or named:
        return -1
    for k in range(1, sketch.ask.start):
        wanted = lowers[k - 1] in ("gotta", "got") or (tokens[k - 1].lemma in WANTING and lowers[k] == "to")
        at = k + (lowers[k] == "to")
        if wanted and tokens[at].tag in ("VB", "VBP", "NN") and tokens[at].lemma not in AIMS:
            return at
    return -1


def _serving(sketch: Sketch) -> int:
    """'somewhere to sit', 'something to drink from': where the verb stands, -1 if that isn't said."""
    lowers, tokens = sketch.reading.lowers, sketch.reading.words
    for k in range(sketch.begin + 1, sketch.end - 1):
        if lowers[k] == "to" and tokens[k + 1].tag == "VB" and lowers[k - 1] in SERVING:
            return k + 1
    return -1


def _stands(reading: Reading, i: int) -> bool:
    """'standing at the counter, ...'."""
    return reading.words[i].tag == "VBG" and reading.words[i].lemma in ("stand", "sit", "lie", "face", "look", "wait")


def imagined_spans(reading: Reading) -> list[tuple[int, int]]:
    """Clauses that say where the asker imagines to be: words [start, end) of 'if I sit on the sofa'."""
    spans: list[tuple[int, int]] = []
    for i, word in enumerate(reading.lowers):
        opens = word in IMAGINING and reading.lowers[i + 1 : i + 2] in (("i",), ("you",), ("that",), ("yourself",))
        opens = opens and any(w.lemma in STANCES for w in reading.words[i : i + 6])
        opens = opens or (i == 0 and "," in reading.lowers and (word == "from" or _stands(reading, i)))
        if opens and not any(a <= i < b for a, b in spans):
            end = next(
                (k for k in range(i, len(reading.lowers)) if reading.lowers[k] in IMAGINED_TO), len(reading.lowers)
            )
            spans.append((i, end))
    return spans
