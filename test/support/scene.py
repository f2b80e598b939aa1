"""A camera's view as real messages: a wall 3 m ahead and a red cup 2 m ahead, which may be gone. Needs ROS."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
from geometry_msgs.msg import Transform, TransformStamped, Vector3
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage

from r4_ros.bridges.playback import TimedMessage
from r4_ros.bridges.sim_messages import point_cloud
from r4_ros.core.model import NS_PER_S, Intrinsics
from r4_ros.nodes.annotate import image_message
from r4_ros.nodes.convert import time_to_msg

WIDTH, HEIGHT, FOCAL = 80, 60, 80.0
CAMERA = Intrinsics(WIDTH, HEIGHT, FOCAL, FOCAL, WIDTH / 2, HEIGHT / 2)
OPTICAL_IN_MAP = ((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))  # 1 m up, looking along the map's x axis


def pixels_message(pixels: np.ndarray, encoding: str, header: Header) -> Image:
    made = image_message(pixels.reshape(HEIGHT, WIDTH, -1).view(np.uint8), header)
    made.encoding = encoding
    return made


def frame_messages(
    stamp_ns: int, cup: bool = True, pose: bool = True, prefix: str = "", cloud: bool = False
) -> Iterator[TimedMessage]:
    """The messages of one frame, for lockstep as agent 'robot'. ``prefix``: of all topics, with its slash.

    ``cloud``: a point cloud instead of the depth image.
    """
    header = Header(stamp=time_to_msg(stamp_ns), frame_id="optical")
    color = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    depth = np.full((HEIGHT, WIDTH), 3.0, np.float32)
    labels = np.zeros((HEIGHT, WIDTH), np.uint16)
    if cup:
        where = np.s_[26:36, 36:46]
        color[where], depth[where], labels[where] = (200, 20, 20), 2.0, 7
    info = CameraInfo(header=header, height=HEIGHT, width=WIDTH, distortion_model="plumb_bob")
    info.k = [FOCAL, 0.0, WIDTH / 2, 0.0, FOCAL, HEIGHT / 2, 0.0, 0.0, 1.0]
    measured: tuple[str, str, object] = (
        ("cloud", "sensor_msgs/msg/PointCloud2", point_cloud(depth, CAMERA, header))
        if cloud
        else ("depth/image_raw", "sensor_msgs/msg/Image", pixels_message(depth, "32FC1", header))
    )
    parts = [
        ("color/camera_info", "sensor_msgs/msg/CameraInfo", info),
        measured,
        ("label/image_raw", "sensor_msgs/msg/Image", pixels_message(labels, "16UC1", header)),
        ("color/image_raw", "sensor_msgs/msg/Image", pixels_message(color, "rgb8", header)),
    ]
    if pose:
        parts.insert(0, ("/tf", "tf2_msgs/msg/TFMessage", camera_pose(header)))
    for topic, kind, payload in parts:
        yield TimedMessage(
            stamp_ns, prefix + topic.lstrip("/") if prefix else topic, kind, payload, lockstep_key="robot"
        )


def camera_pose(header: Header) -> TFMessage:
    """Where the camera stands."""
    (x, y, z), (qx, qy, qz, qw) = OPTICAL_IN_MAP
    placed = Transform(translation=Vector3(x=x, y=y, z=z))
    placed.rotation.x, placed.rotation.y, placed.rotation.z, placed.rotation.w = qx, qy, qz, qw
    moved = TransformStamped(header=Header(stamp=header.stamp, frame_id="map"), child_frame_id=header.frame_id)
    moved.transform = placed
    return TFMessage(transforms=[moved])


def label_names(stamp_ns: int = NS_PER_S, prefix: str = "") -> TimedMessage:
    """What the label image's ids mean."""
    names = String(data=json.dumps({"7": "cup"}))
    return TimedMessage(stamp_ns, f"{prefix}label/label_info", "std_msgs/msg/String", names, latched=True)


def frames_of(stamps: list[int], cup: bool = True, pose: bool = True, cloud: bool = False) -> list[TimedMessage]:
    """The messages of several frames."""
    return [item for stamp_ns in stamps for item in frame_messages(stamp_ns, cup, pose, cloud=cloud)]
