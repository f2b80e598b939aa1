"""The comparison with the truth notices what a memory lacks, doubles, misplaces or believes wrongly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from r4_ros.core.model import FOREVER, Box, Entry, Interval, Pose, Presence, Query, Stay, Vec3
from r4_ros.evaluation.compare import Comparison, compare

END = 1000


def thing(number: int, label: str, *stays: tuple[int, int, Vec3]) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"{label} {number}",
        "label": label,
        "stays": [{"start_ns": a, "end_ns": b, "centre": list(c), "extent": [0.1, 0.1, 0.1]} for a, b, c in stays],
    }


def truth(things: list[dict[str, Any]], pixels: dict[int, dict[str, int]]) -> dict[str, Any]:
    frames = [{"agent_id": "r", "stamp_ns": stamp, "pixels": seen} for stamp, seen in pixels.items()]
    return {"start_ns": 0, "end_ns": END, "objects": things, "frames": frames}


@dataclass
class Memory:
    """Entries and where they are; as much of a library as the comparison asks for."""

    places: dict[str, Vec3] = field(default_factory=dict)
    known: list[Entry] = field(default_factory=list)

    def add(
        self, name: str, label: str, place: Vec3, seen: tuple[int, int], gone: int = FOREVER, count: int = 5
    ) -> None:
        stay = Stay(Interval(seen[0], FOREVER), 0, Box(Pose(place), (0.1, 0.1, 0.1)), (0.0,) * 9, count)
        presence = Presence(seen[0], seen[0], seen[1], gone)
        sightings = (Interval(seen[0], seen[1] + 1),)
        entry = Entry(name, "r", 1, 0, "m", label, ((label, 1.0),), (stay,), sightings, (presence,), count=count)
        self.known.append(entry)
        self.places[name] = place

    def entries(self) -> list[Entry]:
        return self.known

    def retrieve(self, query: Query) -> Any:
        @dataclass
        class Placed:
            box: Box

        @dataclass
        class Result:
            entries: list[Placed]

        return Result([Placed(Box(Pose(self.places[name]), (0.1, 0.1, 0.1))) for name in query.entry_ids])


def judged(memory: Memory, log: dict[str, Any]) -> Comparison:
    return compare(log, memory, 100)  # type: ignore[arg-type]


def test_a_perfect_memory() -> None:
    memory = Memory()
    memory.add("a", "mug", (1.0, 0.0, 0.0), (10, 900))
    result = judged(memory, truth([thing(1, "mug", (0, END + 1, (1.0, 0.0, 0.0)))], {10: {"1": 500}}))
    assert (result.recall, result.duplicates, result.unexplained, result.ended_wrongly) == (1.0, 0, 0, 0)
    assert result.median_error_m == pytest.approx(0)


def test_what_was_seen_too_little_is_not_asked_for_and_what_was_missed_is_named() -> None:
    things = [thing(1, "mug", (0, END + 1, (1.0, 0.0, 0.0))), thing(2, "cup", (0, END + 1, (2.0, 0.0, 0.0)))]
    result = judged(Memory(), truth(things, {10: {"1": 500, "2": 50}}))
    assert (result.seen, result.found, result.missed) == (1, 0, ("r: mug 1",))


def test_doubles_and_what_fits_nothing_are_counted() -> None:
    memory = Memory()
    memory.add("a", "mug", (1.0, 0.0, 0.0), (10, 900))
    memory.add("b", "mug", (1.3, 0.0, 0.0), (10, 20), count=1)
    memory.add("c", "mug", (9.0, 0.0, 0.0), (10, 20))
    result = judged(memory, truth([thing(1, "mug", (0, END + 1, (1.0, 0.0, 0.0)))], {10: {"1": 500}}))
    assert (result.duplicates, result.doubled, result.unexplained) == (1, ("r: mug 1 x2",), 1)
    assert result.median_error_m == pytest.approx(0), "the entry seen most often stands for the thing"


def test_look_alikes_are_told_apart_by_place() -> None:
    memory = Memory()
    memory.add("a", "mug", (1.0, 0.0, 0.0), (10, 900))
    memory.add("b", "mug", (1.4, 0.0, 0.0), (10, 900))
    things = [thing(1, "mug", (0, END + 1, (1.0, 0.0, 0.0))), thing(2, "mug", (0, END + 1, (1.4, 0.0, 0.0)))]
    result = judged(memory, truth(things, {10: {"1": 500, "2": 500}}))
    assert (result.found, result.duplicates) == (2, 0)


@pytest.mark.parametrize(
    ("gone", "last_seen", "expected"),
    [(500, 300, (1, 1, 0)), (350, 300, (1, 0, 0)), (FOREVER, 300, (0, 0, 1))],
)
def test_the_end_of_a_stay(gone: int, last_seen: int, expected: tuple[int, int, int]) -> None:
    memory = Memory()
    memory.add("a", "mug", (1.0, 0.0, 0.0), (10, last_seen), gone)
    result = judged(memory, truth([thing(1, "mug", (0, 400, (1.0, 0.0, 0.0)))], {10: {"1": 500}}))
    assert (result.ended, result.ended_right, result.ended_unknown) == expected


def test_believing_that_something_went_which_did_not() -> None:
    memory = Memory()
    memory.add("a", "mug", (1.0, 0.0, 0.0), (10, 300), gone=500)
    result = judged(memory, truth([thing(1, "mug", (0, END + 1, (1.0, 0.0, 0.0)))], {10: {"1": 500}}))
    assert result.wrong_ends == ("r: mug 1",)


def test_something_brought_back_unnoticed_is_found_both_times() -> None:
    memory = Memory()
    memory.add("a", "mug", (1.0, 0.0, 0.0), (10, 900))
    things = [thing(1, "mug", (0, 400, (1.0, 0.0, 0.0)), (600, END + 1, (1.01, 0.0, 0.0)))]
    result = judged(memory, truth(things, {10: {"1": 500}, 800: {"1": 500}}))
    assert (result.seen, result.found, result.duplicates, result.ended_unknown) == (2, 2, 0, 1)
