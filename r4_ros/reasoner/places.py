"""Places that questions tell in turns of their own: clock faces, parts of a room, what is under me, within reach."""

from __future__ import annotations

from dataclasses import dataclass

from r4_ros.reasoner import lexicon
from r4_ros.reasoner.asking import BE, WH, Ask
from r4_ros.reasoner.keys import Relation
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.spatial_words import (
    ABSTRACT_ENDINGS,
    AT_PARTS,
    ATTACHING,
    CLOCK,
    CLOTHES,
    CONCRETE,
    DEPTHS,
    FACES,
    HANGING,
    HOURS,
    LINKS,
    LONGEST,
    MANNER,
    PARTS,
    REACH_M,
    SIDES,
    STANCES,
    STOOD_BY,
    TAKING,
    UNITS_OF_LENGTH,
    Words,
)
from r4_ros.reasoner.tokens import NOUN_TAGS

R = Relation
FACED_BEHIND = frozenset(", . if and when while as".split())
EXCLUDING = tuple(
    tuple(said.split())
    for said in (
        "apart from|aside from|other than|not counting|not including|without counting|excluding|except for|except|"
        "besides|but for|leaving out|anywhere but|everywhere but|somewhere but"
    ).split("|")
)


@dataclass(frozen=True)
class Place:
    """A relation in words [start, end); its anchor is a noun phrase or the asker; ``other`` only for between."""

    relation: Relation
    start: int
    end: int
    anchor: NounPhrase | None = None
    ego: bool = False
    other: NounPhrase | None = None
    subject: NounPhrase | None = None  # None: what the question asks about
    negate: bool = False
    reach_m: float = 0.0  # 'within 2 m of'; 0: none said
    viewer: bool = False  # it says where the asker is


def seen_from(reading: Reading) -> list[Place]:
    """'from the sofa, what is ..', 'can you see the clock from the sofa': where the asker is."""
    lowers = reading.lowers
    sees = any(w.lemma == "see" for w in reading.words)
    for i, word in enumerate(lowers[:-1]):
        phrase = reading.phrase_at(i + 1) if word == "from" else None
        opens = phrase is not None and i == 0 and lowers[phrase.end : phrase.end + 1] == (",",)
        other = any(
            w.tag in ("VBD", "VBZ", "VBN") and w.lemma not in ("see", "do", "have", "be") for w in reading.words[:i]
        )
        if phrase is not None and (opens or (sees and i > 2 and not other and phrase.end >= len(lowers) - 1)):
            return [Place(R.AT, i, phrase.end, anchor=phrase, viewer=True)]
    return []


def set_out_from(reading: Reading, ask: Ask, end: int) -> list[Place]:
    """'which way do I head from the lobby to reach the ward': where a way begins."""
    for i in range(ask.start, end - 1):
        origin = reading.phrase_at(i + 1) if reading.lowers[i] == "from" else None
        onward = origin is not None and reading.lowers[origin.end : origin.end + 1] in (("to",), ("towards",))
        if origin is not None and onward and origin.definite:
            relation = R.IN if lexicon.is_room(origin.noun) else R.AT
            return [Place(relation, i, origin.end, anchor=origin, viewer=True)]
    return []


def _turned_to(reading: Reading, i: int) -> list[Place]:
    """'with my back to the door', 'with my feet to the window': what is behind an imagined asker, or before it."""
    lowers = reading.lowers
    part = lowers[i + 2] if lowers[i : i + 1] == ("with",) and lowers[i + 1 : i + 2] in (("my",), ("your",)) else ""
    phrase = reading.phrase_at(i + 4) if part in ("back", "feet", "face", "head") and i + 4 < len(lowers) else None
    if phrase is None or lowers[i + 3] not in ("to", "towards", "against"):
        return []
    if part == "back":
        return [Place(R.BEHIND, i, phrase.end, ego=True, subject=phrase, viewer=True)]
    return [Place(R.FACING, i, phrase.end, anchor=phrase, viewer=True)]


def _diagonal(reading: Reading, i: int) -> list[Place]:
    """'to my back right', 'on my front left side': two sides at once."""
    lowers = reading.lowers
    j = i + (lowers[i] in ("to", "on", "at", "in"))
    closes = (
        j > i and lowers[j : j + 1] == ("the",) and (j + 3 >= len(lowers) or reading.words[j + 3].tag in (".", ","))
    )
    if lowers[j : j + 1] not in (("my",), ("your",)) and not closes:
        return []
    pair = lowers[j + 1 : j + 3]
    depth = next((DEPTHS[w] for w in pair if w in DEPTHS), None)
    side = next((SIDES[w] for w in pair if w in SIDES), None)
    if depth is None or side is None:
        return []
    end = j + 3 + (lowers[j + 3 : j + 4] in (("side",), ("corner",)))
    return [Place(relation, i, end, ego=True) for relation in (depth, side)]


def _clock_face(reading: Reading, i: int) -> list[Place]:
    """'at my 4 o'clock', 'in my three o'clock direction', 'at the 12 o'clock of the rack'."""
    lowers = reading.lowers
    j = i + (lowers[i] in ("at", "in", "on", "to"))
    j += lowers[j : j + 1] in (("my",), ("your",), ("the",))
    if j + 1 >= len(lowers) or lowers[j + 1] not in ("o'clock", "oclock"):
        return []
    of_me = lowers[j + 2 : j + 3] in (("from",), ("of",)) and set(lowers[j + 3 : j + 4]) & EGO_WORDS
    if j == i and lowers[j - 1 : j] != ("my",) and not of_me:
        return []
    hour = int(lowers[j]) if lowers[j].isdecimal() and len(lowers[j]) < 3 else HOURS.get(lowers[j], 0)
    if hour not in CLOCK:
        return []
    end = j + 2
    end += lowers[end : end + 1] in (("direction",), ("position",))
    if of_me:
        return [Place(relation, i, end + 2, ego=True) for relation in CLOCK[hour]]
    if lowers[end : end + 1] == ("of",) and end + 1 < len(lowers):
        phrase = reading.phrase_at(end + 1)
        if phrase is not None:
            return [Place(relation, i, phrase.end, anchor=phrase) for relation in CLOCK[hour]]
        end += 2 if lowers[end + 1] in EGO_WORDS else 0
    elif lowers[j - 1] == "the" and lowers[i] != "the":
        return [Place(relation, i, end, ego=True) for relation in CLOCK[hour]]
    return [Place(relation, i, end, ego=True) for relation in CLOCK[hour]]


def _within(reading: Reading, i: int) -> list[Place]:
    """'within 2 m of the desk', 'less than a metre from me', 'within reach of the bath'."""
    lowers = reading.lowers
    j = i + 1 if lowers[i] in ("within", "inside") else i + 2 if lowers[i : i + 2] == ("less", "than") else i
    if j == i or j >= len(lowers):
        return []
    reach, end = metres(lowers, j)
    if not reach and "reach" in lowers[j : j + 3]:
        reach, end = REACH_M, lowers.index("reach", j) + 1
    if reach and lowers[i] == "within" and lowers[end : end + 1] not in (("of",), ("from",), ("to",)):
        return [Place(R.NEAR, i, end, ego=True, reach_m=reach)]  # 'what is left of you within 1 m'
    if not reach or lowers[end : end + 1] not in (("of",), ("from",), ("to",)):
        return []
    if lowers[end + 1 : end + 2] and lowers[end + 1] in EGO_WORDS:
        return [Place(R.NEAR, i, end + 2, ego=True, reach_m=reach)]
    phrase = reading.phrase_at(end + 1) if end + 1 < len(lowers) else None
    return [] if phrase is None else [Place(R.NEAR, i, phrase.end, anchor=phrase, reach_m=reach)]


def metres(lowers: Words, i: int) -> tuple[float, int]:
    """The length at token i in metres and where it ends: '2 m', 'half a metre', 'three feet'; 0: there is none."""
    if lowers[i : i + 1] == ("half",):
        number, j = 0.5, i + 1 + (lowers[i + 1 : i + 2] in (("a",), ("of",)))
        j += lowers[j : j + 1] == ("a",)
    else:
        word = lowers[i] if i < len(lowers) else ""
        known = {"a": 1.0, "an": 1.0, "one": 1.0} | {w: float(n) for w, n in HOURS.items()}
        plain = word.replace(".", "", 1)
        number = float(word) if plain.isdecimal() and len(plain) < 7 else known.get(word, 0.0)
        j = i + 1
    unit = UNITS_OF_LENGTH.get(lowers[j], 0.0) if j < len(lowers) else 0.0
    return (number * unit, j + 1) if unit else (0.0, i)


def _faced(reading: Reading, i: int) -> list[Place]:
    """'I'm facing the stage; which side is the bar on': where the asker looks."""
    faces = reading.lowers[i : i + 3] in (("i", "am", "facing"), ("i", "'m", "facing"))
    at = i + 2 + faces if faces or reading.lowers[i : i + 2] == ("i", "face") else len(reading.lowers)
    phrase = reading.phrase_at(at) if at < len(reading.lowers) else None
    if phrase is None or phrase.start != at or (i and reading.lowers[i - 1] not in FACED_BEHIND):
        return []
    return [Place(R.FACING, i, phrase.end, anchor=phrase, viewer=True)]


def _turned_towards(reading: Reading, i: int) -> list[Place]:
    """'turn towards the altar. What is on the left?': where the asker looks, before the question."""
    lowers, word = reading.lowers, reading.words[i]
    at = i + 1 + (lowers[i + 1 : i + 2] in (("to",), ("towards",), ("toward",)))
    turns = word.lemma == "face" or (word.lemma == "turn" and at > i + 1)
    if not turns or word.tag not in ("VB", "VBP") or (i and lowers[i - 1] not in (".", ",")) or at >= len(lowers):
        return []
    phrase = reading.phrase_at(at)
    asks = phrase is not None and any(w in WH for w in lowers[phrase.end :])
    return [Place(R.FACING, i, phrase.end, anchor=phrase, viewer=True)] if asks and phrase is not None else []


def _upstairs(reading: Reading, i: int) -> list[Place]:
    """'the wall downstairs', 'anywhere upstairs': a storey; not 'went upstairs'."""
    word = reading.words[i]
    before = reading.words[i - 1] if i else word
    if word.lower not in ("upstairs", "downstairs") or word.tag in NOUN_TAGS or reading.phrase_at(i) is not None:
        return []
    if before.tag[:2] in ("VB", "RB") and before.lower not in LINKS | {"anywhere", "somewhere", "else"}:
        return []
    return [Place(R.IN, i, i + 1, anchor=NounPhrase(i, i + 1, i, word.lower))]


def _both_of(reading: Reading, i: int) -> list[Place]:
    """'near and behind me', 'behind and above the bench': two relations to one thing."""
    lowers = reading.lowers
    joined = lowers[i + 1 : i + 2] == ("and",)
    first, rest = TAKING.get(lowers[i : i + 1]), range(min(LONGEST, len(lowers) - i - 2), 0, -1)
    size = next((n for n in rest if lowers[i + 2 : i + 2 + n] in TAKING), 0) if joined and first is not None else 0
    at = i + 2 + size
    if not size or first is None or at >= len(lowers):
        return []
    ego = lowers[at] in EGO_WORDS
    phrase = None if ego else reading.phrase_at(at)
    if not ego and phrase is None:
        return []
    end = at + 1 if phrase is None else phrase.end
    both = (first, TAKING[lowers[i + 2 : at]])
    return [Place(relation, i, end, anchor=phrase, ego=ego) for relation in both]


def _under_asker(reading: Reading, i: int) -> list[Place]:
    """'the chair I am sitting on', 'what am I leaning against': what is under me."""
    words = reading.words
    if reading.lowers[i] not in ("i", "you") or not any(w.lower in BE for w in words[max(0, i - 1) : i + 2]):
        return []
    verb = next((w for w in words[i + 1 : i + 4] if w.lemma in STANCES and w.tag in ("VBG", "VBN")), None)
    beside = _stood_by(reading, i, verb.i) if verb is not None else None
    if beside is not None:
        return [beside]
    if verb is None or reading.lowers[verb.i + 1 : verb.i + 2] not in (("on",), ("in",), ("against",), ("upon",)):
        return []
    behind = words[verb.i + 2] if verb.i + 2 < len(words) else None
    ends = behind is None or behind.lower == "that"
    if not ends and behind is not None and behind.tag not in (".", ",", "IN", "WDT", "VBZ", "CC", "RB", "VBP", "VBD"):
        return []
    return [Place(STANCES[verb.lemma], i, verb.i + 2, ego=True)]


def _stood_by(reading: Reading, i: int, verb: int) -> Place | None:
    """'the table I am standing in front of', 'the bed that I am sitting next to'."""
    lowers = reading.lowers
    for said, relation in STOOD_BY.items():
        end = verb + 1 + len(said)
        ends = end >= len(lowers) or reading.words[end].tag in (".", ",", "WDT", "VBZ", "VBP", "VBD", "CC", "RB")
        if lowers[verb + 1 : end] == said and ends:
            return Place(relation, i, end, ego=True)
    return None


def _part(reading: Reading, i: int) -> list[Place]:
    """'in the bottom left corner of the room', 'on the east side of the yard', 'onto the side of the bench'."""
    lowers = reading.lowers
    if lowers[i] not in AT_PARTS:
        return []
    of = next((k for k in range(i + 2, min(i + 7, len(lowers) - 1)) if lowers[k] == "of"), -1)
    if of < 0 or lowers[of - 1] not in PARTS or lowers[i : of + 1] in TAKING:
        return []
    if any(reading.words[k].tag not in ("DT", "JJ", "JJS", "NN", "HYPH", "RB", "CC", "VBG") for k in range(i + 1, of)):
        return []
    if {"left", "right", "other", "far", "opposite"} & set(lowers[i:of]) and lowers[of - 1] == "side":
        return []  # a side that has a name of its own
    whole = reading.phrase_at(of + 1)
    if whole is None or whole.start != of + 1 or is_abstract(whole.noun):
        return []
    return [Place(PARTS[lowers[of - 1]], i, whole.end, anchor=whole)]


def _attached(reading: Reading, i: int) -> list[Place]:
    """'clipped to the fence', 'screwed onto the wall', 'plugged into the socket'."""
    word, lowers = reading.words[i], reading.lowers
    if word.lemma not in ATTACHING or word.tag not in ("VBN", "VBD", "VBG"):
        return []
    if lowers[i + 1 : i + 2] not in (("to",), ("onto",), ("on",), ("into",), ("from",)):
        return []
    phrase = reading.phrase_at(i + 2) if i + 2 < len(lowers) else None
    if phrase is None or phrase.start != i + 2 or phrase.noun in FACES | {"side", "end", "top"}:
        return []
    return [Place(R.ATTACHED_TO, i, phrase.end, anchor=phrase)]


def _hangs_over(reading: Reading, i: int) -> list[Place]:
    """'what is the painting hanging over': what is asked for is under it."""
    lowers, words = reading.lowers, reading.words
    last = i + 1 == len(words) or words[i + 1].tag in (".", ",")
    if lowers[i] not in ("over", "above") or not last or i < 3 or words[i - 1].tag != "VBG":
        return []
    phrase = reading.phrase_at(i - 2)
    asks = phrase is not None and lowers[max(0, phrase.start - 2) : phrase.start - 1] == ("what",)
    return [Place(R.UNDER, i, i + 1, anchor=phrase)] if asks and words[i - 1].lemma in HANGING else []


def _separates(reading: Reading, i: int) -> list[Place]:
    """'what separates the desk from the hall', 'the screen that divides the two beds': it is between them."""
    verb = reading.words[i]
    if verb.lemma not in ("separate", "divide") or verb.tag not in ("VBZ", "VBP", "VBD", "VBG"):
        return []
    one = reading.phrase_at(i + 1) if i + 1 < len(reading.words) else None
    joined = one is not None and reading.lowers[one.end : one.end + 1] in (("from",), ("and",))
    far = reading.phrase_at(one.end + 1) if one is not None and joined and one.end + 1 < len(reading.words) else None
    if one is None or one.start != i + 1 or (far is None and not one.plural):
        return []
    return [Place(R.BETWEEN, i, (far or one).end, anchor=one, other=far or one)]


def is_excluded(reading: Reading, phrase: NounPhrase) -> bool:
    """'leaving out the stool', 'apart from the one in the study'."""
    return is_left_out(reading, phrase.start)


def is_left_out(reading: Reading, i: int) -> bool:
    """Whether 'except', 'apart from' stands right before token i: 'anywhere except in the box'."""
    return any(reading.lowers[max(0, i - len(said)) : i] == said for said in EXCLUDING)


def is_worn(reading: Reading, relation: Relation, i: int, phrase: NounPhrase) -> bool:
    """'the man in the orange overalls': what he wears is no place."""
    who = reading.phrase_at(i - 1) if i else None
    worn = relation is R.IN and phrase.noun.split()[-1] in CLOTHES
    return worn and who is not None and lexicon.kind_of(who.noun) in ("person", None)


def is_abstract(noun: str) -> bool:
    """Whether a noun names no thing or place: 'college', 'a conversation', 'good condition'."""
    last = noun.split()[-1]
    if lexicon.kind_of(noun) is not None or lexicon.is_room(noun) or last in CONCRETE:
        return False
    return last in MANNER or last.endswith(ABSTRACT_ENDINGS)


def _room_left_out(reading: Reading, i: int) -> list[Place]:
    """'which rooms except the kitchen', 'excluding the study, where are the mugs'."""
    phrase = reading.phrase_at(i) if is_left_out(reading, i) else None
    if phrase is None or phrase.start != i or not lexicon.is_room(phrase.noun):
        return []
    return [Place(R.IN, i, phrase.end, anchor=phrase, negate=True)]


READERS = (
    _turned_to,
    _turned_towards,
    _faced,
    _diagonal,
    _clock_face,
    _within,
    _under_asker,
    _upstairs,
    _both_of,
    _part,
    _attached,
    _hangs_over,
    _separates,
    _room_left_out,
)
"""Each returns the places that its words at token i tell; none where they tell none."""
