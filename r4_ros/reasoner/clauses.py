"""Clauses that name an event: 'after you left the kitchen', 'before the mug was moved', 'during the meeting'."""

from __future__ import annotations

from typing import Literal

from r4_ros.reasoner import lexicon
from r4_ros.reasoner.keys import EventKey
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
