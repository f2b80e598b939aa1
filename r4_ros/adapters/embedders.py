"""Text embedders by name."""

from __future__ import annotations

from collections.abc import Sequence

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.ports import Embedder

NAMES = "minilm, multilingual, none, or st:NAME (a sentence-transformers model on the hub, or in a folder)"


def make_embedder(name: str) -> Embedder | None:
    """The embedder of a config value (see NAMES); None for 'none': then only equal labels are alike.

    Raises InvalidArgument for a name that isn't known. Nothing is loaded before the first text.
    """
    if name == "none":
        return None
    if name == "minilm":
        from r4_ros.adapters.minilm import MiniLm

        return MiniLm()
    if name == "multilingual":
        from r4_ros.adapters.multilingual import Multilingual

        return Multilingual()
    if name.startswith("st:") and len(name) > 3:
        from r4_ros.adapters.sentence_embedder import SentenceEmbedder

        return SentenceEmbedder(name[3:])
    raise InvalidArgument(f"embedder '{name}' is unknown: use {NAMES}")


def embedder_of(models: Sequence[str]) -> Embedder | None:
    """The embedder that made a memory's vectors, by the models' names in it; MiniLM where none of them is known."""
    from r4_ros.adapters import minilm, multilingual

    if minilm.NAME not in models:
        if multilingual.NAME in models:
            return make_embedder("multilingual")
        named = next((model for model in models if model.startswith("st:")), "")
        if named:
            return make_embedder(named)
    return make_embedder("minilm")
