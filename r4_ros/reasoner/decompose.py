"""The rules planner: from a read question to a plan. Deterministic; no model but the parser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from r4_ros.reasoner import form as forms
from r4_ros.reasoner import lexicon, parse, spatial, superlative, temporal
from r4_ros.reasoner.claims import claim_of
from r4_ros.reasoner.form import Ask
from r4_ros.reasoner.keys import (
    EGO,
    Attribute,
    By,
    Claim,
    EventKey,
    Form,
    Plan,
    Reference,
    Relation,
    SemanticKey,
    SpatialKey,
    Step,
    Superlative,
    TemporalKey,
)
from r4_ros.reasoner.parse import NounPhrase, Reading

ROBOT = re.compile(r"^(?:robot|agent|r)[ _-]?\d+$")
ABSTRACT = frozenset(
    "record chance way time moment case front turn degree direction amount number position total location bit".split()
)


KNOWN_VERBS = (
    forms.SEE_LEMMAS
    | forms.GO_VERBS
    | forms.WAY_VERBS
    | frozenset(
        """be have do can could will would shall should may might must 's 're 've get make like exist stand sit lie lay
        hang place locate position put keep store mount leave rest stay remain contain tell know remind say show list
        name count describe want need look face turn call lean park set use describe hold appear start read""".split()
    )
)
"""Verbs that ask of what was seen, where and when, or only carry the question."""


@dataclass
class Draft:
    """A plan being built."""

    reading: Reading
    ask: Ask
    begin: int
    end: int
    masked: frozenset[int]
    mentions: list[temporal.Mention]
    places: list[spatial.Place]
    extremes: list[superlative.Extreme]
    agents: tuple[str, ...] = ()
    agent_phrases: tuple[NounPhrase, ...] = ()
    target: NounPhrase | None = None
    steps: list[Step] = field(default_factory=list)
    made: dict[int, Reference] = field(default_factory=dict)
    claimed: spatial.Place | None = None


def plan(text: str) -> Plan:
    """The plan of a question. Raises UnsupportedQuestion where there is nothing to read."""
    reading = parse.read(parse.clean(text))
    mentions = temporal.find(reading)
    masked = frozenset(i for m in mentions for i in range(m.start, m.end))
    begin, end = forms.sentence(reading, masked)
    ask = forms.classify(reading, masked, begin, end)
    places = spatial.find(reading, masked | frozenset(range(ask.start, ask.end)))
    draft = Draft(reading, ask, begin, end, masked, mentions, places, superlative.find(reading, masked))
    _find_agents(draft)
    draft.target = _target(draft)
    claim, draft.claimed, ask = claim_of(draft.reading, draft.ask, draft.target, places, masked, end)
    draft.ask = ask
    return _build(draft, claim)


def _find_agents(draft: Draft) -> None:
    """Robots that are named as who saw it ('what did robot2 see')."""
    sees = any(w.lemma in forms.SEE_LEMMAS | {"know", "say"} for w in draft.reading.words)
    found = tuple(p for p in draft.reading.phrases if ROBOT.match(p.noun) and p.start not in draft.masked)
    if sees and found:
        draft.agents = tuple(p.noun for p in found)
        draft.agent_phrases = found


def _target(draft: Draft) -> NounPhrase | None:
    """The noun phrase that is asked about: the first behind the asking words that isn't something else's anchor."""
    ask = draft.ask
    if ask.bare and ask.form is Form.IDENTIFY and not _predicate_noun(draft):
        return None
    if ask.form in (Form.LOCATE, Form.NAVIGATE) and _purpose_at(draft) >= 0:
        return None
    taken = {id(p.anchor) for p in draft.places} | {id(p.other) for p in draft.places}
    taken |= {id(p) for p in draft.agent_phrases} | {id(e.reference) for e in draft.extremes}
    candidates = [
        p
        for p in draft.reading.phrases
        if ask.end <= p.head < draft.end
        and p.start not in draft.masked
        and id(p) not in taken
        and p.noun not in ABSTRACT
        and p.head not in draft.masked
    ]
    if ask.form in (Form.EXISTS, Form.VERIFY, Form.CHOOSE, Form.LOCATE) and not candidates:
        candidates = [
            p
            for p in draft.reading.phrases
            if p.end <= ask.start + 1 and id(p) not in taken and p.start not in draft.masked
        ]
    if not candidates and ask.form in (Form.DISTANCE, Form.DIRECTION, Form.NAVIGATE):
        candidates = [p for p in draft.reading.phrases if p.start >= ask.end and p.start not in draft.masked]
    others = [p for p in candidates if p.noun != "robot"]
    return next(iter(others or candidates), None)


def _predicate_noun(draft: Draft) -> bool:
    """'what is the object on the table': a noun follows the verb and nothing stands between."""
    lowers = draft.reading.lowers
    i = draft.ask.end
    while i < draft.end and (lowers[i] in forms.BE or i in draft.masked):
        i += 1
    phrase = draft.reading.phrase_at(i) if i < draft.end else None
    return phrase is not None and phrase.start == i and lowers[i - 1 : i] != ("did",)


def _build(draft: Draft, claim: Claim | None) -> Plan:
    ask = draft.ask
    imagined = _imagined(draft)
    to_other = _other_end(draft)
    keys = _temporal(draft)
    target = _step(draft, draft.target, is_target=True)
    target = target.model_copy(update={"temporal": keys, "agents": draft.agents})
    event = _event(draft)
    if claim is not None and draft.claimed is not None:
        claim = claim.model_copy(update={"spatial": _spatial(draft, draft.claimed)})
    draft.steps.append(target)
    return Plan(
        question=draft.reading.text,
        form=ask.form,
        asked=ask.asked,
        steps=tuple(draft.steps),
        ego=imagined,
        claim=claim,
        event=event,
        to_other=to_other,
        choices=ask.choices,
        past=_past(draft),
        unsupported=_unknown_verb(draft),
    )


def _step(draft: Draft, phrase: NounPhrase | None, is_target: bool = False) -> Step:
    """The retrieval of one noun phrase with everything that restricts it; steps it refers to are made first."""
    keys = []
    for place in draft.places:
        mine = place.subject is phrase or (is_target and place.subject is None)
        if not mine or place is draft.claimed or _is_imagined(draft, place):
            continue
        key = _spatial(draft, place)
        if key is not None:
            keys.append(key)
    return Step(
        semantic=_semantic(draft, phrase),
        spatial=tuple(keys),
        superlative=_superlative(draft, phrase, is_target),
        definite=phrase is not None and phrase.definite and not phrase.plural,
        plural=phrase is not None and phrase.plural,
    )


def _reference(draft: Draft, phrase: NounPhrase) -> Reference:
    """A reference to a noun phrase: a region for rooms, otherwise the step that finds it (made once)."""
    if lexicon.is_room(phrase.noun):
        return Reference(kind="region", region=" ".join([*phrase.modifiers, phrase.noun]))
    if phrase.start in draft.made:
        return draft.made[phrase.start]
    draft.made[phrase.start] = EGO  # a noun phrase can't restrict itself through others
    step = _step(draft, phrase)
    draft.steps.append(step)
    draft.made[phrase.start] = Reference(kind="step", step=len(draft.steps) - 1)
    return draft.made[phrase.start]


def _spatial(draft: Draft, place: spatial.Place) -> SpatialKey | None:
    if place.anchor is None:
        return SpatialKey(relation=place.relation, reference=EGO, negate=place.negate)
    if place.anchor is place.subject:
        return None
    reference = _reference(draft, place.anchor)
    other = _reference(draft, place.other) if place.other is not None else EGO if place.ego else None
    return SpatialKey(relation=place.relation, reference=reference, other=other, negate=place.negate)


def _semantic(draft: Draft, phrase: NounPhrase | None) -> SemanticKey:
    if phrase is None:
        return SemanticKey(purpose=_purpose(draft))
    attributes = []
    for word in phrase.modifiers:
        if word in superlative.WORDS or word in temporal.ORDINALS or word.endswith("est") or word in ("same", "other"):
            continue
        known = lexicon.property_of(word)
        attributes.append(Attribute(name=known[0] if known else "", value=known[1] if known else word))
    if phrase.owner:
        attributes.append(Attribute(name="owner", value=phrase.owner))
    anything = lexicon.is_anything(phrase.noun)
    return SemanticKey(
        text=phrase.noun,
        labels=() if anything else lexicon.labels_for(phrase.noun),
        name=phrase.proper,
        attributes=tuple(attributes),
        anything=anything,
    )


def _purpose(draft: Draft) -> str:
    """'what can I use to dry my hands', 'where can I sit': the verb phrase, without what says where."""
    at = _purpose_at(draft)
    if at < 0:
        return ""
    end = min(
        [p.start for p in draft.places if p.start > at and p.relation in (Relation.IN, Relation.NEAR)] or [draft.end]
    )
    comma = next((k for k in range(at, end) if draft.reading.lowers[k] == ","), end)
    return draft.reading.said(at, comma)


def _purpose_at(draft: Draft) -> int:
    """Where the verb of a purpose stands; -1: none is said."""
    lowers, tokens = draft.reading.lowers, draft.reading.words
    begin, end = draft.ask.end, draft.end
    modal = {"can", "could", "should", "need", "might"} & set(lowers[begin - 1 : begin + 3])
    if not modal or not {"i", "we", "one", "be"} & set(lowers[begin : begin + 4]):
        return -1
    to = next((k for k in range(begin, end - 1) if lowers[k] == "to" and tokens[k + 1].tag == "VB"), -1)
    if to >= 0:
        return to + 1
    plain = ("use", "be", "find", "see", "get", "go", "grab", "head", "turn", "do", "look")
    return next((k for k in range(begin, end) if tokens[k].tag == "VB" and tokens[k].lemma not in plain), -1)


def _superlative(draft: Draft, phrase: NounPhrase | None, is_target: bool) -> Superlative | None:
    for extreme in draft.extremes:
        if extreme.phrase is not phrase and not (is_target and extreme.phrase is None):
            continue
        reference = EGO if extreme.ego else None
        if extreme.reference is not None and extreme.reference is not phrase:
            reference = _reference(draft, extreme.reference)
        if extreme.by is By.DISTANCE and reference is None and is_target and draft.ask.form is Form.DISTANCE:
            other = _other_end(draft)
            reference = other
        return Superlative(
            by=extreme.by, direction=extreme.direction, reference=reference, side=extreme.side, rank=extreme.rank
        )
    return None


def _is_imagined(draft: Draft, place: spatial.Place) -> bool:
    """Whether a relation says where the asker imagines to stand ('if I sit on the sofa facing the window')."""
    if place.subject is not None and place.relation is not Relation.FACING:
        return False
    return any(a <= place.start < b for a, b in _imagined_spans(draft.reading))


def _imagined_spans(reading: Reading) -> list[tuple[int, int]]:
    spans = []
    for i, word in enumerate(reading.lowers):
        opens = word in ("if", "say", "suppose", "while", "imagine") and reading.lowers[i + 1 : i + 2] in (
            ("i",),
            ("you",),
        )
        if opens:
            end = next(
                (k for k in range(i, len(reading.lowers)) if reading.lowers[k] in (",", "?")), len(reading.lowers)
            )
            spans.append((i, end))
    return spans


def _imagined(draft: Draft) -> tuple[SpatialKey, ...]:
    found = [_spatial(draft, p) for p in draft.places if _is_imagined(draft, p) and p is not draft.claimed]
    return tuple(key for key in found if key is not None)


def _other_end(draft: Draft) -> Reference | None:
    """The other end of a distance or direction: 'from the table', 'to the door', 'relative to me'; else the asker."""
    if draft.ask.form not in (Form.DISTANCE, Form.DIRECTION, Form.NAVIGATE):
        return None
    lowers = draft.reading.lowers
    between = next((p for p in draft.places if p.relation is Relation.BETWEEN and p.subject is None), None)
    if draft.ask.form is Form.DISTANCE and between is not None and between.anchor is not None:
        draft.places.remove(between)
        draft.target = between.anchor
        return EGO if between.other is None else _reference(draft, between.other)
    for i in range(draft.begin, draft.end - 1):
        if (
            i in draft.masked
            or lowers[i] not in ("from", "to", "of")
            or (lowers[i] == "of" and i and lowers[i - 1] != "side")
        ):
            continue
        if lowers[i + 1] in parse.EGO_WORDS | {"here"}:
            return EGO
        phrase = draft.reading.phrase_at(i + 1)
        spoken_for = any(p.start <= i < p.end for p in draft.places)
        if phrase is not None and phrase is not draft.target and not spoken_for and i >= draft.ask.end:
            return _reference(draft, phrase)
    return EGO if draft.ask.form is not Form.NAVIGATE else None


def _temporal(draft: Draft) -> tuple[TemporalKey, ...]:
    keys = []
    for mention in draft.mentions:
        key = mention.key
        if mention.clause >= 0 and key.start is None:
            key = key.model_copy(update={"event": _clause_event(draft, mention)})
        keys.append(key)
    return tuple(keys)


def _clause_event(draft: Draft, mention: temporal.Mention) -> EventKey | None:
    """The event that a clause names, where it happened to a remembered thing."""
    if mention.happened is None and not mention.seen:
        return None
    phrase = next(
        (p for p in draft.reading.phrases if mention.clause <= p.start < mention.end and not ROBOT.match(p.noun)), None
    )
    step = -1
    if phrase is not None:
        reference = _reference(draft, phrase)
        if reference.kind != "step":
            return None
        step = reference.step
    elif not {"it", "they", "that", "this"} & set(draft.reading.lowers[mention.clause : mention.end]):
        return None
    kinds = (mention.happened,) if mention.happened and not mention.seen else ()
    return EventKey(kinds=kinds, step=step, seen=mention.seen)


def _event(draft: Draft) -> EventKey | None:
    """The event that the question itself asks about ('what was moved', 'when did the mug disappear')."""
    if draft.ask.form not in (Form.IDENTIFY, Form.WHEN, Form.LOCATE, Form.COUNT, Form.EXISTS, Form.ACTION):
        return None
    for i in range(draft.ask.start, draft.end):
        happened = temporal.event_word(draft.reading, i) if i not in draft.masked else None
        if happened is not None:
            kinds = ("changed", "moved", "appeared", "disappeared") if happened == "changed" else (happened,)
            return EventKey(kinds=kinds)
    return None


def _unknown_verb(draft: Draft) -> str:
    """Why the question's own verb can't be answered from sightings; '' if it can."""
    if _purpose_at(draft) >= 0 or draft.ask.form in (Form.VERIFY, Form.CHOOSE, Form.COMPARE):
        return ""
    related = {i for p in draft.places for i in range(p.start, p.end)} | set(draft.masked)
    for i in range(draft.ask.start, draft.end):
        word = draft.reading.words[i]
        if not word.tag.startswith("VB") or i in related or draft.reading.phrase_at(i) is not None:
            continue
        known = word.lemma in KNOWN_VERBS or word.lower in KNOWN_VERBS or temporal.event_word(draft.reading, i)
        if not known and lexicon.property_of(word.lower) is None:
            return f"this memory knows what was seen, where and when, not who or what '{word.lower}' is about"
    return ""


def _past(draft: Draft) -> bool:
    first = next(
        (w for w in draft.reading.words[draft.begin : draft.end] if w.tag in ("VBD", "VBZ", "VBP", "MD")), None
    )
    return first is not None and first.tag == "VBD"
