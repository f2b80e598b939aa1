"""Which model's vectors a memory holds: those of two models can't be compared, so they never come into one memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Frame
from r4_ros.core.ports import Embedder


class VectorModel:
    """``stored``: models of the vectors on disk. Raises InvalidArgument where others would be written beside them."""

    def __init__(self, stored: Iterable[str], embedder: Embedder | None, path: Path | str, read_only: bool) -> None:
        self._names = set(stored)
        self._path = path
        if embedder is None:
            return
        if self._names and embedder.name not in self._names and not read_only:
            raise InvalidArgument(
                f"{path} holds vectors of {self._listed()}, and the embedder here is '{embedder.name}': open it with "
                "the one that it was made with, or carry it over: r4 db export, then r4 db import --embedder"
            )
        self._names.add(embedder.name)

    def check(self, frame: Frame) -> None:
        """Raises InvalidArgument for a frame with vectors of another model."""
        given = self._of(frame)
        if given and self._names and not given <= self._names:
            raise InvalidArgument(
                f"a frame of '{frame.agent_id}' has vectors of '{min(given - self._names)}', and {self._path} holds "
                f"those of {self._listed()}: give perception and memory the same embedder"
            )
        if len(given) > 1 and not self._names:
            raise InvalidArgument(f"a frame of '{frame.agent_id}' mixes vectors of {', '.join(sorted(given))}")

    def took(self, frame: Frame) -> None:
        """The frame was stored."""
        if not self._names:
            self._names = self._of(frame)

    @staticmethod
    def _of(frame: Frame) -> set[str]:
        vectors = (v for o in frame.observations for v in (o.label_embedding, o.description_embedding))
        return {vector.model for vector in vectors if vector is not None}

    def _listed(self) -> str:
        return " and ".join(f"'{name}'" for name in sorted(self._names))
