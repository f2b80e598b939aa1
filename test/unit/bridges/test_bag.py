"""rosbag2 recordings of every storage and compression, and what broken ones say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from r4_ros.bridges.bag import Bag, header_stamp
from r4_ros.bridges.recording import COMPRESSED, IMAGE, Topic, find_roles
from r4_ros.core.errors import InvalidArgument

S = 1_000_000_000


def frames(bags: Any, count: int = 4) -> list[tuple[str, int, Any]]:
    return [message for i in range(count) for message in bags.frame(5 * S + i * S // 10)]


@pytest.mark.parametrize(
    ("plugin", "mode"),
    [
        *((StoragePlugin.MCAP, mode) for mode in CompressionMode),
        *((StoragePlugin.SQLITE3, mode) for mode in CompressionMode if mode != CompressionMode.STORAGE),
    ],
)
def test_every_storage_reads_the_same(tmp_path: Path, bags: Any, plugin: StoragePlugin, mode: CompressionMode) -> None:
    path = bags.write(tmp_path / "bag", frames(bags), plugin, mode)
    bag = Bag(path, wanted=("color", "depth", "color_info"))
    assert {role: topic.name for role, topic in bag.roles.items()} == {
        "color": "/camera/color/image_raw",
        "depth": "/camera/depth/image_rect_raw",
        "color_info": "/camera/color/camera_info",
        "depth_info": "/camera/depth/camera_info",
        "tf": "/tf",
    }
    assert bag.roles["color"].count == 4
    recorded = list(bag.messages())
    assert len(recorded) == 20
    assert [r.stamp_ns for r in recorded] == sorted(r.stamp_ns for r in recorded)
    [first, *_] = [r for r in recorded if r.role == "depth"]
    image = first.decode()
    assert (image.encoding, image.height, image.header.frame_id) == ("16UC1", 24, "camera")
    assert np.frombuffer(image.data, np.uint16)[7] == 2000
    assert first.header_ns == first.stamp_ns == 5 * S
    assert [r.header_ns for r in recorded if r.role == "tf"] == [None] * 4
    assert [r.role for r in bag.messages(("tf",))] == ["tf"] * 4
    bag.close()
    bag.close()


@pytest.mark.parametrize(("plugin", "suffix"), [(StoragePlugin.MCAP, "mcap"), (StoragePlugin.SQLITE3, "db3")])
def test_a_single_file_does_without_metadata(tmp_path: Path, bags: Any, plugin: StoragePlugin, suffix: str) -> None:
    path = bags.write(tmp_path / "bag", frames(bags), plugin)
    [file] = path.glob(f"*.{suffix}")
    assert len(list(Bag(file).messages())) == 20


def test_a_missing_topic_lists_what_there_is(tmp_path: Path, bags: Any) -> None:
    only = [message for message in frames(bags) if "depth" not in message[0]]
    path = bags.write(tmp_path / "bag", only)
    with pytest.raises(InvalidArgument) as error:
        Bag(path, wanted=("color", "depth"))
    text = str(error.value)
    assert "no depth topic" in text
    assert "--depth-topic" in text
    assert "/camera/color/image_raw [sensor_msgs/msg/Image] x 4" in text
    with pytest.raises(InvalidArgument, match="has no topic /nope"):
        Bag(path, {"depth": "/nope"})


def test_a_chosen_topic_is_taken(tmp_path: Path, bags: Any) -> None:
    extra = [("/other", stamp, message) for topic, stamp, message in frames(bags) if topic.endswith("color/image_raw")]
    path = bags.write(tmp_path / "bag", frames(bags) + extra)
    assert Bag(path, {"color": "/other"}).roles["color"].name == "/other"


def test_broken_recordings_say_so(tmp_path: Path, bags: Any) -> None:
    path = bags.write(tmp_path / "bag", frames(bags))
    [file] = path.glob("*.mcap")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(InvalidArgument, match="bag"):
        list(Bag(path).messages())
    file.unlink()
    with pytest.raises(InvalidArgument, match="missing"):
        Bag(path)
    (tmp_path / "old.bag").write_bytes(b"#ROSBAG V2.0")
    with pytest.raises(InvalidArgument, match="ROS 1"):
        Bag(tmp_path / "old.bag")
    (tmp_path / "junk.mcap").write_bytes(b"junk" * 100)
    with pytest.raises(InvalidArgument, match="junk"):
        Bag(tmp_path / "junk.mcap")


def test_a_message_with_damaged_bytes_says_which_topic(tmp_path: Path, bags: Any) -> None:
    bag = Bag(bags.write(tmp_path / "bag", frames(bags)))
    [recorded, *_] = bag.messages(("depth",))
    with pytest.raises(InvalidArgument, match="image_rect_raw"):
        bag._decode(recorded.raw[:20], recorded.topic)


def test_header_stamps_of_either_byte_order() -> None:
    assert header_stamp(b"\0\1\0\0" + (5).to_bytes(4, "little") + (7).to_bytes(4, "little")) == 5 * S + 7
    assert header_stamp(b"\0\0\0\0" + (5).to_bytes(4, "big") + (7).to_bytes(4, "big")) == 5 * S + 7
    assert header_stamp(b"\0\1\0\0") is None


INFO = "sensor_msgs/msg/CameraInfo"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["/rgb/image_raw", "/depth/image_raw", "/rgb/camera_info", "/depth/camera_info"],
            ("/rgb/image_raw", "/depth/image_raw", "/rgb/camera_info", "/depth/camera_info"),
        ),
        (
            [
                "/camera/infra1/image_rect_raw", "/camera/color/image_raw", "/camera/color/image_raw/compressed",
                "/camera/depth/image_rect_raw", "/camera/aligned_depth_to_color/image_raw",
                "/camera/aligned_depth_to_color/camera_info", "/camera/color/camera_info",
                "/camera/depth/camera_info",
            ],
            (
                "/camera/color/image_raw", "/camera/aligned_depth_to_color/image_raw",
                "/camera/color/camera_info", "/camera/aligned_depth_to_color/camera_info",
            ),
        ),
        (
            ["/cam/image/compressed", "/cam/depth/image/compressedDepth", "/cam/label/image_raw", "/cam/camera_info"],
            ("/cam/image/compressed", "/cam/depth/image/compressedDepth", "/cam/camera_info", ""),  # one camera
        ),
    ],
)  # fmt: skip
def test_roles_are_found_by_type_and_name(names: list[str], expected: tuple[str, ...]) -> None:
    def kind(name: str) -> str:
        return INFO if name.endswith("info") else COMPRESSED if "compressed" in name else IMAGE

    roles = find_roles([Topic(name, kind(name), 9) for name in names], {}, ("color", "depth"), "bag")
    found = tuple(roles[role].name if role in roles else "" for role in ("color", "depth", "color_info", "depth_info"))
    assert found == expected


def test_topics_without_messages_are_not_guessed() -> None:
    topics = [Topic("/a/color/image_raw", IMAGE, 0), Topic("/b/color/image_raw", IMAGE, 5), Topic("/depth", IMAGE, 5)]
    assert find_roles(topics, {}, ("color", "depth"), "bag")["color"].name == "/b/color/image_raw"
