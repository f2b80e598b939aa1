"""docs/data.md names every record and every value that a caller may meet."""

from __future__ import annotations

import dataclasses
import re
from enum import Enum
from pathlib import Path

import pytest

from r4_ros.core import model, queries, records

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text()
ENUMS = [
    e
    for e in vars(model).values()
    if isinstance(e, type) and issubclass(e, Enum) and e not in (model.Order, model.Visibility)
]
PARTS = {"AttributeValue", "Stay", "SpatialConstraint", "TemporalConstraint", "TraceStep"}
RECORDS = sorted(
    name
    for module in (records, queries)
    for name, value in vars(module).items()
    if dataclasses.is_dataclass(value) and value.__module__ == module.__name__ and name not in PARTS
)


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_described(name: str) -> None:
    assert f"**{name}**" in TEXT


@pytest.mark.parametrize("enum", [*ENUMS, model.Visibility], ids=lambda e: e.__name__)
def test_every_value_is_named(enum: type[Enum]) -> None:
    words = set(re.findall(r"[A-Z_]{2,}", TEXT))
    assert {member.name for member in enum} - words == set()
