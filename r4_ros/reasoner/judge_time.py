"""Answers of time and change: when, what was moved, is it still there."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.core.model import NS_PER_S, EntryState, Event, EventKind, Evidence, Verdict
from r4_ros.reasoner import wording
from r4_ros.reasoner.draft import Draft, absent, ambiguous, answered, not_seen, noun, time_asked, unsupported
from r4_ros.reasoner.keys import EVENT_KINDS, EventKey, Form, Plan, TemporalOp
from r4_ros.reasoner.run import Found, Run

HAPPENED = {
    EventKind.APPEARED: "appeared",
    EventKind.MOVED: "was moved",
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
    return f"The {wording.thing(evidence)}{many} was {which} seen {wording.when(stamp, run.now_ns, run.zone)}{by}."


def event_time(run: Run, found: Found, key: EventKey) -> Draft:
    """When something happened to the things found; the last time, or the first if that is asked."""
    events = run.events_in(found.retrieval, found.evidence, key)
    what = _what(key)
    if not events:
        return not_seen(f"I didn't notice that the {noun(found.plan)} {what}.", None, found.evidence[:1])
    first = any(k.op is TemporalOp.FIRST for k in found.plan.target.temporal)
    event = events[0] if first else events[-1]
    cited = [e for e in found.evidence if e.entry_id == event.entry_id]
    return answered(_sentence(event_text(run, event)), event.stamp_ns, cited)


def event_text(run: Run, event: Event) -> str:
    """'the cup was moved 20 s ago, at 10:02:13 UTC, from (..) m to (..) m', with its bounds where they are wide."""
    text = f"the {event.label} {HAPPENED[event.kind]} {wording.when(event.stamp_ns, run.now_ns, run.zone)}"
    if event.kind is EventKind.MOVED and event.from_place is not None:
        text += f", from {wording.point(event.from_place)} to {wording.point(event.place)}"
    if event.kind is EventKind.DISAPPEARED:
        text += f" from {wording.point(event.place)}"
    if event.latest_ns - event.earliest_ns > NS_PER_S:
        early, late = (wording.ago(t, run.now_ns) for t in (event.earliest_ns, event.latest_ns))
        text += f" (it happened between {early} and {late})"
    return text


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _what(key: EventKey) -> str:
    return wording.listed([HAPPENED[EVENT_KINDS[k]] for k in key.kinds]).replace(" and ", " or ")


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
    newest = {e.entry_id: e for e in events}
    cited = [e for e in found.evidence if e.entry_id in newest]
    cited.sort(key=lambda e: -newest[e.entry_id].stamp_ns)
    told = "; ".join(event_text(run, newest[e.entry_id]) for e in cited[:5])
    if plan.form is Form.COUNT:
        return answered(f"{len(cited)}: {told}.", len(cited), cited)
    if plan.form is Form.LOCATE:
        last = newest[cited[0].entry_id]
        return answered(_sentence(told), last.place, cited, cited[0].frame)
    if plan.form is Form.EXISTS:
        return answered(f"Yes: {told}.", True, cited)
    return answered(_sentence(told), tuple(dict.fromkeys(e.label for e in cited)), cited)


def happened(run: Run, found: Found, key: EventKey, negate: bool) -> Draft:
    """'was the mug moved': yes with the event; no only as far as it was watched."""
    events = run.events_in(found.retrieval, found.evidence, key)
    window = found.window
    events = [e for e in events if e.latest_ns >= window.start_ns and e.earliest_ns < window.end_ns]
    if events:
        cited = [e for e in found.evidence if e.entry_id == events[-1].entry_id]
        return answered(f"{'No' if negate else 'Yes'}: {event_text(run, events[-1])}.", not negate, cited)
    lost = [e for e in found.evidence if e.state is EntryState.GONE]
    if lost and "moved" in key.kinds:
        last = max(lost, key=lambda e: e.last_seen)
        text = (
            f"The {wording.thing(last)} is gone from {wording.point(last.box.pose.position)}, last seen there "
            f"{wording.when(last.last_seen, run.now_ns, run.zone)}; whether it was moved or taken away I can't tell."
        )
        alike = [e for e in found.evidence if e.first_seen > last.last_seen and e.label == last.label][:5]
        if alike:
            where = wording.listed([wording.point(e.box.pose.position) for e in alike])
            text += f" A {last.label} that may be the same was first seen later at {where}."
        return ambiguous(text, [last, *alike])
    best = max(found.evidence, key=lambda e: e.last_seen)
    first, last_seen = (wording.ago(t, run.now_ns) for t in (best.first_seen, best.last_seen))
    text = f"I didn't notice that the {wording.thing(best)} {_what(key)}; I saw it from {first} until {last_seen}."
    draft = answered(f"{'Yes' if negate else 'No'}. {text}", negate, [best])
    watched = best.state is not EntryState.GONE and best.first_seen < best.last_seen
    return draft if watched else replace(draft, verdict=Verdict.NOT_SEEN, text=text)


def still_there(run: Run, found: Found, plan: Plan) -> Draft:
    """'is the backpack still there': present, gone, or moved to another place."""
    best = max(found.evidence, key=lambda e: (e.state is EntryState.PRESENT, e.last_seen))
    assert plan.claim is not None
    yes = not plan.claim.negate
    when_seen = wording.when(best.last_seen, run.now_ns, run.zone)
    where = wording.point(best.box.pose.position)
    if best.state is EntryState.GONE:
        text = f"The {wording.thing(best)} was at {where}, last seen {when_seen}; it is gone since, I don't know where."
        return answered(f"{'No' if yes else 'Yes'}. {text}", not yes, [best])
    moves = run.events_in(found.retrieval, [best], EventKey(kinds=("moved",)))
    if moves and plan.claim.still:
        return answered(f"{'No' if yes else 'Yes'}: {event_text(run, moves[-1])}.", not yes, [best])
    text = f"{'Yes' if yes else 'No'}. The {wording.thing(best)} is at {where}, seen {when_seen}."
    return answered(text, yes, [best])


def duration(run: Run, found: Found) -> Draft:
    """Not told yet."""
    return absent(run, found) if not found.evidence else unsupported("How long things last can't be told yet.")
