"""Rounds of plan, retrieve, judge, refine within a budget; the last round must answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.config import ReasonerConfig
from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, R4Error, UnsupportedQuestion
from r4_ros.core.model import FOREVER, EntryState, Event, EventKind, Evidence, Question, Retrieval, TraceStep, Verdict
from r4_ros.core.ports import Advisor, Embedder, Eyes, Memory
from r4_ros.reasoner import (
    confidence,
    disagreement,
    doubts,
    explain,
    gate,
    judge_compare,
    judge_duration,
    judge_rooms,
    judge_time,
    judge_usual,
    lexicon,
    parse,
    retry,
    selves,
    together,
    uses,
    wording,
)
from r4_ros.reasoner.draft import (
    Draft,
    absent,
    gone,
    gone_text,
    is_present,
    needs_ego,
    not_seen,
    staled,
    unsupported,
)
from r4_ros.reasoner.judge_kind import KINDS
from r4_ros.reasoner.judge_place import PLACES
from r4_ros.reasoner.judge_verify import left_place
from r4_ros.reasoner.keys import Attribute, Form, Plan
from r4_ros.reasoner.moments import Window
from r4_ros.reasoner.planner import LmPlanner, Planner
from r4_ros.reasoner.retry import Attempt
from r4_ros.reasoner.robots import UnknownAgent, UnnamedAsker
from r4_ros.reasoner.run import Found, Run, UnknownRegion

JUDGES = {
    **KINDS,
    **PLACES,
    Form.WHEN: judge_time.when,
    Form.DURATION: judge_duration.duration,
    Form.COMPARE: judge_compare.compare,
    Form.ORDER: judge_compare.order,
    Form.ACTION: judge_time.history,
}
CONFUSED = (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, StopIteration, ValueError)
PLANNING = 0.7  # of the deadline at most
HAPPENED = "happened to"
LASTING = (Form.ATTRIBUTE, Form.STATE)
EVENT_FORMS = (Form.IDENTIFY, Form.COUNT, Form.LOCATE, Form.EXISTS)
REASONS = {
    Form.EXPLAIN: "reasons, ways and descriptions aren't in this memory: it knows what was seen, where and when",
    Form.ACTION: "what somebody does isn't in this memory: it knows what was seen, where and when",
}


def solve(
    memory: Memory,
    question: Question,
    config: ReasonerConfig,
    planner: Planner,
    advisor: Advisor | None = None,
    embedder: Embedder | None = None,
    eyes: Eyes | None = None,
) -> tuple[Draft, Form | None, list[TraceStep]]:
    """The draft of an answer, its form, and the trace. Raises what the memory raises, except for the deadline."""
    run = Run(
        memory,
        question,
        ego_agent=question.ego_agent or config.agent_id,
        zone=wording.zone_of(question.timezone),
        max_rounds=max(1, question.max_rounds or config.max_rounds),
        deadline=time.monotonic() + (question.deadline_s if question.deadline_s > 0 else config.deadline_s),
        stale_s=config.stale_s,
        experience=config.experience,
        gate=config.gate,
        advisor=advisor,
        embedder=embedder,
        eyes=eyes,
        orderer=planner.order if isinstance(planner, LmPlanner) else None,
        relax_order=tuple(config.relax_order),
        unanswered_trigger=config.unanswered_trigger,
    )
    draft, plan = _drafted(run, planner)
    form = plan.form if plan is not None else None
    draft = _qualified(run, draft, plan)
    draft = disagreement.told(disagreement.without_metres(draft, form), question.text, form, run.now_ns, run.zone)
    run.note("answer", f"{draft.verdict.value}: {draft.text}", len(draft.evidence))
    return draft, form, run.trace


def _drafted(run: Run, planner: Planner) -> tuple[Draft, Plan | None]:
    """The answer by the planner's plan, or why there is none."""
    plan: Plan | None = None
    try:
        started = time.monotonic()
        planned = planner.plan(run.question.text, PLANNING * (run.deadline - started))
        plan = planned.plan
        for note in planned.notes:
            run.note("planner", note)
        run.note("plan", f"{planned.by}: {explain.understood(plan)}", duration_s=time.monotonic() - started)
        draft = _answer(run, plan) if planned.by_rules else _answer_checked(run, plan)
    except DeadlineExceeded:
        draft = Draft("I ran out of time before I could answer.", Verdict.TIMEOUT)
    except UnnamedAsker:
        text = f"Which robot asks for another one's memory? Name the asker: {wording.listed(run.agents, 8)}."
        draft = Draft(text, Verdict.AMBIGUOUS)
    except UnknownAgent as unknown:
        known = f" I know: {wording.listed(run.agents, 8)}." if run.agents else ""
        draft = not_seen(f"I have nothing from a robot called '{unknown}'.{known}")
    except UnknownRegion as unknown_region:
        draft = _no_region(run, unknown_region)
    except UnsupportedQuestion as error:
        draft = _unsupported(str(error), plan)
    return draft, plan


def _qualified(run: Run, draft: Draft, plan: Plan | None) -> Draft:
    """What else must be said of the question: its language, what was guessed of it, what of it is open."""
    if draft.verdict in (Verdict.UNSUPPORTED, Verdict.NOT_SEEN) and not draft.evidence:
        draft = draft if parse.is_english(run.question.text) else unsupported("I understand questions in English only.")
    if run.guessed and draft.verdict is Verdict.ANSWERED:
        text = f"What may serve for that, by what things are usually for: {draft.text}"
        draft = replace(draft, text=text, verdict=Verdict.AMBIGUOUS, confidence=draft.confidence / 2)
    if plan is not None and plan.rest and draft.verdict is not Verdict.UNSUPPORTED:
        draft = replace(draft, text=f"{draft.text} That is of the first question only; ask '{plan.rest}' by itself.")
    return draft


def _answer_checked(run: Run, plan: Plan) -> Draft:
    """The answer by a model's plan; one that fits the schema and still makes no sense is refused, not a crash."""
    try:
        return _answer(run, plan)
    except R4Error as error:
        if not isinstance(error, InvalidArgument):
            raise
        why = str(error)
    except CONFUSED as error:
        why = f"{type(error).__name__}: {error}"
    run.note("refused", f"the model's plan doesn't hold together: {why}")
    raise UnsupportedQuestion("the language model's plan doesn't hold together")


def _unsupported(reason: str, plan: Plan | None) -> Draft:
    read = f" I understood: {explain.understood(plan)}." if plan is not None else ""
    return unsupported(f"I can't answer that: {reason}.{read}")


def _answer(run: Run, plan: Plan) -> Draft:
    of_thing = plan.form is Form.ACTION and HAPPENED in plan.question.casefold() and bool(plan.target.semantic.text)
    reason = plan.unsupported or ("" if of_thing else REASONS.get(plan.form, ""))
    if reason:
        raise UnsupportedQuestion(reason)
    if plan.target.semantic.also:
        return together.answer(plan, lambda one: _answer(run, one))
    purposeful = uses.served(judge_rooms.things(plan), run.embedder)
    plan, run.guessed = purposeful.plan, purposeful.guessed
    opening = run.gate and gate.may_open(plan)
    probe = run.begin(gate.LOOK if opening else 1)
    if opening:
        at_sight = _at_sight(run, plan, probe)
        if at_sight is not None:
            return at_sight
    unclear = len(probe.ego_candidates) > 1 and not run.ego_agent and run.question.viewpoint is None
    if unclear and needs_ego(plan) and not plan.ego:
        who = wording.listed(sorted(probe.ego_candidates))
        return Draft(f"Whose place is meant? I know {who}; name one.", Verdict.AMBIGUOUS)
    if plan.form is Form.DURATION and judge_duration.of_robot(plan):
        return judge_duration.own(run, plan)
    if plan.form is Form.WHEN and plan.event is not None and plan.event.own:
        return judge_duration.own_time(run, plan.event)
    own = selves.answer(run, plan)
    if own is not None:
        return own
    if judge_usual.is_asked(plan):
        return judge_usual.usual(run, plan)
    draft, unknown, found = first = _try(run, plan)
    if draft is not None:
        return staled(run, draft) if found is not None and is_present(plan, found) else draft
    base = (
        doubts.unless_mistaken(absent(run, found), found.left_out.mistaken)
        if found is not None
        else _no_region(run, unknown)
    )
    if base.verdict is Verdict.NEVER_VISITED:
        return base
    return retry.refined(run, plan, base, first, lambda other: _try(run, other))


def _at_sight(run: Run, plan: Plan, look: Retrieval) -> Draft | None:
    """What the current view alone answers, by the gate; None: the memory must be asked."""
    evidence = gate.in_view(plan, look, run.ego_agent, run.now_ns)
    why = _unseen(run, evidence[0]) if evidence else "it isn't in view"
    run.note("gate", f"closed: {why}" if why else "open: it is in view", len(evidence))
    if why:
        return None
    draft = _measured(run, plan, JUDGES[plan.form](run, Found(plan, [evidence], look, Window())))
    draft = doubts.hedged(draft, plan.form)
    return draft if draft.verdict is Verdict.ANSWERED else None


def _unseen(run: Run, evidence: Evidence) -> str:
    """Why a vision model, if there is one, doesn't bear out that a thing is in view; empty: it does."""
    if run.eyes is None:
        return ""
    seen = run.eyes.agreement(evidence.label, run.now_ns, gate.LOOKING * run.remaining_s())
    if seen is None:
        return "the model saw no picture"
    how = "by its log-probabilities, uncalibrated" if seen.by_probability else "of the time"
    run.note("look", f"the model sees it: {seen.share:.0%} {how}")
    return "" if seen.share >= gate.AGREED else f"the model sees it {seen.share:.0%} {how}"


def _try(run: Run, plan: Plan) -> Attempt:
    """Run and judge a plan; no draft where nothing matched."""
    try:
        present_only = _is_about_now(plan)
        found = _over_time(run, plan, present_only)
        if not found.evidence and present_only and found.missing == len(plan.steps) - 1:
            found = _gone_too(run, plan, found)
        if plan.event is not None and plan.form in EVENT_FORMS and found.missing in (-1, len(plan.steps) - 1):
            return Attempt(judge_time.changed(run, found), None, found)
        if not found.evidence:
            return Attempt(None, None, found)
        if _all_gone(found) and is_present(plan, found) and present_only:
            return Attempt(doubts.hedged(_of_gone(run, found), plan.form), None, found)
        draft = JUDGES[plan.form](run, found)
        return Attempt(_checked(run, plan, found, draft), None, found)
    except UnknownRegion as unknown:
        return Attempt(None, unknown, None)


def _of_gone(run: Run, found: Found) -> Draft:
    """What can be said of things that have left: what lasts (a colour) is told, and that their place is empty now."""
    plan, claim = found.plan, found.plan.claim
    if plan.form in LASTING or (claim is not None and claim.attribute is not None):
        draft = JUDGES[plan.form](run, found)
        latest = max(found.evidence, key=lambda e: e.last_seen)
        return replace(draft, text=f"{draft.text} {gone_text(run, latest)}")
    if plan.form is Form.VERIFY and claim is not None and claim.spatial is not None:
        return left_place(run, found, claim)
    return gone(run, found)


def _is_about_now(plan: Plan) -> bool:
    """Whether things that are gone don't count: the present tense, but not 'is it still there' or 'what was moved'."""
    claim = plan.claim
    of_change = plan.event is not None or plan.form is Form.WHEN
    of_change = of_change or (claim is not None and claim.spatial is None and claim.attribute is None)
    return not plan.past and not of_change


def _over_time(run: Run, plan: Plan, present_only: bool) -> Found:
    """Run a plan; for a span of time at its start, middle and end, as things may come and go in between."""
    found = run.execute(plan, present_only)
    for at_ns in found.window.instants[1:]:
        later = run.execute(plan, present_only, at_ns)
        known = {e.entry_id for e in found.evidence}
        new = tuple(e for e in later.evidence if e.entry_id not in known)
        if not found.evidence:
            found = later
        elif new:
            found.steps[-1] = (*found.evidence, *new)
    return found


def _gone_too(run: Run, plan: Plan, living: Found) -> Found:
    """Look again for things that have left; 'what is on the table' isn't answered with what was."""
    if not plan.target.semantic.text or plan.target.semantic.anything:
        return living
    run.note("refine", "also things that are gone")
    everything = run.execute(plan, present_only=False)
    return everything if everything.evidence else living


def _all_gone(found: Found) -> bool:
    return bool(found.evidence) and all(e.state is EntryState.GONE for e in found.evidence)


def _checked(run: Run, plan: Plan, found: Found, draft: Draft) -> Draft:
    """Properties that no key could check ('wee', 'Anna's') are named, and the answer isn't certain."""
    loose = [(i, a) for i, step in enumerate(plan.steps) for a in step.semantic.attributes if not a.is_known]
    unchecked = [a.value for i, a in loose if not all(_tells(e, a) for e in found.steps[i])]
    draft = _measured(run, plan, draft)
    unsure = _maybe_gone(found, draft)
    if unsure and draft.verdict is Verdict.ANSWERED:
        text = f"{draft.text} {unsure}"
        return replace(draft, text=text, verdict=Verdict.AMBIGUOUS, confidence=draft.confidence / 2)
    draft = doubts.hedged(draft, plan.form)
    taken = _taken_for(found)
    if taken and draft.verdict in (Verdict.ANSWERED, Verdict.STALE):
        return replace(draft, text=f"{draft.text} {taken}", verdict=Verdict.AMBIGUOUS, confidence=draft.confidence / 2)
    if not unchecked or draft.verdict not in (Verdict.ANSWERED, Verdict.STALE):
        return draft
    note = f"Whether it is {wording.listed([repr(u) for u in unchecked])} I can't tell."
    return replace(draft, text=f"{draft.text} {note}", verdict=Verdict.AMBIGUOUS, confidence=draft.confidence / 2)


def _measured(run: Run, plan: Plan, draft: Draft) -> Draft:
    """The draft with the confidence that its evidence deserves."""
    if draft.verdict is not Verdict.ANSWERED or not draft.evidence:
        return draft
    cited = doubts.claimed(draft.evidence, plan.form.value)
    return replace(draft, confidence=confidence.confidence(cited, draft.value, run.now_ns))


def _maybe_gone(found: Found, draft: Draft) -> str:
    """What was last seen before the asked time and later found gone may have left by then, or not."""
    window = found.window
    start = window.at_ns if window.at_ns is not None and not window.instants else window.start_ns
    claim = found.plan.claim
    of_event = claim is not None and claim.event is not None  # that it left may be the very claim
    if not window.bounded or window.event is not None or found.plan.form is Form.WHEN or of_event:
        return ""
    of_one = found.plan.form in (Form.EXISTS, Form.LOCATE)
    cited = draft.evidence[:1] if of_one else draft.evidence
    targets = {e.entry_id for e in found.evidence}
    lost = [e for e in found.retrieval.events if e.kind is EventKind.DISAPPEARED and e.earliest_ns < start]
    left = [e for e in cited if e.entry_id in targets and _left_around(e, start, lost)]
    if not left:
        return ""
    names = wording.listed([f"the {wording.thing(e)}" for e in left])
    return f"Whether {names} had left by then I can't tell."


def _left_around(evidence: Evidence, start_ns: int, lost: Sequence[Event]) -> bool:
    """Whether its last sighting before a time is one after which it was found to have left."""
    there = evidence.present
    until_ns = there.end if there is not None else FOREVER
    if any(s.end - 1 >= start_ns and s.start < until_ns for s in evidence.sightings):
        return False  # seen there after that time, perhaps by another robot
    for event in lost:
        seen_since = any(s.start <= start_ns and s.end - 1 > event.earliest_ns for s in evidence.sightings)
        if event.entry_id == evidence.entry_id and not seen_since:
            return True
    gone = evidence.state is EntryState.GONE and evidence.last_seen < start_ns
    return gone or (there is not None and there.last_seen < start_ns and there.end < FOREVER)


def _taken_for(found: Found) -> str:
    """What was taken for the thing asked about, for want of better: 'I took a tv for a monitor.'"""
    for step, evidence in zip(found.plan.steps, found.steps, strict=False):
        if evidence and all(lexicon.is_stand_in(step.semantic.text, e.label) for e in evidence):
            return f"I took {wording.article(evidence[0].label)} for {wording.article(step.semantic.text)}."
    return ""


def _tells(evidence: Evidence, asked: Attribute) -> bool:
    """Whether what is known of a thing says so: its words, or who somebody said owns it."""
    if any(name == asked.name and value.casefold() == asked.value for name, value in evidence.attributes):
        return True
    return asked.value in f"{evidence.label} {evidence.description}".casefold().split()


def _no_region(run: Run, unknown: UnknownRegion | None) -> Draft:
    known = f" I know: {wording.listed(run.regions, 8)}." if run.regions else " No places of this map have names."
    return unsupported(f"I know no place called '{unknown}'.{known}")
