"""The rules planner: from a read question to a plan. Deterministic; no model but the parser."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner import (
    asking,
    choosing,
    clauses,
    compared,
    leftover,
    lexicon,
    negation,
    occasions,
    opening,
    parse,
    quantity,
    spatial,
    superlative,
    temporal,
    unsaid,
)
from r4_ros.reasoner import form as forms
from r4_ros.reasoner.claims import ANY_CHANGE, claim_of
from r4_ros.reasoner.keys import (
    EGO,
    Asked,
    By,
    Claim,
    Comparison,
    EventKey,
    Form,
    Plan,
    Reference,
    Relation,
    SpatialKey,
    Step,
    Superlative,
    TemporalKey,
    TemporalOp,
)
from r4_ros.reasoner.mentioned import before_and_now
from r4_ros.reasoner.phrases import NounPhrase
from r4_ros.reasoner.places import Place, set_out_from
from r4_ros.reasoner.plainer import plainer
from r4_ros.reasoner.purposes import SERVING, purpose_at
from r4_ros.reasoner.restricting import in_purpose, is_imagined, is_loose, is_said_before
from r4_ros.reasoner.semantics import said_of, semantic
from r4_ros.reasoner.sketch import (
    ROBOT,
    Sketch,
    find_agents,
    imagined_spans,
    is_past,
    subject,
)
from r4_ros.reasoner.target import PERSONAL, PRONOUNS, find_target
from r4_ros.reasoner.target_roles import beside, shown_on

PAIRED = (Form.COMPARE, Form.CHOOSE, Form.ORDER, Form.DISTANCE)
"""Forms that take a second thing up themselves."""
EVENT_FORMS = (Form.IDENTIFY, Form.WHEN, Form.LOCATE, Form.COUNT, Form.EXISTS, Form.ACTION, Form.ORDER)


def plan(text: str) -> Plan:
    """The plan of a question. Raises UnsupportedQuestion where there is nothing to read."""
    said = plainer(parse.clean(text))
    plain, many = quantity.taken(said)
    reading = replace(parse.read(plain), text=said)
    mentions = temporal.find(reading)
    masked = frozenset(i for m in mentions for i in range(m.start, m.end))
    begin, end = opening.sentence(reading, masked)
    asked = [m for m in mentions if m.start >= begin and reading.lowers[m.start] != "then"]
    if asked and asked[0].key.op is TemporalOp.NOW:
        mentions = asked  # 'I left it there yesterday. Is it still there?'
    mentions = [m for m in mentions if not temporal.is_said_of_past(reading, m, begin)]
    ask = forms.classify(reading, masked, begin, end)
    joint = opening.joined(reading, masked, ask.end + 1, end)
    if joint >= 0:  # 'where is the mug, and what is on the table'
        first = plan(" ".join(w.text for w in reading.words[: joint - 1]))
        return first.model_copy(update={"question": said, "rest": reading.said(joint, end)})
    own = [m for m in mentions if m.start >= ask.start]
    it = bool(PRONOUNS & set(reading.lowers[ask.end : ask.end + 1])) and reading.lowers[ask.start - 1] == ","
    if own and own[0].key.op is TemporalOp.NOW and it:
        mentions = own  # 'I left it there yesterday, is it still there'
    mentions = before_and_now(reading, ask, mentions, end)
    places = spatial.find(reading, masked | frozenset(range(ask.start, ask.end)))
    places += set_out_from(reading, ask, end) if ask.form is Form.NAVIGATE else []
    sketch = Sketch(reading, ask, begin, end, masked, mentions, places, superlative.find(reading, masked))
    sketch.quantity = many
    find_agents(sketch)
    sketch.target = find_target(sketch) or shown_on(sketch)
    claim, sketch.claimed, ask = claim_of(sketch.reading, sketch.ask, sketch.target, places, masked, end)
    sketch.ask = ask
    if ask.form is Form.CHOOSE:
        choosing.drop(sketch)
    return _build(sketch, claim)


def _build(sketch: Sketch, claim: Claim | None) -> Plan:
    ask = sketch.ask
    sketch.used.update(range(ask.start, ask.end))
    for phrase in sketch.agent_phrases:
        sketch.used.update(range(phrase.start, phrase.end))
    imagined = _imagined(sketch)
    alternatives = [key for place in sketch.alternatives if (key := _spatial(sketch, place)) is not None]
    to_other = _other_end(sketch)
    keys = _temporal(sketch)
    sketch.about = subject(sketch)
    other = compared.find(sketch)
    comparison = _comparison(sketch, other) if other is not None else None
    target = _target_step(sketch, keys)
    event = _event(sketch)
    if claim is not None and sketch.claimed is not None:
        claim = _claim_of_place(sketch, claim, sketch.claimed)
    claim, event = _own_way(sketch, claim, event)
    sketch.steps.append(target)
    read = Plan(
        question=sketch.reading.text,
        form=ask.form,
        asked=ask.asked,
        steps=tuple(sketch.steps),
        ego=imagined,
        claim=claim,
        event=event,
        to_other=to_other,
        choices=ask.choices,
        alternatives=tuple(alternatives) if len(alternatives) == len(ask.choices) else (),
        compared=comparison,
        about=sketch.about,
        past=is_past(sketch),
        rest=opening.second(sketch.reading, sketch.masked, ask.start, sketch.end),
    )
    why = leftover.reason(sketch) or negation.reason(sketch, read) or unsaid.reason(sketch, read)
    return read.model_copy(update={"unsupported": why})


def _own_way(sketch: Sketch, claim: Claim | None, event: EventKey | None) -> tuple[Claim | None, EventKey | None]:
    """What is asked of a robot's own way: whether it was in a room, or in which rooms."""
    reading, ask = sketch.reading, sketch.ask
    own, rooms = clauses.own_claim(reading, ask, sketch.end), clauses.own_rooms(reading, ask, sketch.end)
    if own is not None or rooms is not None:
        sketch.about = "robot"
    if own is not None:
        still = reading.lowers[ask.start] in ("is", "are", "'s")
        return Claim(event=own, still=still, negate=negation.claims_no(reading, ask.start, sketch.end)), event
    return claim, rooms or event


def _target_step(sketch: Sketch, keys: tuple[TemporalKey, ...]) -> Step:
    """The step of what is asked about, with what is said of it, what is named with it, and when and by whom seen."""
    ask = sketch.ask
    target = _step(sketch, sketch.target, is_target=True)
    spoken = {sketch.reading.words[i].lemma for i in range(ask.start, sketch.end) if i not in sketch.masked}
    said = said_of(sketch)
    if said is not None:
        attributes = (*target.semantic.attributes, said)
        target = target.model_copy(update={"semantic": target.semantic.model_copy(update={"attributes": attributes})})
    others = beside(sketch, sketch.target) if sketch.target is not None and ask.form not in PAIRED else []
    if others:
        sketch.used.update(range(others[0].start, others[-1].end))
        also = tuple(" ".join([*p.modifiers, p.noun]) for p in others)
        target = target.model_copy(update={"semantic": target.semantic.model_copy(update={"also": also})})
    in_view = ask.form in (Form.IDENTIFY, Form.COUNT, Form.EXISTS) and bool(spoken & asking.SEE_LEMMAS)
    return target.model_copy(update={"temporal": keys, "agents": sketch.agents, "in_view": in_view and bool(keys)})


def _comparison(sketch: Sketch, other: compared.Compared) -> Comparison:
    """The steps of what the target is compared with; 'than to my right' is the same noun at another place."""
    others = [_compared_step(sketch, phrase) for phrase in other.phrases]
    if other.places:
        for place in other.places:
            sketch.places.remove(place)
        keys = [key for place in other.places if (key := _spatial(sketch, place)) is not None]
        twin = Step(semantic=semantic(sketch, sketch.target), spatial=tuple(keys), plural=True)
        sketch.steps.append(twin)
        others.append(Reference(kind="step", step=len(sketch.steps) - 1))
    reference = EGO if other.ego else None
    if other.reference is not None:
        reference = _reference(sketch, other.reference)
    steps = tuple(r for r in others if r.kind == "step")
    return Comparison(others=steps, direction=other.direction, by=other.by, reference=reference, which=other.which)


def _compared_step(sketch: Sketch, phrase: NounPhrase) -> Reference:
    """What is compared is looked for as a thing, also where it names a room."""
    found = _reference(sketch, phrase)
    if found.kind == "step":
        return found
    sketch.steps.append(_step(sketch, phrase))
    return Reference(kind="step", step=len(sketch.steps) - 1)


def _step(sketch: Sketch, phrase: NounPhrase | None, is_target: bool = False) -> Step:
    """The retrieval of one noun phrase with everything that restricts it; steps it refers to are made first."""
    keys = []
    for place in sketch.places:
        if is_target and (in_purpose(sketch, place) or is_said_before(sketch, place)):
            continue
        mine = place.subject is phrase or (is_target and (place.subject is None or is_loose(sketch, place)))
        if not mine or place is sketch.claimed or is_imagined(sketch, place):
            continue
        key = _spatial(sketch, place)
        if key is not None:
            outside = negation.is_outside(sketch.reading, place)
            listed = not outside or sketch.ask.form is Form.IDENTIFY
            keys += [key] * listed + [negation.not_in(key)] * outside
    extreme = _superlative(sketch, phrase, is_target)
    if is_target and extreme is not None and extreme.reference is not None and extreme.reference.kind == "step":
        keys += [k for k in sketch.steps[extreme.reference.step].spatial if k.reference.kind == "region" and not keys]
    if phrase is not None:
        sketch.used.update(range(phrase.start, phrase.end))
    verifies = sketch.ask.form is Form.VERIFY
    many = quantity.of_step(sketch.quantity, sketch.reading.lowers, phrase, is_target, verifies)
    if phrase is not None and many.bound:  # 'more than' before the number
        sketch.used.update(range(max(0, phrase.start - 2), phrase.start))
    return Step(
        semantic=semantic(sketch, phrase),
        spatial=tuple(keys),
        superlative=extreme,
        definite=phrase is not None and phrase.definite and not phrase.plural,
        plural=phrase is not None and phrase.plural,
        number=many.number,
        bound=many.bound,
        share=many.share,
    )


def _claim_of_place(sketch: Sketch, claim: Claim, place: Place) -> Claim:
    """A claim with its place, of which one 'not' is said once."""
    key = _spatial(sketch, place)
    if key is None:
        return claim
    if negation.is_outside(sketch.reading, place):
        key, claim = negation.not_in(key), claim.model_copy(update={"negate": not claim.negate})
    return claim.model_copy(update={"spatial": key.model_copy(update={"negate": False})})


def _reference(sketch: Sketch, phrase: NounPhrase) -> Reference:
    """A reference to a noun phrase: a region for rooms, otherwise the step that finds it (made once)."""
    sketch.used.update(range(phrase.start, phrase.end))
    told = any(p.subject is phrase for p in sketch.places)
    if lexicon.is_room(phrase.noun) and not (phrase.noun == "room" and told):  # 'the room next to the kitchen'
        whose = [f"{phrase.owner}'s"] if phrase.owner else []
        return Reference(kind="region", region=" ".join([*whose, *phrase.modifiers, phrase.noun]))
    if phrase.start in sketch.made:
        return sketch.made[phrase.start]
    sketch.made[phrase.start] = EGO  # a noun phrase can't restrict itself through others
    step = _step(sketch, phrase)
    sketch.steps.append(step)
    sketch.made[phrase.start] = Reference(kind="step", step=len(sketch.steps) - 1)
    return sketch.made[phrase.start]


def _spatial(sketch: Sketch, place: Place) -> SpatialKey | None:
    sketch.used.update(range(place.start, place.end))
    if place.anchor is None:
        far = _reference(sketch, place.other) if place.other is not None else None
        return SpatialKey(
            relation=place.relation, reference=EGO, other=far, negate=place.negate, max_distance=place.reach_m
        )
    if place.anchor is place.subject:
        return None
    reference = _reference(sketch, place.anchor)
    other = _reference(sketch, place.other) if place.other is not None else EGO if place.ego else None
    return SpatialKey(
        relation=place.relation, reference=reference, other=other, negate=place.negate, max_distance=place.reach_m
    )


def _superlative(sketch: Sketch, phrase: NounPhrase | None, is_target: bool) -> Superlative | None:
    for extreme in sketch.extremes:
        open_one = is_target and (extreme.phrase is None or _is_open(sketch, phrase, extreme.phrase))
        loose = is_target and phrase is None and sketch.ask.asked is Asked.IDENTITY and extreme.by is By.OTHER
        if extreme.phrase is not phrase and not (open_one or loose):
            continue
        reference = EGO if extreme.ego else None
        sketch.used.update(range(extreme.start, extreme.end))
        if extreme.reference is not None and extreme.reference is not phrase:
            reference = _reference(sketch, extreme.reference)
        if extreme.by is By.DISTANCE and reference is None and is_target and sketch.ask.form is Form.DISTANCE:
            reference = _other_end(sketch)
        if extreme.by is By.DISTANCE and reference is None:
            reference = EGO
        return Superlative(
            by=extreme.by,
            direction=extreme.direction,
            reference=reference,
            side=extreme.side,
            rank=extreme.rank,
            own=extreme.own,
        )
    return None


def _is_open(sketch: Sketch, target: NounPhrase | None, picked: NounPhrase) -> bool:
    """'the smallest size of scrubs', 'the nearest place to sit', 'the quickest way to warm it': it is the target's."""
    if sketch.ask.form is Form.ATTRIBUTE and picked.head < sketch.ask.end:
        return True
    open_one = picked.noun in SERVING or lexicon.is_anything(picked.noun)
    return target is None and (open_one or (picked.noun == "way" and purpose_at(sketch) >= 0))


def _imagined(sketch: Sketch) -> tuple[SpatialKey, ...]:
    for start, end in imagined_spans(sketch.reading):
        sketch.used.update(range(start, end))
    found = []
    for place in sketch.places:
        key = _spatial(sketch, place) if is_imagined(sketch, place) and place is not sketch.claimed else None
        if key is not None and place.ego and place.subject is not None:  # 'with the river at my back'
            key = key.model_copy(update={"subject": _reference(sketch, place.subject)})
        if key is not None and (key.subject is not None or key.reference != EGO):
            found.append(key)
    return tuple(found)


def _other_end(sketch: Sketch) -> Reference | None:
    """The other end of a distance or direction: 'from the table', 'to the door', 'relative to me'; else the asker."""
    if sketch.ask.form not in (Form.DISTANCE, Form.DIRECTION, Form.NAVIGATE):
        return None
    lowers = sketch.reading.lowers
    between = next((p for p in sketch.places if p.relation is Relation.BETWEEN and p.subject is None), None)
    if sketch.ask.form is Form.DISTANCE and between is not None and between.anchor is not None:
        sketch.places.remove(between)
        sketch.target = between.anchor
        return EGO if between.other is None else _reference(sketch, between.other)
    if "apart" in lowers[sketch.ask.start : sketch.end] and sketch.target is not None:
        return _reference(sketch, _with_and(sketch, sketch.target) or sketch.target)
    for i in range(sketch.begin, sketch.end - 1):
        if (
            i in sketch.masked
            or lowers[i] not in ("from", "to", "of", "off")
            or (lowers[i] == "of" and i and lowers[i - 1] != "side")
        ):
            continue
        if lowers[i + 1] in parse.EGO_WORDS | {"here"}:
            return EGO
        phrase = sketch.reading.phrase_at(i + 1)
        spoken_for = any(p.start <= i < p.end for p in sketch.places)
        if phrase is not None and phrase is not sketch.target and not spoken_for and i >= sketch.ask.end:
            return _reference(sketch, phrase)
    return EGO if sketch.ask.form is not Form.NAVIGATE else None


def _with_and(sketch: Sketch, first: NounPhrase) -> NounPhrase | None:
    """The second of 'the sink and the green apple'; None where there is no 'and'."""
    joined = sketch.reading.lowers[first.end : first.end + 1] == ("and",)
    return next((p for p in sketch.reading.phrases if joined and p.start == first.end + 1), None)


def _temporal(sketch: Sketch) -> tuple[TemporalKey, ...]:
    keys = []
    for mention in sketch.mentions:
        key = mention.key
        if clauses.named(mention):
            key = key.model_copy(update={"event": _clause_event(sketch, mention)})
        elif key.op in (TemporalOp.START, TemporalOp.END) and key.arg:
            key = key.model_copy(update={"event": EventKey(text=key.arg)})
        keys.append(key)
    return tuple(keys)


def _clause_event(sketch: Sketch, mention: temporal.Mention) -> EventKey | None:
    """The event that a clause names, where it happened to a remembered thing."""
    own = clauses.own_way(sketch.reading, mention.clause, mention.end)
    if own is not None or (mention.happened is None and not mention.seen):
        return own or clauses.told(sketch.reading, mention.clause, mention.end)
    phrase = next(
        (p for p in sketch.reading.phrases if mention.clause <= p.start < mention.end and not ROBOT.match(p.noun)), None
    )
    step = -1
    if phrase is not None:
        reference = _reference(sketch, phrase)
        if reference.kind != "step":
            return None
        step = reference.step
    elif not (PRONOUNS | PERSONAL) & set(sketch.reading.lowers[mention.clause : mention.end]):
        return None
    kinds = (mention.happened,) if mention.happened and not mention.seen else ()
    return EventKey(kinds=kinds, step=step, seen=mention.seen)


def _event(sketch: Sketch) -> EventKey | None:
    """The event that the question itself asks about ('what was moved', 'when did the mug disappear')."""
    if purpose_at(sketch) >= 0 or sketch.ask.form not in EVENT_FORMS:
        return None
    own = clauses.own_way(sketch.reading, sketch.ask.end + 1, sketch.end) if sketch.ask.form is Form.WHEN else None
    if own is not None:
        return own
    for i in range(sketch.ask.start, sketch.end):
        happened = occasions.event_word(sketch.reading, i) if i not in sketch.masked else None
        if happened is not None:
            kinds = ANY_CHANGE if happened == "changed" else (happened,)
            return EventKey(kinds=kinds)
    used_to = any(m.key.op is TemporalOp.CHANGE for m in sketch.mentions)
    return EventKey(kinds=("disappeared", "moved")) if used_to else None
