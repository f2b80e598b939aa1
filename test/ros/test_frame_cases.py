"""Situations of CASES.md that touch frames, as real messages through live nodes: what is taken, what is refused."""

from __future__ import annotations

import array
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from scene import HEIGHT, WIDTH, camera_pose, frame_messages, label_names
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import Header

from r4_ros.bridges.playback import TimedMessage, play
from r4_ros.core import model as m
from r4_ros.nodes import convert
from r4_ros.nodes.memory_node import MemoryNode
from r4_ros.nodes.perception_node import PerceptionNode

pytestmark = pytest.mark.ros
SECOND = m.NS_PER_S
Change = Callable[[Any], None]


def pixels(message: Any, kind: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(message.data, kind).reshape(HEIGHT, WIDTH, -1)


def data_of(pixels: np.ndarray[Any, Any]) -> array.array[int]:
    return array.array("B", np.ascontiguousarray(pixels).tobytes())


def encoded(encoding: str, convert_to: int | None = None, big: bool = False, padding: int = 0) -> Change:
    """The same colour or depth in another encoding, byte order or row length."""

    def change(message: Any) -> None:
        if message.encoding == "32FC1":
            array_ = pixels(message, "<f4")
            if encoding == "16UC1":
                array_ = (array_ * 1000).astype("<u2")
            array_ = array_.astype(array_.dtype.newbyteorder(">")) if big else array_
        else:
            array_ = pixels(message, np.uint8)
            array_ = array_ if convert_to is None else cv2.cvtColor(array_, convert_to).reshape(HEIGHT, WIDTH, -1)
        rows = np.frombuffer(array_.tobytes(), np.uint8).reshape(HEIGHT, -1)
        rows = np.pad(rows, ((0, 0), (0, padding)), constant_values=99)
        message.encoding, message.is_bigendian, message.step = encoding, int(big), rows.shape[1]
        message.data = data_of(rows)

    return change


def holes(message: Any) -> None:
    depth = pixels(message, "<f4").copy()
    depth[::3], depth[1::7], depth[2::11] = np.nan, np.inf, -1.0
    message.data = data_of(depth)


def no_measurement_on_the_cup(message: Any) -> None:
    depth = pixels(message, "<f4").copy()
    depth[26:36, 36:46] = 0
    message.data = data_of(depth)


def later(seconds: float) -> Change:
    def change(message: Any) -> None:
        stamp_ns = message.header.stamp.sec * SECOND + message.header.stamp.nanosec + int(seconds * SECOND)
        message.header = Header(stamp=convert.time_to_msg(stamp_ns), frame_id=message.header.frame_id)

    return change


def setting(**fields: Any) -> Change:
    def change(message: Any) -> None:
        for name, value in fields.items():
            setattr(message, name, value)

    return change


def cut(message: Any) -> None:
    message.data = message.data[: len(message.data) // 2]


NO_INTRINSICS = setting(k=[0.0] * 9, p=[0.0] * 12)
FROM_P = setting(k=[0.0] * 9, p=[80.0, 0.0, 40.0, 0.0, 0.0, 80.0, 30.0, 0.0, 0.0, 0.0, 1.0, 0.0])
CASES: list[tuple[str, str, Change, str, int]] = [  # name, topic, change, reason of the refusal, observations
    ("4: K and P zero", "color/camera_info", NO_INTRINSICS, "no_intrinsics", 0),
    ("4: K zero, P valid", "color/camera_info", FROM_P, "", 1),
    ("1: depth in millimetres", "depth/image_raw", encoded("16UC1"), "", 1),
    ("2: NaN, inf and negative depth", "depth/image_raw", holes, "", 1),
    ("2: too few points", "depth/image_raw", no_measurement_on_the_cup, "", 0),
    ("3: depth 700 ms later", "depth/image_raw", later(0.7), "stamp_mismatch", 0),
    ("3: depth a little later", "depth/image_raw", later(0.04), "", 1),
    ("5: big-endian depth", "depth/image_raw", encoded("32FC1", big=True), "", 1),
    ("5: padded rows of depth", "depth/image_raw", encoded("32FC1", padding=13), "", 1),
    ("5: padded rows of colour", "color/image_raw", encoded("rgb8", padding=5), "", 1),
    ("7: bgra8", "color/image_raw", encoded("bgra8", cv2.COLOR_RGB2BGRA), "", 1),
    ("7: mono8", "color/image_raw", encoded("mono8", cv2.COLOR_RGB2GRAY), "", 1),
    ("7: an encoding nobody knows", "color/image_raw", setting(encoding="rgb12"), "unknown_encoding", 0),
    ("half of the colour", "color/image_raw", cut, "truncated_data", 0),
    ("half of the depth", "depth/image_raw", cut, "truncated_data", 0),
    ("half of the labels", "label/image_raw", cut, "truncated_data", 0),
    ("a size that the info doesn't have", "color/image_raw", setting(height=30), "size_mismatch", 0),
    ("a step that is too short", "depth/image_raw", setting(step=7), "size_mismatch", 0),
    (
        "depth that is empty",
        "depth/image_raw",
        lambda d: setattr(d, "data", data_of(pixels(d, "<f4") * 0)),
        "empty_depth",
        0,
    ),
]


def changed(stamp_ns: int, topic: str, change: Change) -> list[TimedMessage]:
    items = list(frame_messages(stamp_ns))
    for item in items:
        if item.topic == topic:
            change(item.payload)
    return items


@pytest.fixture
def nodes(graph: Any, tmp_path: Path) -> tuple[PerceptionNode, MemoryNode]:
    shared: dict[str, Any] = {"agent_id": "robot", "embedder": "none"}
    memory = graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), **shared))
    perception = graph.make(PerceptionNode, segmenter="label_image", map_id="home", tf_wait_s=2.0, **shared)
    return graph.active(perception), memory


def test_every_kind_of_frame(nodes: tuple[PerceptionNode, MemoryNode]) -> None:
    """One frame of each, two seconds apart; nothing of a refused one is stored, and the nodes live on."""
    perception, memory = nodes
    stamps = {name: (10 + 2 * k) * SECOND for k, (name, *_) in enumerate(CASES)}
    items = [label_names()]
    for name, topic, change, _, _ in CASES:
        items += changed(stamps[name], topic, change)
    played = play(items, lockstep=True, patience_s=20.0)
    reasons = [reason for *_, reason, _ in CASES if reason]
    assert played.refusals == {reason: reasons.count(reason) for reason in reasons}
    assert (played.acked, played.unanswered) == (len(CASES) - len(reasons), 0)
    taken = {stamps[name] for name, *_, reason, _ in CASES if not reason}
    assert {point.stamp_ns for point in memory.library.trail("robot", 0, 2**62)} <= taken
    (entry,) = memory.library.placed()
    assert entry.count == sum(seen for *_, seen in CASES)
    assert entry.box.pose.position == pytest.approx((2.0, 0.0, 1.0), abs=0.15)
    assert not any("Error" in name for name in perception.counts.snapshot())


def test_a_pose_a_little_after_the_image_is_waited_for(nodes: tuple[PerceptionNode, MemoryNode]) -> None:
    """CASES 11: TF brackets the image by 0.7 ms, and comes last."""
    _, memory = nodes
    stamp_ns = 10 * SECOND
    images = [item for item in frame_messages(stamp_ns) if item.topic != "/tf"]
    poses = [
        TimedMessage(stamp_ns, "/tf", "tf2_msgs/msg/TFMessage", camera_pose(header))
        for header in (
            Header(stamp=convert.time_to_msg(stamp_ns + offset_ns), frame_id="optical")
            for offset_ns in (-700_000, 700_000)
        )
    ]
    played = play([label_names(), *images, *poses], lockstep=True, patience_s=20.0)
    assert (played.acked, played.refused) == (1, 0)
    assert len(memory.library.placed()) == 1


def test_a_clock_that_goes_back_starts_a_new_session(nodes: tuple[PerceptionNode, MemoryNode]) -> None:
    """CASES 10 and 12c: a looped bag; nothing is overwritten, no interval is negative."""
    perception, memory = nodes
    frames = [item for t in (1000, 1001, 1002, 10, 11, 12) for item in frame_messages(t * SECOND)]
    assert play([label_names(), *frames], lockstep=True, patience_s=20.0).acked == 6
    assert perception._stream.session == 1
    for entry in memory.library.entries():
        assert all(interval.start < interval.end for interval in entry.sightings)


def test_compressed_colour_and_depth(graph: Any, tmp_path: Path) -> None:
    """CASES 6: compressedDepth with its header of 12 bytes, 16 bits deep; JPEG colour."""
    shared: dict[str, Any] = {"agent_id": "robot", "embedder": "none"}
    memory = graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), **shared))
    more: dict[str, Any] = {"segmenter": "label_image", "compressed": True, "depth_compressed": True}
    graph.active(graph.make(PerceptionNode, map_id="home", **more, **shared))
    items = []
    for item in frame_messages(10 * SECOND):
        if item.topic == "depth/image_raw":
            png = cv2.imencode(".png", (pixels(item.payload, "<f4")[..., 0] * 1000).astype(np.uint16))[1]
            item = squeezed(item, "compressedDepth", "16UC1; compressedDepth png", bytes(12) + png.tobytes())
        elif item.topic == "color/image_raw":
            jpeg = cv2.imencode(".jpg", pixels(item.payload, np.uint8)[..., ::-1])[1]
            item = squeezed(item, "compressed", "rgb8; jpeg compressed bgr8", jpeg.tobytes())
        items.append(item)
    assert play([label_names(), *items], lockstep=True, patience_s=20.0).acked == 1
    (entry,) = memory.library.placed()
    assert entry.box.pose.position == pytest.approx((2.0, 0.0, 1.0), abs=0.15)
    assert dict(entry.attributes)["color"] == "red"


def squeezed(item: TimedMessage, suffix: str, form: str, data: bytes) -> TimedMessage:
    message = CompressedImage(header=item.payload.header, format=form, data=array.array("B", data))
    topic = f"{item.topic}/{suffix}"
    return replace(item, topic=topic, type_name="sensor_msgs/msg/CompressedImage", payload=message)
