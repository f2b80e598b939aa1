"""A stream that is handed over while another process writes: worked in whole, told, and taken back if none takes it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, StoreError, StoreInUse
from r4_ros.memory.handover import Handed, Handover
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.transfer import Imported, Importer, export_lines


@pytest.fixture
def lines(open_memory: Callable[..., Library], robot: Any, thing: Any) -> list[str]:
    """What a robot saw, written by two processes that ran one after the other, with what was told and corrected."""
    with open_memory() as library:
        for i in range(40):
            writer = "before the restart" if i < 20 else "after it"
            library.writer_ended("r1", "front", "before the restart")
            library.ingest(robot.frame(1 + i, thing("mug", (2, 0, 0.8)), writer=writer))
        return [line + "\n" for line in export_lines(library._store)]


def known(library: Library) -> Any:
    return [(e.label, e.first_seen, e.last_seen, e.count, e.stays) for e in library.entries()], library.trail("r1")


def worked(handed: Handed) -> None:
    while handed.work(0.001):
        pass


def test_it_becomes_what_an_import_makes_of_it(tmp_path: Path, lines: list[str], robot: Any, thing: Any) -> None:
    with open_library(tmp_path / "alone.db", MemoryConfig()) as alone:
        expected = Importer(alone).read(lines)
        entries = known(alone)
    assert expected.refused == 0 and expected.frames == 40
    handover = Handover(tmp_path / "m.db")
    with open_library(tmp_path / "m.db", MemoryConfig()) as library:
        assert handover.take(library, None) is None
        handover.give(lines, strict=False)
        handed = handover.take(library, None)
        assert handed is not None
        node = threading.Thread(target=worked, args=(handed,))
        node.start()
        assert handover.result(lambda: True) == expected
        node.join()
        assert known(library) == entries
    assert sorted(path.name for path in tmp_path.glob("m.db-*")) == ["m.db-lock"], "nothing is left of it"


def test_a_node_that_was_killed_goes_on_and_nothing_counts_twice(tmp_path: Path, lines: list[str]) -> None:
    handover = Handover(tmp_path / "m.db")
    with open_library(tmp_path / "m.db", MemoryConfig()) as library:
        handover.give(lines, strict=False)
        begun = handover.take(library, None)
        assert begun is not None and begun.work(0.0005)
        with pytest.raises(InvalidArgument, match="another import"):
            handover.give(lines, strict=False)
        with pytest.raises(StoreError, match="the node ended"):
            handover.result(lambda: False, taken_s=0.0)
    with open_library(tmp_path / "m.db", MemoryConfig()) as library:
        handed = handover.take(library, None)
        assert handed is not None
        worked(handed)
        done = handover.result(lambda: True)
        assert done.frames == 40 and done.refused == 0
        assert [entry.count for entry in library.entries()] == [40]


@pytest.mark.parametrize("strict", [False, True])
def test_bad_lines_are_told_with_their_numbers(tmp_path: Path, lines: list[str], strict: bool) -> None:
    handover = Handover(tmp_path / "m.db")
    with open_library(tmp_path / "m.db", MemoryConfig()) as library:
        handover.give([lines[0], "nonsense\n", *lines[1:]], strict)
        handed = handover.take(library, None)
        assert handed is not None
        worked(handed)
        if strict:
            with pytest.raises(StoreError, match="line 2: no JSON"):
                handover.result(lambda: True)
            assert library.entries() == []
        else:
            done = handover.result(lambda: True)
            assert (done.refused, done.frames) == (1, 40) and done.problems[0].startswith("line 2: no JSON")


def test_what_nobody_takes_is_taken_back(tmp_path: Path) -> None:
    handover = Handover(tmp_path / "m.db")
    handover.give(["{}\n"], strict=False)
    with pytest.raises(StoreInUse, match="no memory node"):
        handover.result(lambda: True, taken_s=0.0)
    assert list(tmp_path.iterdir()) == []


def test_a_robot_that_drives_now_keeps_its_place(tmp_path: Path, lines: list[str], robot: Any, thing: Any) -> None:
    """Frames of an agent that another writer serves are refused, line by line, as if that writer had a rival."""
    with open_library(tmp_path / "m.db", MemoryConfig(), None) as library:
        library.ingest(robot.frame(9000, thing("cup", (2, 0, 0.8)), writer="live"))
        done = Importer(library).read(lines)
        assert done.frames == 0 and done.refused >= 40
        assert "is served by writer 'live'" in next(p for p in done.problems if "served" in p)
        assert [entry.label for entry in library.entries()] == ["cup"]
        assert isinstance(done, Imported)
