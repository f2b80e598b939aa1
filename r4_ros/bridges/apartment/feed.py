"""Drives the robots' frames straight into a memory, without ROS: faster than the time that is simulated."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from r4_ros.bridges.apartment.simulation import SimFrame, Simulation
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused
from r4_ros.core.model import Visibility
from r4_ros.core.ports import Embedder
from r4_ros.memory.library import Library
from r4_ros.perception.capture import Placement
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline

MAP_ID = "apartment"
"""The robots share one map: their places can be compared."""
ENTRIES_NEAR = 500


@dataclass
class Fed:
    """What has gone into the memory so far."""

    frames: int = 0
    observations: int = 0
    absent: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wall_s: float = 0.0


def feed(
    simulation: Simulation,
    library: Library,
    embedder: Embedder | None = None,
    progress: Callable[[Fed], None] | None = None,
) -> Fed:
    """Run the simulation into a memory: one perception pipeline for each robot, and the rooms as regions."""
    library.set_regions(simulation.regions)
    pipelines = {robot.agent_id: _pipeline(robot.agent_id, simulation, embedder) for robot in simulation.robots}
    fed, start = Fed(), time.monotonic()
    for frame in simulation.frames():
        try:
            record = pipelines[frame.agent_id].observe(
                frame.image, placement_of(frame), library.entries_near(frame.agent_id, ENTRIES_NEAR)
            )
        except FrameRefused as refusal:
            fed.refused[refusal.reason.value] += 1
            continue
        library.ingest(record)
        absent = sum(o.visibility is Visibility.ABSENT for o in record.observations)
        fed.frames += 1
        fed.absent += absent
        fed.observations += sum(not o.entry_id for o in record.observations)
        fed.wall_s = time.monotonic() - start
        if progress is not None:
            progress(fed)
    return fed


def _pipeline(agent_id: str, simulation: Simulation, embedder: Embedder | None) -> Pipeline:
    config = PerceptionConfig(agent_id=agent_id, segmenter="label_image", map_id=MAP_ID)
    return Pipeline(config, LabelSegmenter(), embedder, writer=f"sim-{simulation.seed}-{agent_id}")


def placement_of(frame: SimFrame) -> Placement:
    """When and where a frame was taken, as perception wants to know it."""
    return Placement(
        frame.stamp_ns, "camera_optical_frame", frame.sensor_in_map, frame.sensor_in_odom, frame.base_in_sensor
    )
