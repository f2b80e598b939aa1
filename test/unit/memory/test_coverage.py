from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from r4_ros.core.errors import UnknownEntry
from r4_ros.core.model import (
    Pose,
    Query,
    Reference,
    Region,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
)

S = 1_000_000_000
AHEAD = Region("ahead", ((1, -0.5), (3, -0.5), (3, 0.5), (1, 0.5)), 0.0, 2.0)
BACK = Region("back", ((-3, -0.5), (-1, -0.5), (-1, 0.5), (-3, 0.5)), 0.0, 2.0)


def asked(region: str, *temporal: TemporalConstraint) -> Query:
    return Query(spatial=(SpatialConstraint("in", Reference.REGION, region=region),), temporal=temporal)


def test_a_place_ahead_is_covered_and_one_behind_isnt(memory: Any, robot: Any) -> None:
    memory.set_regions([AHEAD, BACK])
    memory.ingest(robot.frame(5))
    ahead, back = memory.retrieve(asked("ahead")), memory.retrieve(asked("back"))
    assert ahead.coverage > 0.9 and ahead.visited and ahead.last_looked == 5 * S
    assert back.coverage == 0 and not back.visited and back.last_looked is None
    with pytest.raises(UnknownEntry, match="cellar"):
        memory.retrieve(asked("cellar"))


def test_what_something_nearer_hides_isnt_covered(memory: Any, robot: Any) -> None:
    memory.set_regions([AHEAD])
    robot.depth = 0.5
    memory.ingest(robot.frame(5))
    assert memory.retrieve(asked("ahead")).coverage == 0
    robot.depth = 0.0
    memory.ingest(robot.frame(9))
    assert not memory.retrieve(asked("ahead")).visited, "nothing was measured there"


@pytest.mark.parametrize("wall_m", [0.7, 0.9, 1.0])
def test_a_room_right_behind_a_wall_isnt_visited(memory: Any, robot: Any, wall_m: float) -> None:
    memory.set_regions([AHEAD])
    robot.depth = wall_m
    memory.ingest(robot.frame(5))
    assert not memory.retrieve(asked("ahead")).visited


def test_coverage_is_that_of_the_asked_time(memory: Any, robot: Any) -> None:
    memory.set_regions([AHEAD])
    memory.ingest(robot.frame(5))
    robot.where = (0, 0, 3.1)
    memory.ingest(robot.frame(20))
    before = memory.retrieve(asked("ahead", TemporalConstraint(TemporalKind.SEEN_IN, 0, 10 * S)))
    after = memory.retrieve(asked("ahead", TemporalConstraint(TemporalKind.SEEN_IN, 10 * S, 30 * S)))
    assert before.coverage > 0.9 and after.coverage == 0
    assert after.visited and after.last_looked == 5 * S


def test_a_glance_at_a_corner_makes_no_old_look_new(memory: Any, robot: Any) -> None:
    """A 'no' rests on looks at most of the place: their age is told, not that of the newest one at any of it."""
    memory.set_regions([AHEAD])
    memory.ingest(robot.frame(5))
    robot.where = (0, 0, 0.95)  # only a side of it is in view
    memory.ingest(robot.frame(50_000))
    found = memory.retrieve(asked("ahead"))
    assert found.coverage > 0.9 and found.last_looked == 5 * S
    recent = memory.retrieve(asked("ahead", TemporalConstraint(TemporalKind.SEEN_IN, 40_000 * S, 60_000 * S)))
    assert 0 < recent.coverage < 0.8 and recent.last_looked == 50_000 * S
    robot.where = (0, 0, 0)
    memory.ingest(robot.frame(50_001))
    assert memory.retrieve(asked("ahead")).last_looked == 50_001 * S


def test_looks_after_the_asked_time_or_after_now_dont_count(memory: Any, robot: Any) -> None:
    memory.set_regions([AHEAD])
    for stamp in (5, 20, 40):
        memory.ingest(robot.frame(stamp))
    then = asked("ahead", TemporalConstraint(TemporalKind.SEEN_IN, 0, 10 * S))
    assert memory.retrieve(then).last_looked == 5 * S
    assert memory.retrieve(replace(asked("ahead"), now_ns=30 * S)).last_looked == 20 * S
    early = memory.retrieve(replace(asked("ahead"), now_ns=3 * S))
    assert early.coverage == 0 and not early.visited


def test_a_still_camera_keeps_few_views_but_looks_all_the_time(open_memory: Any, robot: Any) -> None:
    library = open_memory()
    library.set_regions([AHEAD])
    for i in range(100):
        library.ingest(robot.frame(i * 0.1))
    assert len(list(library._store.views())) == 5
    assert library.retrieve(asked("ahead")).last_looked == round(9.9 * S)
    window = TemporalConstraint(TemporalKind.SEEN_IN, round(5.2 * S), round(5.4 * S))
    library.close()
    again = open_memory()
    found = again.retrieve(asked("ahead", window))
    assert found.coverage > 0.9 and found.last_looked == round(5.4 * S) - 1


def test_nothing_asked_says_minus_one_and_a_time_says_whether_there_were_eyes(memory: Any, robot: Any) -> None:
    memory.ingest(robot.frame(5))
    assert memory.retrieve(Query()).coverage == -1
    seen_in = TemporalConstraint
    assert memory.retrieve(Query(temporal=(seen_in(TemporalKind.SEEN_IN, 0, 6 * S),))).coverage == 1
    assert memory.retrieve(Query(temporal=(seen_in(TemporalKind.SEEN_IN, 0, 4 * S),))).coverage == 0


def test_a_point_counts_as_seen_where_the_picture_has_it(memory: Any, robot: Any) -> None:
    memory.ingest(robot.frame(1))
    look = memory._coverage.last_looks
    points = np.array([[2, 1.9, 1], [2, 2.1, 1], [3, 0, 1 + 1.7], [3, 0, 1 + 1.8], [-1, 0, 1], [9, 0, 1], [11, 0, 1]])
    seen = look("r1/0", points.astype(float)) >= 0
    assert seen.tolist() == [True, False, True, False, False, False, False]
    near = SpatialConstraint("near", Reference.POINT, pose=Pose((2, 0, 1)))
    assert memory.retrieve(Query(spatial=(near,))).coverage > 0.9
