"""The measure of identity notices switches, mixed entries and things that were carried."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from r4_ros.evaluation.identity import Identity, identity

THINGS = [{"id": 1, "name": "left mug", "label": "mug"}, {"id": 2, "name": "right mug", "label": "mug"}]
THINGS += [{"id": 5, "name": "sofa", "label": "sofa"}]


@dataclass
class Memory:
    """As much of a library as the measure asks for: rows of (stamp, index, label, entry)."""

    rows: list[tuple[int, int, str, str]]
    links: dict[str, str]

    def assigned(self) -> list[tuple[str, int, int, str, str]]:
        return [("r", *row) for row in self.rows]

    def entries(self) -> list[Any]:
        ids = dict.fromkeys(row[3] for row in self.rows)
        return [SimpleNamespace(entry_id=i, moved_from=self.links.get(i, "")) for i in ids]


def judged(*rows: tuple[int, int, str, str], **links: str) -> Identity:
    """Each frame saw both mugs and the sofa."""
    frames = [{"agent_id": "r", "stamp_ns": t, "pixels": {"5": 9, "1": 9, "2": 9}} for t in {row[0] for row in rows}]
    return identity({"objects": THINGS, "frames": frames}, Memory(list(rows), links))  # type: ignore[arg-type]


def test_what_is_kept_apart() -> None:
    found = judged(*((t, i, label, label + str(i)) for t in range(4) for i, label in enumerate(("mug", "mug", "sofa"))))
    assert (found.sightings, found.things, found.switches, found.carried, found.mixed) == (12, 3, 0, 0, 0)
    assert found.idf1 == 1.0 and (found.alike, found.alike_switches) == (2, 0)


def test_look_alikes_that_change_places() -> None:
    found = judged((1, 0, "mug", "a"), (1, 1, "mug", "b"), (2, 0, "mug", "b"), (2, 1, "mug", "a"), (2, 2, "sofa", "c"))
    assert (found.switches, found.alike_switches, found.mixed) == (2, 2, 2)
    assert found.idf1 == pytest.approx(3 / 5)
    assert found.switched == ("r: left mug x1", "r: right mug x1")
    assert found.switch_share == pytest.approx(2 / 5)


def test_a_thing_with_two_entries_switches_unless_they_are_linked() -> None:
    rows = (1, 2, "sofa", "old"), (2, 2, "sofa", "old"), (3, 2, "sofa", "new")
    apart = judged(*rows)
    assert (apart.switches, apart.carried, apart.mixed, apart.idf1) == (1, 0, 0, pytest.approx(2 / 3))
    linked = judged(*rows, new="old")
    assert (linked.switches, linked.carried, linked.idf1) == (0, 1, 1.0)


def test_what_is_no_instance_of_the_truth_is_left_out() -> None:
    assert judged((1, 0, "cup", "a"), (1, 7, "mug", "b")).sightings == 0
