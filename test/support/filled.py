"""A memory node that has seen something."""

from __future__ import annotations

import numpy as np

from r4_ros.core import model as m
from r4_ros.nodes.memory_node import MemoryNode

SECOND = m.NS_PER_S
OLD = 1_700_000_000 * SECOND


def fill(memory: MemoryNode, start_ns: int = OLD) -> None:
    """Five frames a second apart, each of a red cup and two red books before the camera."""
    for sequence in range(1, 6):
        observations = tuple(
            m.Observation(i, label, m.Box(m.Pose((x, 0.2, 2.0)), (0.1, 0.1, 0.1)), attributes=(("color", "red"),))
            for i, (label, x) in enumerate([("cup", 0.0), ("book", 0.7), ("book", -0.7)])
        )
        memory.library.ingest(
            m.Frame(
                "robot",
                "camera",
                "w",
                sequence,
                0,
                start_ns + sequence * SECOND,
                "home",
                "map",
                "optical",
                m.Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5)),
                m.View(1.0, 0.8, 0.1, 5.0, np.full((4, 4), 4.0, np.float32)),
                observations=observations,
            )
        )
