"""``r4 doctor`` on recordings: a good one, and each kind of broken one, in words, with an exit code (CASES 23)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from r4_ros.cli import doctor

S = 1_000_000_000
MS = S // 1000
Message = tuple[str, int, Any]


def frames(bags: Any, count: int = 8, depth_offset_ns: int = 0) -> list[Message]:
    return [m for i in range(count) for m in bags.frame(5 * S + i * 100 * MS, depth_offset_ns)]


def without(messages: list[Message], topic: str) -> list[Message]:
    return [message for message in messages if message[0] != topic]


def changed(messages: list[Message], topic: str, change: Callable[[Any], None]) -> list[Message]:
    for name, _, message in messages:
        if name == topic:
            change(message)
    return messages


def run(bag: Path, *arguments: str, segmenter: str = "label_image") -> tuple[int, str, dict[str, Any]]:
    """Exit code, the text, and the JSON document."""
    app = typer.Typer()
    doctor.register(app)
    app.command("other")(lambda: None)
    words = ["doctor", str(bag), "--segmenter", segmenter, *arguments]
    plain = CliRunner().invoke(app, words)
    told = CliRunner().invoke(app, [*words, "--json"])
    assert plain.exit_code == told.exit_code
    document = json.loads(told.stdout)
    assert document["stores"] is (plain.exit_code == 0)
    return plain.exit_code, plain.stdout, document


def said(document: dict[str, Any], level: str) -> str:
    return "; ".join(f"{f['about']}: {f['message']}" for f in document["findings"] if f["level"] == level)


@pytest.fixture
def labelled(bags: Any) -> Callable[[list[Message]], list[Message]]:
    """With a label image and its names beside each colour image."""

    def add(messages: list[Message]) -> list[Message]:
        stamps = [stamp for name, stamp, _ in messages if name == "/camera/color/image_raw"]
        pixels = np.zeros((24, 32), np.uint8)
        pixels[8:16, 8:20] = 7
        names = bags.make("std_msgs/msg/String", data=json.dumps({"7": "cup"}))
        labels = [("/label/image_raw", stamp, bags.image(stamp, pixels, "mono8")) for stamp in stamps]
        return [*messages, *labels, ("/label/label_info", 5 * S, names)]

    return add


def test_a_good_recording(tmp_path: Path, bags: Any, labelled: Any) -> None:
    code, text, document = run(bags.write(tmp_path / "bag", labelled(frames(bags))))
    assert (code, said(document, "error")) == (0, "")
    assert "8 frames have all that they need" in text and "cup x 8" in text
    assert "16UC1 32 x 24, 10.0 Hz" in text and "100% of it is measured" in text
    assert document["frames"] == {"complete": 8, "refused": {}}
    assert document["inputs"]["color"]["topic"] == "/camera/color/image_raw"


BROKEN: dict[str, tuple[Callable[[Any], list[Message]], str]] = {
    "no depth": (
        lambda bags: without(frames(bags), "/camera/depth/image_rect_raw"),
        "depth image: the recording has no topic for it",
    ),
    "no poses": (lambda bags: without(frames(bags), "/tf"), "TF: the recording has no topic for it"),
    "no intrinsics": (
        lambda bags: without(without(frames(bags), "/camera/color/camera_info"), "/camera/depth/camera_info"),
        "camera_info of the colour camera: the recording has no topic for it",
    ),
    "empty intrinsics": (
        lambda bags: changed(frames(bags), "/camera/color/camera_info", lambda m: m.k.fill(0)),
        "neither K nor P has focal lengths",
    ),
    "empty depth": (
        lambda bags: changed(frames(bags), "/camera/depth/image_rect_raw", lambda m: setattr(m, "data", m.data * 0)),
        "depth is empty: nothing is measured between 0.15 and 10 m",
    ),
    "depth in another encoding": (
        lambda bags: changed(frames(bags), "/camera/depth/image_rect_raw", lambda m: setattr(m, "encoding", "8UC1")),
        "depth image with encoding '8UC1'",
    ),
    "stamps apart": (
        lambda bags: frames(bags, depth_offset_ns=1500 * MS),
        "stamp_mismatch: the nearest depth image is +0.800 s off",
    ),
    "poses of another frame": (
        lambda bags: changed(frames(bags), "/tf", lambda m: setattr(m.transforms[0], "child_frame_id", "robot")),
        "no way from map to camera: frame 'camera' is not in TF (known: map, robot)",
    ),
    "poses that ended": (
        lambda bags: [m for m in frames(bags, 40) if m[0] != "/tf" or m[1] < 6 * S],
        "map -> camera was last told 3.0 s before the newest image",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_said(tmp_path: Path, bags: Any, labelled: Any, case: str) -> None:
    make, expected = BROKEN[case]
    code, text, document = run(bags.write(tmp_path / "bag", labelled(make(bags))))
    assert expected in text
    assert code == (0 if case == "poses that ended" else 1)
    assert expected.split(": ", 1)[-1] in said(document, "error") + said(document, "warning")


def test_nothing_to_find_objects_with(tmp_path: Path, bags: Any) -> None:
    code, text, _ = run(bags.write(tmp_path / "bag", frames(bags)), segmenter="detector")
    assert code == 1
    assert "segmenter: no detector: set detector_model" in text


def test_a_finder_that_finds_nothing(tmp_path: Path, bags: Any, labelled: Any) -> None:
    messages = labelled(frames(bags))
    code, text, _ = run(bags.write(tmp_path / "bag", messages), "--param", "min_points=5000")
    assert code == 0
    assert "nothing was found in 8 frames; 8 things had fewer than 5000 depth points" in text


def test_a_damaged_and_an_absent_recording(tmp_path: Path, bags: Any) -> None:
    bag = bags.write(tmp_path / "bag", frames(bags))
    (file,) = bag.glob("*.mcap")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    code, text, _ = run(bag)
    assert code == 1 and "✗ recording: " in text
    code, text, document = run(tmp_path / "nothing")
    assert code == 1 and document["findings"][0]["about"] == "recording"


def test_a_topic_of_another_type(tmp_path: Path, bags: Any) -> None:
    code, text, _ = run(bags.write(tmp_path / "bag", frames(bags)), "--color-topic", "/tf")
    assert code == 1
    assert "/tf is a tf2_msgs/msg/TFMessage, but color must be" in text


def test_only_the_first_seconds_are_read(tmp_path: Path, bags: Any, labelled: Any) -> None:
    bag = bags.write(tmp_path / "bag", labelled(frames(bags, 40)))
    assert run(bag, "--seconds", "1")[2]["inputs"]["color"]["count"] == 11
    assert run(bag, "--seconds", "0")[2]["inputs"]["color"]["count"] == 40
