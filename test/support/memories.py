"""What a memory says, to be compared with what another one does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Query
from r4_ros.memory.library import open_library
from r4_ros.memory.sqlite_store import SqliteStore
from r4_ros.memory.transfer import export_lines


def exported(path: Path) -> list[str]:
    store = SqliteStore(path, read_only=True)
    try:
        return list(export_lines(store))
    finally:
        store.close()


def content(path: Path) -> dict[str, Any]:
    """All that a memory says, with numbers rounded to what a frame is stored with."""
    with open_library(path, MemoryConfig(), read_only=True) as library:
        found = {
            "entries": library.entries(),
            "placed": library.placed(),
            "events": library.events(),
            "trails": {agent: library.trail(agent) for agent in library.agents()},
            "regions": library.regions(),
            "live": library.live,
            "episodes": library.retrieve(Query(with_episodes=True)).episodes,
            "anchors": list(library._store.anchors()),
            "said": library.corrections(),
            "merges": [(m.kept_id, m.merged_id, m.stamp_ns, m.reason) for m in library.merges()],
            "moves": [row[0] for row in library._store._file.execute("SELECT reason FROM shift ORDER BY shift_no")],
        }
    return {name: near(value) for name, value in found.items()}


def near(value: Any) -> Any:
    """Floats as ``approx``, so that two contents compare field by field."""
    if isinstance(value, float):
        return pytest.approx(value, abs=1e-4)
    if isinstance(value, (list, tuple)):
        return [near(v) for v in value]
    if isinstance(value, dict):
        return {k: near(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return near(value.tolist())
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields and not isinstance(value, type):
        # counts of the memory's changes differ where episodes and regions came in another order
        return {name: near(getattr(value, name)) for name in fields if name != "revision"}
    return value


def plain(value: Any) -> Any:
    """The numbers of ``near`` again."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.expected if hasattr(value, "expected") else value
