"""A robot's file and a map server in step: nothing lost, nothing twice, whatever breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loops import Loop, shelf
from memories import content, plain

from r4_ros.core.config import MemoryConfig
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.library import Library, open_library

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from r4_ros.memory.inbox import Inbox
from r4_ros.memory.postgres_store import PostgresStore
from r4_ros.memory.synchronizer import SyncConfig, Synchronizer


class Fleet:
    """A map server, and the way of each robot's role to it."""

    def __init__(self, server: Server, *robots: str) -> None:
        self.url = server.database()
        self.library = open_library(self.url, MemoryConfig())
        for robot in robots:
            store = self.library.store
            assert isinstance(store, PostgresStore)
            store.make_role(robot, robot)
        self.inbox = Inbox(lambda: self.library, self.anew)

    def anew(self) -> Library:
        self.library.close()
        self.library = open_library(self.url, MemoryConfig())
        return self.library

    def as_robot(self, robot: str) -> str:
        return self.url.replace("//r4@", f"//{robot}@")

    def work(self) -> int:
        done = 0
        while self.inbox.work() is not None:
            done += 1
        return done


@pytest.fixture
def fleet(postgres_server: Server) -> Iterator[Fleet]:
    made = Fleet(postgres_server, "r1", "r2")
    yield made
    made.library.close()


@pytest.fixture
def robot_memory(tmp_path: Path) -> Iterator[Callable[..., Library]]:
    opened: list[Library] = []

    def make(name: str = "r1.db") -> Library:
        opened.append(open_library(tmp_path / name, MemoryConfig()))
        return opened[-1]

    yield make
    for library in opened:
        library.close()


def settle(sync: Synchronizer, fleet: Fleet) -> None:
    """Until nothing is left to be told."""
    for _ in range(1000):
        busy = sync.step()
        assert not sync.state.error, sync.state.error
        if not (busy or fleet.work()) and not sync.state.waiting_frames:
            return
    raise AssertionError("it doesn't come to an end")


def alike(a: Any, b: Any) -> bool:
    return bool(plain(content(a)) == content(b))


@pytest.mark.parametrize("odometry", [True, False])
def test_what_a_robot_saw_is_worked_in_as_if_it_had_come_by_topic(
    fleet: Fleet, robot_memory: Any, make_robot: Any, thing: Any, odometry: bool
) -> None:
    library = robot_memory()
    loop = Loop(make_robot(), shelf(thing), odometry)
    sync = Synchronizer(lambda: library, SyncConfig(fleet.as_robot("r1")))
    for number, frame in enumerate(loop.frames()):
        library.ingest(frame)
        if number % 20 == 0:
            sync.step()
        if number % 30 == 0:
            fleet.work()
    library.correct_anchors("r1", *loop.correction())
    for step in range(4):
        library.ingest(replace(loop.frame(43 + step / 2, closed=True)))
    settle(sync, fleet)
    sync.close()
    assert sync.state.refused == 0 and sync.state.problem == ""
    assert list(fleet.library.store.observation_ids()) == list(library.store.observation_ids())
    assert alike(library.store.path, fleet.url)
