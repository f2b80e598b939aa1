"""'the keys, the remote and the laptop': each thing is asked of by itself, and the answers are told together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from r4_ros.core.errors import UnsupportedQuestion
from r4_ros.core.model import AnswerValue, Evidence, Verdict
from r4_ros.reasoner import lexicon
from r4_ros.reasoner.draft import Draft
from r4_ros.reasoner.keys import Attribute, Form, Plan, SemanticKey

FORMS = (Form.EXISTS, Form.COUNT, Form.LOCATE, Form.ATTRIBUTE, Form.STATE, Form.WHEN)
WORSE = (
    Verdict.ANSWERED,
    Verdict.STALE,
    Verdict.AMBIGUOUS,
    Verdict.NOT_SEEN,
    Verdict.NEVER_VISITED,
    Verdict.UNSUPPORTED,
    Verdict.TIMEOUT,
)
"""Of several verdicts the last of these is told."""


def answer(plan: Plan, of_one: Callable[[Plan], Draft]) -> Draft:
    """The answers to each thing, in one. Raises UnsupportedQuestion for forms that need one thing."""
    target = plan.target
    if plan.form not in FORMS or plan.choices or target.superlative is not None or target.number:
        raise UnsupportedQuestion("that is asked of several things at once; ask of one at a time")
    semantics = [target.semantic.model_copy(update={"also": ()}), *(named(said) for said in target.semantic.also)]
    plans = [
        plan.model_copy(update={"steps": (*plan.steps[:-1], target.model_copy(update={"semantic": s}))})
        for s in semantics
    ]
    return _joined(plan.form, [of_one(p) for p in plans])


def named(said: str) -> SemanticKey:
    """The kind and the properties that words name: 'green book'; the longest name that the lexicon knows."""
    words = said.split()
    known = (i for i in range(len(words)) if lexicon.exact_kind(" ".join(words[i:])) is not None)
    at = next(known, next((i for i, w in enumerate(words[:-1]) if lexicon.property_of(w) is None), len(words) - 1))
    noun = " ".join(words[at:])
    said_of = [(word, lexicon.property_of(word)) for word in words[:at]]
    attributes = tuple(Attribute(name=found[0] if found else "", value=word) for word, found in said_of)
    anything = lexicon.is_anything(noun)
    return SemanticKey(
        text=noun, labels=() if anything else lexicon.labels_for(noun), attributes=attributes, anything=anything
    )


def _joined(form: Form, drafts: Sequence[Draft]) -> Draft:
    """As sure as the least sure, with the worst verdict; one 'no' denies that all are there."""
    things: dict[str, Evidence] = {e.entry_id: e for d in drafts for e in d.evidence}
    worst = max(drafts, key=lambda d: WORSE.index(d.verdict))
    text, sure = " ".join(d.text for d in drafts), min(d.confidence for d in drafts)
    joined = replace(worst, text=text, value=None, evidence=tuple(things.values()), confidence=sure, frame="")
    denied = [d for d in drafts if d.verdict is Verdict.ANSWERED and d.value is False]
    if form is Form.EXISTS and denied:
        return replace(joined, verdict=Verdict.ANSWERED, value=False, confidence=max(d.confidence for d in denied))
    if worst.verdict is not Verdict.ANSWERED:
        return joined
    text = f"{len(things)} in all. {text}" if form is Form.COUNT else text
    return replace(joined, text=text, value=_value(form, drafts, len(things)))


def _value(form: Form, drafts: Sequence[Draft], known: int) -> AnswerValue:
    """Whether all are there, how many they are in all, all values; of places and times there is no single one."""
    if form is Form.EXISTS:
        return all(d.value is True for d in drafts)
    if form is Form.COUNT:
        return known
    values = [v for d in drafts if isinstance(d.value, tuple) for v in d.value]
    return tuple(dict.fromkeys(str(v) for v in values)) if form in (Form.ATTRIBUTE, Form.STATE) else None
