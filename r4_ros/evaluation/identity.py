"""Whether a memory keeps things apart: which entry each sighting went to, against the thing that it was of.

Needs a memory that the simulator's label image filled: there the n-th instance of a frame is the n-th of its ids.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from r4_ros.core.model import Entry
from r4_ros.memory.library import Library

Thing = tuple[str, int]
"""A robot, and the number of the thing that it saw: robots don't share entries."""


@dataclass(frozen=True)
class Identity:
    """What became of the sightings of things that were seen at least once.

    ``switches``: a thing's next sighting went to another entry that isn't known to be the same one moved;
    ``carried``: it went to one that is. ``mixed``: entries, with those that they are linked with as moved, that hold
    sightings of several things. ``idf1``: share of the sightings that are right when each thing is given the one entry
    that fits best and the other way round (Ristani et al., 2016). ``alike_switches``: of things that have a look-alike.
    """

    sightings: int
    things: int
    switches: int
    carried: int
    mixed: int
    idf1: float
    alike: int
    alike_switches: int
    switched: tuple[str, ...] = ()

    @property
    def switch_share(self) -> float:
        """Switches for each sighting."""
        return self.switches / self.sightings if self.sightings else 0.0


def identity(truth: Mapping[str, Any], library: Library) -> Identity:
    """Hold a memory's sightings against the truth log of the simulation (``Simulation.truth_log``) that filled it."""
    names = {thing["id"]: thing["name"] for thing in truth["objects"]}
    labels = {thing["id"]: thing["label"] for thing in truth["objects"]}
    numbers = {
        (frame["agent_id"], frame["stamp_ns"]): sorted(int(number) for number in frame["pixels"])
        for frame in truth["frames"]
    }
    seen: dict[Thing, list[str]] = defaultdict(list)
    for agent, stamp_ns, index, label, entry_id in sorted(library.assigned()):
        here = numbers.get((agent, stamp_ns), [])
        if index < len(here) and labels.get(here[index]) == label:
            seen[agent, here[index]].append(entry_id)
    origin = _origins(library.entries())
    switches = Counter[Thing]()
    carried = 0
    for thing, entries in seen.items():
        for before, after in pairwise(entries):
            if origin[before] != origin[after]:
                switches[thing] += 1
            elif before != after:
                carried += 1
    kin = Counter(labels.values())
    alike = [thing for thing in seen if kin[labels[thing[1]]] > 1]
    owners: dict[str, Counter[Thing]] = defaultdict(Counter)
    for thing, entries in seen.items():
        for entry_id in entries:
            owners[origin[entry_id]][thing] += 1
    return Identity(
        sightings=sum(map(len, seen.values())),
        things=len(seen),
        switches=switches.total(),
        carried=carried,
        mixed=sum(len(things) > 1 for things in owners.values()),
        idf1=_idf1(owners),
        alike=len(alike),
        alike_switches=sum(switches[thing] for thing in alike),
        switched=tuple(sorted(f"{agent}: {names[number]} x{n}" for (agent, number), n in switches.items())),
    )


def _origins(entries: Iterable[Entry]) -> dict[str, str]:
    """For each entry the first of those that it is linked with as moved."""
    moved_from = {entry.entry_id: entry.moved_from for entry in entries}
    origins = {}
    for entry_id in moved_from:
        first, passed = entry_id, {entry_id}
        while (before := moved_from.get(first, "")) in moved_from and before not in passed:
            first = before
            passed.add(first)
        origins[entry_id] = first
    return origins


def _idf1(owners: Mapping[str, Mapping[Thing, int]]) -> float:
    things = sorted({thing for held in owners.values() for thing in held})
    if not things:
        return 1.0
    counts = np.array([[held.get(thing, 0) for thing in things] for held in owners.values()])
    rows, columns = linear_sum_assignment(-counts)
    return float(counts[rows, columns].sum() / counts.sum())
