"""What robots disagree about, told beside the answer that it concerns; and places that mean nothing to the asker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from itertools import groupby

from r4_ros.core.model import Claim, Evidence, Verdict, Visibility
from r4_ros.reasoner import wording
from r4_ros.reasoner.draft import Draft
from r4_ros.reasoner.keys import Form

ALWAYS = frozenset({"presence", "place"})
METRES = frozenset({Form.NAVIGATE, Form.DIRECTION, Form.DISTANCE})
OF_PLACE = frozenset({*METRES, Form.LOCATE})
CLEARLY = {
    Visibility.VISIBLE: "in plain view",
    Visibility.TRUNCATED: "cut off by the image's border",
    Visibility.OCCLUDED: "partly hidden",
}
TOLD = 2  # things of which disagreement is told


def told(draft: Draft, question: str, form: Form | None, now_ns: int, zone: tzinfo) -> Draft:
    """The draft with who says otherwise of what it claims: of places and presence, and of attributes spoken of."""
    said = " ".join([question, draft.text]).casefold()
    places = form is None or form in OF_PLACE
    notes = []
    for e in draft.evidence[:TOLD]:
        for about, group in groupby(e.claims, key=lambda claim: claim.about):
            claims = list(group)
            if _concerns(about, claims, said) and (about != "place" or (places and e.place_known)):
                notes.append(_note(e, about, claims, now_ns, zone))
    return replace(draft, text=" ".join([draft.text, *dict.fromkeys(notes)])) if notes else draft


def _concerns(about: str, claims: Sequence[Claim], said: str) -> bool:
    words = said.replace("?", " ").replace(".", " ").replace(",", " ").split()
    spoken = {about.casefold(), *(claim.value.casefold() for claim in claims)}
    return about in ALWAYS or any(word in words or (" " in word and word in said) for word in spoken)


def _note(evidence: Evidence, about: str, claims: Sequence[Claim], now_ns: int, zone: tzinfo) -> str:
    name = wording.thing(evidence) if about in ALWAYS else evidence.label
    each = [f"{c.agent_id} {_saw(about, c)} {wording.when(c.stamp_ns, now_ns, zone)}{_clearly(c)}" for c in claims]
    return f"The robots disagree about the {name}: {'; '.join(each)}."


def _saw(about: str, claim: Claim) -> str:
    if claim.value == "gone" and about == "presence":
        return "found it gone"
    if about == "place":
        x, y, z = (float(v) for v in claim.value.split())
        return f"saw it at {wording.point((x, y, z))}"
    return f"saw it {claim.value}"


def _clearly(claim: Claim) -> str:
    return f", {CLEARLY[claim.visibility]}" if claim.visibility in CLEARLY else ""


def without_metres(draft: Draft, form: Form | None) -> Draft:
    """No metres, directions or goals from a map that isn't aligned with the asker's: the answer says so instead."""
    away = [e for e in draft.evidence if not e.place_known]
    if form not in OF_PLACE or not away or any(e.place_known for e in draft.evidence):
        return draft
    if form is Form.LOCATE:
        return replace(draft, value=None, frame="")
    things = wording.listed([wording.thing(e) for e in away])
    maps = wording.listed(sorted({f"{e.agent_id}'s map '{e.map_id}'" for e in away}))
    text = f"The {things} {wording.be(things, count=len(away))} known on {maps} only, which isn't aligned with yours: "
    text += "where that is from here I can't tell."
    return Draft(text, Verdict.NOT_SEEN, None, draft.evidence)
