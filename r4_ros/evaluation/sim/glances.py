"""Questions about what a robot has in view at this very moment, at moments all through a run: what the gate is for."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from r4_ros.core.model import NS_PER_S
from r4_ros.evaluation.sim import candidates
from r4_ros.evaluation.sim.ask import fill, wordings
from r4_ros.evaluation.sim.cases import Case
from r4_ros.evaluation.sim.kinds import SOURCES
from r4_ros.evaluation.sim.truth import CLEAR_PIXELS, Truth

EVERY_NS = 5 * NS_PER_S
AFTER_NS = 30 * NS_PER_S
"""Before, hardly anything is known."""
KINDS = {
    "direction": candidates.directions,
    "distance_ego": candidates.ego_distances,
    "side_choose": candidates.sides,
}


def as_of(truth: Truth, stamp_ns: int) -> Truth:
    """What had happened and had been seen by a time, which is 'now' then."""
    then = copy.copy(truth)
    then.now_ns = stamp_ns
    then.things = [
        replace(
            thing,
            stays=tuple(s for s in thing.stays if s.start_ns <= stamp_ns),
            glimpses=tuple(g for g in thing.glimpses if g[0] <= stamp_ns),
        )
        for thing in truth.things
    ]
    return then


def glances(truth: Truth, scenario: str, seed: int) -> Iterator[tuple[Truth, Sequence[Case]]]:
    """For each moment what is true then, and a question of each kind about a thing that is plainly in view."""
    rng = np.random.default_rng([seed, 23])
    for ego in truth.robots:
        due_ns = truth.start_ns + AFTER_NS
        for stamp, _ in truth.trail[ego]:
            if stamp < due_ns:
                continue
            due_ns = stamp + EVERY_NS
            then = as_of(truth, stamp)
            yield then, list(_of_moment(then, ego, scenario, rng))


def _of_moment(truth: Truth, ego: str, scenario: str, rng: np.random.Generator) -> Iterator[Case]:
    for kind, source in KINDS.items():
        seen = [
            asked
            for asked in source(truth, ego)
            if any(t == truth.now_ns and pixels >= CLEAR_PIXELS for t, pixels in asked.things[0].glimpses)
        ]
        if not seen:
            continue
        asked = seen[int(rng.integers(len(seen)))]
        form, operator, _, _ = SOURCES[kind]
        texts = wordings()[kind]
        text = fill(texts[int(rng.integers(len(texts)))], asked.slots)
        name = f"{scenario}-glance-{kind}-{ego}-{truth.now_ns}"
        names = tuple(t.name for t in asked.things)
        yield Case(name, scenario, text, kind, form, asked.relation, operator, asked.want, ego, names)
