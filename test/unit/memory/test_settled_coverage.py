"""What was looked at long ago, as cells and minutes: compared with the views that it was made of."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core.model import FOREVER, Pose, Query, Reference, Region, SpatialConstraint
from r4_ros.memory import cells
from r4_ros.memory.cells import CELL_M, MINUTE_NS, NOTHING, block_of, cells_of, centres_of, pack, union, unpack
from r4_ros.memory.coverage import Coverage
from r4_ros.memory.transfer import Importer, export_lines

S = 1_000_000_000
AHEAD = Region("ahead", ((1, -0.5), (3, -0.5), (3, 0.5), (1, 0.5)), 0.0, 2.0)
BACK = Region("back", ((-3, -0.5), (-1, -0.5), (-1, 0.5), (-3, 0.5)), 0.0, 2.0)


@pytest.fixture
def soon(monkeypatch: Any) -> None:
    """Views are settled after 10 s, all but 4."""
    made = Coverage.__init__

    def init(self: Any, anchors: Any) -> None:
        made(self, anchors, 4, 10 * S)

    monkeypatch.setattr(Coverage, "__init__", init)


def drive(memory: Any, robot: Any, minutes: int = 6) -> None:
    """Three looks a minute, ahead in even minutes and back in odd ones."""
    for minute in range(minutes):
        robot.where = (0.0, 0.0, np.pi * (minute % 2))
        for second in (5, 15, 25):
            robot.where = (0.02 * second, 0.0, robot.where[2])
            memory.ingest(robot.frame(60 * minute + second))
            memory.keep_history()


def settle(memory: Any, at_s: float, robot: Any) -> None:
    robot.where = (50.0, 50.0, 0.0)
    for i in range(8):
        memory.ingest(robot.frame(at_s + 3 * i))
    for _ in range(10):
        memory.keep_history()


def asked(region: str, at_ns: int | None = None) -> Query:
    return Query(spatial=(SpatialConstraint("in", Reference.REGION, region=region),), at_ns=at_ns)


points = st.lists(st.tuples(*[st.floats(-900, 900)] * 3), min_size=1, max_size=40)


@given(points, points)
def test_packed_cells_come_back(looked: Any, more: Any) -> None:
    a, b = (np.unique(cells_of(np.array(p) % 30 - 15), axis=0) for p in (looked, more))
    came = unpack(pack(block_of(a, b)))
    for plane, want in enumerate((a, b)):
        np.testing.assert_array_equal(came.cells(plane), want)
        assert came.has(want, plane).all()
    assert not came.has(a + 100, 0).any()
    both = union([block_of(a, a), block_of(b, b)])
    np.testing.assert_array_equal(both.cells(1), np.unique(np.concatenate([a, b]), axis=0))
    np.testing.assert_array_equal(cells_of(centres_of(a)), a)


def test_nothing_looked_at_is_nothing() -> None:
    nothing = unpack(pack(NOTHING))
    assert not nothing.has(np.zeros((1, 3), np.int64), 0).any() and union([NOTHING, nothing]).bits.size == 0


def test_settled_minutes_say_what_their_views_did(soon: None, memory: Any, robot: Any) -> None:
    memory.set_regions([AHEAD, BACK])
    drive(memory, robot)
    settle(memory, 1000, robot)
    coverage = memory._coverage
    minutes = [m.start_ns // MINUTE_NS for m in memory._store.cells()]
    assert minutes[:6] == list(range(6)), "each minute of the drive is one"
    ahead, back = memory.retrieve(asked("ahead")), memory.retrieve(asked("back"))
    assert ahead.coverage > 0.9 and 4 * 60 * S <= ahead.last_looked < 5 * 60 * S
    assert back.coverage > 0.9 and 5 * 60 * S <= back.last_looked < 6 * 60 * S
    near = np.array([[2.0, 0.0, 1.0]])
    for minute in range(6):
        start = minute * MINUTE_NS
        look = coverage.past.last_looks("r1/0", near, start, start + MINUTE_NS, (), reached=True)[0]
        assert (look >= 0) == (minute % 2 == 0), minute
    assert coverage.past.last_looks("r1/0", near, 0, FOREVER, ("r2",), reached=True)[0] == -1
    assert coverage.any_view(60 * S, 61 * S) is False and coverage.any_view(65 * S, 66 * S)


def test_cells_agree_with_exact_views_but_for_their_edges(soon: None, memory: Any, robot: Any) -> None:
    rng = np.random.default_rng(5)
    robot.depth = 3.0
    exact = Coverage(memory._anchors)
    exact.most_views = 10_000
    for i in range(30):
        robot.where = (*rng.uniform(-1, 1, 2), rng.uniform(-3, 3))
        memory.ingest(robot.frame(4 + 20 * i))
    for view in memory._store.views():
        exact.add(view)
    settle(memory, 2000, robot)
    assert len(memory._coverage.past) >= 9
    probes = centres_of(cells_of(rng.uniform((-4, -4, 0), (4, 4, 2), (500, 3))))
    for plane, clearance in ((False, -0.3), (True, 0.0)):
        was = exact.last_looks("r1/0", probes, 0, 600 * S, (), clearance) >= 0
        now = memory._coverage.past.last_looks("r1/0", probes, 0, 600 * S, (), plane) >= 0
        missed = was & ~now
        assert not missed.any() or missed.mean() < 0.01
        assert not (now & ~was).any()


def test_what_stays_is_bounded_and_tells_when_a_place_was_seen_empty(soon: None, memory: Any, robot: Any) -> None:
    drive(memory, robot, minutes=40)
    settle(memory, 3000, robot)
    coverage = memory._coverage
    assert len(list(memory._store.views())) <= 4 + len(coverage._last_from) + 1 <= 16
    empty = coverage.last_looks("r1/0", np.array([[2.0, 0.0, 1.0]]), clearance_m=0.3)[0]
    assert 38 * 60 * S <= empty < 39 * 60 * S, "by the newest depth image from there"


def test_the_past_is_the_same_after_a_restart(soon: None, open_memory: Any, robot: Any) -> None:
    memory = open_memory()
    memory.set_regions([AHEAD, BACK])
    drive(memory, robot, minutes=8)
    settle(memory, 2000, robot)
    before = [memory.retrieve(asked(name)) for name in ("ahead", "back")]
    views = len(list(memory._store.views()))
    memory.close()
    again = open_memory()
    assert [again.retrieve(asked(name)) for name in ("ahead", "back")] == before
    assert len(again._coverage.past) >= 8 and len(again._coverage._recent) < views
    again.keep_history()
    assert [again.retrieve(asked(name)) for name in ("ahead", "back")] == before


def test_the_past_moves_with_its_anchors(soon: None, open_memory: Any, make_robot: Any) -> None:
    memory = open_memory()
    robot = make_robot(drift=Pose())
    drive(memory, robot, minutes=4)
    settle(memory, 1000, robot)
    before = memory._coverage.past.last_looks(
        "r1/0", np.array([[2.0, 0.0, 1.0], [2.0, 20.0, 1.0]]), 0, FOREVER, (), True
    )
    assert (before >= 0).tolist() == [True, False]
    trail = [t for t in memory.trail("r1") if t.stamp_ns < 900 * S]
    moved = [Pose((*np.add(t.pose.position, (0, 20, 0)),), t.pose.orientation) for t in trail]
    memory.correct_anchors("r1", [t.stamp_ns for t in trail], moved)
    after = memory._coverage.past.last_looks(
        "r1/0", np.array([[2.0, 0.0, 1.0], [2.0, 20.0, 1.0]]), 0, FOREVER, (), True
    )
    assert after[1] == before[0] and after[0] == -1


def test_an_export_tells_the_past_too(soon: None, open_memory: Any, robot: Any) -> None:
    memory = open_memory()
    memory.set_regions([AHEAD, BACK])
    drive(memory, robot, minutes=6)
    settle(memory, 1000, robot)
    lines = list(export_lines(memory._store))
    other = open_memory("other.db", writer_silence_s=0.0)
    done = Importer(other).read(lines)
    assert done.refused == 0 and done.coverage == len(memory._coverage.past)
    assert Importer(other).read(lines).problems == [] and len(other._coverage.past) == done.coverage
    for name in ("ahead", "back"):
        a, b = (m.retrieve(asked(name)) for m in (memory, other))
        assert (a.coverage, a.visited, a.last_looked) == (b.coverage, b.visited, b.last_looked)
    line = next(json.loads(line) for line in lines if '"coverage"' in line)
    wrong_ones: list[dict[str, Any]] = [
        {"looked": "!"},
        {"size": [1, 2]},
        {"size": [9999, 9999, 9999]},
        {"agent": "r9"},
        {"low": [0, 0, 2**40]},
    ]
    for wrong in wrong_ones:
        assert Importer(other).read([json.dumps({**line, **wrong})]).refused == 1, wrong


def test_a_camera_that_rests_holds_nothing_up(soon: None, memory: Any, robot: Any, make_robot: Any) -> None:
    resting = make_robot(agent_id="r2", writer="w2")
    memory.ingest(resting.frame(1))
    drive(memory, robot, minutes=10)
    assert len(memory._coverage.past) >= 8
    memory.ingest(resting.frame(601))
    assert memory._coverage.any_view(S, 2 * S, ("r2",))


def test_cells_are_half_a_metre() -> None:
    assert CELL_M == 0.5 and cells.MINUTE_NS == 60 * S
    assert len(np.unique(cells_of(np.array([[0.1, 0.1, 0.1], [0.4, 0.4, 0.4]])), axis=0)) == 1
    assert len(np.unique(cells_of(np.array([[-0.1, 0, 0], [0.1, 0, 0]])), axis=0)) == 2
