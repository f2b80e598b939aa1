"""Worse sensing, put on a run's frames: depth noise, wrong labels, drift, and a loop closure that comes at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from r4_ros.bridges.apartment.simulation import SimFrame, Simulation
from r4_ros.core.geometry import compose
from r4_ros.core.model import NS_PER_S, Float32Array, Pose
from r4_ros.memory.library import Library

KINDS = ("noise", "labels", "drift", "closure")
NOISE_M, WRONG, DRIFT, CLOSED_M = 0.05, 0.10, 0.005, 1.0
HEADING = 0.7
"""Direction of the error in the map, rad."""
NODE_NS = NS_PER_S


class Degraded:
    """What degrades the frames of one simulation.

    noise: each depth is off by 5 cm (1 sigma). labels: each thing in each frame has one of the others' labels with a
    probability of 0.1. drift: the pose in map and odom is off by 0.5 % of the way since the start, always in one
    direction, and nothing corrects it. closure: it is off by up to a metre, growing with time, until a loop closure at
    the end corrects the whole way.
    """

    def __init__(self, kinds: frozenset[str], simulation: Simulation) -> None:
        self._kinds, self._simulation = kinds, simulation
        self._labels = sorted(set(simulation.legend.values()))
        self._true: dict[str, list[tuple[int, Pose]]] = {robot.agent_id: [] for robot in simulation.robots}
        self._way: dict[str, float] = dict.fromkeys(self._true, 0.0)

    def __call__(self, frame: SimFrame) -> SimFrame:
        """The frame as it comes from worse sensors."""
        rng = np.random.default_rng([self._simulation.seed, 7, frame.stamp_ns])
        base, nodes = compose(frame.sensor_in_map, frame.base_in_sensor), self._true[frame.agent_id]
        if nodes:
            self._way[frame.agent_id] += float(np.linalg.norm(np.subtract(base.position, nodes[-1][1].position)))
        nodes.append((frame.stamp_ns, base))
        image = frame.image
        if "noise" in self._kinds:
            image = replace(image, depth=_noisy(image.depth, rng))
        if "labels" in self._kinds:
            ids = np.unique(frame.labels).tolist()
            wrong = {i: str(rng.choice(self._labels)) for i in ids if i and rng.random() < WRONG}
            image = replace(image, legend={**image.legend, **wrong})
        off = Pose(self._error(frame))
        believed = compose(off, frame.sensor_in_map)
        return replace(frame, image=image, sensor_in_map=believed, sensor_in_odom=believed)

    def _error(self, frame: SimFrame) -> tuple[float, float, float]:
        size = DRIFT * self._way[frame.agent_id] if "drift" in self._kinds else 0.0
        if "closure" in self._kinds:
            run_s = (frame.stamp_ns - self._simulation.start_ns) / NS_PER_S
            size += CLOSED_M * run_s / self._simulation.duration_s
        return size * float(np.cos(HEADING)), size * float(np.sin(HEADING)), 0.0

    def close(self, library: Library) -> None:
        """The loop closure: the SLAM tells where the robots really were, a node a second."""
        if "closure" not in self._kinds:
            return
        for agent, nodes in self._true.items():
            kept = [*_apart(nodes), nodes[-1]]
            library.correct_anchors(agent, [stamp for stamp, _ in kept], [pose for _, pose in kept])
        while library.make_anew() is not None:
            pass


def _apart(nodes: Sequence[tuple[int, Pose]]) -> Iterator[tuple[int, Pose]]:
    """Nodes a second apart, the last one left out."""
    next_ns = 0
    for stamp, pose in nodes[:-1]:
        if stamp >= next_ns:
            yield stamp, pose
            next_ns = stamp + NODE_NS


def _noisy(depth: Float32Array, rng: np.random.Generator) -> Float32Array:
    noisy = depth + np.float32(NOISE_M) * rng.standard_normal(depth.shape, np.float32)
    kept = np.where(depth > 0, np.maximum(noisy, np.float32(0.01)), np.float32(0))
    return np.asarray(kept, np.float32)
