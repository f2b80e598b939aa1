"""How surely something is there: by what was seen of it, and by the looks at its place that didn't show it."""

from __future__ import annotations

import pytest

from r4_ros.core.model import Query
from r4_ros.memory.existence import Seen, existence, label_share, posterior
from r4_ros.memory.library import Library
from test.unit.memory.conftest import Robot, Thing


def test_more_sightings_make_it_surer_and_more_looks_without_it_less() -> None:
    for looks in (4, 20, 100):
        by_hits = [posterior(Seen(hits, looks)) for hits in range(1, looks + 1)]
        assert by_hits == sorted(by_hits) and 0 < by_hits[0] < by_hits[-1] <= 1
    for hits in (1, 3, 10):
        by_looks = [posterior(Seen(hits, looks)) for looks in range(hits, 200)]
        assert by_looks == sorted(by_looks, reverse=True)


def test_what_came_where_nothing_was_must_be_seen_more_often() -> None:
    assert posterior(Seen(2, 3, new=True)) < 0.5 < posterior(Seen(2, 3))
    assert posterior(Seen(4, 4, new=True)) > 0.95


def test_a_thousand_looks_are_no_error_of_arithmetic() -> None:
    assert posterior(Seen(1, 1_000_000)) < 1e-6
    assert posterior(Seen(1_000_000, 1_000_000)) == pytest.approx(1.0)


def test_what_two_robots_saw_is_surer_than_what_one_did() -> None:
    once = Seen(1, 6)
    assert existence([once]) < existence([once, once]) < 1
    assert existence([once, Seen(40, 40)]) == pytest.approx(1.0)


def test_what_is_called_by_another_name_once_is_known_to_be_doubtful(memory: Library) -> None:
    robot, mug = Robot(), Thing("mug", (6, 0, 0.5), (0.2, 0.2, 0.2))
    wrong = Thing("suitcase", (6, 0, 0.5), (0.08, 0.2, 0.1))  # a part of it in view, called something else
    for i in range(30):
        robot.where = (0.1 * i, 0.0, 0.0)
        seen = wrong if i == 10 else mug
        memory.ingest(robot.frame(float(i) / 2, seen.seen()))
    found = {e.label: e for e in memory.retrieve(Query()).entries}
    assert found["mug"].existence > 0.99
    assert found["suitcase"].existence < 0.2 and found["suitcase"].missed >= 10


def test_the_share_of_votes(memory: Library) -> None:
    robot = Robot()
    for i, label in enumerate(["mug", "mug", "vase", "mug"]):
        memory.ingest(robot.frame(float(i), Thing(label, (6, 0, 0.5), (0.2, 0.2, 0.2)).seen()))
    (entry,) = memory.retrieve(Query()).entries
    assert entry.label == "mug" and entry.label_share == pytest.approx(0.75)
    (stored,) = memory._cache.get_many([0])
    assert label_share(stored.entry) == pytest.approx(0.75)
