"""Which of the things that a retrieval gave may be meant: the words of the question know reasons against some."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from r4_ros.core.geometry import bounds, box_gap
from r4_ros.core.model import Evidence
from r4_ros.reasoner import lexicon
from r4_ros.reasoner.keys import Step
from r4_ros.reasoner.news import BESIDE, mistaken, well_seen

INSIDE = 0.7  # a share of its box; two whole things can't fill one space
SLACK_M = 0.1
SELDOM, TOUCHING_M = 0.2, 0.02
ROBOT = "robot"
WALKING = frozenset({"person", "dog", "cat"})


class LeftOut(NamedTuple):
    """What may be a mistake of the recogniser, and what is taken for one."""

    doubtful: Sequence[Evidence]
    mistaken: Sequence[Evidence]


NOTHING = LeftOut((), ())


def sifted(step: Step, entries: Sequence[Evidence], robots: bool = False) -> tuple[Evidence, ...]:
    """The entries that a step may mean: no known other kind, the surest kinds, whole things only.

    Robots are left out where the noun doesn't name them, unless ``robots``.
    """
    text = step.semantic.text
    kept = [e for e in entries if is_meant(step, e) and not _is_denied(step, e)]
    if not robots and (lexicon.exact_kind(text) != ROBOT):
        kept = [e for e in kept if lexicon.kind_of(e.label) != ROBOT]
    if text and not step.semantic.anything:  # a bookcase is a shelf, not the reverse; what sounds alike comes last
        certain = [e for e in kept if lexicon.same_kind(text, e.label)]
        named = [e for e in certain if e.label.casefold() == text and lexicon.exact_kind(text) != text]
        kept = named or certain or kept
    better = [e for e in kept if not lexicon.is_stand_in(text, e.label)]
    return one_walker(whole(_owned(step, better or kept)))


def parted(entries: Sequence[Evidence]) -> tuple[tuple[Evidence, ...], LeftOut]:
    """``firm`` entries, and what they leave out."""
    kept = firm(entries)
    left = [e for e in entries if all(e is not k for k in kept)]
    return kept, LeftOut([e for e in left if not is_mistake(e)], [e for e in left if is_mistake(e)])


def firm(entries: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Without those that may be mistakes of the recogniser, beside others; with them where there are no others.

    What is hardly anything but a mistake is left out in any case.
    """
    surest = tuple(e for e in entries if well_seen(e, BESIDE))
    sure = surest or tuple(e for e in entries if well_seen(e))
    return sure or tuple(e for e in entries if not is_mistake(e))


def is_mistake(evidence: Evidence) -> bool:
    """Whether it is taken for one. Robots go about, so that they are hardly seen twice in one place."""
    return mistaken(evidence) and lexicon.kind_of(evidence.label) != ROBOT


def _is_denied(step: Step, evidence: Evidence) -> bool:
    """Whether it has, or may have, a property that the question says the thing hasn't: 'a cup that isn't red'."""
    for denied in (a for a in step.semantic.attributes if a.negate and a.is_known):
        values = [value for name, value in evidence.attributes if name == denied.name]
        if not values or any(lexicon.same_value(denied.name, denied.value, value) for value in values):
            return True
    return False


def _owned(step: Step, entries: Sequence[Evidence]) -> Sequence[Evidence]:
    """Those that somebody said are the asked person's, where there are any; and not what is known to be another's."""
    owners = {a.value for a in step.semantic.attributes if a.name == "owner" and not a.negate}
    if not owners:
        return entries
    known = {e.entry_id: {v.casefold() for name, v in e.attributes if name == "owner"} for e in entries}
    theirs = [e for e in entries if owners & known[e.entry_id]]
    return theirs or [e for e in entries if not known[e.entry_id]]


def is_piece_of(evidence: Evidence, anchors: Sequence[Evidence]) -> bool:
    """Whether an entry is a part of one of the things referred to, or the reverse: the rim of a sink in the sink."""
    kind = lexicon.kind_of(evidence.label) or evidence.label
    alike = [a for a in anchors if (lexicon.kind_of(a.label) or a.label) == kind]
    return any(_holds(a, evidence) or _holds(evidence, a) or _chips(a, evidence) for a in alike)


def is_meant(step: Step, evidence: Evidence) -> bool:
    """Whether an entry may be what a step asks for: the words know no reason against it."""
    semantic = step.semantic
    if semantic.anything or not semantic.text:
        return (
            semantic.anything
            or not semantic.labels
            or any(lexicon.same_kind(n, evidence.label) for n in semantic.labels)
        )
    if semantic.name:
        return evidence.label.casefold() == semantic.text or is_called(evidence, semantic.text)
    return lexicon.same_kind(semantic.text, evidence.label) is not False


def is_called(evidence: Evidence, name: str) -> bool:
    """Whether somebody said that this is its name."""
    return any(key == "name" and value.casefold() == name for key, value in evidence.attributes)


def whole(entries: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Without the pieces: what lies inside another thing of its kind and state is a part of it, seen on its own.

    So is a small and seldom seen one that touches it.
    """
    kinds: dict[tuple[str, bool], list[Evidence]] = {}
    for e in entries:
        kinds.setdefault((lexicon.kind_of(e.label) or e.label, e.state.name == "GONE"), []).append(e)
    pieces = {e.entry_id for alike in kinds.values() if len(alike) > 1 for e in _pieces(alike)}
    return tuple(e for e in entries if e.entry_id not in pieces)


def walks(evidence: Evidence) -> bool:
    """Whether it goes about by itself, so that it is found in many places and is one all the same."""
    return lexicon.kind_of(evidence.label) in WALKING


def one_walker(entries: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """People and animals seen one after the other in several places may be one: told as one, with the latest place.

    Only what was in view at the same time, differs in colour, or has different names is surely several.
    """
    walkers: list[list[Evidence]] = []
    for e in sorted((e for e in entries if walks(e)), key=lambda e: -e.last_seen):
        one = next((w for w in walkers if all(_may_be_one(e, other) for other in w)), None)
        if one is None:
            walkers.append([e])
        else:
            one.append(e)
    told = {w[0].entry_id: _as_one(w) for w in walkers}
    return tuple(told.get(e.entry_id, e) for e in entries if not walks(e) or e.entry_id in told)


def _may_be_one(a: Evidence, b: Evidence) -> bool:
    differ = any(dict(a.attributes).get(k, v) != v for k, v in b.attributes if k in ("color", "name"))
    together = any(p.start < q.end and q.start < p.end for p in a.sightings for q in b.sightings)
    return not differ and not together and a.map_id == b.map_id


def _as_one(seen: Sequence[Evidence]) -> Evidence:
    """The one seen last, with all that was seen of it."""
    if len(seen) == 1:
        return seen[0]
    sightings = tuple(sorted((i for e in seen for i in e.sightings), key=lambda i: i.start))
    first, count = min(e.first_seen for e in seen), sum(e.count for e in seen)
    there = 1 - math.prod(1 - e.existence for e in seen)
    return replace(seen[0], first_seen=first, sightings=sightings, count=count, existence=there)


def _pieces(alike: Sequence[Evidence]) -> list[Evidence]:
    """Those of one kind that are parts of another: all pairs at once, by the rules of ``_holds`` and ``_chips``."""
    corners = np.array([bounds(e.box) for e in alike])  # [n, 2, 3]
    low, high = corners[:, 0], corners[:, 1]
    size = high - low
    maps = np.unique([e.map_id for e in alike], return_inverse=True)[1]
    other_map = maps[:, None] != maps[None]
    area, volume = size[:, :2].prod(axis=1), np.array([float(np.prod(e.box.extent)) for e in alike])
    slack = np.minimum(SLACK_M, 0.25 * size)
    slack[:, 2] = np.minimum(SLACK_M, 0.05 * size[:, :2].max(axis=1))
    shared = np.minimum((high + slack)[:, None], high[None]) - np.maximum((low - slack)[:, None], low[None])
    inside = (np.clip(shared, 0, None) / np.maximum(size, 1e-6)[None]).prod(axis=2)  # [whole, piece]
    holds = (inside >= INSIDE) & (area[None] < area[:, None])
    apart = np.clip(np.maximum(low[:, None] - high[None], low[None] - high[:, None]), 0, None)
    counts = np.array([e.count for e in alike])
    seldom = counts[None] <= SELDOM * counts[:, None]
    small = volume[None] < SELDOM * volume[:, None]
    chips = seldom & small & (np.linalg.norm(apart, axis=2) <= TOUCHING_M)
    held = ((holds | chips) & ~other_map & ~np.eye(len(alike), dtype=bool)).any(axis=0)
    return [e for e, part in zip(alike, held.tolist(), strict=True) if part]


def _chips(other: Evidence, piece: Evidence) -> bool:
    if other.map_id != piece.map_id or piece.count > SELDOM * other.count:
        return False
    small = float(np.prod(piece.box.extent)) < SELDOM * float(np.prod(other.box.extent))
    return small and box_gap(other.box, piece.box) <= TOUCHING_M


def _holds(other: Evidence, piece: Evidence) -> bool:
    """Whether a piece lies inside a larger thing, grown by a tenth (0.1 m at most; flat ones upwards as well)."""
    low, high = bounds(other.box)
    size = high - low
    piece_low, piece_high = bounds(piece.box)
    extent = piece_high - piece_low
    if float(extent[:2].prod()) >= float(size[:2].prod()) or other.map_id != piece.map_id:
        return False
    slack = np.minimum(SLACK_M, 0.25 * size)
    slack[2] = min(SLACK_M, 0.05 * float(size[:2].max()))
    shared = np.clip(np.minimum(high + slack, piece_high) - np.maximum(low - slack, piece_low), 0, None)
    return float(np.prod(shared / np.maximum(extent, 1e-6))) >= INSIDE
