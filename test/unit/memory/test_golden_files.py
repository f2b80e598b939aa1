"""Databases of earlier versions open as what they were; ``test/golden`` holds one for each schema that changed since.

A golden file is the database as SQL, made by the version that wrote it, and its entries as JSON.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import CorrectionKind, EntryCorrection
from r4_ros.memory.entry_json import from_json
from r4_ros.memory.library import open_library
from r4_ros.memory.migrations import MIGRATIONS
from r4_ros.memory.sqlite_store import SqliteStore

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.sql")))
def test_an_older_file_is_brought_up_to_date_and_loses_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    raw = sqlite3.connect(path)
    raw.executescript((GOLDEN / f"{name}.sql").read_text(encoding="utf-8"))
    assert raw.execute("PRAGMA user_version").fetchone()[0] < len(MIGRATIONS)
    raw.close()
    expected = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    entries = [from_json(entry) for entry in expected["entries"]]
    store = SqliteStore(path)
    assert list(store.entries()) == entries and store.problems() == []
    assert list(store.entries([e.slot for e in entries])) == entries
    store.close()
    with open_library(path, MemoryConfig()) as library:
        events = [[e.event_id, int(e.kind), e.entry_id, e.stamp_ns] for e in library.events()]
        assert events == expected["events"]
        library.correct(EntryCorrection(CorrectionKind.UNDO, correction_id=1), 50 * 10**9)
        assert [e.label for e in library.entries()] == ["mug", "chair", "box", "mug"]
