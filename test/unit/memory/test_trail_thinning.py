"""A trail that was thinned tells where the robot was to 5 cm and 3 degrees, and needs few poses for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import quat_from_yaw, rotation_angle
from r4_ros.core.model import FOREVER, FactKind, Pose
from r4_ros.core.pose_array import PoseArray
from r4_ros.memory.library import open_library
from r4_ros.memory.thinning import LONGEST_GAP_NS, WITHIN_M, WITHIN_RAD, needed
from test.support.home import Home, at
from test.unit.memory.conftest import Robot, Thing

S = 1_000_000_000
steps = st.lists(
    st.tuples(st.sampled_from((0.1, 0.5, 3.0, 20.0)), st.floats(-0.3, 0.3), st.floats(-0.2, 0.2), st.booleans()),
    min_size=1,
    max_size=80,
)


@given(steps)
@settings(max_examples=60, deadline=None)
def test_every_pose_left_out_lies_between_its_neighbours(moves: Any) -> None:
    stamps, poses, fixed = [], [], []
    t, x, yaw = 0.0, 0.0, 0.0
    for dt, dx, turn, stays in moves:
        t, x, yaw = t + dt, x + dx, yaw + turn
        stamps.append(round(t * S))
        poses.append(Pose((x, x * x, 0), quat_from_yaw(yaw)))
        fixed.append(stays)
    kept = needed(np.array(stamps), PoseArray.of(poses), np.array(fixed))
    assert kept[np.array(fixed)].all() and kept[0] and kept[-1]
    rows = np.flatnonzero(kept)
    gaps = np.diff(np.array(stamps)[rows])
    assert all(gap <= LONGEST_GAP_NS or b == a + 1 for gap, a, b in zip(gaps, rows[:-1], rows[1:], strict=True))
    for i in np.flatnonzero(~kept):
        before, after = rows[rows < i][-1], rows[rows > i][0]
        share = (stamps[i] - stamps[before]) / (stamps[after] - stamps[before])
        ends = (PoseArray.of([poses[k]]) for k in (before, after))
        (between,) = next(ends).interpolate(next(ends), np.array([share])).poses()
        assert np.linalg.norm(np.subtract(between.position, poses[i].position)) <= WITHIN_M + 1e-9
        assert rotation_angle(between.orientation, poses[i].orientation) <= WITHIN_RAD + 1e-6


def test_a_straight_way_needs_a_pose_in_ten_seconds() -> None:
    stamps = np.arange(600) * S // 10
    poses = PoseArray.of([Pose((0.05 * i, 0, 0)) for i in range(600)])
    assert needed(stamps, poses, np.zeros(600, bool)).sum() <= 8


def test_a_pruned_memory_still_knows_where_the_robot_was(tmp_path: Path) -> None:
    robot = Robot()
    with open_library(tmp_path / "a.db", MemoryConfig(history_days=1.0)) as library:
        for i in range(400):
            angle = 0.02 * i
            robot.where = (2 * np.cos(angle), 2 * np.sin(angle), angle + np.pi / 2)
            frame = robot.frame(1000 + 0.1 * i)
            library.ingest(frame)
        robot.where = (0, 0, 0)
        library.ingest(robot.frame(1000 + 3 * 86400))
        before = library.trail("r1")
        while library.keep_history().before_ns:
            pass
        after = library.trail("r1")
        assert len(after) < 0.8 * len(before)
        for point in before:
            told = library.trail_at("r1", point.stamp_ns)
            assert told is not None and told.stamp_ns == point.stamp_ns
            assert np.linalg.norm(np.subtract(told.pose.position, point.pose.position)) <= WITHIN_M + 1e-6
            assert rotation_angle(told.pose.orientation, point.pose.orientation) <= WITHIN_RAD + 1e-5
        again = library.trail("r1", before[100].stamp_ns, before[200].stamp_ns)
        assert again and all(before[100].stamp_ns <= p.stamp_ns < before[200].stamp_ns for p in again)


def test_dropping_history_drops_nothing_that_facts_cite(tmp_path: Path) -> None:
    with open_library(tmp_path / "a.db", MemoryConfig(history_days=1.0)) as library:
        home = Home(library, Robot, Thing)
        for day in range(8):
            bag = tuple(home.ids("bag"))
            home.look(at(day, 11), absent=bag)
            home.look(at(day, 12), bag="table")
            home.look(at(day, 18), absent=tuple(home.ids("bag")))
        facts, observations = library.facts(), library.info()["rows"]["observation"]  # type: ignore[index]
        while library.keep_history().before_ns:
            pass
        assert library.info()["rows"]["observation"] < observations / 2  # type: ignore[index]
        assert library.info()["dropped"]["observations"] > 0, "it says what was dropped"  # type: ignore[index]
        assert library.facts() == facts
        cited = {source for fact in facts for source in fact.sources}
        stays = {f"stay {e.entry_id} {n}" for e in library.entries() for n in range(len(e.stays))}
        assert cited <= stays | {f"event {e.event_id}" for e in library.events()}
        assert {f.kind for f in facts} == {FactKind.USUAL_PLACE, FactKind.HABIT}


@pytest.mark.parametrize("span", [(0, FOREVER), (0, 0)])
def test_an_agent_that_never_was_has_no_trail(tmp_path: Path, span: Any) -> None:
    with open_library(tmp_path / "a.db", MemoryConfig()) as library:
        assert library.trail("r9", *span) == [] and library.trail_at("r9", 5) is None
