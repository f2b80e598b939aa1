"""What hangs on an anchor moves with it, and only with it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.anchors import corrected, is_due, sensor_in_anchor
from r4_ros.core.geometry import compose, interpolate, inverse, normalized, quat_from_yaw, rotation_angle
from r4_ros.core.model import IDENTITY, NS_PER_S, Anchor, Frame, Pose, View
from r4_ros.core.pose_array import PoseArray

few = settings(max_examples=60, deadline=None, derandomize=True)
coordinate = st.floats(-30, 30)
component = st.floats(-1, 1)
quaternions = (
    st.tuples(component, component, component, component)
    .filter(lambda q: math.sqrt(sum(c * c for c in q)) > 0.05)
    .map(normalized)
)
poses = st.builds(Pose, st.tuples(coordinate, coordinate, coordinate), quaternions)
LIMITS = {"distance_m": 0.5, "angle_rad": math.radians(20), "period_s": 5.0}


def anchor_at(pose_in_map: Pose, pose_in_odom: Pose | None = None, stamp_ns: int = 0) -> Anchor:
    return Anchor(1, "robot", 0, "home", stamp_ns, pose_in_map, pose_in_odom)


def frame_at(sensor_in_map: Pose, sensor_in_odom: Pose | None = None, stamp_ns: int = 0) -> Frame:
    return Frame(
        agent_id="robot",
        camera="camera",
        writer="test",
        sequence=1,
        session=0,
        stamp_ns=stamp_ns,
        map_id="home",
        map_frame="map",
        sensor_frame="camera_optical",
        sensor_in_map=sensor_in_map,
        view=View(1.0, 0.8, 0.1, 10.0),
        sensor_in_odom=sensor_in_odom,
    )


def same(a: Pose, b: Pose) -> bool:
    return np.allclose(a.position, b.position, atol=1e-6) and rotation_angle(a.orientation, b.orientation) < 1e-6


@few
@given(poses, poses, poses)
def test_a_corrected_anchor_carries_what_hangs_on_it(before: Pose, correction: Pose, thing: Pose) -> None:
    corrected = replace(anchor_at(before), pose_in_map=compose(correction, before))
    placed_before, placed_after = compose(before, thing), compose(corrected.pose_in_map, thing)
    assert same(placed_after, compose(correction, placed_before))


@few
@given(poses, poses, poses, poses)
def test_odometry_not_a_jumping_map_says_where_the_sensor_is(
    place: Pose, start: Pose, motion: Pose, jump: Pose
) -> None:
    anchor = anchor_at(place, start)
    jumped = frame_at(compose(jump, compose(place, motion)), compose(start, motion))
    assert same(sensor_in_anchor(anchor, jumped), motion)


@few
@given(poses, poses)
def test_without_odometry_the_map_pose_counts(place: Pose, motion: Pose) -> None:
    frame = frame_at(compose(place, motion))
    assert same(sensor_in_anchor(anchor_at(place, IDENTITY), frame), motion)
    assert same(sensor_in_anchor(anchor_at(place), replace(frame, sensor_in_odom=IDENTITY)), motion)


def test_an_anchor_is_due_after_way_turn_or_time() -> None:
    last = anchor_at(IDENTITY)
    assert not is_due(last, frame_at(Pose((0.4, 0.2, 0.0)), stamp_ns=NS_PER_S), **LIMITS)
    assert is_due(last, frame_at(Pose((0.4, 0.4, 0.0))), **LIMITS)
    assert not is_due(last, frame_at(Pose(orientation=quat_from_yaw(math.radians(19)))), **LIMITS)
    assert is_due(last, frame_at(Pose(orientation=quat_from_yaw(math.radians(-21)))), **LIMITS)
    assert not is_due(last, frame_at(IDENTITY, stamp_ns=5 * NS_PER_S - 1), **LIMITS)
    assert is_due(last, frame_at(IDENTITY, stamp_ns=5 * NS_PER_S), **LIMITS)


def test_a_map_jump_alone_makes_no_anchor_due() -> None:
    last = anchor_at(IDENTITY, IDENTITY)
    assert not is_due(last, frame_at(Pose((3.0, 0.0, 0.0)), IDENTITY), **LIMITS)


@few
@given(poses, st.lists(poses, min_size=1, max_size=6), st.lists(poses, min_size=1, max_size=6))
def test_pose_arrays_do_what_geometry_does_for_one(one: Pose, some: list[Pose], others: list[Pose]) -> None:
    count = min(len(some), len(others))
    a, b = PoseArray.of(some[:count]), PoseArray.of(others[:count])
    share = np.linspace(0, 1, count)
    pairs = list(zip(some, others, strict=False))
    expected = {
        "compose": (a.compose(b), [compose(x, y) for x, y in pairs]),
        "inverse": (a.inverse(), [inverse(x) for x, _ in pairs]),
        "between": (a.interpolate(b, share), [interpolate(x, y, t) for (x, y), t in zip(pairs, share, strict=True)]),
    }
    for got, wanted in expected.values():
        assert not got.differs(PoseArray.of(wanted), 1e-5).any()
    assert PoseArray.of([one]).poses()[0].position == one.position
    moved = PoseArray.of([compose(x, Pose((0, 0, 0.1))) for x in some[:count]])
    assert moved.differs(a, 0.05).all() and not moved.differs(a, 0.2).any()


def at(*xs: float) -> PoseArray:
    return PoseArray.of([Pose((x, 0, 0)) for x in xs])


def seconds(*stamps: float) -> np.ndarray:
    return np.array([round(s * NS_PER_S) for s in stamps], np.int64)


def test_between_nodes_the_correction_is_interpolated_and_over_long_gaps_the_nearer_ones_counts() -> None:
    nodes, fixed, passed = seconds(0, 10, 40), at(0, 12, 46), at(0, 10, 40)
    stamps, odometry = seconds(-2, 0, 5, 10, 16, 36, 40, 70), at(-2, 0, 5, 10, 16, 36, 40, 70)
    new = corrected(stamps, odometry, odometry, nodes, fixed, passed)
    np.testing.assert_allclose(new.positions[:, 0], [-2, 0, 6, 12, 18, 42, 46, 76])


def test_far_from_all_nodes_an_anchor_moves_with_the_nearest_one_that_is_not() -> None:
    nodes, fixed, passed = seconds(100, 101), at(105, 106), at(100, 101)
    stamps, odometry = seconds(0, 20, 95, 100), at(0, 20, 95, 100)
    current = at(2, 22, 98, 103)  # an earlier correction had moved them by 2 and 3
    new = corrected(stamps, current, odometry, nodes, fixed, passed)
    np.testing.assert_allclose(new.positions[:, 0], [4, 24, 100, 105])
    again = corrected(stamps, new, odometry, nodes, fixed, passed)
    assert not again.differs(new, 1e-12).any()
    alone = corrected(stamps[:2], current[:2], odometry[:2], nodes, fixed, passed)
    np.testing.assert_allclose(alone.positions[:, 0], [5, 25])
