"""A disk that is full or fails, a file that is read-only, locked or damaged: nothing half-written, queries go on."""

from __future__ import annotations

import resource
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import SchemaError, StoreError
from r4_ros.core.model import (
    CorrectionKind,
    EntryCorrection,
    Episode,
    EpisodeSource,
    Interval,
    Pose,
    Query,
    Region,
)
from r4_ros.memory import sqlite_file
from r4_ros.memory.library import Library, open_library

CONFIG = MemoryConfig(writer_silence_s=0.0, history_days=1e-9)
Trouble = Callable[[Library], AbstractContextManager[None]]


@contextmanager
def full(library: Library) -> Iterator[None]:
    """No page more than the file has; its log can still grow, so what is refused is the transaction."""
    file = library._store._file  # type: ignore[attr-defined]
    with file._lock:
        [(pages,)] = file.execute("PRAGMA page_count")
        file.execute(f"PRAGMA max_page_count = {pages}")
    yield
    file.execute("PRAGMA max_page_count = 1000000")


@contextmanager
def failing(library: Library) -> Iterator[None]:
    """The operating system refuses to let files grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = library._store.path.with_name(library._store.path.name + "-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(library: Library) -> Iterator[None]:
    """As on a disk that was remounted."""
    file = library._store._file  # type: ignore[attr-defined]
    file.execute("PRAGMA query_only = 1")
    yield
    file.execute("PRAGMA query_only = 0")


@contextmanager
def locked(library: Library) -> Iterator[None]:
    """Another program writes with no regard to our lock."""
    other = sqlite3.connect(library._store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


TROUBLES: dict[str, tuple[Trouble, str]] = {
    "full": (full, "the disk is full; free space"),
    "failing": (failing, "the disk failed to read or write; check the disk and free space"),
    "read-only": (read_only, "read-only; check the rights"),
    "locked": (locked, "locked by another process; stop it or try again"),
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_S", 0.05)


def content(library: Library) -> Any:
    return library.entries(), library.events(), library.corrections(), library.trail("r1"), library.info()["rows"]


def known(library: Library, robot: Any, thing: Any) -> None:
    for i in range(70):
        things = [thing(f"kind {n}", (1 + n % 4, n / 4 - 1, 0.5)) for n in range(i % 2, 8)]
        library.ingest(robot.frame(10 + i, *things))


def write_frame(library: Library, robot: Any, thing: Any) -> Any:
    frame = robot.frame(90, thing("kind 1", (2, -0.7, 0.5)), *(thing(f"new {n} " * 99, (3, n, 1)) for n in range(40)))
    return lambda: library.ingest(frame)


def correct(library: Library, robot: Any, thing: Any) -> Any:
    said = EntryCorrection(CorrectionKind.RENAME, library.entries()[0].entry_id, label="cup " * 4000)
    return lambda: library.correct(said, 10**9)


def correct_anchors(library: Library, robot: Any, thing: Any) -> Any:
    nodes = [10 * 10**9, 70 * 10**9], [Pose((5, 0, 0)), Pose((5.5, 0, 0))]
    return lambda: library.correct_anchors("r1", *nodes)


def add_episode(library: Library, robot: Any, thing: Any) -> Any:
    episode = Episode("", "r1", "hello " * 4000, Interval(10, 20), EpisodeSource.CAPTION)
    return lambda: library.add_episode(episode)


def set_regions(library: Library, robot: Any, thing: Any) -> Any:
    return lambda: library.set_regions([Region("kitchen", tuple((float(i), 0.5) for i in range(999)))])


def drop_history(library: Library, robot: Any, thing: Any) -> Any:
    return library.keep_history


WRITES = (write_frame, correct, correct_anchors, add_episode, set_regions, drop_history)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_write_is_refused_whole_with_advice_and_taken_once_the_trouble_is_over(
    trouble: str, write: Any, tmp_path: Path, make_robot: Any, thing: Any
) -> None:
    if trouble == "full" and write in (correct_anchors, drop_history):
        pytest.skip("needs no more room than there is")
    under, advice = TROUBLES[trouble]
    contents = []
    for name in ("troubled.db", "smooth.db"):
        with open_library(tmp_path / name, CONFIG) as library:
            robot = make_robot()
            known(library, robot, thing)
            do = write(library, robot, thing)
            if name == "troubled.db":
                before, revision = content(library), library.revision
                with under(library), pytest.raises(StoreError, match=advice):
                    do()
                with under(library):
                    assert content(library) == before and library.revision == revision
                    assert len(library.retrieve(Query()).entries) == 8
            do()
            contents.append((content(library), library.revision))
    assert contents[0] == contents[1]
    for name, held in (("troubled.db", contents[0]), ("smooth.db", contents[1])):
        with open_library(tmp_path / name, CONFIG) as again:
            assert (content(again), again.revision) == held and again._store.problems() == []


def test_a_step_of_the_map_that_could_not_be_stored_is_noticed_again(
    tmp_path: Path, make_robot: Any, thing: Any
) -> None:
    contents = []
    for troubled in (True, False):
        config = replace(CONFIG, tf_jump="recent", history_days=0.0)
        with open_library(tmp_path / f"{troubled}.db", config) as library:
            robot = make_robot(drift=Pose())
            for i in range(12):
                robot.where = (i * 0.3, 0.0, 0.0)
                library.ingest(robot.frame(10 + i, thing("mug", (4, 1, 1))))
            frame = robot.frame(22, thing("mug", (4, 1, 1)))
            stepped = replace(frame, sensor_in_map=Pose((4.5, 0.4, 1.0), frame.sensor_in_map.orientation))
            if troubled:
                with locked(library), pytest.raises(StoreError):
                    library.ingest(stepped)
            assert library.ingest(stepped).anchors > 0
            contents.append(content(library))
    assert contents[0] == contents[1]


def test_a_log_that_was_cut_off_loses_the_last_frames_at_most(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    library, robot = open_library(tmp_path / "a.db", CONFIG), make_robot()
    known(library, robot, thing)
    for cut in (1, 40, 4096, 100_000):
        for end in ("", "-wal"):
            shutil.copy(tmp_path / f"a.db{end}", tmp_path / f"cut.db{end}")
        log = tmp_path / "cut.db-wal"
        content_ = log.read_bytes()
        log.write_bytes(content_[: len(content_) - cut])
        (tmp_path / "cut.db-shm").unlink(missing_ok=True)
        with open_library(tmp_path / "cut.db", CONFIG) as again:
            frames: Any = again.info()["rows"]
            assert again._store.problems() == [] and 0 < frames["frame"] < 70
            assert again.trail("r1") == library.trail("r1")[: frames["frame"]]
    library.close()


def test_a_damaged_file_is_refused_with_advice_and_left_as_it_is(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    with open_library(tmp_path / "a.db", CONFIG) as library:
        known(library, make_robot(), thing)
    sound = (tmp_path / "a.db").read_bytes()
    for name, damaged in (
        ("short", sound[: len(sound) // 2]),
        ("holes", sound[:4096] + bytes(len(sound) - 4096)),
        ("head", b"\0" * 100 + sound[100:]),
    ):
        path = tmp_path / f"{name}.db"
        path.write_bytes(damaged)
        with pytest.raises((StoreError, SchemaError), match=r"restore a backup|give another file"):
            open_library(path, CONFIG)
        assert path.read_bytes() == damaged


def test_damage_while_it_runs_is_told_and_does_not_end_the_memory(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    robot = make_robot()
    with open_library(tmp_path / "a.db", CONFIG) as library:
        known(library, robot, thing)
    library = open_library(tmp_path / "a.db", CONFIG)
    size = (tmp_path / "a.db").stat().st_size
    with (tmp_path / "a.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StoreError, match=r"restore a backup"):
        library.ingest(robot.frame(90, thing("kind 1", (2, -0.7, 0.5))))
    assert library.agents() == ["r1"] and library.newest_stamp() == 79 * 10**9
    library.close()


def moved_back(files: list[Path], away: Path) -> None:
    for file in files:
        (away / file.name).rename(file)


@pytest.mark.parametrize("what", ["all", "file", "log", "replaced"])
def test_a_file_that_is_taken_away_while_it_is_open_acknowledges_nothing(
    tmp_path: Path, make_robot: Any, thing: Any, what: str
) -> None:
    """SQLite writes on to files that nobody can open any more: what was acknowledged would end with the process."""
    robot, away = make_robot(), tmp_path / "away"
    away.mkdir()
    library = open_library(tmp_path / "a.db", CONFIG)
    known(library, robot, thing)
    before = content(library)
    files = [tmp_path / f"a.db{ending}" for ending in {"file": ("",), "log": ("-wal",)}.get(what, ("", "-wal"))]
    for file in files:
        file.rename(away / file.name)
        if what == "replaced":
            file.touch()
    for _ in range(2):
        with pytest.raises(StoreError, match="deleted, moved or replaced while it was open"):
            library.ingest(robot.frame(90, thing("kind 1", (2, -0.7, 0.5))))
    assert content(library) == before and library.retrieve(Query()).entries
    assert library.snapshot(tmp_path / "saved.db") > 0
    with open_library(tmp_path / "saved.db", CONFIG, read_only=True) as saved:
        assert saved.entries() == before[0]
    moved_back(files, away)
    assert library.ingest(robot.frame(90, thing("kind 1", (2, -0.7, 0.5)))).stored == 1, "it is there again"
    library.close()
    with open_library(tmp_path / "a.db", CONFIG, read_only=True) as again:
        assert len(again.entries()) == len(before[0])
        assert again.newest_stamp() == 90 * 10**9
