"""The nodes as separate processes under ``r4 up``: kill -9, restarts, clean stops, several robots."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from processes import R4, Process, children_of
from scene import frame_messages, frames_of, label_names

from r4_ros.bridges.playback import play
from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import NS_PER_S as SECOND
from r4_ros.core.model import Question, Verdict
from r4_ros.memory.library import open_library
from r4_ros.nodes.asking import Asker

pytestmark = [pytest.mark.ros, pytest.mark.system, pytest.mark.slow, pytest.mark.usefixtures("ros_domain")]
NODES = ("perception", "memory", "reasoner", "experience")
PARAMETERS = "/**:\n  ros__parameters: {embedder: none, map_id: home}\n"

Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a command; everything is killed at the end."""
    (tmp_path / "params.yaml").write_text(PARAMETERS)
    running: list[Process] = []

    def run(*command: Any) -> Process:
        running.append(Process([str(word) for word in command], tmp_path))
        return running[-1]

    yield run
    for process in running:
        process.kill()


def up(start: Start, *options: str) -> Process:
    return start(*R4, "up", "--params", "params.yaml", "--label-image", *options)


def test_a_killed_node_comes_back_and_nothing_acknowledged_is_lost(start: Start, tmp_path: Path, until: Any) -> None:
    nodes = up(start, "--db", "r4.db", "--agent", "robot")
    nodes.wait_for("active for agent 'robot'", 4)
    stamps = iter(range(100, 1000))
    acked = 0
    for name in NODES:
        before = children_of(nodes.pid)
        assert set(before) == set(NODES)
        first = [next(stamps) * SECOND for _ in range(3)]
        acked += play([label_names(), *frames_of(first)], lockstep=True, patience_s=40.0).acked
        os.kill(before[name], signal.SIGKILL)
        until(lambda name=name, old=before[name]: children_of(nodes.pid).get(name, old) != old)
        again = [next(stamps) * SECOND for _ in range(3)]
        acked += play([label_names(), *frames_of(again)], lockstep=True, patience_s=40.0).acked
        after = children_of(nodes.pid)
        assert {other for other in NODES if after[other] == before[other]} == set(NODES) - {name}
        assert f"[{name:10}] killed by SIGKILL; starts again in 0.5 s" in nodes.lines
    assert acked >= 21  # a perception node that is back within 2 s is refused at first: its frames come again later
    nodes.wait_for("active for agent 'robot'", 8)
    with Asker() as asker:
        answer = asker.ask(Question("Where is the cup?"))
    assert answer.verdict is Verdict.ANSWERED and answer.evidence[0].label == "cup"
    family = children_of(nodes.pid)
    assert nodes.stop() == 0
    assert not [pid for pid in family.values() if Path(f"/proc/{pid}").exists()]
    with open_library(tmp_path / "r4.db", MemoryConfig(), read_only=True) as library:
        (entry,) = library.entries()
        assert acked <= entry.count <= 24


def test_nodes_end_with_their_supervisor(start: Start, until: Any) -> None:
    nodes = up(start, "--only", "experience", "--db", "r4.db")
    nodes.wait_for("active for agent")
    family = children_of(nodes.pid)
    os.kill(nodes.pid, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{family['experience']}").exists() or is_zombie(family["experience"]))


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("kind", ["file", "server"])
def test_one_memory_serves_two_robots(start: Start, tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """Their frames have the same names. The memory lies in a file, or in PostgreSQL."""
    db = "fleet.db" if kind == "file" else request.getfixturevalue("postgres_server").database()
    memory = up(start, "--only", "memory", "--agents", "alice", "--agents", "bob", "--db", db)
    robots = [
        up(start, "--only", "perception", "--namespace", name, "--memory-namespace", "/") for name in ("alice", "bob")
    ]
    for process in (memory, *robots):
        process.wait_for("active for agent")
    items = []
    for name in ("alice", "bob"):
        items.append(label_names(prefix=f"/{name}/"))
        for second in (10, 11, 12):
            frame = frame_messages(second * SECOND, prefix=f"/{name}/")
            items.extend(replace(item, lockstep_key=name) for item in frame)
    items.sort(key=lambda item: item.stamp_ns)
    acks = ("/memory/acks", "/alice/perception/refused", "/bob/perception/refused")
    played = play(items, lockstep=True, ack_topics=acks, patience_s=100.0)
    assert (played.frames, played.acked) == (6, 6)
    for process in (*robots, memory):
        assert process.stop(signal.SIGINT) == 0
    with open_library(tmp_path / db if kind == "file" else db, MemoryConfig(), read_only=True) as library:
        assert library.agents() == ["alice", "bob"]
        assert [(e.agent_id, e.label, e.count) for e in library.entries()] == [("alice", "cup", 3), ("bob", "cup", 3)]


@pytest.mark.parametrize(("name", "starts"), [("perception", 5), ("memory", 5), ("reasoner", 2), ("experience", 8)])
def test_every_start_ends_with_exit_status_0(start: Start, name: str, starts: int) -> None:
    """20 starts over the four nodes; half of them are asked something right before."""
    for number in range(starts):
        segmenter = ["-p", "segmenter:=label_image"] if name == "perception" else []
        node = start(
            sys.executable, "-m", f"r4_ros.nodes.{name}_node", "--ros-args", "--params-file", "params.yaml", *segmenter
        )
        node.wait_for("active for agent")
        if number % 2:
            query_state(f"/{name}_node")
        assert node.stop((signal.SIGTERM, signal.SIGINT)[number // 2 % 2], 60.0) == 0, node.text


def query_state(node: str) -> None:
    """Call a service of the node: a stop right after a reply is where rclpy's own spin can hang."""
    import rclpy
    from lifecycle_msgs.srv import GetState

    context = rclpy.Context()
    rclpy.init(context=context)
    caller = rclpy.create_node("caller", context=context)
    client = caller.create_client(GetState, f"{node}/get_state")
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(caller)
    until = time.monotonic() + 100.0
    assert client.wait_for_service(100.0)
    future = client.call_async(GetState.Request())
    while not future.done() and time.monotonic() < until:
        executor.spin_once(timeout_sec=0.05)
    executor.shutdown()
    caller.destroy_node()
    context.try_shutdown()


def test_wrong_parameters_are_one_line_and_exit_status_1(start: Start) -> None:
    node = start(sys.executable, "-m", "r4_ros.nodes.reasoner_node", "--ros-args", "-p", "max_rounds:=99")
    assert node.wait() == 1
    assert [line for line in node.lines if "max_rounds" in line] == [
        "r4: ReasonerConfig: max_rounds = 99: must be from 1 to 20"
    ]


def test_an_unknown_node_and_an_absent_file_are_said(start: Start) -> None:
    for options, text in ((("--only", "brain"), "there is no node 'brain'"), (("--detector", "no.onnx"), "no.onnx")):
        process = start(*R4, "up", *options)
        assert process.wait() == 1
        assert text in process.text and "Traceback" not in process.text
