"""Answers of kind and property: is there, how many, what is it, what colour."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.model import NS_PER_S, EntryState, Evidence, Query
from r4_ros.reasoner import judge_rooms, judge_share, lexicon, sieve, viewpoint, wording
from r4_ros.reasoner.draft import (
    Draft,
    ambiguous,
    answered,
    best_first,
    close_rivals,
    counted,
    named,
    not_seen,
    noun,
    place_asked,
    time_asked,
    unsupported,
    value_unknown,
)
from r4_ros.reasoner.judge_verify import verify
from r4_ros.reasoner.keys import Asked, Form, Relation, TemporalOp
from r4_ros.reasoner.news import well_seen
from r4_ros.reasoner.run import VIEW_RELATIONS, Found, Run

GLIMPSED = 0.2  # of a place: who has looked at less of it can only say what is there at least
MOST_READINGS = 4
STRAIGHT = 0.15  # sine of the angle up to which something is neither left nor right
HEIGHT = re.compile(r"\b(?:tall|high|height)\b", re.IGNORECASE)


def exists(run: Run, found: Found) -> Draft:
    """Yes, with each one's place, and the age of the latest sighting."""
    evidence = best_first(found)
    best = evidence[0]
    seen = wording.when(best.last_seen, run.now_ns, run.zone)
    place, time = place_asked(found.plan), time_asked(run, found)
    if found.plan.target.number:
        return _as_many(run, found)
    name = wording.thing(best)
    past = found.plan.past or found.window.bounded
    if len(evidence) == 1:
        said = f"{wording.article(name)}{place} {wording.be(name, past)} {wording.spot(best, place)}{time}"
        if not well_seen(best):
            return answered(f"I think so: {said}; last seen {seen}.", True, evidence, first=True)
        return answered(f"Yes, {said}; last seen {seen}.", True, evidence, first=True)
    each = wording.spots(evidence, 3, place)
    text = f"Yes, {counted(found.plan, len(evidence))}{place}{time}: {each}; last seen {seen}."
    return answered(text, True, evidence[:5], first=True)


def _as_many(run: Run, found: Found) -> Draft:
    """'are there four chairs', 'is there only one sofa': yes by what is known; fewer known isn't a no."""
    told, step = _counted(run, found), found.plan.target
    known = told.value if isinstance(told.value, int) else 0
    if known < step.number and step.bound != "most":
        return not_seen(f"I know only {told.text[:1].lower()}{told.text[1:]}", False, told.evidence)
    value = judge_share.within(step, known)
    return replace(told, text=f"{'Yes' if value else 'No'}: {told.text}", value=value)


def count(run: Run, found: Found) -> Draft:
    """How many entries match, and whether that is more or fewer than a number that is asked."""
    told, step = _counted(run, found), found.plan.target
    if not step.bound or not isinstance(told.value, int):
        return told
    yes = judge_share.within(step, told.value)
    so = "Yes" if yes else "No" if step.bound == "most" else "Not as far as I know"
    return replace(told, text=f"{so}: {told.text}")


def _counted(run: Run, found: Found) -> Draft:
    """How many entries match. What was seen too little to be sure isn't counted, but told: then it is 'at least'."""
    evidence = list(found.evidence)
    number, rare = len(evidence), len(found.left_out.doubtful)
    text = f"{counted(found.plan, number)}{place_asked(found.plan)}{time_asked(run, found)}"
    text += f"{_made_up_of(found, evidence)}{_fresh(run, found, evidence)}."
    if found.plan.choices:
        text += f" {number} is {'odd' if number % 2 else 'even'}."
    why = _at_least(found)
    if rare:
        why = f" {rare} more, seen too little to be sure, may be {'a mistake' if rare == 1 else 'mistakes'}.{why}"
    if why:
        return ambiguous(wording.capital(f"At least {text}{why}"), evidence, number)
    return answered(wording.capital(text), number, evidence)


def _at_least(found: Found) -> str:
    """Why there may be more than are known; empty: nothing says so."""
    known = [e for e in found.retrieval.entries if sieve.walks(e) and sieve.is_meant(found.plan.target, e)]
    if len(sieve.firm(known)) > len(found.evidence):
        return f" Seen in {len(known)} places one after the other; who of these is one I can't tell."
    looked, keys = found.retrieval.coverage, found.plan.target.spatial
    if 0 <= looked < GLIMPSED and any(k.reference.kind == "region" for k in keys):
        return f" I have looked at {looked:.0%} of that place only."
    return ""


def _fresh(run: Run, found: Found, evidence: Sequence[Evidence]) -> str:
    """How long ago a list was seen; of another time that says nothing."""
    return "" if found.window.bounded else f"; {wording.all_seen(evidence, run.now_ns)}"


def _made_up_of(found: Found, evidence: Sequence[Evidence]) -> str:
    """': a red mug and 2 white mugs', with the rooms where none was asked: ' (2 in the kitchen, 1 in the study)'."""
    names = sorted({wording.thing(e) for e in evidence})
    said = f": {wording.inventory(evidence)}" if len(names) > 1 else ""
    if len(names) == 1 and names[0] != noun(found.plan):
        said = f" ({wording.several(names[0]) if len(evidence) > 1 else wording.article(names[0])})"
    rooms = Counter(e.regions[0] for e in evidence if e.regions)
    if found.plan.target.spatial or len(rooms) < 2:
        return said
    return f"{said} ({wording.listed([f'{n} in the {room}' for room, n in rooms.items()], 8)})"


def identify(run: Run, found: Found) -> Draft:
    """The labels of what is there, nearest to the reference first; or who saw it."""
    plan = found.plan
    if plan.asked is Asked.AGENT:
        return _who_saw(run, found)
    if plan.asked is Asked.LOCATION:
        return judge_rooms.rooms(run, found)
    evidence = _first_or_last(found, _by_nearness(run, found))
    labels = tuple(dict.fromkeys(e.label for e in evidence))
    place, time = place_asked(plan), time_asked(run, found)
    if plan.target.superlative is not None and len(evidence) > 1:
        return ambiguous(close_rivals(found, evidence), evidence, labels)
    nearest = evidence[0]
    text = f"{wording.inventory(evidence)}{place}{time}"
    if len(evidence) == 1:
        text += f", {wording.spot(nearest, place)}"
    elif plan.target.spatial and plan.target.spatial[0].reference.kind != "region":
        text += f"; the nearest {wording.be(nearest.label)} the {wording.thing(nearest)} {wording.spot(nearest)}"
    text = f"{wording.capital(text)}{_fresh(run, found, evidence)}."
    readings = _readings(run, found, evidence)
    if not readings:
        return answered(text, labels, evidence)
    told = [f"{place_asked(plan).strip()} {_at(a)}: {wording.inventory(r) if r else 'nothing'}" for a, r in readings]
    text = f"{text} {'. '.join(wording.capital(t) for t in told)}."
    sides = any(k.relation in VIEW_RELATIONS for k in plan.target.spatial)
    same = len({(frozenset(e.label for e in r), r[0].entry_id if r else "") for _, r in readings}) == 1
    return answered(text, labels, evidence) if same or not sides else ambiguous(text, evidence, labels)


def _at(evidence: Evidence) -> str:
    return wording.spot(evidence)


def _readings(run: Run, found: Found, evidence: Sequence[Evidence]) -> list[tuple[Evidence, list[Evidence]]]:
    """'left of the tv' with two tvs: what is there for each that may be meant; none where just one is."""
    key = next((k for k in found.plan.target.spatial if k.reference.kind == "step"), None)
    if key is None or key.relation is Relation.BETWEEN or key.negate:
        return []
    anchors, step = found.steps[key.reference.step], found.plan.steps[key.reference.step]
    if not 1 < len(anchors) <= MOST_READINGS or step.plural or not step.definite:
        return []
    ids = tuple(e.entry_id for e in evidence)
    readings = []
    for anchor in anchors:
        steps = [*found.steps]
        steps[key.reference.step] = (anchor,)
        one = Found(found.plan, steps, found.retrieval, found.window)
        query = Query(entry_ids=ids, spatial=(run.constraint(found.plan, key, one),), at_ns=found.window.at_ns)
        there = {e.entry_id for e in run.retrieve(query, f"for the {anchor.label} at {_at(anchor)}").entries}
        readings.append((anchor, [e for e in evidence if e.entry_id in there]))
    filled = [r for r in readings if r[1]]
    sided = key.relation in VIEW_RELATIONS
    return readings if sided else filled if len(filled) > 1 else []


def _first_or_last(found: Found, evidence: list[Evidence]) -> list[Evidence]:
    """'what did you see first': what came into view with the first thing (last: what was in view at the end)."""
    ops = {key.op for key in found.plan.target.temporal}
    if TemporalOp.FIRST in ops:
        begin = min(e.first_seen for e in evidence)
        return [e for e in evidence if e.first_seen - begin < NS_PER_S]
    if TemporalOp.LAST in ops:
        end = max(e.last_seen for e in evidence)
        return [e for e in evidence if end - e.last_seen < NS_PER_S]
    return evidence


def _by_nearness(run: Run, found: Found) -> list[Evidence]:
    """Nearest to the first reference first, where there is one."""
    keys = found.plan.target.spatial
    if not keys or found.plan.target.superlative is not None:
        return list(found.evidence)
    reference = keys[0].reference
    if reference.kind == "step":
        near = wording.nearest_gaps(found.evidence, found.steps[reference.step])
        return [found.evidence[i] for i in sorted(range(len(near)), key=near.__getitem__)]
    ego = run.ego_of(found)
    if reference.kind == "ego" and ego is not None:
        return sorted(found.evidence, key=lambda e: viewpoint.bearing(ego, e.box.pose.position)[1])
    return list(found.evidence)


def _who_saw(run: Run, found: Found) -> Draft:
    """Each robot's own sighting; with 'last' or 'first' only the one that comes out on top."""
    seen: list[Evidence] = []
    for agent in run.agents_named(found.plan.target.agents) or run.agents:
        mine = run.seen_by(found, agent)
        if mine:
            seen.append(max(mine, key=lambda e: e.last_seen))
    seen = seen or list(found.evidence[:1])
    ops = {key.op for key in found.plan.target.temporal}
    first = TemporalOp.FIRST in ops
    seen.sort(key=lambda e: (e.first_seen if first else -e.last_seen, e.agent_id))
    stamp = {e.agent_id: e.first_seen if first else e.last_seen for e in seen}
    told = [
        f"{e.agent_id} saw the {wording.thing(e)} {'first' if first else 'last'} "
        f"{wording.when(stamp[e.agent_id], run.now_ns, run.zone)}"
        for e in seen
    ]
    text = f"{wording.listed(told)}."
    if first or TemporalOp.LAST in ops:
        return answered(text, (seen[0].agent_id,), seen, first=True)
    return answered(text, tuple(sorted(stamp)), seen)


def attribute(run: Run, found: Found) -> Draft:
    """The remembered values of a property; never guessed."""
    name = found.plan.asked.value if found.plan.asked is not None else "other"
    if name == Asked.OTHER.value:
        return unsupported("That isn't in this memory: it knows what was seen, where and when.")
    known = [(e, wording.attribute(e, name)) for e in best_first(found)]
    told = [(e, value) for e, value in known if value]
    if found.plan.asked is Asked.SIZE:
        return _size(run, found)
    if not told:
        return value_unknown(found, name)
    values = tuple(dict.fromkeys(value for _, value in told))
    if len(values) == 1:
        seen = wording.when(told[0][0].last_seen, run.now_ns, run.zone)
        past = found.plan.past or told[0][0].state is EntryState.GONE
        name = wording.several(noun(found.plan)) if len(told) > 1 else told[0][0].label
        many = (len(told) > 1 and f"{len(told)} ") or ""
        text = (
            f"The {many}{name}{place_asked(found.plan)} {wording.be(name, past, len(told))} {values[0]}; seen {seen}."
        )
        return answered(text, values, [e for e, _ in told])
    each = wording.listed([wording.valued(e, value) for e, value in told])
    text = f"I know {named(found)}: {each}."
    cited = [e for e, _ in told]
    return ambiguous(text, cited, values) if found.plan.target.definite else answered(text, values, cited)


def _size(run: Run, found: Found) -> Draft:
    """Length, width and height of the box that is known of it; what was hidden isn't in it."""
    evidence = best_first(found)
    best = evidence[0]
    upright = HEIGHT.search(found.plan.question)
    value = wording.height(best) if upright else wording.size(best)
    seen = wording.when(best.last_seen, run.now_ns, run.zone)
    text = (
        f"The {wording.thing(best)} {wording.spot(best)} {wording.be(best.label)} at least {value}, as far as I saw; "
    )
    text += f"seen {seen}."
    if len(evidence) == 1:
        return answered(text, (value,), [best])
    sizes = [wording.height(e) if upright else wording.size(e) for e in evidence]
    each = [f"{wording.article(wording.thing(e))} {wording.spot(e)}, {sizes[i]}" for i, e in enumerate(evidence)]
    others = wording.listed(each[1:])
    return ambiguous(f"{text} I know {len(evidence)}; others: {others}.", evidence, (value,))


def _slightly(best: Evidence, angle: float, word: str) -> Draft:
    """'left or right' of what is nearly ahead or behind: the side that it tends to, if it does."""
    side = "left" if angle > 0 else "right"
    text = f"the {wording.thing(best)} {wording.be(best.label)} {word} of you, at {viewpoint.o_clock(angle)} o'clock"
    if abs(math.sin(angle)) < STRAIGHT:
        return ambiguous(f"Neither: {text}.", [best])
    return answered(f"{side.capitalize()}, slightly: {text}.", (side,), [best])


def choose(run: Run, found: Found) -> Draft:
    """One of the alternatives: a remembered state, or a side of the asker."""
    plan = found.plan
    best = best_first(found)[0]
    if plan.asked is Asked.LOCATION and run.ego_of(found) is not None:
        ego = run.ego_of(found)
        assert ego is not None
        angle = viewpoint.bearing(ego, best.box.pose.position)[0]
        word = viewpoint.direction_word(angle)
        sides = {side for choice in plan.choices for side in choice.split()} & {"left", "right"}
        if len(sides) == 2 and word in ("ahead", "behind"):
            return _slightly(best, angle, word)
        words_of = {"ahead": ("front", "ahead"), "behind": ("behind", "back")}
        for choice in plan.choices:
            if any(s in choice.split() for side in word.split(" and to the ") for s in words_of.get(side, (side,))):
                return answered(
                    f"{choice.capitalize()}: the {wording.thing(best)} is {word} of you.", (choice,), [best]
                )
    if plan.alternatives:
        return _one_of_places(run, found)
    if plan.asked in (None, Asked.OTHER, Asked.LOCATION, Asked.IDENTITY):
        return unsupported("I can't choose between these.")
    assert plan.asked is not None
    value = wording.attribute(best, plan.asked.value)
    if not value:
        return not_seen(f"I have seen the {wording.thing(best)}, but its {plan.asked.value} isn't known.", None, [best])
    choice = next((c for c in plan.choices if lexicon.same_value(plan.asked.value, c.split()[0], value)), value)
    return answered(f"{wording.capital(wording.valued(best, value))}.", (choice,), [best])


def _one_of_places(run: Run, found: Found) -> Draft:
    """'is it on the floor or on the shelf': the one place of those asked about where it is."""
    plan, ids = found.plan, tuple(e.entry_id for e in found.evidence)
    held: list[tuple[str, list[Evidence]]] = []
    for key, said in zip(plan.alternatives, plan.choices, strict=True):
        query = Query(entry_ids=ids, spatial=(run.constraint(plan, key, found),), at_ns=found.window.at_ns)
        there = {e.entry_id for e in run.retrieve(query, f"whether it is {said}").entries}
        here = [e for e in found.evidence if e.entry_id in there]
        held += [(said, here)] if here else []
    best = best_first(found)[0]
    name, is_ = wording.thing(best), wording.be(best.label, found.window.bounded or plan.past)
    if not held:
        return not_seen(f"Neither, as far as I know: the {name} {is_} {wording.spot(best)}.", None, [best])
    told = wording.listed([f"{said}: {wording.spots(here)}" for said, here in held])
    if len(held) > 1 or (len(held[0][1]) < len(found.evidence) and plan.target.definite):
        return ambiguous(f"That depends on which is meant. {wording.capital(told)}.", found.evidence)
    said, here = held[0]
    return answered(f"{wording.capital(said)}: the {name} {is_} {wording.spot(here[0])}.", (said,), here)


KINDS = {
    Form.EXISTS: exists,
    Form.COUNT: count,
    Form.IDENTIFY: identify,
    Form.ATTRIBUTE: attribute,
    Form.STATE: attribute,
    Form.CHOOSE: choose,
    Form.VERIFY: verify,
}
