"""What happens to the things while the robots drive: moved, taken away, brought back."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from r4_ros.bridges.apartment.layout import COFFEE, TABLE
from r4_ros.bridges.apartment.scene import Thing
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Vec3


@dataclass(frozen=True)
class Change:
    """At ``at_s`` the named thing stands at ``to`` (map frame), or is gone where that is None."""

    at_s: float
    name: str
    to: Vec3 | None
    degrees: float = 0.0
    watched: bool = False


DEFAULT_SCRIPT = (
    Change(26.6, "keys", (6.36, 4.52, 0.85), 40, watched=True),
    Change(33.8, "kitchen red mug", (2.05, 1.93, COFFEE + 0.012), 160),
    Change(33.8, "flower vase", (8.15, 2.55, TABLE), 70),
    Change(58.0, "backpack", None),
    Change(60.0, "palm", None),
    Change(78.0, "palm", (3.85, 6.28, 0.0), 70),
)
"""Timed for the default tours: robot1 has seen each thing before and comes back to its place afterwards. The keys are
moved before its eyes; nobody watches the rest."""


class Stage:
    """Which things stand where, as the script goes on. Between two changes nothing moves."""

    def __init__(self, things: Sequence[Thing], script: Sequence[Change], duration_s: float) -> None:
        self.things = tuple(things)
        self.script = tuple(sorted((c for c in script if c.at_s < duration_s), key=lambda c: c.at_s))
        by_name = {thing.name: thing for thing in self.things}
        present = {thing.instance_id: thing for thing in self.things}
        self.starts = [0.0]
        self.states: list[tuple[Thing, ...]] = [self.things]
        for change in self.script:
            thing = by_name.get(change.name)
            if thing is None:
                raise InvalidArgument(f"the script moves '{change.name}', which is not in the apartment")
            if change.to is None:
                present.pop(thing.instance_id, None)
            else:
                present[thing.instance_id] = thing.moved(change.to, math.radians(change.degrees))
            self.starts.append(change.at_s)
            self.states.append(tuple(present[k] for k in sorted(present)))

    def index(self, t: float) -> int:
        """Number of the state that holds at a time; a change holds from its own instant on."""
        return max(0, bisect_right(self.starts, t) - 1)

    def at(self, t: float) -> tuple[Thing, ...]:
        """The things that are there."""
        return self.states[self.index(t)]
