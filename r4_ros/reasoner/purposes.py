"""What something is to serve for: 'where can I sit', 'something to drink from', 'what is used to cut bread'."""

from __future__ import annotations

from r4_ros.reasoner import lexicon, uses_words
from r4_ros.reasoner.keys import Form, Relation
from r4_ros.reasoner.places import Place
from r4_ros.reasoner.sketch import Sketch
from r4_ros.reasoner.superlative import MEETING

AIMS = frozenset("get use find see grab reach open touch face take fetch".split())
"""Verbs of a purpose whose object is the target itself ('to get the box')."""
SERVING = frozenset("somewhere anywhere something anything somebody someone place thing".split())
WANTING = frozenset("want need like wish have try".split())
PURPOSES = frozenset(uses_words.PURPOSES)
ABLE = frozenset("can could might".split())


def purpose_at(sketch: Sketch) -> int:
    """Where the verb of a purpose stands; -1: none is said."""
    lowers, tokens, begin, end = sketch.reading.lowers, sketch.reading.words, sketch.ask.end, sketch.end
    serving = served(sketch)
    if serving >= 0:
        return serving
    used = next((k for k in range(begin, end - 2) if lowers[k] in ("use", "used") and lowers[k + 1] == "to"), -1)
    if used >= 0 and used not in sketch.masked and tokens[used + 2].tag == "VB":
        return used + 2
    serves = next((k for k in range(begin, end - 2) if lowers[k : k + 2] == ("use", "for")), -1)
    if serves >= 0:
        return serves + 2
    wish = wanted(sketch)
    if wish >= 0:
        return wish
    for k in range(begin, end - 3):  # 'behind me that I can sit on'
        relative = (
            lowers[k] in ("that", "which") and lowers[k + 1] in ("i", "you", "we", "one") and lowers[k + 2] in ABLE
        )
        if relative and tokens[k + 3].lemma in PURPOSES:
            return k + 3
    hoped = _hoped(sketch) if sketch.ask.form is Form.NAVIGATE else -1
    if hoped >= 0:
        return hoped
    return _able_to(sketch)


def _able_to(sketch: Sketch) -> int:
    """'what can I dry my hands with', 'where could Anna sit', 'which way do I need to go to ..': the verb; or -1."""
    lowers, tokens = sketch.reading.lowers, sketch.reading.words
    begin, end = sketch.ask.end, sketch.end
    modal = {"can", "could", "should", "need", "might", "would"} & set(lowers[begin - 1 : begin + 3])
    if not modal or not ({"i", "we", "one"} & set(lowers[begin : begin + 4]) or _for_somebody(sketch)):
        return -1
    plain = ("use", "be", "find", "see", "get", "go", "grab", "head", "turn", "do", "look")
    first = next((k for k in range(begin, end) if tokens[k].tag == "VB"), -1)
    done = first >= 0 and sketch.ask.form is Form.LOCATE and lowers[begin] in ABLE and tokens[first].lemma not in plain
    to = next((k for k in range(begin, end - 1) if lowers[k] == "to" and tokens[k + 1].tag == "VB"), -1)
    if to >= 0 and not done:
        sought = sketch.ask.form in (Form.NAVIGATE, Form.LOCATE, Form.DIRECTION)
        aims = sought and tokens[to + 1].lemma in AIMS and sketch.reading.phrase_at(to + 2) is not None
        return -1 if aims else to + 1
    for k in range(begin, end):
        perfect = tokens[k].lemma == "have" and k + 1 < end and tokens[k + 1].tag == "VBN"  # 'would I have found'
        meets = tokens[k].lemma in MEETING and bool(modal & {"would"})  # 'what would I hit'
        if tokens[k].tag == "VB" and tokens[k].lemma not in plain and not (perfect or meets):
            return k
    return -1


def _for_somebody(sketch: Sketch) -> bool:
    """'where can the guests hang their coats', 'where could Anna sit'."""
    ask, lowers = sketch.ask, sketch.reading.lowers
    if ask.form is not Form.LOCATE or ask.end + 1 >= sketch.end or lowers[ask.end] not in ABLE:
        return False
    who = sketch.reading.phrase_at(ask.end + 1)
    pronoun = sketch.reading.words[ask.end + 1].tag == "PRP" and lowers[ask.end + 1] not in ("it", "they")
    return pronoun or (who is not None and who.start == ask.end + 1)


def restricts_use(place: Place) -> bool:
    """Whether a place within a purpose says where to look, 'in the kitchen', and not what is done, 'in the mirror'."""
    if place.relation is Relation.NEAR:
        return True
    return place.relation is Relation.IN and (place.anchor is None or lexicon.is_room(place.anchor.noun))


def wanted(sketch: Sketch) -> int:
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


def _hoped(sketch: Sketch) -> int:
    """'which way do I go if I need to throw it away': where the verb stands that is said behind; -1: none is."""
    lowers, tokens = sketch.reading.lowers, sketch.reading.words
    for k in range(sketch.ask.end + 3, sketch.end - 1):
        wishes = lowers[k] == "to" and tokens[k - 1].lemma in WANTING and lowers[k - 3] == "if"
        named = sketch.reading.phrase_at(k + 2) if k + 2 < sketch.end else None
        if wishes and tokens[k + 1].tag == "VB":
            return -1 if tokens[k + 1].lemma in AIMS and named is not None else k + 1
    return -1


def served(sketch: Sketch) -> int:
    """'somewhere to sit', 'something to drink from': where the verb stands, -1 if that isn't said."""
    lowers, tokens = sketch.reading.lowers, sketch.reading.words
    for k in range(sketch.begin + 1, sketch.end - 1):
        which = lowers[k - 2 : k - 1] in (("first",), ("last",), ("next",))  # 'the last thing to fall off'
        if lowers[k] == "to" and tokens[k + 1].tag == "VB" and lowers[k - 1] in SERVING and not which:
            return k + 1
        able = lowers[k] in ("i", "we") and lowers[k + 1] in ABLE and k + 2 < sketch.end
        where = set(lowers[max(sketch.begin, k - 5) : k]) if lowers[k - 1] in ("where", "that") else {lowers[k - 1]}
        if able and where & SERVING and tokens[k + 2].tag == "VB":  # 'somewhere I can prop up my cello'
            return k + 2
    return -1
