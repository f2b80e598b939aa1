"""A robot's file and a map server in step: nothing lost, nothing twice, whatever breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alike import assert_alike
from loops import Loop, shelf
from memories import content, plain

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import NotPermitted
from r4_ros.core.model import Episode, EpisodeSource, Interval, Query
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.library import Library, open_library

pytest.importorskip("psycopg", reason="needs psycopg: .ci/setup fleet")

from r4_ros.memory.inbox import Inbox
from r4_ros.memory.postgres_store import PostgresStore
from r4_ros.memory.synchronizer import SyncConfig, Synchronizer

S = 1_000_000_000


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


def known_of(library: Library, agent: str) -> dict[str, Any]:
    """What a memory says of one agent, but for its own numbers of things."""
    stored = {e.entry_id: e for e in library.entries() if e.agent_id == agent}
    events = [e for e in library.events() if e.agent_id == agent]
    found = {
        "entries": [
            replace(e, stays=tuple(replace(s, anchor_id=0, revision=0) for s in e.stays)) for e in stored.values()
        ],
        "placed": sorted((p for p in library.placed() if p.agent_id == agent), key=lambda p: p.entry_id),
        "events": sorted(events, key=lambda e: e.event_id),
        "episodes": [e for e in library.retrieve(Query(with_episodes=True)).episodes if e.agent_id == agent],
        "merged": sorted(
            row[:2]
            for row in library.store.file.execute(
                "SELECT e.entry_id, k.entry_id, e.agent_id FROM entry e JOIN entry k ON k.slot = e.merged_into"
            )
            if row[2] == agent
        ),
        "sessions": library._sessions.of(agent),
    }
    found["entries"].sort(key=lambda e: e.entry_id)
    return found


def check_alike(a: Library, b: Library, agent: str) -> None:
    """Both memories say the same of an agent."""
    assert_alike(known_of(a, agent), known_of(b, agent))


def settle_all(syncs: list[Synchronizer], fleet: Fleet) -> None:
    for _ in range(1000):
        busy = [sync.step() for sync in syncs]
        assert not any(sync.state.error for sync in syncs), [sync.state.error for sync in syncs]
        if not (any(busy) or fleet.work()) and not any(sync.state.waiting_frames for sync in syncs):
            return
    raise AssertionError("it doesn't come to an end")


def test_what_another_robot_knows_comes_down_and_is_answered_with(
    fleet: Fleet, robot_memory: Any, make_robot: Any, thing: Any
) -> None:
    mine, theirs = robot_memory("r1.db"), robot_memory("r2.db")
    loop = Loop(make_robot(agent_id="r2", map_id="home"), shelf(thing))
    syncs = [
        Synchronizer(lambda: mine, SyncConfig(fleet.as_robot("r1"))),
        Synchronizer(lambda: theirs, SyncConfig(fleet.as_robot("r2"))),
    ]
    mine.ingest(make_robot(map_id="home").frame(1, thing("cup", (2, 0.2, 0.8))))
    for number, frame in enumerate(loop.frames()):
        theirs.ingest(frame)
        if number % 20 == 0:
            for sync in syncs:
                sync.step()
            fleet.work()
    settle_all(syncs, fleet)
    check_alike(mine, fleet.library, "r2")
    check_alike(theirs, fleet.library, "r1")
    theirs.correct_anchors("r2", *loop.correction())
    theirs.add_episode(Episode("", "r2", "tea", Interval(20 * S, 21 * S), EpisodeSource.OPERATOR, "home", (1, 2, 0)))
    settle_all(syncs, fleet)
    assert theirs.merges()
    check_alike(mine, fleet.library, "r2")
    path, before = mine.store.path, known_of(mine, "r2")
    mine.close()
    with open_library(path, MemoryConfig()) as again:
        assert_alike(known_of(again, "r2"), before)
        found = again.retrieve(Query(labels=("thing3",), agents=("r2",)))
        assert [e.label for e in found.entries] == ["thing3"]
        with pytest.raises(NotPermitted):
            again.ingest(loop.frame(60))
