"""The nodes' transform buffer: tf2's where it is installed, and then it says what ours says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="needs ROS 2")

from alike import assert_alike
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped
from scene import frames_of, label_names
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from r4_ros.bridges.playback import TimedMessage, play
from r4_ros.core.config import MemoryConfig, PerceptionConfig
from r4_ros.core.errors import FrameRefused
from r4_ros.core.geometry import rotation_angle
from r4_ros.core.model import NS_PER_S as SECOND
from r4_ros.core.model import Pose
from r4_ros.memory.library import Library, open_library
from r4_ros.nodes import convert, perception_node, qos, tf
from r4_ros.nodes.memory_node import MemoryNode
from r4_ros.nodes.perception_node import PerceptionNode
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.stream import Stream
from r4_ros.perception.transforms import TransformBuffer

pytestmark = pytest.mark.ros
TF2 = pytest.mark.skipif(tf.BufferCore is None, reason="needs tf2_py of a ROS installation")
FRAMES = 6
CONFIG = PerceptionConfig(agent_id="robot", segmenter="label_image", embedder="none", map_id="home", tf_wait_s=2.0)
ROLES = {
    "/tf": "tf",
    "label/label_info": "label_info",
    "label/image_raw": "label",
    "depth/image_raw": "depth",
    "color/image_raw": "color",
    "color/camera_info": "color_info",
}


def test_tf2_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tf.make_buffer(5.0).name == ("own" if tf.BufferCore is None else "tf2")
    monkeypatch.setattr(tf, "BufferCore", None)
    assert tf.make_buffer(5.0).name == "own"


class Chance:
    """Random transforms of a tree whose frames now and then change parent, stand still, or go back in time."""

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)
        self.parents = [int(self.draw.integers(0, child)) for child in range(1, FRAMES)]
        self.static = self.draw.random(FRAMES) < 0.3
        self.now_ns = 1000 * SECOND

    def transform(self) -> tuple[str, str, int, Pose, bool]:
        child = int(self.draw.integers(1, FRAMES))
        if self.draw.random() < 0.01:
            self.parents[child - 1] = int(self.draw.integers(0, child))
        if self.draw.random() < 0.01:
            self.static[child] = not self.static[child]
        if self.draw.random() < 0.005:
            self.now_ns -= int(self.draw.integers(0, 40 * SECOND))
        self.now_ns += int(self.draw.integers(0, SECOND // 4))
        stamp_ns = self.now_ns + int(self.draw.integers(-SECOND, SECOND))
        x, y, z, w = self.draw.normal(size=4)
        pose = Pose(tuple(self.draw.uniform(-9, 9, 3)), (x, y, z, w))
        return f"f{self.parents[child - 1]}", f"f{child}", stamp_ns, pose, bool(self.static[child])


def found(buffer: Any, target: str, source: str, stamp_ns: int) -> Pose | None:
    try:
        return buffer.lookup(target, source, stamp_ns)
    except FrameRefused:
        return None


@TF2
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_buffers_agree_on_random_trees(seed: int) -> None:
    chance, ours, theirs = Chance(seed), TransformBuffer(1000.0), tf.Tf2Buffer(1000.0)
    known = 0
    for step in range(400):
        item = chance.transform()
        ours.add(*item)
        theirs.add(*item)
        if step % 100 == 99:
            ours.forget_after(chance.now_ns)
            theirs.forget_after(chance.now_ns)
        target, source = (f"f{n}" for n in chance.draw.integers(0, FRAMES, 2))
        stamp_ns = chance.now_ns - int(chance.draw.integers(-SECOND, 3 * SECOND))
        a, b = found(ours, target, source, stamp_ns), found(theirs, target, source, stamp_ns)
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            known += target != source
            assert math.dist(a.position, b.position) < 1e-6
            assert rotation_angle(a.orientation, b.orientation) < 1e-6
    assert known > 10


def moved(stamp_ns: int) -> TimedMessage:
    """Where the camera stands, which drives ahead and turns: 0.23 m and 0.11 rad a second."""
    seconds = stamp_ns / SECOND % 100
    half = 0.055 * seconds
    made = TransformStamped(header=Header(stamp=convert.time_to_msg(stamp_ns), frame_id="map"))
    made.child_frame_id = "optical"
    made.transform.translation.x, made.transform.translation.z = 0.23 * seconds, 1.0
    q, turn = (-0.5, 0.5, -0.5, 0.5), (math.sin(half), math.cos(half))
    made.transform.rotation.x = turn[1] * q[0] - turn[0] * q[1]
    made.transform.rotation.y = turn[1] * q[1] + turn[0] * q[0]
    made.transform.rotation.z = turn[1] * q[2] + turn[0] * q[3]
    made.transform.rotation.w = turn[1] * q[3] - turn[0] * q[2]
    return TimedMessage(stamp_ns, "/tf", "tf2_msgs/msg/TFMessage", TFMessage(transforms=[made]))


def drive(stamps: list[int]) -> list[TimedMessage]:
    """Frames between whose stamps the poses lie."""
    items = [item for stamp in stamps for item in frames_of([stamp], pose=False)]
    around = [moved(stamp + offset) for stamp in stamps for offset in (-SECOND // 30, SECOND // 50)]
    return sorted([*items, *around], key=lambda item: item.stamp_ns)


def recording() -> list[TimedMessage]:
    """A drive, a frame whose pose never comes, and the clock going back by a minute."""
    first = drive([n * SECOND // 2 for n in range(200, 208)])
    lost = frames_of([110 * SECOND], pose=False)
    again = drive([n * SECOND // 2 for n in range(80, 88)])
    return [label_names(), *first, *lost, *again]


def direct(items: list[TimedMessage], path: Path) -> dict[str, Any]:
    """The memory of these messages without any node, as `r4 replay` makes it."""
    stream, pipeline = Stream(CONFIG), Pipeline(CONFIG, LabelSegmenter(), None)
    with open_library(path, MemoryConfig(agent_id="robot", embedder="none")) as library:
        for item in items:
            for capture in stream.add(ROLES[item.topic], item.payload):
                library.ingest(pipeline.process(capture, library.entries_near("robot", 500)))
        return contents(library)


def contents(library: Library) -> dict[str, Any]:
    return {"entries": library.entries(), "events": library.events(), "trail": library.trail("robot")}


@pytest.fixture(params=["own", pytest.param("tf2", marks=TF2)])
def buffer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "own":
        monkeypatch.setattr(tf, "BufferCore", None)
    return str(request.param)


def test_a_drive_in_lockstep_gives_the_memory_of_a_direct_replay(
    buffer: str, graph: Any, tmp_path: Path, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perception_node, "SETTLE_S", 60.0)  # memory does answer
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    options = {key: getattr(CONFIG, key) for key in ("agent_id", "segmenter", "embedder", "map_id", "tf_wait_s")}
    memory = graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none"))
    graph.active(graph.make(PerceptionNode, **options))
    played = play(recording(), lockstep=True, patience_s=20.0)
    assert (played.acked, played.refusals, played.unanswered) == (16, {"no_pose": 1}, 0)
    expected = direct(recording(), tmp_path / "direct.db")
    assert_alike(contents(memory.library), expected)
    assert len(expected["trail"]) == 16 and expected["entries"]

    def told() -> set[str]:
        return {v.value for a in heard for s in a.status for v in s.values if v.key == "transform_buffer"}

    assert until(told) == {buffer}
