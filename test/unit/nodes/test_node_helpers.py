"""Where files lie, which transport is chosen."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from r4_ros.core.errors import InvalidArgument
from r4_ros.nodes.paths import ros_home, snapshot_path
from r4_ros.nodes.transport import MIB, PROFILE_VARIABLES, share_dir, use_shared_memory


def test_files_lie_in_ros_home_unless_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_HOME", str(tmp_path / "home"))
    assert ros_home("r4.db") == tmp_path / "home" / "r4.db"
    assert ros_home(str(tmp_path / "deep" / "k.db")) == tmp_path / "deep" / "k.db"
    assert (tmp_path / "deep").is_dir()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc/x", ".hidden", "a\0b", "a b", "x" * 200, "a\n"])
def test_a_snapshot_has_a_name_and_never_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArgument):
        snapshot_path(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_never_overwrites(tmp_path: Path) -> None:
    path = snapshot_path(tmp_path / "snapshots", "monday.db")
    assert path == tmp_path / "snapshots" / "monday.db"
    path.touch()
    with pytest.raises(InvalidArgument, match="exists already"):
        snapshot_path(tmp_path / "snapshots", "monday.db")


@pytest.mark.parametrize(("free_mib", "size"), [(24_000, 64), (256, 64), (255, 16), (64, 16)])
def test_the_profile_fits_the_shared_memory(free_mib: int, size: int) -> None:
    environ: dict[str, str] = {}
    assert use_shared_memory(environ, free_mib * MIB) == ""
    profiles = {environ[name] for name in PROFILE_VARIABLES}
    assert profiles == {str(share_dir("config") / f"fastdds_{size}mib.xml")}
    root = ElementTree.parse(profiles.pop()).getroot()
    assert root.findtext(".//{*}segment_size") == str(size * MIB)
    assert use_shared_memory(environ, 0) == ""  # again, or in a child process: nothing to say


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}, "RMW_IMPLEMENTATION is rmw_cyclonedds_cpp"),
        ({"ROS_DISCOVERY_SERVER": "10.0.0.1:11811"}, "ROS_DISCOVERY_SERVER is set"),
        ({PROFILE_VARIABLES[0]: "/robot/own.xml"}, f"{PROFILE_VARIABLES[0]} is set"),
        ({PROFILE_VARIABLES[1]: "/robot/own.xml"}, f"{PROFILE_VARIABLES[1]} is set"),
    ],
)
def test_the_robots_own_settings_stay(environ: dict[str, str], why: str) -> None:
    before = dict(environ)
    assert why in use_shared_memory(environ, 24_000 * MIB)
    assert environ == before


def test_too_little_shared_memory_is_said() -> None:
    environ: dict[str, str] = {}
    assert "/dev/shm has 10 MiB free" in use_shared_memory(environ, 10 * MIB)
    assert environ == {}
