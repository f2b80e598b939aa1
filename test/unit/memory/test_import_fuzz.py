"""Whatever stands in a line of an import: it is worked in or refused and counted, and the rest goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r4_ros.core.model import Query
from r4_ros.memory.library import Library
from r4_ros.memory.transfer import Importer

POSE = [0, 0, 0, 0, 0, 0, 1]
LINES: tuple[dict[str, Any], ...] = (
    {"type": "memory", "format": "r4-memory", "version": 1, "live": False, "pruned": False},
    {
        "type": "frame",
        "agent": "r1",
        "stamp": 10**9,
        "base_in_map": POSE,
        "view": {"horizontal_fov": 1.0, "vertical_fov": 0.8, "rows": 1, "cols": 2, "depth": "AEAAQA=="},
        "observations": [
            {"label": "mug", "box_in_map": [2, 0, 1, 0.1, 0.1, 0.1], "attributes": {"color": "red"}, "confidence": 0.9}
        ],
    },
    {"type": "embedding", "text": "mug", "model": "m", "vector": "AEAAQA=="},
    {
        "type": "episode",
        "agent": "r1",
        "text": "hello",
        "start": 1,
        "end": 2,
        "place": [1, 2, 3],
        "participants": ["Anna"],
    },
    {
        "type": "coverage",
        "agent": "r1",
        "start": 0,
        "low": [0, 0, 0],
        "size": [1, 1, 1],
        "looked": "gA==",
        "reached": "gA==",
    },
    {"type": "region", "name": "hall", "polygon": [[0, 0], [1, 0], [1, 1]], "z_min": 0, "z_max": 2},
    {"type": "correction", "kind": "PIN", "stamp": 1, "entry_id": "x", "position": [1, 2, 3]},
    {"type": "path", "agent": "r1", "nodes": [[10**9, *POSE]]},
    {"type": "alignment", "agent": "r1", "map_id": "a", "common_id": "b", "stamp": 1, "pose": POSE},
    {"type": "anchor"},
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**19, -(10**19), 2**63 - 1, 10**400]),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["\ud800", "\0", "VISIBLE", "AEAAQA=="]),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=3), inner))


@st.composite
def lines(draw: Any) -> str:
    """A line of which one value, however deep, is another one."""
    value: Any = json.loads(json.dumps(draw(st.sampled_from(LINES))))
    holder, key = value, draw(st.sampled_from(sorted(value)))
    while isinstance(holder[key], (dict, list)) and holder[key] and draw(st.booleans()):
        holder = holder[key]
        key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
    holder[key] = draw(VALUES)
    return json.dumps(value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bad=st.lists(st.one_of(lines(), st.text(max_size=20)), max_size=6))
def test_no_line_ends_an_import(open_memory: Callable[..., Library], bad: list[str]) -> None:
    with open_memory() as library:
        good = json.dumps(LINES[1])
        stream = [good, *(line.replace("\n", " ") for line in bad), json.dumps({**LINES[1], "agent": "last"})]
        done = Importer(library).read(stream)
        assert done.refused == len(done.problems) <= len(bad)
        assert "last" in library.agents()
        found = library.retrieve(Query(agents=("last",)))
        assert [entry.label for entry in found.entries] == ["mug"]
        assert library.info()["rows"]["entry"] >= 2  # type: ignore[index]


def test_brackets_without_end_are_no_json(memory: Library) -> None:
    assert Importer(memory).read(["[" * 200_000]).refused == 1


def test_a_zero_byte_is_no_text(memory: Library) -> None:
    lines = [json.dumps({**line, key: "a\0b"}) for line in LINES for key in ("agent", "text", "name", "map_id")]
    done = Importer(memory).read([*lines, json.dumps({**LINES[1], "agent": "\\u0000"})])
    assert done.refused == len(lines) and done.frames == 1 and memory.agents() == ["\\u0000"], "PostgreSQL has none"


def test_half_a_surrogate_pair_is_no_text(memory: Library) -> None:
    lines = [json.dumps({**line, key: "\ud800"}) for line in LINES for key in ("agent", "text", "name", "map_id")]
    done = Importer(memory).read([*lines, json.dumps(LINES[1]), json.dumps({**LINES[1], "agent": "\U0001f916"})])
    assert done.refused == len(lines) and done.frames == 2
    assert memory.agents() == ["r1", "\U0001f916"], "a whole pair is text as any other"
