"""What kind of answer a question wants, and where in its words that is said."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import words
from r4_ros.reasoner.asking import (
    AUXILIARIES,
    BE,
    FILLERS,
    FIND_VERBS,
    GO_VERBS,
    IMAGINING,
    PEOPLE,
    RESOLVING,
    SEE_LEMMAS,
    SEEKING,
    SIZE_WORDS,
    SOME,
    TAGS,
    WH,
    Ask,
)
from r4_ros.reasoner.clocktime import UNITS
from r4_ros.reasoner.form_what import property_asked, what
from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.occasions import event_word
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NUMBERS


def sentence(reading: Reading, masked: frozenset[int]) -> tuple[int, int]:
    """The words of the first sentence that asks something (the whole text if none does)."""
    lowers = reading.lowers
    ends = [i for i, w in enumerate(lowers) if w in ("?", "!", ".", ";") and i not in masked] + [len(lowers)]
    begin = 0
    spans = []
    for end in ends:
        if end > begin:
            spans.append((begin, end))
        begin = end + 1
    asking = [s for s in spans if _core(reading, masked, *s) is not None]
    marked = [s for s in asking if lowers[s[1] : s[1] + 1] == ("?",)]
    asking = marked or asking
    return asking[0] if asking else (spans[-1] if spans else (0, len(lowers)))


def classify(reading: Reading, masked: frozenset[int], begin: int, end: int) -> Ask:
    """Decide by the question's opening words, then by its verb."""
    start = _core(reading, masked, begin, end)
    if start is None:
        return _fragment(reading, begin, end)
    word = reading.lowers[start]
    following = reading.lowers[start + 1] if start + 1 < len(reading.lowers) else ""
    if word == "how":
        return _how(reading, start, end, following)
    if word in ("what", "which", "whose"):
        return what(reading, start, end)
    if word == "where":
        return _where(reading, start, end)
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
        if any(
            w.lemma in ("take", "move", "steal", "bring", "put", "remove", "drop") for w in reading.words[start:end]
        ):
            return Ask(Form.ACTION, start, start + 1)
        return Ask(Form.IDENTIFY, start, start + 1, Asked.IDENTITY, bare=True)
    if word in AUXILIARIES or following in ("n't", "not"):
        return _yes_no(reading, masked, start, end)
    return _command(reading, start, end)


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


def _core(reading: Reading, masked: frozenset[int], begin: int, end: int) -> int | None:
    """Where the asking begins, behind greetings, 'can you tell me' and leading clauses."""
    lowers = reading.lowers
    i = begin
    while i < end and (lowers[i] in FILLERS or i in masked):
        i += 1
    if i >= end:
        return None
    inner = next((k for k in range(i + 1, end) if lowers[k] in WH and k not in masked), None)
    lead = {reading.words[k].lemma for k in range(i, inner or i)}
    if inner is not None and lead & RESOLVING and lowers[i] not in WH:
        return inner
    if inner is not None and lowers[i] in IMAGINING | {"from"}:
        return inner
    comma = next((k for k in range(i, end) if lowers[k] == ","), -1)
    if lowers[i] == "when" and EGO_WORDS & set(lowers[i + 1 : i + 2]) and inner is not None and comma > i:
        return inner  # 'when I look up, what is above the sink'
    if lowers[i] in WH or lowers[i] in AUXILIARIES:
        return i
    preposition = reading.words[i].tag in ("IN", "TO") and lowers[i + 1 : i + 2] in (("what",), ("which",), ("when",))
    if preposition:
        return i + 1
    verb = reading.words[i].lemma
    if verb in GO_VERBS | FIND_VERBS | {"count", "list", "name", "describe", "show", "tell"} and _imperative(
        reading, i
    ):
        return i
    after_comma = [k + 1 for k in range(i, end - 1) if lowers[k] == ","]
    for k in after_comma:
        while k < end and (lowers[k] in FILLERS or k in masked):
            k += 1
        if k < end and (lowers[k] in WH or lowers[k] in AUXILIARIES):
            return k
    return inner if inner is not None and lowers[inner] != "which" else None


def _imperative(reading: Reading, i: int) -> bool:
    opens = i == 0 and reading.lowers[i + 1 : i + 2] in (("to",), ("me",), ("us",))
    return opens or (
        reading.words[i].tag in ("VB", "VBP", "NN") and (i == 0 or reading.words[i - 1].tag not in ("DT", "PRP"))
    )


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
    if following in SIZE_WORDS or following == "old":
        return Ask(Form.ATTRIBUTE, start, start + 2, Asked.OTHER if following in ("old", "heavy") else Asked.SIZE)
    if lemmas & {"exit", "leave", "get", "reach"} and set(lowers[start:end]) & {"i", "we"}:
        return Ask(Form.NAVIGATE, start, start + 1)
    serves = start + 3 < end and reading.words[start + 3].lemma in words.PURPOSES
    if serves and following in ("can", "could", "do") and lowers[start + 2] in ("i", "we", "you", "one"):
        return Ask(Form.IDENTIFY, start, start + 1, bare=True)
    return Ask(Form.EXPLAIN, start, start + 1)


def _duration(start: int) -> Ask:
    return Ask(Form.DURATION, start, start + 2)


def _where(reading: Reading, start: int, end: int) -> Ask:
    lowers = reading.lowers
    lemmas = [reading.words[k].lemma for k in range(start, end)]
    own = [k for k in range(start, end) if lowers[k] in ("left", "right", "front", "behind")]
    if "or" in lowers[start:end] and len(own) > 1:
        choices, first = _choices(reading, start, end)
        return Ask(Form.CHOOSE, start, start + 1, choices=choices, chosen_from=first)
    if "relative" in lemmas or lowers[end - 2 : end] in (("from", "me"), ("from", "you"), ("from", "here")):
        return Ask(Form.DIRECTION, start, start + 1)
    if set(lemmas[:5]) & {"go", "head", "turn"} and "i" in lowers[start:end] and lemmas[1] in ("should", "do", "can"):
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
    if "odd" in following and "even" in following:
        return replace(ask, form=Form.COUNT, choices=("odd", "even"))
    if "or" in following and "either" not in following:
        choices, begin = _choices(reading, start, end)
        if choices:
            return replace(ask, form=Form.CHOOSE, choices=choices, chosen_from=begin)
    at = following.index("than") if "than" in following else 0
    number = following[at + 1] if at and at + 1 < len(following) else ""
    if at and following[at - 1] in ("more", "fewer", "less") and (number in NUMBERS or number.isdecimal()):
        return replace(ask, form=Form.COUNT, end=start + at + 3)  # 'is there more than one bed'
    if "than" in following or ("same" in following and "room" not in following):
        return replace(ask, form=Form.COMPARE, asked=Asked.NUMBER if "number" in lemmas or "more" in lemmas else None)
    may_i = tokens[start].lower in ("can", "could") and following[:1] in (("i",), ("we",))
    if may_i and start + 2 < end and tokens[start + 2].lemma in words.PURPOSES:
        return replace(ask, form=Form.EXISTS)
    there = next((k for k in range(start, min(start + 4, end)) if lowers[k] in ("there", "their", "any")), -1)
    if there >= 0 and (
        (tokens[there].tag in ("EX", "PRP$", "RB", "DT") and there == start + 1) or lowers[there] == "any"
    ):
        return replace(ask, form=Form.EXISTS, end=there + (lowers[there] != "any"))
    verb = next((k for k in range(start + 1, min(start + 6, end)) if tokens[k].lemma in SEE_LEMMAS), -1)
    if verb >= 0 and {"i", "you", "we", "anyone", "anybody", "robot"} & set(lowers[start + 1 : verb]) | _robots(
        reading
    ):
        return replace(ask, form=Form.EXISTS, end=verb + 1)
    if following and following[0] in SOME:
        acts = following[0] in PEOPLE and any(t.dep == "dobj" for t in tokens[start:end])
        return replace(ask, form=Form.VERIFY if acts else Form.EXISTS)
    return ask


def _robots(reading: Reading) -> set[str]:
    return {w for w in reading.lowers if w.startswith("robot")}


def _choices(reading: Reading, start: int, end: int) -> tuple[tuple[str, ...], int]:
    """The alternatives around 'or', and where they begin: as many words as follow it, at most back to the verb."""
    lowers = reading.lowers
    at = next(k for k in range(start, end) if lowers[k] == "or")
    if lowers[at + 1 : at + 2] in (("not",), ("no",)):
        return (), -1
    right = reading.said(at + 1, end)
    size = max(1, min(end - at - 1, at - start - 1))
    phrase = reading.phrase_at(at - 1)
    left_start = phrase.start if phrase is not None and reading.phrase_at(at + 1) is not None else at - min(size, 1)
    if reading.words[at + 1].tag == "IN" if at + 1 < end else False:
        left_start = at - min(size, at - start - 1)
    return tuple(c for c in (reading.said(left_start, at), right) if c), left_start


def _command(reading: Reading, start: int, end: int) -> Ask:
    verb = reading.words[start].lemma
    if verb in GO_VERBS:
        return Ask(Form.NAVIGATE, start, start + 1)
    if verb in FIND_VERBS:
        return Ask(Form.LOCATE, start, start + 1)
    if verb == "count":
        return Ask(Form.COUNT, start, start + 1)
    told = property_asked(reading, start, end) if verb in ("tell", "give", "show", "name") else None
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
    sought = next((k + 2 for k in range(begin, end - 2) if reading.lowers[k : k + 2] in SEEKING), -1)
    if sought >= 0:
        return Ask(Form.LOCATE, begin, sought)
    wants = next(
        (k for k in range(begin, end) if reading.words[k].lemma in ("lose", "seek", "need", "want", "miss")), -1
    )
    if wants >= 0 and lowers[:1] in (("i",), ("we",)) and reading.phrase_at(wants + 1) is not None:
        return Ask(Form.LOCATE, begin, wants + 1)
    see = lemmas & SEE_LEMMAS
    if see or lowers[:1] in (("any",), ("anything",)) or EGO_WORDS & set(lowers[:1]):
        return Ask(Form.EXISTS, begin, begin + (lowers[:1] == ("i",)))
    if any(event_word(reading, k) for k in range(begin, end)) or lowers[-2:] in TAGS:
        return Ask(Form.VERIFY, begin, begin)
    return Ask(Form.EXISTS, begin, begin)
