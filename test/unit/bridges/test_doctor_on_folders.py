"""``r4 doctor`` on folders of RGB-D frames: a good one, and each kind of broken one, in words, with an exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from r4_ros.adapters import segmenters
from r4_ros.cli import doctor
from r4_ros.core.ports import RgbdImage, Segment

K = "--intrinsics=30,30,16,12"


class Cups:
    """Finds a cup in the middle of each image."""

    def load(self) -> None: ...

    def close(self) -> None: ...

    def segment(self, image: RgbdImage) -> list[Segment]:
        return [Segment("cup", 0.9, 8, 8, np.ones((8, 12), bool))]


@pytest.fixture(autouse=True)
def cups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenters, "model_segmenter", lambda config: Cups())


def write(path: Path, pixels: np.ndarray[Any, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), pixels)


def tum(folder: Path) -> Path:
    for i in range(5):
        write(folder / f"rgb/{i}.png", np.full((24, 32, 3), 90, np.uint8))
        write(folder / f"depth/{i}.png", np.full((24, 32), 10_000, np.uint16))
    (folder / "rgb.txt").write_text("# color\n" + "".join(f"130.{i}00001 rgb/{i}.png\n" for i in range(5)))
    (folder / "depth.txt").write_text("".join(f"130.{i}2 depth/{i}.png\n" for i in range(5)))
    poses = [f"{129 + i / 10:.4f} {i} 0 1 -0.7071068 0 0 0.7071068" for i in range(25)]
    (folder / "groundtruth.txt").write_text("# t x y z qx qy qz qw\n" + "\n".join(poses) + "\n")
    return folder


def numbered(folder: Path) -> Path:
    pose = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 1], [0, 0, 0, 1]])
    for i in range(5):
        write(folder / f"frame-{i:06d}.color.png", np.full((24, 32, 3), 90, np.uint8))
        write(folder / f"frame-{i:06d}.depth.png", np.full((24, 32), 2000, np.uint16))
        np.savetxt(folder / f"frame-{i:06d}.pose.txt", pose)
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Exit code, the text, and the JSON document."""
    app = typer.Typer()
    doctor.register(app)
    app.command("other")(lambda: None)
    plain = CliRunner().invoke(app, ["doctor", str(folder), *arguments])
    told = CliRunner().invoke(app, ["doctor", str(folder), *arguments, "--json"])
    document = json.loads(told.stdout)
    assert document["stores"] is (plain.exit_code == 0) and plain.exit_code == told.exit_code
    return plain.exit_code, plain.stdout, document


@pytest.mark.parametrize("make", [tum, numbered])
def test_a_good_folder(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    code, text, document = run(make(tmp_path), K)
    assert code == 0, text
    assert "5 frames have all that they need" in text and "cup x 5" in text
    assert "100% of it is measured between 0.15 and 10 m, mostly from 2.0 to 2.0 m" in text
    assert document["frames"] == {"complete": 5, "refused": {}}


def without_poses(folder: Path) -> None:
    for i in range(5):
        (folder / f"frame-{i:06d}.pose.txt").unlink()


def lost(folder: Path) -> None:
    for i in range(1, 5):
        np.savetxt(folder / f"frame-{i:06d}.pose.txt", np.full((4, 4), np.inf))


def cut(folder: Path) -> None:
    file = folder / "frame-000002.depth.png"
    file.write_bytes(file.read_bytes()[:40])


def empty(folder: Path) -> None:
    for i in range(5):
        write(folder / f"frame-{i:06d}.depth.png", np.zeros((24, 32), np.uint16))


def eight_bits(folder: Path) -> None:
    for i in range(5):
        write(folder / f"frame-{i:06d}.depth.png", np.full((24, 32), 90, np.uint8))


@pytest.mark.parametrize(
    ("damage", "code", "said"),
    [
        (without_poses, 1, "the folder has no pose"),
        (lost, 0, "4 refused as no_pose"),
        (cut, 0, "frame-000002.depth.png is no depth image"),
        (empty, 1, "depth is empty"),
        (eight_bits, 1, "a png with one channel of 16 bits is needed"),
    ],
)
def test_what_is_broken_is_said(tmp_path: Path, damage: Callable[[Path], None], code: int, said: str) -> None:
    damage(numbered(tmp_path))
    found, text, _ = run(tmp_path, K)
    assert said in text
    assert found == code, text


def test_intrinsics_are_asked_for(tmp_path: Path) -> None:
    code, text, _ = run(numbered(tmp_path))
    assert code == 1 and "--intrinsics" in text


def test_a_list_that_is_no_text(tmp_path: Path) -> None:
    (tum(tmp_path) / "rgb.txt").write_bytes(b"\xff\xfe\x00")
    code, text, _ = run(tmp_path, K)
    assert code == 1 and "rgb.txt can't be read" in text
