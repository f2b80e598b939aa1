"""perception_node in one process: real messages in, frame records out, memory's acks and entries."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from chat_double import chat_double, says
from diagnostic_msgs.msg import DiagnosticArray
from scene import HEIGHT, WIDTH, frames_of, label_names
from sensor_msgs.msg import Image

from r4_ros import msg
from r4_ros.bridges.playback import TimedMessage, message_class, play
from r4_ros.core import model as m
from r4_ros.nodes import convert, perception_node, qos
from r4_ros.nodes.memory_node import MemoryNode
from r4_ros.nodes.perception_node import PerceptionNode
from r4_ros.perception import appearance

pytestmark = pytest.mark.ros
SECOND = m.NS_PER_S


@pytest.fixture
def perception(graph: Any) -> PerceptionNode:
    node = graph.make(
        PerceptionNode, agent_id="robot", segmenter="label_image", embedder="none", map_id="home", tf_wait_s=0.3
    )
    return graph.active(node)


def run(items: list[TimedMessage]) -> Any:
    return play([label_names(), *items], lockstep=True, patience_s=20.0)


@pytest.fixture
def memory(graph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryNode:
    monkeypatch.setattr(perception_node, "SETTLE_S", 60.0)  # it does answer
    node = graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none")
    return graph.active(node)


def test_a_frame_becomes_a_record_and_an_entry(
    graph: Any, perception: PerceptionNode, memory: MemoryNode, until: Any
) -> None:
    records = graph.collect(msg.ObservationArray, "perception/observations", qos.OBSERVATIONS)
    played = run(frames_of([n * SECOND for n in (10, 11, 12)]))
    assert (played.acked, played.refused, played.unanswered) == (3, 0, 0)
    until(lambda: records)
    frame = convert.frame_from_msg(records[0])
    assert (frame.agent_id, frame.writer, frame.sequence, frame.stamp_ns) == (
        "robot",
        perception.writer,
        1,
        10 * SECOND,
    )
    (seen,) = frame.observations
    assert (seen.label, dict(seen.attributes)["color"], seen.visibility) == ("cup", "red", m.Visibility.VISIBLE)
    (entry,) = memory.library.placed()
    assert entry.box.pose.position == pytest.approx((2.0, 0.0, 1.0), abs=0.15)
    assert entry.count == 3


def test_depth_may_come_from_a_point_cloud(graph: Any, memory: MemoryNode) -> None:
    graph.active(
        graph.make(
            PerceptionNode,
            agent_id="robot",
            segmenter="label_image",
            embedder="none",
            map_id="home",
            depth_source="cloud",
        )
    )
    there = frames_of([n * SECOND for n in (10, 11, 12)], cloud=True)
    gone = frames_of([n * SECOND for n in range(13, 19)], cup=False, cloud=True)
    played = run([*there, *gone])
    assert (played.acked, played.refused, played.unanswered) == (9, 0, 0)
    (entry,) = memory.library.placed()
    assert entry.box.pose.position == pytest.approx((2.0, 0.0, 1.0), abs=0.15)
    assert entry.state is m.EntryState.GONE


def test_two_cameras_of_a_robot_share_its_memory(graph: Any, memory: MemoryNode, until: Any) -> None:
    """Each has a node, a writer and a sequence of its own; the cup that both see is one."""
    from rclpy.parameter import Parameter

    # The slower of the two may have all three frames waiting: the next one goes out when one of them has answered.
    shared = {"agent_id": "robot", "segmenter": "label_image", "embedder": "none", "map_id": "home", "queue_size": 9}
    for camera in ("front", "rear"):
        values = [Parameter(name, value=value) for name, value in {**shared, "camera": camera}.items()]
        renamed = ["--ros-args", "-r", f"__node:=perception_node_{camera}"]
        node = PerceptionNode(context=graph.context, parameter_overrides=values, cli_args=renamed)
        assert graph.active(graph.add(node)).get_name() == f"perception_node_{camera}"
    assert run(frames_of([n * SECOND for n in (10, 11, 12)])).unanswered == 0
    until(lambda: [entry.count for entry in memory.library.placed()] == [6])
    assert memory.library.info()["rows"]["frame"] == 6  # type: ignore[index]


def test_a_frame_without_a_pose_is_refused_by_name_and_the_next_one_taken(
    graph: Any, perception: PerceptionNode, memory: MemoryNode, until: Any
) -> None:
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    items = [*frames_of([10 * SECOND], pose=False), *frames_of([11 * SECOND])]
    played = run(items)
    assert (played.acked, played.refusals) == (1, {"no_pose": 1})
    assert [len(memory.library.entries()), memory.library.info()["rows"]["frame"]] == [1, 1]  # type: ignore[index]

    def told() -> Any:
        statuses = [s for a in heard for s in a.status if s.name.endswith("perception_node")]
        values = {v.key: v.value for v in statuses[-1].values} if statuses else {}
        return values.get("refused.no_pose") == "1" and values.get("frames") == "1"

    until(told)


def test_a_pose_that_came_while_the_node_was_held_up_is_not_missed(
    graph: Any, perception: PerceptionNode, memory: MemoryNode, until: Any
) -> None:
    """On a busy machine the executor may stand still for longer than a frame waits for its pose."""
    refusals, publishers = perception._stream.refusals, dict[str, Any]()
    for item in [label_names(), *frames_of([SECOND])]:
        kind = message_class(item.type_name)
        publishers[item.topic] = graph.node.create_publisher(kind, item.topic, qos.LATCHED)
    until(lambda: all(p.get_subscription_count() for p in publishers.values()))
    publishers["label/label_info"].publish(label_names().payload)
    for second in range(10, 100):
        *images, pose = sorted(frames_of([second * SECOND]), key=lambda item: item.topic == "/tf")
        refused = refusals.total
        for item in images:
            publishers[item.topic].publish(item.payload)
        until(lambda n=refused: refusals.total > n or any(waits.deadline for waits in perception._stream._pending))
        held_up, go_on = threading.Event(), threading.Event()
        graph.executor.create_task(lambda up=held_up, on=go_on: (up.set(), on.wait(100.0)))
        held_up.wait(100.0)
        if refusals.total == refused:  # else the test itself was held up
            break
        go_on.set()
    publishers["/tf"].publish(pose.payload)
    time.sleep(2 * perception.config.tf_wait_s)
    go_on.set()
    until(lambda: [entry.count for entry in memory.library.placed()] == [1])
    assert refusals.total == refused


def test_a_thing_that_left_is_found_gone(graph: Any, perception: PerceptionNode, memory: MemoryNode) -> None:
    """The absence check works on the entries that memory published, in step with its acks."""
    there = frames_of([n * SECOND for n in (10, 11, 12)])
    gone = frames_of([n * SECOND for n in range(13, 19)], cup=False)
    assert run([*there, *gone]).acked == 9
    (entry,) = memory.library.placed()
    assert entry.state is m.EntryState.GONE
    assert [e.kind for e in memory.library.events()] == [m.EventKind.APPEARED, m.EventKind.DISAPPEARED]


def test_frames_that_memory_missed_are_sent_again(
    graph: Any, perception: PerceptionNode, tmp_path: Path, until: Any
) -> None:
    """A memory that fails and comes back gets what it hasn't acknowledged."""
    node = graph.active(graph.make(MemoryNode, db=str(tmp_path / "r4.db"), agent_id="robot", embedder="none"))
    library, failures = node.library, [OSError("disk"), OSError("disk")]
    ingest = library.ingest

    def failing(*arguments: Any) -> m.Receipt:
        if failures:
            raise failures.pop()
        return ingest(*arguments)

    library.ingest = failing  # type: ignore[method-assign]
    played = play([label_names(), *frames_of([10 * SECOND, 11 * SECOND])], lockstep=True, patience_s=2.0)
    assert played.refused >= 1  # the first one may have been sent again, in vain, before the second one came
    until(lambda: node.counts["observations"] == 2)
    assert perception.counts["frames_resent"] >= 2
    until(lambda: perception._link.unacknowledged == 0)


def test_the_annotated_image_is_made_only_for_subscribers(
    graph: Any, perception: PerceptionNode, memory: Any, until: Any
) -> None:
    run(frames_of([10 * SECOND]))
    assert perception._annotated.get_subscription_count() == 0
    pictures = graph.collect(Image, "perception/annotated", qos.SENSOR)
    until(perception._annotated.get_subscription_count)
    run(frames_of([20 * SECOND]))
    until(lambda: pictures)
    assert [(p.width, p.height, p.encoding, p.header.stamp.sec) for p in pictures] == [(WIDTH, HEIGHT, "rgb8", 20)]
    changed = np.frombuffer(pictures[0].data, np.uint8).reshape(HEIGHT, WIDTH, 3)
    assert tuple(changed[5, 5]) == (200, 200, 200) and tuple(changed[30, 40]) != (200, 20, 20)


def test_diagnostics_say_what_is_missing(graph: Any, perception: PerceptionNode, until: Any) -> None:
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    status = until(lambda: next((s for a in heard for s in a.status if "nothing received" in s.message), None))
    assert "nothing received on /color/image_raw" in status.message


def test_without_a_detector_the_node_says_what_to_do(graph: Any, until: Any) -> None:
    heard = graph.collect(DiagnosticArray, "/diagnostics", qos.EVENTS)
    graph.make(PerceptionNode, embedder="none")
    assert until(lambda: [s for a in heard for s in a.status if "set detector_model to an ONNX file" in s.message])


def test_live_parameters_reach_the_pipeline(graph: Any, perception: PerceptionNode) -> None:
    from rclpy.parameter import Parameter

    assert perception.set_parameters_atomically([Parameter("check_absence", value=False)]).successful
    assert not perception.pipeline.config.check_absence
    assert perception.pipeline.config.agent_id == "robot"


def test_descriptions_and_captions_reach_memory_after_the_records(
    graph: Any, memory: MemoryNode, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appearance, "MIN_SIDE", 8)  # the cup has 10 pixels

    def say(body: dict[str, Any]) -> str:
        pictures = [part for part in body["messages"][-1]["content"] if part["type"] == "image_url"]
        return "A red cup stands on its own." if len(pictures) == 1 else "A red cup is looked at for a while."

    with chat_double(says(say)) as server:
        node = graph.make(
            PerceptionNode,
            agent_id="robot",
            segmenter="label_image",
            embedder="none",
            map_id="home",
            vision="server",
            vision_url=server.url,
            vision_model="tiny",
            caption_period_s=4.0,
        )
        graph.active(node)
        assert run(frames_of([n * SECOND for n in range(10, 15)])).refused == 0
        until(lambda: [e.description for e in memory.library.entries()] == ["A red cup stands on its own."])
        until(lambda: memory.counts["episodes"] == 1)
        until(lambda: node._link.unacknowledged == 0)
        found = memory.library.retrieve(m.Query(text="red cup", with_episodes=True))
        assert [e.text for e in found.episodes] == ["A red cup is looked at for a while."]
        assert found.entries[0].count == 5
        values = node.report().values
        assert values["described.taken"] == 1 and values["captions.taken"] == 1


def test_a_server_elsewhere_isn_t_told_what_the_robot_sees(graph: Any) -> None:
    node = graph.make(
        PerceptionNode,
        agent_id="robot",
        segmenter="label_image",
        embedder="none",
        vision="server",
        vision_model="tiny",
        vision_url="https://api.example.com/v1",
        autostart=False,
    )
    node.trigger_configure()
    assert node.state == "unconfigured" and "set allow_remote to true" in node.trouble
