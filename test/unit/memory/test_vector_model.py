"""Vectors of two models never come into one memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Embedding, Query
from r4_ros.memory.library import open_library


class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, texts: Any) -> Any:
        return np.eye(8, dtype=np.float32)[: len(texts)]


def vector(model: str, place: int = 0) -> Embedding:
    return Embedding(model, np.eye(8, dtype=np.float32)[place])


def test_the_first_frame_s_model_is_the_memory_s(memory: Any, robot: Any, thing: Any) -> None:
    mug, book = thing("mug", (2, 0, 1)), thing("book", (2, 2, 1))
    memory.ingest(robot.frame(1, mug))  # none: says nothing
    memory.ingest(robot.frame(2, mug.seen(label_embedding=vector("a"))))
    memory.ingest(robot.frame(3, book))
    with pytest.raises(InvalidArgument, match=r"vectors of 'b', and .* those of 'a': give perception and memory the"):
        memory.ingest(robot.frame(4, mug.seen(label_embedding=vector("b"))))
    with pytest.raises(InvalidArgument, match="vectors of 'b'"):
        memory.ingest(robot.frame(5, mug.seen(label_embedding=vector("a"), description_embedding=vector("b"))))
    assert memory.ingest(robot.frame(6, mug.seen(label_embedding=vector("a")))).stored == 1
    assert len(memory.entries()) == 2


def test_a_frame_that_mixes_two_is_refused_by_an_empty_memory_too(memory: Any, robot: Any, thing: Any) -> None:
    mug, book = thing("mug", (2, 0, 1)), thing("book", (2, 2, 1))
    frame = robot.frame(1, mug.seen(label_embedding=vector("a")), book.seen(label_embedding=vector("b")))
    with pytest.raises(InvalidArgument, match="mixes vectors of a, b"):
        memory.ingest(frame)
    assert memory.entries() == [] and memory.ingest(robot.frame(2, mug.seen(label_embedding=vector("b")))).stored == 1


def test_another_embedder_opens_it_for_reading_only(open_memory: Any, robot: Any, thing: Any, tmp_path: Path) -> None:
    memory = open_memory(embedder=Named("a"))
    with pytest.raises(InvalidArgument, match="vectors of 'b'"):
        memory.ingest(robot.frame(1, thing("mug", (2, 0, 1)).seen(label_embedding=vector("b"))))
    memory.ingest(robot.frame(2, thing("mug", (2, 0, 1)).seen(label_embedding=vector("a"))))
    memory.close()
    with pytest.raises(
        InvalidArgument, match=r"holds vectors of 'a', and the embedder here is 'b'.*r4 db import --embedder"
    ) as refused:
        open_library(tmp_path / "memory.db", MemoryConfig(), Named("b"))
    assert refused.traceback, "which keeps alive what was opened: the file must be free all the same"
    reader = open_memory(embedder=Named("b"), read_only=True)
    assert len(reader.retrieve(Query(labels=("mug",))).entries) == 1
    reader.close()
    plain = open_memory()
    with pytest.raises(InvalidArgument, match="those of 'a'"):
        plain.ingest(robot.frame(3, thing("mug", (2, 0, 1)).seen(label_embedding=vector("b"))))
    assert plain._store.vector_models() == ["a"]
