"""'not', 'isn't', 'never': what a question says no to. What found no place in the plan is told, not dropped."""

from __future__ import annotations

from r4_ros.reasoner import lexicon
from r4_ros.reasoner.keys import Form, Plan, Relation, SpatialKey
from r4_ros.reasoner.parse import Reading
from r4_ros.reasoner.places import Place
from r4_ros.reasoner.sketch import Sketch

NO = frozenset({"not", "n't"})
NEGATORS = NO | {"never"}
NO_LONGER = ("no", "longer")
NO_MORE = (("any", "more"), ("any", "longer"))
RELATIVE = frozenset({"that", "which", "who"})
ASKER = frozenset({"i", "we"})


def denied(reading: Reading, i: int) -> bool:
    """Whether 'not' stands right before token i."""
    return i > 0 and reading.lowers[i - 1] in NO


def in_relative(reading: Reading, i: int) -> bool:
    """'the mug that isn't in the kitchen': of which thing is meant, not of what is claimed of it."""
    at = _subject(reading, i)
    return at > 0 and reading.lowers[at] in RELATIVE


def _subject(reading: Reading, i: int) -> int:
    """The word before the verbs before token i."""
    at = i - 1
    while at > 0 and reading.words[at].tag[:2] in ("VB", "MD"):
        at -= 1
    return at


def claims_no(reading: Reading, begin: int, end: int) -> bool:
    """Whether a yes/no question in tokens [begin, end) asks if something is not so; 'isn't it open' asks if it is."""
    lowers = reading.lowers
    ended = any(lowers[i : i + 2] in NO_MORE or lowers[i] == "anymore" for i in range(begin, end))
    courteous = begin + 1 if lowers[begin + 1 : begin + 2] == ("n't",) and not ended else -1
    said = (
        i for i in range(begin, end) if (lowers[i] in NEGATORS or lowers[i : i + 2] == NO_LONGER) and i != courteous
    )
    return any(not in_relative(reading, i) for i in said)


def is_outside(reading: Reading, place: Place) -> bool:
    """'outside the kitchen' is not in it; what is listed there is near it, too."""
    room = place.anchor is not None and lexicon.is_room(place.anchor.noun)
    return room and "outside" in reading.lowers[place.start : place.end]


def not_in(key: SpatialKey) -> SpatialKey:
    """What isn't in a room that something is said to be near of."""
    return key.model_copy(update={"relation": Relation.IN, "negate": True})


def reason(sketch: Sketch, plan: Plan) -> str:
    """Why a negation of the question isn't in its plan, '' where each is."""
    reading = sketch.reading
    said = [i for i in range(sketch.ask.start, sketch.end) if reading.lowers[i] in NEGATORS]
    places = {p.start - 1 for p in sketch.places if p.negate}
    attributes = any(a.negate for step in plan.steps for a in step.semantic.attributes)
    left = [i for i in said if i not in sketch.used | sketch.masked | places and not attributes]
    if plan.claim is not None and plan.claim.negate:
        left = [i for i in left if in_relative(reading, i)]
    if sketch.ask.form is Form.EXISTS and sketch.target is not None:
        left = [i for i in left if i > sketch.target.start]  # 'isn't there a mug', 'didn't you see my keys'
    if sketch.ask.form in (Form.VERIFY, Form.CHOOSE, Form.COMPARE):
        left = [i for i in left if i != sketch.ask.start + 1]  # 'isn't it open'
    left = [i for i in left if reading.lowers[_subject(reading, i)] not in ASKER]  # 'where is it, I can't find it'
    if not left or sketch.ask.form in (Form.EXPLAIN, Form.ACTION):
        return ""
    return "what was not so I can look for in few ways only; ask for what was so"
