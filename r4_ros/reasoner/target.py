"""What a question asks about: the noun phrase that is the target."""

from __future__ import annotations

from r4_ros.reasoner import asking, lexicon, superlative
from r4_ros.reasoner.keys import Asked, Form
from r4_ros.reasoner.parse import EGO_WORDS
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import is_excluded
from r4_ros.reasoner.purposes import AIMS, SERVING, purpose_at, served, wanted
from r4_ros.reasoner.sketch import Sketch
from r4_ros.reasoner.spatial_words import UNITS_OF_LENGTH
from r4_ros.reasoner.target_roles import (
    aimed_at,
    beside,
    done_to,
    far_end,
    goal,
    is_other_end,
    of_kind,
    picked_between,
    sought,
    typed,
)
from r4_ros.reasoner.tokens import NOUN_TAGS

PRONOUNS = frozenset("it they them that those".split())
PERSONAL = frozenset("he she his her him this these".split())
EXPLETIVE = frozenset(
    "usual normal typical common possible safe ok okay easy true likely necessary allowed fine better".split()
)
"""'is it possible to open a window': 'it' stands for nothing."""
ABSTRACT = frozenset(
    """record chance way time moment case front turn degree direction amount number position total location bit
    order""".split()
)


def find_target(sketch: Sketch) -> NounPhrase | None:
    """The noun phrase that is asked about: the first behind the asking words that isn't something else's anchor."""
    decided = _decided(sketch)
    if decided is not None:
        return decided[0]
    taken = _taken(sketch)
    candidates = _candidates(sketch, taken)
    if sketch.ask.form is Form.DISTANCE and (near := far_end(sketch)) is not None:
        return near
    told = typed(sketch, candidates) or done_to(sketch, candidates)
    if told is not None:
        return told
    robots = sketch.ask.asked is None and sketch.reading.lowers[sketch.ask.start : sketch.ask.start + 1] == ("which",)
    others = [p for p in candidates if (robots or p.noun != "robot") and not is_other_end(sketch, p)] or candidates
    if not others:
        return _antecedent(sketch, taken) or _of_clause(sketch, taken)
    found = of_kind(sketch, goal(sketch, others) or sought(sketch, others) or others[0])
    if found.noun == "one" and found.head < sketch.end:  # 'of the mugs on the table, which one is the largest'
        of_these = (p for p in reversed(sketch.reading.phrases) if p.end <= found.start and p.plural)
        found = next((p for p in of_these if id(p) not in taken), found)
    return None if found.noun in SERVING and purpose_at(sketch) >= 0 else found


def _decided(sketch: Sketch) -> tuple[NounPhrase | None] | None:
    """What turns of their own ask about, (None,) where they name nothing; None: the question has no such turn."""
    ask = sketch.ask
    if reading_of_whose(sketch):
        return (_antecedent(sketch, set()),)
    if _of_asker(sketch):
        return (None,)
    if _to_where(sketch):
        return (None,)
    if (first := picked_between(sketch)) is not None:
        return (first,)
    if (ours := _of_us(sketch)) is not None:
        return (ours,)
    if (owner := _told_of(sketch)) is not None:
        return (owner,)
    if _of_pronoun(sketch):
        meant = _antecedent(sketch, _taken(sketch))
        people = sketch.reading.lowers[ask.end] in ("they", "he", "she")  # 'did they use to keep the mops in here'
        if meant is not None or not people:
            return (meant,)
    topic = _topic(sketch) or _done_to_it(sketch)
    if topic is not None:
        return (topic,)
    anchors = {id(p.anchor) for p in sketch.places}
    of_these = (e.phrase for e in sketch.extremes if ask.end <= e.start and _is_picked_from(sketch, e.phrase))
    picked = next((p for p in of_these if id(p) not in anchors), None)
    if picked is not None:
        return (picked,)
    wish = wanted(sketch)
    if wish >= 0:
        return (_there(sketch, aimed_at(sketch, wish)),)
    purpose = purpose_at(sketch) if ask.form in (Form.LOCATE, Form.NAVIGATE) else -1
    if purpose >= 0:
        return (_gotten(sketch, purpose),)
    unnamed = ask.bare and ask.form is Form.IDENTIFY and not _predicate_noun(sketch)
    who = ask.form is Form.CHOOSE and (reading_of_who(sketch) or ask.asked is Asked.IDENTITY)
    if who and (kind := _both(sketch)) is not None:
        return (kind,)
    return (None,) if unnamed or who or served(sketch) >= 0 else None


def _both(sketch: Sketch) -> NounPhrase | None:
    """'is it the red valve or the yellow valve that leaks': what both choices are."""
    lowers = sketch.reading.lowers
    at = next((k for k in range(sketch.ask.start, sketch.end) if lowers[k] == "or"), -1)
    first, second = (sketch.reading.phrase_at(k) if 0 < k < len(lowers) else None for k in (at - 1, at + 1))
    alike = first is not None and second is not None and second.noun in (first.noun, "one") and at > 0
    return first if alike else None


def _candidates(sketch: Sketch, taken: set[int]) -> list[NounPhrase]:
    """The noun phrases that may be asked about, from left to right; behind the asking words, else before them."""
    ask, phrases = sketch.ask, sketch.reading.phrases
    found = [p for p in phrases if ask.end <= p.head < sketch.end and id(p) not in taken and _may_be_asked(sketch, p)]
    if found:
        return found
    if ask.form in (Form.EXISTS, Form.VERIFY, Form.CHOOSE, Form.LOCATE):
        before = (p for p in phrases if p.end <= ask.start + 1 and id(p) not in taken)
        return [p for p in before if p.start not in sketch.masked]
    if ask.form not in (Form.DISTANCE, Form.DIRECTION, Form.NAVIGATE):
        return []
    found = [p for p in phrases if p.start >= ask.end and p.start not in sketch.masked]
    if ask.form is Form.NAVIGATE and found:  # 'wait beside the gate': the goal itself
        sketch.places = [p for p in sketch.places if p.anchor is not found[0] or p.subject is not None]
    return found


def _may_be_asked(sketch: Sketch, phrase: NounPhrase) -> bool:
    """Whether a phrase names a thing, and not a time, a measure, or what places and comparisons refer to."""
    if phrase.start in sketch.masked or phrase.head in sketch.masked:
        return False
    way = phrase.noun == "way" and sketch.ask.form in (Form.EXISTS, Form.IDENTIFY)
    way = way or (phrase.noun == "number" and phrase.plural and bool(phrase.determiner))  # 'the numbers on the clock'
    if phrase.noun in ABSTRACT and not way:
        return False
    inside = any(p.start <= phrase.start < p.end and p.subject is not phrase for p in sketch.places)
    return not (inside or _is_whole(sketch, phrase) or _is_measured_to(sketch, phrase))


def _gotten(sketch: Sketch, purpose: int) -> NounPhrase | None:
    """'where can I find a fan to cool down', 'I have some letters, where can I put them': what is got or put."""
    lowers, tokens = sketch.reading.lowers, sketch.reading.words
    verb = next((k for k in range(sketch.ask.end, purpose) if tokens[k].lemma in AIMS and tokens[k].tag == "VB"), -1)
    named = sketch.reading.phrase_at(verb + 1) if verb >= 0 else None
    if named is not None and named.end <= purpose and named.noun not in SERVING:
        return named
    put = lowers[purpose + 1 : purpose + 2] in (("them",), ("it",), ("these",)) and sketch.ask.start > 0
    return _antecedent(sketch, _taken(sketch)) if put else _there(sketch, aimed_at(sketch, purpose))


def _there(sketch: Sketch, goal: NounPhrase | None) -> NounPhrase | None:
    """The goal itself: no place within its purpose restricts it ('to look out of the window')."""
    sketch.places = [p for p in sketch.places if goal is None or p.anchor is not goal]
    return goal


def _to_where(sketch: Sketch) -> bool:
    """'bring me to where Lucas fell': a place that only an event names."""
    end, lowers = sketch.ask.end, sketch.reading.lowers
    end += lowers[end : end + 1] == ("to",)
    where = lowers[end : end + 1] in (("where",), ("wherever",)) and sketch.ask.form is Form.NAVIGATE
    return where and not {w.lemma for w in sketch.reading.words[end : sketch.end]} & asking.SEE_LEMMAS


def _of_us(sketch: Sketch) -> NounPhrase | None:
    """'how many of us were there': persons."""
    end = sketch.ask.end
    us = sketch.reading.lowers[end : end + 2] in (("of", "us"), ("of", "you"))
    return NounPhrase(end, end + 2, end + 1, "person", plural=True) if us and sketch.ask.form is Form.COUNT else None


def _told_of(sketch: Sketch) -> NounPhrase | None:
    """'what is Tom's nickname': Tom, where the property has been read as what is asked."""
    ask = sketch.ask
    said = sketch.reading.phrase_at(ask.end - 1) if ask.form is Form.ATTRIBUTE and ask.end else None
    if said is None or not said.owner or said.head != ask.end - 1:
        return None
    return NounPhrase(said.start, ask.end, said.start, said.owner, proper=True, determiner=said.determiner)


def _is_picked_from(sketch: Sketch, phrase: NounPhrase | None) -> bool:
    """'the smallest of the boxes'."""
    lowers = sketch.reading.lowers
    return phrase is not None and phrase.plural and lowers[phrase.start - 1 : phrase.start] == ("of",)


def _taken(sketch: Sketch) -> set[int]:
    """The phrases that are something else: anchors, robots that look, what a distance is from, what is left out."""
    taken = {id(p) for p in sketch.reading.phrases if is_excluded(sketch.reading, p)}
    taken |= {id(p.anchor) for p in sketch.places} | {id(p.other) for p in sketch.places}
    return taken | {id(p) for p in sketch.agent_phrases} | {id(e.reference) for e in sketch.extremes}


def _of_asker(sketch: Sketch) -> bool:
    """'am I in the bedroom', 'are you near the door': the asker or the robot itself is asked about."""
    ask, reading = sketch.ask, sketch.reading
    own = bool(EGO_WORDS & set(reading.lowers[ask.end : ask.end + 1]))
    verb = reading.words[min(ask.end + 1, len(reading.words) - 1)]
    asks = reading.words[ask.end - 1].lower
    goes = asks in ("can", "could", "may") and verb.lemma in asking.GOING_VERBS - {"turn"}
    return own and ask.form in (Form.VERIFY, Form.CHOOSE) and (asks in asking.BE or goes)


def _of_pronoun(sketch: Sketch) -> bool:
    """'..., is it metal', 'was that a bat or a swallow': what a pronoun stands for; what is said of it is no target."""
    ask, words = sketch.ask, sketch.reading.words
    if ask.form not in (Form.VERIFY, Form.CHOOSE) or ask.end >= sketch.end or reading_of_who(sketch):
        return False
    subject, after = words[ask.end], words[min(ask.end + 1, len(words) - 1)]
    stands = subject.lower in PRONOUNS | {"this", "these", "he", "she"} and after.lower not in EXPLETIVE
    return stands and (subject.tag == "PRP" or after.tag not in NOUN_TAGS | {"JJ", "CD"})


def _topic(sketch: Sketch) -> NounPhrase | None:
    """'the forklift with the bent mast: when was it repaired': what is named first, and told of behind a colon."""
    ask, lowers = sketch.ask, sketch.reading.lowers
    if ask.form not in (Form.WHEN, Form.LOCATE, Form.DURATION, Form.ATTRIBUTE, Form.STATE) or ask.start < 2:
        return None
    told = lowers[ask.end + 1 : ask.end + 2] in (("it",), ("they",)) or lowers[ask.end : ask.end + 1] in (("it",),)
    named = sketch.reading.phrase_at(1) or sketch.reading.phrase_at(0)
    parted = lowers[ask.start - 1] in (":", "-", ",")
    return named if told and parted and named is not None and named.start == 0 and named.determiner else None


def _done_to_it(sketch: Sketch) -> NounPhrase | None:
    """'the pram by the lift, has anybody touched it': what it stands for."""
    words, ask = sketch.reading.words, sketch.ask
    if ask.form is not Form.VERIFY or not ask.start:
        return None
    doers = {w.head for w in words[ask.start : sketch.end] if w.dep == "nsubj" and w.lower in asking.PEOPLE}
    done = any(w.lower in PRONOUNS and w.dep == "dobj" and w.head in doers for w in words[ask.start : sketch.end])
    return _antecedent(sketch, _taken(sketch)) if done else None


def _of_clause(sketch: Sketch, taken: set[int]) -> NounPhrase | None:
    """'what time was it when you last saw the dog', 'reverse until the pillar is on your left': said there only."""
    said = set(sketch.reading.lowers[sketch.ask.end : sketch.end]) - {"a"}
    if sketch.ask.form not in (Form.WHEN, Form.LOCATE, Form.NAVIGATE) or (EGO_WORDS & said and "it" not in said):
        return None
    return next(
        (p for p in sketch.reading.phrases if p.start in sketch.masked and id(p) not in taken and _acts(sketch, p)),
        None,
    )


def _acts(sketch: Sketch, phrase: NounPhrase) -> bool:
    return sketch.reading.words[phrase.head].dep in ("dobj", "nsubj", "nsubjpass") and not phrase.room


def _antecedent(sketch: Sketch, taken: set[int]) -> NounPhrase | None:
    """'there are two boards, which color are they': what a pronoun, or nothing, stands for was named before."""
    reading, ask = sketch.reading, sketch.ask
    pronouns = set(reading.lowers[ask.start : sketch.end]) & PRONOUNS
    whose = reading.lowers[ask.start : ask.start + 1] == ("whose",)
    personal = set(reading.lowers[ask.start : sketch.end]) & PERSONAL
    fronted = (
        reading.lowers[ask.start - 1 : ask.start] == (",",) and ask.form is Form.COUNT
    )  # 'the eggs, how many are left'
    stands = pronouns or personal or fronted or ask.end >= sketch.end or ask.form is Form.NAVIGATE
    if (ask.bare and not whose) or not stands:
        return None
    before = (p for p in reading.phrases if p.head < ask.start and id(p) not in taken and p.start not in sketch.masked)
    named = [p for p in before if p.noun not in ABSTRACT]
    things = [p for p in named if lexicon.kind_of(p.noun) != "person"] if "it" in pronouns else named
    found = next(iter(things or named), None)
    if found is not None:
        sketch.used.update(i for i in range(ask.start, sketch.end) if reading.lowers[i] in PRONOUNS)
    return found


def reading_of_whose(sketch: Sketch) -> bool:
    """'the shoes under the bench, whose are they': asked of what was named before."""
    ask, lowers = sketch.ask, sketch.reading.lowers
    own = sketch.reading.phrase_at(ask.start + 1) if ask.start + 1 < len(lowers) else None
    if own is not None and own.head > ask.start and own.start <= ask.start + 1:
        return False  # 'over by the window, whose bag is that'
    return ask.start > 0 and lowers[ask.start] == "whose" and bool(PRONOUNS & set(lowers[ask.start : sketch.end]))


def reading_of_who(sketch: Sketch) -> bool:
    """'was it the porter or the doctor who closed the blind': one of the choices is what is asked."""
    lowers = sketch.reading.lowers
    return lowers[sketch.ask.start + 1 : sketch.ask.start + 2] == ("it",) and bool(
        {"who", "that", "which"} & set(lowers[sketch.ask.start : sketch.end])
    )


def _is_measured_to(sketch: Sketch, phrase: NounPhrase) -> bool:
    """'which object is closer to the window, the bed or the bin': neither the window nor 'object' is compared."""
    if sketch.ask.form is not Form.COMPARE:
        return False
    before = sketch.reading.lowers[max(0, phrase.start - 2) : phrase.start]
    if before[-1:] and before[-1] in superlative.COMPARATIVES:
        return True
    to = before[-1:] in (("to",), ("from",)) and before[:1] and before[0] in superlative.COMPARATIVES
    which = sketch.reading.lowers[sketch.ask.start : sketch.ask.start + 1] in (("which",), ("what",))
    return bool(to) or phrase.noun == "one" or (which and lexicon.is_anything(phrase.noun))


def _is_whole(sketch: Sketch, phrase: NounPhrase) -> bool:
    """'which side of the bed is the lamp on', 'which shelf of the cabinet': what the asked part belongs to."""
    ask, lowers = sketch.ask, sketch.reading.lowers
    if ask.form not in (Form.DIRECTION, Form.LOCATE) or lowers[phrase.start - 1 : phrase.start] != ("of",):
        return False
    return phrase.start - 1 == ask.end and any(p.start > phrase.end for p in sketch.reading.phrases)


def _predicate_noun(sketch: Sketch) -> bool:
    """'what is the object on the table': a noun follows the verb and nothing stands between."""
    lowers = sketch.reading.lowers
    i = sketch.ask.end
    while i < sketch.end and (lowers[i] in asking.BE or i in sketch.masked):
        i += 1
    phrase = sketch.reading.phrase_at(i) if i < sketch.end else None
    if phrase is None or phrase.start != i or lowers[i - 1 : i] == ("did",):
        return False
    if phrase.noun in UNITS_OF_LENGTH:
        return False  # 'what is two metres in front of you'
    if phrase.end - phrase.start == 1 and lexicon.property_of(phrase.noun) is not None:
        return False  # 'what is silver and to my left'
    words, j = sketch.reading.words, phrase.end
    others = beside(sketch, phrase)
    j = others[-1].end if others else j
    j += j < sketch.end and lowers[j] == "most"
    if lowers[j : j + 2] in (("likely", "to"), ("going", "to"), ("about", "to")):
        return False  # 'what is Anna likely to eat'
    ends = j + 1 >= sketch.end or j + 1 in sketch.masked or words[j + 1].tag in ("IN", ".", ",", "RB", "TO")
    return not (j < sketch.end and words[j].tag == "VBG" and words[j].lemma not in asking.POSTURES and ends)
