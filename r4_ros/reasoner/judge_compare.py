"""Answers that set things side by side: which is more, whether they are alike, what came first."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from r4_ros.core.geometry import volume
from r4_ros.core.model import NS_PER_S, Evidence, Visibility
from r4_ros.reasoner import lexicon, viewpoint, wording
from r4_ros.reasoner.draft import Draft, ambiguous, answered, best_first, not_seen, noun, place_asked, unsupported
from r4_ros.reasoner.keys import Asked, By, Comparison
from r4_ros.reasoner.news import well_seen
from r4_ros.reasoner.run import Found, Run

ALIKE_SHARE = 0.1  # sizes within a tenth are about the same: boxes of what was seen are no better
THIN = 0.25  # of the middle extent
RIVAL_M = viewpoint.RIVAL_M
TOLD = {By.SIZE: "large", By.HEIGHT: "high", By.DISTANCE: "far away", By.TOP: "high"}


@dataclass(frozen=True)
class Side:
    """One of the things compared: its evidence, its name, and the step that found it."""

    step: int
    name: str
    evidence: tuple[Evidence, ...]


def compare(run: Run, found: Found) -> Draft:
    """'is the lamp taller than the shelf', 'are they the same colour', 'which is nearer to me'."""
    comparison = found.plan.compared
    if comparison is None:
        return unsupported("I don't understand what is compared with what.")
    sides = _sides(found, comparison)
    if found.plan.asked is Asked.NUMBER and comparison.by is None:
        return _numbers(found, comparison, sides)
    if comparison.direction == "same":
        return _same(found, sides)
    measure = _measure(run, found, comparison)
    if measure is None:
        return unsupported("I can compare sizes, heights, distances, colours and numbers, not this.")
    return _more(comparison, sides, *measure)


def _sides(found: Found, comparison: Comparison) -> list[Side]:
    """The target first, then what it is compared with; the target's own things where there is nothing else."""
    last = len(found.plan.steps) - 1
    steps = _steps(found, comparison)
    if len(steps) == 1 and len(found.evidence) > 1:
        sure = [e for e in best_first(found) if well_seen(e)] or best_first(found)
        return [Side(last, wording.thing(e), (e,)) for e in sure]
    return [Side(i, noun(found.plan, i) + place_asked(found.plan, i), found.steps[i]) for i in steps]


def _steps(found: Found, comparison: Comparison) -> list[int]:
    return [len(found.plan.steps) - 1, *(r.step for r in comparison.others)]


def _numbers(found: Found, comparison: Comparison, sides: list[Side]) -> Draft:
    """How many of each are known; those hardly seen aren't counted beside well-seen ones."""
    if len(sides) < 2:
        return unsupported("It isn't said what is to be counted against what.")
    counted = [tuple(e for e in s.evidence if well_seen(e)) or s.evidence for s in sides]
    plan = found.plan
    told = [
        wording.plural(noun(plan, s.step), len(c)) + place_asked(plan, s.step)
        for s, c in zip(sides, counted, strict=True)
    ]
    first, others = len(counted[0]), [len(c) for c in counted[1:]]
    cited = [e for c in counted for e in c]
    text = f"I know {wording.listed(told)}."
    if comparison.direction == "same":
        return answered(text, "yes" if all(o == first for o in others) else "no", cited)
    more = all(first > o for o in others) if comparison.direction == "max" else all(first < o for o in others)
    return answered(f"{'Yes' if more else 'No'}: {text}", "yes" if more else "no", cited)


def _same(found: Found, sides: list[Side]) -> Draft:
    """Whether all share a property that is remembered."""
    name = found.plan.asked.value if found.plan.asked is not None else Asked.OTHER.value
    things = [e for s in sides for e in s.evidence]
    if name in (Asked.OTHER.value, Asked.LOCATION.value, Asked.IDENTITY.value) or len(things) < 2:
        few = f"I know only one {noun(found.plan)}." if len(things) == 1 else ""
        return not_seen(few, None, things) if few else unsupported("Whether they are the same in that I can't tell.")
    if name == Asked.SIZE.value:
        sizes = [volume(e.box) for e in things]
        alike = max(sizes) - min(sizes) <= ALIKE_SHARE * max(sizes)
        each = wording.listed([f"the {wording.thing(e)} {wording.spot(e)} is {wording.size(e)}" for e in things])
        return answered(f"{wording.capital(each)}, as far as I saw.", "yes" if alike else "no", things)
    values = [wording.attribute(e, name) for e in things]
    each = wording.listed([wording.valued(e, v or f"of unknown {name}") for e, v in zip(things, values, strict=True)])
    if not all(values):
        return not_seen(f"{wording.capital(each)}.", None, things)
    alike = all(lexicon.same_value(name, values[0], v) for v in values)
    loose = any(len(s.evidence) > 1 and not found.plan.steps[s.step].plural for s in sides)
    text = f"{'Yes' if alike else 'No'}: {each}."
    value = "yes" if alike else "no"
    return ambiguous(text, things, value) if loose and not alike else answered(text, value, things)


Measure = Callable[[Evidence], float]


def _measure(run: Run, found: Found, comparison: Comparison) -> tuple[Measure, str, float] | None:
    """What is compared, its unit, and the difference that is too small to tell; None for what can't be measured."""
    if comparison.by is By.SIZE:
        one_sided = any(_is_one_sided(e) for i in _steps(found, comparison) for e in found.steps[i])
        return (_face, "m2 (its largest side seen)", 0.0) if one_sided else (lambda e: volume(e.box), "m3", 0.0)
    if comparison.by is By.HEIGHT:
        return lambda e: e.box.extent[2], "m", 0.05
    if comparison.by is By.TOP:
        return lambda e: e.box.pose.position[2], "m", 0.05
    if comparison.by is not By.DISTANCE:
        return None
    reference = comparison.reference
    if reference is not None and reference.kind == "step":
        anchors = found.steps[reference.step]
        return lambda e: min(wording.gap(e, a) for a in anchors), "m", RIVAL_M
    ego = run.ego_of(found)
    if ego is None:
        return None
    return lambda e: viewpoint.bearing(ego, e.box.pose.position)[1], "m", RIVAL_M


def _is_one_sided(evidence: Evidence) -> bool:
    """Whether only a face of it was seen, so that nobody knows how deep it is."""
    thin, middle, _ = sorted(evidence.box.extent)
    return evidence.visibility is not Visibility.VISIBLE and thin < THIN * middle


def _face(evidence: Evidence) -> float:
    _, middle, largest = sorted(evidence.box.extent)
    return middle * largest


def _more(comparison: Comparison, sides: list[Side], measure: Measure, unit: str, margin: float) -> Draft:
    """The one with the most (or least) of it, told with what was measured of each."""
    if len(sides) < 2:
        return unsupported("It isn't said what is to be compared with what.")
    sign = 1 if comparison.direction == "max" else -1
    spans = [sorted(sign * measure(e) for e in s.evidence) for s in sides]
    each = [f"the {s.name}: {_values([sign * v for v in span], unit)}" for s, span in zip(sides, spans, strict=True)]
    told, cited = wording.listed(each), [e for s in sides for e in s.evidence]
    order = sorted(range(len(sides)), key=lambda i: -spans[i][-1])
    best = order[0]
    slack = margin or ALIKE_SHARE * abs(spans[best][0])
    clear = all(spans[best][0] - spans[i][-1] > slack for i in order[1:])
    if not clear:
        return ambiguous(f"That is too close to tell, or depends on which are meant: {told}.", cited)
    if comparison.which:
        label = sides[best].evidence[0].label
        alike = any(e.label == label for i in order[1:] for e in sides[i].evidence)
        return answered(f"The {sides[best].name}. Measured: {told}.", sides[best].name if alike else label, cited)
    yes = best == 0
    return answered(f"{'Yes' if yes else 'No'}: {told}.", "yes" if yes else "no", cited)


def _values(values: Sequence[float], unit: str) -> str:
    low, high = min(values), max(values)
    one = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
    return f"{one} {unit}"


def order(run: Run, found: Found) -> Draft:
    """Which of several was seen first, or to which something happened first; earliest first."""
    comparison, event = found.plan.compared, found.plan.event
    sides = _sides(found, comparison) if comparison is not None else []
    if len(sides) < 2:
        return unsupported("I can tell which of several named things came first, not the course of events.")
    times: list[tuple[int, int, Side, Evidence]] = []
    for side in sides:
        moments = [(e.first_seen, e.first_seen, e) for e in side.evidence]
        if event is not None:
            known = {e.entry_id: e for e in side.evidence}
            happened = run.happened_to(side.evidence, event)
            moments = [(h.earliest_ns, h.latest_ns, known[h.entry_id]) for h in happened]
        if not moments:
            return not_seen(f"I didn't notice that of the {side.name}.", None, side.evidence[:1])
        early, late, first = min(moments, key=lambda m: m[1])
        times.append((early, late, side, first))
    times.sort(key=lambda t: t[1])
    told = [f"the {s.name} {wording.between(a, b, run.now_ns)}" for a, b, s, _ in times]
    what = "" if event is not None else " was seen"
    text = f"First{what} {', then '.join(told)}."
    cited, labels = [e for *_, e in times], tuple(e.label for *_, e in times)
    apart = all(b[0] >= a[1] and b[1] - a[1] > NS_PER_S for a, b in itertools.pairwise(times))
    if apart:
        return answered(text, labels, cited)
    return ambiguous(f"{text} Which of them really was first I can't tell.", cited)
