"""A thing that is in view while the robot's belief drifts stands where it is once the loop is closed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, interpolate
from r4_ros.core.model import (
    IDENTITY,
    CorrectionKind,
    EntryCorrection,
    Frame,
    Pose,
    Query,
    Vec3,
    Visibility,
)
from r4_ros.memory.codec import pack_shares, unpack_shares
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.shares import LEAST, MOST

S = 1_000_000_000
AROUND_M, SECONDS = 20.0, 125.0
"""A slow loop around what is in its middle: 125 m of way, at 1 m/s."""
CLOSURE = Pose((0.8, 0.6, 0.0))
"""What the robot believes at its end of where it began: a metre off, or half a percent of twice that way."""
MIDDLE, ASIDE = (0.0, 0.0, 0.5), (3.0, 1.0, 0.5)
SIZE = (0.6, 0.6, 0.6)


class Round:
    """A robot that looks at the middle all the way around, and at what it passes."""

    def __init__(self, robot: Any, drift: Pose = CLOSURE) -> None:
        self.robot, self.drift = robot, drift
        self.nodes: dict[int, Pose] = {}

    def frame(self, seconds: float, *things: Any, **more: Any) -> Frame:
        """What it sees at a time, placed by its belief; the camera looks inwards."""
        angle = 2 * math.pi * seconds / SECONDS
        self.robot.where = (AROUND_M * math.cos(angle), AROUND_M * math.sin(angle), angle + math.pi)
        frame = self.robot.frame(10 + seconds, *things, **more)
        self.nodes[frame.stamp_ns] = compose(frame.sensor_in_map, frame.base_in_sensor)
        belief = compose(interpolate(IDENTITY, self.drift, seconds / SECONDS), frame.sensor_in_map)
        return replace(frame, sensor_in_map=belief, sensor_in_odom=belief)

    def close(self, library: Library) -> Any:
        return library.correct_anchors("r1", list(self.nodes), list(self.nodes.values()))


def known(variance: float) -> dict[str, Any]:
    return {"position_covariance": (variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance)}


def places(library: Library) -> dict[str, Vec3]:
    """By label, where entries are; answers, columns and entries say the same."""
    entries, index = library.placed(), library._index
    answered = {e.entry_id: e.box.pose.position for e in library.retrieve(Query(limit=99)).entries}
    for e in entries:
        assert e.box.pose.position == pytest.approx(answered[e.entry_id], abs=1e-9)
        assert e.box.pose.position == pytest.approx(index.centres(np.array([index.slots[e.entry_id]]))[0], abs=1e-9)
    assert len({e.label for e in entries}) == len(entries)
    return {e.label: e.box.pose.position for e in entries}


def bounded(library: Library) -> None:
    """What a stay costs more, and that it is stored as it is held."""
    for stay in (stay for entry in library.entries() for stay in entry.stays):
        assert len(stay.shares) <= MOST and sum(share.weight for share in stay.shares) < 1
        assert all(share.weight >= LEAST * 0.999 for share in stay.shares)
        blob = pack_shares(stay.shares)
        assert unpack_shares(blob) == stay.shares and len(blob or b"") == 20 * len(stay.shares)
    stored = list(library._store.entries())
    assert stored == library._cache.get_many([s.slot for s in stored])


@pytest.mark.parametrize("variance", [1e-4, 1e-3, 1e-2, 1e-1])
def test_what_is_always_in_view_ends_where_what_was_seen_once_does(
    open_memory: Any, robot: Any, thing: Any, variance: float
) -> None:
    library, loop = open_memory(), Round(robot)
    always = thing("always", MIDDLE, SIZE).seen(**known(variance))
    once = thing("once", ASIDE, SIZE).seen(**known(variance))
    for step in range(251):
        library.ingest(loop.frame(step / 2, *([always, once] if step == 200 else [always])))
    loop.close(library)
    after = places(library)
    assert math.dist(after["once"], ASIDE) < 1e-3
    assert math.dist(after["always"], MIDDLE) < 0.02  # all that is left: the drift within one stretch
    bounded(library)
    placed, events = library.placed(), library.events()
    library.close()
    library = open_memory()
    assert (library.placed(), library.events()) == (placed, events)


def test_what_is_seen_again_and_again_hangs_on_all_its_stretches(open_memory: Any, robot: Any, thing: Any) -> None:
    library, loop = open_memory(), Round(robot, Pose((0.24, 0.18, 0.0)))
    lamp = thing("lamp", MIDDLE, SIZE).seen(**known(0.01))
    for step in (*range(20), *range(80, 100), *range(244, 251)):
        library.ingest(loop.frame(step / 2, *[lamp]))
    [entry] = library.entries()
    assert 1 <= len(entry.stays[0].shares) <= MOST and len(entry.stays) == 1
    assert math.dist(places(library)["lamp"], MIDDLE) > 0.05
    loop.close(library)
    assert math.dist(places(library)["lamp"], MIDDLE) < 0.01
    seen_since = library.ingest(robot.frame(140, lamp)).changed
    assert len(seen_since) == 1 and math.dist(places(library)["lamp"], MIDDLE) < 0.01
    placed = library.placed()
    library.close()
    library = open_memory()
    assert library.placed() == placed and places(library)


def test_a_correction_again_changes_nothing_and_one_taken_back_puts_all_back(
    memory: Any, robot: Any, thing: Any
) -> None:
    loop = Round(robot)
    for step in range(251):
        memory.ingest(loop.frame(step / 2, thing("lamp", MIDDLE, SIZE).seen(**known(0.01))))
    believed, trail = places(memory), memory.trail("r1")
    loop.close(memory)
    once = places(memory)
    assert loop.close(memory).anchors == 0 and places(memory) == once
    memory.correct_anchors("r1", [p.stamp_ns for p in trail], [p.pose for p in trail])
    assert places(memory)["lamp"] == pytest.approx(believed["lamp"], abs=2e-3)
    loop.close(memory)
    assert places(memory)["lamp"] == pytest.approx(once["lamp"], abs=1e-3)


def test_what_a_closure_merges_is_right_again_after_the_next_one(memory: Any, robot: Any, thing: Any) -> None:
    loop = Round(robot, Pose((2.4, 0.6, 0.0)))
    lamp = thing("lamp", MIDDLE, SIZE).seen(**known(0.01))
    for step in range(251):
        memory.ingest(loop.frame(step / 2, *([lamp] if step < 30 or step > 230 else [])))
    assert len(memory.entries()) == 2
    stamps, poses = list(loop.nodes), list(loop.nodes.values())
    halfway = [compose(Pose((0.3 * i / len(poses), 0.0, 0.0)), pose) for i, pose in enumerate(poses)]
    memory.correct_anchors("r1", stamps, halfway)
    assert len(memory.entries()) == 1 and math.dist(places(memory)["lamp"], MIDDLE) > 0.05
    loop.close(memory)
    assert math.dist(places(memory)["lamp"], MIDDLE) < 0.06  # of 2.5 m; 0.1 m of drift are in a stretch
    bounded(memory)


def test_what_a_person_pinned_hangs_on_one_anchor(memory: Any, robot: Any, thing: Any) -> None:
    loop = Round(robot, Pose())
    lamp = thing("lamp", MIDDLE, SIZE).seen(**known(0.01))
    for step in range(60):
        memory.ingest(loop.frame(step / 2, lamp))
    [entry] = memory.entries()
    assert entry.stays[-1].shares
    here = EntryCorrection(CorrectionKind.PIN, entry.entry_id)
    memory.correct(here, 40 * S)
    before = places(memory)
    for step in range(60, 90):
        memory.ingest(loop.frame(step / 2, lamp.at(0.1, 0.0, 0.5)))
    assert places(memory) == before
    memory.correct(replace(here, position=(0.05, 0.0, 0.5)), 60 * S)
    [entry] = memory.entries()
    assert entry.stays[-1].shares == () and places(memory)["lamp"] == pytest.approx((0.05, 0.0, 0.5), abs=1e-6)


glimpses = st.lists(
    st.tuples(
        st.integers(0, 24),  # at which of the stretches, in any order
        st.integers(1, 6),
        st.sampled_from([1e-4, 1e-3, 1e-2, 1e-1]),
        st.sampled_from([Visibility.VISIBLE, Visibility.VISIBLE, Visibility.TRUNCATED, Visibility.OCCLUDED]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(glimpses=glimpses, x=st.floats(-0.25, 0.25), y=st.floats(-0.25, 0.25), odometry=st.booleans())
def test_whatever_it_was_seen_from_it_is_where_it_is_once_all_is_corrected(
    tmp_path_factory: Any, make_robot: Any, thing: Any, glimpses: Any, x: float, y: float, odometry: bool
) -> None:
    """By whole views; those of parts let its box grow by half of how far off they are. A restart changes nothing."""
    path = tmp_path_factory.mktemp("shares") / "memory.db"
    loop = Round(make_robot(), Pose((x, y, 0.0)))
    with open_library(path, MemoryConfig()) as library:
        for stretch, count, variance, visibility in [(0, 2, 1e-2, Visibility.VISIBLE), *sorted(glimpses)]:
            for i in range(count):
                seen = thing("lamp", MIDDLE, SIZE).seen(visibility=visibility, **known(variance))
                frame = loop.frame(stretch * 5 + i / 2, seen)
                library.ingest(frame if odometry else replace(frame, sensor_in_odom=None))
        loop.close(library)
        parts = any(glimpse[3] is not Visibility.VISIBLE for glimpse in glimpses)
        assert math.dist(places(library)["lamp"], MIDDLE) < 0.01 + (0.5 if parts else 0.06) * math.hypot(x, y)
        bounded(library)
        placed = library.placed()
    with open_library(path, MemoryConfig()) as library:
        assert library.placed() == placed and places(library)
