"""Two robots in namespaces, the names of their frames the same, one map server: by ``r4 up``, and from one launch file.

Each robot has its own TF. They stand face to face with a cup between them, so one answer has both as its sources. A
robot that took the other one's TF would think that it stands where that one does.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from launching import LAUNCH
from processes import R4, Process
from scene import frame_messages, label_names

from r4_ros import msg
from r4_ros.bridges.playback import TimedMessage, play
from r4_ros.core import model as m
from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import OutcomeCode
from r4_ros.core.geometry import compose, inverse, quat_from_yaw
from r4_ros.memory.library import open_library
from r4_ros.nodes import convert, qos
from r4_ros.nodes.asking import Asker

pytestmark = [pytest.mark.ros, pytest.mark.system, pytest.mark.slow, pytest.mark.usefixtures("ros_domain")]
LAUNCH_FILE = Path(__file__).resolve().parents[2] / "launch" / "fleet.launch.py"
PARAMETERS = "/**:\n  ros__parameters: {embedder: none, map_id: home, writer_silence_s: 120.0}\n"
STANDS = {"robot1": m.Pose((0.0, 0.0, 1.0)), "robot2": m.Pose((4.0, 0.0, 1.0), quat_from_yaw(math.pi))}
SERVER = "map_server"

Start = Callable[[Path], list[Process]]


def by_up(folder: Path) -> list[Process]:
    common = ("--params", "params.yaml", "--label-image")
    agents = [word for robot in STANDS for word in ("--agents", robot)]
    server = ["--only", "memory", "--only", "reasoner", "--namespace", SERVER, "--db", "fleet.db", *agents]
    commands = [[*R4, "up", *common, *server]]
    for robot in STANDS:
        options = ["--only", "perception", "--namespace", robot, "--memory-namespace", f"/{SERVER}"]
        commands.append([*R4, "up", *common, *options])
    return [Process(command, folder) for command in commands]


def by_launch_file(folder: Path) -> list[Process]:
    arguments = [
        f"robots:={','.join(STANDS)}",
        f"server:={SERVER}",
        f"db:={folder}/fleet.db",
        f"params_file:={folder}/params.yaml",
        "segmenter:=label_image",
    ]
    return [Process([sys.executable, "-c", LAUNCH, str(LAUNCH_FILE), *arguments], folder)]


needs_launch = pytest.mark.skipif(find_spec("launch_ros") is None, reason="needs launch_ros, of a ROS installation")


@pytest.fixture(params=[by_up, pytest.param(by_launch_file, marks=needs_launch)])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Process]]:
    (tmp_path / "params.yaml").write_text(PARAMETERS)
    processes = request.param(tmp_path)
    yield processes
    for process in processes:
        process.kill()


def seen_by(robot: str, seconds: range) -> Iterator[TimedMessage]:
    """What its camera publishes, with its place on its own /tf; frames are called map and optical for both."""
    optical = compose(STANDS[robot], inverse(m.OPTICAL_TO_BASE))
    yield label_names(prefix=f"/{robot}/")
    for second in seconds:
        for item in frame_messages(second * m.NS_PER_S, prefix=f"/{robot}/"):
            if item.topic.endswith("/tf"):
                (known,) = item.payload.transforms
                known.transform.translation = convert.vector_to_msg(optical.position)
                known.transform.rotation = convert.pose_to_msg(optical).orientation
            yield replace(item, lockstep_key=robot)


def test_two_robots_with_the_same_frame_names_and_one_map_server(
    fleet: list[Process], tmp_path: Path, graph: Any, until: Any
) -> None:
    started = "active for agent"
    if len(fleet) == 1:
        fleet[0].wait_for(started, 2 + len(STANDS))
    else:
        for process, nodes in zip(fleet, (2, 1, 1), strict=True):
            process.wait_for(started, nodes)
    items = sorted((i for robot in STANDS for i in seen_by(robot, range(10, 15))), key=lambda i: i.stamp_ns)
    acks = (f"/{SERVER}/memory/acks", *(f"/{robot}/perception/refused" for robot in STANDS))
    played = play(items, lockstep=True, ack_topics=acks, patience_s=100.0)
    assert (played.frames, played.acked) == (10, 10), played

    refused = intrude(graph, until)
    assert refused["robot1"].outcome.code == OutcomeCode.WRITER_REFUSED, "its camera has a writer"
    assert refused["robot2"].outcome.code == OutcomeCode.NOT_PERMITTED, "the topic is another robot's"

    with Asker(SERVER) as asker:
        answer = asker.ask(m.Question("Where is the cup?"))
    (cup,) = answer.evidence
    assert answer.verdict is m.Verdict.ANSWERED and cup.count == 10, "one thing, both robots' sightings"
    assert cup.box.pose.position == pytest.approx((2.0, 0.0, 1.0), abs=0.3)
    for process in fleet[::-1]:
        if len(fleet) == 1:
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal
            assert process.wait() == 0
        else:
            assert process.stop(signal.SIGINT) == 0
    with open_library(tmp_path / "fleet.db", MemoryConfig(), read_only=True) as library:
        assert library.agents() == sorted(STANDS)
        assert [(e.agent_id, e.label, e.count) for e in library.entries()] == [(r, "cup", 5) for r in sorted(STANDS)]
        for robot, stands in STANDS.items():
            ways = library.trail(robot)
            assert len(ways) == 5
            assert all(p.pose.position == pytest.approx(stands.position, abs=0.01) for p in ways), robot


def intrude(graph: Any, until: Any) -> dict[str, Any]:
    """A second writer on robot1's topic, and one on robot2's that claims to be robot1; gives what each is told."""
    told: dict[str, Any] = {}
    acks = graph.collect(msg.ObservationAck, f"/{SERVER}/memory/acks", qos.EVENTS)
    for robot in STANDS:
        topic = f"/{robot}/perception/observations"
        publisher = graph.node.create_publisher(msg.ObservationArray, topic, qos.OBSERVATIONS)
        writer, view = f"intruder-{robot}", m.View(1.0, 0.8, 0.1, 5.0)
        where = ("robot1", "camera", writer, 1, 0, 20 * m.NS_PER_S, "home", "map", "optical", m.Pose(), view)
        message = convert.frame_to_msg(m.Frame(*where))

        def answered(publisher: Any = publisher, message: Any = message) -> bool:
            """Sent again: an ack that comes before this process is known to the server is lost."""
            publisher.publish(message)
            time.sleep(0.5)
            return any(ack.writer == message.writer for ack in acks)

        until(answered)
        told[robot] = next(ack for ack in acks if ack.writer == writer)
    return told
