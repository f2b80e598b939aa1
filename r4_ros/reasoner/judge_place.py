"""Answers of place: where, which way, how far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from r4_ros.core.geometry import box_gap
from r4_ros.core.model import NS_PER_S, EntryState, Evidence, Query, Reference, SpatialConstraint
from r4_ros.reasoner import lexicon, sieve, viewpoint, wording
from r4_ros.reasoner.draft import (
    Draft,
    ambiguous,
    answered,
    best_first,
    close_rivals,
    counted,
    is_present,
    not_seen,
    noun,
    time_asked,
    unsupported,
)
from r4_ros.reasoner.keys import Form
from r4_ros.reasoner.news import well_seen
from r4_ros.reasoner.run import LIMIT, Found, Run

SAME_PLACE_M = 0.3
SHOWN = 5


def locate(run: Run, found: Found) -> Draft:
    """Where the things are, each with its surroundings; the value is the best one's position."""
    window = found.window
    if window.event is not None and window.event.from_place is not None and window.op.value == "before":
        return _moved_from(run, found)
    evidence = best_first(found)
    if window.event is not None and found.plan.target.definite:  # before it left: the one that left
        evidence = [e for e in evidence if e.entry_id == window.event.entry_id] or evidence
    best = evidence[0]
    position = best.box.pose.position
    if found.plan.target.superlative is not None and len(evidence) > 1:
        return ambiguous(close_rivals(found, evidence), evidence, position, best.frame)
    around = _around(run, found, evidence[:SHOWN])
    if len(evidence) == 1:
        seen = wording.when(best.last_seen, run.now_ns, run.zone)
        told = f"The {wording.thing(best)} {_is(found, best)} {_placed(best, around)}{time_asked(run, found)}"
        return answered(f"{told}; last seen {seen}.", position, evidence, best.frame)
    each = [
        f"{wording.article(wording.thing(e))} {_placed(e, around)} (seen {wording.ago(e.last_seen, run.now_ns)}"
        f"{', gone since' if e.state is EntryState.GONE else ''})"
        for e in evidence[:SHOWN]
    ]
    more = f"; and {len(evidence) - SHOWN} more" if len(evidence) > SHOWN else ""
    text = f"I know {counted(found.plan, len(evidence))}{time_asked(run, found)}: {'; '.join(each)}{more}."
    return answered(text, position, evidence, best.frame, first=True)


def _placed(evidence: Evidence, around: Sequence[Evidence]) -> str:
    """'on the desk in the study, at (..) m'."""
    where = wording.context(evidence, around)
    return f"{where}, at {wording.point(evidence.box.pose.position)}" if where else wording.spot(evidence)


def _is(found: Found, evidence: Evidence) -> str:
    past = found.plan.past or found.window.bounded or evidence.state is EntryState.GONE
    return wording.be(evidence.label, past)


def _moved_from(run: Run, found: Found) -> Draft:
    event = found.window.event
    assert event is not None and event.from_place is not None
    cited = [e for e in found.evidence if e.entry_id == event.entry_id] or list(found.evidence[:1])
    when = wording.when(event.stamp_ns, run.now_ns, run.zone)
    if event.latest_ns - event.earliest_ns > NS_PER_S:
        when = wording.between(event.earliest_ns, event.latest_ns, run.now_ns)
    it = "they were" if wording.is_plural(event.label) else "it was"
    was = wording.be(event.label, past=True)
    text = f"Before {it} moved {when}, the {event.label} {was} at {wording.point(event.from_place)}."
    return answered(text, event.from_place, cited, cited[0].frame)


def _around(run: Run, found: Found, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """What is within a metre of things; one extra retrieval."""
    ids = tuple(e.entry_id for e in evidence)
    near = SpatialConstraint("near", Reference.ENTRIES, entry_ids=ids, stamp_ns=found.window.at_ns)
    states = (EntryState.PRESENT, EntryState.UNKNOWN) if is_present(found.plan, found) else ()
    query = Query(spatial=(near,), at_ns=found.window.at_ns, states=states, limit=LIMIT)
    around = sieve.firm(sieve.whole(run.retrieve(query, f"what is around the {evidence[0].label}").entries))
    return tuple(e for e in around if lexicon.kind_of(e.label) != sieve.ROBOT)


def navigate(run: Run, found: Found) -> Draft:
    """A goal: the position of one certain thing; the nearest where any will do."""
    evidence = list(found.evidence)
    ego = run.ego_of(found)
    if found.plan.target.superlative is None and ego is not None:
        evidence.sort(key=lambda e: viewpoint.bearing(ego, e.box.pose.position)[1])
    best = evidence[0]
    away = f", {viewpoint.bearing(ego, best.box.pose.position)[1]:.2f} m from here" if ego is not None else ""
    text = f"The {wording.thing(best)} {wording.be(best.label)} {wording.spot(best)}{away}."
    if len(evidence) > 1 and (found.plan.target.definite or found.plan.target.superlative is not None):
        text += f" Which one is meant isn't certain; also: {wording.spots(evidence[1:])}."
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


def _well_seen(things: Sequence[Evidence]) -> list[Evidence]:
    """Those seen in more than a few frames, where there are some."""
    return [e for e in things if well_seen(e)] or list(things)


def _between(found: Found, others: Sequence[Evidence]) -> Draft:
    """The nearest pair of the two kinds; several pairs that differ are AMBIGUOUS."""
    first, second = _well_seen(found.evidence), _well_seen(others)
    places = [np.array([e.box.pose.position for e in side]).reshape(-1, 3) for side in (first, second)]
    apart = np.linalg.norm(places[0][:, None] - places[1][None], axis=2)
    itself = np.array([[a.entry_id == b.entry_id for b in second] for a in first]).reshape(apart.shape)
    other_map = np.array([[a.map_id != b.map_id for b in second] for a in first]).reshape(apart.shape)
    if other_map.all():
        return not_seen("They are on maps that aren't aligned, so how far apart they are I can't tell.", None, first)
    itself |= other_map
    if itself.all():
        return not_seen(f"I know only one {noun(found.plan)}.", None, found.evidence)
    i, j = np.unravel_index(int(np.where(itself, np.inf, apart).argmin()), apart.shape)
    a, b, metres = first[int(i)], second[int(j)], float(apart[i, j])
    twice = len({e.entry_id for e in first} & {e.entry_id for e in second})
    count = int((~itself).sum()) - twice * (twice - 1) // 2
    farthest = float(apart[~itself].max())
    gap, metres = box_gap(a.box, b.box), round(metres, 4)
    text = (
        f"The {wording.thing(a)} and the {wording.thing(b)} are {metres:.2f} m apart, centre to centre; "
        f"{gap:.2f} m between their nearest sides."
    )
    if farthest - metres > SAME_PLACE_M:
        return ambiguous(f"{text} That is the nearest of {wording.plural('pair', count)}.", [a, b], metres)
    return answered(text, metres, [a, b])


PLACES = {
    Form.LOCATE: locate,
    Form.NAVIGATE: navigate,
    Form.DIRECTION: direction,
    Form.DISTANCE: distance,
}
