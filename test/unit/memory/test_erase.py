"""What was forgotten can be erased: nothing of it is in the file any more, and nothing else is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memories import content, exported, plain

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import CorrectionKind as K
from r4_ros.core.model import Embedding, EntryCorrection, Episode, EpisodeSource, Interval, Observation, Query
from r4_ros.memory.library import open_library
from r4_ros.memory.sql_erase import Erased
from r4_ros.memory.sqlite_store import SqliteStore
from r4_ros.memory.transfer import Importer

SECRET = "xylophone-of-anna"


def said(library: Any, kind: K, entry_id: str = "", stamp: int = 50, **more: Any) -> Any:
    return library.correct(EntryCorrection(kind, entry_id, source="bob", **more), stamp)


def erased(path: Path, before: int = 100, only: tuple[str, ...] = ()) -> Erased:
    store = SqliteStore(path)
    try:
        return store.erase(before, only)
    finally:
        store.close()


def meant(o: Observation, embedder: Any) -> Observation:
    """With the vector of its description."""
    vector = Embedding("axes", embedder.embed([o.description])[0]) if o.description else None
    return replace(o, description_embedding=vector)


@pytest.fixture
def path(tmp_path: Path, robot: Any, thing: Any, axes: Any) -> Path:
    """A mug, a plate, and something secret that was merged with another, renamed, and moved."""
    path, embedder = tmp_path / "memory.db", axes()
    secret = thing("bag", (3, 1, 0.8)).seen(description=f"the {SECRET}", attributes=(("owner", SECRET),), track_id="7")
    with open_library(path, MemoryConfig(), embedder) as library:
        for i in range(6):
            frame = robot.frame(1 + i, thing("mug", (2, 0, 0.8)), secret, thing("plate", (2, -1.5, 0.8)))
            library.ingest(replace(frame, observations=tuple(meant(o, embedder) for o in frame.observations)))
        library.ingest(robot.frame(8, secret.at(3, 2.5, 0.8), thing("chest", (3, 1.5, 0.8)).seen(description=SECRET)))
        ids = {e.label: e.entry_id for e in library.entries()}
        said(library, K.RENAME, ids["bag"], label=SECRET)
        said(library, K.MERGE, ids["bag"], other_id=ids["chest"])
        said(library, K.RENAME, ids["mug"], label="cup")
        said(library, K.UNDO)
        said(library, K.PIN, ids["plate"])
    return path


def forget(path: Path, stamp: int = 50) -> str:
    with open_library(path, MemoryConfig()) as library:
        [entry_id] = [e.entry_id for e in library.entries() if e.label == SECRET]
        said(library, K.FORGET, entry_id, stamp)
        return str(entry_id)


def test_nothing_of_it_is_left_and_nothing_else_is_missing(path: Path, robot: Any, thing: Any) -> None:
    forget(path)
    before = plain(content(path))
    assert SECRET.encode() in path.read_bytes()
    assert erased(path) == Erased(2, 8)
    assert SECRET.encode() not in b"".join(p.read_bytes() for p in path.parent.glob("memory.db*"))
    after = plain(content(path))
    for name in ("entries", "placed", "events", "trails", "anchors"):
        assert after[name] == before[name], name
    with open_library(path, MemoryConfig()) as library:
        assert library._store.problems() == []  # type: ignore[attr-defined]
        assert [(r.correction.kind, r.undone_by) for r in library.corrections()] == [
            (K.RENAME, -1),
            (K.MERGE, -1),
            (K.RENAME, 4),
            (K.UNDO, 0),
            (K.PIN, 0),
            (K.FORGET, -1),
        ]
        with pytest.raises(InvalidArgument, match="correction 6"):
            said(library, K.UNDO, correction_id=6)
        said(library, K.UNDO)  # the pin
        ids = {e.entry_id for e in library.entries()}
        for i in range(3):
            library.ingest(robot.frame(20 + i, thing("mug", (2, 0, 0.8)), thing("bag", (3, 2.5, 0.8))))
        new = [e for e in library.entries() if e.entry_id not in ids]
        assert [(e.label, e.count) for e in new] == [("bag", 3)], "what is seen there now is new"
        assert len(library.retrieve(Query(limit=9)).entries) == 3


def test_the_same_frames_again_do_not_bring_it_back(path: Path, robot: Any, thing: Any) -> None:
    forget(path)
    erased(path)
    robot.sequence = 0
    with open_library(path, MemoryConfig(writer_silence_s=0.0)) as library:
        receipt = library.ingest(robot.frame(1, thing("mug", (2, 0, 0.8)), thing("bag", (3, 1, 0.8))))
        assert receipt.stored == 0 and len(library.entries()) == 2


def test_only_what_was_forgotten_is_erased_and_long_enough_ago(path: Path) -> None:
    assert erased(path) == Erased(0, 0), "nothing is forgotten yet"
    entry_id = forget(path, stamp=200)
    assert erased(path, 200) == Erased(0, 0) and erased(path, 201, ("other",)) == Erased(0, 0)
    assert erased(path, 201, (entry_id,)) == Erased(2, 8)
    assert erased(path, 300) == Erased(0, 0)


def test_what_was_forgotten_and_taken_back_stays(path: Path) -> None:
    forget(path)
    with open_library(path, MemoryConfig()) as library:
        said(library, K.UNDO)
    assert erased(path) == Erased(0, 0)


def test_an_export_says_nothing_of_it_and_what_was_said_of_others(path: Path, tmp_path: Path) -> None:
    forget(path)
    erased(path)
    lines = exported(path)
    assert SECRET not in "".join(lines)
    with open_library(tmp_path / "copy.db", replace(MemoryConfig(), writer_silence_s=0.0)) as library:
        done = Importer(library).read(lines, strict=True)
        assert (done.corrections, [r.undone_by for r in library.corrections()]) == (3, [2, 0, 0])
    a, b = plain(content(path)), content(tmp_path / "copy.db")
    assert a["entries"] == b["entries"] and a["events"] == b["events"] and a["trails"] == b["trails"]


def test_what_others_found_of_it_and_were_told_of_it_goes_too(tmp_path: Path, make_robot: Any, thing: Any) -> None:
    first, second = make_robot("r1", map_id="home"), make_robot("r2", map_id="home")
    path = tmp_path / "memory.db"
    with open_library(path, MemoryConfig(), None) as library:
        library.ingest(first.frame(1, thing("mug", (2, 0, 0.8)), thing("cup", (2, 2, 0.8))))
        mug, cup = sorted(library.entries(), key=lambda e: e.label, reverse=True)
        for t in (20, 20.5, 21):
            library.ingest(second.absent(t, mug.entry_id, mug.revision))
        owned = ("Carl", f"Anna owns {mug.entry_id}", mug.entry_id, f"Ben owns {cup.entry_id}")
        library.add_episode(Episode("", "r1", "look", Interval(1, 2), EpisodeSource.OPERATOR, participants=owned))
        said(library, K.FORGET, mug.entry_id)
    assert erased(path).entries == 1
    assert mug.entry_id.encode() not in path.read_bytes()
    with open_library(path, MemoryConfig()) as library:
        (episode,) = library.retrieve(Query(with_episodes=True)).episodes
        assert episode.text == "look" and episode.participants == ("Carl", f"Ben owns {cup.entry_id}")
    with open_library(tmp_path / "other.db", MemoryConfig()) as other:
        assert Importer(other).read(exported(path)).refused == 0
