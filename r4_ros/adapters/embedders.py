"""Text embedders by name."""

from __future__ import annotations

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.ports import Embedder


def make_embedder(name: str) -> Embedder | None:
    """The embedder of a config value: 'minilm', or None for 'none' (then only equal labels are alike)."""
    if name == "none":
        return None
    if name == "minilm":
        from r4_ros.adapters.minilm import MiniLm

        return MiniLm()
    raise InvalidArgument(f"embedder '{name}' is unknown: use 'minilm' or 'none'")
