"""Which places of a question restrict the thing that it asks about, and which say where the asker is."""

from __future__ import annotations

from r4_ros.reasoner import lexicon
from r4_ros.reasoner.keys import Asked, Form, Relation
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import Place
from r4_ros.reasoner.purposes import purpose_at, restricts_use
from r4_ros.reasoner.sketch import Sketch, imagined_spans


def is_said_before(sketch: Sketch, place: Place) -> bool:
    """'I want to see what is on my face. What should I do?': places of another sentence restrict no action."""
    return sketch.ask.form is Form.ACTION and sketch.target is None and place.end <= sketch.begin


def in_purpose(sketch: Sketch, place: Place) -> bool:
    """'to keep drinks cold at a picnic': what the purpose says of places restricts nothing."""
    at = purpose_at(sketch) if sketch.target is None else -1
    return 0 <= at < place.start and not restricts_use(place)


def is_loose(sketch: Sketch, place: Place) -> bool:
    """Whether what a place seems to restrict is nothing that the plan looks for: then the target is meant."""
    subject = place.subject
    if subject is None or subject is sketch.target or place.start in sketch.masked:
        return False
    head = sketch.reading.words[subject.head]
    if head.dep == "dobj" and sketch.reading.words[head.head].dep == "relcl":
        return False  # 'the thing that opens the garage door'
    if sketch.ask.form in (Form.IDENTIFY, Form.WHEN) and _is_treated(sketch, subject):
        return False
    anchors = [a for p in sketch.places for a in (p.anchor, p.other)] + [e.reference for e in sketch.extremes]
    found_by_step = not lexicon.is_room(subject.noun) or subject.noun == "room"
    spoken_for = any(a is subject and found_by_step for a in [*anchors, *sketch.agent_phrases])
    within = any(a <= place.start < b for a, b in imagined_spans(sketch.reading))
    other_end = sketch.ask.form in (Form.DISTANCE, Form.DIRECTION, Form.NAVIGATE, Form.COMPARE, Form.EXPLAIN)
    return not (spoken_for or within or other_end)


def _is_treated(sketch: Sketch, phrase: NounPhrase) -> bool:
    """'who waters the ferns on the landing': what something is done to is there, not who does it."""
    words = sketch.reading.words
    verb = words[words[phrase.head].head]
    does = sketch.ask.asked is Asked.IDENTITY or (sketch.target is not None and sketch.target.proper)
    placing = verb.lemma in ("put", "leave", "set", "place", "see", "have", "lay", "stand", "hang", "find")
    return does and words[phrase.head].dep == "dobj" and not placing


def is_imagined(sketch: Sketch, place: Place) -> bool:
    """Whether a relation says where the asker imagines to stand ('if I sit on the sofa facing the window')."""
    if place.viewer:
        return True
    if place.subject is not None and place.relation is not Relation.FACING and not place.ego:
        return False
    return any(a <= place.start < b for a, b in imagined_spans(sketch.reading))
