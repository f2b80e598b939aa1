"""What happened, how often, first or last: words for events in questions."""

from __future__ import annotations

from typing import Literal

from r4_ros.reasoner import lexicon
from r4_ros.reasoner.keys import EventName
from r4_ros.reasoner.parse import Reading

ORDINALS = {
    w: i for i, w in enumerate("zeroth first second third fourth fifth sixth seventh eighth ninth tenth".split())
}
COUNTED_IN_SPACE = frozenset(
    """row floor shelf drawer door room column line place object thing item one seat step aisle layer level corner side
    street house building part compartment rack hook bay dock""".split()
)
PASSING = frozenset("arrive come enter leave pass drive walk run appear knock ring cross go".split())
VISITS = frozenset(
    """visit round check look patrol tour inspection trip pass sweep walk run shift session scan lap stop circuit
    outing attempt go encounter watch""".split()
)
"""What a robot or a person does again and again: 'your last round'."""
HAPPENINGS = VISITS | frozenset(
    """alarm meeting call break meal visitor guest customer parcel party match game film movie show concert sermon
    service storm flood fire drill rehearsal wedding funeral exam lesson class lecture interview blackout collection
    departure fair audit refit sale clean cleaning cleanup repair delivery collapse crash accident spill leak quake
    earthquake power-cut outage strike closure opening launch race parade ceremony festival holiday conference
    presentation performance play speech talk debate discussion conversation ride drive journey flight move switch
    change update upgrade restart reboot reset test trial survey briefing handover changeover raid burglary theft
    argument fight row operation procedure surgery treatment workout practice training course breakdown stocktake
    makeover renovation redecoration refurbishment extension snowfall snow rain frost thaw heatwave eclipse
    activity task step stage half feed
    feeding wash bath nap sleep phone-call knock ring bell cut whistle gong siren buzzer bang""".split()
)
"""Nouns of what happens at a time."""
EVENTFUL = ("tion", "sion", "ment", "ival", "livery")
EVENT_WORDS: dict[str, EventName] = {
    "move": "moved",
    "shift": "moved",
    "relocate": "moved",
    "displace": "moved",
    "rearrange": "moved",
    "disappear": "disappeared",
    "vanish": "disappeared",
    "remove": "disappeared",
    "take": "disappeared",
    "steal": "disappeared",
    "appear": "appeared",
    "arrive": "appeared",
    "add": "appeared",
    "return": "reappeared",
    "reappear": "reappeared",
    "change": "changed",
    "alter": "changed",
    "swap": "changed",
    "replace": "changed",
    "switch": "changed",
    "turn": "changed",
    "rotate": "changed",
    "repaint": "changed",
}
"""verb -> what happened to the thing."""


def event_word(reading: Reading, i: int) -> EventName | None:
    """What the verb at token i says has happened."""
    word = reading.words[i]
    if word.lower in ("gone", "missing"):
        return "disappeared"
    if word.lemma in ("come", "bring", "put") and reading.lowers[i + 1 : i + 2] == ("back",):
        return "reappeared"
    if not word.tag.startswith("VB") and word.lower not in ("moved", "removed", "disappeared"):
        return None
    following = reading.lowers[i + 1] if i + 1 < len(reading.lowers) else ""
    named = reading.phrase_at(i) if word.tag == "VBG" else None
    if named is not None and named.head != i:
        return None  # 'the changing room'
    if {"if", "without", "to"} & set(reading.lowers[max(0, i - 3) : i]) and word.tag != "VBN":
        return None
    if word.lemma == "take" and (word.tag not in ("VBN", "VBD") or following in ("to", "part", "place", "care")):
        return None
    if {"should", "can", "could", "must"} & set(reading.lowers[max(0, i - 3) : i]):
        return None
    if word.lemma == "turn" and (following not in ("round", "around", "over") or word.tag not in ("VBN", "VBD")):
        return None
    if word.lemma == "switch" and following in ("on", "off"):
        return None
    return EVENT_WORDS.get(word.lemma) or EVENT_WORDS.get(word.lower.removesuffix("d"))


def sighting(reading: Reading, begin: int, end: int) -> Literal["", "first", "last"]:
    """Whether words speak of the first or last sighting of something."""
    part = reading.words[begin:end]
    if not any(w.lemma in ("see", "notice", "spot", "saw") for w in part):
        return ""
    return "last" if any(w.lower == "last" for w in part) else "first"


def one_that(reading: Reading, i: int) -> bool:
    """'the last person to leave', 'the first thing you noticed', 'the fourth box that the chef took': which was it."""
    phrase = reading.phrase_at(i + 1) if i + 2 < len(reading.lowers) else None
    if phrase is None or phrase.head + 2 >= len(reading.lowers):
        return False
    following = reading.lowers[phrase.end]
    if following == "to" and reading.words[phrase.end + 1].tag == "VB":
        return True
    if phrase.noun in ("person", "one", "robot", "thing", "object") and following in ("who", "that", "you", "i", "in"):
        return reading.words[phrase.end + 1].tag not in ("MD", "VBP") and reading.lowers[phrase.end + 1] != "'d"
    of_it = [w for w in reading.words[phrase.end :] if w.head == phrase.head]
    done = any(w.dep == "relcl" and w.tag == "VBD" and w.lemma != "be" for w in of_it)
    thing = phrase.noun in ("thing", "item", "object", "person", "one")
    return done or (thing and any(w.dep == "acl" and w.tag == "VBN" and w.i == phrase.end for w in of_it))


def is_happening(noun: str) -> bool:
    """Whether a noun names something that happens: 'visit', 'delivery'."""
    noun = noun.removesuffix("s") if noun not in HAPPENINGS else noun
    return noun in HAPPENINGS or (noun.endswith(EVENTFUL) and lexicon.kind_of(noun) is None)


def is_event(reading: Reading, i: int) -> bool:
    """Whether the ordinal at token i counts happenings: 'the second delivery', 'did the first alarm go off'."""
    phrase = reading.phrase_at(i)
    if phrase is None or phrase.head <= i or reading.lowers[phrase.end : phrase.end + 1] == ("from",):
        return False
    noun = phrase.noun.split()[-1]
    if noun.endswith(EVENTFUL) and lexicon.kind_of(noun) is None:
        return True
    head = reading.words[phrase.head]
    passing = any(w.dep == "relcl" and w.head == head.i and w.lemma in PASSING for w in reading.words)
    passing = passing and not any(w.dep == "nsubj" and w.tag == "PRP" and w.i > head.i for w in reading.words)
    if passing or lexicon.kind_of(noun) is not None or noun in COUNTED_IN_SPACE:
        return passing
    verb = reading.words[head.head]
    acts = (
        head.dep == "nsubj" and verb.tag.startswith("VB") and verb.lemma not in ("be", "stand", "lie", "have", "look")
    )
    return acts or noun in HAPPENINGS
