"""What a yes/no question says of its target: where it is, what it is like, or what has happened to it."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import asking, lexicon, negation, occasions
from r4_ros.reasoner.asking import POSTURES, Ask
from r4_ros.reasoner.keys import Asked, Attribute, Claim, EventKey, EventName, Form
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import Place
from r4_ros.reasoner.sketch import imagined_spans

DIRECTIONS = frozenset("left right behind front ahead back".split())
ANY_CHANGE: tuple[EventName, ...] = ("changed", "moved", "disappeared", "reappeared")
"""What counts as a change; what was noticed late ('appeared') may have been hidden before."""
PLACING = frozenset("in on at under by near behind beside".split())
SWITCHES = frozenset("on off".split())


def claim_of(
    reading: Reading, ask: Ask, target: NounPhrase | None, places: list[Place], masked: frozenset[int], end: int
) -> tuple[Claim | None, Place | None, Ask]:
    """The claim, the spatial restriction that is really the claim, and what property is asked about."""
    if ask.form is Form.CHOOSE:
        spans = imagined_spans(reading)
        return None, *_choice(ask, target, [p for p in places if not any(a <= p.start < b for a, b in spans)])
    if ask.form is Form.COMPARE:
        return None, None, ask if ask.asked else replace(ask, asked=_compared(reading, ask, end))
    if ask.form is not Form.VERIFY or ask.asked is Asked.NUMBER:  # 'are there enough chairs in the hall'
        return None, None, ask
    asker = target is None and bool(EGO_WORDS & set(reading.lowers[ask.end : ask.end + 1]))
    if asker and reading.lowers[ask.end - 1] in ("can", "could", "may"):  # 'can I walk to the pier from here'
        return None, None, replace(ask, asked=Asked.OTHER)
    if asker:  # 'am I by the door'
        own = next((p for p in places if p.start >= ask.end), None)
        return (Claim() if own is not None else None), own, replace(ask, asked=Asked.LOCATION)
    return _verified(reading, ask, target, places, masked, end)


def _verified(
    reading: Reading, ask: Ask, target: NounPhrase | None, places: list[Place], masked: frozenset[int], end: int
) -> tuple[Claim | None, Place | None, Ask]:
    """What is said of a thing: that something happened to it, that it is still there, its property or its place."""
    begin = target.end if target is not None else ask.end
    begin = max(begin, ask.end) if begin <= ask.start else begin  # 'the tree behind the house, is it ..'
    negate = negation.claims_no(reading, ask.start, end)
    verbs = (i for i in range(ask.end, end) if i not in masked and (i >= begin or reading.phrase_at(i) is None))
    happened = next((e for i in verbs if (e := occasions.event_word(reading, i)) is not None), None)
    if happened is not None:
        kinds = ANY_CHANGE if happened == "changed" else (happened,)
        asked = Asked.LOCATION if happened == "moved" else Asked.OTHER
        return Claim(event=EventKey(kinds=kinds), negate=negate), None, replace(ask, asked=asked)
    here = (i for i in range(begin, end) if reading.lowers[i] in ("there", "here", "back"))
    if any(reading.words[i].tag == "RB" and not any(p.start == i + 1 for p in places) for i in here):
        still = "still" in reading.lowers
        return Claim(still=still, negate=negate), None, replace(ask, asked=Asked.LOCATION)
    said = predicate(reading, begin, end, places, masked)
    if said is not None:
        attribute = said[0]
        known = Asked(attribute.name) if attribute.name else Asked.OTHER
        return Claim(attribute=attribute, negate=negate), None, replace(ask, asked=known)
    within = _relative(reading, target)
    told = (p for p in reversed(places) if p.subject in (target, None) and p.start >= begin and not p.viewer)
    told = (p for p in told if p.start not in within)
    spans = imagined_spans(reading)
    place = next((p for p in told if not any(a <= p.start < b for a, b in spans)), None)
    others = [range(p.start, p.end) for p in places if p is not place]
    within |= masked | {i for span in others for i in span}
    if place is not None and _closes(reading, place, ask.start, begin, end, frozenset(within)):
        return Claim(negate=negate), place, replace(ask, asked=Asked.LOCATION)
    return None, None, replace(ask, asked=Asked.OTHER)


def _relative(reading: Reading, target: NounPhrase | None) -> frozenset[int]:
    """The words of 'the lamp that Eva bought' that only say which is meant, up to their verb."""
    found = (w for w in reading.words if target and w.dep == "relcl" and w.head == target.head and w.lemma != "be")
    verb = next(found, None)
    return frozenset(range(target.end, verb.i + 1)) if target is not None and verb is not None else frozenset()


def _choice(ask: Ask, target: NounPhrase | None, places: list[Place]) -> tuple[Place | None, Ask]:
    last = [c.split()[-1] for c in ask.choices]
    first = [c.split()[0] for c in ask.choices]
    found = [lexicon.property_of(w) or lexicon.property_of(f) for w, f in zip(last, first, strict=True)]
    named = next((name for name, _ in (f for f in found if f)), None)
    sided = bool(
        DIRECTIONS & set(" ".join(ask.choices).split())
    )  # 'is the green apple to the left or to the right of me'
    placed = sided or (first[-1] in PLACING and len(ask.choices[-1].split()) > 1)
    if named is not None and not placed:
        return None, replace(ask, asked=Asked(named))
    located = sided or first[-1] in PLACING
    if located:
        mine = [p for p in places if p.subject is target or p.subject is None]
        place = next((p for p in mine if p.start >= ask.end), next(iter(mine), None))
        return place, replace(ask, asked=Asked.LOCATION)
    return None, replace(ask, asked=Asked.OTHER)


def _compared(reading: Reading, ask: Ask, end: int) -> Asked:
    said = set(reading.lowers[ask.start : end])
    for words, asked in (
        ({"color", "colour", "colors", "colours"}, Asked.COLOR),
        ({"bigger", "larger", "smaller", "taller", "size", "wider", "higher"}, Asked.SIZE),
        ({"shape"}, Asked.SHAPE),
        ({"more", "fewer", "less", "number"}, Asked.NUMBER),
        ({"material"}, Asked.MATERIAL),
    ):
        if said & words:
            return asked
    return Asked.OTHER


def predicate(
    reading: Reading, begin: int, end: int, places: list[Place], masked: frozenset[int]
) -> tuple[Attribute, int] | None:
    """The adjective or state word that is said of the target, and where it stands."""
    inside = {i for p in places if p.subject is not None for i in range(p.start, p.end)}
    for i in range(end - 1, begin - 1, -1):
        word = reading.lowers[i]
        if i in masked or i in inside:
            continue
        phrase = reading.phrase_at(i)
        if phrase is not None and (phrase.head != i or phrase.determiner or phrase.modifiers):
            continue
        last = i + 1 == end or reading.lowers[i + 1] in (",", "?", ".", "in", "on", "at") or i + 1 in masked
        before = reading.words[i - 1] if i else reading.words[i]
        posed = before.lemma in POSTURES - {"set", "put", "keep"} and before.tag == "VBG"  # 'what am I sitting on'
        stranded = word in SWITCHES and ((before.tag == "VB" and before.lemma != "be") or posed)
        if (word in SWITCHES and (not last or stranded)) or reading.lowers[i : i + 2] == ("made", "of"):
            continue
        found = lexicon.property_of(word)
        if found is not None:
            return Attribute(name=found[0], value=found[1]), i
    return None


def _closes(reading: Reading, place: Place, opens: int, begin: int, end: int, masked: frozenset[int]) -> bool:
    """Whether nothing but the relation is said: no verb or adjective is left over behind the target."""
    rest = [i for i in (*range(begin, place.start), *range(place.end, end)) if i not in masked]
    content = ("NN", "NNS", "JJ", "JJR", "VBN", "VBG", "VB", "VBD")
    placed = ("place", "locate", "stand", "sit", "lie", "hang", "mount", "put", "be", "stay", "keep", "leave", "store")
    does = reading.lowers[opens] in ("do", "does", "did")
    if any(reading.words[i].tag.startswith("VB") for i in range(place.end, end) if i not in masked):
        return False  # 'is the mirror in the hall hanging straight'
    verb = next((i for i in reversed(rest) if i < place.start and reading.words[i].tag == "VB"), -1)
    ends_there = verb >= 0 and all(reading.words[i].tag in ("RB", "RP") for i in rest if i > verb)
    if does and ends_there and reading.words[verb].lemma not in asking.SEE_LEMMAS:
        rest = [i for i in rest if i != verb]  # 'does the hamster hide in the tunnel', 'did it end up in the hall'
    elif does and not any(reading.words[i].lemma in placed for i in rest):
        return False  # 'does the lamp beside the bed flicker': its own verb says something else
    return not any(reading.words[i].tag in content and reading.words[i].lemma not in placed for i in rest)
