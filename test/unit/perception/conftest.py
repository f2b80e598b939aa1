"""Messages as perception sees them (objects with the attributes of sensor_msgs and tf2_msgs), and scenes of boxes."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace as Message
from typing import Any

import numpy as np
import pytest

from r4_ros.core.geometry import rotation_matrix
from r4_ros.core.model import IDENTITY, NS_PER_S, Intrinsics, Pose, Vec3
from r4_ros.perception.transforms import TransformBuffer, Transforms


class Messages:
    """Builders of messages."""

    @staticmethod
    def header(stamp_ns: int = 0, frame: str = "camera") -> Any:
        return Message(stamp=Message(sec=stamp_ns // NS_PER_S, nanosec=stamp_ns % NS_PER_S), frame_id=frame)

    def image(
        self,
        pixels: np.ndarray[Any, Any],
        encoding: str,
        stamp_ns: int = 0,
        frame: str = "camera",
        padding: int = 0,
        big: bool = False,
    ) -> Any:
        height, width = pixels.shape[:2]
        if big:
            pixels = pixels.astype(pixels.dtype.newbyteorder(">"))
        rows = np.frombuffer(np.ascontiguousarray(pixels).tobytes(), np.uint8).reshape(height, -1)
        rows = np.pad(rows, ((0, 0), (0, padding)), constant_values=77)
        return Message(
            header=self.header(stamp_ns, frame),
            height=height,
            width=width,
            encoding=encoding,
            is_bigendian=int(big),
            step=rows.shape[1],
            data=rows.tobytes(),
        )

    def compressed(self, data: bytes, form: str, stamp_ns: int = 0, frame: str = "camera") -> Any:
        return Message(header=self.header(stamp_ns, frame), format=form, data=data)

    def info(
        self,
        width: int = 64,
        height: int = 48,
        focal: float = 50.0,
        frame: str = "camera",
        **changes: Any,
    ) -> Any:
        cx, cy = width / 2, height / 2
        message = Message(
            header=self.header(0, frame),
            width=width,
            height=height,
            distortion_model="plumb_bob",
            d=[0.0] * 5,
            k=[focal, 0, cx, 0, focal, cy, 0, 0, 1.0],
            p=[focal, 0, cx, 0, 0, focal, cy, 0, 0, 0, 1.0, 0],
            binning_x=0,
            binning_y=0,
            roi=Message(x_offset=0, y_offset=0, width=0, height=0),
        )
        vars(message).update(changes)
        return message

    def tf(self, *transforms: tuple[str, str, int, Pose]) -> Any:
        return Message(transforms=[self.transform(*item) for item in transforms])

    def transform(self, parent: str, child: str, stamp_ns: int, pose: Pose) -> Any:
        x, y, z = pose.position
        qx, qy, qz, qw = pose.orientation
        return Message(
            header=self.header(stamp_ns, parent),
            child_frame_id=child,
            transform=Message(translation=Message(x=x, y=y, z=z), rotation=Message(x=qx, y=qy, z=qz, w=qw)),
        )


@pytest.fixture(scope="session")
def messages() -> Messages:
    return Messages()


@pytest.fixture(scope="session", params=["own", pytest.param("tf2", marks=pytest.mark.ros)])
def new_buffer(request: pytest.FixtureRequest) -> Callable[..., Transforms]:
    """Makes a transform buffer: ours, and tf2's where that is installed."""
    if request.param == "own":
        return TransformBuffer
    pytest.importorskip("tf2_py", reason="needs tf2_py of a ROS installation")
    from r4_ros.nodes.tf import Tf2Buffer

    return Tf2Buffer


class Scene:
    """Depth images of boxes aligned with the map's axes, by exact ray casting from a camera's pose in the map."""

    def __init__(self, camera: Intrinsics, boxes: list[tuple[Vec3, Vec3]], pose: Pose = IDENTITY) -> None:
        self.camera, self.boxes, self.pose = camera, boxes, pose

    def render(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Depth float32 [H, W] (0: nothing hit) and the index of the box that is seen, -1 where none."""
        rows, columns = np.mgrid[: self.camera.height, : self.camera.width]
        x = (columns - self.camera.cx) / self.camera.fx
        y = (rows - self.camera.cy) / self.camera.fy
        rays = np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3) @ rotation_matrix(self.pose.orientation).T
        best, who = np.full(len(rays), np.inf), np.full(len(rays), -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            for i, (centre, extent) in enumerate(self.boxes):
                low = (np.asarray(centre) - np.asarray(extent) / 2 - self.pose.position) / rays
                high = (np.asarray(centre) + np.asarray(extent) / 2 - self.pose.position) / rays
                near, far = np.minimum(low, high).max(axis=1), np.maximum(low, high).min(axis=1)
                hit = (near <= far) & (near > 0) & (near < best)
                best[hit], who[hit] = near[hit], i
        depth = np.where(np.isfinite(best), best, 0).astype(np.float32)
        shape = (self.camera.height, self.camera.width)
        return depth.reshape(shape), who.reshape(shape)


@pytest.fixture(scope="session")
def scene() -> type[Scene]:
    return Scene
