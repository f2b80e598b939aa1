"""Questions that begin with what or which: a thing, a property, a place, a time, an action, an order."""

from __future__ import annotations

from r4_ros.reasoner import lexicon, words
from r4_ros.reasoner.asking import (
    AUXILIARIES,
    BE,
    EXPLAINED,
    PLACING,
    POINTS_IN_TIME,
    POSTURES,
    SEE_LEMMAS,
    STATES_OF_AFFAIRS,
    STRANDED,
    WAY_VERBS,
    Ask,
    Clause,
    Reader,
    first_of,
)
from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.occasions import is_happening
from r4_ros.reasoner.parse import Reading
from r4_ros.reasoner.superlative import COMPARATIVES

COUNTED = frozenset("the what total is exact maximum minimum average approximate".split())
BY_WHAT = (("next", "to"), ("close", "to"), ("front", "of"), ("top", "of"))
IS = frozenset("is was are were 's".split())
DID = frozenset("does do did".split())
DEPICTING = frozenset("show depict represent mean symbolize symbolise illustrate portray indicate signify".split())
"""'what does the painting show'."""
MEASURED = frozenset("speed rate level pace angle pressure volume".split())
READ = frozenset("number word letter message".split())
"""What stands on things to be read."""
MANNERS = frozenset("ways manner conditions circumstances extent respects".split())
"""'in what ways', 'under which conditions' ask how."""
EARLIER = frozenset("earlier sooner later".split())
WHOLES = frozenset("room part place shelf region".split())
"""Where something is, as part of a larger place."""


def what(reading: Reading, start: int, end: int, masked: frozenset[int] = frozenset()) -> Ask:
    """The form of a question whose asking word at ``start`` is what, which or whose."""
    clause = Clause(reading, start, end, masked)
    found = first_of(READERS, clause)
    return found if found is not None else Ask(Form.IDENTIFY, start, start + 1, bare=_head(clause)[0] < 0)


def _head(clause: Clause) -> tuple[int, str]:
    """Where the noun stands that the asking word belongs to, and the noun: (-1, '') for 'what is ..'."""
    reading, start = clause.reading, clause.start
    named = reading.phrase_at(start + 1) if start + 1 < clause.end else None
    named = named if named is not None and named.start in (start, start + 1) else None
    if named is None:
        return -1, ""
    kind = reading.phrase_at(named.end + 1) if clause.at(named.end - start) == "of" and _is_stranded(clause) else None
    if kind is not None and named.noun != "side":  # 'which piece of furniture is it standing on'
        return kind.head, kind.noun
    return named.head, reading.lowers[named.head]


def _is_stranded(clause: Clause) -> bool:
    said = tuple(w.lower for w in clause.untimed[-3:])
    if said[-2:] in BY_WHAT or said == ("in", "front", "of"):
        return True
    ends = [w for w in clause.untimed if clause.at(w.i + 1 - clause.start) in (",", "")]  # 'which .. live in, based on'
    return any(w.tag in ("IN", "RP", "RB") and w.lower in STRANDED for w in [*ends, clause.untimed[-1]])


def _before(clause: Clause) -> str:
    return clause.reading.lowers[clause.start - 1] if clause.start else ""


def _is_placed(clause: Clause) -> bool:
    """'in which ..', 'next to what ..'."""
    before = clause.reading.lowers[max(0, clause.start - 2) : clause.start]
    return _before(clause) in PLACING or before in BY_WHAT


def _how_it_is(clause: Clause) -> Ask | None:
    """'what is the room like'."""
    like = next((t.i for t in clause.words if t.lower == "like" and t.tag == "IN"), -1)
    looks = clause.at(1) in IS | DID and clause.at(0) == "what"
    if not looks or like < 0 or any(t.head == like and t.dep == "pobj" and t.i > like for t in clause.reading.words):
        return None
    return Ask(Form.EXPLAIN, clause.start, clause.start + 1)


def _one_of(clause: Clause) -> Ask | None:
    """'which one of the bins', 'in which of the drawers is the tape'."""
    start = clause.start
    if (clause.at(1), clause.at(2)) == ("one", "of"):
        return Ask(Form.IDENTIFY, start, start + 3)
    if clause.at(1) != "of":
        return None
    these = clause.reading.phrase_at(start + 2)
    later = any(these is not None and p.start >= these.end for p in clause.reading.phrases)
    part = these is not None and _is_stranded(clause) and later
    if these is not None and (_is_placed(clause) or part):
        whole = clause.reading.phrase_at(these.end + 1) if clause.at(these.end - start) == "of" else None
        return Ask(Form.LOCATE, start, whole.end if whole is not None else these.end)
    return None if clause.has("or") else Ask(Form.IDENTIFY, start, start + 2)


def _order(clause: Clause) -> Ask | None:
    noun, head = _head(clause)
    start = clause.start
    if head in ("order", "sequence") and not clause.has("of"):
        return Ask(Form.ORDER, start, noun + 1)
    if (clause.at(2), clause.at(3)) in (("the", "order"), ("the", "sequence")) and clause.at(4) == "of":
        return Ask(Form.ORDER, start, start + 5)
    came = clause.has("first", "last") or clause.has(*EARLIER)
    if came and clause.has("or") and clause.at(0) in ("which", "what"):
        return Ask(Form.ORDER, start, noun + 1 if head else start + 1)
    return None


def _when(clause: Clause) -> Ask | None:
    _, head = _head(clause)
    during = _before(clause) in ("during", "on", "in", "at")
    of_these = clause.reading.phrase_at(clause.start + 2) if clause.at(1) == "of" else None
    if during and of_these is not None and is_happening(of_these.noun):
        return Ask(Form.WHEN, clause.start, of_these.end)  # 'on which of your rounds did it ring'
    unit = head.removesuffix("s")
    dated = unit in ("date", "day", "hour", "week", "month", "year") or "time" in (head, clause.at(1))
    if dated or (_before(clause) in ("at", "in", "on", "during") and unit in POINTS_IN_TIME):
        return Ask(Form.WHEN, clause.start, clause.start + 2)
    return None


def _compare(clause: Clause) -> Ask | None:
    compares = any(t.tag in ("JJR", "RBR") or t.lower in COMPARATIVES for t in clause.words) and clause.has("or")
    graded = any(t.tag in ("JJR", "RBR") for t in clause.words)
    between = "between" in clause.reading.lowers and "and" in clause.reading.lowers
    compares = compares or (graded and between and not clause.has("than"))  # 'what is bigger between the bed and ..'
    compares = compares or (clause.has("or") and clause.at(1) == "one" and clause.has("close", "near", "far"))
    one = clause.at(1) in ("one", "ones")
    return Ask(Form.COMPARE, clause.start, clause.start + 1 + one, Asked.OTHER) if compares else None


def _way(clause: Clause) -> Ask | None:
    """'which way should I go', 'which side of the bed is it on', 'what o'clock is it at'."""
    noun, head = _head(clause)
    start = clause.start
    if head in ("way", "direction"):
        asker = clause.lemmas & WAY_VERBS and clause.has("i", "we")
        wants = asker or {"i", "want"} <= set(clause.reading.lowers[:start])
        return Ask(Form.NAVIGATE if wants else Form.DIRECTION, start, noun + 1)
    if clause.at(1) == "o'clock":
        return Ask(Form.DIRECTION, start, start + 2)
    return Ask(Form.DIRECTION, start, noun + 1) if head == "side" else None


def _state(clause: Clause) -> Ask | None:
    noun, head = _head(clause)
    if clause.at(1) in IS and clause.at(2) in ("wrong", "up") and clause.at(3) == "with":
        return Ask(Form.STATE, clause.start, clause.start + 4, Asked.CONDITION)  # 'what's wrong with the tap'
    within = _before(clause) == "in" or (_is_stranded(clause) and clause.untimed[-1].lower == "in")
    if head == "state" or (head in ("condition", "shape", "mood") and within):
        return Ask(Form.STATE, clause.start, noun + 1, Asked.CONDITION)
    said = clause.at(1) in IS and (clause.at(2), clause.at(3)) == ("the", "state")
    if not said:
        return None
    of_play = 2 * ((clause.at(4), clause.at(5)) == ("of", "play"))
    return Ask(Form.STATE, clause.start, clause.start + 4 + of_play, Asked.CONDITION)


def _depicted(clause: Clause) -> Ask | None:
    """'what does the flag on the roof mean'."""
    shows = clause.lemmas & DEPICTING and clause.at(1) in DID
    return Ask(Form.EXPLAIN, clause.start, clause.start + 1) if shows else None


def _text(clause: Clause) -> Ask | None:
    """'what number is on the door', 'what is written on the box', 'what does the note say'."""
    noun, head = _head(clause)
    reading, start = clause.reading, clause.start
    if head:
        told = head in words.TEXTS | READ and clause.at(noun + 1 - start) in IS
        return Ask(Form.ATTRIBUTE, start, noun + 1, Asked.TEXT) if told else None
    number = clause.at(1) in IS and (clause.at(2), clause.at(4)) == ("the", "on") and clause.at(3) in READ
    if number:  # 'what is the number on the locker'
        return Ask(Form.ATTRIBUTE, start, start + 4, Asked.TEXT)
    written = next((w.i for w in clause.words if w.lemma in words.WRITING), -1)
    if written >= 0 and clause.at(1) in IS:
        return Ask(Form.ATTRIBUTE, start, written + 1, Asked.TEXT)
    named = reading.phrase_at(start + 2) if start + 2 < clause.end else None
    says = clause.at(1) in DID and clause.lemmas & {"say", "read"}
    it = clause.at(2) == "it" and named is None
    if says and (it or (named and not named.proper and lexicon.kind_of(named.noun) != "person")):
        return Ask(Form.ATTRIBUTE, start, start + 1, Asked.TEXT)
    return None


def _property(clause: Clause) -> Ask | None:
    return property_asked(clause.reading, clause.start, clause.end)


def _robots(clause: Clause) -> Ask | None:
    noun, head = _head(clause)
    first = clause.at(noun + 1 - clause.start) in IS and clause.has("first", "last")  # 'was the first to notice it'
    sees = head in ("robot", "robots", "agent") and clause.lemmas & SEE_LEMMAS and not first
    return Ask(Form.IDENTIFY, clause.start, noun + 1, Asked.AGENT) if sees else None


def _explained(clause: Clause) -> Ask | None:
    """'what is the relationship between ..', 'what purpose does it serve', 'what is special about it'."""
    quality = 2 + (clause.at(2) in ("so", "very", "particularly", "really"))
    if clause.at(1) in IS and clause.at(quality + 1) == "about" and clause.words[quality].tag == "JJ":
        return Ask(Form.EXPLAIN, clause.start, clause.start + quality + 2)
    if _before(clause) in PLACING | {"to"} and _head(clause)[1] in MANNERS:
        return Ask(Form.EXPLAIN, clause.start, clause.start + 2)
    named = next((w.i for w in clause.words[1:7] if w.tag.startswith("NN")), -1)
    said = set(clause.reading.lowers[named : min(named + 4, clause.end)]) if named >= 0 else set()
    if clause.at(0) == "what" and EXPLAINED & said:
        return Ask(Form.EXPLAIN, clause.start, clause.start + 1)
    return None


def _place(clause: Clause) -> Ask | None:
    """'in which room', 'which shelf is it on', 'which rooms have windows'."""
    noun, head = _head(clause)
    reading, start, before = clause.reading, clause.start, _before(clause)
    if not head:
        stands = _is_placed(clause) or (_is_stranded(clause) and _stands(clause))
        return Ask(Form.LOCATE, start, start + 1) if clause.at(0) == "what" and stands else None
    if before == "at" and (head in MEASURED or head in words.PROPERTIES or head in words.TOLD_OF):
        return Ask(Form.ATTRIBUTE, start, noun + 1, Asked.OTHER)  # 'at what speed'
    if before in PLACING and head not in STATES_OF_AFFAIRS:
        return Ask(Form.LOCATE, start, noun + 1)
    others = [p for p in reading.phrases if noun < p.start < clause.end]
    if head == "rooms" or (head == "room" and clause.lemmas & {"have", "contain"}):
        return Ask(Form.IDENTIFY, start, noun + 1, Asked.LOCATION) if others else None
    stranded = _is_stranded(clause)
    placed = head in WHOLES or (stranded and clause.at(0) == "which")
    roles = [reading.words[p.head].dep for p in others]
    held = head == "room" and bool({"nsubj", "dobj", "attr"} & set(roles))
    if not placed or not (stranded or before in ("in", "on", "at", "to", "from") or held):
        return None
    go = clause.lemmas & {"go", "head"} and clause.has("i", "we", "you")
    return Ask(Form.NAVIGATE if go else Form.LOCATE, start, noun + 1)


def _stands(clause: Clause) -> bool:
    """'what is the mug on', 'what is it standing on', 'what does it lie under', 'what did I put my bag on'."""
    reading, start = clause.reading, clause.start
    whole = reading.phrase_at(start + 2) if start + 2 < clause.end else None
    if whole is None or whole.start != start + 2:
        put = clause.at(1) in ("did", "have", "has") and any(t.dep == "dobj" for t in clause.words)
        named = clause.at(2) == "it" or put
        return named and all(t.tag in ("RB", "IN", "RP") or t.lemma in POSTURES for t in clause.untimed[3:] if not put)
    tail = 2 if clause.untimed[-2].lower in ("next", "close") else 1
    tail = 3 if tuple(w.lower for w in clause.untimed[-2:]) in (("top", "of"), ("front", "of")) else tail
    between = [t for t in clause.untimed[:-tail] if t.i >= whole.end]
    return all(t.tag == "RB" or t.lemma in POSTURES for t in between)


def _material(clause: Clause) -> Ask | None:
    made = any(
        clause.at(k) == "made" and clause.at(k + 1) in ("of", "from", "out", "off") for k in range(len(clause.words))
    )
    if made and not _head(clause)[1]:
        return Ask(Form.ATTRIBUTE, clause.start, clause.start + 1, Asked.MATERIAL)
    return None


def _doing(clause: Clause) -> Ask | None:
    """'what did Anna do', 'what is he up to', 'what happened to it'."""
    said = [w.lower for w in clause.untimed]
    noun, head = _head(clause)
    acts = head in ("action", "actions", "steps", "measures") and clause.lemmas & {"take", "perform", "do"}
    if acts and clause.at(noun + 1 - clause.start) in DID:
        return Ask(Form.ACTION, clause.start, noun + 1)
    asks = clause.at(1) in AUXILIARIES - {"has", "have", "had"}
    talks = asks and said[-1] == "about" and any(w.tag == "VBG" for w in clause.words)  # 'what are they arguing about'
    able = clause.at(1) in ("can", "could")  # 'what can I do', but 'what can I do my homework on'
    done = any(w.lemma == "do" and clause.at(w.i + 1 - clause.start) not in ("n't", "not") for w in clause.words[2:])
    does = (done or said[-2:] == ["up", "to"]) and (not able or said[-1:] == ["do"])
    happens = clause.has("happened", "happening") and not clause.has("next")
    if talks or (asks and (does or clause.has("doing"))) or happens:
        return Ask(Form.ACTION, clause.start, clause.start + 1)
    return None


def _next(clause: Clause) -> Ask | None:
    """'what came next', 'whose turn is it next'."""
    follows = clause.lemmas & {"next", "follow"} and not clause.has("to")
    follows = follows and not _is_next_place(clause)
    elsewhere = ("back", "out", "in", "into", "from", "to", "through", "off")
    came = clause.at(1) in ("came", "comes") and clause.at(2) not in elsewhere
    return Ask(Form.ORDER, clause.start, clause.start + 1) if follows or came else None


def _is_next_place(clause: Clause) -> bool:
    """'what is on the next table': next in space."""
    at = next((w.i for w in clause.words[2:] if w.lower == "next"), -1)
    named = clause.reading.phrase_at(at + 1) if 0 < at < clause.end - 1 else None
    tags = tuple(w.tag for w in clause.reading.words[max(0, at - 2) : at])
    timely = named is None or named.noun in POINTS_IN_TIME or is_happening(named.noun)
    return tags == ("IN", "DT") and not timely


READERS: tuple[Reader, ...] = (
    _how_it_is,
    _when,
    _one_of,
    _order,
    _compare,
    _way,
    _state,
    _depicted,
    _text,
    _property,
    _robots,
    _explained,
    _place,
    _material,
    _doing,
    _next,
)


def property_asked(reading: Reading, start: int, end: int) -> Ask | None:
    """'what color is ...', 'what is the size of ...', 'what is the distance between ...', 'what is the location of'."""
    for k in range(start + 1, min(start + 9, end)):
        near = k <= start + 4 or reading.lowers[k + 1 : k + 2] == ("of",) or reading.lowers[k] in words.TOLD_OF
        if near or _is_owned(reading, start, k):
            found = _property_at(reading, start, k, end)
            if found is not None:
                return found
    return None


def _property_at(reading: Reading, start: int, k: int, end: int) -> Ask | None:
    """What the noun at token k asks for, if it names a property."""
    lowers, word = reading.lowers, reading.lowers[k]
    of = lowers[k + 1 : k + 2] == ("of",)
    following = lowers[k + 2] if of and k + 2 < end else ""
    if word == "distance":
        return Ask(Form.DISTANCE, start, k + 1)
    if word in ("location", "position", "whereabouts"):
        return Ask(Form.LOCATE, start, k + 1 + of)
    if word in ("number", "count", "amount") and (of or k + 1 == end) and lowers[k - 1] in COUNTED:
        return Ask(Form.COUNT, start, k + 1 + of)
    if word in ("kind", "type", "sort") and following in words.PROPERTIES:
        return Ask(Form.ATTRIBUTE, start, k + 3, Asked(words.PROPERTIES[following]))
    if word == "time" and lowers[k - 1] in ("latest", "earliest", "last", "first", "exact"):
        return Ask(Form.WHEN, start, k + 1)
    asked = words.PROPERTIES.get(word) or (
        words.TOLD_OF.get(word) if _is_told_of(reading, start, k) or k == start + 1 else None
    )
    if asked is None or (k == start + 1 and lowers[k + 1 : k + 2] == ("did",) and _lacks_object(reading, k, end)):
        return None
    directly = k == start + 3 and lowers[k - 1] == "the" and lowers[k + 1 : k + 2] == ("in",)
    of_it = k == start + 1 and word in words.TOLD_OF and lowers[k + 1] in IS and asked == "other"
    if of_it or _is_owned(reading, start, k):
        return Ask(Form.ATTRIBUTE, start, k + 1 if of_it else start + 1, Asked(asked))
    near = k <= start + 2 or of or directly or word in words.TOLD_OF
    return Ask(Form.ATTRIBUTE, start, k + 1 + of, Asked(asked)) if near else None


def _is_owned(reading: Reading, start: int, k: int) -> bool:
    """'what is Ben's skin color', 'what is the dog's favourite colour': a property that closes a possessive."""
    owner = next((w.i for w in reading.words[start + 2 : k] if w.tag == "POS"), -1)
    rest = reading.words[owner + 1 : k] if owner >= 0 else ()
    told = reading.lowers[start + 1] in IS and bool(rest) and reading.phrase_at(k) is None
    return told and all(w.tag in ("NN", "JJ", "NNP") for w in rest)


def _lacks_object(reading: Reading, k: int, end: int) -> bool:
    """'which brand did Tina introduce': what the verb does something to is the brand, and nothing else is named."""
    doer = reading.phrase_at(k + 2) if k + 2 < end else None
    named = [p for p in reading.phrases if k < p.start < end and reading.words[p.head].dep in ("dobj", "attr")]
    return doer is not None and doer.start == k + 2 and not named and reading.words[k].dep == "dobj"


def _is_told_of(reading: Reading, start: int, k: int) -> bool:
    """'the title of the book', 'Ben's profession', 'the label on the jar': a property by a noun that has an owner."""
    named = reading.phrase_at(k)
    if named is None or named.head != k or not (BE & set(reading.lowers[start : start + 3])):
        return False
    return bool(named.owner) or reading.lowers[k + 1 : k + 2] in (("of",), ("on",))
