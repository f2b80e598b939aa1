"""Small recordings, written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

S = 1_000_000_000


class BagMaker:
    """Writes a camera's recording: colour rgb8, depth 16UC1, infos, TF; a frame every 0.1 s."""

    def __init__(self) -> None:
        self.store = get_typestore(Stores.ROS2_JAZZY)

    def make(self, kind: str, /, **fields: Any) -> Any:
        return self.store.types[kind](**fields)

    def header(self, stamp_ns: int, frame: str) -> Any:
        stamp = self.make("builtin_interfaces/msg/Time", sec=stamp_ns // S, nanosec=stamp_ns % S)
        return self.make("std_msgs/msg/Header", stamp=stamp, frame_id=frame)

    def image(self, stamp_ns: int, pixels: np.ndarray[Any, Any], encoding: str) -> Any:
        height, width = pixels.shape[:2]
        data = np.frombuffer(pixels.tobytes(), np.uint8)
        return self.make(
            "sensor_msgs/msg/Image", header=self.header(stamp_ns, "camera"), height=height, width=width,
            encoding=encoding, is_bigendian=0, step=len(data) // height, data=data,
        )  # fmt: skip

    def info(self, stamp_ns: int) -> Any:
        k = np.array([30.0, 0, 16, 0, 30, 12, 0, 0, 1])
        roi = self.make("sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
        return self.make(
            "sensor_msgs/msg/CameraInfo", header=self.header(stamp_ns, "camera"), height=24, width=32,
            distortion_model="plumb_bob", d=np.zeros(5), k=k, r=np.eye(3).ravel(), p=np.zeros(12),
            binning_x=0, binning_y=0, roi=roi,
        )  # fmt: skip

    def tf(self, stamp_ns: int, x: float) -> Any:
        transform = self.make(
            "geometry_msgs/msg/Transform",
            translation=self.make("geometry_msgs/msg/Vector3", x=x, y=0.0, z=1.0),
            rotation=self.make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0),
        )
        stamped = self.make(
            "geometry_msgs/msg/TransformStamped",
            header=self.header(stamp_ns, "map"),
            child_frame_id="camera",
            transform=transform,
        )
        return self.make("tf2_msgs/msg/TFMessage", transforms=[stamped])

    def frame(self, stamp_ns: int, depth_offset_ns: int = 0) -> list[tuple[str, int, Any]]:
        color = np.full((24, 32, 3), 90, np.uint8)
        depth = np.full((24, 32), 2000, np.uint16)
        return [
            ("/tf", stamp_ns, self.tf(stamp_ns, stamp_ns / S)),
            ("/camera/color/camera_info", stamp_ns, self.info(stamp_ns)),
            ("/camera/depth/camera_info", stamp_ns, self.info(stamp_ns)),
            ("/camera/color/image_raw", stamp_ns, self.image(stamp_ns, color, "rgb8")),
            (
                "/camera/depth/image_rect_raw",
                stamp_ns + depth_offset_ns,
                self.image(stamp_ns + depth_offset_ns, depth, "16UC1"),
            ),
        ]

    def cloud(self, stamp_ns: int) -> Any:
        """A wall 2 m ahead, as the depth image has it."""
        v, u = np.mgrid[:24, :32]
        points = np.stack([(u - 16) / 15, (v - 12) / 15, np.full(u.shape, 2.0)], axis=-1).astype("<f4")
        fields = [
            self.make("sensor_msgs/msg/PointField", name=name, offset=4 * i, datatype=7, count=1)
            for i, name in enumerate("xyz")
        ]
        return self.make(
            "sensor_msgs/msg/PointCloud2", header=self.header(stamp_ns, "camera"), height=24, width=32, fields=fields,
            is_bigendian=False, point_step=12, row_step=384, data=np.frombuffer(points.tobytes(), np.uint8),
            is_dense=True,
        )  # fmt: skip

    def write(
        self,
        path: Path,
        messages: list[tuple[str, int, Any]],
        plugin: StoragePlugin = StoragePlugin.MCAP,
        mode: CompressionMode = CompressionMode.NONE,
    ) -> Path:
        with_mode = Writer(path, version=9, storage_plugin=plugin)
        if mode != CompressionMode.NONE:
            with_mode.set_compression(mode, CompressionFormat.ZSTD)
        with with_mode as writer:
            connections: dict[str, Any] = {}
            for topic, stamp_ns, message in sorted(messages, key=lambda item: item[1]):
                if topic not in connections:
                    kind = message.__msgtype__
                    connections[topic] = writer.add_connection(topic, kind, typestore=self.store)
                raw = self.store.serialize_cdr(message, message.__msgtype__)
                writer.write(connections[topic], stamp_ns, raw)
        return path


@pytest.fixture(scope="session")
def bags() -> BagMaker:
    return BagMaker()
