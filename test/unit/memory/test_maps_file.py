from __future__ import annotations

import math
from pathlib import Path

import pytest

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import quat_from_yaw
from r4_ros.memory.maps_file import load_maps


def write(folder: Path, text: str) -> Path:
    path = folder / "maps.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_maps_by_pose_and_by_tf(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """maps:
  - {agent: r2, map_id: lab, common_id: home, xyz: [4, -2, 0.5], yaw_deg: 90}
  - {agent: r3, map_id: attic, common_id: home, rpy_deg: [0, 0, 90]}
  - {agent: r4, map_id: roof, common_id: home, quaternion: [0, 0, 2, 2]}
  - {agent: r5, map_id: yard, common_id: home, frame: map, tf: r5/map}
""",
    )
    lab, attic, roof, yard = load_maps(path)
    quarter = quat_from_yaw(math.pi / 2)
    assert lab.alignment.pose.position == (4.0, -2.0, 0.5) and lab.tf == ""
    for known in (lab, attic, roof):
        assert known.alignment.pose.orientation == pytest.approx(quarter)
    assert (yard.tf, yard.alignment.frame, yard.alignment.common_id) == ("r5/map", "map", "home")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "maps: 3",
        "maps: [{agent: r2}]",
        "maps: [{agent: r2, map_id: lab, common_id: home, xyz: [1, 2]}]",
        "maps: [{agent: r2, map_id: lab, common_id: home, yaw: 3}]",
        "maps: [{agent: r2, map_id: lab, common_id: home, xyz: [.nan, 0, 0]}]",
        "maps: [{agent: r2, map_id: lab, common_id: home, quaternion: [0, 0, 0, 0]}]",
        "maps: [{agent: r2, map_id: lab, common_id: home, tf: r2/map}]",
        "maps: [lab]",
        "{",
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidArgument, match="maps file"):
        load_maps(write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="nowhere"):
        load_maps(tmp_path / "nowhere.yaml")
