"""All seeds, all modes: what ``r4 eval experience`` runs."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from r4_ros.core.ports import Embedder
from r4_ros.evaluation.experience.days import DAYS, DURATION_S, days
from r4_ros.evaluation.experience.figures import figures
from r4_ros.evaluation.experience.modes import MODES
from r4_ros.evaluation.experience.static import tuned_order
from r4_ros.evaluation.experience.stream import BATCH, Ended, Stream
from r4_ros.evaluation.experience.tasks import tasks

DAY_TASKS = 2 * BATCH


def prove(
    seeds: Sequence[int],
    cache: Path,
    embedder: Embedder | None,
    modes: Sequence[str] = tuple(MODES),
    day_tasks: int = DAY_TASKS,
    duration_s: float = DURATION_S,
    done: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The figures, JSON-ready. ``done`` is called after each seed."""
    started, runs = time.monotonic(), defaultdict[str, list[Ended]](list)
    orders: list[list[str]] = []
    for seed in seeds:
        for shift in (False, True):
            wanted = [name for name in modes if MODES[name].shift is shift]
            if not wanted:
                continue
            made = days(seed, cache, embedder, shift, DAYS, duration_s)
            asked = [task for day in made for task in tasks(day, seed, day_tasks)]
            with Stream(made, asked, embedder) as stream, tempfile.TemporaryDirectory() as folder:
                order = tuned_order(stream, asked[: len(asked) // 2], seed) if "static" in wanted else []
                orders += [order] if order else []
                for name in wanted:
                    runs[name].append(stream.run(name, seed, Path(folder), order))
        done()
    found = figures({name: runs[name] for name in modes})
    return {**found, "static_orders": orders, "wall_s": round(time.monotonic() - started, 1)}
