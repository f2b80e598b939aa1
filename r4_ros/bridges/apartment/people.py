"""People who walk about in the apartment: in the way of cameras, and somebody to ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.bridges.apartment.materials import Material, fabric
from r4_ros.bridges.apartment.paths import Floor, Stop, Trajectory, drive
from r4_ros.bridges.apartment.shapes import Shape, ball, box, cylinder, soft_box
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import Pose, Vec3

LABEL = "person"
SIZE: Vec3 = (0.34, 0.50, 1.74)
STOPS = (
    Stop(3.6, 2.6, (180,), 6.0),
    Stop(7.0, 1.9, (0,), 8.0),
    Stop(4.6, 5.8, (0,), 2.0),
    Stop(2.9, 7.3, (90,), 8.0),
    Stop(7.6, 5.9, (180,), 3.0),
    Stop(6.9, 4.4, (200,), 6.0),
)
"""Where people stop, and how long; each walks between them in an order of their own."""
SHIRTS = ("blue", "green", "orange")


@dataclass(frozen=True, eq=False)
class Walker:
    """One person's way through the apartment."""

    name: str
    way: Trajectory

    def pose(self, t: float) -> Pose:
        """Where the feet are at a time of the run, in the map."""
        x, y, yaw = self.way.at(t)
        return Pose((x, y, 0.0), quat_from_yaw(yaw))

    def log(self, number: int, times: Mapping[int, float]) -> dict[str, object]:
        """The truth about this person as JSON; ``times``: stamps of frames, and their times of the run."""
        trail = [[stamp, *(round(v, 3) for v in self.pose(t).position[:2])] for stamp, t in times.items()]
        return {"id": number, "name": self.name, "label": LABEL, "extent": list(SIZE), "trail": trail}


def body(number: int) -> Shape:
    """Legs, trunk, arms and head of a standing person, from the floor up, looking along x."""
    skin, trousers, shirt = (
        Material((0.80, 0.62, 0.50)),
        fabric("dark grey"),
        fabric(SHIRTS[number % len(SHIRTS)]),
    )
    legs = [cylinder(0.085, 0.85, (0, y, 0), trousers) for y in (-0.1, 0.1)]
    arms = [cylinder(0.05, 0.62, (0, y, 0.80), shirt, 10) for y in (-0.2, 0.2)]
    trunk = soft_box((0.24, 0.36, 0.62), (0, 0, 0.83), shirt)
    head, feet = ball((0.1, 0.09, 0.13), (0, 0, 1.61), skin), box((0.34, 0.28, 0.08), (0.02, 0, 0), trousers)
    return [*legs, *arms, trunk, head, feet]


def make_walker(number: int, floor: Floor, seed: int, duration_s: float) -> Walker:
    """Person ``number`` (0, 1, ...): the same arguments give the same way."""
    rng = np.random.default_rng([seed, 5, number])
    stops: Sequence[Stop] = [STOPS[int(k)] for k in rng.permutation(len(STOPS))]
    return Walker(f"{LABEL} {number + 1}", drive(floor, stops, duration_s))
