"""What every answer is made of before it is signed: text, verdict, value and cited evidence; shared judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from r4_ros.core.model import NS_PER_S, AnswerValue, EntryState, Evidence, Query, SpatialConstraint, Verdict
from r4_ros.core.model import Reference as Near
from r4_ros.reasoner import confidence, lexicon, sieve, wording
from r4_ros.reasoner.keys import (
    EGO,
    Asked,
    By,
    EventKey,
    Form,
    Plan,
    Reference,
    Relation,
    SpatialKey,
    Step,
    TemporalOp,
    references,
)
from r4_ros.reasoner.news import well_seen
from r4_ros.reasoner.run import LIMIT, LIVING, Found, Run

COVERED = 0.8  # a 'no' needs as much of the place asked about to have been looked at
NEAR_MISS_M, FLOATING_M = 0.2, 0.6
TOUCHING = (Relation.ON, Relation.IN, Relation.UNDER, Relation.NEXT_TO)
COMPARED = {
    By.DISTANCE: ("near", "far"),
    By.SIZE: ("small", "large"),
    By.HEIGHT: ("low", "high"),
    By.TOP: ("low", "high"),
    By.LEFT: ("far right", "far left"),
    By.RIGHT: ("far left", "far right"),
}
FORMS_OF_NOW = frozenset(Form) - {Form.WHEN, Form.DURATION, Form.ORDER}


@dataclass(frozen=True)
class Draft:
    """An answer in the making."""

    text: str
    verdict: Verdict
    value: AnswerValue = None
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.0
    frame: str = ""


def strength(evidence: Evidence) -> float:
    """Confidence in one remembered thing, 0..1, as of when it was seen."""
    return confidence.confidence([evidence], None, evidence.last_seen)


def answered(
    text: str, value: AnswerValue, evidence: Sequence[Evidence], frame: str = "", first: bool = False
) -> Draft:
    """A claim that all of the cited evidence supports: as strong as its weakest part (``first``: as the first)."""
    strengths = [strength(e) for e in evidence] or [0.0]
    sure = strengths[0] if first else min(strengths)
    return Draft(text, Verdict.ANSWERED, value, tuple(evidence), sure, frame)


def ambiguous(text: str, evidence: Sequence[Evidence], value: AnswerValue = None, frame: str = "") -> Draft:
    """Several readings; at most half as sure as of its evidence."""
    weakest = min((strength(e) for e in evidence), default=0.0)
    return Draft(text, Verdict.AMBIGUOUS, value, tuple(evidence), weakest / 2, frame)


def not_seen(text: str, value: AnswerValue = None, evidence: Sequence[Evidence] = ()) -> Draft:
    """Nothing in memory says so."""
    return Draft(text, Verdict.NOT_SEEN, value, tuple(evidence), 0.0)


def unsupported(reason: str) -> Draft:
    """The question can't be answered; says why."""
    return Draft(reason, Verdict.UNSUPPORTED)


PLACES_LOOKED_AT = (Relation.ON, Relation.IN, Relation.AT, Relation.NEAR, Relation.NEXT_TO)
"""Relations whose place the memory's coverage describes; 'left of me' may reach beyond it."""


def _is_known(step: Step) -> bool:
    """Whether the noun names a kind of thing that would have been seen: 'no space' can't be told from boxes."""
    semantic = step.semantic
    return (
        semantic.anything or not semantic.text or lexicon.kind_of(semantic.text) is not None or bool(semantic.purpose)
    )


def _stand_ins(found: Found) -> bool:
    """Whether some reference is only called so for want of better (a table asked for as a desk)."""
    pairs = zip(found.plan.steps, found.steps, strict=False)
    return any(
        evidence and all(lexicon.is_stand_in(step.semantic.text, e.label) for e in evidence) for step, evidence in pairs
    )


def _is_looked_at(key: SpatialKey) -> bool:
    """Whether looking at a place shows what is there: not into a cupboard, a bookcase, a box."""
    return key.relation in PLACES_LOOKED_AT and (key.relation is not Relation.IN or key.reference.kind == "region")


def is_present(plan: Plan, found: Found) -> bool:
    """Whether the question is about now."""
    return not plan.past and found.window.at_ns is None and not found.window.bounded and plan.form in FORMS_OF_NOW


def needs_ego(plan: Plan) -> bool:
    """Whether the question can't be understood without knowing where 'me' is."""
    used: list[Reference] = [r for step in plan.steps for r in references(step)]
    if plan.to_other is not None:
        used.append(plan.to_other)
    loose = any(
        s.superlative is not None
        and s.superlative.reference is None
        and s.superlative.by in (By.DISTANCE, By.LEFT, By.RIGHT)
        for s in plan.steps
    )
    here = any(r.region == "room" for r in used)
    return EGO in used or loose or here


def noun(plan: Plan, index: int = -1) -> str:
    """The thing of a step as the question names it: 'red cup', 'non-red cup'."""
    semantic = plan.steps[index].semantic
    said = [a for a in semantic.attributes if a.name != "owner" and (a.is_known or not a.negate)]
    words = [f"non-{a.value}" if a.negate else a.value for a in said]
    return " ".join([*words, "thing" if semantic.anything or not semantic.text else semantic.text])


def named(found: Found) -> str:
    """What was found, by its number: '3 red cups', 'the red cup'."""
    many = len(found.evidence)
    return wording.plural(noun(found.plan), many) if many > 1 else f"the {noun(found.plan)}"


def value_unknown(found: Found, name: str) -> Draft:
    """Seen, without the property asked about."""
    text = f"I have seen {named(found)}, but {wording.its(found.evidence)} {name} isn't known."
    return not_seen(text, None, found.evidence[:5])


def counted(plan: Plan, count: int) -> str:
    """'3 red cups', '4 things for that'."""
    return wording.plural(noun(plan), count) + (" for that" if plan.target.semantic.purpose else "")


def place_asked(plan: Plan, index: int = -1) -> str:
    """' on the table', ' in the kitchen': the spatial restrictions of a step in words."""
    said: list[str] = []
    for key in plan.steps[index].spatial:
        name = {"ego": "me", "region": f"the {key.reference.region}"}.get(key.reference.kind)
        if name is None:
            step = plan.steps[key.reference.step]
            both = key.relation is Relation.BETWEEN and key.other in (None, key.reference)
            name = noun(plan, key.reference.step)
            name = f"the {wording.several(name) if step.plural or both else name}"
        if key.other is not None and key.other.kind == "step" and key.other != key.reference:
            name += f" and the {noun(plan, key.other.step)}"
        words = _relation_words(key.relation.value)
        if key.max_distance:
            words = f"within {key.max_distance:g} m of"
        joint = "and " if key.negate and said else ""
        said.append(f"{joint}{'not ' if key.negate else ''}{words} {name}")
    return "".join(" " + s for s in said)


def _relation_words(relation: str) -> str:
    words = {
        "same_room": "in the same room as",
        "left_of": "to the left of",
        "right_of": "to the right of",
        "attached_to": "attached to",
        "across_from": "across from",
        "corner": "in the corner of",
        "end": "at the end of",
        "centre": "in the middle of",
        "top": "at the top of",
        "bottom": "at the bottom of",
        "side": "at the side of",
    }
    return words.get(relation, relation.replace("_", " "))


def time_asked(run: Run, found: Found) -> str:
    """' 12 s ago (10:02:01 UTC)': the time asked about in words."""
    window = found.window
    if not window.bounded:
        return ""
    if window.at_ns is not None and window.event is None and not window.instants:
        absolute = wording.clock(window.at_ns, run.now_ns, run.zone)
        return f" {wording.ago(window.at_ns, run.now_ns)}" + (f" ({absolute})" if absolute else "")
    key = next(k for k in found.plan.target.temporal if k.op is window.op)
    plain = key.seconds is not None or (key.arg.split() or [""])[0] in ("yesterday", "this", "last", "today")
    return f" {key.arg}" if plain else f" {key.op.value} {key.arg}"


def absent(run: Run, found: Found) -> Draft:
    """Nothing matched: why, and whether that is a 'no' (the place was looked at), or just nothing seen."""
    plan, retrieval = found.plan, found.retrieval
    index = found.missing if found.missing >= 0 else len(plan.steps) - 1
    regions = [k.reference.region for k in plan.steps[index].spatial if k.reference.kind == "region"]
    if regions and not retrieval.visited:
        return Draft(f"I have never been where I could see the {regions[0]}.", Verdict.NEVER_VISITED)
    what = f"{noun(plan, index)}{place_asked(plan, index)}{time_asked(run, found)}"
    if index < len(plan.steps) - 1:
        return not_seen(f"I know no {what}.", _empty_value(plan))
    keys = plan.steps[index].spatial
    timely = is_present(plan, found) or found.window.bounded  # 'was there ever' isn't answered by one look
    covered = (
        timely
        and not _stand_ins(found)
        and retrieval.coverage >= COVERED
        and bool(keys)
        and all(_is_looked_at(k) for k in keys)
    )
    covered = covered and _is_known(plan.steps[index])
    if covered and plan.form in (Form.EXISTS, Form.COUNT, Form.IDENTIFY):
        close = _close_by(run, found, index)
        return _no(run, found, what) if close is None else close
    text = _none_seen(plan, index, what)
    if retrieval.coverage >= 0 and plan.steps[index].spatial:
        text += f" I have looked at {retrieval.coverage:.0%} of that place."
    return not_seen(text, _empty_value(plan))


def _close_by(run: Run, found: Found, index: int) -> Draft | None:
    """'no pillow on the bed' isn't said where a pillow lies at its very edge, as far as boxes are known."""
    plan, step = found.plan, found.plan.steps[index]
    if not step.semantic.text or step.semantic.anything:
        return None
    loose = step.model_copy(update={"spatial": (), "superlative": None})
    query = run.query(plan, loose, found, LIVING if is_present(plan, found) else ())
    candidates = sieve.firm(sieve.sifted(loose, run.retrieve(query, f"any {noun(plan, index)} close by").entries))
    close = next((c for k in step.spatial if (c := near_miss(run, k, found, candidates)) is not None), None)
    if close is None:
        return None
    text = f"I am not sure: {wording.article(wording.thing(close))} {wording.be(close.label)} close by, "
    return ambiguous(f"{text}{wording.spot(close)}; whether{place_asked(plan, index)} I can't tell.", [close])


def _none_seen(plan: Plan, index: int, what: str) -> str:
    semantic, agents = plan.steps[index].semantic, plan.steps[index].agents
    who = f"{wording.listed(agents)} {'has' if len(agents) == 1 else 'have'}" if agents else "I have"
    if not semantic.text or (semantic.anything and not semantic.attributes):
        nobody = plan.asked is Asked.IDENTITY or "person" in semantic.labels
        serving = " for that" if semantic.purpose else ""
        return f"{who} seen {'nobody' if nobody else 'nothing'}{serving}{what[len(noun(plan, index)) :]}."
    return f"{who} seen no {what}."


def _no(run: Run, found: Found, what: str) -> Draft:
    """'No', as the place was looked at; STALE if that is too long ago for a question about now."""
    plan, looked = found.plan, found.retrieval.last_looked
    seen = f" I looked there {wording.when(looked, run.now_ns, run.zone)}." if looked is not None else ""
    semantic = plan.target.semantic
    named = plan.form is not Form.IDENTIFY and semantic.text and not semantic.anything
    named = named or bool(semantic.attributes)
    nothing = "Nobody" if plan.asked is Asked.IDENTITY else "Nothing"
    at = f"{place_asked(plan)}{time_asked(run, found)}"
    text = f"No {what}.{seen}" if named else f"{nothing} that I know{at}.{seen}"
    age_s = (run.now_ns - looked) / NS_PER_S if looked is not None else 0.0
    stale = is_present(plan, found) and age_s > run.stale_s
    sure = 0.9 * found.retrieval.coverage * (run.stale_s / age_s if stale else 1.0)
    return Draft(text, Verdict.STALE if stale else Verdict.ANSWERED, _empty_value(plan), (), sure)


def _empty_value(plan: Plan) -> AnswerValue:
    values: dict[Form, AnswerValue] = {Form.EXISTS: False, Form.COUNT: 0, Form.IDENTIFY: ()}
    return values.get(plan.form)


def best_first(found: Found) -> list[Evidence]:
    """Present before gone, well seen before hardly seen, then the latest seen, then the best match.

    Where the first sighting is asked for: what was seen first.
    """
    if found.plan.target.superlative is not None:
        return list(found.evidence)
    if any(key.op is TemporalOp.LAST for key in found.plan.target.temporal):
        return sorted(found.evidence, key=lambda e: (not well_seen(e), -e.last_seen, -e.score))
    if any(key.op is TemporalOp.FIRST for key in found.plan.target.temporal):
        return sorted(found.evidence, key=lambda e: (e.first_seen, -e.score))
    return sorted(found.evidence, key=lambda e: (e.state is EntryState.GONE, not well_seen(e), -e.last_seen, -e.score))


def close_rivals(found: Found, evidence: Sequence[Evidence]) -> str:
    """'A chair at .. and a stool at .. are about equally near.'"""
    picked = found.plan.target.superlative
    assert picked is not None
    low, high = COMPARED.get(picked.by, ("far out", "far out"))
    return wording.capital(f"{wording.spots(evidence)} are about equally {low if picked.direction == 'min' else high}.")


def near_miss(run: Run, key: SpatialKey | None, found: Found, candidates: Sequence[Evidence]) -> Evidence | None:
    """A thing so close to the place asked about that the edges of boxes decide: neither there nor surely not.

    That is what is hardly apart, and what would have to float if it didn't rest there.
    """
    if key is None or key.reference.kind != "step" or key.relation not in TOUCHING:
        return None
    anchors = found.steps[key.reference.step] if key.reference.step < len(found.steps) else ()
    if not candidates or not anchors:
        return None
    apart_by = wording.gaps(candidates, anchors)
    close = np.flatnonzero(apart_by.min(axis=1) <= FLOATING_M)
    for i in sorted(close.tolist(), key=lambda i: float(apart_by[i].min())):
        e: Evidence = candidates[i]
        for a, apart in zip(anchors, apart_by[i].tolist(), strict=True):
            if a.entry_id == e.entry_id or apart > FLOATING_M:
                continue
            if apart <= NEAR_MISS_M or (wording.could_rest(e, a) and not _rests(run, found, e)):
                return e
    return None


def _rests(run: Run, found: Found, evidence: Evidence) -> bool:
    """Whether something is known that a thing stands on."""
    at_ns = found.window.at_ns
    near = SpatialConstraint("near", Near.ENTRIES, entry_ids=(evidence.entry_id,), stamp_ns=at_ns)
    around = run.retrieve(Query(spatial=(near,), at_ns=at_ns, limit=LIMIT), f"what the {evidence.label} stands on")
    return any(wording.stands_on(evidence, o) for o in around.entries if o.label != evidence.label)


def gone(run: Run, found: Found) -> Draft:
    """All that match have left their place: until when they were there, and that their place is unknown now.

    Where things are now is STALE, without a value. 'No' can be claimed only of the place that was found empty.
    """
    plan, latest = found.plan, max(found.evidence, key=lambda e: e.last_seen)
    text = gone_text(run, latest)
    if plan.form in (Form.EXISTS, Form.COUNT):
        value: AnswerValue = False if plan.form is Form.EXISTS else 0
        verdict = Verdict.ANSWERED if plan.target.spatial else Verdict.NOT_SEEN
        sure = strength(latest) if verdict is Verdict.ANSWERED else 0.0
        return Draft(f"Not any more. {text}", verdict, value, (latest,), sure)
    if plan.form is Form.VERIFY:
        return not_seen(text, None, (latest,))
    return Draft(text, Verdict.STALE, None, (latest,), strength(latest) / 2)


def gone_text(run: Run, evidence: Evidence) -> str:
    """'The blue backpack is gone: it was in the hallway at (..) m, last seen ..; it left between .. and ..'"""
    it, was = ("they", "were") if wording.is_plural(evidence.label) else ("it", "was")
    when = wording.when(evidence.last_seen, run.now_ns, run.zone)
    bounds = departure(run, evidence)
    left = f"; {it} {bounds}" if bounds else ""
    name = wording.thing(evidence)
    return (
        f"The {name} {wording.be(name)} gone: {it} {was} {wording.spot(evidence)}, last seen there {when}{left}. "
        f"I don't know where {it} {wording.be(name)} now."
    )


def departure(run: Run, evidence: Evidence) -> str:
    """'left between 20 s and 12 s ago', '' if that isn't known."""
    query = Query(labels=(evidence.label,), with_events=True, limit=LIMIT)
    retrieval = run.retrieve(query, f"when the {evidence.label} left")
    events = run.events_in(retrieval, [evidence], EventKey(kinds=("disappeared",)))
    return f"left {wording.between(events[-1].earliest_ns, events[-1].latest_ns, run.now_ns)}" if events else ""


def staled(run: Run, draft: Draft) -> Draft:
    """A present-tense answer from sightings that are older than the configured age says so."""
    if draft.verdict is not Verdict.ANSWERED or not draft.evidence:
        return draft
    if all(e.state is EntryState.GONE for e in draft.evidence):
        return draft
    age_s = (run.now_ns - min(e.last_seen for e in draft.evidence)) / NS_PER_S
    if age_s <= run.stale_s:
        return draft
    text = f"{draft.text} That is {wording.age(age_s)} old; it may have changed."
    return replace(draft, text=text, verdict=Verdict.STALE, confidence=draft.confidence * run.stale_s / age_s)
