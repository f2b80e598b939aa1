"""At the start: what queries run over, filled from the store."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from r4_ros.memory.coverage import Coverage
from r4_ros.memory.index import Index
from r4_ros.memory.store import MemoryStore


def load(store: MemoryStore, index: Index, coverage: Coverage) -> None:
    """Fill an empty index and coverage."""
    with no_collection():
        for batch in store.entry_batches():
            index.load(batch)
        for vectors in store.vector_batches():
            index.load_vectors(vectors)
        index.loaded()
        index.absences.take(store.absences())
        for merged in store.merged():
            index.alias(*merged)
        for view in store.views():
            coverage.add(view)
        for minute in store.cells():
            coverage.past.add(minute)


@contextmanager
def no_collection() -> Iterator[None]:
    """Millions of new records, of which none is garbage, would be looked through again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
