"""Memories without pictures: rays tell what is in view, the simulator's state tells what it is. Boxes have noise.

A coarse grid of rays by the simulator's own ray caster stands for each picture: no light, no colour, no masks to lift.
So it is several times as fast as rendering, and errors of perception are only those that are put in on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from r4_ros.bridges.apartment.feed import ENTRIES_NEAR, MAP_ID, placement_of
from r4_ros.bridges.apartment.render import NOTHING, View, cast, rays
from r4_ros.bridges.apartment.robots import SENSOR_IN_BASE, Robot
from r4_ros.bridges.apartment.simulation import SimFrame, Simulation
from r4_ros.bridges.apartment.truth import Standing
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.geometry import compose, corners, inverse, project, rotation_matrix, transform_box
from r4_ros.core.model import (
    Box,
    Embedding,
    Frame,
    Intrinsics,
    Matrix3,
    Observation,
    PlacedEntry,
    Pose,
    Vec3,
    Visibility,
)
from r4_ros.core.ports import Embedder
from r4_ros.evaluation.sim.scenarios import Scenario
from r4_ros.memory.library import Library
from r4_ros.perception.lift import depth_sigma
from r4_ros.perception.views import view_of
from r4_ros.perception.visibility import Expectations

SIZE = (160, 120)
SIGMA_M = 0.01
LEAST_RAYS = 4
HIDDEN_SHARE = 0.3
"""Of the box's outline in the picture: fewer rays than that meet the thing, so something stands before it."""
COLORS = {"dark green": "green", "light blue": "blue", "dark grey": "grey", "steel": "grey", "cream": "white"}
WOODS = ("oak", "pine", "walnut", "terracotta")

Sights = Mapping[int, Observation]
Perceive = Callable[[SimFrame, Sights], Sequence[Observation]]
"""What a recogniser makes of what is in view: from the true observations by instance id, those that memory gets."""


class Unrendered(Simulation):
    """A simulation whose pictures are rays: depth and instance ids, no colour. Robots don't see each other."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(
            scenario.seed, scenario.duration_s, scenario.rate_hz, SIZE, scenario.robots, script=scenario.script
        )
        self.pixels = (scenario.size[0] * scenario.size[1]) // (SIZE[0] * SIZE[1])

    def view(self, robot: Robot, t: float) -> View:
        """What rays meet first."""
        sensor = compose(robot.base_in_map(t), SENSOR_IN_BASE)
        world = self._world_of_state(self.stage.index(t))
        directions = rays(self.intrinsics) @ rotation_matrix(sensor.orientation).astype(np.float32).T
        origins = np.broadcast_to(np.asarray(sensor.position, np.float32), directions.shape).copy()
        hits = cast(world, origins, directions)
        hit, size = hits.triangle != NOTHING, (self.intrinsics.height, self.intrinsics.width)
        depth = np.where(hit, hits.distance, 0).astype(np.float32).reshape(size)
        labels = np.where(hit, world.triangles.instance[hits.triangle], 0).astype(np.int32).reshape(size)
        return View(np.zeros((*size, 3), np.uint8), depth, labels)

    def truth_log(self) -> dict[str, object]:
        """The truth; pixels are told as of the scenario's pictures."""
        log = super().truth_log()
        frames = log["frames"]
        assert isinstance(frames, list)
        told = [{**f, "pixels": {k: n * self.pixels for k, n in f["pixels"].items()}} for f in frames]
        return {**log, "frames": told}


def feed_unrendered(
    frames: Iterator[SimFrame],
    simulation: Unrendered,
    library: Library,
    embedder: Embedder | None,
    perceive: Perceive = lambda _, seen: list(seen.values()),
) -> Iterator[Frame]:
    """Drive the robots into a memory; gives each frame record after it was stored."""
    library.set_regions(simulation.regions)
    sensors = {robot.agent_id: Sensor(robot.agent_id, simulation, embedder) for robot in simulation.robots}
    for frame in frames:
        entries = [e for e in library.entries_near(frame.agent_id, ENTRIES_NEAR) if e.map_id == MAP_ID]
        record = sensors[frame.agent_id].record(frame, entries, perceive)
        library.ingest(record)
        yield record


class Sensor:
    """One robot's recogniser, which knows what things are."""

    def __init__(self, agent_id: str, simulation: Unrendered, embedder: Embedder | None) -> None:
        self._agent_id, self._simulation, self._embedder = agent_id, simulation, embedder
        self._expectations = Expectations()
        self._embeddings: dict[str, Embedding] = {}
        self._sequence = 0
        self._config = PerceptionConfig()

    def record(self, frame: SimFrame, entries: Sequence[PlacedEntry], perceive: Perceive) -> Frame:
        """The frame record: what is in view, and what should be and isn't."""
        self._sequence += 1
        placement = placement_of(frame)
        seen = [self._embedded(o) for o in perceive(frame, self._sights(frame))]
        seen = [replace(o, index=k) for k, o in enumerate(seen)]
        gone = self._expectations.check(entries, seen, frame.depth, frame.intrinsics, placement, len(seen))
        view = view_of(frame.depth, frame.intrinsics, self._config.min_depth_m, self._config.max_depth_m)
        return Frame(
            agent_id=self._agent_id,
            camera="camera",
            writer=f"unrendered-{self._simulation.seed}-{self._agent_id}",
            sequence=self._sequence,
            session=0,
            stamp_ns=frame.stamp_ns,
            map_id=MAP_ID,
            map_frame="map",
            sensor_frame=placement.sensor_frame,
            sensor_in_map=frame.sensor_in_map,
            view=view,
            sensor_in_odom=frame.sensor_in_odom,
            base_in_sensor=frame.base_in_sensor,
            observations=(*seen, *gone),
        )

    def _sights(self, frame: SimFrame) -> dict[int, Observation]:
        """A true observation, noise apart, of each thing that enough rays meet."""
        rng = np.random.default_rng([self._simulation.seed, 5, frame.stamp_ns])
        standing = {s.instance_id: s for s in self._simulation.truth(frame.stamp_ns)}
        ids, counts = np.unique(frame.labels, return_counts=True)
        found: dict[int, Observation] = {}
        for number, count in zip(ids.tolist(), counts.tolist(), strict=True):
            thing = standing.get(number)
            if thing is not None and count >= LEAST_RAYS:
                found[number] = _sight(thing, frame, count, len(found), rng)
        return found

    def _embedded(self, observation: Observation) -> Observation:
        if self._embedder is None:
            return observation
        known = self._embeddings.get(observation.label)
        if known is None:
            known = Embedding(self._embedder.name, self._embedder.embed([observation.label])[0])
            self._embeddings[observation.label] = known
        return replace(observation, label_embedding=known)


def _sight(thing: Standing, frame: SimFrame, rays_on_it: int, index: int, rng: np.random.Generator) -> Observation:
    box = transform_box(inverse(frame.sensor_in_map), thing.box)
    sigma = SIGMA_M + depth_sigma(max(0.4, box.pose.position[2]))
    position, extent = box.pose.position, thing.box.extent
    noisy: Vec3 = tuple(float(p + rng.normal(0, sigma)) for p in position)  # type: ignore[assignment]
    sized: Vec3 = tuple(max(0.01, float(e * (1 + rng.normal(0, 0.02)))) for e in extent)  # type: ignore[assignment]
    flat: Matrix3 = tuple(sigma**2 if k in (0, 4, 8) else 0.0 for k in range(9))  # type: ignore[assignment]
    color = plain(thing.color)
    return Observation(
        index=index,
        label=thing.label,
        box=Box(Pose(noisy, box.pose.orientation), sized),
        position_covariance=flat,
        attributes=(("color", color),) if color else (),
        visibility=_visibility(box, frame.intrinsics, frame.labels == thing.instance_id, rays_on_it),
        confidence=0.9,
    )


def plain(color: str) -> str:
    """The colour as perception names colours; '' for what has none of its own."""
    return "brown" if color in WOODS else COLORS.get(color, color)


def _visibility(box: Box, camera: Intrinsics, mask: npt.NDArray[np.bool_], on_it: int) -> Visibility:
    if mask[0].any() or mask[-1].any() or mask[:, 0].any() or mask[:, -1].any():
        return Visibility.TRUNCATED
    outline = project(camera, corners(box))
    outline = outline[np.isfinite(outline).all(axis=1)]
    area = float(np.prod(np.ptp(outline, axis=0))) if len(outline) else 0.0
    return Visibility.OCCLUDED if on_it < HIDDEN_SHARE * area else Visibility.VISIBLE
