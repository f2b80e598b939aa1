"""The semantic key of a noun phrase: its kind, properties, what belongs to it, purposes and exclusions."""

from __future__ import annotations

from r4_ros.reasoner import lexicon, negation, phrases, spatial_words, superlative
from r4_ros.reasoner.claims import predicate
from r4_ros.reasoner.keys import Asked, Attribute, Form, SemanticKey
from r4_ros.reasoner.occasions import ORDINALS
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import EXCLUDING
from r4_ros.reasoner.purposes import purpose_at, restricts_use
from r4_ros.reasoner.sketch import Sketch

HAVING = (("that", "has"), ("that", "have"), ("which", "has"), ("which", "have"), ("that", "had"))
NO_PROPERTY = frozenset("same other colored coloured away more most total fewer less".split())
CLAUSE = 4  # words of 'that is not red'


def semantic(sketch: Sketch, phrase: NounPhrase | None) -> SemanticKey:
    """What kind of thing a phrase means; None: what the question asks for without naming it."""
    if phrase is None:
        who = sketch.ask.asked is Asked.IDENTITY
        labels = lexicon.labels_for("person") if who else ()
        return SemanticKey(labels=labels, purpose=_purpose(sketch), exclude=_excluded(sketch))
    attributes = []
    counted = phrase is not sketch.target and not any(e.phrase is phrase for e in sketch.extremes)
    for word in phrase.modifiers:
        if counted and word in ORDINALS and phrase.start not in sketch.masked:  # 'on the fourth shelf'
            attributes.append(Attribute(value=word))
        if (
            word in spatial_words.SIDES
            or word in phrases.ORDINALS
            or word in superlative.WORDS
            or word in ORDINALS
            or word.endswith("est")
            or word in NO_PROPERTY
        ):
            continue
        known = lexicon.property_of(word)
        attributes.append(Attribute(name=known[0] if known else "", value=word))
    attributes += _possessions(sketch, phrase)
    if phrase.owner:
        attributes.append(Attribute(name="owner", value=phrase.owner))
    anything = lexicon.is_anything(phrase.noun)
    return SemanticKey(
        text=phrase.noun,
        labels=() if anything else lexicon.labels_for(phrase.noun),
        name=phrase.proper,
        attributes=tuple(attributes),
        anything=anything,
        exclude=_excluded(sketch) if phrase is sketch.target else (),
    )


def said_of(sketch: Sketch) -> Attribute | None:
    """'which chairs are red', 'something green': a property behind the target restricts it."""
    ask, target = sketch.ask, sketch.target
    reading = sketch.reading
    begin, end = target.end if target is not None else ask.end, sketch.end
    if ask.form not in (Form.IDENTIFY, Form.COUNT, Form.EXISTS):
        if target is None or not set(reading.lowers[begin : begin + 1]) & negation.RELATIVE:
            return None
        end = min(end, begin + CLAUSE)  # 'where is the cup that isn't red'
    property_at = predicate(reading, begin, end, sketch.places, sketch.masked) if purpose_at(sketch) < 0 else None
    if property_at is None:
        return None
    said, at = property_at
    sketch.used.add(at)
    return said.model_copy(update={"negate": negation.denied(reading, at)})


def _excluded(sketch: Sketch) -> tuple[str, ...]:
    """'apart from the toaster and the kettle', 'not counting Mia': what is not meant."""
    reading, lowers = sketch.reading, sketch.reading.lowers
    found: list[str] = []
    for i in range(len(lowers)):
        size = next((len(e) for e in EXCLUDING if lowers[i : i + len(e)] == e), 0)
        at = i + size
        while size and at < len(lowers) and (phrase := reading.phrase_at(at)) is not None:
            sketch.used.update(range(i, phrase.end))
            if lexicon.is_room(phrase.noun):
                break  # 'except the kitchen' is a place
            if phrase.noun in ("one", "ones") and any(p.negate and p.start == phrase.end for p in sketch.places):
                break  # 'the one by the lift': its place says which
            found.append(" ".join([*phrase.modifiers, phrase.noun]))
            at = phrase.end + 1 if lowers[phrase.end : phrase.end + 1] in (("and",), ("or",)) else len(lowers)
    return tuple(found)


def _belongs(sketch: Sketch, i: int) -> bool:
    """Whether 'with', 'of', 'that has' or, before clothes, 'in' stands at token i."""
    lowers = sketch.reading.lowers
    if lowers[i : i + 1] in (("with",), ("without",), ("of",)) or lowers[i : i + 2] in HAVING:
        return True
    worn = sketch.reading.phrase_at(i + 1) if lowers[i : i + 1] == ("in",) and i + 1 < len(lowers) else None
    return worn is not None and worn.noun.split()[-1] in spatial_words.CLOTHES


def _possessions(sketch: Sketch, phrase: NounPhrase) -> list[Attribute]:
    """'the pillow with a face', 'a cup of coffee': properties that only a description can confirm."""
    lowers = sketch.reading.lowers
    found = []
    end = phrase.end
    while _belongs(sketch, end):
        noun = sketch.reading.phrase_at(end + 1 + (lowers[end : end + 2] in HAVING))
        if noun is None or lexicon.is_room(noun.noun) or any(p.start == end for p in sketch.places):
            break
        sketch.used.update(range(end, noun.end))
        said = " ".join([*noun.modifiers, noun.noun])
        found.append(Attribute(name="with", value=said, negate=lowers[end] == "without"))
        end = noun.end
    return found


def _purpose(sketch: Sketch) -> str:
    """'what can I use to dry my hands', 'where can I sit': the verb phrase, without what says where."""
    at = purpose_at(sketch)
    if at < 0:
        return ""
    end = min([p.start for p in sketch.places if p.start > at and restricts_use(p)] or [sketch.end])
    comma = next((k for k in range(at, end) if sketch.reading.lowers[k] == ","), end)
    sketch.used.update(range(at, comma))
    return sketch.reading.said(at, comma)
