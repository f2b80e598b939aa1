"""Which of several noun phrases is asked about, by its part in the sentence: the goal, the object, the far end."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import asking
from r4_ros.reasoner.keys import Asked, Form, Relation
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import is_abstract
from r4_ros.reasoner.sketch import Sketch
from r4_ros.reasoner.spatial_words import PARTS, TIMELY

LEADING = frozenset("take guide lead navigate escort drive walk show".split())
AWAY = frozenset("throw leave exit drop dispose dump discard put place hang store escape tell".split())
"""Verbs of a purpose whose object isn't there: it is brought, or left."""
MEASURES = frozenset(
    "nature sign trace kind type sort piece pair lot number amount bunch bit set variety sheet".split()
)


def picked_between(sketch: Sketch) -> NounPhrase | None:
    """'between the bed and the desk, which is bigger': the first of both; being between them restricts nothing."""
    between = next((p for p in sketch.places if p.relation is Relation.BETWEEN and p.other is not None), None)
    if sketch.ask.form is not Form.COMPARE or between is None or between.subject is not None:
        return None
    if between.anchor is between.other:
        return None
    sketch.places.remove(between)
    return between.anchor


def far_end(sketch: Sketch) -> NounPhrase | None:
    """'how many paces is it from the kiosk to the gate', 'how many steps from the desk to the door': the far end."""
    lowers, end = sketch.reading.lowers, sketch.ask.end
    at = end + 2 * (lowers[end + 1 : end + 2] == ("it",))
    named = sketch.reading.phrase_at(at + 1) if lowers[at : at + 1] == ("from",) and at + 1 < len(lowers) else None
    if named is None or lowers[named.end : named.end + 1] != ("to",):
        return None
    far = sketch.reading.phrase_at(named.end + 1) if named.end + 1 < len(lowers) else None
    part = far is not None and far.noun.split()[-1] in PARTS  # 'to the end of the pool'
    return named if far is None or part else far


def typed(sketch: Sketch, candidates: list[NounPhrase]) -> NounPhrase | None:
    """'what type of plant is kale': what is told of is behind the verb."""
    if sketch.ask.asked is not Asked.TYPE or len(candidates) < 2:
        return None
    first, second = candidates[:2]
    directly = first.start == sketch.ask.end and second.start == first.end + 1 and second.noun != "one"
    rest = [w for w in sketch.reading.words[second.end : sketch.end] if w.i not in sketch.masked]
    ends = not rest or rest[0].tag in (",", ".")
    return second if directly and ends and sketch.reading.lowers[first.end] in asking.BE else None


def done_to(sketch: Sketch, candidates: list[NounPhrase]) -> NounPhrase | None:
    """'did anybody move the kettle', 'how many times did Danny ring the bell': what it was done to is asked about."""
    tokens, ask = sketch.reading.words, sketch.ask
    often = ask.form is Form.COUNT and sketch.reading.lowers[ask.end : ask.end + 1] == ("times",)
    if not often and ask.form not in (Form.VERIFY, Form.WHEN, Form.DURATION):
        return None
    doers = {tokens[p.head].head: p for p in sketch.reading.phrases if tokens[p.head].dep == "nsubj"}
    return next(
        (
            p
            for p in candidates
            if tokens[p.head].dep == "dobj"
            and (doer := doers.get(tokens[p.head].head)) is not None
            and (often or doer.noun == "person" or tokens[doer.head].lower in asking.PEOPLE)
        ),
        None,
    )


def shown_on(sketch: Sketch) -> NounPhrase | None:
    """'what colours are in the painting': the property is the painting's own."""
    if sketch.ask.form is not Form.ATTRIBUTE:
        return None
    place = next((p for p in sketch.places if p.subject is None and p.anchor is not None and not p.ego), None)
    on = (Relation.ON, Relation.IN, Relation.SIDE, Relation.TOP, Relation.BOTTOM, Relation.IN_FRONT_OF)
    if place is None or place.relation not in on or place.anchor is None:
        return None
    sketch.places.remove(place)
    sketch.used.update(range(place.start, place.end))
    return place.anchor


def sought(sketch: Sketch, candidates: list[NounPhrase]) -> NounPhrase | None:
    """'where did Anna put the ruler': what was put is sought, not who did it."""
    if sketch.ask.form is not Form.LOCATE:
        return None
    words = sketch.reading.words
    doers = {words[p.head].head for p in sketch.reading.phrases if words[p.head].dep == "nsubj"}
    doers |= {w.head for w in words if w.dep == "nsubj" and w.tag != "WDT"}
    verbs = doers | {w.i for w in words if w.dep == "xcomp" and w.head in doers}  # 'where does she tend to put it'
    found = next((p for p in candidates if words[p.head].dep == "dobj" and words[p.head].head in verbs), None)
    inner = (p for p in candidates if words[p.head].dep == "dobj" and p.determiner and p.start > sketch.ask.end)
    return found or next((p for p in inner if words[words[p.head].head].tag == "VBG"), None)


def goal(sketch: Sketch, candidates: list[NounPhrase]) -> NounPhrase | None:
    """'guide the visitors to the painting': where to, not whom."""
    ask, lowers = sketch.ask, sketch.reading.lowers
    leads = sketch.reading.words[ask.start].lemma in LEADING if ask.start < len(lowers) else False
    if ask.form is not Form.NAVIGATE or not leads:
        return None
    return next((p for p in candidates if lowers[p.start - 1 : p.start] in (("to",), ("towards",))), None)


def of_kind(sketch: Sketch, phrase: NounPhrase) -> NounPhrase:
    """'how many kinds of snacks', 'a piece of furniture': the thing, not its measure."""
    if phrase.noun not in MEASURES or sketch.reading.lowers[phrase.end : phrase.end + 1] != ("of",):
        return phrase
    thing = sketch.reading.phrase_at(phrase.end + 1)
    if thing is not None:
        sketch.used.update(range(phrase.start, phrase.end + 1))
        sketch.extremes = [replace(e, phrase=thing) if e.phrase is phrase else e for e in sketch.extremes]
    return thing or phrase


def beside(sketch: Sketch, phrase: NounPhrase) -> list[NounPhrase]:
    """What is named with a phrase: 'the shredder and the laminator', 'Tom, Faye and Emma'."""
    lowers, found = sketch.reading.lowers, [phrase]
    while lowers[found[-1].end : found[-1].end + 1] in (("and",), (",",)):
        following = sketch.reading.phrase_at(found[-1].end + 1) if found[-1].end + 1 < len(lowers) else None
        if following is None or following.start != found[-1].end + 1:
            break
        found.append(following)
    joined = len(found) > 1 and lowers[found[-2].end] == "and"
    return found[1:] if joined else []


def is_other_end(sketch: Sketch, phrase: NounPhrase) -> bool:
    """'how far from the dog was the child': where the distance is measured from."""
    if sketch.ask.form is Form.DISTANCE and phrase.start - 1 == sketch.ask.end:
        # 'how near to the stove is the curtain', 'how high up the wall was the switch'
        return sketch.reading.lowers[phrase.start - 1] in ("to", "from", "up", "off")
    measured = sketch.ask.form in (Form.DISTANCE, Form.DIRECTION, Form.NAVIGATE)
    before = sketch.reading.lowers[phrase.start - 1 : phrase.start]
    to = before == ("to",) and phrase.start == sketch.ask.end + 1  # 'how close to the gate did the calf get'
    to = to and sketch.ask.form is Form.DISTANCE
    return measured and (to or before in (("from",), ("off",), ("up",)))


def aimed_at(sketch: Sketch, purpose: int) -> NounPhrase | None:
    """'which way should I go to water the plant, to look out of the window': what something is done to or at there."""
    tokens = sketch.reading.words
    if sketch.ask.form is not Form.NAVIGATE or tokens[purpose].lemma in AWAY:
        return None
    named = (p for p in sketch.reading.phrases if p.start > purpose and p.determiner == "the")
    found = next(named, None)
    if found is None or found.noun.split()[-1] in TIMELY or is_abstract(found.noun):
        return None
    between = tokens[purpose + 1 : found.start]
    return found if all(w.tag in ("IN", "RP", "TO") for w in between) else None
