"""Frozen dataclasses of which many are made."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def quick(cls: _Class) -> _Class:
    """Give a frozen dataclass with slots a constructor of the same signature that takes half the time.

    The one that ``dataclass`` writes looks up ``object.__setattr__`` for each field, and that the slot; this one fills
    the slots themselves. A frame of ten observations makes some two hundred records, which took a tenth of its time.
    For classes without default factories and ``__post_init__``.
    """
    names: dict[str, Any] = {}
    parameters, lines = ["self"], [f"def __init__({{}}): # {cls.__name__}"]
    for field in fields(cls):
        assert field.default_factory is MISSING and field.init and not field.kw_only
        names[f"_set_{field.name}"] = getattr(cls, field.name).__set__
        names[f"_default_{field.name}"] = field.default
        parameters.append(field.name if field.default is MISSING else f"{field.name}=_default_{field.name}")
        lines.append(f"    _set_{field.name}(self, {field.name})")
    assert not hasattr(cls, "__post_init__")
    exec("\n".join(lines).format(", ".join(parameters)), names)  # as dataclasses do
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    setattr(cls, "__init__", init)  # noqa: B010  to mypy, assigning it is unsound
    return cls
