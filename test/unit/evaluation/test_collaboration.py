"""Searches alone and together: tasks are fair, the other robot keeps to its rooms, figures are what they say."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest

pytest.importorskip("embreex", reason="needs the simulator's ray caster")

from r4_ros.bridges.apartment.scene import room_at
from r4_ros.core.geometry import bounds, transform_points
from r4_ros.evaluation.collaboration import trials
from r4_ros.evaluation.collaboration.search import REACH_M, Found, shortest
from r4_ros.evaluation.collaboration.trials import OVERLAPS, Outcome, Task, figures, home_of, tasks


@pytest.fixture(scope="module")
def some() -> list[Task]:
    return list(tasks(6, seed=3))


def test_tasks_are_fair(some: list[Task]) -> None:
    """The thing stands in the searched rooms and nowhere else; overlaps are what they are called."""
    for task in some:
        home = home_of(task.home_seed)
        rooms = {thing.room for thing in home.truth(home.start_ns) if thing.label == task.label}
        assert rooms and rooms <= set(task.rooms)
        for overlap in OVERLAPS:
            assert 100 * len(set(task.explored[overlap]) & set(task.rooms)) == overlap * len(task.rooms)
        assert shortest(home, task.start, []) == math.inf
    assert [t.label for t in some] == [t.label for t in tasks(6, seed=3)]


def test_the_helper_sees_nothing_of_the_searched_rooms_at_no_overlap(some: list[Task]) -> None:
    """Neither things nor free space, though it drives through them and looks through doors."""
    task = some[0]
    frames, driven = trials._explored(task.home_seed, tuple(sorted(task.explored[0])))
    home = home_of(task.home_seed)
    assert driven > 0 and sum(len(f.observations) for f in frames) > 10
    for frame in frames:
        for seen in frame.observations:
            assert seen.label != task.label
        places = [o.box.pose.position for o in frame.observations]
        for x, y, _ in transform_points(frame.sensor_in_map, np.array(places)) if places else ():
            nearby = {
                room_at(x + dx, y + dy) for dx in (-0.5, 0, 0.5) for dy in (-0.5, 0, 0.5)
            }  # boxes reach over walls
            assert nearby & set(task.explored[0])
    assert home.stays


def test_the_shortest_way_ends_within_reach(some: list[Task]) -> None:
    for task in islice(some, 3):
        home = home_of(task.home_seed)
        (thing, *_) = [t for t in home.truth(home.start_ns) if t.label == task.label]
        low, high = bounds(thing.box)
        points = home.floor.standing_room(thing.box, REACH_M)
        gap = np.maximum(np.maximum(low[:2] - points, points - high[:2]), 0)
        assert np.hypot(*gap.T).max(initial=0) <= REACH_M
        assert task.shortest_m >= math.dist(task.start, thing.box.pose.position[:2]) - REACH_M - max(
            thing.box.extent[:2]
        )


def test_figures_of_known_searches() -> None:
    """Alone twice as far as needed, told the place straight there; a failure counts nothing."""
    task = Task(0, "cup", ("kitchen",), (0.0, 0.0), 5.0, {})
    straight, long, failed = Found(True, 5.0, True), Found(True, 10.0, False), Found(False, 3.0, False)
    outcome = Outcome(task, long, {0: (long, 5.0), 50: (failed, 5.0), 100: (straight, 5.0)})
    found = figures([outcome] * 4)
    assert found["alone"] == {"success": 1.0, "path_m": 10.0, "spl": {"mean": 50.0, "ci95": [50.0, 50.0]}}
    assert found["overlap_0"]["gain"]["mean"] == 0
    assert found["overlap_0"]["spl_summed"] == pytest.approx(33.33)
    assert (found["overlap_50"]["success"], found["overlap_50"]["gain"]["mean"]) == (0.0, -50.0)
    assert found["overlap_100"]["gain"] == {"mean": 50.0, "ci95": [50.0, 50.0]}


def test_what_another_robot_saw_shortens_a_search(some: list[Task]) -> None:
    (outcome,) = trials.run(iter([max(some, key=lambda task: task.shortest_m)]))
    found, _ = outcome.shared[100]
    assert found.success and found.told and found.path_m <= outcome.alone.path_m + 0.5
    assert not outcome.shared[0][0].told
