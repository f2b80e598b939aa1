"""The reasoner's own time for a question, without a model, against a memory of many things.

``overhead``: everything but the memory's retrievals: reading the question, the plan, sifting, judging, wording.
``memory``: all retrievals of a question together. ``total``: both. Milliseconds of the thread's own processor time, so
that what else runs doesn't count; ``wall`` is the total by the clock.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import Float32Array, Query, Question, Retrieval
from r4_ros.core.ports import Memory
from r4_ros.evaluation.bench_data import AGENTS, DIMENSION, MODEL, make_things
from r4_ros.evaluation.bench_fill import fill
from r4_ros.memory.library import open_library
from r4_ros.reasoner.answer import Reasoner
from r4_ros.reasoner.decompose import plan

NAMES = (
    "cup chair table lamp book sofa bed shelf plant bottle box bag door window picture clock keyboard monitor mouse "
    "towel pillow rug mirror sink stove toaster kettle bowl plate spoon"
).split()
WORDINGS = (
    "where is the {a}",
    "where did you last see the {a}",
    "is there a {a} on the {b}",
    "how many {a}s are near the {b}",
    "what is next to the {a} nearest to the {b}",
    "what colour is the {a} on the {b}",
    "how far is the {a} from the {b}",
    "which is closer to me, the {a} or the {b}",
    "when did you first see the {a}",
    "is the {a} under the {b}",
    "what was on the {a} two hours ago",
    "was the {a} moved",
    "how long has the {a} been on the {b}",
    "take me to the nearest {a}",
    "what did robot 2 see on the {a}",
    "is the {a} between the {b} and the {c}",
    "if I stand at the {a} facing the {b}, what is on my left",
    "why is the {a} broken",
)


class _Hashed:
    """An embedder whose vectors are random but the same for the same text: the memory has vectors to scan."""

    name = MODEL

    def embed(self, texts: Sequence[str]) -> Float32Array:
        """One unit vector a text."""
        seeds = (int.from_bytes(hashlib.sha256(t.encode()).digest()[:8], "big") for t in texts)
        vectors = np.stack([np.random.default_rng(s).standard_normal(DIMENSION, np.float32) for s in seeds])
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


class _Timed:
    """A memory that adds up how long its retrievals take."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.seconds, self.count = 0.0, 0

    def retrieve(self, query: Query, deadline_s: float = 10.0) -> Retrieval:
        """The memory's retrieval."""
        started = time.thread_time()
        try:
            return self._memory.retrieve(query, deadline_s)
        finally:
            self.seconds += time.thread_time() - started
            self.count += 1


def bench_reasoner(entries: int, questions: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Ask so many questions of a memory with so many entries; see the module."""
    plan("what is on the table")  # the parser is loaded once
    with tempfile.TemporaryDirectory(prefix="r4-bench-") as folder:
        path = Path(folder) / "memory.db"
        say(f"{entries:,} entries")
        fill(path, make_things(entries), NAMES)
        with open_library(path, MemoryConfig(), _Hashed()) as library:
            return _ask(library, asked(questions), entries)


def asked(count: int) -> list[str]:
    """Questions of all wordings in turn, the same for the same count."""
    rng = random.Random(0)
    made = []
    for wording in itertools.islice(itertools.cycle(WORDINGS), count):
        a, b, c = rng.sample(NAMES, 3)
        made.append(wording.format(a=a, b=b, c=c))
    return made


def _ask(memory: Memory, questions: Sequence[str], entries: int) -> dict[str, Any]:
    timed = _Timed(memory)
    reasoner = Reasoner(timed)
    reasoner.answer(Question(questions[0], ego_agent=AGENTS[0]))
    timed.count = 0
    rows, verdicts = list[tuple[float, float, float, float]](), Counter[str]()
    for text in questions:
        timed.seconds = 0.0
        started = time.thread_time()
        plan(text)
        planned, clock = time.thread_time(), time.perf_counter()
        answer = reasoner.answer(Question(text, ego_agent=AGENTS[0]))
        total, wall = time.thread_time() - planned, time.perf_counter() - clock
        rows.append((total, timed.seconds, planned - started, wall))
        verdicts[answer.verdict.value] += 1
    total, memory_ms, plan_ms, wall = np.array(rows).T * 1e3
    found: dict[str, Any] = {
        "entries": entries,
        "questions": len(questions),
        "verdicts": dict(sorted(verdicts.items())),
    }
    parts = {"overhead": total - memory_ms, "plan": plan_ms, "memory": memory_ms, "total": total, "wall": wall}
    for name, values in parts.items():
        p50, p99 = np.percentile(values, (50, 99)).tolist()
        found |= {f"{name}_ms_p50": round(p50, 2), f"{name}_ms_p99": round(p99, 2)}
    return found | {"retrievals": round(timed.count / len(questions), 2)}
