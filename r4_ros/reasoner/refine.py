"""What to try when nothing was found: one key of a plan relaxed at a time, each with words for what it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from r4_ros.core.lessons import Relax
from r4_ros.core.model import Verdict
from r4_ros.reasoner import lexicon, wording
from r4_ros.reasoner.draft import TOUCHING, noun, place_asked
from r4_ros.reasoner.keys import Form, Plan, Relation, SpatialKey, Step, references
from r4_ros.reasoner.run import Found, UnknownRegion

MOST_ALIKE = 3


@dataclass(frozen=True)
class Relaxation:
    """A plan with one condition dropped, or two. ``verdict`` is the best that it can lead to: more was asked for."""

    plan: Plan
    keys: tuple[Relax, ...]
    note: str
    verdict: Verdict

    @property
    def name(self) -> str:
        """As traces tell it: 'place', 'attribute+place'."""
        return "+".join(sorted(key.value for key in self.keys))


def relaxations(plan: Plan, found: Found | None, unknown: UnknownRegion | None) -> Iterator[Relaxation]:
    """What to try, in order: the place's name, the property, the kind, the time, the place."""
    if unknown is not None:
        stripped = _without_region(plan)
        if stripped is not None:
            note = "Anywhere:"
            yield Relaxation(stripped, (Relax.REGION,), note, Verdict.AMBIGUOUS)
        return
    index = found.missing if found is not None and found.missing >= 0 else len(plan.steps) - 1
    yield from _of_kind(plan, index, found)
    target = plan.target
    if target.temporal and plan.form in (Form.EXISTS, Form.LOCATE, Form.IDENTIFY, Form.ATTRIBUTE, Form.VERIFY):
        other = _with(plan, -1, target.model_copy(update={"temporal": ()}))
        yield Relaxation(other, (Relax.TIME,), "At another time:", Verdict.NOT_SEEN)
    if target.agents:
        anybody = _with(plan, -1, target.model_copy(update={"agents": ()}))
        yield Relaxation(anybody, (Relax.AGENT,), "Seen by another:", Verdict.NOT_SEEN)
    yield from _of_place(plan, index)


def _of_kind(plan: Plan, index: int, found: Found | None) -> Iterator[Relaxation]:
    """Less of what is said of the thing itself: its property, its kind, its spelling."""
    step, what = plan.steps[index], noun(plan, index)
    semantic = step.semantic

    def relaxed(**changes: object) -> Plan:
        return _with(plan, index, step.model_copy(update={"semantic": semantic.model_copy(update=changes)}))

    known = any(a.is_known for a in semantic.attributes)
    if known:
        loose = tuple(a for a in semantic.attributes if not a.is_known)
        yield Relaxation(relaxed(attributes=loose), (Relax.ATTRIBUTE,), f"Instead of the {what}:", Verdict.NOT_SEEN)
    if semantic.name or semantic.anything or not semantic.text:
        return
    wide = lexicon.wider(semantic.text)
    if wide:
        wider = relaxed(text=wide, labels=lexicon.labels_for(wide))
        yield Relaxation(wider, (Relax.KIND,), f"A {wide} may be meant:", Verdict.AMBIGUOUS)
    spelled = "" if wide else lexicon.respelled(semantic.text)
    if spelled:
        meant = relaxed(text=spelled, labels=lexicon.labels_for(spelled))
        yield Relaxation(meant, (Relax.SPELLING,), f"If {wording.article(spelled)} is meant:", Verdict.AMBIGUOUS)
    alike = similar(found)
    if alike:
        note = f"What may have been taken for {wording.article(semantic.text)}:"
        yield Relaxation(relaxed(text="", labels=alike), (Relax.ALIKE,), note, Verdict.NOT_SEEN)
    if known and step.spatial and step is plan.target:
        note = f"No {semantic.text}, but there:"
        yield Relaxation(relaxed(text="", labels=(), anything=True), (Relax.ANY_KIND,), note, Verdict.NOT_SEEN)


def similar(found: Found | None) -> tuple[str, ...]:
    """Labels, best first, that sound like what was asked for and were refused as another kind."""
    if found is None or found.missing < 0:
        return ()
    ranked = sorted(found.retrieval.entries, key=lambda e: -e.semantic_score)
    return tuple(dict.fromkeys(e.label for e in ranked))[:MOST_ALIKE]


def further(parent: Relaxation, found: Found | None, unknown: UnknownRegion | None) -> Iterator[Relaxation]:
    """What to drop besides, where dropping one condition found nothing."""
    if len(parent.keys) > 1 or Relax.ANY_KIND in parent.keys:
        return
    for other in relaxations(parent.plan, found, unknown):
        if other.keys[0] not in (*parent.keys, Relax.ANY_KIND):
            surest = parent.verdict if parent.verdict is other.verdict else Verdict.NOT_SEEN
            yield Relaxation(other.plan, (*parent.keys, *other.keys), f"{parent.note} {other.note}", surest)


def _of_place(plan: Plan, index: int) -> Iterator[Relaxation]:
    """Around the place, and anywhere; also where what the place is named after isn't known."""
    step, target = plan.steps[index], plan.target
    of_one = plan.form in (Form.EXISTS, Form.LOCATE, Form.ATTRIBUTE, Form.VERIFY, Form.NAVIGATE)
    if not target.spatial or not of_one or target.semantic.anything or not target.semantic.text:
        return
    if step is target and any(_is_touching(key) for key in target.spatial):
        near = tuple(_around(key) if _is_touching(key) else key for key in target.spatial)
        other = _with(plan, -1, target.model_copy(update={"spatial": near}))
        yield Relaxation(other, (Relax.NEARBY,), f"Not{place_asked(plan)}, but near there:", Verdict.NOT_SEEN)
    anywhere = target.model_copy(update={"spatial": ()})
    if step is target:
        yield Relaxation(
            _with(plan, -1, anywhere), (Relax.PLACE,), f"Not{place_asked(plan)}, but elsewhere:", Verdict.NOT_SEEN
        )
    elif _stands_alone(plan):
        alone = plan.model_copy(update={"steps": (anywhere,)})
        yield Relaxation(alone, (Relax.PLACE,), "Wherever that is:", Verdict.NOT_SEEN)


def _is_touching(key: SpatialKey) -> bool:
    return key.relation in TOUCHING and key.reference.kind == "step" and not key.negate


def _around(key: SpatialKey) -> SpatialKey:
    return key.model_copy(update={"relation": Relation.NEAR, "min_distance": 0.0, "max_distance": 0.0})


def _stands_alone(plan: Plan) -> bool:
    """Whether the target means something without the steps before it."""
    target, claim = plan.target, plan.claim
    used = [r for r in references(target) if r.kind == "step"]
    places = {r for key in target.spatial for r in (key.reference, key.other)}
    timed = any(k.event is not None for k in target.temporal)
    tied = timed or plan.ego or plan.to_other or plan.compared or plan.alternatives or target.superlative
    claims = claim is not None and claim.spatial is not None
    return not tied and not claims and all(r in places for r in used)


def _with(plan: Plan, index: int, step: Step) -> Plan:
    steps = list(plan.steps)
    steps[index] = step
    return plan.model_copy(update={"steps": tuple(steps)})


def _without_region(plan: Plan) -> Plan | None:
    """The plan with no restriction to named regions; None where nothing else would be left of the target."""
    steps = [
        step.model_copy(update={"spatial": tuple(k for k in step.spatial if k.reference.kind != "region")})
        for step in plan.steps
    ]
    target = steps[-1]
    nothing = not target.semantic.text and not target.semantic.purpose and not target.spatial
    claims = plan.claim is not None and plan.claim.spatial is not None
    if nothing or target.semantic.anything or claims or steps == list(plan.steps):
        return None
    return plan.model_copy(update={"steps": tuple(steps)})
