"""From records to what is drawn."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.cli.scene import footprint, make_scene
from r4_ros.core.geometry import inside_polygon, quat_from_yaw, quat_multiply
from r4_ros.core.model import (
    NO_COVARIANCE,
    NS_PER_S,
    Box,
    EntryState,
    Event,
    EventKind,
    Motion,
    PlacedEntry,
    Pose,
    Region,
    TrailPoint,
    Visibility,
)


def entry(
    entry_id: str, x: float, y: float, state: EntryState = EntryState.PRESENT, map_id: str = "home"
) -> PlacedEntry:
    box = Box(Pose((x, y, 0.5)), (0.4, 0.2, 0.3))
    return PlacedEntry(
        entry_id, "robot", 1, map_id, "mug", box, NO_COVARIANCE, state, Motion.STATIC, Visibility.VISIBLE,
        0.9, 3, 10 * NS_PER_S, 20 * NS_PER_S,
    )  # fmt: skip


def moved(entry_id: str, old: tuple[float, float, float], stamp_s: int = 5) -> Event:
    stamp = stamp_s * NS_PER_S
    return Event(
        f"{entry_id}{stamp}", EventKind.MOVED, entry_id, "robot", "mug", stamp, stamp, stamp, "home", (0, 0, 0), old
    )


def walk(points: list[tuple[float, float]], agent: str = "robot", map_id: str = "home") -> list[TrailPoint]:
    return [
        TrailPoint(agent, k * NS_PER_S, map_id, Pose((x, y, 0.0), quat_from_yaw(1.0)))
        for k, (x, y) in enumerate(points)
    ]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.floats(-3, 3), st.floats(-0.5, 0.5), st.floats(0.05, 2), st.floats(0.05, 2))
def test_a_footprint_is_convex_and_holds_the_corners(yaw: float, pitch: float, length: float, width: float) -> None:
    turn = quat_multiply(quat_from_yaw(yaw), (0.0, math.sin(pitch / 2), 0.0, math.cos(pitch / 2)))
    outline = footprint(Box(Pose((1.0, 2.0, 0.0), turn), (length, width, 0.3)))
    assert 4 <= len(outline) <= 6
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(outline, outline[1:] + outline[:1], strict=True)) / 2
    shadow = width * (length * math.cos(pitch) + 0.3 * abs(math.sin(pitch)))
    assert area == pytest.approx(shadow, rel=1e-3)
    assert inside_polygon(outline, [(1.0, 2.0)]).all()


@pytest.mark.parametrize(
    "extent", [(0.5801811218261719, 0.5000178217887878, 0.87), (1.4858741760253906, 0.32517090439, 0.6)]
)
def test_a_box_turned_by_less_than_single_precision_has_four_sides(extent: tuple[float, float, float]) -> None:
    turn = (1.7888880739973883e-08, -3.1784122605739624e-10, 5.754422455203617e-10, 0.9999999999999999)
    outline = footprint(Box(Pose((9.98272582340768, 0.4927581075051996, 0.45), turn), extent))
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(outline, outline[1:] + outline[:1], strict=True)) / 2
    assert area == pytest.approx(extent[0] * extent[1], rel=1e-6)


def test_a_box_without_extent_is_a_point() -> None:
    assert footprint(Box(Pose((1.0, 2.0, 0.0)), (0.0, 0.0, 0.0))) == ((1.0, 2.0),)


def test_the_last_move_counts_and_what_is_gone_or_came_back_has_no_arrow() -> None:
    entries = [entry("a", 1, 1), entry("b", 2, 2, EntryState.GONE), entry("c", 3, 3), entry("d", 4, 4)]
    unknown = (math.nan, math.nan, math.nan)
    events = [moved("a", (9, 9, 0), 8), moved("a", (5, 5, 0), 4), moved("b", (7, 7, 0)), moved("c", (3.01, 3, 0))]
    things = {t.entry_id: t for t in make_scene(entries, [], [], [*events, moved("d", unknown)]).things}
    assert things["a"].moved_from == (9, 9)
    assert [things[k].moved_from for k in "bcd"] == [None, None, None]


def test_one_map_is_drawn_and_the_others_are_named() -> None:
    entries = [entry("a", 0, 0), entry("b", 1, 0), entry("c", 50, 50, map_id="shop")]
    regions = [Region("kitchen", ((0, 0), (1, 0), (1, 1))), Region("till", ((0, 0), (1, 0), (1, 1)), map_id="shop")]
    scene = make_scene(entries, [walk([(0, 0)], map_id="shop"), walk([(0, 0), (1, 0)])], regions)
    assert (scene.map_id, scene.other_maps) == ("home", ("shop",))
    assert [t.entry_id for t in scene.things] == ["a", "b"]
    assert [r.name for r in scene.regions] == ["kitchen"]
    assert len(scene.walks) == 1


def test_a_way_has_its_length_its_time_and_breaks_where_the_robot_was_carried() -> None:
    scene = make_scene([], [walk([(0, 0), (1, 0), (1, 1), (8, 1), (8, 2)])])
    [way] = scene.walks
    assert [len(piece) for piece in way.pieces] == [3, 2]
    assert way.length == pytest.approx(3.0)
    assert way.heading == pytest.approx(1.0)
    assert [share for piece in way.pieces for _, _, share in piece] == [0, 0.25, 0.5, 0.75, 1]


def test_nothing_remembered_is_an_empty_scene() -> None:
    scene = make_scene([], [])
    assert scene.points() == []
    assert (scene.start_ns, scene.end_ns) == (0, 0)


def of_agent(
    agent: str, entry_id: str, x: float, last_seen_s: int, state: EntryState = EntryState.UNKNOWN
) -> PlacedEntry:
    return replace(entry(entry_id, x, 0.0, state), agent_id=agent, last_seen=last_seen_s * NS_PER_S)


def gone(entry_id: str, stamp_s: int) -> Event:
    stamp = stamp_s * NS_PER_S
    return Event(f"g{entry_id}", EventKind.DISAPPEARED, entry_id, "a", "mug", stamp, stamp, stamp, "home", (0, 0, 0))


def test_what_two_agents_saw_of_one_thing_is_drawn_once_as_the_last_one_knows_it() -> None:
    things = make_scene([of_agent("a", "1", 0.0, 20), of_agent("b", "2", 0.05, 30)], []).things
    assert [(t.entry_id, t.agent_id, t.named) for t in things] == [("2", "b", True)]


def test_finding_a_thing_gone_counts_as_looking() -> None:
    entries = [of_agent("a", "1", 0.0, 20, EntryState.GONE), of_agent("b", "2", 0.05, 30)]
    assert [t.entry_id for t in make_scene(entries, [], [], [gone("1", 40)]).things] == ["1"]
    assert [t.entry_id for t in make_scene(entries, [], [], [gone("1", 25)]).things] == ["2"]


def test_look_alikes_side_by_side_are_two_and_parts_of_one_are_named_once() -> None:
    beside = make_scene([of_agent("a", "1", 0.0, 20), of_agent("a", "2", 0.45, 20)], []).things
    assert [t.named for t in beside] == [True, True]
    part = replace(of_agent("a", "2", 0.1, 20), box=Box(Pose((0.1, 0.0, 0.5)), (0.1, 0.1, 0.1)))
    assert [(t.entry_id, t.named) for t in make_scene([of_agent("a", "1", 0.0, 20), part], []).things] == [
        ("1", True),
        ("2", False),
    ]
