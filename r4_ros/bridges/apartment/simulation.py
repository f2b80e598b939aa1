"""The simulation: robots drive through the apartment and take pictures, all of it decided by one seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from r4_ros.bridges.apartment import people as persons
from r4_ros.bridges.apartment.layout import furnish
from r4_ros.bridges.apartment.paths import Floor
from r4_ros.bridges.apartment.render import IntArray, Triangles, View, World, render, triangles_of
from r4_ros.bridges.apartment.robots import BASE_IN_SENSOR, SENSOR_IN_BASE, Robot, body, camera, make_robot
from r4_ros.bridges.apartment.scene import regions, shell
from r4_ros.bridges.apartment.script import DEFAULT_SCRIPT, Change, Stage
from r4_ros.bridges.apartment.truth import Standing, Truth
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import compose, yaw_of
from r4_ros.core.model import NS_PER_S, Float32Array, Intrinsics, Pose, Region, Vec3
from r4_ros.core.ports import RgbdImage

START_NS = 1_800_000_000 * NS_PER_S
"""Stamp of the first frame of every run: 2027-01-15 08:00:00 UTC."""
MAX_RANGE = 10.0
ROBOT_COLORS = ("white", "orange", "light blue", "yellow")


@dataclass(frozen=True, eq=False)
class SimFrame:
    """What one robot's camera gave at one stamp, with the true pose and the odometry's.

    color uint8 [h, w, 3] RGB; depth float32 [h, w], metres along the optical axis, 0 where unknown;
    labels int32 [h, w], instance ids of ``Simulation.legend``, 0 for the building.
    """

    agent_id: str
    stamp_ns: int
    image: RgbdImage
    sensor_in_map: Pose
    sensor_in_odom: Pose
    base_in_sensor: Pose

    @property
    def color(self) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        """Colour image."""
        return self.image.color

    @property
    def depth(self) -> Float32Array:
        """Depth image."""
        return self.image.depth

    @property
    def labels(self) -> IntArray:
        """Instance ids."""
        assert self.image.labels is not None
        return self.image.labels

    @property
    def intrinsics(self) -> Intrinsics:
        """The camera of all three images."""
        return self.image.intrinsics


class Simulation:
    """A run of some robots through the apartment. The same arguments give the same bytes.

    ``rate_hz``: frames a second of each robot. ``depth_noise``: a depth camera's noise and holes.
    ``odom_drift``: error of the odometry as a share of the way; the pose in the map stays true.
    ``people``: how many walk about; they and the robots pass through each other.
    Raises InvalidArgument when an argument is out of range.
    """

    def __init__(
        self,
        seed: int = 0,
        duration_s: float = 120.0,
        rate_hz: float = 5.0,
        size: tuple[int, int] = (320, 240),
        robots: Sequence[str] = ("robot1", "robot2"),
        depth_noise: bool = False,
        odom_drift: float = 0.0,
        script: Sequence[Change] = DEFAULT_SCRIPT,
        people: int = 0,
    ) -> None:
        if not (math.isfinite(duration_s) and duration_s > 0 and 0 < rate_hz <= 60):
            raise InvalidArgument(
                f"duration {duration_s} s and rate {rate_hz} Hz must be positive, the rate at most 60"
            )
        if not robots or len(set(robots)) != len(robots):
            raise InvalidArgument("give each robot a name of its own, and at least one robot")
        self.seed, self.duration_s, self.rate_hz, self.depth_noise = seed, duration_s, rate_hz, depth_noise
        self.intrinsics = camera(*size)
        things = furnish(seed)
        floor = Floor(things)
        self.robots = tuple(make_robot(name, k, floor, seed, duration_s, odom_drift) for k, name in enumerate(robots))
        self.walkers = tuple(persons.make_walker(k, floor, seed, duration_s) for k in range(people))
        bodies = [*robots, *(walker.name for walker in self.walkers)]
        self._body_ids = {name: len(things) + 1 + k for k, name in enumerate(bodies)}
        self.legend = {thing.instance_id: thing.label for thing in things}
        self.legend |= {n: "robot" if name in robots else persons.LABEL for name, n in self._body_ids.items()}
        self.regions: list[Region] = regions()
        self.stage = Stage(things, script, duration_s)
        self._truth = Truth(self.stage, START_NS, duration_s)
        self._world_of_state = lru_cache(maxsize=2)(self._build_world)
        self._triangles_of_thing = lru_cache(maxsize=None)(triangles_of)

    @property
    def start_ns(self) -> int:
        """Stamp of the first frame."""
        return START_NS

    @property
    def frame_count(self) -> int:
        """How many frames ``frames`` gives."""
        return len(self._schedule())

    def frames(self) -> Iterator[SimFrame]:
        """All frames in the order of their stamps; the robots take turns. Fills ``truth_log`` as it goes."""
        self._truth.frames.clear()
        for t, robot in self._schedule():
            yield self.frame(robot, t)

    def truth(self, stamp_ns: int) -> list[Standing]:
        """Everything that is in the apartment at a stamp."""
        return self._truth.at(stamp_ns)

    @property
    def stays(self) -> list[Standing]:
        """Everything that stands anywhere during the run, with its interval."""
        return self._truth.stays

    def truth_log(self) -> dict[str, object]:
        """The truth as JSON, with the pixels of each instance in the frames rendered so far."""
        about = {"seed": self.seed, "rate_hz": self.rate_hz, "size": [self.intrinsics.width, self.intrinsics.height]}
        at = {frame.stamp_ns: (frame.stamp_ns - START_NS) / NS_PER_S for frame in self._truth.frames}
        walked = [walker.log(self._body_ids[walker.name], at) for walker in self.walkers]
        robots = [robot.agent_id for robot in self.robots]
        return {**about, "robots": robots, "people": walked, **self._truth.log()}

    def look(self, base_in_map: Pose, t: float = 0.0, intrinsics: Intrinsics | None = None) -> View:
        """The picture that a robot standing at a pose would take at a time of the run."""
        sensor = compose(base_in_map, SENSOR_IN_BASE)
        return render(self._world_of_state(self.stage.index(t)), intrinsics or self.intrinsics, sensor)

    def view(self, robot: Robot, t: float) -> View:
        """What a robot's camera sees at a time of the run, without a depth camera's limits."""
        others = [(self._bodies[r.agent_id], r.base_in_map(t)) for r in self.robots if r is not robot]
        others += [(self._bodies[walker.name], walker.pose(t)) for walker in self.walkers]
        sensor = compose(robot.base_in_map(t), SENSOR_IN_BASE)
        return render(self._world_of_state(self.stage.index(t)), self.intrinsics, sensor, others)

    def _schedule(self) -> list[tuple[float, Robot]]:
        """Times (s since the start) and robots, in order; the robots are evenly shifted against each other."""
        period = 1 / self.rate_hz
        count = math.floor(self.duration_s * self.rate_hz + 1e-9)
        shift = period / len(self.robots)
        times = [(i * period + k * shift, robot) for i in range(count) for k, robot in enumerate(self.robots)]
        return [(t, robot) for t, robot in times if t < self.duration_s]

    def frame(self, robot: Robot, t: float) -> SimFrame:
        """The frame that a robot takes at a time of the run; the truth's log has it, too."""
        stamp_ns = START_NS + round(t * NS_PER_S)
        base = robot.base_in_map(t)
        sensor = compose(base, SENSOR_IN_BASE)
        view = self.view(robot, t)
        pose: Vec3 = (base.position[0], base.position[1], yaw_of(base.orientation))
        self._truth.record(robot.agent_id, stamp_ns, pose, view.labels)
        depth = np.where(view.depth <= MAX_RANGE, view.depth, np.float32(0))
        if self.depth_noise:
            depth = self._noisy(depth, robot, stamp_ns)
        image = RgbdImage(view.color, depth, self.intrinsics, view.labels, self.legend)
        in_odom = compose(robot.base_in_odom(t), SENSOR_IN_BASE)
        return SimFrame(robot.agent_id, stamp_ns, image, sensor, in_odom, BASE_IN_SENSOR)

    def _noisy(self, depth: Float32Array, robot: Robot, stamp_ns: int) -> Float32Array:
        """Axial noise of a structured-light camera (Nguyen et al., 3DIMPVT 2012), holes at steps and some anywhere."""
        rng = np.random.default_rng([self.seed, 3, self.robots.index(robot), stamp_ns])
        sigma = 0.0012 + 0.0019 * (depth - 0.4) ** 2
        noisy = depth + sigma * rng.standard_normal(depth.shape, np.float32)
        padded = np.pad(depth, 1, mode="edge")  # bends of the surface, not slants, tell a step
        across = padded[1:-1, :-2] + padded[1:-1, 2:] - 2 * depth
        along = padded[:-2, 1:-1] + padded[2:, 1:-1] - 2 * depth
        step = np.maximum(np.abs(across), np.abs(along))
        hole = (step > 0.1) | (rng.random(depth.shape, np.float32) < 0.01) | (depth == 0)
        return np.where(hole, 0, noisy).astype(np.float32)

    def _build_world(self, index: int) -> World:
        return World.of([self._shell, *(self._triangles_of_thing(thing) for thing in self.stage.states[index])])

    @cached_property
    def _shell(self) -> Triangles:
        return Triangles.of(shell(), 0)

    @cached_property
    def _bodies(self) -> dict[str, World]:
        shapes = [body(ROBOT_COLORS[k % len(ROBOT_COLORS)]) for k in range(len(self.robots))]
        shapes += [persons.body(k) for k in range(len(self.walkers))]
        return {
            name: World.of([Triangles.of(shape, number)])
            for shape, (name, number) in zip(shapes, self._body_ids.items(), strict=True)
        }
