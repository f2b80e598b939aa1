"""Scenarios as memories: rendered once, kept in a cache folder, fed to perception and memory."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import r4_ros
from r4_ros.bridges.apartment.feed import feed
from r4_ros.bridges.apartment.render import View
from r4_ros.bridges.apartment.robots import Robot
from r4_ros.bridges.apartment.simulation import SimFrame, Simulation
from r4_ros.bridges.apartment.truth import Standing
from r4_ros.core.config import MemoryConfig
from r4_ros.core.geometry import inverse, transform_points
from r4_ros.core.model import NS_PER_S, Float32Array
from r4_ros.core.ports import Embedder
from r4_ros.evaluation.sim.degraded import Degraded
from r4_ros.evaluation.sim.scenarios import Scenario
from r4_ros.evaluation.sim.unrendered import Perceive, Unrendered, feed_unrendered
from r4_ros.memory.library import open_library

MAX_DEPTH_M = 65.0
BEYOND_M = 0.05
VIEWS = ("bridges/apartment",)
MEMORY = ("core", "perception", "memory", "adapters", "bridges/apartment")
UNRENDERED = (*MEMORY, "evaluation/sim/unrendered.py")


@dataclass(frozen=True)
class Made:
    """A scenario's memory (a file) and its truth, as in docs/simulator.md, with ``emptied`` besides: how many frames
    looked through the place of each stay that had ended (``ID@START_NS`` -> frames).
    """

    scenario: Scenario
    db: Path
    truth: dict[str, Any]


class Rendered(Simulation):
    """A simulation whose pictures are kept in a file. Depth is rounded to millimetres, as a depth camera's is."""

    def __init__(self, scenario: Scenario, file: Path, degrade: frozenset[str] = frozenset()) -> None:
        super().__init__(
            scenario.seed,
            scenario.duration_s,
            scenario.rate_hz,
            scenario.size,
            scenario.robots,
            script=scenario.script,
            people=scenario.people,
        )
        self._file = file
        self._archive: zipfile.ZipFile | None = None
        self.degraded = Degraded(degrade, self) if degrade else None
        self.emptied: dict[str, int] = {}

    def frames(self) -> Iterator[SimFrame]:
        """All frames; those of an earlier run come from the file. Degraded where ``degraded`` says how."""
        part = self._file.with_suffix(f".{os.getpid()}.part")
        kept = self._file.exists()
        with zipfile.ZipFile(
            self._file if kept else part, "r" if kept else "w", zipfile.ZIP_DEFLATED, compresslevel=1
        ) as self._archive:
            for frame in super().frames():
                look_through(self.stays, frame, self.emptied)
                yield frame if self.degraded is None else self.degraded(frame)
        if not kept:
            part.replace(self._file)

    def view(self, robot: Robot, t: float) -> View:
        """From the file, or rendered and put there."""
        assert self._archive is not None
        name, width, height = f"{robot.agent_id}/{t:.3f}", self.intrinsics.width, self.intrinsics.height
        if self._archive.mode == "r":
            data = np.frombuffer(self._archive.read(name), np.uint8).reshape(height, width, 7)
            color, rest = data[..., :3].copy(), data[..., 3:].copy().view(np.uint16)
            return View(color, _metres(rest[..., 0]), rest[..., 1].astype(np.int32))
        view = super().view(robot, t)
        depth = np.round(np.clip(view.depth, 0, MAX_DEPTH_M) * 1000).astype(np.uint16)
        rest = np.stack([depth, view.labels.astype(np.uint16)], axis=-1)
        self._archive.writestr(name, np.concatenate([view.color, rest.view(np.uint8)], axis=-1).tobytes())
        return View(view.color, _metres(depth), view.labels)


def look_through(stays: Sequence[Standing], frame: SimFrame, emptied: dict[str, int]) -> None:
    """Count a frame for every ended stay whose place it looked through."""
    for stay in stays:
        if stay.end_ns > frame.stamp_ns:
            continue
        x, y, z = transform_points(inverse(frame.sensor_in_map), np.array([stay.box.pose.position]))[0]
        if z < 0.3:
            continue
        camera = frame.intrinsics
        u, v = round(camera.fx * x / z + camera.cx), round(camera.fy * y / z + camera.cy)
        if 4 <= u < camera.width - 4 and 4 <= v < camera.height - 4 and frame.depth[v, u] > z + BEYOND_M:
            key = f"{stay.instance_id}@{stay.start_ns}"
            emptied[key] = emptied.get(key, 0) + 1


def cache_folder(named: Path | None) -> Path:
    """Where pictures and memories are kept: as named, else in the user's cache."""
    base = named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "r4_ros" / "sim"
    base.mkdir(parents=True, exist_ok=True)
    return base


def make(
    scenario: Scenario,
    cache: Path,
    embedder: Embedder | None,
    advance: Callable[[int], None] = lambda _: None,
    degrade: frozenset[str] = frozenset(),
) -> Made:
    """The memory of a scenario: from the cache where scenario and code are the same, else made and kept there.

    ``degrade``: kinds of worse sensing (``degraded.KINDS``).
    """
    views = cache / f"{scenario.name}-{_key(scenario, VIEWS)}.zip"

    def drive(part: Path) -> dict[str, Any]:
        simulation = Rendered(scenario, views, degrade)
        with open_library(part, MemoryConfig(), embedder) as library:
            feed(simulation, library, embedder, lambda fed: advance(fed.frames))
            if simulation.degraded is not None:
                simulation.degraded.close(library)
        return {**simulation.truth_log(), "emptied": simulation.emptied}

    folders = (*MEMORY, "evaluation/sim/degraded.py") if degrade else MEMORY
    return _kept(scenario, cache, "-".join([_stem(scenario, folders, embedder), *sorted(degrade)]), drive)


def make_unrendered(
    scenario: Scenario,
    cache: Path,
    embedder: Embedder | None,
    advance: Callable[[int], None] = lambda _: None,
    perceive: Perceive | None = None,
    kind: str = "",
) -> Made:
    """As ``make``, without pictures. ``perceive``: what a recogniser makes of what is in view, ``kind`` names it."""

    def drive(part: Path) -> dict[str, Any]:
        simulation, emptied = Unrendered(scenario), dict[str, int]()

        def frames() -> Iterator[SimFrame]:
            for frame in simulation.frames():
                look_through(simulation.stays, frame, emptied)
                yield frame

        with open_library(part, MemoryConfig(), embedder) as library:
            given = () if perceive is None else (perceive,)
            for done, _ in enumerate(feed_unrendered(frames(), simulation, library, embedder, *given), 1):
                advance(done)
        return {**simulation.truth_log(), "emptied": emptied}

    return _kept(scenario, cache, f"{_stem(scenario, UNRENDERED, embedder)}{kind}", drive)


def _stem(scenario: Scenario, folders: tuple[str, ...], embedder: Embedder | None) -> str:
    name = "none" if embedder is None else embedder.name.replace("/", "-")
    return f"{scenario.name}-{_key(scenario, folders)}-{name}"


def _kept(scenario: Scenario, cache: Path, stem: str, drive: Callable[[Path], dict[str, Any]]) -> Made:
    """The memory and truth of that name in the cache; ``drive`` makes the memory in a file and tells the truth."""
    db, truth = cache / f"{stem}.db", cache / f"{stem}.json"
    if not (truth.exists() and db.exists()):
        part = cache / f"{stem}.{os.getpid()}.part.db"  # others may be making the same at the same time
        told = drive(part)
        part.replace(db)
        for left in cache.glob(f"{part.name}*"):
            left.unlink()
        truth.with_suffix(".part").write_text(json.dumps(told))
        truth.with_suffix(".part").replace(truth)
    return Made(scenario, db, json.loads(truth.read_text()))


def frame_count(scenario: Scenario) -> int:
    """How many frames its robots take."""
    return int(scenario.duration_s * scenario.rate_hz) * len(scenario.robots)


def seconds(stamp_ns: int) -> float:
    """Nanoseconds as seconds."""
    return stamp_ns / NS_PER_S


def _metres(millimetres: npt.NDArray[np.uint16]) -> Float32Array:
    return np.asarray(millimetres.astype(np.float32) / 1000, np.float32)


def _key(scenario: Scenario, folders: tuple[str, ...]) -> str:
    """Hash of a scenario and of the source (folders, files) that makes something of it."""
    digest = hashlib.sha256(json.dumps(asdict(scenario)).encode())
    root = Path(r4_ros.__file__).parent
    for folder in folders:
        for file in sorted((root / folder).glob("*.py")) or [root / folder]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
