"""Names of label ids travel with each capture, and a frame that comes before them isn't taken for an empty one."""

from __future__ import annotations

from types import SimpleNamespace as Message
from typing import Any

from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import RefusalReason
from r4_ros.core.model import NS_PER_S, Pose
from r4_ros.perception.capture import Capture
from r4_ros.perception.refusals import Refusals
from r4_ros.perception.stream import Stream


def header(stamp_ns: int) -> Any:
    return Message(stamp=Message(sec=stamp_ns // NS_PER_S, nanosec=stamp_ns % NS_PER_S), frame_id="camera")


def info() -> Any:
    roi = Message(width=0, height=0, x_offset=0, y_offset=0)
    k = (50.0, 0, 32, 0, 50.0, 24, 0, 0, 1)
    return Message(
        header=header(0), k=k, p=(), d=(), distortion_model="", width=64, height=48, binning_x=0, binning_y=0, roi=roi
    )


def feed(stream: Stream, stamp_ns: int) -> list[Capture]:
    stream.transforms.add("map", "camera", stamp_ns, Pose())
    stream.add("color_info", info())
    captures: list[Capture] = []
    for role in ("depth", "label", "color"):
        captures += stream.add(role, Message(header=header(stamp_ns)))
    return captures


def test_a_capture_carries_the_names_that_were_known_then() -> None:
    stream = Stream(PerceptionConfig(segmenter="label_image"))
    stream.add("label_info", Message(data='{"7": "mug"}'))
    [first] = feed(stream, NS_PER_S)
    stream.add("label_info", Message(data='{"7": "cup"}'))
    [second] = feed(stream, NS_PER_S + 100)
    assert (first.legend, second.legend) == ({7: "mug"}, {7: "cup"})


def test_a_frame_waits_for_the_names_and_is_refused_without_them() -> None:
    refusals = Refusals()
    stream = Stream(PerceptionConfig(segmenter="label_image"), refusals)
    assert feed(stream, NS_PER_S) == []
    [late] = stream.add("label_info", Message(data='{"7": "mug"}'))
    assert late.placement.stamp_ns == NS_PER_S
    other = Stream(PerceptionConfig(segmenter="label_image"), refusals)
    assert feed(other, NS_PER_S) == []
    assert other.finish() == []
    assert refusals.by_reason() == {RefusalReason.NO_LABELS.value: 1}
