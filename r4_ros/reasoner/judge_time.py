"""Answers of time and change: when, what was moved, is it still there."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.core.model import NS_PER_S, EntryState, Event, EventKind, Evidence, Verdict
from r4_ros.reasoner import wording
from r4_ros.reasoner.draft import Draft, ambiguous, answered, gone_text, not_seen, noun, time_asked
from r4_ros.reasoner.keys import EVENT_KINDS, EventKey, Form, Plan, TemporalOp
from r4_ros.reasoner.news import well_seen
from r4_ros.reasoner.run import Found, Run

HAPPENED = {
    EventKind.APPEARED: "appeared",
    EventKind.MOVED: "moved",
    EventKind.DISAPPEARED: "disappeared",
    EventKind.REAPPEARED: "came back",
    EventKind.ATTRIBUTE_CHANGED: "changed",
}


def when(run: Run, found: Found) -> Draft:
    """The stamp of an event, or of the first or last sighting."""
    plan = found.plan
    if plan.event is not None:
        return event_time(run, found, plan.event)
    ops = {key.op for key in plan.target.temporal}
    if TemporalOp.FIRST in ops:
        first = min(found.evidence, key=lambda e: e.first_seen)
        return answered(_seen_text(run, found, first, first.first_seen, "first"), first.first_seen, [first])
    last = max(found.evidence, key=lambda e: e.last_seen)
    return answered(_seen_text(run, found, last, last.last_seen, "last"), last.last_seen, [last])


def _seen_text(run: Run, found: Found, evidence: Evidence, stamp: int, which: str) -> str:
    many = f" (the latest of {len(found.evidence)})" if len(found.evidence) > 1 and which == "last" else ""
    by = f" by {evidence.agent_id}" if evidence.agent_id else ""
    name, time = wording.thing(evidence), wording.when(stamp, run.now_ns, run.zone)
    return f"The {name}{many} {wording.be(name, past=True)} {which} seen {time}{by}."


def event_time(run: Run, found: Found, key: EventKey) -> Draft:
    """When something happened to the things found; the last time, or the first if that is asked."""
    events = run.events_in(found.retrieval, found.evidence, key)
    what = _what(key)
    if not events:
        return not_seen(f"I didn't notice that the {noun(found.plan)} {what}.", None, found.evidence[:1])
    rank = next((k.rank for k in found.plan.target.temporal if k.op in (TemporalOp.FIRST, TemporalOp.NTH)), 0)
    if rank > len(events):
        times = wording.plural("time", len(events))
        return not_seen(f"I noticed it only {times}: {event_text(run, events[-1])}.", None, found.evidence[:1])
    event = events[rank - 1] if rank else events[-1]
    cited = [e for e in found.evidence if e.entry_id == event.entry_id]
    return answered(_sentence(event_text(run, event)), event.stamp_ns, cited)


def event_text(run: Run, event: Event) -> str:
    """'the cup was moved 20 s ago, at 10:02:13 UTC, from (..) m to (..) m'; between its bounds where they are wide."""
    text = f"the {event.label} {_happened(event.kind, event.label)} "
    if event.latest_ns - event.earliest_ns > NS_PER_S:
        text += wording.between(event.earliest_ns, event.latest_ns, run.now_ns)
    else:
        text += wording.when(event.stamp_ns, run.now_ns, run.zone)
    if event.kind is EventKind.MOVED and event.from_place is not None:
        return f"{text}, from {wording.point(event.from_place)} to {wording.point(event.place)}"
    if event.kind is EventKind.DISAPPEARED:
        return f"{text} from {wording.point(event.place)}"
    return f"{text} at {wording.point(event.place)}" if event.kind is EventKind.REAPPEARED else text


def _happened(kind: EventKind, noun: str) -> str:
    said = HAPPENED[kind]
    return f"{wording.be(noun, past=True)} {said}" if kind is EventKind.MOVED else said


def _sentence(text: str) -> str:
    return f"{wording.capital(text)}."


def _what(key: EventKey, noun: str = "") -> str:
    """'was moved', 'appeared or changed'."""
    return wording.listed([_happened(EVENT_KINDS[k], noun) for k in key.kinds]).replace(" and ", " or ")


def changed(run: Run, found: Found) -> Draft:
    """'what was moved', 'what disappeared': the things to which it happened in the time asked about."""
    plan = found.plan
    assert plan.event is not None
    events = run.events_in(found.retrieval, found.evidence, plan.event)
    window = found.window
    events = [e for e in events if e.latest_ns >= window.start_ns and e.earliest_ns < window.end_ns]
    if not events:
        empty = 0 if plan.form is Form.COUNT else () if plan.form is Form.IDENTIFY else None
        return not_seen(f"I noticed nothing that {_what(plan.event)}{time_asked(run, found)}.", empty)
    if plan.form is Form.IDENTIFY and plan.event.kinds != ("appeared",) and (rank := _rank(plan)):
        return _in_order(run, found, sorted(events, key=lambda e: e.stamp_ns), rank)
    certain = [e for e in events if e.earliest_ns >= window.start_ns and e.latest_ns < window.end_ns]
    newest = {e.entry_id: e for e in certain or events}
    cited = [e for e in found.evidence if e.entry_id in newest]
    cited.sort(key=lambda e: -newest[e.entry_id].stamp_ns)
    told = "; ".join(event_text(run, newest[e.entry_id]) for e in cited[:5])
    labels = tuple(dict.fromkeys(e.label for e in cited))
    if not certain or plan.event.kinds == ("appeared",):
        doubt = "it had been there before, hidden," if certain else f"that was{time_asked(run, found)}"
        return ambiguous(f"{_sentence(told)} Whether {doubt} I can't tell.", cited, labels)
    if plan.form is Form.COUNT and "times" in plan.question.casefold().split():
        each = "; ".join(event_text(run, e) for e in certain[-5:])
        return answered(f"{wording.capital(wording.plural('time', len(certain)))}: {each}.", len(certain), cited)
    if plan.form is Form.COUNT:
        return answered(f"{len(cited)}: {told}.", len(cited), cited)
    if plan.form is Form.LOCATE:
        last = newest[cited[0].entry_id]
        used_to = any(k.op is TemporalOp.CHANGE for k in plan.target.temporal)  # 'where did it use to be'
        place = last.from_place if used_to and last.from_place is not None else last.place
        return answered(_sentence(told), place, cited, cited[0].frame)
    if plan.form is Form.EXISTS:
        return answered(f"Yes: {told}.", True, cited)
    return answered(_sentence(told), labels, cited)


def _rank(plan: Plan) -> int:
    """1 for 'what was moved first', 2 for the second, -1 for the last; 0: no order is asked."""
    ranks = {TemporalOp.FIRST: 1, TemporalOp.LAST: -1}
    return next((ranks.get(k.op) or k.rank for k in plan.target.temporal if k.op in (*ranks, TemporalOp.NTH)), 0)


def _in_order(run: Run, found: Found, events: list[Event], rank: int) -> Draft:
    """The one of several events that is asked for; AMBIGUOUS where another's bounds leave the order open."""
    if rank > len(events):
        return not_seen(f"I noticed it only {wording.plural('time', len(events))}.", ())
    event = events[rank - 1] if rank > 0 else events[-1]
    rivals = [
        e for e in events if e is not event and e.latest_ns > event.earliest_ns and e.earliest_ns < event.latest_ns
    ]
    cited = [e for e in found.evidence if e.entry_id in {v.entry_id for v in (event, *rivals)}]
    told = "; ".join(event_text(run, e) for e in (event, *rivals))
    labels = tuple(dict.fromkeys(e.label for e in (event, *rivals)))
    if rivals:
        return ambiguous(f"{_sentence(told)} In which order that was I can't tell.", cited, labels)
    return answered(_sentence(told), labels, cited)


def history(run: Run, found: Found) -> Draft:
    """'what happened to the mug': everything that was noticed of it, oldest first, and where it is now."""
    events = run.happened_to(found.evidence, EventKey(kinds=("moved", "disappeared", "reappeared", "changed")))
    events = [e for e in events if e.latest_ns >= found.window.start_ns and e.earliest_ns < found.window.end_ns]
    if not events:
        return not_seen(f"I noticed nothing that happened to the {noun(found.plan)}.", None, found.evidence[:1])
    told = "; ".join(event_text(run, e) for e in events[-5:])
    cited = [e for e in found.evidence if e.entry_id in {v.entry_id for v in events}]
    return answered(_sentence(told), tuple(dict.fromkeys(e.kind.name.lower() for e in events)), cited)


def happened(run: Run, found: Found, key: EventKey, negate: bool) -> Draft:
    """'was the mug moved': yes with the event; no only as far as it was watched."""
    plan, window = found.plan, found.window
    events = run.events_in(found.retrieval, found.evidence, key)
    events = [e for e in events if e.latest_ns >= window.start_ns and e.earliest_ns < window.end_ns]
    if events:
        cited = [e for e in found.evidence if e.entry_id == events[-1].entry_id]
        if not any(e.earliest_ns >= window.start_ns and e.latest_ns < window.end_ns for e in events):
            text = f"{_sentence(event_text(run, events[-1]))} Whether that was{time_asked(run, found)} I can't tell."
            return ambiguous(text, cited)
        return answered(f"{'No' if negate else 'Yes'}: {event_text(run, events[-1])}.", not negate, cited)
    lost = [e for e in found.evidence if e.state is EntryState.GONE]
    if lost and "moved" in key.kinds:
        last = max(lost, key=lambda e: e.last_seen)
        text = (
            f"The {wording.thing(last)} {wording.be(last.label)} gone from {wording.point(last.box.pose.position)}, "
            f"last seen there {wording.when(last.last_seen, run.now_ns, run.zone)}; moved or taken away, I can't tell."
        )
        alike = [e for e in found.evidence if e.first_seen > last.last_seen and e.label == last.label][:5]
        if alike:
            where = wording.listed([wording.point(e.box.pose.position) for e in alike])
            text += f" A {last.label} that may be the same was first seen later at {where}."
        return ambiguous(text, [last, *alike])
    was_away = run.events_in(found.retrieval, found.evidence, EventKey(kinds=("disappeared", "reappeared")))
    if was_away and "moved" in key.kinds:
        cited = [e for e in found.evidence if e.entry_id == was_away[-1].entry_id]
        told = "; ".join(event_text(run, e) for e in was_away[-2:])
        return ambiguous(f"I didn't see that the {cited[0].label} {_what(key, cited[0].label)}, but {told}.", cited)
    known = [e for e in found.evidence if well_seen(e)] or list(found.evidence)
    best = max(known, key=lambda e: e.last_seen)
    first, last_seen = (wording.ago(t, run.now_ns) for t in (best.first_seen, best.last_seen))
    many = f"any of the {wording.plural(noun(plan), len(known))}" if len(known) > 1 else ""
    text = f"I didn't notice that {many or f'the {wording.thing(best)}'} {_what(key, '' if many else best.label)}; "
    it = "the latest of them" if many else "them" if wording.is_plural(best.label) else "it"
    text += f"I saw {it} from {first} until {last_seen}."
    draft = answered(f"{'Yes' if negate else 'No'}. {text}", negate, known)
    watched = all(e.state is not EntryState.GONE and e.first_seen < e.last_seen for e in known)
    return draft if watched else replace(draft, verdict=Verdict.NOT_SEEN, text=text, confidence=0.0)


def still_there(run: Run, found: Found, plan: Plan) -> Draft:
    """'is the backpack still there': present, gone, or moved to another place."""
    best = max(found.evidence, key=lambda e: (e.state is not EntryState.GONE, e.last_seen))
    assert plan.claim is not None
    yes = not plan.claim.negate
    when_seen = wording.when(best.last_seen, run.now_ns, run.zone)
    name = wording.thing(best)
    if best.state is EntryState.GONE:
        return answered(f"{'No' if yes else 'Yes'}. {gone_text(run, best)}", not yes, [best])
    moves = run.events_in(found.retrieval, [best], EventKey(kinds=("moved",)))
    if moves and plan.claim.still:
        return answered(f"{'No' if yes else 'Yes'}: {event_text(run, moves[-1])}.", not yes, [best])
    text = f"{'Yes' if yes else 'No'}. The {name} {wording.be(name)} {wording.spot(best)}, seen {when_seen}."
    return answered(text, yes, [best])
