"""Whether a plan that a model wrote says what the question says: no words of its own, nothing missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from r4_ros.reasoner import lexicon, parse
from r4_ros.reasoner.keys import EventKey, Form, Plan, Reference, SpatialKey, TemporalOp

FREE = frozenset("a an the of in on at to my your his her its our their some any this that room place s".split())
LASTING = ("color", "material")
GENERIC = frozenset("room rooms robot robots".split())
SHORTEST = 3  # letters that two forms of one word share at least


def foreign_words(plan: Plan) -> list[str]:
    """What is in a plan and not in its question, or missing for its form, each as one line for the one who wrote it.

    Only questions in English are held against their words: a plan of another language's is a translation.
    """
    problems = _missing(plan)
    if not parse.is_english(plan.question):
        return problems
    said = Said(plan.question)
    strange = [(where, text) for where, text in _texts(plan) if text not in said]
    problems += [f"{where}: '{text}' isn't in the question; use its words" for where, text in strange]
    return problems + [f"the plan says nothing of '{name}'" for name in said.restricting() if not _tells(plan, name)]


class Said:
    """The words of a question, their lemmas, and the properties that they mean ('unlocked' is open)."""

    def __init__(self, question: str) -> None:
        self._reading = parse.read(question)
        words = _words(question)
        self._run_together = "".join(words)
        meant = [lexicon.property_of(word) for word in words]
        self._words = {*words, *(w.lemma for w in self._reading.words), *(value for _, value in filter(None, meant))}

    def __contains__(self, text: str) -> bool:
        words = [w for w in _words(text) if w not in FREE]
        if not words or "".join(words) in self._run_together:
            return True
        synonyms = [_words(label) for label in lexicon.labels_for(text.casefold())]
        return all(self._has(w) for w in words) or any(self._words.issuperset(label) for label in synonyms)

    def _has(self, word: str) -> bool:
        return any(_akin(word, said) for said in self._words)

    def restricting(self) -> list[str]:
        """Words that restrict whatever is asked: names ('Gina'), known kinds of things, rooms, colours, materials."""
        words = self._reading.words
        found = [w.text for w in words if w.tag in ("NNP", "NNPS") and w.text[:1].isupper() and w.i]
        nouns = [phrase.noun for phrase in self._reading.phrases]
        found += [noun for noun in nouns if lexicon.exact_kind(noun) is not None or lexicon.is_room(noun)]
        lasting = [w.lower for w in words if (lexicon.property_of(w.lower) or ("",))[0] in LASTING]
        return [word for word in found + lasting if word not in GENERIC]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _akin(a: str, b: str) -> bool:
    """Whether two words are forms of one: they differ in their last three letters at most ('key', 'keys')."""
    if a == b:
        return True
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return shared >= SHORTEST and max(len(a), len(b)) - shared <= 3


def _texts(plan: Plan) -> Iterator[tuple[str, str]]:
    """Every text of a plan that decides what is found, with where it stands."""
    for i, step in enumerate(plan.steps):
        key = step.semantic
        yield f"steps.{i}.semantic.text", key.text
        yield f"steps.{i}.semantic.purpose", key.purpose
        yield from ((f"steps.{i}.semantic.exclude", text) for text in key.exclude)
        yield from ((f"steps.{i}.semantic.attributes", a.value) for a in key.attributes)
        yield from ((f"steps.{i}.agents", agent) for agent in step.agents)
        yield from ((f"steps.{i}.temporal", t) for k in step.temporal for t in (k.arg, *_of_event(k.event)))
        extreme = step.superlative
        references = [extreme.reference] if extreme is not None else []
        yield from _of_places(f"steps.{i}.spatial", step.spatial, references)
    claim = plan.claim
    if claim is not None:
        yield from _of_places("claim.spatial", (claim.spatial,) if claim.spatial is not None else ())
        yield "claim.attribute", claim.attribute.value if claim.attribute is not None else ""
        yield from (("claim.event", text) for text in _of_event(claim.event))
    yield from _of_places("ego", plan.ego)
    yield from _of_places("alternatives", plan.alternatives)
    yield from _of_places("to_other", (), [plan.to_other])
    yield from (("choices", choice) for choice in plan.choices)
    yield from (("event", text) for text in _of_event(plan.event))


def _of_event(event: EventKey | None) -> tuple[str, ...]:
    return () if event is None else (event.region, event.agent, event.text)


def _of_places(
    where: str, places: tuple[SpatialKey, ...], more: list[Reference | None] | None = None
) -> Iterator[tuple[str, str]]:
    references = [r for p in places for r in (p.reference, p.other, p.subject)] + (more or [])
    yield from ((where, r.region) for r in references if r is not None and r.region)


def _tells(plan: Plan, name: str) -> bool:
    """Whether a word of the question, a form, a synonym or the property that it means is in the plan."""
    texts = [text.casefold() for _, text in _texts(plan)]
    kind, last = lexicon.exact_kind(name), _words(name)[-1]
    if plan.unsupported or (kind is not None and kind in {lexicon.exact_kind(text) for text in texts}):
        return True
    meant = lexicon.property_of(last) or ("", last)
    return any(_akin(last, word) or word == meant[1] for text in texts for word in _words(text))


def _missing(plan: Plan) -> list[str]:
    """What a form can't be answered without."""
    problems = []
    if plan.form is Form.CHOOSE and len(plan.choices) < 2:
        problems.append("choices: the form 'choose' needs the alternatives")
    if plan.alternatives and len(plan.alternatives) != len(plan.choices):
        problems.append("alternatives: as many as choices, or none")
    if plan.form in (Form.COMPARE, Form.ORDER) and plan.compared is None:
        problems.append(f"compared: the form '{plan.form.value}' needs it")
    if plan.form in (Form.DISTANCE, Form.DIRECTION) and plan.to_other is None:
        problems.append('to_other: distances and directions need their other end, {"kind": "ego"} for the asker')
    if plan.form in (Form.ATTRIBUTE, Form.STATE) and plan.asked is None:
        problems.append(f"asked: the form '{plan.form.value}' needs the property")
    operators = [key.op for step in plan.steps for key in step.temporal]
    if TemporalOp.NONE in operators:
        problems.append("temporal: the operator 'none' is never written; leave the key out")
    return problems
