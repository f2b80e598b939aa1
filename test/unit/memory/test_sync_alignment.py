"""What a map server says of where maps lie holds in robots' own files too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from fleet import Fleet, Robot, settle

from r4_ros.core.alignments import Alignment
from r4_ros.core.geometry import compose, inverse, quat_from_yaw
from r4_ros.core.model import NS_PER_S as S
from r4_ros.core.model import Pose, Query
from r4_ros.memory.alignable import MAP_SERVER
from r4_ros.memory.library import Library
from r4_ros.memory.transfer import export_lines

QUARTER = Pose((4.0, -2.0, 0.5), quat_from_yaw(math.pi / 2))


@pytest.fixture
def pair(fleet: Fleet, tmp_path: Path, make_robot: Any, thing: Any) -> Iterator[tuple[Robot, Robot]]:
    """Both robots saw one mug, the second one on a map of its own; both are in step."""
    first, second = (Robot(tmp_path / f"{name}.db", name, fleet) for name in ("r1", "r2"))
    seen = make_robot("r2", map_id="home").frame(60, thing("mug", (2.1, 0, 0.8)), thing("book", (2.1, 0.5, 0.8)))
    first.library.ingest(make_robot("r1", map_id="home").frame(1, thing("mug", (2, 0, 0.8))))
    second.library.ingest(replace(seen, map_id="lab", sensor_in_map=compose(inverse(QUARTER), seen.sensor_in_map)))
    settle(fleet, first, second)
    yield first, second
    first.close()
    second.close()


def lies(pose: Pose) -> Alignment:
    return Alignment("r2", "lab", "home", pose)


def mugs(library: Library) -> list[tuple[str, tuple[float, ...]]]:
    found = library.retrieve(Query(labels=("mug",), ego_agent="r1")).entries
    return sorted((e.map_id, tuple(round(v, 2) + 0.0 for v in e.box.pose.position)) for e in found)


def test_alignments_come_down_to_others_and_to_the_robot_itself(fleet: Fleet, pair: tuple[Robot, Robot]) -> None:
    apart = mugs(fleet.library)
    assert [m for m, _ in apart] == ["home", "lab"] and [mugs(r.library) for r in pair] == [apart, apart]
    for pose, at in ((QUARTER, [(2.1, 0, 0.8)]), (Pose((1.0, 0.0, 0.0)), None), (QUARTER, [(2.1, 0, 0.8)])):
        fleet.library.align(lies(pose), 70 * S, "Ann")
        settle(fleet, *pair)
        for library in (fleet.library, *(r.library for r in pair)):
            assert at is None or mugs(library) == [("home", at[0])]
            assert library.own_maps()["r2", "lab"] == "home" and mugs(library) == mugs(fleet.library)
    for robot in pair:
        robot.kill()
        assert mugs(robot.library) == mugs(fleet.library)
        assert not robot.sync.step() and len(robot.library.alignments()) == 5, "nothing new, nothing written"
    for _ in range(3):
        fleet.library.take_back_alignment("r2", "lab", 80 * S, "Bob")
    settle(fleet, *pair)
    assert mugs(fleet.library) == apart and [mugs(r.library) for r in pair] == [apart, apart]


def test_what_came_while_maps_were_aligned_is_told_in_common_coordinates(
    fleet: Fleet, pair: tuple[Robot, Robot], make_robot: Any, thing: Any
) -> None:
    first, second = pair
    fleet.library.align(lies(QUARTER), 70 * S)
    settle(fleet, *pair)
    seen = make_robot("r2", map_id="home").frame(90, thing("lamp", (3, 1, 1)))
    second.library.ingest(replace(seen, map_id="lab", sensor_in_map=compose(inverse(QUARTER), seen.sensor_in_map)))
    settle(fleet, *pair)
    for library in (fleet.library, first.library, second.library):
        (lamp,) = library.retrieve(Query(labels=("lamp",))).entries
        assert lamp.map_id == "home" and lamp.box.pose.position == pytest.approx((3, 1, 1), abs=1e-3)


def test_the_newest_word_holds_wherever_it_was_said(fleet: Fleet, pair: tuple[Robot, Robot]) -> None:
    mine = pair[0].library
    mine.align(lies(QUARTER), 65 * S, "Ann")
    fleet.library.align(lies(QUARTER), 70 * S)
    settle(fleet, *pair)
    assert [r.source for r in mine.alignments()] == ["Ann"], "so it was already"
    moved = lies(Pose((1.0, 0.0, 0.0)))
    fleet.library.align(moved, 71 * S)
    settle(fleet, *pair)
    assert [r.source for r in mine.alignments()] == ["Ann", MAP_SERVER]
    mine.align(lies(QUARTER), 72 * S, "Ann")
    fleet.library.align(Alignment("r9", "attic", "home", QUARTER), 73 * S)  # of another map: nothing to this one
    settle(fleet, *pair)
    held = {a.agent_id: a.pose for a in mine._anchors.alignments}
    assert held == {"r2": QUARTER, "r9": QUARTER}
    fleet.library.take_back_alignment("r9", "attic", 74 * S)
    mine.take_back_alignment("r2", "lab", 75 * S)
    mine.take_back_alignment("r2", "lab", 76 * S)
    settle(fleet, *pair)
    assert {a.agent_id: a.pose for a in mine._anchors.alignments} == {"r2": QUARTER}, "Ann's first word is left"
    told = [line for line in export_lines(mine.store) if '"alignment"' in line]
    assert len(told) == 3 and not [line for line in told if MAP_SERVER in line]
