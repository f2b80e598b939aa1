"""Where the cameras were, each at its own stamp: frame names as the robot has them, poses from its transforms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused, RefusalReason
from r4_ros.core.geometry import compose, inverse, relative, rotate, rotation_angle, rotation_matrix
from r4_ros.core.intervals import nanoseconds, seconds
from r4_ros.core.model import IDENTITY, OPTICAL_TO_BASE, Pose
from r4_ros.perception.capture import Placement
from r4_ros.perception.transforms import Transforms, clean

OPTICAL_IN_BODY = inverse(OPTICAL_TO_BASE)
"""Pose of the optical frame in a camera's frame whose x axis points forward and whose z axis points up."""
RATE_SPAN_NS = nanoseconds(0.1)
UPRIGHT = 0.7  # cosine: a camera's z axis that points up like the robot's isn't an optical axis
SAME_TURN_RAD, SAME_SHIFT_M = 5e-4, 2e-3  # a camera that moved less between two stamps stood still


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera's frame in TF, and the pose of its optical frame in that."""

    frame: str
    optical: Pose = IDENTITY

    @property
    def sensor_frame(self) -> str:
        """What its optical frame is called."""
        return self.frame if self.optical == IDENTITY else f"{self.frame}_optical"


class Placer:
    """Looks poses up. All methods raise FrameRefused(NO_POSE) while a pose isn't known."""

    def __init__(self, config: PerceptionConfig, transforms: Transforms) -> None:
        self._config = config
        self._transforms = transforms
        self._optical: dict[str, Pose] = {}  # decided once for each frame
        self.pose_child = ""  # whose pose the odometry or pose topic gives
        self.covariance: tuple[float, ...] = ()  # of it

    def name(self, frame: str) -> str:
        """The frame's name in a shared tree: with this robot's prefix where that exists."""
        frame = clean(frame)
        if not frame or not self._config.tf_prefix:
            return frame
        prefixed = f"{clean(self._config.tf_prefix).rstrip('/')}/{frame}"
        return prefixed if self._transforms.knows(prefixed) else frame

    def camera(self, frame: str, stamp_ns: int) -> Camera:
        """The camera whose images say that they are of this frame."""
        return Camera(frame, self._optical_in(frame, stamp_ns))

    def placement(self, camera: Camera, stamp_ns: int, session: int) -> Placement:
        """Where the colour camera was. Raises FrameRefused(TOO_FAST) where it turned quicker than allowed."""
        sensor_in_map = self._sensor_in(self.name(self._config.map_frame), camera, stamp_ns)
        base_in_sensor = self._base_in(camera, stamp_ns)
        self._check_rate(camera, stamp_ns)
        return Placement(
            stamp_ns=stamp_ns,
            sensor_frame=camera.sensor_frame,
            sensor_in_map=sensor_in_map,
            sensor_in_odom=self._optional(self._config.odom_frame, camera, stamp_ns),
            base_in_sensor=base_in_sensor,
            pose_covariance=self._sensor_covariance(camera.frame, stamp_ns),
            session=session,
        )

    def between(self, color: Camera, color_ns: int, other: Camera, other_ns: int) -> Pose:
        """The other sensor at its stamp in the colour camera at its own, by way of odom (else the map)."""
        if color == other and color_ns == other_ns:
            return IDENTITY
        if color_ns == other_ns:
            mounted = self._transforms.lookup(color.frame, other.frame, color_ns)
            return compose(inverse(color.optical), compose(mounted, other.optical))
        odom = self.name(self._config.odom_frame)
        fixed = odom if odom and self._transforms.knows(odom) else self.name(self._config.map_frame)
        moved = relative(self._sensor_in(fixed, color, color_ns), self._sensor_in(fixed, other, other_ns))
        still = color == other and rotation_angle(IDENTITY.orientation, moved.orientation) < SAME_TURN_RAD
        return IDENTITY if still and max(map(abs, moved.position)) < SAME_SHIFT_M else moved

    def _sensor_in(self, target: str, camera: Camera, stamp_ns: int) -> Pose:
        pose = self._transforms.lookup(target, camera.frame, stamp_ns)
        return pose if camera.optical == IDENTITY else compose(pose, camera.optical)

    def _optional(self, target: str, camera: Camera, stamp_ns: int) -> Pose | None:
        name = self.name(target)
        if not name or not self._transforms.knows(name):
            return None
        try:
            return self._sensor_in(name, camera, stamp_ns)
        except FrameRefused:
            return None

    def _base_in(self, camera: Camera, stamp_ns: int) -> Pose:
        base = self.name(self._config.base_frame)
        if not base or not self._transforms.knows(base):
            return OPTICAL_TO_BASE
        return compose(inverse(camera.optical), self._transforms.lookup(camera.frame, base, stamp_ns))

    def _optical_in(self, frame: str, stamp_ns: int) -> Pose:
        """As the parameter says; auto: by the frame's name, else by how the camera is mounted on the robot."""
        if self._config.optical != "auto":
            return IDENTITY if self._config.optical == "true" else OPTICAL_IN_BODY
        if frame not in self._optical:
            base = self.name(self._config.base_frame)
            if "optical" in frame or not base or not self._transforms.knows(base):
                return IDENTITY
            mounted = self._transforms.lookup(base, frame, stamp_ns).orientation
            upright = rotate(mounted, (0.0, 0.0, 1.0))[2] > UPRIGHT
            self._optical[frame] = OPTICAL_IN_BODY if upright else IDENTITY
        return self._optical[frame]

    def _check_rate(self, camera: Camera, stamp_ns: int) -> None:
        limit = self._config.max_angular_rate
        if not limit:
            return
        target = self._config.odom_frame if self._optional(self._config.odom_frame, camera, stamp_ns) else ""
        target = target or self._config.map_frame
        now = self._optional(target, camera, stamp_ns)
        before = self._optional(target, camera, stamp_ns - RATE_SPAN_NS)
        if now is None or before is None:
            return
        rate = rotation_angle(before.orientation, now.orientation) / seconds(RATE_SPAN_NS)
        if rate > limit:
            text = f"the camera turned at {rate:.2f} rad/s, {limit:g} are allowed (max_angular_rate)"
            raise FrameRefused(RefusalReason.TOO_FAST, text, stamp_ns)

    def _sensor_covariance(self, frame: str, stamp_ns: int) -> tuple[float, ...]:
        """The covariance that the pose topic gave for its frame, carried along the lever arm to the camera."""
        if not self.covariance or not self.pose_child:
            return ()
        lever = self._transforms.lookup(self.pose_child, frame, stamp_ns).position
        body = self._transforms.lookup(self.name(self._config.map_frame), self.pose_child, stamp_ns)
        x, y, z = rotation_matrix(body.orientation) @ np.asarray(lever)
        jacobian = np.eye(6)
        jacobian[:3, 3:] = -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        with np.errstate(over="ignore", invalid="ignore"):
            carried = jacobian @ np.asarray(self.covariance).reshape(6, 6) @ jacobian.T
        return tuple(float(v) for v in carried.ravel()) if np.isfinite(carried).all() else ()
