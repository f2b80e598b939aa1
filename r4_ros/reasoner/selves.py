"""Answers about the robots and the map themselves: where a robot is or was, which rooms have names, who remembers."""

from __future__ import annotations

from r4_ros.core.model import NS_PER_S, Evidence, Order, Query, SpatialConstraint, TrailPoint, Verdict
from r4_ros.core.model import Reference as Near
from r4_ros.reasoner import been, lexicon, sieve, wording
from r4_ros.reasoner.draft import Draft, not_seen, unsupported
from r4_ros.reasoner.keys import Form, Plan
from r4_ros.reasoner.moments import Window
from r4_ros.reasoner.robots import plain
from r4_ros.reasoner.run import LIMIT, Run

SURE = 0.9
VAGUE_NS = 2 * NS_PER_S
LATE_NS = 10 * NS_PER_S  # a pose that is older says nothing of the time asked about


def answer(run: Run, plan: Plan) -> Draft | None:
    """The answer, None where the question is about things. Raises UnknownAgent and UnsupportedQuestion."""
    if been.is_asked(plan):
        return been.answer(run, plan)
    about = plan.about
    text = plan.target.semantic.text
    if about == "thing" and plan.form is Form.LOCATE and plain(text) in {plain(a) for a in run.agents}:
        return _whereabouts(run, plan, run.agents_named((text,)))
    if about == "robot":
        named = run.agents_named(plan.target.agents)
        own = (run.ego_agent,) if run.ego_agent else run.agents
        return _whereabouts(run, plan, named or own)
    if about == "robots":
        return _listed(run, plan, run.agents, "robot with memories here")
    return _rooms(run, plan) if about == "rooms" else None


def _listed(run: Run, plan: Plan, names: tuple[str, ...], noun: str) -> Draft:
    """Names with a thing each that was seen there or by them."""
    first, _, rest = noun.partition(" ")
    told = f"I know {wording.plural(first, len(names))} {rest}: {wording.listed(names, 20)}."
    value = {Form.COUNT: len(names), Form.EXISTS: bool(names)}.get(plan.form, names)
    known = run.retrieve(Query(order=Order.LAST_SEEN, limit=LIMIT), "a thing of each").entries
    things = [e for e in known if lexicon.kind_of(e.label) != sieve.ROBOT]
    cited = {name: e for e in reversed(things) for name in (e.agent_id, *e.regions) if name in names}
    return Draft(told, Verdict.ANSWERED, value, tuple(cited[n] for n in names if n in cited), SURE)


def _rooms(run: Run, plan: Plan) -> Draft:
    """The named regions of the map; whether there is one of a name."""
    asked = plan.target.semantic.text
    if not run.regions:
        return unsupported("No places of this map have names, so I know no rooms.")
    if asked in ("room", "rooms"):
        return _listed(run, plan, run.regions, "place by name")
    region = run.region_named(asked)
    if plan.form not in (Form.EXISTS, Form.COUNT):
        known = f"I know it by name as {region}" if region else "No place of this map has that name"
        return unsupported(f"'{asked}' is a room: I can tell what I saw in it, nothing of itself. {known}.")
    if region is None:
        empty = False if plan.form is Form.EXISTS else 0
        return not_seen(f"No place of this map is called {asked}. I know: {wording.listed(run.regions, 20)}.", empty)
    value = True if plan.form is Form.EXISTS else 1
    inside = SpatialConstraint("in", Near.REGION, region=region)
    cited = run.retrieve(Query(spatial=(inside,), order=Order.LAST_SEEN, limit=1), f"a thing in the {region}").entries
    if not cited:
        return Draft(
            f"The map has a place called {region}, but I have seen nothing there.", Verdict.NEVER_VISITED, value
        )
    return Draft(f"Yes, the map has a place called {region}.", Verdict.ANSWERED, value, cited, SURE)


def _whereabouts(run: Run, plan: Plan, agents: tuple[str, ...]) -> Draft:
    """Where robots were at the time asked about, by their trails, and what is beside them."""
    window = run.window(plan)
    found = [(agent, *_place(run, agent, window)) for agent in agents]
    told, cited, first = [], [], None
    for agent, point, beside in found:
        if point is None:
            told.append(f"where {agent} was then I don't know")
            continue
        first = first or point
        when = "" if not window.bounded else f" {wording.ago(point.stamp_ns, run.now_ns)}"
        was = wording.be(agent, window.bounded or plan.past)
        told.append(f"{agent} {was} at {wording.point(point.pose.position)}{when}{_beside(beside)}")
        cited += beside
    text = f"{'; '.join(told)}."
    if first is None or not cited:
        return not_seen(text)
    event = window.event
    if event is not None and event.latest_ns - event.earliest_ns > VAGUE_NS:
        text = f"That was {wording.between(event.earliest_ns, event.latest_ns, run.now_ns)}, no better known. {text}"
        return Draft(text, Verdict.AMBIGUOUS, None, tuple(cited), SURE / 2)
    if len(agents) > 1:
        return Draft(text, Verdict.AMBIGUOUS, None, tuple(cited), SURE / 2)
    return Draft(text, Verdict.ANSWERED, first.pose.position, tuple(cited), SURE, run.ego_frame)


def _place(run: Run, agent: str, window: Window) -> tuple[TrailPoint | None, list[Evidence]]:
    at_ns = window.at_ns if window.at_ns is not None else run.now_ns
    query = Query(at_ns=at_ns, order=Order.NEAREST, limit=20)
    retrieval = run.retrieve(query, f"what is around {agent}", ego=agent)
    run.ego_frame = retrieval.ego_frame
    point = retrieval.ego
    if point is None or abs(point.stamp_ns - at_ns) > LATE_NS:
        return None, []
    things = [e for e in retrieval.entries if lexicon.kind_of(e.label) != sieve.ROBOT]
    return point, things[:1]


def _beside(things: list[Evidence]) -> str:
    if not things:
        return ""
    room = f" in the {things[0].regions[0]}" if things[0].regions else ""
    return f", nearest to the {wording.thing(things[0])}{room}"
