"""Marks for answers: right, hedged, silent or wrong, and whether a claim was made that nothing seen bears out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from r4_ros.core.model import NS_PER_S, Vec3
from r4_ros.evaluation.sim.cases import SILENT, Case, Want
from r4_ros.evaluation.sim.truth import Truth

CITED_M = 0.5
SURFACE_M = 0.05
"""A place on the surface of a thing is its place: of what was seen from one side, nobody knows how deep it is."""


@dataclass(frozen=True)
class Mark:
    """right: as wanted. hedged: the right value, but AMBIGUOUS or STALE. silent: no claim where one was wanted.

    fabricated: ANSWERED, and the claim is false or cites what was not there. reason: why it isn't right.
    """

    right: bool
    hedged: bool = False
    silent: bool = False
    fabricated: bool = False
    reason: str = ""


def mark(case: Case, answer: Mapping[str, Any], truth: Truth | None) -> Mark:
    """Mark an answer (as of ``answer_to_dict``). Without a truth, what it cites isn't checked."""
    want, verdict = case.want, str(answer["verdict"])
    if want.kind == "none":
        return _mark_silence(case, answer)
    fits = _fits(want, answer.get("value"), str(answer.get("answer", "")))
    if want.kind == "bool" and want.value is False and verdict == "NOT_SEEN" and answer.get("value") is not True:
        return Mark(True)
    if verdict == "ANSWERED":
        stranger = _stranger(answer.get("evidence") or [], truth) if truth is not None else ""
        if fits and stranger:
            return Mark(False, fabricated=True, reason=f"cites a {stranger} where there was none")
        if fits:
            return Mark(True)
        value = answer.get("value")
        if _answers_another(want, value):
            return Mark(False, fabricated=bool(stranger), reason="another question is answered")
        return Mark(False, fabricated=not _is_incomplete(want, value), reason="wrong value")
    if fits and verdict in SILENT:
        return Mark(False, hedged=True, reason=f"right, but {verdict}")
    return Mark(False, silent=True, reason=verdict)


def _mark_silence(case: Case, answer: Mapping[str, Any]) -> Mark:
    """No claim is wanted; where several things can be meant, telling of all of them is right, too."""
    verdict = str(answer["verdict"])
    cited = {e["entry_id"] for e in answer.get("evidence") or []}
    if verdict in case.want.verdicts or (case.kind == "ambiguous" and len(cited) >= len(case.things)):
        return Mark(True)
    return Mark(False, fabricated=verdict == "ANSWERED" and case.kind != "ambiguous", reason=f"claimed: {verdict}")


def _fits(want: Want, value: Any, text: str) -> bool:
    if value is None:
        return False
    if want.kind == "bool":
        return (value == "yes" if value in ("yes", "no") else value) is want.value
    if want.kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and value == want.value
    if want.kind in ("number", "time"):
        tolerance = want.tolerance * (NS_PER_S if want.kind == "time" else 1)
        return _is_number(value) and abs(value - want.value) <= tolerance
    if want.kind == "place":
        return _is_place(value) and _lies_in(tuple(value), want)
    named = _names(value)
    if want.kind == "labels":
        return named == set(want.value)
    if _is_place(value):  # 'which room is it in' may be answered with its place, if that is said in words, too
        return _lies_in(tuple(value), want) and any(f" {word}" in text for word in want.value)
    return any(word in (next(iter(named_in_order(value)), "")) for word in want.value)


def named_in_order(value: Any) -> list[str]:
    """The names of a value: one text, or several."""
    return [value] if isinstance(value, str) else [str(v) for v in value] if isinstance(value, list) else []


def _names(value: Any) -> set[str]:
    return set(named_in_order(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_place(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 3 and all(_is_number(v) for v in value)


def _lies_in(place: tuple[float, ...], want: Want) -> bool:
    if want.centre is None or want.extent is None:
        return False
    inside = all(abs(p - c) <= e / 2 + SURFACE_M for p, c, e in zip(place, want.centre, want.extent, strict=True))
    return inside or math.dist(place, want.centre) <= want.tolerance


def _answers_another(want: Want, value: Any) -> bool:
    """Whether the value isn't of the wanted kind: what it claims is told beside the question."""
    yes_no = isinstance(value, bool) or value in ("yes", "no")
    return {
        "bool": not yes_no,
        "int": not isinstance(value, int) or yes_no,
        "number": not _is_number(value),
        "time": not _is_number(value),
        "place": not _is_place(value),
        "labels": not _names(value) or yes_no,
        "words": not (_names(value) or _is_place(value)) or yes_no,
    }[want.kind]


def _is_incomplete(want: Want, value: Any) -> bool:
    """What names nothing wrong, but not all that was asked: its claims hold."""
    if want.kind == "words" and _is_place(value):
        return _lies_in(tuple(value), want)
    return want.kind == "labels" and bool(_names(value)) and _names(value) < set(want.value)


def _stranger(evidence: Sequence[Mapping[str, Any]], truth: Truth) -> str:
    """The label of cited evidence that no thing of that kind stood at, at any time that it was seen; '' if none."""
    for cited in evidence:
        alike = [t for t in truth.things if t.label == cited["label"]]
        near = any(
            _is_near(tuple(cited["position"]), s.box.pose.position, s.box.extent) and t.glimpsed(s)
            for t in alike
            for s in t.stays
            if s.start_ns <= cited["last_seen"] and cited["first_seen"] < s.end_ns
        )
        near = near or any(
            w.label == cited["label"] and _is_near(tuple(cited["position"]), w.at(cited["last_seen"]), w.extent)
            for w in truth.walkers
        )
        if not near and cited["label"] != "robot":
            return str(cited["label"])
    return ""


def _is_near(a: tuple[float, ...], b: Vec3, extent: Vec3) -> bool:
    return math.dist(a, b) <= CITED_M + math.hypot(*extent) / 2
