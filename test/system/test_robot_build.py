"""A colcon build as on a robot, in a copy of the checkout; the wheels stand in for /opt/ros."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFIX = Path(sys.prefix)
PARTS = ("CMakeLists.txt", "package.xml", "setup.py", "msg", "srv", "action", "launch", "config", "r4_ros")
EXECUTABLES = {"perception_node", "memory_node", "reasoner_node", "experience_node", "r4"}

pytestmark = [pytest.mark.system, pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]


def ros_environment() -> dict[str, str]:
    """The environment that sourcing ROS would give."""
    if not (PREFIX / "share" / "rosidl_generator_py").is_dir():
        return dict(os.environ)
    site = next(PREFIX.glob("lib/python3.*/site-packages"))
    return {
        **os.environ,
        "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}",
        "AMENT_PREFIX_PATH": str(PREFIX),
        "CMAKE_PREFIX_PATH": str(PREFIX),
        "ROS_DISTRO": "jazzy",
        "ROS_VERSION": "2",
        "ROS_PYTHON_VERSION": "3",
        "LD_LIBRARY_PATH": ":".join([str(PREFIX / "lib"), *map(str, site.glob("ros_*.libs"))]),
        "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1",
    }


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace whose install/ was built with an interpreter in a folder with a space."""
    environment = ros_environment()
    if shutil.which("colcon", path=environment["PATH"]) is None or "AMENT_PREFIX_PATH" not in environment:
        pytest.skip("needs colcon and a ROS, from wheels or sourced")
    root = tmp_path_factory.mktemp("workspace")
    source = root / "src" / "r4_ros"
    source.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, source)
    python = root / "a venv" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexport R4_TEST_INTERPRETER="$0"\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    options = [f"-DR4_PYTHON={python}", "-DR4_CPP=OFF", "-DBUILD_TESTING=OFF"]
    done = subprocess.run(
        ["colcon", "build", "--cmake-args", *options], cwd=root, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    yield root
    shutil.rmtree(root / "build", ignore_errors=True)


def in_overlay(workspace: Path, command: str) -> str:
    """Run a shell command with the built overlay sourced, away from the checkout."""
    done = subprocess.run(
        ["bash", "-c", f"source install/setup.bash && {command}"],
        cwd=workspace,
        env=ros_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_installs_executables_launch_files_and_config(workspace: Path) -> None:
    prefix = workspace / "install" / "r4_ros"
    assert {path.name for path in (prefix / "lib" / "r4_ros").iterdir()} == EXECUTABLES
    for folder in ("launch", "config"):
        installed = {path.name for path in (prefix / "share" / "r4_ros" / folder).rglob("*") if path.suffix != ".pyc"}
        present = {path.name for path in (ROOT / folder).rglob("*") if path.suffix != ".pyc"}
        assert installed - {"__pycache__"} == present - {"__pycache__"}


def test_executables_run_with_the_chosen_interpreter(workspace: Path) -> None:
    script = workspace / "probe"
    script.write_text(
        (workspace / "install/r4_ros/lib/r4_ros/r4")
        .read_text(encoding="utf-8")
        .replace("sys.exit(main())", "import os; print(os.environ['R4_TEST_INTERPRETER'])"),
        encoding="utf-8",
    )
    script.chmod(0o755)
    assert in_overlay(workspace, "./probe").strip() == str(workspace / "a venv" / "python")
    assert "Usage" in in_overlay(workspace, "install/r4_ros/lib/r4_ros/r4 --help")


def test_package_and_interfaces_come_from_the_overlay(workspace: Path) -> None:
    lines = in_overlay(
        workspace,
        f'"{sys.executable}" -c "import r4_ros, r4_ros.msg; print(r4_ros.__file__); print(r4_ros.msg.__file__)"',
    ).splitlines()
    assert all(Path(line).is_relative_to(workspace / "install") for line in lines), lines
