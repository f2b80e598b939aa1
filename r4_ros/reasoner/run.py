"""One plan against the memory: steps become queries, in order, within the deadline; everything is traced."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from r4_ros.core.errors import DeadlineExceeded, UnsupportedQuestion
from r4_ros.core.lessons import Focus
from r4_ros.core.model import (
    EntryState,
    Event,
    EventKind,
    Evidence,
    Order,
    Pose,
    Query,
    Question,
    Reference,
    Retrieval,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
    TraceStep,
)
from r4_ros.core.ports import Advisor, Embedder, Eyes, Memory
from r4_ros.reasoner import explain, keys, lexicon, moments, robots, sieve, viewpoint
from r4_ros.reasoner.keys import EVENT_KINDS, By, EventKey, Form, Plan, Relation, SpatialKey, Step, TemporalOp
from r4_ros.reasoner.moments import Times, Window
from r4_ros.reasoner.news import FEW, is_news, told_of, visits, witnessed

LIVING = (EntryState.PRESENT, EntryState.UNKNOWN)
LIMIT = 200
SIDE_REACH_M = 4.0  # 'left of', 'behind' and the like mean things around here, not across the building
VIEW_RELATIONS = (Relation.LEFT_OF, Relation.RIGHT_OF, Relation.IN_FRONT_OF, Relation.BEHIND)
REGION_NAMES = {
    "lounge": "living room",
    "sitting room": "living room",
    "restroom": "bathroom",
    "washroom": "bathroom",
    "toilet": "bathroom",
    "corridor": "hallway",
    "hall": "hallway",
}


class UnknownRegion(Exception):
    """A place is named that no region of the map has as its name."""


@dataclass
class Found:
    """Evidence per step, the last retrieval, the window, the first step that found nothing, what the last left out."""

    plan: Plan
    steps: list[tuple[Evidence, ...]]
    retrieval: Retrieval
    window: Window
    missing: int = -1
    left_out: sieve.LeftOut = sieve.NOTHING

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the last step found."""
        return self.steps[-1] if len(self.steps) == len(self.plan.steps) else ()


@dataclass
class Run:
    """One question at work: its budget, what is known of the memory, and its trace."""

    memory: Memory
    question: Question
    ego_agent: str
    zone: tzinfo
    max_rounds: int
    deadline: float
    stale_s: float
    experience: str = "off"
    gate: bool = True
    advisor: Advisor | None = None
    embedder: Embedder | None = None
    guessed: bool = False  # what serves the asked purpose is known by likeness only
    eyes: Eyes | None = None
    orderer: Callable[[str, Sequence[str], Focus, float], tuple[str, ...]] | None = None
    relax_order: tuple[str, ...] = ()
    unanswered_trigger: bool = False
    now_ns: int = 0
    regions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    begun: bool = False
    round: int = 1
    ego_frame: str = ""
    trace: list[TraceStep] = field(default_factory=list)

    def note(self, action: str, detail: str, found: int = 0, duration_s: float = 0.0) -> None:
        """Write down a step for a person to read."""
        self.trace.append(TraceStep(self.round, action, detail, found, duration_s))

    def remaining_s(self) -> float:
        """Time left. Raises DeadlineExceeded when there is none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded("the time for this answer is up")
        return left

    def retrieve(self, query: Query, detail: str, ego: str = "") -> Retrieval:
        """One retrieval within the deadline, traced; ``ego``: another agent whose pose counts."""
        left = self.remaining_s()
        started = time.monotonic()
        now_ns = self.now_ns if self.begun else self.question.now_ns
        query = replace(query, now_ns=now_ns, ego_agent=ego or (self.ego_agent if self.begun else ""))
        found = self.memory.retrieve(replace(query, agents=query.agents or self.question.agents), left)
        self.note("retrieve", detail, len(found.entries), time.monotonic() - started)
        self.remaining_s()
        return found

    def begin(self, limit: int = 1) -> Retrieval:
        """Look at the memory: its newest stamp, regions and agents, and ``limit`` of the things seen last.

        More than one: also where the asking robot is.
        """
        query, ego = Query(limit=limit, order=Order.LAST_SEEN), self.question.ego_agent if limit > 1 else ""
        probe = self.retrieve(query, "the memory: newest stamp, regions, agents", ego)
        self.now_ns = self.question.now_ns if self.question.now_ns is not None else probe.now_ns
        self.regions = probe.regions
        known = {*probe.ego_candidates, *(e.agent_id for e in probe.entries)}
        known |= {probe.ego.agent_id} if probe.ego is not None else set()
        self.agents = tuple(sorted(known))
        if self.ego_agent not in known and not self.question.ego_agent:
            self.ego_agent = ""  # the configured agent has no part in this memory
        self.begun = True
        return probe

    def agents_named(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Agents of the memory by the names in a question. Raises UnknownAgent and UnnamedAsker."""
        return robots.named(asked, self.agents, self.ego_agent)

    def execute(self, plan: Plan, present_only: bool, at_ns: int | None = None) -> Found:
        """Run all steps; stops at the first that finds nothing. ``at_ns`` picks an instant of the asked window.

        Raises UnsupportedQuestion, UnknownRegion and UnknownAgent.
        """
        steps: list[tuple[Evidence, ...]] = []
        found = Found(plan, steps, Retrieval(0, self.now_ns), Window())
        for index, step in enumerate(plan.steps):
            if index == _timed_from(plan):
                window = self._window(plan, steps)
                found.window = replace(window, at_ns=window.at_ns if at_ns is None else at_ns)
            states = LIVING if present_only and found.window.at_ns is None else ()
            query = self.query(plan, step, found, states)
            if index == len(plan.steps) - 1 and _asks_events(plan):
                query = replace(query, with_events=True, states=(), temporal=self._changed(plan, found))
                if (
                    not step.spatial and found.window.end_ns - found.window.start_ns > 1
                ):  # what left before an instant isn't there at it
                    query = replace(query, at_ns=None)
            elif index == len(plan.steps) - 1 and found.window.bounded:
                query = replace(query, with_events=True)
            found.retrieval = self.retrieve(query, explain.step_text(plan, index))
            picked = self.picked(step, found.retrieval, found)
            if not picked and index < len(plan.steps) - 1 and query.at_ns is not None:
                later = replace(query, at_ns=None, temporal=())
                text = explain.step_text(plan, index)
                picked = self.picked(step, self.retrieve(later, f"{text}, seen at another time"), found)
            steps.append(picked)
            if not steps[-1]:
                found.missing = index
                break
        return found

    def _changed(self, plan: Plan, found: Found) -> tuple[TemporalConstraint, ...]:
        """'what was moved' asks of all things that changed; 'was the mug moved' of the mug, changed or not."""
        if plan.event is None or plan.target.semantic.text:
            return found.window.constraints()
        return (TemporalConstraint(TemporalKind.CHANGED_IN, found.window.start_ns, found.window.end_ns),)

    def picked(self, step: Step, retrieval: Retrieval, found: Found) -> tuple[Evidence, ...]:
        """The entries that may be meant: known other kinds and the anchors themselves are refused."""
        anchors = [e for r in keys.anchors(step) if r.kind == "step" for e in found.steps[r.step]]
        themselves = {e.entry_id for e in anchors}
        others = [e for e in retrieval.entries if e.entry_id not in themselves]
        meant = sieve.sifted(step, [e for e in others if not sieve.is_piece_of(e, anchors)])
        kept, found.left_out = sieve.parted(meant)
        if len(kept) < len(retrieval.entries):
            refused = sorted({e.label for e in retrieval.entries} - {e.label for e in kept})
            why = "another kind: " + ", ".join(refused) if refused else "the reference itself, or parts of others"
            self.note("refuse", why, len(kept))
        if step.superlative is None:
            return kept
        return viewpoint.extreme(step, kept, found.steps, self.ego_of(found))

    def seen_by(self, found: Found, agent: str) -> tuple[Evidence, ...]:
        """What the last step finds among the sightings of one robot alone."""
        step = found.plan.target.model_copy(update={"agents": ()})
        query = replace(self.query(found.plan, step, found, ()), agents=(agent,))
        return self.picked(step, self.retrieve(query, f"what {agent} saw of it"), found)

    def ego_of(self, found: Found) -> Pose | None:
        """Where 'me' is: the given viewpoint, the imagined one, else the agent at the asked time."""
        if self.question.viewpoint is not None:
            return self.question.viewpoint
        if found.plan.ego:
            return viewpoint.imagined(found.plan.ego, found.steps, _needs_direction(found.plan))
        return found.retrieval.ego.pose if found.retrieval.ego is not None else None

    def query(self, plan: Plan, step: Step, found: Found, states: tuple[EntryState, ...]) -> Query:
        """Compile a step. Raises UnsupportedQuestion for what can't be computed yet."""
        semantic, window = step.semantic, found.window
        text = "" if semantic.anything or semantic.name else semantic.text
        return Query(
            labels=semantic.labels,
            text=text,
            attributes=properties(step),
            exclude_labels=tuple(name for e in semantic.exclude for name in lexicon.labels_for(e)),
            spatial=tuple(self.constraint(plan, key, found) for key in step.spatial if not self.is_here(key)),
            temporal=window.sightings() if step.in_view else window.constraints(),
            agents=self.agents_named(step.agents) or self._own_eyes(plan, step),
            states=states,
            at_ns=window.at_ns,
            order=Order.SCORE,
            limit=LIMIT,
        )

    def _own_eyes(self, plan: Plan, step: Step) -> tuple[str, ...]:
        """'what did you see' asks of what one robot saw, where it is known which."""
        asked = step.in_view and "you" in plan.question.casefold().split()
        return (self.ego_agent,) if asked and self.ego_agent else ()

    def constraint(self, plan: Plan, key: SpatialKey, found: Found) -> SpatialConstraint:
        """Compile a spatial key against what earlier steps found."""
        at_ns = found.window.at_ns
        relation = key.relation.value
        if key.relation is Relation.FACING and key.reference.kind != "ego":
            raise UnsupportedQuestion("which way things face can't be told from their boxes")
        if key.relation is Relation.SAME_ROOM and not self.regions:
            raise UnsupportedQuestion("no places of this map have names, so I know no rooms")
        if key.relation is Relation.BETWEEN and (key.reference.kind != "step" or key.other is None):
            raise UnsupportedQuestion("'between' needs two things")
        reach = key.max_distance or (SIDE_REACH_M if key.relation in VIEW_RELATIONS else 0.0)
        view = self.ego_of(found) if self.question.viewpoint is not None or plan.ego else None
        made = SpatialConstraint(
            relation,
            Reference.EGO,
            stamp_ns=at_ns,
            min_distance=key.min_distance,
            max_distance=reach,
            negate=key.negate,
        )
        if view is not None:
            made = replace(made, reference=Reference.POSE, pose=view)
        if key.reference.region == "room" and self.region_named("room") is None:
            return replace(made, relation="same_room", max_distance=0.0)  # 'in the room' that the asker is in
        if key.reference.kind == "region":
            return replace(made, reference=Reference.REGION, region=self.region(key.reference.region), max_distance=0.0)
        if key.reference.kind == "step":
            ids = _ids(found.steps[key.reference.step])
            others = _ids(found.steps[key.other.step]) if key.other is not None and key.other.kind == "step" else ()
            if key.relation is Relation.BETWEEN and not others:
                raise UnsupportedQuestion("'between' needs two things")
            return replace(made, reference=Reference.ENTRIES, entry_ids=ids, other_entry_ids=others)
        return made

    def is_here(self, key: SpatialKey) -> bool:
        """'in the room' restricts nothing where the map has no rooms."""
        return key.reference.region == "room" and not self.regions

    def region(self, asked: str) -> str:
        """The known region that is meant by a name. Raises UnknownRegion."""
        name = self.region_named(asked)
        if name is None:
            raise UnknownRegion(asked)
        return name

    def region_named(self, asked: str) -> str | None:
        """The known region that is meant by a name, if there is one."""
        wanted = {asked, REGION_NAMES.get(asked, asked)}
        for name in self.regions:
            plain = name.casefold().replace("_", " ")
            if {plain, REGION_NAMES.get(plain, plain)} & wanted or plain.replace(" ", "") == asked.replace(" ", ""):
                return name
        return None

    def window(self, plan: Plan) -> Window:
        """The time asked about, for a question whose target is no thing. Raises UnsupportedQuestion."""
        steps: list[tuple[Evidence, ...]] = []
        if len(plan.steps) > 1:
            before = plan.model_copy(update={"steps": plan.steps[:-1], "ego": (), "to_other": None})
            steps = self.execute(before, present_only=False).steps
        return self._window(plan, steps)

    def _window(self, plan: Plan, steps: list[tuple[Evidence, ...]]) -> Window:
        def events_of(key: EventKey) -> Sequence[Event]:
            return self.events(plan, steps, key)

        keys = plan.target.temporal
        if plan.event is not None:  # 'when did it disappear the second time': the rank is the event's
            keys = tuple(k for k in keys if k.op is not TemporalOp.NTH)
        return moments.resolve(keys, Times(self.now_ns, self.zone, events_of))

    def events(self, plan: Plan, steps: list[tuple[Evidence, ...]], key: EventKey) -> list[Event]:
        """Events of a thing, oldest first; a first or last sighting is told as one, so are ways and episodes."""
        if key.own:
            return self.own_events(key)
        if key.text:
            return self.episodes(key.text)
        if key.step >= len(steps):
            return []
        if key.step >= 0:
            query = Query(entry_ids=_ids(steps[key.step]), with_events=True, limit=LIMIT)
            step = plan.steps[key.step]
        else:
            step = plan.target
            named = properties(step)
            query = Query(
                labels=step.semantic.labels, text=step.semantic.text, attributes=named, with_events=True, limit=LIMIT
            )
        retrieval = self.retrieve(query, f"events of the {step.semantic.text}")
        entries = sieve.firm(sieve.sifted(step, retrieval.entries))
        if key.seen:
            return [viewpoint.sighting(e, key.seen) for e in entries]
        return self.events_in(retrieval, entries, key)

    def own_events(self, key: EventKey) -> list[Event]:
        """When a robot entered, left or was in a room, oldest first. Raises UnsupportedQuestion, UnknownRegion."""
        if not self.regions:
            raise UnsupportedQuestion("no places of this map have names, so I know no rooms")
        region = self.region(key.region)
        inside = SpatialConstraint("in", Reference.REGION, region=region)
        agents = self.agents_named((key.agent,)) if key.agent else (self.ego_agent,) if self.ego_agent else ()
        if not agents and len(self.agents) > 1:
            raise UnsupportedQuestion("it isn't said which robot is meant")
        query = Query(spatial=(inside,), agents=agents, with_events=True, limit=1)
        events = [e for e in self.retrieve(query, f"ways to and from the {region}").events if not e.entry_id]
        if key.own == "was_in":
            return visits(events, self.now_ns)
        kind = EventKind.ENTERED if key.own == "entered" else EventKind.LEFT
        return sorted((e for e in events if e.kind is kind), key=lambda e: e.stamp_ns)

    def episodes(self, text: str) -> list[Event]:
        """What episodes tell that fits a text, as events, oldest first."""
        found = self.retrieve(Query(text=text, with_episodes=True, limit=FEW), f"episodes of '{text}'").episodes
        return sorted((told_of(e) for e in found), key=lambda e: e.stamp_ns)

    def happened_to(self, evidence: Sequence[Evidence], key: EventKey) -> list[Event]:
        """Events of these kinds that happened to these things, oldest first."""
        query = Query(entry_ids=_ids(evidence), with_events=True, limit=LIMIT)
        return self.events_in(self.retrieve(query, "what happened to them"), evidence, key)

    def events_in(self, retrieval: Retrieval, entries: Sequence[Evidence], key: EventKey) -> list[Event]:
        """The events of these kinds that happened to these entries, oldest first."""
        kinds = {EVENT_KINDS[k] for k in key.kinds}
        known = {e.entry_id: e for e in entries}
        moved_from = [e for e in retrieval.events if e.kind is EventKind.MOVED and e.from_place is not None]
        found = [
            e
            for e in retrieval.events
            if e.kind in kinds and e.entry_id in known and is_news(e, known[e.entry_id], moved_from)
        ]
        return sorted(witnessed(found), key=lambda e: e.stamp_ns)


def _needs_direction(plan: Plan) -> bool:
    """Whether it matters which way the asker looks: for the asker's own sides, not for those of things."""
    sided = (By.LEFT, By.RIGHT, By.ORDER)
    extremes = (s.superlative for s in plan.steps if s.superlative is not None)
    own = any(k.reference.kind == "ego" for s in plan.steps for k in s.spatial)
    directed = plan.form in (Form.DIRECTION, Form.CHOOSE) or (plan.claim is not None and plan.claim.spatial is not None)
    return own or directed or any(e.by in sided for e in extremes)


def _timed_from(plan: Plan) -> int:
    """The first step that the asked time holds for: those that find the things of its events come before."""
    return 1 + max((k.event.step for k in plan.target.temporal if k.event is not None), default=-1)


def _asks_events(plan: Plan) -> bool:
    claim = plan.claim
    return plan.event is not None or (claim is not None and (claim.event is not None or claim.still))


def properties(step: Step) -> tuple[tuple[str, str], ...]:
    """Properties that a step asks for and a memory can check: colour, material, shape, state."""
    known = [a for a in step.semantic.attributes if a.is_known and not a.negate]
    return tuple((a.name, lexicon.value_of(a.name, a.value)) for a in known)


def _ids(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    return tuple(e.entry_id for e in evidence)
