"""Zones against a plain reading of what was put into them, over random inserts, changes, removals and sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.model import FOREVER
from r4_ros.memory import zones as zones_module
from r4_ros.memory.zones import Narrow, Spans, Zones

STAMP = 1_800_000_000_000_000_000


class Plain:
    """What the zones should hold: slot -> low, high, first, last, agent, map."""

    def __init__(self) -> None:
        self.things: dict[int, list] = {}

    def put(self, slots: np.ndarray, spans: Spans) -> None:
        for i, slot in enumerate(slots.tolist()):
            low, high = spans.low[i], spans.high[i]
            if slot in self.things:
                low, high = np.minimum(low, self.things[slot][0]), np.maximum(high, self.things[slot][1])
            times = int(spans.first[i]), int(spans.last[i])
            self.things[slot] = [low, high, *times, int(spans.agent[i]), int(spans.map[i])]

    def find(self, narrow: Narrow, slack: float) -> set[int]:
        """``slack``: boxes this much larger fit too (the zones keep them in float32)."""
        return {slot for slot, thing in self.things.items() if self.fits(thing, narrow, slack)}

    def fits(self, thing: list, narrow: Narrow, slack: float) -> bool:
        low, high, first, last, agent, _ = thing
        if narrow.agents is not None and agent not in narrow.agents:
            return False
        if not (first < narrow.end_ns and last >= narrow.start_ns):
            return False
        if narrow.low is None or narrow.high is None:
            return True
        return bool((low <= np.add(narrow.high, slack)).all() and (high >= np.subtract(narrow.low, slack)).all())

    def inside(self, slot: int, narrow: Narrow) -> bool:
        low, high = self.things[slot][:2]
        return bool((low >= narrow.low).all() and (high <= narrow.high).all())


def random_spans(rng: np.random.Generator, count: int) -> Spans:
    centre = np.column_stack([rng.uniform(-40, 40, (count, 2)), rng.uniform(0, 3, count)])
    half = rng.uniform(0, rng.choice([0.2, 0.2, 9.0]), (count, 3))
    first = STAMP + rng.integers(0, 1000, count)
    return Spans(
        centre - half,
        centre + half,
        first,
        first + rng.integers(0, 300, count),
        rng.integers(0, 3, count).astype(np.int32),
        rng.integers(0, 2, count).astype(np.int32),
    )


def random_narrow(rng: np.random.Generator) -> Narrow:
    low = high = None
    if rng.random() < 0.8:
        middle, half = rng.uniform(-40, 40, 3), rng.choice([1.0, 15.0, 60.0])
        low, high = tuple(middle - half), tuple(middle + half)
    start, end = (0, FOREVER) if rng.random() < 0.4 else np.sort(STAMP + rng.integers(0, 1300, 2)).tolist()
    agents = None if rng.random() < 0.5 else tuple(rng.choice(3, int(rng.integers(0, 3)), replace=False).tolist())
    return Narrow(low, high, start, end, agents)


@given(seed=st.integers(0, 100_000))
@settings(max_examples=40, deadline=None)
def test_found_are_those_of_a_plain_reading(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones_module, "_SPARE_ZONES", 2)
        patch.setattr(zones_module, "_TAIL_ZONES", int(rng.integers(0, 3)))
        patch.setattr(zones_module, "_FEW_ZONES", 1)
        zones, plain, next_slot = Zones(), Plain(), 0
        for _ in range(12):
            new = int(rng.integers(0, 400))
            known = np.array(sorted(plain.things), np.int64)
            changed = rng.choice(known, min(len(known), int(rng.integers(0, 40))), replace=False)
            slots = np.concatenate([np.sort(changed), np.arange(next_slot, next_slot + new)]).astype(np.int64)
            next_slot += new
            spans = random_spans(rng, len(slots))
            zones.put(slots, spans)
            plain.put(slots, spans)
            if plain.things and rng.random() < 0.3:
                gone = rng.choice(sorted(plain.things), min(len(plain.things), 30), replace=False).astype(np.int64)
                zones.remove(gone)
                for slot in gone.tolist():
                    del plain.things[slot]
            if rng.random() < 0.2:
                zones.sort()
        for _ in range(10):
            narrow = random_narrow(rng)
            slots, sure = zones.find(narrow)
            assert len(set(slots.tolist())) == len(slots)
            assert plain.find(narrow, 0.0) <= set(slots.tolist()) <= plain.find(narrow, 1e-4)
            if narrow.low is not None:
                assert all(plain.inside(slot, narrow) for slot in slots[:sure].tolist())


def test_sorting_lays_neighbours_into_few_zones() -> None:
    rng = np.random.default_rng(1)
    zones, spans = Zones(), random_spans(rng, 40_000)
    zones.put(np.arange(40_000), spans)
    zones.sort()
    read: list[int] = []
    rows = zones._rows
    zones._rows = lambda found, *more: read.append(len(found)) or rows(found, *more)  # type: ignore[method-assign]
    slots, _ = zones.find(Narrow((0.0, 0.0, 0.0), (4.0, 4.0, 3.0), agents=(1,)))
    assert len(slots) > 0 and sum(read) < 20
