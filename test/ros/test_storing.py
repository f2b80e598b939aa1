"""Frames stored together or alone: what a store that fails in between leaves, and what is tried again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("r4_ros.msg", reason="needs the generated interfaces")

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, StoreError, StoreOutdated
from r4_ros.nodes import storing
from r4_ros.nodes.intake import Intake, Stored
from r4_ros.nodes.storing import Storing

pytestmark = pytest.mark.ros


class Memory:
    """Frames are numbers; 13 can't be stored, negative ones are refused, and a commit fails while ``broken``."""

    def __init__(self) -> None:
        self.stored: list[int] = []
        self.known: list[int] = []
        self.commits, self.opened = 0, 0
        self.broken = self.outdated = self.away = False

    @contextmanager
    def together(self) -> Iterator[None]:
        yield
        if self.broken:
            raise StoreError("the server went away")
        self.commits += 1
        self.stored = list(self.known)

    def ingest(self, number: int) -> int:
        if self.outdated:
            raise StoreOutdated("open it anew")
        if number == 13:
            raise StoreError("not this one")
        self.known.append(number)
        return number

    def anew(self) -> Any:
        if self.away:
            raise StoreError("no server")
        self.opened += 1
        self.known, self.outdated, self.broken = list(self.stored), False, False
        return self


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def intake() -> Intake:
    return Intake(100, 0.0)


@pytest.fixture
def frames(memory: Memory, intake: Intake, monkeypatch: pytest.MonkeyPatch) -> Storing:
    made = Storing(intake, lambda: memory, memory.anew, MemoryConfig())  # type: ignore[arg-type, return-value]

    def stored(_: str, number: int) -> Stored:
        if number < 0:
            return Stored(number, error=InvalidArgument("negative"))
        return Stored(number, number, memory.ingest(number))

    monkeypatch.setattr(made, "_stored", stored)
    monkeypatch.setattr(made, "_read", int)
    return made


def offer(intake: Intake, *numbers: int) -> None:
    for number in numbers:
        intake.offer("a", number)


def failed(done: list[Stored]) -> list[int]:
    return [one.message for one in done if one.error is not None]


def test_one_that_waits_alone_has_a_transaction_of_its_own(memory: Memory, intake: Intake, frames: Storing) -> None:
    assert frames.store() == []
    offer(intake, 1)
    assert failed(frames.store()) == [] and memory.known == [1] and memory.commits == 0


def test_several_are_committed_once_and_one_that_is_wrong_harms_no_other(
    memory: Memory, intake: Intake, frames: Storing, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(intake, 1, -2, 3)
    done = frames.store()
    assert [one.message for one in done] == [1, -2, 3] and failed(done) == [-2]
    assert memory.stored == [1, 3] and memory.commits == 1
    monkeypatch.setattr(storing, "TOGETHER_FRAMES", 2)
    offer(intake, 4, 5, 6)
    assert len(frames.store()) == 2 and len(frames.store()) == 1


def test_one_that_cannot_be_stored_takes_none_along(memory: Memory, intake: Intake, frames: Storing) -> None:
    offer(intake, 1, 13, 3)
    assert failed([*frames.store(), *frames.store()]) == [13]
    assert memory.known == [1, 3] and memory.opened == 1


def test_after_a_commit_that_failed_the_memory_is_read_anew(memory: Memory, intake: Intake, frames: Storing) -> None:
    memory.broken = True
    offer(intake, 1, 2)
    assert failed(frames.store()) == []
    assert memory.opened == 1 and memory.known == [1, 2]


def test_while_it_cannot_be_read_all_is_refused_and_tried_once_each_time(
    memory: Memory, intake: Intake, frames: Storing
) -> None:
    memory.broken = memory.away = True
    offer(intake, 1, 2)
    assert failed(frames.store()) == [1, 2] and memory.opened == 0
    offer(intake, 1)
    assert failed(frames.store()) == [1]
    memory.away = False
    offer(intake, 1, 2)
    assert failed(frames.store()) == [] or intake.pending
    assert failed(frames.store()) == [] and memory.known == [1, 2] and memory.opened == 1


def test_what_cannot_be_read_is_counted_and_harms_no_other(memory: Memory, intake: Intake, frames: Storing) -> None:
    for waits in ("1", "no number", "3"):
        intake.offer("a", waits)
    assert failed(frames.store()) == [] and memory.stored == [1, 3] and frames.unreadable == 1 and memory.opened == 0


def test_one_that_is_outdated_is_read_anew_with_the_next_frame(memory: Memory, intake: Intake, frames: Storing) -> None:
    memory.outdated = True
    offer(intake, 1)
    assert failed(frames.store()) == [1]
    offer(intake, 1)
    assert failed(frames.store()) == [] and memory.opened == 1 and memory.known == [1]
