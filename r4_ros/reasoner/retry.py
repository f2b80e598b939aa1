"""When nothing matched: the run looks at itself, asks differently, and asks what other runs have shown.

What comes of it is told beside the honest answer, never as the answer. Advice decides which queries are run, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from r4_ros.core.errors import UnsupportedQuestion
from r4_ros.core.lessons import Anomaly, Focus, Relax, Situation
from r4_ros.core.model import Verdict
from r4_ros.reasoner import reflection, wording
from r4_ros.reasoner.draft import Draft
from r4_ros.reasoner.keys import Plan
from r4_ros.reasoner.refine import Relaxation, further, relaxations
from r4_ros.reasoner.run import Found, Run, UnknownRegion


class Attempt(NamedTuple):
    """What came of a plan: no draft where nothing matched."""

    draft: Draft | None
    unknown: UnknownRegion | None
    found: Found | None


@dataclass
class Search:
    """A run that found nothing, at work with other queries. ``held``: what a query found that drops a condition."""

    run: Run
    plan: Plan
    first: Attempt
    attempt: Callable[[Plan], Attempt]
    options: list[Relaxation]
    focus: Focus = field(default_factory=Focus)
    held: tuple[Relaxation, Draft] | None = None
    plans: list[Plan] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    novelties: list[float] = field(default_factory=list)
    named: list[Anomaly] = field(default_factory=list)
    asked: set[Anomaly] = field(default_factory=set)

    def name(self, anomaly: Anomaly) -> None:
        """Say in the trace what is wrong with the run."""
        self.run.note("reflect", str(self.situation(anomaly)))
        self.named.append(anomaly)

    def situation(self, anomaly: Anomaly) -> Situation:
        """What is asked for, by type, and what is wrong with the run."""
        return reflection.situation(self.plan, self.first.found, anomaly)

    def arrange(self, anomaly: Anomaly) -> None:
        """What to try, in the run's own order for that."""
        self.options = reflection.by_itself(self.options, anomaly, self.situation(anomaly).facets)


def refined(run: Run, plan: Plan, base: Draft, first: Attempt, attempt: Callable[[Plan], Attempt]) -> Draft:
    """The base answer with what other queries found, while rounds remain. first: what came of the plan itself."""
    search = Search(run, plan, first, attempt, _ordered(run, relaxations(plan, first.found, first.unknown)))
    search.plans.append(plan)
    if search.options and run.experience != "off":
        search.known.update(_returned(first))
        search.name(Anomaly.EMPTY)
        search.arrange(Anomaly.EMPTY)
    told = _found(search)
    if told is None:
        return base
    run.note("told", told[0].name)
    return _beside(base, *told, plan)


def _ordered(run: Run, options: Iterable[Relaxation]) -> list[Relaxation]:
    """All options, or, where an order is configured, those of it."""
    if not run.relax_order:
        return list(options)
    known = list(options)
    return [option for key in run.relax_order for option in known if option.keys[-1].value == key]


def _found(search: Search) -> tuple[Relaxation, Draft] | None:
    """What the first query found that finds anything; with advice, what the advised ones found comes before it."""
    run = search.run
    while search.options and (search.held is None or _is_better(search.options[0], search.held[0], search.focus)):
        if run.round >= run.max_rounds:
            run.note("stop", f"{run.max_rounds} rounds")
            break
        relaxed = search.options.pop(0)
        if _is_repeated(search, relaxed):
            continue
        draft = _relaxed(search, relaxed)
        if draft is not None and draft.evidence:
            settled = relaxed.verdict is Verdict.AMBIGUOUS or search.held or search.asked or not _may_ask(run)
            if settled:
                return relaxed, draft
            search.held = relaxed, draft
        else:
            _reflect(search)
        _advise(search)
    return search.held


def _is_better(option: Relaxation, held: Relaxation, focus: Focus) -> bool:
    """Whether advice warns of what the query dropped that found something already, and puts another one before it."""
    return reflection.is_query(held.keys, focus.avoid) and reflection.is_query(option.keys, focus.prefer)


def _is_repeated(search: Search, relaxed: Relaxation) -> bool:
    """Whether the query was put before; then another one is written, without a round for this one."""
    if search.run.experience == "off":
        return relaxed.plan in search.plans
    if not reflection.is_repeated(relaxed.plan, search.plans):
        return False
    if Anomaly.REPEATED not in search.named:
        search.name(Anomaly.REPEATED)
    return True


def _reflect(search: Search) -> None:
    """Name what is wrong after a round that found nothing, and drop more where it goes on so."""
    run = search.run
    if run.experience == "off" or not search.options:
        return
    if len(search.novelties) > 1 and max(search.novelties[-2:]) < reflection.NOVEL:
        if Anomaly.STALLED not in search.named:
            search.name(Anomaly.STALLED)
        search.arrange(Anomaly.STALLED)
        search.options = reflection.focused(search.options, search.focus)
    if run.unanswered_trigger and run.round == run.max_rounds - 1:
        search.name(Anomaly.UNANSWERED)


def _may_ask(run: Run) -> bool:
    return run.advisor is not None and run.experience == "lessons"


def _advise(search: Search) -> None:
    """The anomaly stayed: what other runs have shown decides what is tried next. Once for each anomaly."""
    run, anomaly = search.run, search.named[-1] if search.named else None
    if run.advisor is None or not _may_ask(run) or anomaly is None or anomaly in search.asked or not search.options:
        return
    search.asked.add(anomaly)
    advice = run.advisor.advise(search.situation(anomaly))
    if advice.lesson_ids:
        run.note("experience", f"{' '.join(advice.lesson_ids)}: {advice.focus}")
    search.focus = advice.focus
    found = () if search.held is None else search.held[0].keys
    search.options = reflection.focused(search.options, advice.focus, found)
    if advice.focus.note:
        _in_words(search, anomaly)


def _in_words(search: Search, anomaly: Anomaly) -> None:
    """A query writer that is a language model reads the note, too, and may say in which order to go on."""
    run, options = search.run, search.options
    if run.orderer is None or not options:
        return
    told = str(search.situation(anomaly))
    order = run.orderer(told, [option.name for option in options], search.focus, run.remaining_s())
    if order:
        run.note("ordered", ", ".join(order))
        search.options = [option for name in order for option in options if option.name == name]


def _relaxed(search: Search, relaxed: Relaxation) -> Draft | None:
    """Another round, with a key relaxed; None where the memory can't be asked that."""
    run = search.run
    run.round += 1
    run.note("refine", f"{relaxed.name}: {relaxed.note}")
    search.plans.append(relaxed.plan)
    try:
        attempt = search.attempt(relaxed.plan)
    except UnsupportedQuestion:
        search.novelties.append(0.0)
        return None
    returned = _returned(attempt)
    search.novelties.append(reflection.novelty(returned, search.known))
    search.known.update(returned)
    found = 0 if attempt.draft is None else len(attempt.draft.evidence)
    run.note("tried", relaxed.name, found)
    if not found:
        more = _ordered(run, further(relaxed, attempt.found, attempt.unknown))
        search.options = reflection.focused([*search.options, *more], search.focus)
    return attempt.draft


def _returned(attempt: Attempt) -> set[str]:
    """Ids of all entries that a plan's last retrieval returned, whether they were meant or not."""
    return {e.entry_id for e in attempt.found.retrieval.entries} if attempt.found is not None else set()


def _beside(base: Draft, relaxed: Relaxation, draft: Draft, plan: Plan) -> Draft:
    """The base answer with what the relaxed plan found; a property that isn't known can't be denied."""
    told = draft.text.removeprefix("Yes, ").removeprefix("Yes: ")
    text = f"{base.text} {relaxed.note} {told}"
    asked = [a.name for step in plan.steps for a in step.semantic.attributes if a.is_known]
    unknown = [n for n in asked if not all(wording.attribute(e, n) for e in draft.evidence)]
    if Relax.ATTRIBUTE in relaxed.keys and unknown:
        text = f"{text} Its {wording.listed(unknown)} isn't known."
        return Draft(text, Verdict.AMBIGUOUS, None, draft.evidence, draft.confidence / 2, draft.frame)
    if base.verdict is Verdict.ANSWERED:
        return replace(base, text=text, evidence=draft.evidence)
    if relaxed.verdict is Verdict.AMBIGUOUS:
        value = draft.value if set(relaxed.keys) <= {Relax.REGION, Relax.SPELLING} else None
        return Draft(text, Verdict.AMBIGUOUS, value, draft.evidence, draft.confidence / 2, draft.frame)
    return replace(base, text=text, evidence=draft.evidence)
