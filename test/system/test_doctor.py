"""``r4 doctor`` as a user runs it beside nodes and a camera of other processes, and once the camera is gone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from processes import R4, Process

pytestmark = [pytest.mark.ros, pytest.mark.system, pytest.mark.slow, pytest.mark.usefixtures("ros_domain")]
DOCTOR = (*R4, "doctor", "--sim-time", "--seconds", "4", "--json")


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[list[Process]]:
    running: list[Process] = []
    yield running
    for process in running:
        process.kill()


def examined(cwd: Path) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(DOCTOR, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, json.loads(done.stdout)


def test_with_a_camera_and_without(processes: list[Process], tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("/**:\n  ros__parameters: {embedder: none, map_id: home}\n")
    nodes = ("up", "--params", "params.yaml", "--label-image", "--sim-time", "--only", "perception", "--only", "memory")
    processes.append(Process([*R4, *nodes, "--db", "r4.db"], tmp_path))
    processes[0].wait_for("active for agent", 2)
    robot = ("sim", "--robots", "1", "--namespace", "", "--duration", "180", "--size", "160x120")
    processes.append(Process([*R4, *robot], tmp_path))
    code, told = examined(tmp_path)
    for _ in range(10):  # a robot that is still starting is told as such
        if told["stores"]:
            break
        code, told = examined(tmp_path)
    assert (code, told["stores"]) == (0, True), [f for f in told["findings"] if f["level"] != "ok"]
    assert told["frames"]["complete"] > 3 and told["sightings"]
    assert {f["about"] for f in told["findings"] if f["level"] == "ok"} >= {
        "/memory_node",
        "label_image",
        "TF",
        "frames",
    }
    processes[1].kill()
    code, told = examined(tmp_path)
    assert (code, told["stores"]) == (1, False)
    errors = "; ".join(f["message"] for f in told["findings"] if f["level"] == "error")
    assert "nothing came" in errors or "nobody publishes /color/image_raw" in errors
