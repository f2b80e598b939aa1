"""'which rooms have windows', 'which room has no chair', 'which room has the most': the regions that things are in."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from r4_ros.core.model import Query, SpatialConstraint
from r4_ros.core.model import Reference as Near
from r4_ros.reasoner import judge_share, wording
from r4_ros.reasoner.draft import COVERED, Draft, ambiguous, answered, best_first, not_seen, noun, place_asked
from r4_ros.reasoner.keys import Asked, By, Form, Plan
from r4_ros.reasoner.run import Found, Run

MOST = re.compile(r"\bmost\b", re.IGNORECASE)
FEWEST = re.compile(r"\b(?:fewest|least number|smallest number)\b", re.IGNORECASE)


def is_asked(plan: Plan) -> bool:
    """Whether rooms are asked for by what is in them."""
    return plan.form is Form.IDENTIFY and plan.asked is Asked.LOCATION


def things(plan: Plan) -> Plan:
    """The plan that finds the things: 'the most chairs' is no order among chairs."""
    picked = plan.target.superlative
    if not is_asked(plan) or picked is None or picked.by is not By.OTHER:
        return plan
    return plan.model_copy(update={"steps": (*plan.steps[:-1], plan.target.model_copy(update={"superlative": None}))})


def rooms(run: Run, found: Found) -> Draft:
    """Each room with how many things it has; with most, fewest, none or a number of them."""
    evidence = best_first(found)
    step, question = found.plan.target, found.plan.question
    counts = Counter(room for e in evidence for room in e.regions[:1])
    if not counts and step.share != "none":
        return not_seen("I know no place by name where that is.", (), evidence)
    told = wording.listed([f"the {room} ({n})" for room, n in counts.most_common()], 8)
    text = f"{wording.capital(wording.several(noun(found.plan)))}{place_asked(found.plan)} I know in {told}."
    if step.share == "none" or FEWEST.search(question) or (step.number and step.bound == "most"):
        return _few(run, found, counts, text)
    if step.number:
        enough = tuple(room for room, n in counts.items() if judge_share.within(step, n))
        return answered(text, enough, evidence) if enough else not_seen(text, (), evidence)
    if not MOST.search(question):
        return answered(text, tuple(counts), evidence)
    (top, most), *others = counts.most_common()
    rivals = (top, *(room for room, n in others if n == most))
    if len(rivals) > 1:
        return ambiguous(text, evidence, rivals)
    return answered(f"The {top}. {text}", (top,), evidence)


def _few(run: Run, found: Found, counts: Counter[str], text: str) -> Draft:
    """Rooms with none, the fewest or at most so many: only rooms that were looked at well are known to have few."""
    step, evidence = found.plan.target, best_first(found)
    excepted = {run.region(k.reference.region) for k in step.spatial if k.negate and k.reference.kind == "region"}
    asked = [room for room in run.regions if room not in excepted]
    looked = [room for room in asked if room in counts or _is_looked_at(run, room)]
    unknown = [room for room in asked if room not in looked]
    lacking = [room for room in looked if room not in counts]
    if step.share == "none":
        chosen = lacking
    elif step.number:
        chosen = [room for room in looked if judge_share.within(step, counts[room])]
    else:
        fewest = min((counts[room] for room in looked), default=0)
        chosen = [room for room in looked if counts[room] == fewest]
    text = text if counts else f"I know no {wording.several(noun(found.plan))}."
    text += f" None that I know in {wording.listed([f'the {room}' for room in lacking], 8)}." if lacking else ""
    if unknown:
        text += f" I haven't looked well enough at {wording.listed([f'the {room}' for room in unknown], 8)}."
    if not chosen:
        return not_seen(text, (), evidence)
    return replace(answered(text, tuple(chosen), evidence), confidence=0.9 * COVERED)


def _is_looked_at(run: Run, room: str) -> bool:
    inside = SpatialConstraint("in", Near.REGION, region=room)
    looked = run.retrieve(Query(spatial=(inside,), limit=1), f"whether the {room} was looked at")
    return looked.visited and looked.coverage >= COVERED
