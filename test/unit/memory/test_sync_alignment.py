"""What a map server says of where maps lie holds in robots' own files too."""

from __future__ import annotations

import json
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
from r4_ros.memory import envelope
from r4_ros.memory.alignable import MAP_SERVER
from r4_ros.memory.envelope import Head, Told
from r4_ros.memory.library import Library
from r4_ros.memory.map_link import MapLink
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


SHIFTED = Pose((1.0, 0.0, 0.0))


def held(library: Library) -> Pose | None:
    """Where the lab lies."""
    found = library._anchors.alignments.of("r2", "lab")
    return None if found is None else found.pose


def test_what_a_robot_says_of_its_own_map_goes_up_and_to_all(fleet: Fleet, pair: tuple[Robot, Robot]) -> None:
    all_three = [fleet.library, *(robot.library for robot in pair)]
    apart, mine = mugs(fleet.library), pair[1]
    turned = Pose((0.3, 0.1, 0.0), quat_from_yaw(1.234))
    for stamp, pose in ((70, SHIFTED), (71, turned), (72, QUARTER)):
        mine.library.align(lies(pose), stamp * S, "Ann")
        settle(fleet, *pair)
        assert [mugs(library) for library in all_three] == [mugs(mine.library)] * 3
        assert mugs(fleet.library)[0][0] == "home" and held(fleet.library) == pytest.approx(pose)
    assert [r.source for r in fleet.library.alignments() if r.alignment] == ["robot: Ann"] * 3
    assert [r.source for r in mine.library.alignments()] == ["Ann"] * 3, "its own word doesn't come back as another's"
    mine.kill()
    fleet.anew()
    settle(fleet, *pair)
    for stamp in (80, 81, 82):  # the two earlier ones hold again, then nothing
        mine.library.take_back_alignment("r2", "lab", stamp * S, "Ann")
        settle(fleet, *pair)
        assert mugs(fleet.library) == mugs(mine.library) == mugs(pair[0].library)
    assert mugs(fleet.library) == apart


def test_of_two_words_the_newer_one_holds_wherever_it_was_said(fleet: Fleet, pair: tuple[Robot, Robot]) -> None:
    mine, everybody = pair[1], (fleet, *pair)
    mine.library.align(lies(SHIFTED), 70 * S, "Ann")  # the older one, told later
    fleet.library.align(lies(QUARTER), 75 * S, "Bob")
    settle(fleet, *pair)
    assert {held(one.library) for one in everybody} == {QUARTER}
    fleet.library.take_back_alignment("r2", "lab", 76 * S, "Bob")
    settle(fleet, *pair)
    assert {held(one.library) for one in everybody} == {SHIFTED}, "what was said before holds again"
    fleet.library.align(lies(QUARTER), 77 * S, "Bob")
    settle(fleet, *pair)
    mine.library.align(lies(SHIFTED), 78 * S, "Ann")
    settle(fleet, *pair)
    assert {held(one.library) for one in everybody} == {SHIFTED}
    for stamp in (79, 80, 81, 82):
        if held(fleet.library) is not None:
            fleet.library.take_back_alignment("r2", "lab", stamp * S, "Bob")
        settle(fleet, *pair)
        assert len({held(one.library) for one in everybody}) == 1
    assert held(mine.library) is None, "the server's people may take back what a robot said"


def test_a_robot_says_nothing_of_others_maps(fleet: Fleet, pair: tuple[Robot, Robot]) -> None:
    first = pair[0]
    first.library.align(lies(QUARTER), 70 * S, "Ann")
    settle(fleet, *pair)
    assert held(first.library) == QUARTER and not fleet.library.alignments()
    record = {"type": "alignment", "stamp": 1, "agent": "r2", "map_id": "lab", "common_id": "home", "source": ""}
    lines = [json.dumps({**record, **more}) for more in ({"pose": [0.0] * 6 + [1.0]}, {})]
    nowhere = {"agent": "r1", "pose": [float("inf")] * 3 + [0.0] * 4}
    lines += [json.dumps({**record, **nowhere}), json.dumps({**record, "agent": "r1", "map_id": ""})]
    link = MapLink(fleet.as_robot("r1"))
    link.put("forged", 1, envelope.pack(Head(Told(), Told(alignment=1)), tuple(lines)))
    link.close()
    done = fleet.inbox.work()
    assert done is not None and done.refused == 4 and not fleet.library.alignments()
    assert "takes nothing of 'r2'" in done.problem


def test_a_robots_word_is_told_once_and_survives_its_file(fleet: Fleet, pair: tuple[Robot, Robot]) -> None:
    mine = pair[1]
    mine.library.snapshot(mine.path.with_name("copy.db"))
    mine.library.align(lies(QUARTER), 70 * S, "Ann")
    settle(fleet, *pair)
    mine.close()
    for suffix in ("-wal", "-shm"):
        mine.path.with_name(mine.path.name + suffix).unlink(missing_ok=True)
    mine.path.with_name("copy.db").replace(mine.path)
    mine.begin()
    settle(fleet, *pair)
    assert held(mine.library) == held(fleet.library) == QUARTER and len(fleet.library.alignments()) == 1
    mine.library.align(lies(SHIFTED), 60 * S, "by an older clock")
    settle(fleet, *pair)
    assert held(mine.library) == held(fleet.library) == QUARTER
