"""What is usual: answers from facts, which the memory adds up of histories, with the occasions that they rest on.

Fewer than three occasions are told, and called too little to say what is usual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from r4_ros.core.errors import UnsupportedQuestion
from r4_ros.core.model import Evidence, Fact, FactKind, Order, Query, Retrieval, Verdict
from r4_ros.reasoner import sieve, usual_wording, wording
from r4_ros.reasoner.draft import Draft, not_seen, noun, place_asked, strength, unsupported
from r4_ros.reasoner.keys import EVENT_KINDS, Form, Plan, Relation, SpatialKey, TemporalOp
from r4_ros.reasoner.moments import Window
from r4_ros.reasoner.run import LIMIT, Found, Run, UnknownRegion

FEWEST = 3
MOSTLY, EVEN, ALWAYS, RIVAL = 0.5, 0.1, 0.999, 0.8
SHOWN_SOURCES = 5
MOST_TOLD = 4
BESIDE = (Relation.NEXT_TO, Relation.NEAR, Relation.AT, Relation.SIDE)


def is_asked(plan: Plan) -> bool:
    """Whether the question is about what is usual."""
    return any(key.op is TemporalOp.HABIT for key in plan.target.temporal)


def usual(run: Run, plan: Plan) -> Draft:
    """The answer. Raises UnsupportedQuestion, UnknownRegion, UnknownAgent."""
    judge = JUDGES.get(plan.form)
    others = [key for key in plan.target.temporal if key.op is not TemporalOp.HABIT]
    if judge is None or others or plan.target.superlative is not None:
        raise UnsupportedQuestion("of what is usual only where, when, what and whether can be told")
    target = plan.target.model_copy(update={"temporal": ()})
    plan = plan.model_copy(update={"steps": (*plan.steps[:-1], target)})
    try:
        draft = judge(run, plan)
    except UnknownRegion as unknown:
        return unsupported(f"I know no place called '{unknown}'.")
    return draft


# What is asked about: things with their facts.


def _references(run: Run, plan: Plan) -> Found:
    """What the steps before the target find."""
    if len(plan.steps) == 1:
        return Found(plan, [], Retrieval(0, run.now_ns), Window())
    before = plan.model_copy(
        update={"steps": plan.steps[:-1], "ego": (), "to_other": None, "claim": None, "event": None}
    )
    return run.execute(before, present_only=False)


def _things(run: Run, plan: Plan, found: Found) -> tuple[list[Evidence], list[Fact]]:
    """The things that are meant, wherever they were, with what is usual of them."""
    step = plan.target.model_copy(update={"spatial": ()})
    query = replace(run.query(plan, step, found, ()), with_facts=True, timezone=run.question.timezone)
    retrieval = run.retrieve(query, f"what is usual of the {noun(plan)}")
    things = list(sieve.sifted(step, retrieval.entries))
    ids = {e.entry_id for e in things}
    return things, [fact for fact in retrieval.facts if ids & set(fact.entry_ids)]


def _evidence(run: Run, facts: Sequence[Fact], known: Sequence[Evidence] = ()) -> list[Evidence]:
    """What the facts are of, one piece of evidence a fact; what isn't known yet is looked up."""
    wanted = {i for fact in facts for i in fact.entry_ids} - {e.entry_id for e in known}
    more: Sequence[Evidence] = ()
    if wanted:
        query = Query(entry_ids=tuple(sorted(wanted)), order=Order.LAST_SEEN, limit=LIMIT)
        more = run.retrieve(query, "what the facts are of").entries
    found = {e.entry_id: e for e in sorted((*known, *more), key=lambda e: e.last_seen)}
    chosen = [
        max((found[i] for i in f.entry_ids if i in found), key=lambda e: e.last_seen, default=None) for f in facts
    ]
    return list({e.entry_id: e for e in chosen if e is not None}.values())


def _fits(run: Run, found: Found, key: SpatialKey) -> Callable[[Fact], bool]:
    """Whether the place of a fact is the one that is asked about."""
    if key.negate or key.reference.kind == "ego":
        raise UnsupportedQuestion("what is usual is told of things and rooms, not as seen from somebody's place")
    if key.reference.kind == "region":
        room = run.region(key.reference.region)
        return lambda fact: fact.region == room
    ids = {e.entry_id for e in found.steps[key.reference.step]} if key.reference.step < len(found.steps) else set()
    if key.relation in BESIDE:
        return lambda fact: fact.kind is FactKind.TOGETHER and bool(ids & set(fact.object_ids))
    if key.relation not in (Relation.ON, Relation.IN):
        raise UnsupportedQuestion(f"what is usually '{key.relation.value.replace('_', ' ')}' something isn't known")
    return lambda fact: fact.kind is not FactKind.TOGETHER and bool(ids & set(fact.object_ids))


def _cited(run: Run, facts: Sequence[Fact]) -> None:
    """Write down what the answer rests on."""
    for fact in facts:
        rest = f" and {len(fact.sources) - SHOWN_SOURCES} more" if len(fact.sources) > SHOWN_SOURCES else ""
        sources = ", ".join(fact.sources[-SHOWN_SOURCES:])
        what = f"{fact.kind.name} {fact.fact_id}: {fact.label} {fact.object or fact.region}"
        said = f"{what}, {fact.count} of {fact.total}, weight {fact.weight:.2f}, from {sources}{rest}"
        run.note("fact", said, fact.count)


def _signed(facts: Sequence[Fact], evidence: Sequence[Evidence]) -> float:
    """As sure as the fact and what it is of."""
    return min([facts[0].weight, *(strength(e) for e in evidence[:1])]) if facts else 0.0


# Where.


def _where(run: Run, plan: Plan) -> Draft:
    found = _references(run, plan)
    things, facts = _things(run, plan, found)
    places = [f for f in facts if f.kind is FactKind.USUAL_PLACE]
    for key in plan.target.spatial:
        places = [f for f in places if _fits(run, found, key)(f)]
    if not places:
        return _nothing_known(plan)
    _cited(run, places)
    of_one: dict[tuple[str, ...], list[Fact]] = {}
    for fact in places:
        of_one.setdefault(fact.entry_ids, []).append(fact)
    told = sorted(of_one.values(), key=lambda own: -own[0].total)
    enough = [own for own in told if own[0].total >= FEWEST]
    evidence = _evidence(run, [own[0] for own in (enough or told)], things)
    if not enough:
        return _too_little(run, plan, [own[0] for own in told], evidence)
    text = " ".join(usual_wording.places_text(own, run.zone) for own in enough[:3])
    best = enough[0]
    rivals = len(enough) > 1 or (len(best) > 1 and usual_wording.share(best[1]) >= RIVAL * usual_wording.share(best[0]))
    sure = _signed(best, evidence)
    frame = evidence[0].frame if evidence else ""
    verdict = Verdict.AMBIGUOUS if rivals else Verdict.ANSWERED
    return Draft(text, verdict, best[0].place, tuple(evidence), sure / 2 if rivals else sure, frame)


def _too_little(run: Run, plan: Plan, facts: Sequence[Fact], evidence: Sequence[Evidence]) -> Draft:
    fact = max(facts, key=lambda f: f.last_ns)
    times = "once" if fact.total == 1 else f"on {fact.total} occasions"
    known, it = f"I have seen the {fact.label} only {times}", "they" if wording.is_plural(fact.label) else "it"
    if len(facts) > 1:
        known = f"I know {wording.plural(noun(plan), len(facts))}, none of them seen on {FEWEST} occasions"
        it = "the one seen last"
    was = "was" if len(facts) > 1 else wording.be(fact.label, past=True)
    text = f"{known}, too little to say what is usual; {it} {was} {usual_wording.spot(fact)}, seen last "
    value = False if plan.form is Form.EXISTS else None
    return not_seen(f"{text}{wording.ago(fact.last_ns, run.now_ns)}.", value, evidence)


def _nothing_known(plan: Plan) -> Draft:
    return not_seen(f"I have seen no {noun(plan)}{place_asked(plan)} that I could tell anything usual of.")


# Whether.


def _whether(run: Run, plan: Plan) -> Draft:
    claim = plan.claim
    keys = [*plan.target.spatial, *([claim.spatial] if claim is not None and claim.spatial is not None else [])]
    if not keys or (claim is not None and (claim.attribute is not None or claim.event is not None)):
        raise UnsupportedQuestion("whether something is usual can be told of places only")
    found = _references(run, plan)
    things, facts = _things(run, plan, found)
    places = [f for f in facts if f.kind is FactKind.USUAL_PLACE]
    if not places:
        return _nothing_known(plan)
    if places[0].total < FEWEST:
        return _too_little(run, plan, places, _evidence(run, places[:1], things))
    own = [f for f in places if f.entry_ids == places[0].entry_ids]
    tests = [_fits(run, found, key) for key in keys]
    near = any(key.relation in BESIDE for key in keys)
    candidates = [f for f in facts if f.kind is FactKind.TOGETHER] if near else own
    there = [f for f in candidates if all(test(f) for test in tests)]
    share = min(1.0, sum(map(usual_wording.share, there)))
    needed = ALWAYS if "always" in plan.question.casefold().split() else MOSTLY
    said = claim is None or not claim.negate
    holds = (share >= needed) == said
    even = needed == MOSTLY and abs(share - MOSTLY) < EVEN
    evidence = _evidence(run, there[:1] or own[:1], things)
    _cited(run, there or own)
    text = _lower(usual_wording.places_text(own, run.zone))
    if even:
        about = f"About half of the time: {text}"
        return Draft(about, Verdict.AMBIGUOUS, None, tuple(evidence), _signed(there or own, evidence) / 2)
    text = f"{'Yes' if holds else 'No'}: {text}"
    return Draft(text, Verdict.ANSWERED, holds, tuple(evidence), _signed(there or own, evidence))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


# What.


def _what(run: Run, plan: Plan) -> Draft:
    if len(plan.target.spatial) != 1 or plan.event is not None:
        raise UnsupportedQuestion("what is usual is told of one place: 'what is usually on the table'")
    (key,) = plan.target.spatial
    found = _references(run, plan)
    fits = _fits(run, found, key)
    if key.reference.kind == "region":
        query = Query(order=Order.LAST_SEEN, limit=LIMIT, with_facts=True)
    else:
        ids = tuple(e.entry_id for e in found.steps[key.reference.step]) if found.steps else ()
        if not ids:
            return not_seen(f"I know no {noun(plan, key.reference.step)}.", ())
        query = Query(entry_ids=ids, with_facts=True, limit=LIMIT)
    retrieval = run.retrieve(replace(query, timezone=run.question.timezone), f"what is usually{place_asked(plan)}")
    if key.relation in BESIDE:
        own = [f for f in retrieval.facts if f.kind is FactKind.TOGETHER]
        return _company(run, plan, own, retrieval.entries)
    places = [f for f in retrieval.facts if f.kind is FactKind.USUAL_PLACE and fits(f)]
    evidence = _evidence(run, places)
    meant = {e.entry_id for e in sieve.sifted(plan.target, evidence)}
    places = sorted((f for f in places if meant & set(f.entry_ids)), key=lambda f: (-f.weight, f.label))
    often = [f for f in places if f.total >= FEWEST and usual_wording.share(f) >= MOSTLY]
    if not often:
        text = f"I know too little to say what is usually{place_asked(plan)}."
        text += f" I have seen there: {_inventory(places)}." if places else ""
        return not_seen(text, (), evidence)
    _cited(run, often)
    said = wording.listed([f"{wording.article(f.label)} ({usual_wording.part(f)})" for f in often], 8)
    text = f"Usually{place_asked(plan)}: {said}."
    now_and_then = [f for f in places if f not in often]
    text += f" Now and then {_inventory(now_and_then)}." if now_and_then else ""
    cited = [e for e in evidence if any(e.entry_id in f.entry_ids for f in often)]
    return Draft(text, Verdict.ANSWERED, tuple(f.label for f in often), tuple(cited), _signed(often, cited))


def _inventory(facts: Sequence[Fact]) -> str:
    """'2 vases and a mug'."""
    counts = Counter(fact.label for fact in facts)
    return wording.listed(
        [wording.article(name) if n == 1 else wording.plural(name, n) for name, n in counts.items()], 8
    )


def _company(run: Run, plan: Plan, facts: Sequence[Fact], evidence: Sequence[Evidence]) -> Draft:
    if not facts:
        return not_seen(f"I know of nothing that is usually{place_asked(plan)}.", (), evidence)
    _cited(run, facts)
    said = [f"{wording.article(f.object)} ({f.count} of {wording.plural('occasion', f.total)})" for f in facts]
    labels = tuple(dict.fromkeys(f.object for f in facts))
    text = f"Usually{place_asked(plan)}: {wording.listed(said, 8)}."
    return Draft(text, Verdict.ANSWERED, labels, tuple(evidence), _signed(facts, evidence))


# When.


def _when(run: Run, plan: Plan) -> Draft:
    found = _references(run, plan)
    things, facts = _things(run, plan, found)
    if not things:
        return _nothing_known(plan)
    asked = _asked_habits(run, plan, found, facts)
    if not asked:
        return _no_habit(run, plan, facts, things)
    _cited(run, asked)
    evidence = _evidence(run, asked, things)
    told = [(fact, usual_wording.times(run.zone, fact)) for fact in asked[:MOST_TOLD]]
    said = [f"{usual_wording.habit_text(f)} {times}, on {f.count} of {f.total} days." for f, times in told]
    value = tuple(times for _, times in told)
    return Draft(" ".join(said), Verdict.ANSWERED, value, tuple(evidence), _signed(asked, evidence))


def _asked_habits(run: Run, plan: Plan, found: Found, facts: Sequence[Fact]) -> list[Fact]:
    """The habits that the question is about: of an event, of a state that it names, or of being at the place named."""
    all_of_them = [f for f in facts if f.kind is FactKind.HABIT]
    if plan.event is not None:
        kinds = {EVENT_KINDS[name].name for name in plan.event.kinds}
        return [f for f in all_of_them if f.object in kinds or ("ATTRIBUTE_CHANGED" in kinds and "->" in f.object)]
    words = set(plan.question.casefold().replace("?", " ").split())
    states = [f for f in all_of_them if ": " in f.object and "->" not in f.object]
    named = [f for f in states if f.object.split(": ", 1)[1].casefold() in words]
    keys = plan.target.spatial
    if not keys:
        return named or [f for f in all_of_them if f.place is not None]
    tests = [_fits(run, found, key) for key in keys]
    at_place = [f for f in all_of_them if f.place is not None and all(test(f) for test in tests)]
    if at_place or not named:
        return at_place
    there = {f.entry_ids for f in facts if f.kind is FactKind.USUAL_PLACE and all(test(f) for test in tests)}
    return [f for f in named if f.entry_ids in there]


def _no_habit(run: Run, plan: Plan, facts: Sequence[Fact], things: Sequence[Evidence]) -> Draft:
    places = [f for f in facts if f.kind is FactKind.USUAL_PLACE]
    if places and not wording.has_clock(places[0].first_ns):
        raise UnsupportedQuestion("the memory's stamps are no clock times, so no time of day can be told")
    seen = (
        f" I have seen it on {wording.plural('occasion', places[0].total)}, {usual_wording.since(run.zone, places)}."
        if places
        else ""
    )
    text = f"I know no times of day at which that is usual for the {noun(plan)}.{seen}"
    return not_seen(text, None, list(things)[:5])


JUDGES: dict[Form, Callable[[Run, Plan], Draft]] = {
    Form.LOCATE: _where,
    Form.NAVIGATE: _where,
    Form.VERIFY: _whether,
    Form.EXISTS: _whether,
    Form.IDENTIFY: _what,
    Form.WHEN: _when,
}
