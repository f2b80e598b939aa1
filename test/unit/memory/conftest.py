"""A robot with a camera that sees what it is told, for tests of the memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import compose, inverse, quat_from_yaw
from r4_ros.core.model import (
    OPTICAL_TO_BASE,
    Box,
    Frame,
    Observation,
    Pose,
    Receipt,
    Vec3,
    View,
    Visibility,
)
from r4_ros.memory.library import Library
from r4_ros.memory.sqlite_store import SqliteStore


@dataclass(frozen=True)
class Thing:
    """What the camera sees; the place in the map, metres."""

    label: str
    centre: Vec3
    extent: Vec3 = (0.1, 0.1, 0.12)
    more: dict[str, Any] = field(default_factory=dict)

    def at(self, *centre: float) -> Thing:
        return replace(self, centre=centre)

    def seen(self, **more: Any) -> Thing:
        """The same with other fields of the observation (visibility, track_id, attributes, ...)."""
        return replace(self, more={**self.more, **more})


@dataclass
class Robot:
    """Makes frame records; at (x, y, yaw), its camera 1 m high, looking forward over 90 x 60 degrees."""

    agent_id: str = "r1"
    writer: str = "w1"
    camera: str = "front"
    map_id: str = ""
    session: int = 0
    sequence: int = 0
    where: tuple[float, float, float] = (0.0, 0.0, 0.0)
    depth: float = 8.0
    drift: Pose | None = None

    def frame(self, stamp_s: float, *things: Thing, **more: Any) -> Frame:
        """A frame at the current place. ``drift``: the map in odom, where the robot has odometry."""
        self.sequence += 1
        x, y, yaw = self.where
        sensor = compose(Pose((x, y, 1.0), quat_from_yaw(yaw)), inverse(OPTICAL_TO_BASE))
        back = inverse(sensor)
        observations = tuple(
            Observation(
                index=i,
                label=t.label,
                box=Box(Pose(compose(back, Pose(t.centre)).position, back.orientation), t.extent),
                **t.more,
            )
            for i, t in enumerate(things)
        )
        frame = Frame(
            agent_id=self.agent_id,
            camera=self.camera,
            writer=self.writer,
            sequence=self.sequence,
            session=self.session,
            stamp_ns=round(stamp_s * 1e9),
            map_id=self.map_id,
            map_frame="map",
            sensor_frame="camera",
            sensor_in_map=sensor,
            view=View(np.pi / 2, np.pi / 3, 0.1, 10.0, np.full((6, 8), self.depth, np.float32)),
            sensor_in_odom=None if self.drift is None else compose(self.drift, sensor),
            observations=observations,
        )
        return replace(frame, **more)

    def absent(self, stamp_s: float, entry_id: str, revision: int = 0, *things: Thing) -> Frame:
        """A frame that sees an entry's place empty."""
        gone = Observation(99, "", Box(Pose(), (0.1, 0.1, 0.1)), visibility=Visibility.ABSENT)
        frame = self.frame(stamp_s, *things)
        gone = replace(gone, entry_id=entry_id, entry_revision=revision)
        return replace(frame, observations=(*frame.observations, gone))


class FakeTime:
    """A monotonic clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Axes:
    """An embedder: listed words have given vectors, every other text one of its own, orthogonal to all."""

    name = "axes"

    def __init__(self, **vectors: tuple[float, ...]) -> None:
        self._vectors = {
            word: np.pad(np.asarray(v, np.float32) / np.linalg.norm(v), (0, 64 - len(v))) for word, v in vectors.items()
        }
        self._next = 8

    def embed(self, texts: Any) -> Any:
        for text in texts:
            if text not in self._vectors:
                vector = np.zeros(64, np.float32)
                vector[self._next] = 1
                self._next += 1
                self._vectors[text] = vector
        return np.stack([self._vectors[text] for text in texts])


MakeLibrary = Callable[..., Library]


@pytest.fixture
def clock() -> FakeTime:
    return FakeTime()


@pytest.fixture
def robot() -> Robot:
    return Robot()


@pytest.fixture
def make_robot() -> type[Robot]:
    return Robot


@pytest.fixture
def thing() -> type[Thing]:
    return Thing


@pytest.fixture
def axes() -> type[Axes]:
    return Axes


@pytest.fixture
def open_memory(tmp_path: Path, clock: FakeTime) -> Iterator[MakeLibrary]:
    """Opens (again) the library in a file of this test; config fields by keyword."""
    opened: list[Library] = []

    def make(name: str = "memory.db", embedder: Any = None, read_only: bool = False, **config: Any) -> Library:
        store = SqliteStore(tmp_path / name, read_only=read_only)
        library = Library(store, MemoryConfig(**config), embedder, clock)
        opened.append(library)
        return library

    yield make
    for library in opened:
        library.close()


@pytest.fixture(scope="session")
def make_memory(tmp_path_factory: pytest.TempPathFactory) -> MakeLibrary:
    """A memory in a new file each time, for the examples of one property; close it."""
    folder, numbers = tmp_path_factory.mktemp("memories"), itertools.count()

    def make(embedder: Any = None, **config: Any) -> Library:
        return Library(SqliteStore(folder / f"{next(numbers)}.db"), MemoryConfig(**config), embedder, FakeTime())

    return make


@pytest.fixture
def memory(open_memory: MakeLibrary) -> Library:
    return open_memory()


def feed(library: Library, frames: Any) -> list[Receipt]:
    return [library.ingest(frame) for frame in frames]


@pytest.fixture
def fleet(postgres_server: Any) -> Iterator[Any]:
    """A map server on PostgreSQL with two robots' roles."""
    from fleet import Fleet  # needs psycopg, as the tests that ask for it do

    made = Fleet(postgres_server, "r1", "r2")
    yield made
    made.library.close()


@pytest.fixture
def synced(fleet: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Makes robots with files of their own, in step with the map server."""
    from fleet import Robot

    made: list[Robot] = []

    def make(name: str = "r1", **config: Any) -> Robot:
        made.append(Robot(tmp_path / f"{name}.db", name, fleet, **config))
        return made[-1]

    yield make
    for robot in made:
        robot.close()
