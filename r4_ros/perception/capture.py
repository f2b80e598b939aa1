"""What the stream hands to the pipeline: a matched set of messages and where the camera was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from r4_ros.core.model import OPTICAL_TO_BASE, Intrinsics, Pose


@dataclass(frozen=True, slots=True)
class Placement:
    """When and where a frame was taken; poses at the colour image's stamp.

    ``sensor_frame`` is the optical frame of the colour camera. ``pose_covariance``: 36 values of sensor_in_map in
    row-major order (x, y, z, rotations), or none.
    """

    stamp_ns: int
    sensor_frame: str
    sensor_in_map: Pose
    sensor_in_odom: Pose | None = None
    base_in_sensor: Pose = OPTICAL_TO_BASE
    pose_covariance: tuple[float, ...] = ()
    session: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Capture:
    """Colour, depth and labels of one moment, not decoded yet: decoding is the worker's job, not the callback's.

    ``depth``: a depth image, or a PointCloud2 where ``depth_camera`` is None. ``depth_in_color``: the pose that the
    depth camera's optical frame (the cloud's frame) had at its stamp in that of the colour camera.
    ``legend`` names the ids of the label image.
    """

    placement: Placement
    color: Any
    depth: Any
    labels: Any | None
    color_camera: Intrinsics
    depth_camera: Intrinsics | None
    depth_in_color: Pose
    legend: dict[int, str] = field(default_factory=dict)
