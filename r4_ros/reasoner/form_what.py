"""Questions that begin with what or which: a thing, a property, a place, a time, an action, an order."""

from __future__ import annotations

from r4_ros.reasoner import lexicon, words
from r4_ros.reasoner.asking import (
    AUXILIARIES,
    EXPLAINED,
    PLACING,
    POINTS_IN_TIME,
    POSTURES,
    SEE_LEMMAS,
    STATES_OF_AFFAIRS,
    STRANDED,
    WAY_VERBS,
    Ask,
)
from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.parse import Reading

COUNTED = frozenset("the what total is exact maximum minimum average approximate".split())
BY_WHAT = (("next", "to"), ("close", "to"), ("front", "of"), ("top", "of"))
IS = (("is",), ("was",), ("are",), ("were",), ("'s",))
DEPICTING = frozenset("show depict represent mean symbolize symbolise illustrate portray".split())
"""'what does the painting show'."""


def what(reading: Reading, start: int, end: int) -> Ask:
    """The form of a question whose asking word at ``start`` is what, which or whose."""
    lowers, tokens = reading.lowers, reading.words
    noun = next((k for k in range(start + 1, min(start + 5, end)) if tokens[k].tag.startswith("NN")), -1)
    directly = noun >= 0 and all(tokens[k].tag in ("JJ", "NN", "HYPH", "DT") for k in range(start + 1, noun))
    lemmas = {tokens[k].lemma for k in range(start, end)}
    if lowers[start] == "what" and lowers[start + 1 : start + 2] in IS and _how_it_is(reading, start, end):
        return Ask(Form.EXPLAIN, start, start + 1)
    if lowers[start + 1 : start + 3] == ("one", "of"):
        return Ask(Form.IDENTIFY, start, start + 3)
    by = start > 0 and (lowers[start - 1] in PLACING or lowers[max(0, start - 2) : start] in BY_WHAT)
    if lowers[start + 1 : start + 2] == ("of",) and by and (these := reading.phrase_at(start + 2)):
        return Ask(Form.LOCATE, start, these.end)  # 'in which of the drawers is the tape'
    if lowers[start + 1 : start + 2] == ("of",) and not {"or"} & set(lowers[start:end]):  # 'which of the bins'
        return Ask(Form.IDENTIFY, start, start + 2)
    head = lowers[noun] if noun >= 0 and directly else ""
    stranded = tokens[end - 1].tag in ("IN", "RP") and tokens[end - 1].lower in STRANDED
    kind = reading.phrase_at(noun + 2) if stranded and lowers[noun + 1 : noun + 2] == ("of",) else None
    if kind is not None and head != "side":  # 'which piece of furniture is it standing on'
        noun, head = kind.head, kind.noun
    if head in ("order", "sequence") and "of" not in lowers[start:noun]:
        return Ask(Form.ORDER, start, noun + 1)
    if "first" in lowers[start:end] and "or" in lowers[start:end] and lowers[start] in ("which", "what"):
        return Ask(Form.ORDER, start, noun + 1 if head else start + 1)
    timely = start > 0 and lowers[start - 1] in ("at", "in", "on")
    if (
        head in ("time", "date", "day", "hour")
        or (timely and head in POINTS_IN_TIME)
        or lowers[start + 1 : start + 2] == ("time",)
    ):
        return Ask(Form.WHEN, start, start + 2)
    if any(t.tag in ("JJR", "RBR") for t in tokens[start:end]) and "or" in lowers[start:end]:
        return Ask(Form.COMPARE, start, start + 1 + (head in ("one", "ones")), Asked.OTHER)
    if head in ("way", "direction"):
        wants = (lemmas & WAY_VERBS and set(lowers[start:end]) & {"i", "we"}) or {"i", "want"} <= set(lowers[:start])
        return Ask(Form.NAVIGATE if wants else Form.DIRECTION, start, noun + 1)
    if lowers[start + 1 : start + 2] == ("o'clock",):
        return Ask(Form.DIRECTION, start, start + 2)
    if head == "side":
        return Ask(Form.DIRECTION, start, noun + 1)
    if head == "state" or lowers[start + 1 : start + 4] in (("is", "the", "state"), ("was", "the", "state")):
        return Ask(Form.STATE, start, noun + 1, Asked.CONDITION)
    described = _text_asked(reading, start, end, noun if head else -1) or property_asked(reading, start, end)
    if described is not None:
        return described
    if head in ("robot", "robots", "agent") and lemmas & SEE_LEMMAS:
        return Ask(Form.IDENTIFY, start, noun + 1, Asked.AGENT)
    before = lowers[start - 1] if start else ""
    if head and before in PLACING and head not in STATES_OF_AFFAIRS:
        return Ask(Form.LOCATE, start, noun + 1)
    if noun >= 0 and any(lowers[k] in EXPLAINED for k in range(noun, min(noun + 4, end))) and lowers[start] == "what":
        return Ask(Form.EXPLAIN, start, start + 1)
    if lemmas & DEPICTING and lowers[start + 1 : start + 2] in (("does",), ("do",), ("did",)) and not head:
        return Ask(Form.EXPLAIN, start, start + 1)
    of_rooms = head == "rooms" or (head == "room" and lemmas & {"have", "contain"})
    if of_rooms and any(noun < p.start < end for p in reading.phrases):
        return Ask(Form.IDENTIFY, start, noun + 1, Asked.LOCATION)
    placed = head in ("room", "part", "place", "shelf", "region") or (stranded and lowers[start] == "which")
    others = any(noun < p.start < end and tokens[p.head].dep in ("nsubj", "dobj", "attr") for p in reading.phrases)
    if head and placed and (stranded or before in ("in", "on", "at", "to") or (head == "room" and others)):
        go = bool(lemmas & {"go", "head"}) and bool(set(lowers[start:end]) & {"i", "we", "you"})
        return Ask(Form.NAVIGATE if go else Form.LOCATE, start, noun + 1)
    if lowers[start] == "what" and not head and (by or (stranded and _stands(reading, start, end))):
        return Ask(Form.LOCATE, start, start + 1)
    made_of = next((k for k in range(start, end - 1) if lowers[k : k + 2] == ("made", "of")), -1)
    if made_of >= 0 and not head:
        return Ask(Form.ATTRIBUTE, start, start + 1, Asked.MATERIAL)
    if _doing(reading, start, end):
        return Ask(Form.ACTION, start, start + 1)
    if (lemmas & {"next", "follow"} and "to" not in lowers[start:end]) or (
        lowers[start + 1 : start + 2] == ("came",) and lowers[start + 2 : start + 3] != ("back",)
    ):
        return Ask(Form.ORDER, start, start + 1)
    return Ask(Form.IDENTIFY, start, start + 1, bare=not directly)


def _how_it_is(reading: Reading, start: int, end: int) -> bool:
    """'what is the room like'."""
    like = next((t.i for t in reading.words[start:end] if t.lower == "like" and t.tag == "IN"), -1)
    return like >= 0 and not any(t.head == like and t.dep == "pobj" and t.i > like for t in reading.words)


def _text_asked(reading: Reading, start: int, end: int, noun: int) -> Ask | None:
    """'what number is on the door', 'what is written on the box', 'what does the note say'."""
    lowers, tokens = reading.lowers, reading.words
    if noun >= 0:
        told = lowers[noun] in words.TEXTS | {"number", "word", "letter", "message"}
        return Ask(Form.ATTRIBUTE, start, noun + 1, Asked.TEXT) if told and lowers[noun + 1 : noun + 2] in IS else None
    written = next((k for k in range(start, end) if tokens[k].lemma in ("write", "engrave")), -1)
    if written >= 0 and lowers[start + 1 : start + 2] in IS:
        return Ask(Form.ATTRIBUTE, start, written + 1, Asked.TEXT)
    named = reading.phrase_at(start + 2) if start + 2 < end else None
    says = lowers[start + 1 : start + 2] in (("does",), ("did",)) and {t.lemma for t in tokens[start:end]} & {
        "say",
        "read",
    }
    if says and named is not None and not named.proper and lexicon.kind_of(named.noun) != "person":
        return Ask(Form.ATTRIBUTE, start, start + 1, Asked.TEXT)
    return None


def _stands(reading: Reading, start: int, end: int) -> bool:
    """'what is the mug on', 'what is it standing on', 'what does it lie under', 'what did I put my bag on'."""
    lowers, tokens = reading.lowers, reading.words
    whole = reading.phrase_at(start + 2) if start + 2 < end else None
    if whole is None or whole.start != start + 2:
        return lowers[start + 1] in ("did", "have", "has") and any(t.dep == "dobj" for t in tokens[start + 1 : end])
    tail = end - 2 if lowers[end - 2 : end] in (("next", "to"), ("close", "to")) else end - 1
    between = tokens[whole.end : tail]
    return all(t.tag == "RB" or t.lemma in POSTURES for t in between)


def property_asked(reading: Reading, start: int, end: int) -> Ask | None:
    """'what color is ...', 'what is the size of ...', 'what is the distance between ...', 'what is the location of'."""
    lowers = reading.lowers
    for k in range(start + 1, min(start + 7, end)):
        word = lowers[k]
        of = lowers[k + 1 : k + 2] == ("of",)
        if k > start + 4 and not of:
            continue
        if word in ("distance",):
            return Ask(Form.DISTANCE, start, k + 1)
        if word in ("location", "position", "whereabouts"):
            return Ask(Form.LOCATE, start, k + 1 + of)
        counted = lowers[k - 1] in (
            "the",
            "what",
            "total",
            "is",
            "exact",
            "maximum",
            "minimum",
            "average",
            "approximate",
        )
        if word in ("number", "count", "amount") and (of or k + 1 == end) and counted:
            return Ask(Form.COUNT, start, k + 1 + of)
        if word in ("kind", "type", "sort") and of and lowers[k + 2 : k + 3] and lowers[k + 2] in words.PROPERTIES:
            return Ask(Form.ATTRIBUTE, start, k + 3, Asked(words.PROPERTIES[lowers[k + 2]]))
        if word == "time" and lowers[k - 1] in ("latest", "last", "first", "exact"):
            return Ask(Form.WHEN, start, k + 1)
        if word in words.PROPERTIES:
            kind_of_thing = word in ("type", "kind", "sort", "make", "style") and of
            near = (
                k <= start + 2 or of or (k == start + 3 and lowers[k - 1] == "the" and lowers[k + 1 : k + 2] == ("in",))
            )
            if kind_of_thing and k == start + 1 and not reading.words[k + 2 : k + 3]:
                continue
            if near:
                return Ask(Form.ATTRIBUTE, start, k + 1 + of, Asked(words.PROPERTIES[word]))
    return None


def _doing(reading: Reading, start: int, end: int) -> bool:
    lowers = reading.lowers[start:end]
    asks = len(lowers) > 1 and lowers[1] in AUXILIARIES - {"has", "have", "had"}
    able = lowers[1:2] in (("can",), ("could",))  # 'what can I do', but 'what can I do my homework on'
    done = any(
        w.lemma == "do" and reading.lowers[w.i + 1 : w.i + 2] not in (("n't",), ("not",))
        for w in reading.words[start + 2 : end]
    )
    does = (done or lowers[-2:] == ("up", "to")) and (not able or lowers[-1] == "do")
    return (asks and (does or "doing" in lowers)) or bool({"happened", "happening"} & set(lowers))
