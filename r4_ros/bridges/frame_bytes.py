"""Frame records as the bytes that go over the wire."""

from __future__ import annotations

from rclpy.serialization import serialize_message

from r4_ros.core.model import Frame
from r4_ros.nodes.convert import frame_to_msg


def frame_bytes(frame: Frame) -> bytes:
    """The serialised ObservationArray of a frame record."""
    return bytes(serialize_message(frame_to_msg(frame)))
