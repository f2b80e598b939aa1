"""Scenarios: which robots drive for how long, and what is moved, taken and brought back meanwhile. All from a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from r4_ros.bridges.apartment.layout import furnish
from r4_ros.bridges.apartment.scene import Thing
from r4_ros.bridges.apartment.script import Change
from r4_ros.core.geometry import bounds
from r4_ros.core.model import FloatArray
from r4_ros.evaluation.sim.surfaces import SURFACES, Surface

DURATIONS_S = (300.0, 360.0, 480.0, 300.0, 600.0, 300.0, 420.0, 300.0, 900.0, 300.0, 360.0, 1200.0)
SPACING_S = 45.0
GAP_M = 0.08
TRIES = 300
CARRIED = (
    "keys",
    "kitchen red mug",
    "white mug 1",
    "white mug 2",
    "flower vase",
    "teddy bear",
    "red apple",
    "banana",
    "fruit bowl",
    "alarm clock",
    "basil",
    "wine bottle",
    "hall book",
    "bedroom book",
    "backpack",
    "globe",
    "study red mug",
    "laptop",
)
"""What people carry about. The last three are out of the first robot's sight as long as they stay where they are."""


@dataclass(frozen=True)
class Scenario:
    """One run: the same values give the same pictures."""

    name: str
    seed: int
    duration_s: float
    robots: tuple[str, ...]
    script: tuple[Change, ...]
    rate_hz: float = 2.0
    size: tuple[int, int] = (320, 240)
    people: int = 0


def scenarios(count: int) -> list[Scenario]:
    """The first ``count`` scenarios of 5 to 20 simulated minutes.

    Every other one has two robots; in every third one a person walks about.
    """
    return [_scenario(k) for k in range(count)]


def _scenario(number: int) -> Scenario:
    rng = np.random.default_rng([number, 11])
    duration_s = DURATIONS_S[number % len(DURATIONS_S)]
    robots = ("robot1",) if number % 2 == 0 else ("robot1", "robot2")
    placed = script(rng, furnish(number), duration_s)
    return Scenario(f"s{number:02d}", number, duration_s, robots, placed, people=int(number % 3 == 2))


def script(
    rng: np.random.Generator,
    things: Sequence[Thing],
    duration_s: float,
    carried: Sequence[str] = CARRIED,
    surfaces: Sequence[Surface] = SURFACES,
    spacing_s: float = SPACING_S,
) -> tuple[Change, ...]:
    """Moves (three in five), removals and returns. Each thing's story begins when the first tour is half over."""
    now = {thing.name: thing for thing in things}
    changes: list[Change] = []
    names = [str(n) for n in rng.permutation(list(carried))]
    at_s = 75.0 + float(rng.uniform(0, 20))
    while names and at_s < duration_s - 100:
        name, kind = names.pop(), float(rng.random())
        thing = now[name]
        if kind < 0.6:
            spot = _spot(rng, thing, list(now.values()), surfaces)
            if spot is not None:
                degrees = float(rng.integers(0, 360))
                now[name] = thing.moved(spot, math.radians(degrees))
                changes.append(Change(at_s, name, spot, degrees))
        else:
            changes.append(Change(at_s, name, None))
            if kind < 0.8 and at_s + 60 < duration_s - 60:
                changes.append(Change(at_s + 60, name, thing.position, math.degrees(thing.yaw)))
            else:
                del now[name]
        at_s += spacing_s * float(rng.uniform(0.7, 1.3))
    return tuple(sorted(changes, key=lambda c: c.at_s))


def _spot(
    rng: np.random.Generator, thing: Thing, others: Sequence[Thing], surfaces: Sequence[Surface]
) -> tuple[float, float, float] | None:
    """Free room for a thing on one of the surfaces that it isn't on already; None: none was found."""
    free = [s for s in surfaces if s.free and not s.holds(thing.box())]
    for _ in range(TRIES):
        surface = free[int(rng.integers(len(free)))]
        spot = _try_spot(rng, thing, surface, others)
        if spot is not None:
            return spot
    return None


@lru_cache(maxsize=4096)
def _bounds(thing: Thing) -> tuple[FloatArray, FloatArray]:
    return bounds(thing.box())


def _try_spot(
    rng: np.random.Generator, thing: Thing, surface: Surface, others: Sequence[Thing]
) -> tuple[float, float, float] | None:
    size = _bounds(thing)[1] - _bounds(thing)[0]
    reach = float(max(size[:2])) / 2 * math.sqrt(2)
    low, high = (surface.x0 + reach, surface.y0 + reach), (surface.x1 - reach, surface.y1 - reach)
    if low[0] > high[0] or low[1] > high[1]:
        return None
    x, y = (round(float(rng.uniform(a, b)), 2) for a, b in zip(low, high, strict=True))
    for other in others:
        bottom, top = _bounds(other)
        if other.name == thing.name or top[2] < surface.z + 0.02 or bottom[2] > surface.z + size[2]:
            continue
        if (
            bottom[0] - reach - GAP_M < x < top[0] + reach + GAP_M
            and bottom[1] - reach - GAP_M < y < top[1] + reach + GAP_M
        ):
            return None
    return x, y, surface.z
