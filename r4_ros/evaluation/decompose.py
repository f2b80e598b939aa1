"""How well questions are read: the signature of each plan against labels that people gave.

Scores, each over the labelled questions (of several acceptable labels the nearest counts):

- ``form``, ``superlative``: share with exactly the label's (a superlative: what is compared, which end, from where).
- ``target``: share whose head noun is the label's, after lemma.
- ``spatial_f1``: mean over questions of the F1 of their (relation, anchor) pairs; 1 where neither has any.
- ``temporal``: F1 of each operator other than none that is labelled or predicted, averaged.
- ``all``: share with form, target, superlative and temporal operator right and an F1 of 1.

``ci95`` are percentile bootstrap intervals over questions.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.errors import InvalidArgument, UnsupportedQuestion
from r4_ros.reasoner.keys import Plan
from r4_ros.reasoner.signature import Signature, signature

Planner = Callable[[str], Plan]
SCORES = ("form", "target", "spatial_f1", "superlative", "temporal", "all")
RESAMPLES = 1000


@dataclass(frozen=True)
class Labelled:
    """A question with its acceptable signatures; none where nobody labelled it."""

    dataset: str
    id: str
    question: str
    labels: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Prediction:
    """What was understood of a question; no signature where no plan came out."""

    asked: Labelled
    signature: Signature | None
    reason: str
    seconds: float


@dataclass(frozen=True)
class Marks:
    """One question against its nearest label."""

    form: bool
    target: bool
    spatial_f1: float
    superlative: bool
    predicted_op: str
    labelled_op: str

    @property
    def right(self) -> float:
        """How much of it is right, 0..5."""
        return self.form + self.target + self.spatial_f1 + self.superlative + (self.predicted_op == self.labelled_op)

    @property
    def all(self) -> bool:
        """Whether every field is right."""
        return self.right > 5 - 1e-9


def read_questions(path: Path) -> list[Labelled]:
    """Questions of a JSONL file. Raises InvalidArgument, with the line, for what can't be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{path} can't be read: {error}") from error
    return [_question(f"{path}, line {i}", line) for i, line in enumerate(lines, 1) if line.strip()]


def _question(where: str, line: str) -> Labelled:
    try:
        row = json.loads(line)
        labels = tuple(row.get("labels") or ())
        if not isinstance(row["question"], str) or not all(isinstance(w, dict) and "form" in w for w in labels):
            raise TypeError("'question' must be a text, 'labels' a list of signatures")
        return Labelled(str(row.get("dataset", "")), str(row.get("id", "")), row["question"], labels)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"{where}: no question with 'question' and 'labels': {error}") from error


def predict(questions: Iterable[Labelled], planner: Planner) -> list[Prediction]:
    """The signature of each question's plan, with the time that it took."""
    with suppress(UnsupportedQuestion):
        planner("what is on the table")  # what is loaded at the first question isn't the planner's time
    return [_predict(q, planner) for q in questions]


def _predict(asked: Labelled, planner: Planner) -> Prediction:
    started = time.perf_counter()
    try:
        plan = planner(asked.question)
    except UnsupportedQuestion as error:
        return Prediction(asked, None, str(error), time.perf_counter() - started)
    seconds = time.perf_counter() - started
    return Prediction(asked, signature(plan), plan.unsupported, seconds)


def row(prediction: Prediction) -> dict[str, Any]:
    """One line of a predictions file."""
    asked = prediction.asked
    found: dict[str, Any] = {"dataset": asked.dataset, "id": asked.id, "question": asked.question}
    if prediction.reason:
        found["unsupported"] = prediction.reason
    return found | (prediction.signature or {})


def score(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """The figures of ``r4 eval decompose``; scores only where something is labelled."""
    ms = np.array([p.seconds * 1e3 for p in predictions] or [0.0])
    found: dict[str, Any] = {"n": len(predictions)}
    marks = [mark(p.signature, p.asked.labels) for p in predictions if p.asked.labels]
    if marks:
        found |= {name: round(value, 4) for name, value in _scores(marks).items()}
        found["ci95"] = _intervals(marks)
    found |= {
        "labelled": len(marks),
        "failed": sum(p.signature is None for p in predictions),
        "unsupported": sum(bool(p.reason) for p in predictions),
        "ms_p50": round(float(np.percentile(ms, 50)), 2),
        "ms_p99": round(float(np.percentile(ms, 99)), 2),
    }
    return found


def mark(predicted: Signature | None, labels: Sequence[Mapping[str, Any]]) -> Marks:
    """A signature against the nearest of its labels."""
    return max((_against(predicted, label) for label in labels), key=lambda m: m.right)


def _against(predicted: Signature | None, label: Mapping[str, Any]) -> Marks:
    wanted = label.get("temporal") or {}
    if predicted is None:
        return Marks(False, False, 0.0, False, "", wanted.get("op", "none"))
    return Marks(
        predicted["form"] == label["form"],
        head(predicted["target"]) == head(label.get("target") or ""),
        pairs_f1(predicted["spatial"], label.get("spatial") or ()),
        _extreme(predicted["superlative"]) == _extreme(label.get("superlative")),
        predicted["temporal"]["op"],
        wanted.get("op", "none"),
    )


def head(phrase: str) -> str:
    """The head noun of a noun phrase, as a lemma: 'recycling bins' is 'bin'."""
    words = phrase.casefold().replace("-", " ").split()
    return lemma(words[-1]) if words else ""


def lemma(noun: str) -> str:
    """A noun in the singular, by its ending; names that only look plural stay as they are on both sides."""
    for ending, put in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("elves", "elf")):
        if noun.endswith(ending) and len(noun) > len(ending) + 1:
            return noun[: -len(ending)] + put
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us")) else noun


def pairs_f1(predicted: Iterable[Mapping[str, Any]], labelled: Iterable[Mapping[str, Any]]) -> float:
    """F1 of (relation, anchor) pairs, anchors as noun phrases in the singular; 1 where there are none."""
    found, wanted = _pairs(predicted), _pairs(labelled)
    if not found and not wanted:
        return 1.0
    return 2 * len(found & wanted) / (len(found) + len(wanted))


def _pairs(spatial: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    return {(s["relation"], _anchor(s.get("anchor") or "")) for s in spatial}


def _anchor(phrase: str) -> str:
    *modifiers, last = phrase.casefold().replace("-", " ").split() or [""]
    return " ".join([*modifiers, lemma(last)])


def _extreme(superlative: Mapping[str, Any] | None) -> tuple[str, str, str] | None:
    if not superlative:
        return None
    return superlative["by"], superlative["direction"], head(superlative.get("from") or "")


def _scores(marks: Sequence[Marks]) -> dict[str, float]:
    return {
        "form": float(np.mean([m.form for m in marks])),
        "target": float(np.mean([m.target for m in marks])),
        "spatial_f1": float(np.mean([m.spatial_f1 for m in marks])),
        "superlative": float(np.mean([m.superlative for m in marks])),
        "temporal": _macro_f1(marks),
        "all": float(np.mean([m.all for m in marks])),
    }


def _macro_f1(marks: Sequence[Marks]) -> float:
    """Mean F1 over the operators other than none; 1 where none is labelled or predicted."""
    ops = {op for m in marks for op in (m.predicted_op, m.labelled_op)} - {"none", ""}
    f1 = []
    for op in sorted(ops):
        hits = sum(m.predicted_op == m.labelled_op == op for m in marks)
        f1.append(2 * hits / sum((m.predicted_op == op) + (m.labelled_op == op) for m in marks))
    return float(np.mean(f1)) if f1 else 1.0


def _intervals(marks: Sequence[Marks]) -> dict[str, list[float]]:
    rng = np.random.default_rng(0)
    draws = [_scores([marks[i] for i in rng.integers(0, len(marks), len(marks))]) for _ in range(RESAMPLES)]
    low_high = {name: np.percentile([d[name] for d in draws], (2.5, 97.5)) for name in SCORES}
    return {name: [round(float(v), 4) for v in bounds] for name, bounds in low_high.items()}
