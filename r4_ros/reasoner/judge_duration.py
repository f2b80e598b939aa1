"""Answers of how long: how long a thing was where it was, how long it was gone, how long a robot was in a room."""

from __future__ import annotations

from dataclasses import dataclass, replace

from r4_ros.core.model import NS_PER_S, EntryState, Event, EventKind, Evidence, Order, Query, SpatialConstraint
from r4_ros.core.model import Reference as Near
from r4_ros.reasoner import wording
from r4_ros.reasoner.draft import Draft, ambiguous, answered, best_first, not_seen, place_asked, time_asked, unsupported
from r4_ros.reasoner.keys import EventKey, EventName, Plan
from r4_ros.reasoner.moments import Window, ranked
from r4_ros.reasoner.run import Found, Run
from r4_ros.reasoner.sketch import ROBOT

ARRIVALS: tuple[EventName, ...] = ("moved", "reappeared", "appeared")
TIGHT_S, TIGHT_SHARE = 5.0, 0.1
"""Bounds this close are told as one number."""


@dataclass(frozen=True)
class Span:
    """A time that began in [begin] and ended in [end], ns; ``begin[0]`` 0: it isn't known how long before."""

    begin: tuple[int, int]
    end: tuple[int, int]

    @property
    def least_s(self) -> float:
        """It lasted so long at least."""
        return max(0, self.end[0] - self.begin[1]) / NS_PER_S

    @property
    def most_s(self) -> float | None:
        """It lasted no longer; None: that isn't known."""
        return (self.end[1] - self.begin[0]) / NS_PER_S if self.begin[0] > 0 else None


def duration(run: Run, found: Found) -> Draft:
    """How long a thing has been, or was, at its place; or how long it was gone."""
    if found.window.bounded:
        return unsupported(f"How long it was there{time_asked(run, found)} can't be told yet, only how long in all.")
    things = best_first(found)
    best = things[0]
    if {"gone", "missing", "away", "absent"} & set(found.plan.question.casefold().replace("?", " ").split()):
        return _absence(run, best)
    span = _stay(run, best)
    where = place_asked(found.plan) or f" {wording.spot(best)}"
    present = best.state is EntryState.PRESENT
    be = wording.be(best.label, past=True)
    if present:
        be = "have been" if wording.is_plural(best.label) else "has been"
    text = f"The {wording.thing(best)} {be}{where} for {_length(span)}{_since(run, span, best)}"
    draft = _drawn(text, span, [best])
    if len(things) > 1 and found.plan.target.definite:
        return ambiguous(f"{draft.text} That is one of {len(things)} that may be meant.", things, draft.value)
    return draft


def _drawn(text: str, span: Span, evidence: list[Evidence]) -> Draft:
    """A length that is known well enough is an answer; of a loose one the least is told."""
    least, most = span.least_s, span.most_s
    if most is not None and most - least <= max(TIGHT_S, TIGHT_SHARE * least):
        return answered(f"{text}.", round((least + most) / 2, 1), evidence)
    return ambiguous(f"{text}; longer I can't tell.", evidence, round(least, 1))


def _length(span: Span) -> str:
    least, most = span.least_s, span.most_s
    if most is None:
        return f"at least {wording.age(least)}"
    if most - least <= TIGHT_S:
        return f"about {wording.age((least + most) / 2)}"
    return f"{wording.age(least)} to {wording.age(most)}"


def _since(run: Run, span: Span, evidence: Evidence) -> str:
    """', since it was moved 20 s ago', ', from when I first looked there, 40 s ago'."""
    if span.begin[0] <= 0:
        return f", from when I first saw it there, {wording.ago(evidence.first_seen, run.now_ns)}, if not before"
    return f", since {wording.between(span.begin[0], span.begin[1], run.now_ns)}"


def _stay(run: Run, evidence: Evidence) -> Span:
    """When the thing came to where it is or last was, and until when it was there."""
    arrivals = run.happened_to([evidence], EventKey(kinds=ARRIVALS))
    begin = (arrivals[-1].earliest_ns, arrivals[-1].latest_ns) if arrivals else (0, evidence.first_seen)
    end = (evidence.last_seen, run.now_ns)
    if evidence.state is EntryState.PRESENT:
        end = (run.now_ns, run.now_ns)
    elif evidence.state is EntryState.GONE:
        left = run.happened_to([evidence], EventKey(kinds=("disappeared",)))
        end = (left[-1].earliest_ns, left[-1].latest_ns) if left else end
    return Span(begin, end)


def _absence(run: Run, evidence: Evidence) -> Draft:
    """From when it was found gone to when it came back, or until now."""
    events = run.happened_to([evidence], EventKey(kinds=("disappeared", "reappeared")))
    left = [e for e in events if e.kind is EventKind.DISAPPEARED]
    if not left:
        return not_seen(f"I didn't notice that the {wording.thing(evidence)} was ever gone.", None, [evidence])
    back = [e for e in events if e.kind is EventKind.REAPPEARED and e.stamp_ns > left[-1].stamp_ns]
    end = (back[0].earliest_ns, back[0].latest_ns) if back else (run.now_ns, run.now_ns)
    span = Span((left[-1].earliest_ns, left[-1].latest_ns), end)
    state = f"was gone for {_length(span)}" if back else f"has been gone for {_length(span)}"
    return _drawn(f"The {wording.thing(evidence)} {state}", span, [evidence])


def of_robot(plan: Plan) -> bool:
    """Whether a question of how long is about a robot's own stays."""
    named = plan.target.semantic.text
    return not named or bool(ROBOT.match(named))


def own_time(run: Run, key: EventKey) -> Draft:
    """'when did you enter the kitchen'. Raises UnsupportedQuestion, UnknownRegion."""
    events = run.own_events(key)
    name = run.region(key.region)
    cited = thing_in(run, name)
    if not events or not cited:
        return not_seen(f"I know of no such time in the {name}.")
    event = ranked(events, key)
    said = {"entered": "entered", "left": "left"}.get(key.own, "was in")
    more = f" (the last of {len(events)} times)" if len(events) > 1 and not key.rank else ""
    text = f"{event.agent_id} {said} the {name} {wording.when(event.stamp_ns, run.now_ns, run.zone)}{more}."
    return answered(text, event.stamp_ns, cited)


def thing_in(run: Run, region: str) -> tuple[Evidence, ...]:
    """The thing seen last in a room, as evidence of having been there."""
    inside = SpatialConstraint("in", Near.REGION, region=region)
    return run.retrieve(Query(spatial=(inside,), order=Order.LAST_SEEN, limit=1), f"a thing in the {region}").entries


def own(run: Run, plan: Plan) -> Draft:
    """'how long were you in the kitchen': the robot's own stays there. Raises UnsupportedQuestion, UnknownRegion."""
    region = next(k.reference.region for k in plan.target.spatial if k.reference.kind == "region")
    agents = plan.target.agents[:1]
    named = plan.target.semantic.text or (agents[0] if agents else "")
    stays = run.own_events(EventKey(own="was_in", region=region, agent=named))
    window = run.window(plan)
    stays = [s for s in (clipped(s, window) for s in stays) if s is not None]
    name = run.region(region)
    cited = thing_in(run, name)
    if not stays or not cited:
        return not_seen(f"I know of no time in the {name}.")
    total = sum(s.latest_ns - s.earliest_ns for s in stays) / NS_PER_S
    each = wording.listed([wording.between(s.earliest_ns, s.latest_ns, run.now_ns) for s in stays])
    who = stays[0].agent_id or "I"
    return answered(f"{who} was in the {name} for {wording.age(total)} in all: {each}.", round(total, 1), cited)


def clipped(stay: Event, window: Window) -> Event | None:
    """The part of a stay that lies in the time asked about."""
    start, end = max(stay.earliest_ns, window.start_ns), min(stay.latest_ns, window.end_ns)
    return replace(stay, earliest_ns=start, latest_ns=end) if start < end else None
