"""How surely something is where an entry says: how often it was seen there, of the times that it should have been.

A recogniser errs: now and then it calls a thing by another's name, and what it says then looks like a new thing, in a
place that is looked at again and again without that thing being seen. Nothing in a single sighting tells. So what was
seldom seen is held against the views of its place: *hits* are sightings, *looks* these and the views in which it should
have been seen and wasn't: near enough, its place in the image and not hidden.

That it is there has the posterior odds (Bayes' rule, beta-binomial likelihoods)

    odds = PRIOR x B(hits + FOUND, misses + 1) / B(FOUND, 1) x B(1, ERRORS) / B(hits + 1, misses + ERRORS)

A thing that is there is recognised in most looks (beta prior with mean FOUND / (FOUND + 1)), what isn't there in few
(mean 1 / (1 + ERRORS)).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.core.geometry import rotation_matrix
from r4_ros.core.model import FOREVER, Box, Entry, FloatArray, Interval, Stay
from r4_ros.memory.coverage import BLOCKED_M, Coverage, Views

FOUND, ERRORS = 2.0, 100.0
PRIOR, ARRIVED, BEFORE = 0.3, 0.001, 3
"""Prior odds, and those of what was seen where several looks before had shown nothing: it must also have come there."""
ENOUGH = 12
"""What was seen so often at its place needs no looks to be believed."""
SHRUNK, IN_VIEW = 0.6, 0.5
"""A look has as much of the points of the box, so much smaller, in view."""
ABSENT = 3
"""Looks that found its place empty, where it is gone: it left, or never was there."""
FRAMES = 4
"""Frames of one view err alike: so many of them count."""
FARTHER, SPAN_RAD = 1.1, 0.07
"""Near enough is as far as it was usually seen from, or where it spans such an angle."""
_KEPT = 20_000
_SAME_NS = 5_000_000_000
_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)] + [(0, 0, 0)]) * SHRUNK / 2


@dataclass(frozen=True, slots=True)
class Seen:
    """How often a thing was seen at its place, and how often it should have been (at least as often).

    new: its place had been looked at before, several times, without it.
    """

    hits: int
    looks: int
    new: bool = False


def existence(seen: Iterable[Seen]) -> float:
    """How surely it is there, 0..1, by what one or several agents saw of it."""
    return 1 - math.prod(1 - posterior(one) for one in seen)


def posterior(seen: Seen) -> float:
    """That a thing is there which was seen in so many of the views that should have shown it; 0..1."""
    hits, misses = seen.hits, max(0, seen.looks - seen.hits)
    real = _log_beta(hits + FOUND, misses + 1) + math.log(FOUND)
    wrong = _log_beta(hits + 1, misses + ERRORS) + math.log(ERRORS)
    return 1 / (1 + math.exp(min(700.0, wrong - real)) / (ARRIVED if seen.new else PRIOR))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def label_share(entry: Entry) -> float:
    """Of the votes for the label and the next best one, the label's share, 0..1; 1 where all agree."""
    votes = dict(entry.label_votes)
    own = votes.pop(entry.label, 0.0)
    return own / (own + max(votes.values())) if votes and own > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A stay that evidence shows, and its box in the map."""

    slot: int
    entry: Entry
    stay: Stay
    box: Box


class Witness:
    """Holds what was seldom seen against the views of its place; remembers for some seconds what it found."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._known: OrderedDict[tuple[int, int, int, int], Seen] = OrderedDict()

    def seen(self, shown: Sequence[Shown], now_ns: int) -> list[Seen]:
        """Of each, as known at a time."""
        found: list[Seen | None] = [self._cheap(s, now_ns) for s in shown]
        open_rows = [i for i, seen in enumerate(found) if seen is None]
        groups: dict[tuple[str, str], list[int]] = {}
        for i in open_rows:
            groups.setdefault((shown[i].entry.map_id, shown[i].entry.agent_id), []).append(i)
        for rows in groups.values():
            for i, seen in zip(rows, self._looked([shown[i] for i in rows], now_ns), strict=True):
                found[i] = seen
                self._remember(_key(shown[i], now_ns), seen)
        return [seen for seen in found if seen is not None]

    def _cheap(self, shown: Shown, now_ns: int) -> Seen | None:
        count = shown.stay.count
        if count >= ENOUGH:
            return Seen(count, count)
        return self._known.get(_key(shown, now_ns))

    def _remember(self, key: tuple[int, int, int, int], seen: Seen) -> None:
        self._known[key] = seen
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def _looked(self, shown: Sequence[Shown], now_ns: int) -> list[Seen]:
        """The same of entries of one agent on one map."""
        entry = shown[0].entry
        points = np.stack([_points(s.box) for s in shown])
        behind = np.array([-BLOCKED_M - math.hypot(*s.box.extent) / 2 for s in shown])
        views = self._coverage.views_of(entry.map_id, entry.agent_id, 0, now_ns + 1, points, behind)
        return [_counted(s, views, i, now_ns) for i, s in enumerate(shown)]


def _key(shown: Shown, now_ns: int) -> tuple[int, int, int, int]:
    return shown.slot, shown.entry.revision, shown.stay.interval.start, now_ns // _SAME_NS


def _points(box: Box) -> FloatArray:
    """Points [9, 3] inside a box: its middle, and the corners of one that is smaller."""
    turn = rotation_matrix(box.pose.orientation)
    return np.asarray((_CORNERS * np.array(box.extent)) @ turn.T + box.pose.position)


def _counted(shown: Shown, views: Views, column: int, now_ns: int) -> Seen:
    """Hits and looks of one stay, from its first sighting until it ended."""
    stay = shown.stay.interval
    before, during = views.until < stay.start, (views.until >= stay.start) & (views.stamp < stay.end)
    hit = during & _within(views, [s for s in shown.entry.sightings if s.start < stay.end and stay.start < s.end])
    hits = min(shown.stay.count, FRAMES * max(1, int(hit.sum())))
    usual = float(np.median(views.distance[hit, column])) if hit.any() else 0.0
    reach = max(FARTHER * usual, float(np.median(shown.box.extent)) / SPAN_RAD)
    looked = (views.share[:, column] >= IN_VIEW) & (views.distance[:, column] <= reach)
    misses = int((looked & during & ~hit).sum()) + (ABSENT if stay.end < FOREVER else 0)
    return Seen(hits, hits + misses, int((looked & before).sum()) >= BEFORE)


def _within(views: Views, sightings: Sequence[Interval]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which views held while the thing was in sight."""
    within = np.zeros(len(views.stamp), np.bool_)
    for s in sightings:
        within |= (views.until >= s.start) & (views.stamp < s.end)
    return within
