"""Small words that change what is asked: 'only', 'every', 'again'. One that is in no part of the plan is told."""

from __future__ import annotations

from collections.abc import Callable

from r4_ros.reasoner import asking, lexicon, words
from r4_ros.reasoner.keys import Asked, Form, Plan, Relation, Step
from r4_ros.reasoner.negation import NO
from r4_ros.reasoner.occasions import event_word
from r4_ros.reasoner.parse import EGO_WORDS, Reading
from r4_ros.reasoner.places import is_left_out
from r4_ros.reasoner.sketch import ROBOT, Sketch, imagined_spans
from r4_ros.reasoner.spatial_words import UNITS_OF_LENGTH

SHARES = frozenset("all every each both no none neither either half".split())
LISTING = (Form.IDENTIFY, Form.LOCATE, Form.COUNT, Form.NAVIGATE, Form.ATTRIBUTE, Form.STATE)
"""Forms whose answer tells each of the things found, so that 'all' and 'each' of them add nothing."""
NEARLY = frozenset("hardly barely scarcely almost nearly partly partially virtually practically".split())
REPEATED = frozenset("again twice thrice once".split())
FURTHER = frozenset("else other another".split())
ALIKE = frozenset("same different similar identical distinct".split())
OUGHT = frozenset("must should ought supposed shall".split())
OWNED = frozenset("mine yours hers theirs ours".split())
LINKING = frozenset("without instead unlike despite but".split())
MORE = frozenset("more fewer less".split())
WITHIN = frozenset("in on under inside".split())
WHETHER = asking.CHECKING | {"me", "us", "wonder"}


def _there(sketch: Sketch, plan: Plan) -> str:
    """'was the kettle in there then': a place that another sentence may name."""
    lowers, read = sketch.reading.lowers, {i for p in sketch.places for i in range(p.start, p.end)}
    span = range(max(1, sketch.ask.start), sketch.end)
    has = any(w.lemma in ("have", "with") for w in sketch.reading.words[sketch.ask.start : sketch.end])
    open_ = {"there"} if has else {"there", "it"}  # 'which room has the mug in it'
    left = [i for i in span if lowers[i] in open_ and lowers[i - 1] in WITHIN and i not in read | sketch.masked]
    return f"it isn't said where '{lowers[left[0] - 1]} {lowers[left[0]]}' is" if left else ""


def _last_word(sketch: Sketch, plan: Plan) -> str:
    """'the last time you saw it was when?': a question word at the end that no form took up."""
    at = sketch.end - 1
    last = sketch.reading.lowers[at] if at >= sketch.ask.end else ""
    asks = last in ("when", "where", "who", "which", "how") and at not in sketch.used | sketch.masked
    return f"it isn't clear what '{last}' asks here" if asks else ""


def reason(sketch: Sketch, plan: Plan) -> str:
    """Why a word of the question isn't in its plan, '' where none is left over."""
    if sketch.ask.form in (Form.EXPLAIN, Form.ACTION):
        return ""
    return next((why for check in CHECKS if (why := check(sketch, plan))), "")


def _said(sketch: Sketch, words_: frozenset[str]) -> list[int]:
    """Where one of the words stands in the question, and isn't a word of time or order."""
    ordered = {i for e in sketch.extremes for i in range(e.start, e.end)}
    span = range(sketch.ask.start, sketch.end)
    return [i for i in span if sketch.reading.lowers[i] in words_ and i not in sketch.masked | ordered]


def _share(sketch: Sketch, plan: Plan) -> str:
    """'is there a mug on every table', 'did both robots see it'; 'where are all the mugs' is no more than 'where'."""
    if sketch.ask.form in (Form.COMPARE, Form.ORDER):
        return ""
    left = [i for i in _said(sketch, SHARES) if not _is_told(sketch, plan, i)]
    if not left:
        return ""
    word = sketch.reading.lowers[left[0]]
    return f"'{word}' can be said of what is asked about only; ask of one thing or place at a time"


def _amount(sketch: Sketch, plan: Plan) -> str:
    """'near at least two chairs', 'have most of them been moved': how many, of what isn't asked about or not so."""
    said, target = sketch.quantity, plan.target
    lost = bool(said.bound) and not _bounds(target)
    claims = plan.claim is not None and (plan.claim.spatial is not None or plan.claim.attribute is not None)
    lost = lost or (bool(said.share or target.share) and sketch.ask.form is Form.VERIFY and not claims)
    lost = lost or (bool(said.share) and sketch.ask.form is not Form.VERIFY)
    return "of how many it is so I can tell for a place or a colour of what is asked about only" if lost else ""


def _is_told(sketch: Sketch, plan: Plan, i: int) -> bool:
    """Whether the plan holds 'all', 'no' and the like, or they restrict nothing."""
    lowers, target = sketch.reading.lowers, sketch.target
    before, after = lowers[i - 1 : i], lowers[i + 1 : i + 2]
    if before in (("at",), ("in",), ("of",)) and lowers[i] == "all":
        return True
    if after and (after[0] in ("other", "longer", "idea", "doubt", "matter", "past") or after[0] in words.STATES):
        return True
    if lowers[i] == "either":
        return sketch.ask.form is Form.CHOOSE or i + 1 == sketch.end
    ours = target is not None and target.start - 2 <= i < target.end
    if not ours:
        return False
    if lowers[i] == "both" and "and" in lowers[i : sketch.end]:
        return False
    if lowers[i] in ("no", "none", "neither"):
        rooms = plan.asked is Asked.LOCATION and sketch.ask.form is Form.IDENTIFY
        claims = rooms or sketch.ask.form is Form.VERIFY
        return (plan.target.share == "none" and claims) or sketch.ask.form is Form.EXISTS
    return sketch.ask.form in LISTING or bool(plan.target.share)


def _only(sketch: Sketch, plan: Plan) -> str:
    """'is there only a mug'; 'only two mugs' is a number."""
    left = [i for i in _said(sketch, frozenset({"only"})) if not _bounds(plan.target)]
    return "that nothing else is so I can't tell; ask what there is" if left else ""


def _bounds(step: Step) -> bool:
    return step.number > 0 and bool(step.bound)


def _nearly(sketch: Sketch, plan: Plan) -> str:
    left = _said(sketch, NEARLY)
    return f"how much '{sketch.reading.lowers[left[0]]}' is I can't tell" if left else ""


def _often(sketch: Sketch, plan: Plan) -> str:
    """'was it moved twice', 'has it been moved again'."""
    claims = plan.claim is not None and plan.claim.event is not None
    left = [i for i in _said(sketch, REPEATED) if sketch.reading.lowers[i - 1 : i] != ("at",)]
    times = [i for i in _said(sketch, frozenset({"times"})) if sketch.ask.form is not Form.COUNT]
    times += [i for i in _said(sketch, REPEATED) if sketch.reading.lowers[i - 1] == "than"]
    return "of how often it happened ask 'how many times'" if (claims and left) or times else ""


def _further(sketch: Sketch, plan: Plan) -> str:
    """'the other mug', 'anything else': than which isn't said. A list of all has the others, too."""
    target = plan.target
    excludes = target.semantic.exclude or any(k.negate for step in plan.steps for k in step.spatial)
    lists = sketch.ask.form is Form.IDENTIFY and target.superlative is None and plan.asked is not Asked.AGENT
    robots = {i for p in sketch.agent_phrases for i in range(p.start, p.end)}
    robots |= set(range(sketch.end)) if any("other" in name for name in target.agents) else set()
    left = [i for i in _said(sketch, FURTHER) if not _is_paired(sketch.reading, i) and i not in robots]
    if not left or excludes or lists or sketch.ask.form is Form.COMPARE:
        return ""
    return f"'{sketch.reading.lowers[left[0]]}' than which isn't said; ask which there are"


def _is_paired(reading: Reading, i: int) -> bool:
    """'each other', 'on the other side of the bed', 'the other day'."""
    beside = reading.lowers[i - 1 : i] in (("each",), ("one",), ("every",), ("or",))
    return beside or reading.lowers[i + 1 : i + 2] in (("side",), ("end",), ("day",), ("way",), ("than",), ("words",))


def _alike(sketch: Sketch, plan: Plan) -> str:
    """'on the same table as', 'how many different kinds'."""
    rooms = any(k.relation is Relation.SAME_ROOM for step in plan.steps for k in step.spatial)
    rooms = rooms or (plan.claim is not None and plan.claim.spatial is not None)
    rooms = rooms and "room" in sketch.reading.lowers
    if sketch.ask.form in (Form.COMPARE, Form.ORDER) or rooms:
        return ""
    left = _said(sketch, ALIKE)
    return f"what is '{sketch.reading.lowers[left[0]]}' I can tell of two named things only" if left else ""


def _ought(sketch: Sketch, plan: Plan) -> str:
    if sketch.ask.form not in (Form.VERIFY, Form.EXISTS, Form.CHOOSE, Form.LOCATE, Form.COUNT):
        return ""
    if (EGO_WORDS | {"robot"}) & set(sketch.reading.lowers[sketch.ask.start : sketch.ask.start + 4]):
        return ""  # 'where should I go', 'where should the robot get the pen'
    return "what ought to be isn't in this memory: it knows what was seen" if _said(sketch, OUGHT) else ""


def _if(sketch: Sketch, plan: Plan) -> str:
    """'if the mug weren't there, where would it be': not 'tell me if', 'if so', 'if I sit on the sofa'."""
    lowers, tokens = sketch.reading.lowers, sketch.reading.words
    if sketch.ask.form in (Form.NAVIGATE, Form.DIRECTION):
        return ""  # 'which way would I turn if I wanted to leave'
    spans = imagined_spans(sketch.reading)
    for i in (i for i, w in enumerate(lowers) if w in ("if", "unless") and i not in sketch.masked):
        asks = i > 0 and (tokens[i - 1].lemma in WHETHER or lowers[i - 1] in WHETHER)
        following = lowers[i + 1] if i + 1 < len(lowers) else ""
        imagined = any(a <= i < b for a, b in spans) or following in EGO_WORDS
        happens = (
            imagined and any(w.tag == "VBD" for w in tokens[i + 2 : i + 4]) and not any(a <= i < b for a, b in spans)
        )
        supposed = {"would", "could", "'d", "were"} & set(lowers) and not asks and i < sketch.end
        if supposed and (not imagined or happens) and following not in ("so", "any", "possible", "you"):
            return "what would be if things were otherwise isn't in this memory: it knows what was seen"
    return ""


def _more(sketch: Sketch, plan: Plan) -> str:
    """'which robot has seen more'."""
    counts = sketch.ask.form in (Form.COMPARE, Form.ORDER, Form.CHOOSE) or _bounds(plan.target)
    left = [i for i in _said(sketch, MORE) if sketch.reading.lowers[i - 1 : i] not in (("any",), ("no",))]
    reach = any(k.max_distance or k.min_distance for step in plan.steps for k in step.spatial)
    if not left or counts or reach:
        return ""
    return f"'{sketch.reading.lowers[left[0]]}' than what I can tell of things that are named, or of a number"


def _without(sketch: Sketch, plan: Plan) -> str:
    """'without the armchairs, how many chairs are there'."""
    reading = sketch.reading
    left = [i for i in _said(sketch, LINKING) if i not in sketch.used and not is_left_out(reading, i + 1)]
    left += [i for i in range(sketch.begin, sketch.ask.start) if reading.lowers[i] in LINKING - {"but"}]
    left = [i for i in left if not any(w.lower in NO or w.tag == "VBG" for w in reading.words[i + 1 : i + 2])]
    return f"what is meant by '{sketch.reading.lowers[left[0]]}' isn't clear; try 'except'" if left else ""


def _how_much(sketch: Sketch, plan: Plan) -> str:
    """'how much taller is', 'how many more are there': by how much."""
    lowers = sketch.reading.lowers[sketch.ask.start : sketch.ask.start + 2]
    by_how_much = plan.form is Form.COMPARE and lowers in (("how", "much"), ("how", "many"))
    return "by how much they differ I can't tell; ask for each" if by_how_much else ""


def _doer(sketch: Sketch, plan: Plan) -> str:
    """'did you move the vase': what a robot or the asker did to things isn't seen."""
    claims = plan.claim is not None and plan.claim.event is not None and not plan.claim.event.own
    at = sketch.ask.start + 1
    does = sketch.reading.lowers[sketch.ask.start : at] in (("did",), ("have",), ("has",), ("had",))
    named = sketch.reading.phrase_at(at) if at < sketch.end else None
    who = at < sketch.end and (
        sketch.reading.lowers[at] in EGO_WORDS or bool(ROBOT.match(named.noun if named else sketch.reading.lowers[at]))
    )
    return "who moved or took things can't be seen; ask whether it was moved" if claims and does and who else ""


def _rooms_seen(sketch: Sketch, plan: Plan) -> str:
    """'which room did you see last': the map's rooms have no sightings."""
    sees = any(w.lemma in asking.SEE_LEMMAS for w in sketch.reading.words[sketch.ask.start : sketch.end])
    lists = sketch.ask.form in (Form.IDENTIFY, Form.COUNT, Form.EXISTS)
    of_rooms = lists and plan.about == "rooms" and (sees or sketch.mentions or sketch.agents)
    return "rooms aren't seen as things are; ask for example 'which rooms have you been in'" if of_rooms else ""


def _coloured(sketch: Sketch, plan: Plan) -> str:
    """'the red and the white mug', 'red and white mugs': one thing of both, or some of each."""
    target = sketch.target
    if target is None:
        return ""
    names = [a.name for a in plan.target.semantic.attributes if a.is_known and not a.negate]
    several = target.plural and len(set(names)) < len(names)
    bare = lexicon.property_of(target.noun) is not None and lexicon.kind_of(target.noun) is None
    bare = bare and sketch.reading.lowers[target.end : target.end + 1] == ("and",)
    return "whether one thing or several are meant isn't clear; ask for each" if several or bare else ""


def _measure(sketch: Sketch, plan: Plan) -> str:
    """'is the fridge taller than 1.5 m': a thing is compared with things."""
    metres = [p for p in sketch.reading.phrases if p.noun.split()[-1] in UNITS_OF_LENGTH]
    than = any(sketch.reading.lowers[p.start - 2 : p.start - 1] == ("than",) for p in metres)
    than = than or any("than" in sketch.reading.lowers[max(0, p.start - 1) : p.end] for p in metres)
    compares = sketch.ask.form is Form.COMPARE and (than or bool(metres))
    return "sizes and distances are compared with those of things, not with a number" if compares else ""


def _owned(sketch: Sketch, plan: Plan) -> str:
    """'which mug is mine', 'is it hers'."""
    left = _said(sketch, OWNED)
    return f"whose things are isn't seen; name the owner instead of '{sketch.reading.lowers[left[0]]}'" if left else ""


def _nowhere(sketch: Sketch, plan: Plan) -> str:
    left = [i for i in _said(sketch, frozenset({"nowhere"})) if i >= sketch.ask.end]
    return "what is not there I can't look for; ask for what is" if left else ""


def _changed(sketch: Sketch, plan: Plan) -> str:
    """'what changed colour': not which colours there are."""
    values = sketch.ask.form in (Form.ATTRIBUTE, Form.STATE) and sketch.target is None
    events = any(event_word(sketch.reading, i) for i in range(sketch.ask.start, sketch.end))
    return "of what changed ask 'what changed', or what happened to a thing" if values and events else ""


def _since_when(sketch: Sketch, plan: Plan) -> str:
    lowers = sketch.reading.lowers
    since = any(lowers[i : i + 2] == ("since", "when") for i in range(sketch.begin, sketch.end))
    return "ask how long it has been so" if since and sketch.ask.form is Form.WHEN else ""


def _joined(sketch: Sketch, plan: Plan) -> str:
    """'is it on the table and red': two claims in one."""
    target, reading = sketch.target, sketch.reading
    if sketch.ask.form is not Form.VERIFY or plan.claim is None or target is None:
        return ""
    whole = [p for p in sketch.places if p is not sketch.claimed or p.relation is Relation.BETWEEN]
    inside = {i for p in whole for i in range(p.start, p.end)}
    inside |= {i for p in reading.phrases for i in range(p.start, p.end)}
    joined = any(reading.lowers[i] == "and" and i not in inside for i in range(target.end, sketch.end))
    return "that is two questions in one; ask one at a time" if joined else ""


CHECKS: tuple[Callable[[Sketch, Plan], str], ...] = (
    _there,
    _last_word,
    _if,
    _doer,
    _ought,
    _since_when,
    _joined,
    _how_much,
    _nearly,
    _amount,
    _share,
    _only,
    _often,
    _further,
    _alike,
    _more,
    _rooms_seen,
    _coloured,
    _measure,
    _owned,
    _nowhere,
    _changed,
    _without,
)
