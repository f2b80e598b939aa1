"""What serves a purpose: by its verb where that is known, else by how alike it is to what kinds of things are for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from r4_ros.core.errors import Unavailable, UnsupportedQuestion
from r4_ros.core.ports import Embedder
from r4_ros.reasoner import lexicon, uses_words
from r4_ros.reasoner.keys import Form, Plan
from r4_ros.reasoner.uses_words import USES

FITTED_FOR = "minilm"  # part of the model's name; other models' similarities mean something else
ALIKE, CLOSE = 0.5, 0.1  # fitted on 40 purposes; what is nearly as alike as the best may be meant too


@dataclass(frozen=True)
class Served:
    """A plan whose purpose has become kinds; ``guessed``: by likeness of texts, so that they may serve."""

    plan: Plan
    guessed: bool = False


def served(plan: Plan, embedder: Embedder | None = None) -> Served:
    """A purpose becomes the kinds that serve it. Raises UnsupportedQuestion for a purpose that isn't known."""
    purpose = plan.target.semantic.purpose
    if not purpose:
        return Served(plan)
    kinds = _known(plan, purpose)
    found = kinds or alike(purpose, embedder)
    if not found:
        raise UnsupportedQuestion(f"it isn't known what serves to {purpose}")
    labels = tuple(dict.fromkeys(label for kind in found for label in lexicon.labels_for(kind)))
    semantic = plan.target.semantic.model_copy(update={"labels": labels})
    target = plan.target.model_copy(update={"semantic": semantic})
    return Served(plan.model_copy(update={"steps": (*plan.steps[:-1], target)}), not kinds)


def _known(plan: Plan, purpose: str) -> tuple[str, ...]:
    serving = uses_words.PURPOSES
    if plan.form in (Form.LOCATE, Form.NAVIGATE) or "somewhere" in plan.question.casefold():
        serving = uses_words.PURPOSES | uses_words.PLACES_FOR
    certain = () if " the " in f" {purpose} " else purpose.split()
    return next((serving[w] for w in certain if w in serving), ())


def alike(purpose: str, embedder: Embedder | None) -> tuple[str, ...]:
    """Kinds whose use is most like a purpose, best first; none where nothing is alike or nobody can tell."""
    if embedder is None or FITTED_FOR not in embedder.name.casefold():
        return ()
    try:
        likeness = embedder.embed([use for _, use in described()]) @ embedder.embed([purpose])[0]
    except Unavailable:
        return ()
    best: dict[str, float] = {}
    for (kind, _), value in zip(described(), likeness.tolist(), strict=True):
        best[kind] = max(best.get(kind, -1.0), value)
    top = max(best.values())
    order = sorted(best, key=lambda kind: -best[kind])
    return tuple(k for k in order if best[k] >= max(ALIKE, top - CLOSE))


@lru_cache(maxsize=1)
def described() -> tuple[tuple[str, str], ...]:
    """Each (kind, use)."""
    rows = (line.split(" = ") for line in USES.strip().splitlines())
    return tuple((kind, use) for kind, uses in rows for use in uses.split(", "))
