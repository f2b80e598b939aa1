"""'have you ever been in the bathroom', 'which rooms did robot1 visit': answered from the robots' own ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.model import Event, Evidence, Order, Query, SpatialConstraint, Verdict
from r4_ros.core.model import Reference as Near
from r4_ros.reasoner import wording
from r4_ros.reasoner.draft import Draft, not_seen
from r4_ros.reasoner.judge_duration import clipped, thing_in
from r4_ros.reasoner.keys import EventKey, Form, Plan, TemporalOp
from r4_ros.reasoner.run import Run

SURE = 0.9


def is_asked(plan: Plan) -> bool:
    """Whether it is asked if, or in which rooms, a robot was."""
    claim = plan.claim
    claims = claim is not None and claim.event is not None and bool(claim.event.own)
    return claims or (plan.event is not None and bool(plan.event.own) and plan.form is not Form.WHEN)


def answer(run: Run, plan: Plan) -> Draft:
    """Yes with when, no by the robot's way, or the rooms. Raises UnsupportedQuestion, UnknownRegion, UnknownAgent."""
    if plan.claim is not None and plan.claim.event is not None:
        return _whether(run, plan, plan.claim.event, plan.claim.negate, plan.claim.still)
    assert plan.event is not None
    return _rooms(run, plan, plan.event)


def _agents(run: Run, key: EventKey) -> tuple[str, ...]:
    """The robot that is named or asked; all where it isn't known which."""
    return run.agents_named((key.agent,)) if key.agent else (run.ego_agent,) if run.ego_agent else run.agents


def _stays(run: Run, plan: Plan, key: EventKey) -> list[Event]:
    """The robot's stays in a room (or its enterings and leavings) in the time asked about."""
    window = run.window(plan)
    events = run.own_events(key)
    if key.own == "was_in":
        return [s for s in (clipped(e, window) for e in events) if s is not None]
    return [e for e in events if window.start_ns <= e.stamp_ns < window.end_ns]


def _whether(run: Run, plan: Plan, key: EventKey, negate: bool, still: bool) -> Draft:
    name = run.region(key.region)
    told, said, unknown = [], [], False
    for agent in _agents(run, key):
        stays = _stays(run, plan, key.model_copy(update={"agent": agent}))
        stays = [s for s in stays if s.latest_ns >= run.now_ns] if still else stays
        unknown = unknown or (not stays and not _crosses(run, agent))
        said.append(bool(stays) != negate)
        told.append(_told(run, key, agent, name, stays, still))
    text = f"{'; '.join(told)}."
    cited = thing_in(run, name)
    if not any(s != negate for s in said) and not _is_visited(run, name):
        return Draft(f"{text} I have never been where I could see it.", Verdict.NEVER_VISITED, negate, cited)
    if unknown or not cited:
        return not_seen(f"{text} Of all its way I can't tell.", None, cited)
    if len(set(said)) > 1:
        return Draft(f"That depends on which robot is meant: {text}", Verdict.AMBIGUOUS, None, cited, SURE / 2)
    return Draft(f"{'Yes' if said[0] else 'No'}: {text}", Verdict.ANSWERED, said[0], cited, SURE)


def _told(run: Run, key: EventKey, agent: str, name: str, stays: Sequence[Event], still: bool) -> str:
    verb = "is in" if still else {"entered": "entered", "left": "left"}.get(key.own, "was in")
    if not stays:
        no = {"is in": "isn't in", "entered": "didn't enter", "left": "didn't leave"}.get(verb, "wasn't in")
        return f"{agent} {no} the {name}, by its way"
    if still:
        return f"{agent} is in the {name}, where it came {wording.ago(stays[-1].earliest_ns, run.now_ns)}"
    if key.own != "was_in":
        return f"{agent} {verb} the {name} {wording.when(stays[-1].stamp_ns, run.now_ns, run.zone)}"
    each = [wording.between(s.earliest_ns, s.latest_ns, run.now_ns) for s in stays]
    return f"{agent} {verb} the {name} {wording.listed(each)}"


def _crosses(run: Run, agent: str) -> bool:
    """Whether its way leads over any room's border: then it is known of each room whether it was there."""
    return any(_left_or_entered(run, agent, region) for region in run.regions)


def _left_or_entered(run: Run, agent: str, region: str) -> list[Event]:
    return run.own_events(EventKey(own="was_in", region=region, agent=agent))


def _is_visited(run: Run, region: str) -> bool:
    inside = SpatialConstraint("in", Near.REGION, region=region)
    return run.retrieve(Query(spatial=(inside,), limit=1, order=Order.LAST_SEEN), f"the {region}").visited


def _rooms(run: Run, plan: Plan, key: EventKey) -> Draft:
    """The rooms that a robot was in, in the order in which it came to them."""
    stays: list[tuple[Event, str]] = []
    for agent in _agents(run, key):
        for region in run.regions:
            mine = EventKey(own="was_in", region=region, agent=agent)
            stays += [(replace(s, label=region), region) for s in _stays(run, plan, mine)]
    stays.sort(key=lambda s: (s[0].earliest_ns, s[0].latest_ns))
    ops = {k.op for k in plan.target.temporal}
    if stays and TemporalOp.FIRST in ops:
        stays = stays[:1]
    if stays and TemporalOp.LAST in ops:
        stays = [max(stays, key=lambda s: (s[0].latest_ns, s[0].earliest_ns))]
    names = tuple(dict.fromkeys(region for _, region in stays))
    cited: list[Evidence] = [e for name in names for e in thing_in(run, name)]
    if not names or not cited:
        return not_seen("Of no room I know that.", 0 if plan.form is Form.COUNT else ())
    each = [f"{s.agent_id} in the {r} {wording.between(s.earliest_ns, s.latest_ns, run.now_ns)}" for s, r in stays]
    text = f"{wording.plural('room', len(names))}: {wording.listed(names, 20)} ({wording.listed(each, 8)})."
    value = len(names) if plan.form is Form.COUNT else names
    if ops & {TemporalOp.FIRST, TemporalOp.LAST} and len(_agents(run, key)) > 1:
        return Draft(f"That depends on which robot is meant: {text}", Verdict.AMBIGUOUS, None, tuple(cited), SURE / 2)
    return Draft(text, Verdict.ANSWERED, value, tuple(cited), SURE)
