"""Claims that rest on what may be a mistake of the recogniser: hedged, never dropped without a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from r4_ros.core.model import Evidence, Verdict
from r4_ros.reasoner import wording
from r4_ros.reasoner.draft import Draft
from r4_ros.reasoner.keys import Form
from r4_ros.reasoner.news import well_seen

OF_ONE = frozenset({Form.EXISTS.value, Form.LOCATE.value})
DISPUTED = 0.6  # of the votes for a label and for the next best one: with less, it may be either


def hedged(draft: Draft, form: Form | None = None) -> Draft:
    """AMBIGUOUS where something that the claim cites was seen too little, or is called one thing and another."""
    if draft.verdict is not Verdict.ANSWERED:
        return draft
    reasons = [why for e in claimed(draft.evidence, "" if form is None else form.value) if (why := _doubt(e))]
    if not reasons:
        return draft
    text = f"{draft.text} {' '.join(dict.fromkeys(reasons))}"
    return replace(draft, text=text, verdict=Verdict.AMBIGUOUS, confidence=draft.confidence / 2)


def claimed(evidence: Sequence[Evidence], form: str) -> Sequence[Evidence]:
    """What a claim is about: of a place or an existence only the first piece of what is cited."""
    return evidence[:1] if form in OF_ONE else evidence


def unless_mistaken(draft: Draft, mistaken: Sequence[Evidence]) -> Draft:
    """No certain 'no' where something was seen that is taken for a mistake: NOT_SEEN, and what that was."""
    if not mistaken:
        return draft
    text = f"{draft.text} {_left_out(mistaken)}"
    verdict = Verdict.NOT_SEEN if draft.verdict is Verdict.ANSWERED else draft.verdict
    return replace(draft, text=text, verdict=verdict, confidence=0.0)


def _doubt(evidence: Evidence) -> str:
    name = wording.thing(evidence)
    if not well_seen(evidence):
        return f"The {name} was seen in {_frames(evidence)} only{_missed(evidence)}; that may be a mistake."
    if evidence.label_share < DISPUTED:
        return f"Whether it is {wording.article(evidence.label)} isn't certain: it was called something else as well."
    return ""


def _left_out(mistaken: Sequence[Evidence]) -> str:
    each = [
        f"{wording.article(wording.thing(e))} {wording.spot(e)}, seen in {_frames(e)}{_missed(e)}" for e in mistaken[:3]
    ]
    return f"I take this for a mistake: {'; '.join(each)}."


def _missed(evidence: Evidence) -> str:
    return f", and not in {evidence.missed} other looks at its place" if evidence.missed else ""


def _frames(evidence: Evidence) -> str:
    return "one frame" if evidence.count == 1 else f"{evidence.count} frames"
