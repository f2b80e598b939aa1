"""The robots: their bodies, cameras, tours and odometry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.bridges.apartment.materials import Material, paint, plastic
from r4_ros.bridges.apartment.paths import RADIUS, TICK, Floor, Stop, Trajectory, drive
from r4_ros.bridges.apartment.shapes import Shape, box, cylinder, lathe
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import inverse, quat_from_matrix, quat_from_yaw
from r4_ros.core.model import FloatArray, Intrinsics, Pose

CAMERA_HEIGHT, CAMERA_FORWARD, CAMERA_TILT = 1.1, 0.12, math.radians(15)
HORIZONTAL_FOV = math.radians(75)
STOP_JITTER = 0.06
"""Stops are moved by up to this with the seed, metres."""

TOURS: tuple[tuple[Stop, ...], ...] = (
    (
        Stop(3.4, 1.6, (100, 160, 215)),
        Stop(7.55, 1.3, (-50, 10, 70)),
        Stop(7.05, 4.3, (195, -30), 1.6),
        Stop(8.3, 5.8, (0, 180)),
        Stop(2.7, 7.5, (40, 110, 165)),
        Stop(2.1, 5.8, (0,), 1.6),
        Stop(3.4, 1.7, (110, 170, 215)),
        Stop(7.55, 1.3, (0, 70)),
        Stop(7.05, 4.3, (195, -30)),
        Stop(8.4, 5.8, (180, 0)),
    ),
    (
        Stop(8.9, 8.3, (160, 95, 40, -35)),
        Stop(8.3, 5.8, (0, 180)),
        Stop(5.7, 8.1, (120, 70, -20, -60), 0.8),
        Stop(3.5, 1.9, (130, 175, 230)),
        Stop(7.05, 4.2, (195, -40)),
        Stop(7.55, 1.3, (-40, 50)),
        Stop(8.4, 5.8, (180,)),
        Stop(2.7, 7.6, (40, 80, 120, 165), 0.8),
        Stop(2.1, 5.8, (180, 0)),
    ),
)
"""Where each robot goes; another robot takes the tours again from the start."""


def camera(width: int, height: int) -> Intrinsics:
    """Pinhole intrinsics of the robots' cameras at an image size."""
    if width < 16 or height < 16:
        raise InvalidArgument(f"image size {width}x{height} is too small: at least 16x16")
    focal = width / 2 / math.tan(HORIZONTAL_FOV / 2)
    return Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)


def sensor_in_base() -> Pose:
    """Optical frame of the camera in base_link: on a mast, looking forward and a little down."""
    c, s = math.cos(CAMERA_TILT), math.sin(CAMERA_TILT)
    rotation = np.array([[0, -s, c], [-1, 0, 0], [0, -c, -s]])
    return Pose((CAMERA_FORWARD, 0.0, CAMERA_HEIGHT), quat_from_matrix(rotation))


SENSOR_IN_BASE = sensor_in_base()
BASE_IN_SENSOR = inverse(SENSOR_IN_BASE)


def body(color: str) -> Shape:
    """A round base with a mast and a camera head, in base_link."""
    dark = plastic("dark grey")
    hull = lathe(
        [(0, 0.03), (RADIUS, 0.03), (RADIUS, 0.24), (RADIUS - 0.05, 0.30), (0, 0.30)], (0, 0, 0), paint(color, 0.3), 28
    )
    mast = cylinder(0.035, 0.72, (0, 0, 0.30), dark)
    head = box((0.14, 0.26, 0.12), (0.02, 0, 1.03), Material((0.9, 0.9, 0.9), gloss=0.3))
    eye = box((0.01, 0.2, 0.06), (0.094, 0, 1.06), plastic("black"))
    return [hull, mast, head, eye]


@dataclass(frozen=True, eq=False)
class Robot:
    """One robot's way through the apartment, as it really is and as its odometry believes it to be."""

    agent_id: str
    truth: Trajectory
    odometry: Trajectory

    def base_in_map(self, t: float) -> Pose:
        """True pose of the base at a time of the run."""
        return _planar(self.truth.at(t))

    def base_in_odom(self, t: float) -> Pose:
        """Pose of the base as the odometry believes it; it starts at the origin."""
        return _planar(self.odometry.at(t))


def make_robot(agent_id: str, number: int, floor: Floor, seed: int, duration_s: float, drift: float) -> Robot:
    """Robot ``number`` (0, 1, ...) on its tour. ``drift``: odometry error as a share of the way; rad per metre too."""
    rng = np.random.default_rng([seed, 2, number])
    tour = [_shifted(stop, rng, floor) for stop in TOURS[number % len(TOURS)]]
    truth = drive(floor, tour, duration_s)
    return Robot(agent_id, truth, Trajectory(_drifted(truth.poses, drift, rng)))


def _shifted(stop: Stop, rng: np.random.Generator, floor: Floor) -> Stop:
    """A stop near the planned one, where there is room to turn."""
    dx, dy = rng.uniform(-STOP_JITTER, STOP_JITTER, 2)
    x, y = stop.x + float(dx), stop.y + float(dy)
    if floor.clearance([(x, y)])[0] < RADIUS + 0.06:
        x, y = stop.x, stop.y
    return Stop(x, y, stop.looks, stop.dwell)


def _drifted(poses: FloatArray, drift: float, rng: np.random.Generator) -> FloatArray:
    """Dead reckoning that starts at the origin: each step's length and turn are off by a share of the way."""
    step = np.diff(poses, axis=0)
    way = np.hypot(step[:, 0], step[:, 1])
    scale, bias = 1 + drift * rng.normal(), drift * rng.normal()
    noise = drift * rng.normal(size=len(step)) * np.sqrt(way * TICK)
    yaw = np.concatenate([[0.0], np.cumsum(step[:, 2] + bias * way + noise)])
    error = yaw[:-1] - poses[:-1, 2]
    x = scale * (step[:, 0] * np.cos(error) - step[:, 1] * np.sin(error))
    y = scale * (step[:, 0] * np.sin(error) + step[:, 1] * np.cos(error))
    return np.stack([np.concatenate([[0.0], np.cumsum(v)]) for v in (x, y)] + [yaw], axis=1)


def closest_approach(robots: Sequence[Robot]) -> float:
    """Smallest distance between any two robots at one time, m."""
    paths = [robot.truth.poses for robot in robots]
    gaps = [
        float(np.hypot(*(a[:n, :2] - b[:n, :2]).T).min())
        for i, a in enumerate(paths)
        for b in paths[i + 1 :]
        for n in [min(len(a), len(b))]
    ]
    return min(gaps, default=math.inf)


def _planar(pose: tuple[float, float, float]) -> Pose:
    return Pose((pose[0], pose[1], 0.0), quat_from_yaw(pose[2]))
