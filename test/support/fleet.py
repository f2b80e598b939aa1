"""A map server with its database, robots with files of their own, and what each memory says of whom."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from alike import assert_alike

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Query
from r4_ros.evaluation.postgres_server import Server
from r4_ros.memory.inbox import Inbox
from r4_ros.memory.library import Library, open_library
from r4_ros.memory.postgres_store import PostgresStore
from r4_ros.memory.synchronizer import SyncConfig, Synchronizer

ANY_RATE = MemoryConfig(agent_rate_hz=0.0)


class Fleet:
    """A map server, and the way of each robot's role to it."""

    def __init__(
        self, server: Server, *robots: str, config: MemoryConfig | None = None, monotonic: Any = time.monotonic
    ) -> None:
        self.url = server.database()
        self.library = open_library(self.url, MemoryConfig())
        for robot in robots:
            store = self.library.store
            assert isinstance(store, PostgresStore)
            store.make_role(robot, robot)
        self.inbox = Inbox(lambda: self.library, self.anew, config or ANY_RATE, monotonic)

    def anew(self) -> Library:
        """The memory as it is stored."""
        self.library.close()
        self.library = open_library(self.url, MemoryConfig())
        return self.library

    def as_robot(self, robot: str) -> str:
        """The database's URL for a robot's role."""
        return self.url.replace("//r4@", f"//{robot}@")

    def work(self) -> int:
        """Work in all that waits; gives how many batches it was."""
        done = 0
        while self.inbox.work() is not None:
            done += 1
        return done

    def sql(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement as the owner."""
        return self.library.store.file.execute(statement, values)


class Robot:
    """A robot's memory and what keeps it in step. ``kill``: all that it holds in RAM is gone."""

    def __init__(self, path: Path, name: str, fleet: Fleet, **config: Any) -> None:
        self.path, self.name, self._fleet, self._config = path, name, fleet, config
        self.begin()

    def begin(self) -> None:
        """Start, or start again."""
        self.library = open_library(self.path, MemoryConfig())
        wanted = SyncConfig(self._fleet.as_robot(self.name), **self._config)
        self.sync = Synchronizer(lambda: self.library, wanted)

    def close(self) -> None:
        """Stop in good order."""
        self.sync.close()
        self.library.close()

    def kill(self) -> None:
        """Stop and start again, with nothing but the file."""
        self.close()
        self.begin()

    def cut(self) -> None:
        """The connection to the server breaks."""
        if self.sync._link is not None:
            self.sync._link.database._connection.close()


def settle(fleet: Fleet, *robots: Robot) -> None:
    """Until nothing is left to be told or heard."""
    for _ in range(2000):
        busy = [robot.sync.step() for robot in robots]
        for robot in robots:
            assert not robot.sync.state.error, robot.sync.state.error
        if not (any(busy) or fleet.work()) and not any(robot.sync.state.waiting_frames for robot in robots):
            return
    raise AssertionError("it doesn't come to an end")


def known_of(library: Library, agent: str) -> dict[str, Any]:
    """What a memory says of one agent, but for its own numbers of things."""
    entries = [e for e in library.entries() if e.agent_id == agent]
    parts = "SELECT e.entry_id, k.entry_id FROM entry e JOIN entry k ON k.slot = e.merged_into WHERE e.agent_id = ?"
    return {
        "entries": sorted((_plain(e) for e in entries), key=lambda e: str(e.entry_id)),
        "placed": _by_id(replace(p, revision=0) for p in library.placed() if p.agent_id == agent),
        "events": sorted((e for e in library.events() if e.agent_id == agent), key=lambda e: e.event_id),
        "episodes": sorted(
            (e for e in library.retrieve(Query(with_episodes=True)).episodes if e.agent_id == agent),
            key=lambda e: e.episode_id,
        ),
        "parts": sorted(library.store.file.execute(parts, (agent,))),
        "sessions": library._sessions.of(agent),
    }


def _plain(entry: Any) -> Any:
    stays = tuple(
        replace(stay, anchor_id=0, revision=0, shares=tuple(replace(share, anchor_id=0) for share in stay.shares))
        for stay in entry.stays
    )
    return replace(entry, stays=stays, revision=0)


def _by_id(entries: Any) -> list[Any]:
    return sorted(entries, key=lambda e: str(e.entry_id))


def check_alike(a: Library, b: Library, *agents: str) -> None:
    """Both memories say the same of these agents."""
    for agent in agents:
        assert_alike(known_of(a, agent), known_of(b, agent))


def check_observations(fleet: Fleet, robots: Sequence[Robot]) -> None:
    """The server has each observation of the robots once, and no other."""
    stored = sorted(fleet.library.store.observation_ids())
    seen = sorted(i for robot in robots for i in robot.library.store.observation_ids())
    assert stored == seen
