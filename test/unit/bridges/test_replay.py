"""Replaying: frames into a memory, idempotent writers, and the order of messages in lockstep."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from r4_ros.bridges.bag import Bag
from r4_ros.bridges.playback import TimedMessage
from r4_ros.bridges.replay import ROLE_TOPICS, replay, timed_messages, writer_of
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.model import Frame, PlacedEntry, Receipt
from r4_ros.perception.label_segmenter import LabelSegmenter
from r4_ros.perception.pipeline import Pipeline
from r4_ros.perception.refusals import Refusals
from r4_ros.perception.stream import Stream

S = 1_000_000_000
MS = 1_000_000


class FakeMemory:
    """Keeps the frames it is given."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def ingest(self, frame: Frame) -> Receipt:
        self.frames.append(frame)
        return Receipt(frame.agent_id, frame.writer, frame.sequence, 1, 0)

    def entries_near(self, agent_id: str, limit: int) -> list[PlacedEntry]:
        assert agent_id == "robot"
        return []


def run(bag: Bag) -> tuple[FakeMemory, Any, list[int]]:
    memory, heard = FakeMemory(), []
    config = PerceptionConfig(agent_id="robot")
    pipeline = Pipeline(config, LabelSegmenter(), None, writer_of(bag))
    report = replay(bag, memory, Stream(config), pipeline, lambda done: heard.append(done.frames))
    return memory, report, heard


def test_a_bag_becomes_frames(tmp_path: Path, bags: Any) -> None:
    bag = Bag(bags.write(tmp_path / "bag", [m for i in range(4) for m in bags.frame(5 * S + i * 100 * MS)]))
    memory, report, heard = run(bag)
    assert (report.frames, report.refused, heard) == (4, {}, [1, 2, 3, 4])
    assert [frame.sequence for frame in memory.frames] == [1, 2, 3, 4]
    assert memory.frames[2].sensor_in_map.position == pytest.approx((5.2, 0, 1))
    assert run(bag)[0].frames == memory.frames  # writer and all: replaying twice is the same


def test_what_can_not_be_trusted_is_counted(tmp_path: Path, bags: Any) -> None:
    frames = [bags.frame(5 * S + i * S) for i in range(4)]
    frames[1] = [m for m in frames[1] if m[0] != "/tf"]
    frames[2] = bags.frame(7 * S, depth_offset_ns=400 * MS)
    broken = frames[3][-1][2]
    broken.data = broken.data[:100]
    bag = Bag(bags.write(tmp_path / "bag", [m for frame in frames for m in frame if m[0] != "/tf" or m[1] != 6 * S]))
    memory, report, _ = run(bag)
    assert report.refused == {"stamp_mismatch": 1, "truncated_data": 1}
    assert report.frames == 2  # the second one's pose lies between its neighbours'
    assert len(memory.frames) == 2


def played(bag: Bag, lockstep: bool) -> list[TimedMessage]:
    return list(timed_messages(bag, "robot", lockstep=lockstep))


def test_messages_go_out_on_the_topics_of_the_nodes_as_they_were_recorded(tmp_path: Path, bags: Any) -> None:
    bag = Bag(bags.write(tmp_path / "bag", [m for i in range(3) for m in bags.frame(5 * S + i * 100 * MS)]))
    items = played(bag, lockstep=False)
    assert [item.payload for item in items] == [recorded.raw for recorded in bag.messages()]
    assert {item.topic for item in items} == {
        "/tf", "color/image_raw", "depth/image_raw", "color/camera_info", "depth/camera_info"
    }  # fmt: skip
    assert {item.topic for item in timed_messages(bag, "robot", namespace="robot1")} >= {"tf", "color/image_raw"}
    assert {item.lockstep_key for item in items} == {""}


@pytest.mark.parametrize("offset_ms", [0, 10, -10, 30, -30, 45])
@pytest.mark.parametrize("color_period_ms", [100, 40])
def test_in_lockstep_no_frame_waits_for_what_is_held_back(
    tmp_path: Path, bags: Any, offset_ms: int, color_period_ms: int
) -> None:
    """Feed a stream item by item: when the next frame's first item comes, the frame before must be complete."""
    messages = []
    for i in range(6):
        messages += [m for m in bags.frame(5 * S + i * color_period_ms * MS) if "depth/image" not in m[0]]
        messages += [m for m in bags.frame(5 * S + i * 100 * MS + offset_ms * MS) if "depth/image" in m[0]]
    messages.sort(key=lambda m: m[1])
    bag = Bag(bags.write(tmp_path / "bag", messages))
    config = PerceptionConfig(agent_id="robot")
    by_role = {(recorded.role, recorded.raw): recorded for recorded in bag.messages()}
    roles = {topic: role for role, topic in ROLE_TOPICS.items()} | {"/tf": "tf"}
    answered: set[int | None] = set()
    refusals = Refusals()
    count = refusals.add
    refusals.add = lambda error: (answered.add(error.stamp_ns), count(error))[1]  # type: ignore
    stream, done, current = Stream(config, refusals), [], None
    for item in played(bag, lockstep=True):
        if item.lockstep_key and item.frame_ns != current:
            assert current is None or current in answered
            current = item.frame_ns
        recorded = by_role[roles[item.topic], item.payload]
        captures = stream.add(recorded.role, recorded.decode())
        answered |= {capture.placement.stamp_ns for capture in captures}
        done += [capture.placement.stamp_ns for capture in captures]
    done += [capture.placement.stamp_ns for capture in stream.finish()]
    direct = Stream(config)
    plain = [c.placement.stamp_ns for r in bag.messages() for c in direct.add(r.role, r.decode())]
    plain += [c.placement.stamp_ns for c in direct.finish()]
    assert done == plain
    assert plain


def test_the_writer_is_the_recording_s(tmp_path: Path, bags: Any) -> None:
    first = Bag(bags.write(tmp_path / "a", bags.frame(5 * S)))
    other = Bag(bags.write(tmp_path / "b", bags.frame(6 * S)))
    assert writer_of(first) == writer_of(Bag(tmp_path / "a"))
    assert writer_of(first) != writer_of(other)


def test_a_damaged_message_is_refused_and_the_replay_goes_on(tmp_path: Path, bags: Any) -> None:
    """Bytes that are no message of their type, as after a disk error."""

    class Cut(Bag):
        def messages(self, roles: Any = ()) -> Any:
            for index, recorded in enumerate(super().messages(roles)):
                if recorded.role == "depth" and index < 10:
                    yield replace(recorded, decode=partial(self._decode, recorded.raw[:40], recorded.topic))
                else:
                    yield recorded

    bags.write(tmp_path / "bag", [m for i in range(4) for m in bags.frame(5 * S + i * 100 * MS)])
    memory, report, _ = run(Cut(tmp_path / "bag"))
    assert report.refused == {"truncated_data": 2, "stamp_mismatch": 2}
    assert [frame.stamp_ns for frame in memory.frames] == [5 * S + 200 * MS, 5 * S + 300 * MS]
