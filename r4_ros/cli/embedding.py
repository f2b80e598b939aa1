"""Which text embedder a command uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from r4_ros.core.ports import Embedder

AUTO = "auto"
HELP = "auto: the one that the memory was made with; minilm, multilingual, st:NAME, or none: only equal words match"


def embedder_for(db: str | Path, name: str = AUTO) -> Embedder | None:
    """The embedder of that name; 'auto': the one that made a memory's vectors. Raises InvalidArgument, StoreError."""
    from r4_ros.adapters.embedders import embedder_of, make_embedder
    from r4_ros.core.errors import StoreEmpty
    from r4_ros.memory.database_name import exists
    from r4_ros.memory.stores import open_store

    if name != AUTO:
        return make_embedder(name)
    if not exists(db):
        return make_embedder("minilm")
    try:
        store = open_store(db, read_only=True)
    except StoreEmpty:
        return make_embedder("minilm")
    try:
        return embedder_of(store.vector_models())
    finally:
        store.close()
