"""Who walks on is one entry, also without tracks; look-alikes that come into view while one leaves it are two."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from r4_ros.core.model import EventKind, Frame, Motion, Vec3

BODY = (0.5, 0.5, 1.75)


def to_and_fro(metres: float) -> float:
    """Where who walks that far stands on a way of 4 m, from its middle."""
    leg = metres % 8
    return (leg if leg < 4 else 8 - leg) - 2


def walked(robot: Any, thing: Any, hz: float, speeds: tuple[float, ...], seconds: float = 12.0) -> list[Frame]:
    """People who walk in front of a camera, across its view, each in a lane of its own; seen without tracks."""
    rng = random.Random(3)
    robot.where = (-3.0, 0.0, 0.0)
    frames = []
    for step in range(round(seconds * hz)):
        people = [
            thing("person", (2.0 + 1.2 * lane, to_and_fro(speed * step / hz), 0.9), BODY)
            for lane, speed in enumerate(speeds)
        ]
        noisy = [p.at(*(v + rng.gauss(0, 0.03) for v in p.centre)) for p in people]
        frames.append(robot.frame(10 + step / hz, *noisy))
    return frames


@pytest.mark.parametrize(("hz", "speed"), [(2, 0.8), (2, 1.4), (5, 0.8), (5, 1.4), (10, 1.1)])
def test_who_walks_is_one_entry(memory: Any, robot: Any, thing: Any, hz: float, speed: float) -> None:
    frames = walked(robot, thing, hz, (speed,))
    for frame in frames:
        memory.ingest(frame)
    [person] = memory.entries()
    assert person.count == len(frames) and len(person.stays) > 3 and person.motion is not Motion.STATIC
    assert {e.kind for e in memory.events()} == {EventKind.APPEARED, EventKind.MOVED}
    assert memory._store.problems() == []


def test_two_who_pass_each_other_stay_two(memory: Any, robot: Any, thing: Any) -> None:
    frames = walked(robot, thing, 5, (1.2, -1.0))
    for frame in frames:
        memory.ingest(frame)
    a, b = memory.entries()
    assert a.count == b.count == len(frames)
    lanes = [{round(memory._index.box(stay).pose.position[0] - 2.0) for stay in entry.stays} for entry in (a, b)]
    assert sorted(map(sorted, lanes)) == [[0], [1]], "nobody became the other one"


def test_a_restart_in_the_middle_changes_nothing(open_memory: Any, make_robot: Any, thing: Any) -> None:
    steady, restarted = open_memory("a.db"), open_memory("b.db")
    for i, (one, other) in enumerate(zip(*(walked(make_robot(), thing, 5, (1.2,)) for _ in range(2)), strict=True)):
        steady.ingest(one)
        restarted.ingest(other)
        if i % 7 == 3:
            restarted.close()
            restarted = open_memory("b.db")
    assert restarted.entries() == steady.entries() and restarted.events() == steady.events()


def pair(memory: Any, robot: Any, thing: Any, second: Vec3, gap_s: float = 0.5, depth: float = 8.0, **more: Any) -> int:
    """A chair is seen three times, and then only one at another place; gives how many entries there are."""
    robot.where = more.pop("where", (0.0, 0.0, 0.0))
    for i in range(3):
        memory.ingest(robot.frame(1 + 0.5 * i, thing("chair", (3.0, 0.0, 0.5), (0.5, 0.5, 0.9))))
    robot.where = more.pop("then", robot.where)
    frame = robot.frame(2 + gap_s, thing(more.pop("label", "chair"), second, more.pop("size", (0.5, 0.5, 0.9))))
    view = replace(frame.view, depth=np.full((6, 8), depth, np.float32))
    memory.ingest(replace(frame, view=view))
    return len(memory.entries())


def test_what_was_pushed_aside_in_view_is_followed(memory: Any, robot: Any, thing: Any) -> None:
    assert pair(memory, robot, thing, (3.0, 0.9, 0.5)) == 1


@pytest.mark.parametrize(
    "otherwise",
    [
        {"depth": 2.8},  # the detector missed it: something stands there
        {"depth": 0.0},  # nothing was measured
        {"then": (0.0, 0.0, 1.2)},  # it left the view
        {"gap_s": 1.5},  # too long ago
        {"label": "table"},
        {"size": (1.6, 1.6, 0.9)},
    ],
)
def test_what_comes_into_view_while_a_look_alike_is_not_seen_is_another(
    memory: Any, robot: Any, thing: Any, otherwise: dict[str, Any]
) -> None:
    assert pair(memory, robot, thing, (3.0, 0.9, 0.5) if "size" not in otherwise else (3.0, 1.4, 0.5), **otherwise) == 2


def test_too_far_for_a_walk_is_another(memory: Any, robot: Any, thing: Any) -> None:
    assert pair(memory, robot, thing, (3.0, 1.6, 0.5)) == 2


def test_where_two_may_have_come_nothing_is_said(memory: Any, robot: Any, thing: Any) -> None:
    chair = thing("chair", (3.0, 0.0, 0.5), (0.5, 0.5, 0.9))
    for i in range(3):
        memory.ingest(robot.frame(1 + 0.5 * i, chair))
    memory.ingest(robot.frame(2.5, chair.at(3.0, 0.9, 0.5), chair.at(3.0, -0.9, 0.5)))
    assert len(memory.entries()) == 3
