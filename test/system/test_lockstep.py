"""Same messages, same memory: the live nodes in lockstep and a direct replay agree entry by entry.

To the last digit with the same transform buffer; the nodes may have tf2's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from alike import assert_alike
from processes import R4, Process, r4
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scene import frames_of, label_names

from r4_ros.bridges.playback import TimedMessage
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import NS_PER_S as SECOND
from r4_ros.core.model import Question
from r4_ros.memory.library import Library, open_library
from r4_ros.nodes.asking import Asker
from r4_ros.reasoner.answer import answer_to_dict

pytestmark = [pytest.mark.ros, pytest.mark.system, pytest.mark.slow, pytest.mark.usefixtures("ros_domain")]
KITCHEN_S = 10
TYPES = get_typestore(Stores.ROS2_JAZZY)
QUESTIONS = ("Where is the {}?", "How many {}s are there?", "Is there a bed?", "When was the {} last seen?")


def write_bag(path: Path, items: list[TimedMessage]) -> Path:
    """Messages as a rosbag2 recording."""
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connections: dict[str, Any] = {}
        for item in items:
            if item.topic not in connections:
                topic = "/" + item.topic.lstrip("/")
                connections[item.topic] = writer.add_connection(topic, item.type_name, typestore=TYPES)
            writer.write(connections[item.topic], item.stamp_ns, serialize_message(item.payload))
    return path


def cut(source: Path, path: Path, seconds: float) -> Path:
    """The beginning of a recording."""
    with Reader(source) as reader, Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        end = reader.start_time + round(seconds * SECOND)
        connections = {c.id: writer.add_connection(c.topic, c.msgtype, typestore=TYPES) for c in reader.connections}
        for connection, stamp_ns, raw in reader.messages(stop=end):
            writer.write(connections[connection.id], stamp_ns, raw)
    return path


@pytest.fixture(params=["scene", "kitchen"])
def recording(request: Any, tmp_path: Path) -> tuple[Path, str, list[str], list[str]]:
    """A recording, what it shows, and the options of `r4 replay` and `r4 up` that fit it."""
    bag = tmp_path / "bag"
    if request.param == "kitchen":
        data: Path = request.getfixturevalue("shared_data")
        detector = ["--detector", str(data / "models" / "centernet_coco.onnx")]
        return cut(data / "kitchen_mcap", bag, KITCHEN_S), "chair", detector, [*detector, "--compressed"]
    there = frames_of([n * SECOND for n in range(10, 16)])
    refused = frames_of([16 * SECOND], pose=False)
    gone = frames_of([n * SECOND for n in range(17, 23)], cup=False)
    items = [label_names(9 * SECOND), *there, *refused, *gone]
    return write_bag(bag, items), "cup", ["--segmenter", "label_image"], ["--label-image"]


@pytest.fixture
def nodes(recording: Any, tmp_path: Path) -> Iterator[Process]:
    options = ["--only", "perception", "--only", "memory", "--only", "reasoner", "--db", "live.db", "--agent", "robot"]
    process = Process([*R4, "up", *options, "--sim-time", *recording[3]], tmp_path)
    try:
        process.wait_for("active for agent 'robot'", 3)
        yield process
    finally:
        process.kill()


def contents(library: Library) -> dict[str, Any]:
    return {
        "entries": library.entries(),
        "events": library.events(),
        "trail": library.trail("robot"),
        "revision": library.revision,
    }


def test_live_in_lockstep_and_direct_replay_are_one_memory(recording: Any, nodes: Process, tmp_path: Path) -> None:
    bag, thing, options, _ = recording
    direct = json.loads(r4("replay", bag, "--db", "direct.db", "--agent", "robot", *options, "--json", cwd=tmp_path))
    live = json.loads(r4("replay", bag, "--ros", "--lockstep", "--agent", "robot", "--json", cwd=tmp_path))
    assert (live["acked"], live["refused"], live["unanswered"]) == (direct["frames"], direct["refused"], 0)
    with (
        open_library(tmp_path / "direct.db", MemoryConfig(), read_only=True) as expected,
        open_library(tmp_path / "live.db", MemoryConfig(), read_only=True) as found,
    ):
        assert_alike(contents(found), contents(expected))
        assert expected.entries()
    questions = [question.format(thing) for question in QUESTIONS]
    with Asker() as asker:
        by_service = [answer_to_dict(asker.ask(Question(question))) for question in questions]
    beside = [json.loads(r4("ask", question, "--db", "direct.db", "--json", cwd=tmp_path)) for question in questions]
    assert_alike([comparable(answer) for answer in by_service], [comparable(answer) for answer in beside])


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer as JSON without what differs from run to run: ids and durations."""
    plain = json.loads(json.dumps(answer))
    del plain["task_id"]
    for step in plain["trace"]:
        del step["duration_s"]
    return plain
