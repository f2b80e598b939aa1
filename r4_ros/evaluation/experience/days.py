"""Days in the apartment for the stream: each half of it has rooms and kinds of things of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from r4_ros.bridges.apartment.layout import furnish
from r4_ros.bridges.apartment.scene import Thing, room_at
from r4_ros.core.ports import Embedder
from r4_ros.evaluation.experience import recogniser
from r4_ros.evaluation.experience.recogniser import DARK, USUAL, Mix, Recogniser
from r4_ros.evaluation.sim.runs import Made, make_unrendered
from r4_ros.evaluation.sim.scenarios import Scenario, script
from r4_ros.evaluation.sim.surfaces import SURFACES

HALVES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("living room", "kitchen"), ("hallway", "bedroom", "bathroom", "study")),
    (("kitchen", "hallway", "bathroom"), ("living room", "bedroom", "study")),
    (("kitchen", "bedroom"), ("living room", "hallway", "bathroom", "study")),
)
"""Ways to part the rooms in two."""
DAYS, DURATION_S, RATE_HZ = 4, 300.0, 0.5
SMALL_M = 0.5
SPACING_S = 12.0


@dataclass(frozen=True)
class Part:
    """The rooms and kinds of things that one half of the stream is about."""

    half: int
    rooms: tuple[str, ...]
    labels: frozenset[str]

    def has(self, thing: Thing) -> bool:
        """Whether a thing belongs to this half, where it stands at the beginning."""
        return thing.label in self.labels and room_at(*thing.position[:2]) in self.rooms


@dataclass(frozen=True)
class Day:
    """A memory and its truth, of which only things of ``part`` are asked."""

    number: int
    part: Part
    made: Made


def parts(seed: int) -> tuple[Part, Part]:
    """The two halves of a stream: no room and no kind of thing is in both."""
    rng = np.random.default_rng([seed, 31])
    rooms = HALVES[seed % len(HALVES)]
    rooms = rooms if (seed // len(HALVES)) % 2 == 0 else (rooms[1], rooms[0])
    things = furnish(seed)
    here = [{t.label for t in things if room_at(*t.position[:2]) in half} for half in rooms]
    both = [str(label) for label in rng.permutation(sorted(here[0] & here[1]))]
    first = frozenset((here[0] - here[1]) | set(both[: len(both) // 2]))
    second = frozenset((here[1] - here[0]) | set(both[len(both) // 2 :]))
    return Part(0, rooms[0], first), Part(1, rooms[1], second)


def days(
    seed: int,
    cache: Path,
    embedder: Embedder | None,
    shift: bool,
    count: int = DAYS,
    duration_s: float = DURATION_S,
    done: Callable[[], None] = lambda: None,
) -> list[Day]:
    """The days of a stream, half of them of each part. ``shift``: in the second half, other things go wrong."""
    found = []
    for number in range(count):
        part = parts(seed)[number * 2 // count]
        mix = DARK if shift and part.half else USUAL
        found.append(Day(number, part, _made(seed, number, part, mix, cache, embedder, duration_s)))
        done()
    return found


def _made(
    seed: int, number: int, part: Part, mix: Mix, cache: Path, embedder: Embedder | None, duration_s: float
) -> Made:
    numbered = seed * 16 + number
    things = furnish(numbered)
    rng = np.random.default_rng([seed, number, 32])
    carried = [t.name for t in things if t.movable and part.has(t) and max(t.box().extent) <= SMALL_M]
    here = [s for s in SURFACES if s.room in part.rooms]
    changes = script(rng, things, duration_s, carried, here, SPACING_S)
    scenario = Scenario(f"x{seed:02d}-{number}", numbered, duration_s, ("robot1", "robot2"), changes, RATE_HZ)
    digest = sha256(f"{asdict(mix)}{Path(recogniser.__file__).read_text()}".encode()).hexdigest()[:8]
    return make_unrendered(scenario, cache, embedder, perceive=Recogniser(things, numbered, mix), kind=f"-{digest}")
