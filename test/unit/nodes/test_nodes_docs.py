"""docs/nodes.md and config/r4.yaml tell the same as core/config. Run as a program, this writes the page's tables."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from r4_ros.core.config import (
    ExperienceConfig,
    MemoryConfig,
    PerceptionConfig,
    ReasonerConfig,
    build,
    default_of,
    param_fields,
)

ROOT = Path(__file__).resolve().parents[3]
DOCS, CONFIG = ROOT / "docs" / "nodes.md", ROOT / "config" / "r4.yaml"
NODES: dict[str, type[Any]] = {
    "perception_node": PerceptionConfig,
    "memory_node": MemoryConfig,
    "reasoner_node": ReasonerConfig,
    "experience_node": ExperienceConfig,
}


def table(node: str) -> str:
    rows = ["| parameter | default | range | live | |", "|---|---|---|---|---|"]
    for f in param_fields(NODES[node]):
        meta, default = f.metadata, default_of(f)
        shown = f"{default:.6g}" if isinstance(default, float) else json.dumps(default)
        limits = ", ".join(meta["choices"])
        low, high = meta["low"], meta["high"]
        if math.isfinite(low) or math.isfinite(high):
            ends = [f"{value:g}" if math.isfinite(value) else "" for value in (low, high)]
            limits = " ".join(part for part in (ends[0], "..", ends[1], meta["unit"]) if part)
        rows.append(f"| `{f.name}` | `{shown}` | {limits} | {'yes' if meta['live'] else ''} | {meta['doc']} |")
    return "\n".join(rows)


def with_tables(text: str) -> str:
    """The page with every table as it should be."""

    def fresh(match: re.Match[str]) -> str:
        return f"{match[1]}\n{table(match[2])}\n\n"

    return re.sub(r"(<!-- parameters: (\w+) -->)\n(?:\|[^\n]*\n)*\n*", fresh, text).rstrip("\n") + "\n"


def test_every_parameter_stands_in_the_docs_as_it_is() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- parameters: (\w+) -->", text)) == set(NODES)
    assert text == with_tables(text)


@pytest.mark.parametrize("node", NODES)
def test_the_parameter_file_gives_every_default(node: str) -> None:
    given = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    values = given[f"/**/{node}"]["ros__parameters"]
    assert list(values) == [f.name for f in param_fields(NODES[node])]
    assert build(NODES[node], values) == NODES[node]()


@pytest.mark.parametrize(
    "module",
    sorted([*(ROOT / "r4_ros" / "nodes").glob("*_node.py"), ROOT / "r4_ros" / "nodes" / "inputs.py"]),
    ids=lambda p: p.stem,
)
def test_every_topic_and_service_stands_in_the_docs(module: Path) -> None:
    source = module.read_text(encoding="utf-8")
    names = set(re.findall(r'"((?:memory|perception|reasoner|experience|color|depth|label)/[\w/]+)"', source))
    assert names
    missing = [name for name in sorted(names) if f"`{name}`" not in DOCS.read_text(encoding="utf-8")]
    assert missing == []


if __name__ == "__main__":
    DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8")), encoding="utf-8")
