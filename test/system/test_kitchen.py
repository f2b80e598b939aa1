"""The real kitchen recording, replayed as a user would: what stands there, once each, at its place.

The places were measured in the recording: by hand in the images, with the depth of the pixels picked.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import EventKind, PlacedEntry
from r4_ros.memory.library import Library, open_library

pytestmark = [pytest.mark.system, pytest.mark.slow]

MUGS = {"white mug": (-0.72, 1.79, -0.78), "patterned mug": (0.27, 1.64, -0.78)}
CHAIRS = {"left": (-1.18, 1.74, -0.91), "back": (-0.44, 2.15, -0.81), "right": (0.61, 2.11, -0.82)}  # their backs
TVS = {"left": (0.55, 3.27, -0.12), "right": (1.43, 3.27, -0.1)}
BOOKS = {"magazine": (-0.18, 1.48, -0.82), "papers": (-0.47, 1.68, -0.82)}
SINK = {"sink": (-1.3, 3.33, -0.73)}


def r4(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    command = [sys.executable, "-m", "r4_ros.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=540, env=environment, check=False)


@pytest.fixture(scope="module")
def replayed(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], list[str]]:
    """The database, what the replay printed, and its arguments."""
    bag, model = shared_data / "kitchen_mcap", shared_data / "models" / "centernet_coco.onnx"
    if not bag.is_dir() or not model.is_file():
        pytest.skip("the kitchen recording or its detector (../shared/data) is not here")
    db = tmp_path_factory.mktemp("kitchen") / "k.db"
    arguments = ["replay", str(bag), "--db", str(db), "--detector", str(model), "--json"]
    done = r4(*arguments)
    assert done.returncode == 0, done.stderr
    return db, json.loads(done.stdout), arguments


@pytest.fixture(scope="module")
def library(replayed: tuple[Path, dict[str, Any], list[str]]) -> Any:
    with open_library(replayed[0], MemoryConfig(agent_id="robot"), None, read_only=True) as opened:
        yield opened


def of(library: Library, label: str) -> list[PlacedEntry]:
    """Entries with a label that more than one frame saw."""
    return [entry for entry in library.placed() if entry.label == label and entry.count > 1]


def test_every_frame_is_used(replayed: tuple[Path, dict[str, Any], list[str]]) -> None:
    _, result, _ = replayed
    assert result["frames"] == 84
    assert result["refused"] == {}
    assert result["observations"] > 150
    assert 8 <= result["entries"] <= 25
    assert result["agent"] == "robot"
    assert result["wall_s"] > 0


@pytest.mark.parametrize(
    ("label", "places", "tolerance_m"),
    [("cup", MUGS, 0.06), ("chair", CHAIRS, 0.12), ("tv", TVS, 0.2), ("book", BOOKS, 0.12), ("sink", SINK, 0.12)],
)
def test_things_stand_where_they_stand_once_each(
    library: Library, label: str, places: dict[str, tuple[float, float, float]], tolerance_m: float
) -> None:
    entries = of(library, label)
    for name, place in places.items():
        near = [entry for entry in entries if math.dist(entry.box.pose.position, place) <= tolerance_m]
        assert len(near) == 1, f"{name}: {[entry.box.pose.position for entry in entries]}"
    assert len(entries) <= 1.3 * len(places)


def test_sizes_and_colours_are_believable(library: Library) -> None:
    for mug in of(library, "cup"):
        assert all(0.05 <= side <= 0.2 for side in mug.box.extent)
        assert dict(mug.attributes)["color"] == "white"
    assert {dict(chair.attributes)["color"] for chair in of(library, "chair")} == {"brown"}
    assert all(0.5 < max(tv.box.extent) < 1.3 for tv in of(library, "tv"))


def test_nothing_moved_and_nothing_is_said_to_have(library: Library, replayed: Any) -> None:
    assert replayed[1]["absent"] == 0
    changes = {EventKind.MOVED, EventKind.DISAPPEARED, EventKind.REAPPEARED}
    assert [event for event in library.events() if event.kind in changes] == []


def test_replaying_again_changes_nothing(replayed: tuple[Path, dict[str, Any], list[str]]) -> None:
    db, result, arguments = replayed
    config = MemoryConfig(agent_id="robot")
    with open_library(db, config, None, read_only=True) as before:
        entries, revision = before.entries(), before.revision
    done = r4(*arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["entries"] == result["entries"]
    with open_library(db, config, None, read_only=True) as after:
        assert after.entries() == entries
        assert after.revision == revision


def test_errors_are_one_line(shared_data: Path, tmp_path: Path) -> None:
    bag, db = shared_data / "kitchen_mcap", str(tmp_path / "k.db")
    if not bag.is_dir():
        pytest.skip("the kitchen recording is not here")
    for arguments, words in (
        ([str(tmp_path / "absent")], "there is no"),
        ([str(tmp_path)], "no recording"),
        ([str(bag)], "--detector"),
        ([str(bag), "--detector", str(tmp_path / "none.onnx")], "none.onnx"),
        ([str(bag), "--depth-topic", "/nope"], "/camera/depth/image_raw [sensor_msgs/msg/Image] x 84"),
        ([str(bag), "--segmenter", "magic"], "label_image"),
    ):
        done = r4("replay", *arguments, "--db", db)
        assert done.returncode == 1
        assert words in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert done.stdout == ""
