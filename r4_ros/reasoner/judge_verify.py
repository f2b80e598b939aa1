"""Answers to claims: is it so - a place, a property, something that happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.model import Evidence, Query, Verdict
from r4_ros.reasoner import judge_share, judge_time, lexicon, wording
from r4_ros.reasoner.draft import (
    Draft,
    ambiguous,
    answered,
    best_first,
    gone_text,
    near_miss,
    not_seen,
    noun,
    place_asked,
    unsupported,
    value_unknown,
)
from r4_ros.reasoner.keys import Asked, Attribute, Claim, Relation
from r4_ros.reasoner.run import Found, Run


def verify(run: Run, found: Found) -> Draft:
    """Whether a claim about the target holds: its place, a property, an event."""
    claim = found.plan.claim
    if claim is None or claim == Claim(negate=claim.negate):
        if claim is not None and found.plan.asked is Asked.LOCATION:
            return judge_time.still_there(run, found, found.plan)
        return unsupported("I can check where things are, their colour and what happened to them, not this.")
    of_several = judge_share.is_asked(found.plan.target)
    if of_several and (claim.event is not None or claim.still):
        return unsupported("What happened I can tell of one thing or of any, not of so many.")
    if claim.event is not None:
        return judge_time.happened(run, found, claim.event, claim.negate)
    if claim.still:
        return judge_time.still_there(run, found, found.plan)
    if claim.attribute is not None:
        return _has(found, claim.attribute, claim.negate)
    return _stands(run, found, claim)


def _has(found: Found, asked: Attribute, negate: bool) -> Draft:
    known = [(e, wording.attribute(e, asked.name)) for e in found.evidence]
    told = [(e, value) for e, value in known if value]
    if not told:
        return value_unknown(found, asked.name or "state")
    holds = [lexicon.same_value(asked.name, asked.value, value) for _, value in told]
    if judge_share.is_asked(found.plan.target):
        return _how_many_have(found, asked, told, holds, negate)
    each = wording.listed([wording.valued(e, value) for e, value in told])
    cited = [e for e, _ in told]
    if len(set(holds)) > 1 and not found.plan.target.plural:
        return ambiguous(f"That depends on which is meant: {each}.", cited)
    value = all(holds) != negate
    return answered(f"{'Yes' if value else 'No'}: {each}.", value, cited)


def _how_many_have(
    found: Found, asked: Attribute, told: Sequence[tuple[Evidence, str]], holds: Sequence[bool], negate: bool
) -> Draft:
    """'are both mugs red'; where the property of some isn't known, only what these can't change is said."""
    holding = [e for (e, _), so in zip(told, holds, strict=True) if so]
    others = [e for (e, _), so in zip(told, holds, strict=True) if not so]
    unknown, step = len(found.evidence) - len(told), found.plan.target
    known = len(found.evidence)
    if len({judge_share.holds(step, len(holding) + k, known) for k in range(unknown + 1)}) > 1:
        return not_seen(f"Of {unknown} of {known} its {asked.name or 'state'} isn't known.", None, found.evidence[:5])
    return judge_share.shared(found, holding, others, f" {asked.value}", negate)


def _stands(run: Run, found: Found, claim: Claim) -> Draft:
    """'is the mug on the table': asked of the memory about exactly these entries."""
    key, plan = claim.spatial, found.plan
    assert key is not None
    place, holding = _holding(run, found, claim)
    there = {e.entry_id for e in holding}
    rest = [e for e in found.evidence if e.entry_id not in there]
    if judge_share.is_asked(plan.target):
        return judge_share.shared(found, holding, rest, place, claim.negate)
    subject = holding[0] if holding else best_first(found)[0]
    known = found.steps[key.reference.step] if key.reference.kind == "step" else ()
    anchors: Sequence[Evidence] = sorted(known, key=lambda a: wording.gap(subject, a))[:1]
    if not holding:
        return _nowhere_there(run, found, claim, place, anchors)
    best = holding[0]
    seen = wording.when(best.last_seen, run.now_ns, run.zone)
    name = wording.thing(best)
    was = wording.be(name, found.window.bounded)
    some = len(holding) < len(found.evidence)
    text = f"{'No' if claim.negate else 'Yes'}: the {name} {was}{place}; "
    text += f"{'they' if wording.is_plural(name) else 'it'} {was} {wording.spot(best, place)}, seen {seen}."
    if some and plan.target.plural:
        many = wording.plural(noun(plan), len(found.evidence))
        text = f"{len(holding)} of {many} {wording.be('', count=len(holding))}{place}: "
        text += f"{wording.spots(holding, said=place)}; not {wording.spots(rest)}."
        return ambiguous(text, [*found.evidence, *anchors])
    if some and plan.target.definite:
        text = f"That depends on which of {len(found.evidence)} is meant. {text}"
        return ambiguous(text, [*found.evidence, *anchors], not claim.negate)
    if plan.target.plural and len(holding) > 1:
        text = (
            f"{'No' if claim.negate else 'Yes'}: {wording.spots(holding, said=place)} {wording.be('', count=2)}{place}."
        )
    return answered(text, not claim.negate, [*(holding if plan.target.plural else holding[:1]), *anchors])


def _holding(run: Run, found: Found, claim: Claim) -> tuple[str, list[Evidence]]:
    """The claimed place in words, and those of the things found that are there."""
    assert claim.spatial is not None
    plan = found.plan
    claimed = plan.model_copy(
        update={"steps": (*plan.steps[:-1], plan.target.model_copy(update={"spatial": (claim.spatial,)}))}
    )
    place = place_asked(claimed)
    constraint = run.constraint(plan, claim.spatial, found)
    ids = tuple(e.entry_id for e in found.evidence)
    query = Query(entry_ids=ids, spatial=(constraint,), at_ns=found.window.at_ns, limit=len(ids))
    retrieval = run.retrieve(query, f"whether it is{place}")
    there = {e.entry_id for e in retrieval.entries}
    return place, [e for e in found.evidence if e.entry_id in there]


def _nowhere_there(run: Run, found: Found, claim: Claim, place: str, anchors: Sequence[Evidence]) -> Draft:
    """None of the things is at the claimed place: 'no', unless that isn't certain."""
    plan, value = found.plan, claim.negate
    best = best_first(found)[0]
    name, count = wording.thing(best), len(found.evidence)
    it = "they" if wording.is_plural(name) else "it"
    seen = wording.when(best.last_seen, run.now_ns, run.zone)
    if plan.past and not found.window.bounded:
        text = (
            f"At {'their' if it == 'they' else 'its'} last known place {it} {wording.be(name)} not{place}: "
            f"{wording.spot(best)}, seen {seen}. Of earlier I can't tell."
        )
        return ambiguous(text, [*found.evidence, *anchors], value)
    close = near_miss(run, claim.spatial, found, found.evidence)
    if close is not None:
        text = f"The {wording.thing(close)} {wording.be(close.label)} close by, {wording.spot(close)}"
        return ambiguous(f"{text}; whether{place} I can't tell for sure.", [close, *anchors])
    was = wording.be(name, found.window.bounded)
    answer = "Yes" if value else "No"
    text = f"{answer}: the {name} {was} not{place}; {it} {was} {wording.spot(best)}, seen {seen}."
    if anchors and claim.spatial is not None and claim.spatial.relation in (Relation.NEAR, Relation.NEXT_TO):
        text = text[:-1] + f", {wording.gap(best, anchors[0]):.2f} m away from the {wording.thing(anchors[0])}."
    if count > 1:
        each = "; ".join(f"{wording.article(wording.thing(e))} {wording.spot(e)}" for e in best_first(found)[:5])
        text = f"{answer}: none of the {wording.plural(noun(plan), count)} that I know is{place}. I know {each}."
    return answered(text, value, [*found.evidence, *anchors])


def left_place(run: Run, found: Found, claim: Claim) -> Draft:
    """A claim about the place of things that are gone: 'no' only of the place that was found empty."""
    assert claim.spatial is not None
    latest = max(found.evidence, key=lambda e: e.last_seen)
    place, holding = _holding(run, found, claim)
    text = gone_text(run, latest)
    if not holding or claim.spatial.negate:
        return not_seen(f"Whether it is{place} I don't know. {text}", None, (latest,))
    draft = answered(text, claim.negate, [holding[0]])
    return replace(draft, text=f"{'Yes' if claim.negate else 'No'}. {text}", verdict=Verdict.ANSWERED)
