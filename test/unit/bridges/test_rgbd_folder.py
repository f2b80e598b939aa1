"""Folders of RGB-D frames: stamps, scales, poses, up, and clear refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from r4_ros.bridges.rgbd_folder import RgbdFolder, is_numbered, is_tum
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import rotate
from r4_ros.core.model import Intrinsics
from r4_ros.perception.capture import Capture
from r4_ros.perception.images import decode_color, decode_depth
from r4_ros.perception.stream import Stream

K = (30.0, 30.0, 16.0, 12.0)
# Cameras that look along the world's +z with their top to -y (a SLAM that starts in its first frame), and to z.
Y_DOWN = np.eye(4)
Z_UP = np.array([[1, 0, 0, 1], [0, 0, 1, 2], [0, -1, 0, 3], [0, 0, 0, 1.0]])


def write_image(path: Path, kind: str) -> None:
    pixels = np.full((24, 32, 3), (10, 20, 200), np.uint8) if kind == "color" else np.full((24, 32), 5000, np.uint16)
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), pixels)


def tum(folder: Path) -> Path:
    for i in range(3):
        write_image(folder / f"rgb/{i}.png", "color")
        write_image(folder / f"depth/{i}.png", "depth")
    (folder / "rgb.txt").write_text("# color\n" + "".join(f"130.{i}00001 rgb/{i}.png\n" for i in range(3)))
    (folder / "depth.txt").write_text("".join(f"130.{i}2 depth/{i}.png\n" for i in range(3)))
    poses = [f"{129 + i / 10:.4f} {i} 0 1 -0.7071068 0 0 0.7071068" for i in range(25)]
    (folder / "groundtruth.txt").write_text("# t x y z qx qy qz qw\n" + "\n".join(poses) + "\n")
    return folder


def numbered(folder: Path, pose: np.ndarray[Any, Any] = Z_UP, count: int = 3, color: str = "png") -> Path:
    for i in range(count):
        stem = folder / f"frame-{i:06d}"
        write_image(stem.with_name(f"{stem.name}.color.{color}"), "color")
        write_image(stem.with_name(f"{stem.name}.depth.png"), "depth")
        np.savetxt(stem.with_name(f"{stem.name}.pose.txt"), pose)
    return folder


def captures(folder: RgbdFolder) -> tuple[list[Capture], dict[str, int]]:
    stream = Stream(PerceptionConfig())
    found = [c for recorded in folder.messages() for c in stream.add(recorded.role, recorded.decode())]
    return found + stream.finish(), stream.refusals.by_reason()


def test_tum_layout(tmp_path: Path) -> None:
    assert is_tum(tum(tmp_path))
    found, refused = captures(RgbdFolder(tmp_path, K))
    assert refused == {}
    assert [c.placement.stamp_ns for c in found] == [130_000_001_000, 130_100_001_000, 130_200_001_000]
    assert found[0].placement.sensor_in_map.position == pytest.approx((10.00001, 0, 1), abs=1e-4)
    assert rotate(found[0].placement.sensor_in_map.orientation, (0, -1, 0)) == pytest.approx((0, 0, 1), abs=1e-5)
    assert decode_depth(found[0].depth)[3, 3] == pytest.approx(1.0)  # 5000 units a metre
    assert decode_color(found[0].color)[0, 0].tolist() == [200, 20, 10]
    assert found[0].color_camera == Intrinsics(32, 24, *K)


@pytest.mark.parametrize("color", ["png", "jpg"])
def test_numbered_frames(tmp_path: Path, color: str) -> None:
    assert is_numbered(numbered(tmp_path, color=color))
    found, refused = captures(RgbdFolder(tmp_path, K, fps=10.0))
    assert refused == {}
    assert [c.placement.stamp_ns for c in found] == [0, 100_000_000, 200_000_000]
    assert found[1].placement.sensor_in_map.position == pytest.approx((1, 2, 3))
    assert decode_depth(found[0].depth)[3, 3] == pytest.approx(5.0)  # millimetres


@pytest.mark.parametrize(("pose", "up"), [(Y_DOWN, "auto"), (Y_DOWN, "-y"), (Z_UP, "auto"), (Z_UP, "z")])
def test_the_map_is_turned_so_that_z_points_up(tmp_path: Path, pose: np.ndarray[Any, Any], up: str) -> None:
    found, _ = captures(RgbdFolder(numbered(tmp_path, pose), K, up=up))
    assert rotate(found[0].placement.sensor_in_map.orientation, (0, -1, 0)) == pytest.approx((0, 0, 1), abs=1e-6)


def test_depth_of_another_camera(tmp_path: Path) -> None:
    found, _ = captures(RgbdFolder(numbered(tmp_path), K, depth_intrinsics=(40.0, 40.0, 15.0, 11.0)))
    assert (found[0].color_camera.fx, found[0].depth_camera.fx) == (30.0, 40.0)


def test_no_depth_and_lost_tracking(tmp_path: Path) -> None:
    numbered(tmp_path, count=4)
    pixels = np.full((24, 32), 65535, np.uint16)
    pixels[0, 0] = 1500
    cv2.imwrite(str(tmp_path / "frame-000000.depth.png"), pixels)
    np.savetxt(tmp_path / "frame-000001.pose.txt", np.full((4, 4), -np.inf))
    (tmp_path / "frame-000002.pose.txt").unlink()
    found, refused = captures(RgbdFolder(tmp_path, K))
    assert refused == {"no_pose": 2}
    depth = decode_depth(found[0].depth)
    assert (depth[0, 0], np.count_nonzero(depth)) == (pytest.approx(1.5), 1)


def test_intrinsics_come_from_a_file_or_are_asked_for(tmp_path: Path) -> None:
    numbered(tmp_path)
    with pytest.raises(InvalidArgument, match="--intrinsics"):
        RgbdFolder(tmp_path)
    (tmp_path / "camera-intrinsics.txt").write_text("31 0 16\n0 32 12\n0 0 1\n")
    found, _ = captures(RgbdFolder(tmp_path))
    assert (found[0].color_camera.fx, found[0].color_camera.fy) == (31.0, 32.0)
    for bad in ((0.0, 30.0, 16.0, 12.0), (30.0, 30.0, 16.0), (float("nan"), 1.0, 1.0, 1.0)):
        with pytest.raises(InvalidArgument, match="four numbers"):
            RgbdFolder(tmp_path, bad)


def test_it_can_be_read_twice_and_by_role(tmp_path: Path) -> None:
    folder = RgbdFolder(numbered(tmp_path), K)
    once, again = ([(r.role, r.stamp_ns, r.raw) for r in folder.messages()] for _ in range(2))
    assert once == again
    assert [r.role for r in folder.messages(("color",))] == ["color"] * 3


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("rgb.txt", "abc rgb/0.png", "stamp"),
        ("groundtruth.txt", "1.0 2 3", "columns"),
        ("groundtruth.txt", "1.0 a 0 0 0 0 0 1", "number"),
        ("groundtruth.txt", "1.0 0 0 0 0 0 0 0", "rotation"),
        ("groundtruth.txt", "", "no pose"),
    ],
)
def test_broken_tum_folders_say_what_is_wrong(tmp_path: Path, file: str, text: str, words: str) -> None:
    (tum(tmp_path) / file).write_text(text + "\n")
    with pytest.raises(InvalidArgument, match=words):
        list(RgbdFolder(tmp_path, K).messages())


def test_an_image_that_cannot_be_read_is_one_message_and_the_folder_goes_on(tmp_path: Path) -> None:
    tum(tmp_path)
    (tmp_path / "depth/1.png").write_bytes(b"nothing")
    (tmp_path / "rgb/0.png").unlink()
    with pytest.raises(InvalidArgument, match="color image"):
        RgbdFolder(tmp_path, K)
    write_image(tmp_path / "rgb/0.png", "color")
    (tmp_path / "rgb/2.png").unlink()
    broken = []
    for recorded in RgbdFolder(tmp_path, K).messages(("color", "depth")):
        try:
            recorded.decode()
        except InvalidArgument as error:
            broken.append((recorded.role, recorded.header_ns, str(error)))
    assert [(role, stamp) for role, stamp, _ in broken] == [("depth", 130_120_000_000), ("color", 130_200_001_000)]
    assert "depth/1.png" in broken[0][2] and "rgb/2.png" in broken[1][2]


def test_broken_numbered_folders_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="neither"):
        RgbdFolder(tmp_path, K)
    numbered(tmp_path)
    (tmp_path / "frame-000001.pose.txt").write_text("1 2 3")
    with pytest.raises(InvalidArgument, match="4 x 4"):
        RgbdFolder(tmp_path, K)
    (tmp_path / "frame-000001.pose.txt").unlink()
    (tmp_path / "frame-000001.color.png").unlink()
    with pytest.raises(InvalidArgument, match=r"frame-000001\.color"):
        RgbdFolder(tmp_path, K)
