"""A memory against the truth of the run that filled it: what was found, doubled, misplaced, and when it went."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from r4_ros.core.model import FOREVER, Entry, Query, Vec3
from r4_ros.memory.library import Library

NEAR_M = 0.5
"""An entry is taken for a thing whose middle is this near, or within half the thing's diagonal."""


@dataclass(frozen=True)
class TrueStay:
    """A thing at one place during [start_ns, end_ns); ``last``: it stayed there until the run ended."""

    object_id: int
    number: int
    name: str
    label: str
    centre: Vec3
    extent: Vec3
    start_ns: int
    end_ns: int
    last: bool


@dataclass(frozen=True)
class Found:
    """One entry's stay that is taken for a thing's."""

    entry: Entry
    number: int
    error_m: float


@dataclass(frozen=True)
class Comparison:
    """How a memory compares. Pairs are (robot, thing at one place); robots don't share entries.

    ``seen``: pairs that had ``min_pixels`` in one frame; ``found`` of them are remembered. ``duplicates``: entries
    beyond the first of a pair; ``unexplained``: entries where nothing of that label stands. Errors are those of the
    box centres, metres. ``ended``: remembered pairs that ended in the run and whose end the memory knows,
    ``ended_right`` with bounds that hold the true time; ``ended_unknown``: it still believes in them;
    ``ended_wrongly``: things it believes gone or moved that stood there all the time.
    """

    entries: int
    seen: int
    found: int
    duplicates: int
    unexplained: int
    median_error_m: float
    p95_error_m: float
    ended: int
    ended_right: int
    ended_unknown: int
    ended_wrongly: int
    missed: tuple[str, ...] = field(default=())
    doubled: tuple[str, ...] = field(default=())
    wrong_ends: tuple[str, ...] = field(default=())

    @property
    def recall(self) -> float:
        """Share of the seen things that are remembered."""
        return self.found / self.seen if self.seen else 1.0

    @property
    def duplicate_share(self) -> float:
        """Share of the entries that are one too many."""
        return self.duplicates / self.entries if self.entries else 0.0


def compare(truth: Mapping[str, Any], library: Library, min_pixels: int = 200) -> Comparison:
    """Compare a library with the truth log of the simulation (``Simulation.truth_log``) that filled it.

    Entries of labels that the truth has no objects of (robots) are left out.
    """
    stays = true_stays(truth)
    labels = {stay.label for stay in stays}
    entries = [entry for entry in library.entries() if entry.label in labels]
    found, unexplained = _match(entries, stays, library)
    seen = {pair for pair, pixels in most_pixels(truth, stays).items() if pixels >= min_pixels}
    known = seen & found.keys()
    # the entry that was seen most often stands for the pair
    errors = [max(candidates, key=lambda f: f.entry.count).error_m for candidates in found.values()]
    extra = {pair: len({f.entry.entry_id for f in candidates}) - 1 for pair, candidates in found.items()}
    ends = _Ends()
    for pair, candidates in found.items():
        ends.judge(pair, candidates)
    return Comparison(
        entries=len(entries),
        seen=len(seen),
        found=len(known),
        duplicates=sum(extra.values()),
        unexplained=unexplained,
        median_error_m=float(np.median(errors)) if errors else math.nan,
        p95_error_m=float(np.percentile(errors, 95)) if errors else math.nan,
        ended=ends.known,
        ended_right=ends.right,
        ended_unknown=ends.unknown,
        ended_wrongly=len(ends.wrong),
        missed=tuple(sorted(f"{agent}: {stay.name}" for agent, stay in seen - found.keys())),
        doubled=tuple(sorted(f"{agent}: {stay.name} x{n + 1}" for (agent, stay), n in extra.items() if n)),
        wrong_ends=tuple(sorted(ends.wrong)),
    )


Pair = tuple[str, TrueStay]


def true_stays(truth: Mapping[str, Any]) -> list[TrueStay]:
    """All stays of all things in a truth log."""
    return [
        TrueStay(
            thing["id"],
            number,
            thing["name"],
            thing["label"],
            tuple(stay["centre"]),
            tuple(stay["extent"]),
            stay["start_ns"],
            stay["end_ns"],
            stay["end_ns"] > truth["end_ns"],
        )
        for thing in truth["objects"]
        for number, stay in enumerate(thing["stays"])
    ]


def most_pixels(truth: Mapping[str, Any], stays: Sequence[TrueStay]) -> dict[Pair, int]:
    """The most pixels that any frame of a robot had of a thing at one place."""
    by_object: dict[int, list[TrueStay]] = defaultdict(list)
    for stay in stays:
        by_object[stay.object_id].append(stay)
    most: dict[Pair, int] = defaultdict(int)
    for frame in truth["frames"]:
        for key, pixels in frame["pixels"].items():
            for stay in by_object.get(int(key), ()):
                if stay.start_ns <= frame["stamp_ns"] < stay.end_ns:
                    pair = (frame["agent_id"], stay)
                    most[pair] = max(most[pair], pixels)
    return most


def _match(
    entries: Sequence[Entry], stays: Sequence[TrueStay], library: Library
) -> tuple[dict[Pair, list[Found]], int]:
    """The entries of each pair, and how many entries have a stay that fits nothing."""
    by_label: dict[str, list[TrueStay]] = defaultdict(list)
    for stay in stays:
        by_label[stay.label].append(stay)
    found: dict[Pair, list[Found]] = defaultdict(list)
    unexplained = 0
    for entry in entries:
        for number, (start_ns, stamp_ns, centre) in enumerate(_places(entry, library)):
            near = [s for s in by_label[entry.label] if s.start_ns <= stamp_ns < s.end_ns and _fits(s, centre)]
            if not near:
                unexplained += 1
                continue
            best = min(near, key=lambda s: math.dist(s.centre, centre))
            for stay in by_label[entry.label]:  # taken away and brought back behind the robot's back: one stay to it
                same = stay.object_id == best.object_id and _fits(stay, centre)
                if same and start_ns < stay.end_ns and stay.start_ns <= stamp_ns:
                    found[(entry.agent_id, stay)].append(Found(entry, number, math.dist(stay.centre, centre)))
    return found, unexplained


def _fits(stay: TrueStay, centre: Vec3) -> bool:
    return math.dist(stay.centre, centre) <= max(NEAR_M, math.hypot(*stay.extent) / 2)


def _places(entry: Entry, library: Library) -> list[tuple[int, int, Vec3]]:
    """First and last sighting within each stay of an entry, and its box centre in the map."""
    places = []
    for stay in entry.stays:
        last = stay is entry.stays[-1]
        stamp_ns = entry.last_seen if last else max(stay.interval.start, stay.interval.end - 1)
        query = Query(entry_ids=(entry.entry_id,), agents=(entry.agent_id,), at_ns=stamp_ns, limit=1)
        places += [(stay.interval.start, stamp_ns, e.box.pose.position) for e in library.retrieve(query).entries]
    return places


class _Ends:
    """Judges when the memory believes that things went."""

    def __init__(self) -> None:
        self.known = self.right = self.unknown = 0
        self.wrong: list[str] = []

    def judge(self, pair: Pair, candidates: Sequence[Found]) -> None:
        """One pair: the entry seen most often speaks for it."""
        agent, stay = pair
        best = max(candidates, key=lambda f: f.entry.count)
        bounds = _end(best)
        if stay.last:
            if bounds is not None:
                self.wrong.append(f"{agent}: {stay.name}")
        elif bounds is None:
            self.unknown += 1
        else:
            self.known += 1
            self.right += bounds[0] <= stay.end_ns <= bounds[1]


def _end(found: Found) -> tuple[int, int] | None:
    """Bounds of the end of an entry's stay: last seen there, first known to be elsewhere or gone. None: no end."""
    entry = found.entry
    stay = entry.stays[found.number]
    closed = [p for p in entry.presence if p.start >= stay.interval.start and p.end != FOREVER]
    if closed:
        return closed[0].last_seen, closed[0].end
    if found.number + 1 < len(entry.stays):
        return stay.interval.end - 1, entry.stays[found.number + 1].interval.start
    return None
