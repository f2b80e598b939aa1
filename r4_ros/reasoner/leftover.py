"""What a question says beyond its plan: words that found no place in it mean that it wasn't understood."""

from __future__ import annotations

from r4_ros.reasoner import asking, clauses, lexicon, occasions, words
from r4_ros.reasoner.keys import Asked, By, Form, Relation, TemporalOp
from r4_ros.reasoner.occasions import ORDINALS
from r4_ros.reasoner.parse import EGO_WORDS
from r4_ros.reasoner.places import Place
from r4_ros.reasoner.purposes import SERVING, purpose_at
from r4_ros.reasoner.sketch import ROBOT, Sketch, imagined_spans

KNOWN_VERBS = (
    asking.SEE_LEMMAS
    | asking.GO_VERBS
    | asking.WAY_VERBS
    | frozenset(
        """stack pile arrange be have do can could will would shall should may might must 's 're 've get make like
        exist lose seek miss stand sit
        lie lay hang place locate position put keep store mount leave rest stay remain contain
        tell know remind say show list name count describe want need look face turn lean describe hold appear
        start read spend compare come park reckon think suppose believe get accord""".split()
    )
)
"""Verbs that ask of what was seen, where and when, or only carry the question."""
PERSONS = frozenset("he she him her they them his".split())
CARRYING = frozenset(
    """thing things object objects item items stuff kind sort type side way room one ones lot number total robot time
    please thanks hello hi hey ok okay other same right left
    order amount odd even location whereabouts position place scene house home apartment""".split()
)
"""Nouns that carry a question without restricting it."""


GREETINGS = frozenset("hi hey hello ok okay yo oi".split())
LEAD = 6  # words of 'could you please tell me'
SWITCHES = frozenset("on off".split())
STORING = frozenset("place put store keep leave".split())


def reason(sketch: Sketch) -> str:
    """Why the plan isn't all that was asked, '' if it is."""
    ask = sketch.ask
    if ask.form in (Form.EXPLAIN, Form.ACTION):
        return ""
    own = clauses.own_way(sketch.reading, ask.end + 1, sketch.end) if ask.form is Form.WHEN else None
    if sketch.about != "thing" or own is not None:
        return ""
    unknowable = _beyond(sketch) or _unknowable(sketch)
    if unknowable:
        return unknowable
    missed = [sketch.reading.words[i].text for i in range(ask.start, sketch.end) if _is_missed(sketch, i)]
    before = range(sketch.begin, ask.start)
    told = len(before) <= LEAD and {sketch.reading.words[i].lemma for i in before} & asking.RESOLVING
    verbs = any(sketch.reading.words[i].tag.startswith("VB") for i in before)
    greets = bool(before) and len(before) <= 3 and sketch.reading.lowers[before[0]] in GREETINGS
    called = greets or (len(before) <= LEAD and not verbs)
    missed += [] if told or called else [sketch.reading.words[i].text for i in before if _is_missed(sketch, i)]
    if missed:
        return "it isn't clear what this has to do with what was seen, where and when: " + ", ".join(missed[:5])
    return _nothing_asked(sketch)


def _beyond(sketch: Sketch) -> str:
    """What lies ahead, who owns things, what robots did: nothing of that was seen."""
    lowers = sketch.reading.lowers[sketch.begin : sketch.end]
    pairs = list(zip(lowers, (*lowers[1:], ""), strict=True))
    looks = {w.lemma for w in sketch.reading.words[sketch.begin : sketch.end]} & (asking.SEE_LEMMAS | {"look", "face"})
    asked = ("you", "i") if looks else ("you",)  # 'turning round, what will I see'
    if "tomorrow" in lowers or any(a in ("will", "'ll", "shall") and b not in asked for a, b in pairs):
        return "what will be isn't in this memory: it knows what was seen"
    of_itself = any(m.clause < 0 and m.key.event is not None for m in sketch.mentions)
    if of_itself and (sketch.target is None or lexicon.is_anything(sketch.target.noun)):
        return "it isn't said before what"
    told = {id(p.subject) for p in sketch.places}
    if any(p.anchor is not None and p.anchor.noun == "room" and id(p.anchor) in told for p in sketch.places):
        return "which room that is isn't known: rooms are known by their names"
    if sketch.ask.form is Form.COMPARE and any(m.key.op is TemporalOp.CHANGE for m in sketch.mentions):
        return "what a thing was like at two times isn't compared; ask for each time"
    does = any(occasions.event_word(sketch.reading, i) for i in range(sketch.ask.start, sketch.end))
    if sketch.ask.asked is Asked.IDENTITY and does:
        return "what somebody does isn't in this memory: ask 'what happened to the ..' or 'when was the .. moved'"
    if any(e.by is By.ORDER and not e.side for e in sketch.extremes):
        return "things can be counted from the left, the right, the top or the bottom only"
    usual = next((m.key.arg for m in sketch.mentions if m.key.op is TemporalOp.HABIT and m.key.arg), "")
    if usual:
        return f"what is usual is known over all days, not of '{usual}' alone"
    if len(sketch.agents) > 1:
        return "ask of one robot at a time"
    if sketch.target is not None and sketch.target.noun in ("nothing", "nobody"):
        return "ask it the other way round: 'is there anything ..'"
    if sketch.reading.lowers[sketch.ask.start : sketch.ask.start + 1] == ("whose",):
        return "who owns things can't be seen"
    if "if" in lowers and imagined_spans(sketch.reading) and not any(_turns(p) for p in sketch.places):
        return "an imagined viewpoint needs where you are and what you face"
    able = lowers[:2] in (("can", "i"), ("could", "i"), ("can", "we"), ("could", "we"), ("may", "i"), ("can", "you"))
    see = {w.lemma for w in sketch.reading.words[sketch.begin : sketch.end]} & asking.SEE_LEMMAS
    serves = purpose_at(sketch) >= 0 and (sketch.ask.form is Form.EXISTS or sketch.target is not None)
    if able and sketch.ask.form in (Form.EXISTS, Form.VERIFY) and not see and not serves:
        return "what somebody can do isn't in this memory: it knows what was seen"
    stays = sketch.ask.form in (Form.DURATION, Form.WHEN)
    if sketch.target is not None and ROBOT.match(sketch.target.noun) and not stays:
        return "robots' own places are told only for a time, like 'where was robot1 20 seconds ago'"
    return ""


def _turns(place: Place) -> bool:
    """Whether a relation says which way the asker looks."""
    return place.relation is Relation.FACING or (place.ego and place.subject is not None)


def _unknowable(sketch: Sketch) -> str:
    """'my neighbour's name', 'the capital of France': what belongs to something, but is nothing that can be seen."""
    target = sketch.target
    told = words.UNKNOWABLE & set(sketch.reading.lowers[sketch.ask.start : sketch.ask.end])
    told -= frozenset("kind kinds type types sort sorts number".split())
    if told and sketch.ask.form is Form.ATTRIBUTE:
        return f"what somebody's or something's {min(told)} is can't be seen, and this memory holds what was seen"
    if target is None or lexicon.kind_of(target.noun) is not None or lexicon.is_anything(target.noun):
        return ""
    said = target.noun.split()[-1]
    of = sketch.reading.lowers[target.end : target.end + 1] == ("of",)
    asks_what = sketch.ask.form is Form.IDENTIFY and sketch.ask.asked is None
    if said in words.UNKNOWABLE or (asks_what and (of or target.owner)):
        return f"what somebody's or something's {target.noun} is can't be seen, and this memory holds what was seen"
    return ""


def _is_missed(sketch: Sketch, i: int) -> bool:
    """Whether a word with content is in no part of the plan."""
    word = sketch.reading.words[i]
    if word.lower in ORDINALS and i not in sketch.masked:
        return not any(e.start <= i < e.end for e in sketch.extremes)
    if word.lower in SERVING and purpose_at(sketch) > i:
        return False
    happens = any(occasions.event_word(sketch.reading, k) for k in range(sketch.ask.start, sketch.end))
    if word.lower == "times" and sketch.ask.form is Form.COUNT and happens:
        return False
    if i in sketch.used or i in sketch.masked or word.lower in CARRYING:
        return False
    if word.lower in PERSONS:  # 'I lost my keys. Where are they'
        named = sketch.target is not None and sketch.target.end <= sketch.ask.start
        return word.lower not in ("they", "them") or not named
    if word.lower in asking.PEOPLE and sketch.target is not None and sketch.target.head != i:
        return False  # 'did anybody move it', 'was it taken by someone'
    if word.tag.startswith("VB"):
        ends_up = word.lemma == "end" and sketch.reading.lowers[i + 1 : i + 2] == ("up",)
        known = ends_up or word.lemma in KNOWN_VERBS or word.lower in KNOWN_VERBS
        known = known or (word.lemma == "use" and purpose_at(sketch) >= 0)
        return not known and occasions.event_word(sketch.reading, i) is None and not _predicate(sketch, word.lower)
    if word.tag[:2] not in ("NN", "JJ") and word.tag != "FW":
        return False
    return not _predicate(sketch, word.lower) and occasions.event_word(sketch.reading, i) is None


def _predicate(sketch: Sketch, word: str) -> bool:
    """Whether a word is the property that a yes/no question claims, or names the one that is asked."""
    yes_no = sketch.ask.form in (Form.VERIFY, Form.CHOOSE)
    if yes_no and lexicon.property_of(word) is not None:
        return True
    return word in words.PROPERTIES or word in ("far", "close", "near", "many", "much", "relative")


def _nothing_asked(sketch: Sketch) -> str:
    """A question whose target is open must restrict it somehow."""
    lemmas = {w.lemma for w in sketch.reading.words[sketch.begin : sketch.end]}
    if sketch.ask.form is Form.LOCATE and "should" in lemmas and lemmas & STORING:
        return "where things belong isn't known, only where they were seen"
    target = sketch.target
    told_of = sketch.reading.lowers[target.end : sketch.end] if target is not None else ()
    if any(lexicon.property_of(w) and w not in SWITCHES for w in told_of) and sketch.ask.form is not Form.ATTRIBUTE:
        return ""  # 'which things are red'
    open_target = target is None or (lexicon.is_anything(target.noun) and not target.modifiers)
    if not open_target or purpose_at(sketch) >= 0:
        return ""
    restricted = (
        any(p.subject is target or p.subject is None for p in sketch.places) or sketch.agents or sketch.extremes
    )
    sees = bool(lemmas & asking.SEE_LEMMAS) or "there" in lemmas
    happened = any(occasions.event_word(sketch.reading, i) for i in range(sketch.ask.start, sketch.end))
    open_forms = (Form.IDENTIFY, Form.COUNT, Form.EXISTS, Form.ATTRIBUTE)
    if target is not None and (restricted or sketch.ask.form in (Form.COUNT, Form.EXISTS)):
        return ""
    if sketch.ask.form in open_forms and (restricted or sees or happened):
        return ""
    if sketch.ask.form is Form.WHEN and happened:
        return ""
    me = set(sketch.reading.lowers[sketch.ask.end : sketch.end]) & EGO_WORDS
    rooms = any(p.anchor is not None and lexicon.is_room(p.anchor.noun) for p in sketch.places)
    if sketch.ask.form is Form.DURATION and me and rooms:
        return ""
    return "it isn't said which thing is meant; ask for example 'where is the cup' or 'what is on the table'"
