"""The combined query of the index against a plain reading, over entries that are added, changed and removed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import (
    FOREVER,
    IDENTITY,
    NO_COVARIANCE,
    Anchor,
    Box,
    Embedding,
    Entry,
    Interval,
    Pose,
    Presence,
    Stay,
)
from r4_ros.memory import byte_copies, cosines, index, zones
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.index import Index
from r4_ros.memory.store import AnchorRecord, StoredEntry
from r4_ros.memory.zones import Narrow

AGENTS = ("r1", "r2", "r3")
MODEL = "m"


def unit(rng: np.random.Generator) -> np.ndarray:
    vector = rng.standard_normal(24)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


class World:
    """An index and the entries that it should hold."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        config = MemoryConfig()
        anchors = [AnchorRecord("c", Anchor(i, a, 0, "map", 0, IDENTITY)) for i, a in enumerate(AGENTS)]
        self.index = Index(AnchorBook(config, anchors), 1.0)
        self.entries: dict[int, Entry] = {}
        self.slots = 0
        self.texts = [(f"text {i}", Embedding(MODEL, unit(rng))) for i in range(600)]
        self.labels = [(f"label {i}", Embedding(MODEL, unit(rng)) if i % 2 else None) for i in range(6)]

    def stay(self, agent: int, start: int) -> Stay:
        place = tuple(self.rng.uniform(-9, 9, 3).tolist())
        return Stay(Interval(start, FOREVER), agent, Box(Pose(place), (0.2, 0.3, 0.4)), NO_COVARIANCE, 1)

    def words(self) -> dict[str, object]:
        text, embedding = self.texts[self.rng.integers(len(self.texts))]
        label, of_label = self.labels[self.rng.integers(len(self.labels))]
        if self.rng.random() < 0.1:
            text, embedding = "", None
        return {
            "description": text,
            "description_embedding": embedding,
            "label": label,
            "label_embedding": of_label,
        }

    def new(self) -> tuple[None, StoredEntry]:
        agent, first = int(self.rng.integers(3)), int(self.rng.integers(0, 1000))
        slot, self.slots = self.slots, self.slots + 1
        seen = Interval(first, first + 1 + int(self.rng.integers(0, 200)))
        entry = Entry(f"{slot:x}", AGENTS[agent], 1, 0, "map", "", (), (self.stay(agent, first),), (seen,), ())
        entry = entry.evolve(presence=(Presence(first, first, seen.end - 1),), **self.words())
        self.entries[slot] = entry
        return None, StoredEntry(slot, entry)

    def changed(self, slot: int) -> tuple[Entry, StoredEntry]:
        before = after = self.entries[slot]
        if self.rng.random() < 0.5:
            after = after.evolve(**self.words())
        if self.rng.random() < 0.5:
            seen = Interval(before.last_seen + 5, before.last_seen + 9)
            after = after.evolve(sightings=(*before.sightings, seen))
        if self.rng.random() < 0.5:
            agent = AGENTS.index(before.agent_id)
            after = after.evolve(stays=(*before.stays, self.stay(agent, before.last_seen)))
        self.entries[slot] = after
        return before, StoredEntry(slot, after)

    def step(self) -> None:
        known = sorted(self.entries)
        some = self.rng.choice(known, min(len(known), 10), replace=False).tolist() if known else []
        self.index.apply([*map(self.changed, some), *(self.new() for _ in range(int(self.rng.integers(0, 60))))])
        for slot in self.rng.choice(sorted(self.entries), 3).tolist() if len(self.entries) > 50 else ():
            if slot in self.entries:
                self.index.remove(StoredEntry(slot, self.entries.pop(slot)))

    def right(self, vector: np.ndarray, narrow: Narrow) -> list[float]:
        """Cosines of all entries that fit, best first."""
        found = []
        for entry in self.entries.values():
            centre = np.array(entry.stays[-1].box.pose.position)
            here = narrow.low is None or bool(((centre >= narrow.low) & (centre <= narrow.high)).all())
            then = entry.first_seen < narrow.end_ns and entry.last_seen >= narrow.start_ns
            whose = narrow.agents is None or self.index.agents.find(entry.agent_id) in narrow.agents
            embeddings = [e for e in (entry.label_embedding, entry.description_embedding) if e is not None]
            if here and then and whose and embeddings:
                found.append(max(float(e.vector.astype(float) @ vector) for e in embeddings))
        return sorted(found, reverse=True)


@given(seed=st.integers(0, 100_000))
@settings(max_examples=40, deadline=None)
def test_the_nearest_are_those_of_a_plain_reading(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cosines, "BYTES_FROM", 32)
        patch.setattr(cosines, "_FIRST", 16)
        patch.setattr(byte_copies, "SKETCH", int(rng.choice([6, 160])))
        patch.setattr(index, "_FEW", int(rng.choice([2, 512])))
        patch.setattr(index, "_SKETCHED_FROM", int(rng.choice([2, 16_384])))
        patch.setattr(zones, "_SPARE_ZONES", 1)
        world = World(rng)
        for _ in range(12):
            world.step()
        for _ in range(12):
            low = high = None
            if rng.random() < 0.6:
                middle, half = rng.uniform(-9, 9, 3), rng.choice([2.0, 8.0])
                low, high = tuple(middle - half), tuple(middle + half)
            start, end = (0, FOREVER) if rng.random() < 0.5 else np.sort(rng.integers(0, 1200, 2)).tolist()
            agents = None if rng.random() < 0.5 else (int(rng.integers(3)),)
            narrow, vector = Narrow(low, high, start, end, agents), unit(rng)
            slots, found = world.index.nearest(MODEL, vector, 5, narrow)
            assert len(set(slots.tolist())) == len(slots) and set(slots.tolist()) <= set(world.entries)
            assert found == pytest.approx(world.right(vector, narrow)[:5], abs=2e-6)


def test_an_unknown_model_finds_nothing() -> None:
    world = World(np.random.default_rng(3))
    world.step()
    assert world.index.nearest("another", unit(world.rng), 5, Narrow())[0].size == 0
