"""What to try when nothing was found: one key of a plan relaxed at a time, each with words for what it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from r4_ros.core.lessons import Relax
from r4_ros.core.model import Verdict
from r4_ros.reasoner import lexicon, wording
from r4_ros.reasoner.draft import noun, place_asked
from r4_ros.reasoner.keys import Form, Plan, Step
from r4_ros.reasoner.run import Found, UnknownRegion


@dataclass(frozen=True)
class Relaxation:
    """A plan with one key relaxed. ``verdict`` is the best that it can lead to: the question asked for more."""

    plan: Plan
    key: Relax
    note: str
    verdict: Verdict


def relaxations(plan: Plan, found: Found | None, unknown: UnknownRegion | None) -> Iterator[Relaxation]:
    """What to try, in order: the place's name, the property, the wider kind, the time, the place."""
    if unknown is not None:
        stripped = _without_region(plan)
        if stripped is not None:
            note = "Anywhere:"
            yield Relaxation(stripped, Relax.REGION, note, Verdict.AMBIGUOUS)
        return
    index = found.missing if found is not None and found.missing >= 0 else len(plan.steps) - 1
    step, what = plan.steps[index], noun(plan, index)
    if any(a.is_known for a in step.semantic.attributes):
        loose = tuple(a for a in step.semantic.attributes if not a.is_known)
        bare = step.semantic.model_copy(update={"attributes": loose})
        other = _with(plan, index, step.model_copy(update={"semantic": bare}))
        yield Relaxation(other, Relax.ATTRIBUTE, f"Instead of the {what}:", Verdict.NOT_SEEN)
    wide = lexicon.wider(step.semantic.text) if step.semantic.text and not step.semantic.name else ""
    if wide:
        wider = step.semantic.model_copy(update={"text": wide, "labels": lexicon.labels_for(wide)})
        other = _with(plan, index, step.model_copy(update={"semantic": wider}))
        yield Relaxation(other, Relax.KIND, f"A {wide} may be meant:", Verdict.AMBIGUOUS)
    spelled = lexicon.respelled(step.semantic.text) if not step.semantic.name and not wide else ""
    if spelled:
        meant = step.semantic.model_copy(update={"text": spelled, "labels": lexicon.labels_for(spelled)})
        other = _with(plan, index, step.model_copy(update={"semantic": meant}))
        yield Relaxation(other, Relax.SPELLING, f"If {wording.article(spelled)} is meant:", Verdict.AMBIGUOUS)
    target = plan.target
    if target.temporal and plan.form in (Form.EXISTS, Form.LOCATE, Form.IDENTIFY, Form.ATTRIBUTE, Form.VERIFY):
        other = _with(plan, -1, target.model_copy(update={"temporal": ()}))
        yield Relaxation(other, Relax.TIME, "At another time:", Verdict.NOT_SEEN)
    of_one = plan.form in (Form.EXISTS, Form.LOCATE, Form.ATTRIBUTE, Form.VERIFY, Form.NAVIGATE)
    if target.agents:
        anybody = _with(plan, -1, target.model_copy(update={"agents": ()}))
        yield Relaxation(anybody, Relax.AGENT, "Seen by another:", Verdict.NOT_SEEN)
    named = step is target and step.semantic.text and not step.semantic.anything
    if step.spatial and named and of_one:
        other = _with(plan, -1, target.model_copy(update={"spatial": ()}))
        yield Relaxation(other, Relax.PLACE, f"Not{place_asked(plan)}, but elsewhere:", Verdict.NOT_SEEN)


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
