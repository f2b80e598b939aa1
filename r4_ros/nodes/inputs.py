"""What perception subscribes to: role, message type, topic and QoS, by its configuration."""

from __future__ import annotations

from typing import Any, NamedTuple

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from r4_ros.core.config import PerceptionConfig
from r4_ros.nodes import qos


class InputTopic(NamedTuple):
    """One subscription of perception."""

    role: str
    kind: Any
    topic: str
    profile: QoSProfile


def input_topics(config: PerceptionConfig) -> list[InputTopic]:
    """Everything that the stream takes with this configuration; topics before remapping."""
    color = (CompressedImage, "color/image_raw/compressed") if config.compressed else (Image, "color/image_raw")
    inputs = [
        InputTopic("color", *color, qos.SENSOR),
        InputTopic("color_info", CameraInfo, "color/camera_info", qos.CAMERA_INFO),
        *_depth(config),
        InputTopic("tf", TFMessage, "/tf", qos.TF),
        InputTopic("tf_static", TFMessage, "/tf_static", qos.TF_STATIC),
    ]
    if config.segmenter == "label_image":
        inputs.append(InputTopic("label", Image, "label/image_raw", qos.SENSOR))
        if not config.label_legend:
            inputs.append(InputTopic("label_info", String, "label/label_info", qos.LATCHED))
    if config.pose_source == "odometry":
        inputs.append(InputTopic("odometry", Odometry, "odom", qos.SENSOR))
    elif config.pose_source == "pose":
        inputs.append(InputTopic("pose", PoseStamped, "pose", qos.SENSOR))
    return inputs


def _depth(config: PerceptionConfig) -> list[InputTopic]:
    if config.depth_source == "cloud":
        return [InputTopic("cloud", PointCloud2, "cloud", qos.SENSOR)]
    raw = InputTopic("depth", Image, "depth/image_raw", qos.SENSOR)
    compressed = InputTopic("depth", CompressedImage, "depth/image_raw/compressedDepth", qos.SENSOR)
    return [
        compressed if config.depth_compressed else raw,
        InputTopic("depth_info", CameraInfo, "depth/camera_info", qos.CAMERA_INFO),
    ]
