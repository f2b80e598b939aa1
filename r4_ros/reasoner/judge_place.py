"""Answers of place: where, which way, how far."""

from __future__ import annotations

import math
from collections.abc import Sequence

from r4_ros.core.geometry import box_gap
from r4_ros.core.model import EntryState, Evidence, Query, Reference, SpatialConstraint
from r4_ros.reasoner import viewpoint, wording
from r4_ros.reasoner.draft import Draft, ambiguous, answered, is_present, not_seen, noun, time_asked, unsupported
from r4_ros.reasoner.keys import Form
from r4_ros.reasoner.run import Found, Run

SAME_PLACE_M = 0.3
FEW = 3  # sightings; fewer may be a mistake of the detector


def locate(run: Run, found: Found) -> Draft:
    """Where the things are, each with its surroundings; the value is the best one's position."""
    window = found.window
    if window.event is not None and window.event.from_place is not None and window.op.value == "before":
        return _moved_from(run, found)
    evidence = best_first(found)
    best = evidence[0]
    around = _around(run, found, best)
    where = wording.context(best, around)
    position = best.box.pose.position
    if found.plan.target.superlative is not None and len(evidence) > 1:
        text = f"{len(evidence)} are about equally far out: {_places(evidence)}."
        return ambiguous(text, evidence, position, best.frame)
    told = f"{_is(found, best)} at {wording.point(position)}{', ' + where if where else ''}{time_asked(run, found)}"
    seen = wording.when(best.last_seen, run.now_ns, run.zone)
    if len(evidence) == 1:
        return answered(f"The {wording.thing(best)} {told}; last seen {seen}.", position, evidence, best.frame)
    text = (
        f"I know {wording.plural(noun(found.plan), len(evidence))}. The {wording.thing(best)} last seen {seen} {told}."
    )
    return answered(f"{text} Also: {_places(evidence[1:])}.", position, evidence, best.frame, first=True)


def _is(found: Found, evidence: Evidence) -> str:
    past = found.plan.past or found.window.bounded or evidence.state is EntryState.GONE
    return "was" if past else "is"


def _moved_from(run: Run, found: Found) -> Draft:
    event = found.window.event
    assert event is not None and event.from_place is not None
    cited = [e for e in found.evidence if e.entry_id == event.entry_id] or list(found.evidence[:1])
    when = wording.when(event.stamp_ns, run.now_ns, run.zone)
    text = f"Before it was moved {when}, the {event.label} was at {wording.point(event.from_place)}."
    return answered(text, event.from_place, cited, cited[0].frame)


def best_first(found: Found) -> list[Evidence]:
    """Present before gone, well seen before hardly seen, then the latest seen, then the best match."""
    if found.plan.target.superlative is not None:
        return list(found.evidence)
    return sorted(found.evidence, key=lambda e: (e.state is EntryState.GONE, e.count < FEW, -e.last_seen, -e.score))


def _places(evidence: Sequence[Evidence]) -> str:
    return wording.listed(
        [f"{wording.article(wording.thing(e))} at {wording.point(e.box.pose.position)}" for e in evidence]
    )


def _around(run: Run, found: Found, evidence: Evidence) -> tuple[Evidence, ...]:
    """What is within a metre of a thing; one extra retrieval."""
    near = SpatialConstraint("near", Reference.ENTRIES, entry_ids=(evidence.entry_id,), stamp_ns=found.window.at_ns)
    states = (EntryState.PRESENT, EntryState.UNKNOWN) if is_present(found.plan, found) else ()
    query = Query(spatial=(near,), at_ns=found.window.at_ns, states=states, limit=30)
    return run.retrieve(query, f"what is around the {evidence.label}").entries


def navigate(run: Run, found: Found) -> Draft:
    """A goal: the position of one certain thing; the nearest where any will do."""
    evidence = list(found.evidence)
    ego = run.ego_of(found)
    if found.plan.target.superlative is None and ego is not None:
        evidence.sort(key=lambda e: viewpoint.bearing(ego, e.box.pose.position)[1])
    best = evidence[0]
    away = f", {viewpoint.bearing(ego, best.box.pose.position)[1]:.2f} m from here" if ego is not None else ""
    text = f"The {wording.thing(best)} is at {wording.point(best.box.pose.position)}{away}."
    if len(evidence) > 1 and (found.plan.target.definite or found.plan.target.superlative is not None):
        text += f" Which one is meant isn't certain; also: {_places(evidence[1:])}."
        return ambiguous(text, evidence, best.box.pose.position, best.frame)
    return answered(text, best.box.pose.position, [best], best.frame)


def direction(run: Run, found: Found) -> Draft:
    """Left, right, ahead or behind of the asker, with the hour of the clock face."""
    plan = found.plan
    if plan.to_other is not None and plan.to_other.kind != "ego":
        return unsupported("Directions are told only from where you or the robot stand, not from a thing.")
    ego = run.ego_of(found)
    if ego is None:
        return not_seen("I don't know where you were then, so I can't tell a direction.", None, found.evidence)
    said = []
    for evidence in best_first(found):
        angle, distance = viewpoint.bearing(ego, evidence.box.pose.position)
        said.append((viewpoint.direction_word(angle), viewpoint.o_clock(angle), distance, evidence))
    word, hour, distance, best = said[0]
    text = f"The {wording.thing(best)} {_is(found, best)} {_to(word)} ({hour} o'clock), {distance:.2f} m away"
    text += f"{time_asked(run, found)}."
    if len({w for w, *_ in said}) > 1:
        others = [f"{_to(w)} ({d:.2f} m)" for w, _, d, _ in said[1:]]
        return ambiguous(f"{text} Others: {wording.listed(others)}.", [e for *_, e in said], word)
    return answered(text, word, [e for *_, e in said])


def _to(word: str) -> str:
    return f"to the {word}" if word in ("left", "right") else word


def distance(run: Run, found: Found) -> Draft:
    """Metres between the centres of two things (and their nearest sides), or from the asker to a thing."""
    plan, to = found.plan, found.plan.to_other
    best = best_first(found)[0]
    if to is not None and to.kind == "region":
        return unsupported("Distances to a region can't be computed yet.")
    if to is not None and to.kind == "step":
        return _between(found, found.steps[to.step])
    ego = run.ego_of(found)
    if ego is None:
        return not_seen("I don't know where you were then, so I can't tell a distance.", None, found.evidence)
    far = sorted(((viewpoint.bearing(ego, e.box.pose.position)[1], i) for i, e in enumerate(found.evidence)))
    metres, nearest = far[0]
    best = found.evidence[nearest]
    text = f"The {wording.thing(best)} {_is(found, best)} {metres:.2f} m away{time_asked(run, found)}."
    if len(far) > 1 and plan.target.definite and plan.target.superlative is None:
        others = wording.listed([f"{d:.2f} m" for d, _ in far[1:]])
        return ambiguous(f"{text} That is the nearest; others: {others}.", found.evidence, round(metres, 4))
    return answered(text, round(metres, 4), [best])


def _between(found: Found, others: Sequence[Evidence]) -> Draft:
    pairs = [
        (math.dist(a.box.pose.position, b.box.pose.position), a, b)
        for a in found.evidence
        for b in others
        if a.entry_id != b.entry_id
    ]
    if not pairs:
        return not_seen(f"I know only one {noun(found.plan)}.", None, found.evidence)
    pairs.sort(key=lambda p: p[0])
    metres, a, b = pairs[0]
    gap, metres = box_gap(a.box, b.box), round(metres, 4)
    text = (
        f"The {wording.thing(a)} and the {wording.thing(b)} are {metres:.2f} m apart, centre to centre; "
        f"{gap:.2f} m between their nearest sides."
    )
    if pairs[-1][0] - metres > SAME_PLACE_M:
        count = wording.plural("pair", len(pairs))
        return ambiguous(f"{text} That is the nearest of {count}.", [a, b], metres)
    return answered(text, metres, [a, b])


PLACES = {
    Form.LOCATE: locate,
    Form.NAVIGATE: navigate,
    Form.DIRECTION: direction,
    Form.DISTANCE: distance,
}
