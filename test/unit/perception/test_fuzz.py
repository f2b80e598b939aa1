"""Ten thousand damaged messages through stream, pipeline and memory: none raises, nothing of a refused one stays.

The messages are those of a robot that drives along; each may have any of its fields replaced by something odd.
"""

from __future__ import annotations

import copy
import math
import struct
from pathlib import Path
from types import SimpleNamespace as Message
from typing import Any

import cv2
import numpy as np
import pytest

from r4_ros.core.config import MemoryConfig, PerceptionConfig
from r4_ros.core.errors import FrameRefused
from r4_ros.core.model import NS_PER_S, Pose
from r4_ros.memory.library import open_library
from r4_ros.perception.capture import Capture
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.stream import Stream

NUMBERS = (0, 1, -1, 2, 7, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1)
REALS = (0.0, -1.0, 1e-300, 1e-9, 1e9, 1e38, 1e300, math.nan, math.inf, -math.inf)
TEXTS = (
    "",
    "map",
    "rgb8",
    "16UC1",
    "32FC1",
    "mono8",
    "bayer_rggb8",
    "compressedDepth",
    "16UC1; compressedDepth rvl",
    "png",
    "\0",
    "ü" * 300,
    "/" * 50,
)
ROLES = ("color", "depth", "cloud", "label", "color_info", "depth_info", "tf", "odometry", "label_info")
WIDTH, HEIGHT = 32, 24
# 32 x 24 pixels, all of 2000 mm: numbers 0, 768, 4000 and 767 zeros, in nibbles 0 | 8 8 C 1 | 8 C E 7 | 0 ...
RVL = struct.pack(f"<II{97}I", WIDTH, HEIGHT, 0x088C18CE, 0x70000000, *(0,) * 95)


class Robot:
    """Whole messages of one frame after the other. ``compressed``: images as jpeg and compressedDepth."""

    def __init__(self, messages: Any, compressed: bool = False) -> None:
        self.messages, self.compressed = messages, compressed
        self.labels = np.zeros((HEIGHT, WIDTH), np.uint8)
        self.labels[8:16, 8:20] = 7

    def frame(self, stamp_ns: int) -> list[tuple[str, Any]]:
        make = self.messages
        color = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
        depth = np.full((HEIGHT, WIDTH), 2000, np.uint16)
        where = Pose((stamp_ns / NS_PER_S * 0.1, 0, 1.0), (-0.5, 0.5, -0.5, 0.5))
        info = make.info(WIDTH, HEIGHT, 30.0)
        info.header = make.header(stamp_ns)
        return [
            ("tf", make.tf(("map", "camera", stamp_ns, where))),
            ("color_info", info),
            ("depth_info", copy.deepcopy(info)),
            ("label_info", Message(data='{"7": "cup"}')),
            ("odometry", self.odometry(stamp_ns)),
            ("color", self.packed(color, "rgb8", stamp_ns)),
            ("label", make.image(self.labels, "mono8", stamp_ns)),
            ("cloud", self.cloud(stamp_ns)),
            ("depth", self.packed(depth, "16UC1", stamp_ns)),
        ]

    def packed(self, pixels: np.ndarray[Any, Any], encoding: str, stamp_ns: int) -> Any:
        make = self.messages
        if not self.compressed:
            return make.image(pixels, encoding, stamp_ns)
        if encoding == "rgb8":
            return make.compressed(cv2.imencode(".jpg", pixels)[1].tobytes(), "rgb8; jpeg compressed bgr8", stamp_ns)
        if stamp_ns // (NS_PER_S // 10) % 2:
            return make.compressed(
                bytes(12) + cv2.imencode(".png", pixels)[1].tobytes(), "16UC1; compressedDepth png", stamp_ns
            )
        return make.compressed(bytes(12) + RVL, "16UC1; compressedDepth rvl", stamp_ns)

    def odometry(self, stamp_ns: int) -> Any:
        pose = Message(position=Message(x=0.0, y=0.0, z=0.0), orientation=Message(x=0.0, y=0.0, z=0.0, w=1.0))
        header = self.messages.header(stamp_ns, "odom")
        return Message(header=header, child_frame_id="map", pose=Message(pose=pose, covariance=[0.01] * 36))

    def cloud(self, stamp_ns: int) -> Any:
        fields = [Message(name=name, offset=4 * i, datatype=7, count=1) for i, name in enumerate("xyz")]
        v, u = np.mgrid[:HEIGHT, :WIDTH]
        points = np.stack([(u - 16) / 15, (v - 12) / 15, np.full(u.shape, 2.0)], axis=-1).astype("<f4")
        return Message(
            header=self.messages.header(stamp_ns), height=HEIGHT, width=WIDTH, fields=fields, is_bigendian=False,
            point_step=12, row_step=12 * WIDTH, data=points.tobytes(), is_dense=True,
        )  # fmt: skip


def leaves(message: Any) -> list[tuple[Any, Any]]:
    """Where a message can be changed: its parts with the names or indices of their plain values."""
    found: list[tuple[Any, Any]] = []
    items = message.items() if isinstance(message, dict) else enumerate(message) if isinstance(message, list) else None
    for key, value in vars(message).items() if items is None else items:
        if isinstance(value, Message):
            found += leaves(value)
        elif isinstance(value, list) and value and isinstance(value[0], Message):
            found += [(message, key), *(leaf for item in value for leaf in leaves(item))]
        elif isinstance(value, list):
            found += [(value, index) for index in range(len(value))] + [(message, key)]
        else:
            found.append((message, key))
    return found


def spoiled(value: Any, rng: np.random.Generator) -> Any:
    """Another value of the same wire type."""
    if isinstance(value, bytes):
        kind = rng.integers(4)
        if kind == 0:
            return value[: rng.integers(len(value) + 1)]
        if kind == 1:
            return value + bytes(int(rng.integers(1, 500)))
        data = np.frombuffer(value, np.uint8).copy()
        if data.size:
            data[rng.integers(data.size, size=max(1, data.size // 8))] = rng.integers(256)
        return data.tobytes() if kind == 2 else rng.bytes(len(value))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return NUMBERS[rng.integers(len(NUMBERS))]
    if isinstance(value, float):
        return REALS[rng.integers(len(REALS))]
    if isinstance(value, str):
        return TEXTS[rng.integers(len(TEXTS))]
    return value[: rng.integers(len(value) + 1)]


def spoil(message: Any, rng: np.random.Generator) -> None:
    places = leaves(message)
    for _ in range(int(rng.integers(1, 4))):
        part, key = places[rng.integers(len(places))]
        if isinstance(part, list):
            if key < len(part):
                part[key] = spoiled(part[key], rng)
        else:
            setattr(part, key, spoiled(getattr(part, key), rng))


def feed(stream: Stream, pipeline: Pipeline, library: Any, count: int, robot: Robot, seed: int) -> tuple[set[int], int]:
    """Stamps of the frames that were taken, and how many messages went in."""
    rng, fed, step = np.random.default_rng(seed), 0, 0
    taken: set[int] = set()

    def take(captures: list[Capture]) -> None:
        for capture in captures:
            try:
                frame = pipeline.process(capture, library.entries_near("robot", 50))
            except FrameRefused as error:
                stream.refusals.add(error)
            else:
                library.ingest(frame)
                taken.add(frame.stamp_ns)

    while fed < count:
        step += 1
        for role, message in robot.frame(100 * NS_PER_S + step * NS_PER_S // 10):
            if rng.random() < 0.25:
                spoil(message, rng)
            take(stream.add(role, message))
            fed += 1
    take(stream.finish())
    return taken, fed


@pytest.mark.parametrize(
    ("count", "config"),
    [
        (1500, {}),
        (1500, {"depth_source": "cloud", "depth_model": "radial"}),
        (1500, {"compressed": True, "depth_compressed": True}),
        (1500, {"pose_source": "odometry", "map_frame": "odom", "camera_frame": "camera", "keyframe_period_s": 0.3}),
        pytest.param(10_000, {"label_legend": ""}, marks=pytest.mark.slow),
    ],
)
def test_damaged_messages_are_refused_and_leave_nothing(
    messages: Any, tmp_path: Path, count: int, config: dict[str, Any]
) -> None:
    settings = PerceptionConfig(agent_id="robot", segmenter="label_image", base_frame="", **config)
    stream, pipeline = Stream(settings), Pipeline(settings, LabelSegmenter(), None, "writer")
    with open_library(tmp_path / "r4.db", MemoryConfig(agent_id="robot", embedder="none")) as library:
        taken, fed = feed(stream, pipeline, library, count, Robot(messages, settings.compressed), seed=count)
        assert fed >= count and len(taken) > count / 9 / 20, stream.refusals.by_reason()
        assert stream.refusals.total > count / 9 / 20
        for entry in library.entries():
            assert {entry.first_seen, entry.last_seen} <= taken
            assert all(interval.start < interval.end for interval in entry.sightings)
            assert all(math.isfinite(v) for stay in entry.stays for v in (*stay.box.pose.position, *stay.box.extent))
        assert {point.stamp_ns for point in library.trail("robot", -(2**62), 2**62)} <= taken
