"""Clauses that name an event: 'after you left the kitchen', 'before the mug was moved', 'during the meeting'."""

from __future__ import annotations

from typing import Literal

from r4_ros.reasoner import lexicon
from r4_ros.reasoner.asking import BE, Ask
from r4_ros.reasoner.keys import EventKey, Form
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.temporal import Mention

Way = Literal["entered", "left", "was_in"]
LEAVING = frozenset("leave exit quit depart".split())
ENTERING = frozenset("enter reach".split())
GOING = frozenset("go come walk drive get move head arrive step roll return".split())
STAYING = frozenset("be stay wait stand remain sit work clean".split())
INTO = frozenset("in into to at inside through".split())
OUT = frozenset("out from".split())


def own_way(reading: Reading, begin: int, end: int) -> EventKey | None:
    """What a robot itself did in words [begin, end): entered, left or was in a room; None where that isn't said."""
    room = next((p for p in reading.phrases if begin <= p.start < end and lexicon.is_room(p.noun)), None)
    subject = _robot(reading, begin, end)
    if room is None or subject is None:
        return None
    way = _way(reading, begin, room)
    if way is None:
        return None
    lowers = reading.lowers[begin:end]
    rank = 1 if "first" in lowers else 2 if "second" in lowers else 3 if "third" in lowers else 0
    return EventKey(own=way, region=" ".join([*room.modifiers, room.noun]), agent=subject, rank=rank)


def own_claim(reading: Reading, ask: Ask, end: int) -> EventKey | None:
    """'have you ever been in the bathroom', 'did robot1 go into it', 'is robot2 in it': of a robot's own way."""
    if ask.form not in (Form.VERIFY, Form.EXISTS):
        return None
    begin = ask.start + 1
    begin += reading.lowers[begin : begin + 1] in (("n't",), ("not",))
    asker = reading.lowers[begin : begin + 1] in (("i",), ("me",), ("we",), ("us",))
    present = reading.lowers[ask.start] in ("is", "are", "'s", "am")
    if asker or begin >= end or (present and reading.lowers[begin] == "you"):
        return None  # where the asker is now is told by the view
    own = own_way(reading, begin, end)
    room = next((p for p in reading.phrases if begin <= p.start < end and lexicon.is_room(p.noun)), None)
    if own is not None or room is None or _robot(reading, begin, end) is None:
        return own
    between = reading.lowers[begin : room.start]
    stands = reading.lowers[ask.start] in BE and INTO & set(between)
    visits = any(w.lemma == "visit" for w in reading.words[begin : room.start])
    if not (stands or visits):
        return None
    region = " ".join([*room.modifiers, room.noun])
    return EventKey(own="was_in", region=region, agent=_robot(reading, begin, end) or "")


def own_rooms(reading: Reading, ask: Ask, end: int) -> EventKey | None:
    """'which rooms have you been in', 'how many rooms did robot1 visit'."""
    at = next((i for i in range(ask.start, end) if reading.words[i].lemma == "room"), -1)
    asks = ask.form in (Form.IDENTIFY, Form.COUNT, Form.LOCATE) and 0 <= at <= ask.start + 3
    verb = at + 1
    if not asks or verb + 1 >= end or reading.words[verb].lemma not in ("have", "do", "be"):
        return None
    rest = reading.words[verb + 1 : end]
    robot = _robot(reading, verb + 1, end)
    visits = any(w.lemma in ("visit", "enter", "be", "go") for w in rest)
    visits = visits or (reading.words[verb].lemma == "be" and rest[-1].lower in ("in", "first", "last"))
    return EventKey(own="was_in", region="room", agent=robot) if robot is not None and visits else None


def _robot(reading: Reading, begin: int, end: int) -> str | None:
    """'' for you and me, a robot's name; None where something else is the subject."""
    words = reading.lowers[begin:end]
    if words and words[0] in EGO_WORDS:
        return ""
    phrase = reading.phrase_at(begin)
    name = phrase.noun if phrase is not None else words[0] if words else ""
    if name == "robot" or name in ("leaving", "entering", "reaching"):
        return ""
    return name if name.startswith("robot") and any(c.isdigit() for c in name) else None


def _way(reading: Reading, begin: int, room: NounPhrase) -> Way | None:
    """By the last verb before the room, and the preposition between."""
    between = reading.lowers[begin : room.start]
    for word in reversed(reading.words[begin : room.start]):
        if word.lemma in LEAVING:
            return "left"
        if word.lemma in ENTERING:
            return "entered"
        if word.lemma in GOING:
            return "left" if OUT & set(between) else "entered" if INTO & set(between) else None
        if word.lemma in STAYING and INTO & set(between):
            return "was_in"
    return None


def told(reading: Reading, begin: int, end: int) -> EventKey | None:
    """An event that only episodes may tell of, by its words; None where there are no words with content."""
    content = [w for w in reading.words[begin:end] if w.tag[:2] in ("NN", "VB") and w.lemma not in ("be", "have", "do")]
    return EventKey(text=reading.said(begin, end)) if content else None


def named(mention: Mention) -> bool:
    """Whether a time mention names an event by words at all."""
    return mention.clause >= 0 and mention.key.start is None
