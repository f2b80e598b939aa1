"""Answers of kind and property: is there, how many, what is it, what colour, is it so."""

from __future__ import annotations

from collections.abc import Sequence

from r4_ros.core.model import NS_PER_S, Evidence, Query
from r4_ros.reasoner import judge_time, lexicon, viewpoint, wording
from r4_ros.reasoner.draft import Draft, ambiguous, answered, not_seen, noun, place_asked, time_asked, unsupported
from r4_ros.reasoner.judge_place import FEW, best_first
from r4_ros.reasoner.keys import Asked, Attribute, Claim, Form
from r4_ros.reasoner.run import VIEW_RELATIONS, Found, Run


def exists(run: Run, found: Found) -> Draft:
    """Yes, with each one's place, and the age of the latest sighting."""
    evidence = best_first(found)
    best = evidence[0]
    seen = wording.when(best.last_seen, run.now_ns, run.zone)
    place, time = place_asked(found.plan), time_asked(run, found)
    past = "was" if found.plan.past or found.window.bounded else "is"
    if len(evidence) == 1:
        text = f"Yes, {wording.article(wording.thing(best))}{place} {past} at {_where(best)}{time}; last seen {seen}."
    else:
        each = wording.listed([f"{wording.article(wording.thing(e))} at {_where(e)}" for e in evidence], 3)
        text = f"Yes, {wording.plural(noun(found.plan), len(evidence))}{place}{time}: {each}; last seen {seen}."
    return answered(text, True, evidence[:5], first=True)


def count(run: Run, found: Found) -> Draft:
    """How many entries match. Those seen in very few frames aren't counted beside well-seen ones, but told."""
    well_seen = [e for e in found.evidence if e.count >= FEW]
    evidence = well_seen or list(found.evidence)
    number, rare = len(evidence), len(found.evidence) - len(evidence)
    oldest = min(e.last_seen for e in evidence)
    things = wording.plural(noun(found.plan), number)
    text = f"{things[:1].upper()}{things[1:]}{place_asked(found.plan)}{time_asked(run, found)}; "
    text += f"all seen within the last {wording.age((run.now_ns - oldest) / NS_PER_S)}."
    if found.plan.choices:
        text += f" {number} is {'odd' if number % 2 else 'even'}."
    if rare:
        text += f" {rare} more, seen in fewer than {FEW} frames, may be mistakes."
    return answered(text, number, evidence)


def identify(run: Run, found: Found) -> Draft:
    """The labels of what is there, nearest to the reference first; or who saw it."""
    plan = found.plan
    if plan.asked is Asked.AGENT:
        return _who_saw(run, found)
    evidence = _by_nearness(run, found)
    labels = tuple(dict.fromkeys(e.label for e in evidence))
    place, time = place_asked(plan), time_asked(run, found)
    if plan.target.superlative is not None and len(evidence) > 1:
        told = wording.listed([f"{wording.article(wording.thing(e))} at {_where(e)}" for e in evidence])
        return ambiguous(f"{told} are about equally far out.", evidence, labels)
    nearest = evidence[0]
    seen = "last seen " + wording.ago(min(e.last_seen for e in evidence), run.now_ns)
    text = f"{wording.inventory(evidence)}{place}{time}"
    if len(evidence) == 1:
        text += f", at {_where(nearest)}"
    elif plan.target.spatial:
        text += f"; the nearest is the {wording.thing(nearest)} at {_where(nearest)}"
    text = f"{text[:1].upper()}{text[1:]}; {seen}."
    unsure = _uncertain_anchor(found)
    if unsure:
        return ambiguous(f"{unsure} {text}", evidence, labels)
    return answered(text, labels, evidence)


def _where(evidence: Evidence) -> str:
    return wording.point(evidence.box.pose.position)


def _by_nearness(run: Run, found: Found) -> list[Evidence]:
    """Nearest to the first reference first, where there is one."""
    keys = found.plan.target.spatial
    if not keys or found.plan.target.superlative is not None:
        return list(found.evidence)
    reference = keys[0].reference
    if reference.kind == "step":
        anchors = found.steps[reference.step]
        return sorted(found.evidence, key=lambda e: min(wording.gap(e, a) for a in anchors))
    ego = run.ego_of(found)
    if reference.kind == "ego" and ego is not None:
        return sorted(found.evidence, key=lambda e: viewpoint.bearing(ego, e.box.pose.position)[1])
    return list(found.evidence)


def _uncertain_anchor(found: Found) -> str:
    """'left of the tv' with two tvs: which one is meant changes the answer."""
    for key in found.plan.target.spatial:
        reference = key.reference
        if key.relation not in VIEW_RELATIONS or reference.kind != "step":
            continue
        anchors, step = found.steps[reference.step], found.plan.steps[reference.step]
        if len(anchors) > 1 and not step.plural:
            return f"I know {wording.plural(noun(found.plan, reference.step), len(anchors))}; for any of them:"
    return ""


def _who_saw(run: Run, found: Found) -> Draft:
    latest: dict[str, Evidence] = {}
    for evidence in found.evidence:
        known = latest.get(evidence.agent_id)
        if known is None or evidence.last_seen > known.last_seen:
            latest[evidence.agent_id] = evidence
    told = [
        f"{agent} saw the {wording.thing(e)} last {wording.when(e.last_seen, run.now_ns, run.zone)}"
        for agent, e in sorted(latest.items())
    ]
    return answered(f"{wording.listed(told)}.", tuple(sorted(latest)), [latest[a] for a in sorted(latest)])


def attribute(run: Run, found: Found) -> Draft:
    """The remembered values of a property; never guessed."""
    name = found.plan.asked.value if found.plan.asked is not None else "other"
    known = [(e, wording.attribute(e, name)) for e in best_first(found)]
    told = [(e, value) for e, value in known if value]
    thing = wording.plural(noun(found.plan), len(known)) if len(known) > 1 else f"the {noun(found.plan)}"
    if not told:
        return not_seen(f"I have seen {thing}, but its {name} isn't known.", None, found.evidence[:5])
    values = tuple(dict.fromkeys(value for _, value in told))
    if len(values) == 1:
        seen = wording.when(told[0][0].last_seen, run.now_ns, run.zone)
        text = f"The {noun(found.plan)}{place_asked(found.plan)} is {values[0]}; seen {seen}."
        return answered(text, values, [e for e, _ in told])
    each = wording.listed([f"the {e.label} at {_where(e)} is {value}" for e, value in told])
    text = f"I know {thing}: {each}."
    cited = [e for e, _ in told]
    return ambiguous(text, cited, values) if found.plan.target.definite else answered(text, values, cited)


def choose(run: Run, found: Found) -> Draft:
    """One of the alternatives: a remembered state, or a side of the asker."""
    plan = found.plan
    best = best_first(found)[0]
    if plan.asked is Asked.LOCATION and run.ego_of(found) is not None:
        ego = run.ego_of(found)
        assert ego is not None
        word = viewpoint.direction_word(viewpoint.bearing(ego, best.box.pose.position)[0])
        sides = {"ahead": ("front", "ahead"), "behind": ("behind", "back")}
        for choice in plan.choices:
            if any(s in choice.split() for side in word.split(" and to the ") for s in sides.get(side, (side,))):
                return answered(
                    f"{choice.capitalize()}: the {wording.thing(best)} is {word} of you.", (choice,), [best]
                )
    if plan.asked in (None, Asked.OTHER, Asked.LOCATION, Asked.IDENTITY):
        return unsupported("I can't choose between these.")
    assert plan.asked is not None
    value = wording.attribute(best, plan.asked.value)
    if not value:
        return not_seen(f"I have seen the {wording.thing(best)}, but its {plan.asked.value} isn't known.", None, [best])
    choice = next((c for c in plan.choices if lexicon.same_value(plan.asked.value, c.split()[0], value)), value)
    return answered(f"The {wording.thing(best)} is {value}.", (choice,), [best])


def verify(run: Run, found: Found) -> Draft:
    """Whether a claim about the target holds: its place, a property, an event."""
    claim = found.plan.claim
    if claim is None or claim == Claim(negate=claim.negate):
        if claim is not None and found.plan.asked is Asked.LOCATION:
            return judge_time.still_there(run, found, found.plan)
        return unsupported("I can check where things are, their colour and what happened to them, not this.")
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
        name = asked.name or "state"
        return not_seen(f"I have seen the {noun(found.plan)}, but its {name} isn't known.", None, found.evidence[:5])
    holds = [lexicon.same_value(asked.name, asked.value, value) for _, value in told]
    each = wording.listed([f"the {e.label} at {_where(e)} is {value}" for e, value in told])
    cited = [e for e, _ in told]
    if len(set(holds)) > 1 and not found.plan.target.plural:
        return ambiguous(f"That depends on which is meant: {each}.", cited)
    value = all(holds) != negate
    return answered(f"{'Yes' if value else 'No'}: {each}.", value, cited)


def _stands(run: Run, found: Found, claim: Claim) -> Draft:
    """'is the mug on the table': asked of the memory about exactly these entries."""
    assert claim.spatial is not None
    plan, key = found.plan, claim.spatial
    claimed = plan.model_copy(update={"steps": (*plan.steps[:-1], plan.target.model_copy(update={"spatial": (key,)}))})
    place = place_asked(claimed)
    constraint = run.constraint(plan, key, found)
    ids = tuple(e.entry_id for e in found.evidence)
    query = Query(entry_ids=ids, spatial=(constraint,), at_ns=found.window.at_ns, limit=len(ids))
    retrieval = run.retrieve(query, f"whether it is{place}")
    holding = [e for e in retrieval.entries if e.entry_id in ids]
    anchors: Sequence[Evidence] = found.steps[key.reference.step][:1] if key.reference.kind == "step" else ()
    best = holding[0] if holding else best_first(found)[0]
    value = bool(holding) != claim.negate
    seen = wording.when(best.last_seen, run.now_ns, run.zone)
    text = f"{'Yes' if value else 'No'}: the {wording.thing(best)} is {'' if holding else 'not'}{place}"
    text = text.replace("  ", " ") + f"; it {'was' if found.window.bounded else 'is'} at {_where(best)}, seen {seen}."
    if not holding and plan.past and not found.window.bounded:
        text = f"At its last known place it is not{place}: {_where(best)}, seen {seen}. Of earlier I can't tell."
        return ambiguous(text, [*found.evidence, *anchors], value)
    if holding and len(holding) < len(found.evidence) and plan.target.definite:
        return ambiguous(f"That depends on which of {len(ids)} is meant. {text}", [*found.evidence, *anchors], value)
    cited = [*(holding[:1] or found.evidence), *anchors]
    return answered(text, value, cited)


KINDS = {
    Form.EXISTS: exists,
    Form.COUNT: count,
    Form.IDENTIFY: identify,
    Form.ATTRIBUTE: attribute,
    Form.STATE: attribute,
    Form.CHOOSE: choose,
    Form.VERIFY: verify,
}
