"""launch/r4.launch.py with the real launch system, which comes with a ROS installation and not with the wheels."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="needs launch_ros, of a ROS installation")

from launching import LAUNCH
from processes import Process

pytestmark = [pytest.mark.ros, pytest.mark.system, pytest.mark.slow, pytest.mark.usefixtures("ros_domain")]
LAUNCH_FILE = Path(__file__).resolve().parents[2] / "launch" / "r4.launch.py"


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[Process]:
    options = ("nodes:=memory,experience", "namespace:=alice", "agent_id:=a1", f"db:={tmp_path}/r4.db")
    process = Process([sys.executable, "-c", LAUNCH, str(LAUNCH_FILE), *options], tmp_path)
    yield process
    process.kill()


def test_the_launch_file_starts_the_chosen_nodes_as_the_chosen_agent(launched: Process, tmp_path: Path) -> None:
    launched.wait_for("active for agent 'a1'", 2)
    assert "alice.memory_node" in launched.text and "alice.experience_node" in launched.text
    assert "reasoner" not in launched.text
    assert (tmp_path / "r4.db").is_file() and (tmp_path / "r4_experience.db").is_file()
    os.killpg(launched.pid, signal.SIGINT)  # as Ctrl-C in a terminal
    assert launched.wait() == 0
    assert launched.text.count("process has finished cleanly") == 2
