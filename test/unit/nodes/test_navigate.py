"""Goals before what was found: as far as a robot needs, facing it; and none where the answer is no certain place."""

from __future__ import annotations

import importlib.util
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core import model as m
from r4_ros.core.errors import InvalidArgument, Unavailable
from r4_ros.core.geometry import bounds, yaw_of
from r4_ros.nodes.navigate import REACH_M, action_type, goal_of, standing_before

METRES = st.floats(-20, 20)
SIZES = st.floats(0.05, 2.5)


@given(METRES, METRES, SIZES, SIZES, METRES, METRES)
def test_the_goal_is_within_reach_on_the_robots_side_and_faces_the_thing(
    x: float, y: float, width: float, depth: float, ego_x: float, ego_y: float
) -> None:
    box = m.Box(m.Pose((x, y, 0.4)), (width, depth, 0.8))
    pose = standing_before(box, (ego_x, ego_y, 0.0))
    low, high = bounds(box)
    gap = math.hypot(*(max(low[k] - v, v - high[k], 0.0) for k, v in enumerate(pose.position[:2])))
    driven = math.hypot(pose.position[0] - ego_x, pose.position[1] - ego_y)
    before = math.hypot(*(max(low[k] - v, v - high[k], 0.0) for k, v in enumerate((ego_x, ego_y))))
    assert gap <= REACH_M + 1e-6 and pose.position[2] == 0.0
    assert gap + driven == pytest.approx(before, abs=1e-6)  # straight there
    if math.hypot(x - pose.position[0], y - pose.position[1]) > 1e-6:
        bearing = math.atan2(y - pose.position[1], x - pose.position[0])
        assert math.cos(yaw_of(pose.orientation) - bearing) == pytest.approx(1.0)


def answer(verdict: m.Verdict, form: str, frame: str = "map") -> m.Answer:
    box = m.Box(m.Pose((2.0, 1.0, 0.4)), (0.4, 0.4, 0.8))
    seen = m.Evidence(
        *("e1", "robot", "chair", box, frame, "home", 0, 1, None, ()),
        *(m.Visibility.VISIBLE, m.EntryState.PRESENT, m.Motion.STATIC, 3, 0.9, 1.0),
    )
    return m.Answer("where?", "The chair is there.", form, verdict, (2.0, 1.0, 0.4), 0.9, (seen,))


def test_a_certain_place_is_driven_to() -> None:
    frame, pose = goal_of(answer(m.Verdict.ANSWERED, "navigate"), (0.0, 1.0, 0.0))
    assert frame == "map" and pose.position == pytest.approx((1.0, 1.0, 0.0))
    assert goal_of(answer(m.Verdict.ANSWERED, "locate"), None)[1].position == (2.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("verdict", "form", "frame"),
    [
        (m.Verdict.STALE, "navigate", "map"),
        (m.Verdict.AMBIGUOUS, "navigate", "map"),
        (m.Verdict.NOT_SEEN, "navigate", "map"),
        (m.Verdict.ANSWERED, "count", "map"),
        (m.Verdict.ANSWERED, "navigate", ""),
    ],
)
def test_nothing_else_is(verdict: m.Verdict, form: str, frame: str) -> None:
    with pytest.raises(InvalidArgument):
        goal_of(answer(verdict, form, frame), None)


@pytest.mark.skipif(importlib.util.find_spec("nav2_msgs") is not None, reason="nav2_msgs is here")
def test_without_nav2_one_is_told_what_to_install() -> None:
    with pytest.raises(Unavailable, match="nav2-msgs"):
        action_type()
