"""What a documented parameter is, and how values become a config: validated together, never half."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from r4_ros.core.errors import InvalidArgument

Value = bool | int | float | str | list[str]
ConfigT = TypeVar("ConfigT")


def param_fields(config: type[Any]) -> tuple[Field[Any], ...]:
    """The documented fields of a config class, in order."""
    return tuple(f for f in fields(config) if "doc" in f.metadata)


def default_of(f: Field[Any]) -> Value:
    """The default of a documented field; lists are fresh copies."""
    if f.default_factory is not MISSING:
        return cast(Value, f.default_factory())
    return cast(Value, f.default)


def build(config: type[ConfigT], values: Mapping[str, Value]) -> ConfigT:
    """Validate all values together, then make the config. Integers are taken for floats.

    Raises InvalidArgument that names every field that is wrong, with its range.
    """
    known = {f.name: f for f in param_fields(config)}
    problems = [f"unknown parameter '{name}'" for name in values if name not in known]
    checked: dict[str, Value] = {}
    for name, f in known.items():
        default = default_of(f)
        value = values.get(name, default)
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if isinstance(value, bool) and str(value).lower() in f.metadata["choices"]:
            value = str(value).lower()  # YAML reads true and false as more than words
        problem = _problem(f, value, default)
        if problem:
            problems.append(f"{name} = {value!r}: {problem}")
        checked[name] = list(value) if isinstance(value, list) else value
    if not problems:
        made = config(**checked)
        problems = made.conflicts() if isinstance(made, _Checked) else []
        if not problems:
            return made
    raise InvalidArgument(f"{config.__name__}: " + "; ".join(problems))


@runtime_checkable
class _Checked(Protocol):
    def conflicts(self) -> list[str]: ...


def _problem(f: Field[Any], value: Value, default: Value) -> str:
    if type(value) is not type(default):
        return f"must be a {type(default).__name__}"
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return "must be a list of strings"
    if f.metadata["choices"] and value not in f.metadata["choices"]:
        return "must be one of " + ", ".join(f.metadata["choices"])
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _range_problem(value, f.metadata["low"], f.metadata["high"], f.metadata["unit"])
    return ""


def _range_problem(value: float, low: float, high: float, unit: str) -> str:
    if not math.isfinite(value):
        return "must be finite"
    if low <= value <= high:
        return ""
    if math.isinf(high):
        return f"must be at least {low:g} {unit}".rstrip()
    if math.isinf(low):
        return f"must be at most {high:g} {unit}".rstrip()
    return f"must be from {low:g} to {high:g} {unit}".rstrip()
