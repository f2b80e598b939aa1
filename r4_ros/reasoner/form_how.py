"""Questions that begin with how: many, far, long, full, and how something is done."""

from __future__ import annotations

from r4_ros.reasoner import lexicon, words
from r4_ros.reasoner.asking import BE, SIZE_WORDS, WAY_VERBS, Ask, Clause, Reader, first_of
from r4_ros.reasoner.clocktime import UNITS
from r4_ros.reasoner.keys import Asked, Form

LENGTHS = frozenset(
    """meter metre yard feet foot mile centimeter centimetre step pace inch stride kilometre kilometer block""".split()
)
"""Units of 'how many .. is it from here to there'."""
QUALITIES = {"old": Asked.OTHER, "heavy": Asked.OTHER, "loud": Asked.OTHER, "bright": Asked.OTHER}


ARRANGING = frozenset("turn switch arrange organize organise tell know be have see find describe explain".split())
"""Verbs of a how that no thing serves for."""


def how(clause: Clause) -> Ask:
    """The form of a question whose asking word is how."""
    found = first_of(READERS, clause)
    return found if found is not None else Ask(Form.EXPLAIN, clause.start, clause.start + 1)


def _many(clause: Clause) -> Ask | None:
    """'how many minutes ago', 'how many metres', 'how many more', 'how many chairs', 'how often'."""
    start = clause.start
    if clause.at(1) == "often":
        return Ask(Form.COUNT, start, start + 2)
    if clause.at(1) not in ("many", "much"):
        return None
    unit = clause.at(2).rstrip("s")
    if clause.at(1) == "many" and unit in UNITS:
        ago = clause.at(3) == "ago"
        each = 2 * (clause.at(3) in ("a", "an", "per", "each") and clause.at(4) in UNITS)  # 'how many hours a day'
        return Ask(Form.WHEN if ago else Form.DURATION, start, start + 3 + ago + each)
    if clause.at(1) == "many" and unit in LENGTHS and not (unit == "step" and _has_steps(clause)):
        return Ask(Form.DISTANCE, start, start + 3)
    if clause.has("than"):
        return Ask(Form.COMPARE, start, start + 2, Asked.NUMBER if clause.at(1) == "many" else Asked.OTHER)
    return Ask(Form.COUNT, start, start + 2)


def _has_steps(clause: Clause) -> bool:
    """'how many steps does the ladder have', 'how many steps are needed to bake it': parts of a thing, no way."""
    if clause.has("between", "from", "away", "reach", "off"):
        return False
    to = next((w.i for w in clause.words if w.tag in ("IN", "TO") and w.lower in ("to", "towards")), -1)
    goal = to >= 0 and clause.reading.phrase_at(to + 1) is not None
    return not goal or clause.has("have", "there", "in", "on")


def _far(clause: Clause) -> Ask | None:
    """'how far', 'how high up', 'how far in advance'."""
    if clause.at(1) == "far" and (clause.at(2), clause.at(3)) in (("in", "advance"), ("ahead", "of")):
        return Ask(Form.DURATION, clause.start, clause.start + 4)
    if clause.at(1) in ("high", "low") and clause.at(2) in ("up", "off", "above", "from"):
        return Ask(Form.DISTANCE, clause.start, clause.start + 2)
    if clause.at(1) not in ("far", "close", "near"):
        return None
    compares = clause.at(1) == "far" and clause.has("than")
    return Ask(Form.COMPARE if compares else Form.DISTANCE, clause.start, clause.start + 2)


def _long(clause: Clause) -> Ask | None:
    """'how long ago', 'how long has it been there', 'how long is the rope'."""
    start = clause.start
    if clause.at(1) != "long":
        return None
    if clause.at(2) == "ago":
        return Ask(Form.WHEN, start, start + 3)
    if clause.has("than"):
        return Ask(Form.COMPARE, start, start + 2, Asked.OTHER)
    lasts = any(w.tag in ("VBD", "VBN", "VBG", "IN") for w in clause.words[3:]) or clause.untimed[-1].tag == "JJ"
    size = clause.at(2) in BE and not lasts and not clause.lemmas & {"stay", "sit", "stand"}
    return Ask(Form.ATTRIBUTE, start, start + 2, Asked.SIZE) if size else Ask(Form.DURATION, start, start + 2)


def _much_so(clause: Clause) -> Ask | None:
    """'how full is the bin', 'how tall is the shelf', 'how old is she'."""
    said, start = clause.at(1), clause.start
    if said in words.STATES:
        return Ask(Form.STATE, start, start + 2, Asked(words.STATES[said][0]))
    if said in ("quickly", "fast", "soon") and clause.at(2) in ("did", "does", "do", "can"):
        return Ask(Form.DURATION, start, start + 2)
    if said in SIZE_WORDS | set(QUALITIES):
        return Ask(Form.ATTRIBUTE, start, start + 2, QUALITIES.get(said, Asked.SIZE))
    return None


def _way(clause: Clause) -> Ask | None:
    """'how can I exit the stall', 'how do we get to the lift', 'how should I turn'."""
    if clause.at(1) == "to" and clause.at(2) in ("get", "reach", "go", "walk") and not clause.has("rid"):
        return Ask(Form.NAVIGATE, clause.start, clause.start + 3)  # 'show me how to get to the canteen'
    if not clause.has("i", "we"):
        return None
    rooms = any(lexicon.is_room(p.noun) for p in clause.reading.phrases if clause.start < p.start < clause.end)
    goes = clause.lemmas & {"exit", "leave"} or ("reach" in clause.lemmas and rooms)
    goes = goes or ("get" in clause.lemmas and (clause.has("to") or "get out of" in " ".join(clause.lowers)))
    verb = next((w for w in clause.words[2:5] if w.tag == "VB"), None)
    turns = verb is not None and verb.lemma in WAY_VERBS - {"get", "leave"} and clause.at(1) in ("should", "do", "can")
    turns = turns and clause.at(verb.i + 1 - clause.start if verb else 0) not in ("on", "off", "the", "a")
    return Ask(Form.NAVIGATE, clause.start, clause.start + 1) if goes or turns else None


def _serves(clause: Clause) -> Ask | None:
    """'how can I clean the board': what serves for it."""
    asked = {clause.at(1), clause.at(2)}  # 'how I can ..' too
    asker = asked & {"can", "could"} and asked & {"i", "we", "you", "one"}
    serves = (
        bool(asker) and len(clause.words) > 3 and clause.words[3].tag == "VB" and clause.words[3].lemma not in ARRANGING
    )
    return Ask(Form.IDENTIFY, clause.start, clause.start + 1, bare=True) if serves else None


READERS: tuple[Reader, ...] = (_many, _far, _long, _much_so, _way, _serves)
