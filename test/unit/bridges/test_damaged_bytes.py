"""Damaged CDR bytes of a recording's messages, as after a disk error: decoded or refused, never a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r4_ros.bridges.bag import Bag
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import FrameRefused, InvalidArgument
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.stream import Stream

S = 1_000_000_000


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """Cut off, or with some bytes changed, mostly in the header and the sizes at the front."""
    if rng.random() < 0.2:
        return raw[: rng.integers(len(raw) + 1)]
    data = np.frombuffer(raw, np.uint8).copy()
    reach = len(data) if rng.random() < 0.3 else min(len(data), 120)
    data[rng.integers(reach, size=rng.integers(1, 5))] = rng.integers(256)
    return data.tobytes()


@pytest.mark.parametrize("source", ["image", "cloud"])
def test_damaged_bytes_are_decoded_or_refused(tmp_path: Path, bags: Any, source: str) -> None:
    messages = [m for i in range(60) for m in bags.frame(5 * S + i * S // 10)]
    messages += [("/cloud", stamp, bags.cloud(stamp)) for name, stamp, _ in messages if name == "/tf"]
    bag = Bag(bags.write(tmp_path / "bag", messages), {"cloud": "/cloud", "depth": "/camera/depth/image_rect_raw"})
    config = PerceptionConfig(agent_id="robot", depth_source=source)
    stream, pipeline = Stream(config), Pipeline(config, LabelSegmenter(), None)
    rng, unread, frames = np.random.default_rng(7), 0, 0
    for _ in range(8):
        for recorded in bag.messages(stream.roles):
            raw = damaged(recorded.raw, rng) if rng.random() < 0.2 else recorded.raw
            try:
                message = bag._decode(raw, recorded.topic)
            except InvalidArgument:
                unread += 1
                continue
            for capture in stream.add(recorded.role, message):
                try:
                    pipeline.process(capture)
                    frames += 1
                except FrameRefused as error:
                    stream.refusals.add(error)
    assert unread > 20 and frames > 60 and stream.refusals.total > 50, (unread, frames, stream.refusals.counts)
