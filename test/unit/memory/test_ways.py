"""What agents did themselves: entering and leaving regions, from their trails."""

from __future__ import annotations

from typing import Any

from r4_ros.core.model import EventKind, Pose, Query, Reference, Region, SpatialConstraint, TrailPoint
from r4_ros.memory.ways import ways

S = 1_000_000_000
HALL = Region("hall", ((0, 0), (4, 0), (4, 4), (0, 4)))


class Trail:
    """Trails of one agent, given as (seconds, x)."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        self.points = [TrailPoint("a", round(t * S), "m", Pose((x, 1.0, 0.0))) for t, x in points]

    def between(self, agent_id: str, start_ns: int, end_ns: int) -> Any:
        return [p for p in self.points if start_ns <= p.stamp_ns < end_ns]


def crossings(points: list[tuple[float, float]], until_s: float = 99) -> list[tuple[str, float, float]]:
    events = ways(Trail(points), ["a"], [HALL], round(until_s * S))  # type: ignore[arg-type]
    assert all(e.entry_id == "" and e.label == "hall" and e.agent_id == "a" for e in events)
    return [(e.kind.name, e.earliest_ns / S, e.latest_ns / S) for e in events]


def test_entering_and_leaving_are_bounded_by_the_frames_around() -> None:
    assert crossings([(0, -2), (5, 1), (9, 2), (12, 6)]) == [("ENTERED", 0, 5), ("LEFT", 9, 12)]
    assert crossings([(0, -2), (5, 1), (9, 2), (12, 6)], until_s=6) == [("ENTERED", 0, 5)]


def test_where_a_trail_begins_nothing_was_entered() -> None:
    assert crossings([(0, 1), (5, 2), (6, -1), (9, -1)]) == [("LEFT", 5, 6)]
    assert crossings([(0, 1)]) == [] == crossings([])


def test_a_step_over_the_threshold_and_back_is_no_visit() -> None:
    assert crossings([(0, -2), (5, 1), (5.5, -1), (9, -2)]) == []


def test_a_query_for_a_region_with_events_tells_of_ways(memory: Any, robot: Any, thing: Any) -> None:
    memory.ingest(robot.frame(0, thing("lamp", (1, 1, 1))))
    x, y, _ = memory.trail(memory.agents()[0], 0, S)[0].pose.position
    here = Region("here", ((x - 1, y - 1), (x + 1, y - 1), (x + 1, y + 1), (x - 1, y + 1)))
    memory.set_regions((here,))
    query = Query(spatial=(SpatialConstraint("in", Reference.REGION, region="here"),), with_events=True)
    kinds = {e.kind for e in memory.retrieve(query).events}
    assert EventKind.ENTERED not in kinds, "it was there when its trail began"
