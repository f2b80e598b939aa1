"""A run of the simulated apartment into a memory, and how the memory compares with the truth of it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from r4_ros.bridges.apartment.feed import feed
from r4_ros.bridges.apartment.simulation import Simulation
from r4_ros.core.config import MemoryConfig
from r4_ros.core.ports import Embedder
from r4_ros.evaluation.compare import compare
from r4_ros.evaluation.identity import identity
from r4_ros.memory.library import open_library


def evaluate(
    simulation: Simulation,
    embedder: Embedder | None,
    db: Path | None = None,
    min_pixels: int = 200,
    advance: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """All figures of ``Comparison`` and ``Identity`` by name. ``db``: a new file (None: a temporary one)."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_library(db or Path(folder) / "memory.db", MemoryConfig(), embedder) as library,
    ):
        feed(simulation, library, embedder, lambda fed: advance(fed.frames))
        truth = simulation.truth_log()
        compared, kept_apart = compare(truth, library, min_pixels), identity(truth, library)
        merges = len(library.merges())
    found: dict[str, Any] = {"frames": simulation.frame_count, **asdict(compared), **asdict(kept_apart)}
    found |= {
        "recall": compared.recall,
        "duplicate_share": compared.duplicate_share,
        "switch_share": kept_apart.switch_share,
        "merges": merges,
    }
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in found.items()}
