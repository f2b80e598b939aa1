"""What kind of answer a question wants, and where in its words that is said."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import lexicon, words
from r4_ros.reasoner.asking import (
    ALIKE,
    AUXILIARIES,
    BE,
    FIND_VERBS,
    GO_VERBS,
    GOING_VERBS,
    HEADING,
    LEADING,
    OPENING,
    PEOPLE,
    SEE_LEMMAS,
    SEEKING,
    SIZE_WORDS,
    SOME,
    WANTING,
    Ask,
)
from r4_ros.reasoner.clocktime import UNITS
from r4_ros.reasoner.form_what import property_asked, what
from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.occasions import event_word
from r4_ros.reasoner.opening import core
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NUMBERS
from r4_ros.reasoner.spatial_words import EVERYWHERE, HAVING


def classify(reading: Reading, masked: frozenset[int], begin: int, end: int) -> Ask:
    """Decide by the question's opening words, then by its verb."""
    start = core(reading, masked, begin, end)
    if start is None:
        return _fragment(reading, begin, end)
    word = reading.lowers[start]
    following = reading.lowers[start + 1] if start + 1 < len(reading.lowers) else ""
    lead = {w.lemma for w in reading.words[begin:start]}
    if lead & {"explain", "describe"} or (reading.words[end - 1].lower == "for" and word == "what"):
        return Ask(Form.EXPLAIN, start, start + 1)
    led = _led(reading, start, end)
    if led >= 0:
        return Ask(Form.NAVIGATE, start, led)
    if word == "how":
        return _how(reading, start, end, following)
    if word in ("what", "which", "whose"):
        return _chosen(reading, what(reading, start, end), end)
    if word == "where":
        return _where(reading, begin, start, end)
    if word == "when":
        return Ask(Form.WHEN, start, start + 1)
    if word == "why":
        return Ask(Form.EXPLAIN, start, start + 1)
    if word in ("who", "whom"):
        if any(w.tag in ("JJR", "RBR") for w in reading.words[start:end]):
            return Ask(Form.COMPARE, start, start + 1, Asked.OTHER)
        seen = _who_saw(reading, start, end)
        if seen:
            return Ask(Form.IDENTIFY, start, seen, Asked.AGENT)
        return Ask(Form.IDENTIFY, start, start + 1, Asked.IDENTITY, bare=True)
    if word in AUXILIARIES or following in ("n't", "not"):
        return _yes_no(reading, masked, start, end)
    return _command(reading, start, end)


def _led(reading: Reading, start: int, end: int) -> int:
    """Where 'take me to', 'would you be so kind as to show us to' ends; -1: that isn't said."""
    lowers = reading.lowers
    for k in range(start, min(start + OPENING, end - 2)):
        if (
            lowers[k : k + 1] in (("way",), ("route",), ("path",))
            and lowers[k + 1] in ("to", "towards")
            and reading.phrase_at(k + 2)
        ):
            return k + 1  # 'show me the way to the canteen', 'what is the quickest route to it'
        goal = lowers[k + 2] in ("to", "towards", "back") and lowers[k + 1] in ("me", "us")
        if goal and reading.words[k].lemma in LEADING:
            return k + 2
    return -1


def _chosen(reading: Reading, ask: Ask, end: int) -> Ask:
    """'what is the desk made of, metal or wood': alternatives behind a comma."""
    lowers = reading.lowers
    comma = next((k for k in range(end - 1, ask.start, -1) if lowers[k] in (",", ":", "-")), -1)
    if comma < 0 or "or" not in lowers[comma:end] or ask.form not in (Form.IDENTIFY, Form.ATTRIBUTE, Form.STATE):
        return ask
    choices, first = _choices(reading, comma, end)
    return replace(ask, form=Form.CHOOSE, choices=choices, chosen_from=first) if first > comma else ask


def _who_saw(reading: Reading, start: int, end: int) -> int:
    """Where 'who saw', 'who has last seen' ends; 0 for 'who did you see'."""
    i = start + 1
    while i < end and reading.lowers[i] in (
        "has",
        "have",
        "had",
        "last",
        "first",
        "else",
        "ever",
        "recently",
        "of",
        "you",
    ):
        i += 1
    return i + 1 if i < end and reading.words[i].lemma in SEE_LEMMAS else 0


def _how(reading: Reading, start: int, end: int, following: str) -> Ask:
    lowers = reading.lowers
    lemmas = {reading.words[k].lemma for k in range(start, end)}
    unit = lowers[start + 2].rstrip("s") if start + 2 < end else ""
    if following == "many" and unit in UNITS:
        ago = lowers[start + 3 : start + 4] == ("ago",)
        return Ask(Form.WHEN if ago else Form.DURATION, start, start + 3 + ago)
    if following == "many" and unit in ("meter", "metre", "yard", "feet", "foot", "mile", "centimeter", "step"):
        return Ask(Form.DISTANCE, start, start + 3)
    if following in ("many", "much", "long", "far") and "than" in lowers[start:end]:
        return Ask(Form.COMPARE, start, start + 2, Asked.NUMBER if following == "many" else Asked.OTHER)
    if following in ("many", "much"):
        return Ask(Form.COUNT, start, start + 2)
    if following in ("far", "close", "near"):
        return Ask(Form.DISTANCE, start, start + 2)
    if following == "long" and lowers[start + 2 : start + 3] == ("ago",):
        return Ask(Form.WHEN, start, start + 3)
    if following == "long":
        size = lowers[start + 2 : start + 3] and lowers[start + 2] in BE and not lemmas & {"stay", "sit", "stand"}
        verbs = any(w.tag in ("VBD", "VBN", "VBG", "IN") for w in reading.words[start + 3 : end])
        return Ask(Form.ATTRIBUTE, start, start + 2, Asked.SIZE) if size and not verbs else _duration(start)
    if following in words.STATES:  # 'how full is the bin'
        return Ask(Form.STATE, start, start + 2, Asked(words.STATES[following][0]))
    if following in SIZE_WORDS or following == "old":
        return Ask(Form.ATTRIBUTE, start, start + 2, Asked.OTHER if following in ("old", "heavy") else Asked.SIZE)
    rooms = any(lexicon.is_room(p.noun) for p in reading.phrases if start < p.start < end)
    leads = (
        lemmas & {"exit", "leave"} or ("reach" in lemmas and rooms) or ("get" in lemmas and "to" in lowers[start:end])
    )
    if leads and set(lowers[start:end]) & {"i", "we"}:
        return Ask(Form.NAVIGATE, start, start + 1)
    serves = start + 3 < end and reading.words[start + 3].lemma in words.PURPOSES
    if serves and following in ("can", "could", "do") and lowers[start + 2] in ("i", "we", "you", "one"):
        return Ask(Form.IDENTIFY, start, start + 1, bare=True)
    return Ask(Form.EXPLAIN, start, start + 1)


def _duration(start: int) -> Ask:
    return Ask(Form.DURATION, start, start + 2)


def _where(reading: Reading, begin: int, start: int, end: int) -> Ask:
    lowers = reading.lowers
    lemmas = [reading.words[k].lemma for k in range(start, end)]
    own = [k for k in range(begin, end) if lowers[k] in ("left", "right", "front", "behind")]
    if "or" in lowers[begin:end] and len(own) > 1:  # 'left or right of me, where is the couch'
        choices, first = _choices(reading, begin, start if "or" in lowers[begin:start] else end)
        if choices:
            return Ask(Form.CHOOSE, min(start, first), start + 1, choices=choices, chosen_from=first)
    if "relative" in lemmas or lowers[end - 2 : end] in (("from", "me"), ("from", "you"), ("from", "here")):
        return Ask(Form.DIRECTION, start, start + 1)
    asker = next((k for k in range(start + 1, min(start + 4, end)) if lowers[k] in ("i", "we")), -1)
    if asker >= 0 and {w.lemma for w in reading.words[asker : asker + 4]} & GOING_VERBS:
        return Ask(Form.NAVIGATE, start, start + 1)
    return Ask(Form.LOCATE, start, start + 1)


def _yes_no(reading: Reading, masked: frozenset[int], start: int, end: int) -> Ask:
    lowers, tokens = reading.lowers, reading.words
    following = lowers[start + 1 : end]
    if following[:1] == ("you",) and tokens[start].lower in ("can", "could", "would", "will") and len(following) > 1:
        verb = start + 2 + (following[1] == "please")
        if tokens[verb].lemma not in SEE_LEMMAS - {"find", "locate"}:
            return _command(reading, verb, end)
    if reading.lowers[end + 1 : end + 3] == ("if", "so"):
        return Ask(Form.IDENTIFY, start, start + 2, bare=True)
    lemmas = [tokens[k].lemma for k in range(start, end)]
    ask = Ask(Form.VERIFY, start, start + 1)
    named = following.index("of") if "of" in following[1:4] else -1
    if named > 0 and following[named - 1] in words.PROPERTIES:  # 'is the shape of the desk round'
        ask = replace(ask, end=start + named + 2, asked=Asked(words.PROPERTIES[following[named - 1]]))
    if {"odd", "even"} & set(following) and {"number", "amount", "odd"} & set(following):
        return replace(ask, form=Form.COUNT, choices=("odd", "even"))
    aside = "without" in following and "or" in following and following.index("without") < following.index("or")
    if "or" in following and not aside and "either" not in following:
        choices, begin = _choices(reading, start, end)
        if choices:
            return replace(ask, form=Form.CHOOSE, choices=choices, chosen_from=begin)
    at = following.index("than") if "than" in following else 0
    number = following[at + 1] if at and at + 1 < len(following) else ""
    if at and following[at - 1] in ("more", "fewer", "less") and (number in NUMBERS or number.isdecimal()):
        return replace(ask, form=Form.COUNT, end=start + at + 3)  # 'is there more than one bed'
    same = "same" in following and "room" not in following
    equal = following.count("as") > 1 and "as" in following[:-2]
    if "than" in following or same or equal or ALIKE & set(following):
        return replace(ask, form=Form.COMPARE, asked=Asked.NUMBER if "number" in lemmas or "more" in lemmas else None)
    may_i = tokens[start].lower in ("can", "could") and following[:1] in (("i",), ("we",))
    if may_i and start + 2 < end and tokens[start + 2].lemma in words.PURPOSES:
        return replace(ask, form=Form.EXISTS)
    there = next((k for k in range(start, min(start + 4, end)) if lowers[k] in ("there", "their", "any")), -1)
    of_them = there >= 0 and lowers[there : there + 2] == ("any", "of")
    if of_them and words.STATES.keys() & set(lowers[there:end]):
        return ask  # 'were any of the windows open'
    if there >= 0 and (
        (tokens[there].tag in ("EX", "PRP$", "RB", "DT") and there == start + 1) or lowers[there] == "any"
    ):
        return replace(ask, form=Form.EXISTS, end=there + (lowers[there] != "any"))
    verb = next((k for k in range(start + 1, min(start + 6, end)) if tokens[k].lemma in SEE_LEMMAS), -1)
    if verb >= 0 and {"i", "you", "we", "anyone", "anybody", "robot"} & set(lowers[start + 1 : verb]) | _robots(
        reading
    ):
        return replace(ask, form=Form.EXISTS, end=verb + 1)
    if _holds(reading, start, end):
        return replace(ask, form=Form.EXISTS)
    if following and following[0] in SOME:
        acts = following[0] in PEOPLE and any(t.dep == "dobj" for t in tokens[start:end])
        return replace(ask, form=Form.VERIFY if acts else Form.EXISTS)
    return ask


def _holds(reading: Reading, start: int, end: int) -> bool:
    """'does the kitchen have a window', 'did the box contain any nails': whether something is there."""
    whole = reading.phrase_at(start + 1) if start + 1 < end else None
    if whole is None or reading.lowers[start] not in ("does", "do", "did"):
        return False
    thing = lexicon.is_room(whole.noun) or lexicon.kind_of(whole.noun) not in (None, "person")
    held = whole.end + 1 < end and reading.words[whole.end].lemma in HAVING
    return held and (thing or whole.noun in EVERYWHERE)


def _robots(reading: Reading) -> set[str]:
    return {w for w in reading.lowers if w.startswith("robot")}


def _choices(reading: Reading, start: int, end: int) -> tuple[tuple[str, ...], int]:
    """The alternatives around 'or', and where they begin: as many words as follow it, at most back to the verb."""
    lowers = reading.lowers
    at = next(k for k in range(start, end) if lowers[k] == "or")
    if lowers[at + 1 : at + 2] in (("not",), ("no",)):
        return (), -1
    state = lowers[at + 1] in words.STATES or lowers[at + 1] in ("up", "down") if at + 2 < end else False
    if state and reading.words[at + 2].tag in ("TO", "IN"):
        end = at + 2  # 'up or down to my left'
    right = reading.said(at + 1, end)
    size = max(1, min(end - at - 1, at - start - 1))
    phrase = reading.phrase_at(at - 1)
    left_start = phrase.start if phrase is not None and reading.phrase_at(at + 1) is not None else at - min(size, 1)
    if reading.words[at + 1].tag == "IN" if at + 1 < end else False:
        left_start = at - min(size, at - start - 1)
    return tuple(c for c in (reading.said(left_start, at), right) if c), left_start


def _command(reading: Reading, start: int, end: int) -> Ask:
    verb = reading.words[start].lemma
    led = _led(reading, start, end)
    if led >= 0:
        return Ask(Form.NAVIGATE, start, led)
    if reading.words[start].lower != verb and verb in SEE_LEMMAS:  # 'a red ladder - seen it?'
        return Ask(Form.EXISTS, start, start + 1)
    tells = verb in ("tell", "give", "show", "name")
    told = property_asked(reading, start, end) if tells else None
    if verb in GO_VERBS | HEADING and told is None:
        return Ask(Form.NAVIGATE, start, start + 1)
    if verb in FIND_VERBS:
        return Ask(Form.LOCATE, start, start + 1)
    if verb == "count":
        return Ask(Form.COUNT, start, start + 1)
    if tells and told is None and set(reading.lowers[start : start + 5]) & words.TEXTS:
        return Ask(Form.ATTRIBUTE, start, start + 1 + (reading.lowers[start + 1] in ("me", "us")), Asked.TEXT)
    if told is not None:
        return told
    if verb in ("tell", "show", "name", "list") and "everything" in reading.lowers[start:end]:
        return Ask(Form.IDENTIFY, start, reading.lowers.index("everything", start) + 1, bare=True)
    if verb == "read":
        return Ask(Form.ATTRIBUTE, start, start + 1 + (reading.lowers[start + 1] == "me"), Asked.TEXT)
    if verb == "list" and "order" in reading.lowers[start:end]:
        return Ask(Form.ORDER, start, start + 1)
    if verb == "describe":
        return Ask(Form.EXPLAIN, start, start + 1)
    return Ask(Form.IDENTIFY, start, start + 1)


def _fragment(reading: Reading, begin: int, end: int) -> Ask:
    """No verb asks: 'telly on or off', 'no. of beds', 'any mugs on the table', 'mug location'."""
    lowers = reading.lowers[begin:end]
    if "or" in lowers:
        choices, first = _choices(reading, begin, end)
        if choices:
            return Ask(Form.CHOOSE, begin, begin, choices=choices, chosen_from=first)
    if lowers[:2] in (("no", "of"), ("number", "of")) or lowers[:1] == ("count",):
        return Ask(Form.COUNT, begin, begin + 2)
    if "location" in lowers or "whereabouts" in lowers:
        return Ask(Form.LOCATE, begin, begin)
    lemmas = {reading.words[k].lemma for k in range(begin, end)}
    goal = _goal(reading, begin, end)
    if goal is not None:
        return goal
    if any(w in ("nearest", "closest") for w in lowers) and not _states(reading, begin, end):
        return Ask(Form.LOCATE, begin, begin)
    see = lemmas & SEE_LEMMAS
    if see or lowers[:1] in (("any",), ("anything",)) or EGO_WORDS & set(lowers[:1]):
        return Ask(Form.EXISTS, begin, begin + (lowers[:1] == ("i",)))
    if any(event_word(reading, k) for k in range(begin, end)) or _states(reading, begin, end):
        return Ask(Form.VERIFY, begin, begin)
    return Ask(Form.EXISTS, begin, begin)


def _goal(reading: Reading, begin: int, end: int) -> Ask | None:
    """'I want to go to the stove', 'we need the ladder', 'I can't find my keys', 'looking for a cup'."""
    lowers, tokens = reading.lowers, reading.words
    sought = next((k + 2 for k in range(begin, end - 2) if lowers[k : k + 2] in SEEKING), -1)
    if sought >= 0:
        return Ask(Form.LOCATE, begin, sought)
    if lowers[begin] not in ("i", "we"):
        return None
    to = next((k for k in range(begin + 1, min(begin + 5, end - 1)) if lowers[k] == "to"), -1)
    wanted = to > 0 and tokens[to - 1].lemma in WANTING | {"have", "like"}
    if wanted and tokens[to + 1].lemma in GOING_VERBS | {"get", "leave", "exit", "reach"}:
        return Ask(Form.NAVIGATE, begin, to + 2)
    lost = next((k for k in range(begin, end) if tokens[k].lemma in WANTING), -1)
    lost = lost if lost >= 0 or "n't" not in lowers[begin:end] else lowers.index("n't", begin) + 1
    if 0 <= lost < end and tokens[lost].lemma in WANTING | {"find"} and reading.phrase_at(lost + 1) is not None:
        return Ask(Form.LOCATE, begin, lost + 1)
    return None


def _states(reading: Reading, begin: int, end: int) -> bool:
    """Whether words say something of a thing: a subject before its verb, or a tag behind; not 'there is ..'."""
    if reading.lowers[begin] == "there":
        return False
    subjects = (w for w in reading.words[begin:end] if w.dep in ("nsubj", "nsubjpass"))
    tagged = reading.lowers[end : end + 1] == (",",)
    return tagged or any(w.i < w.head and reading.words[w.head].tag in ("VBZ", "VBP", "VBD", "VBN") for w in subjects)
